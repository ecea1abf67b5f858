"""``peerpressure report``: the report of a run, made anew from the stored results."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from peerpressure.cli.terminal import AsJson, listing_problems, print_json, progress_line, show


def report(
    folder: Annotated[Path, typer.Argument(help="A results folder of run or simulate.")],
    out: Annotated[
        Path | None, typer.Option(help="File of the page.", show_default="report.html in the folder")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make the report of a run anew from its stored results, without simulation.

    The page is that of run.nc and scenario.toml in the folder: the same version gives the same bits, and a later one
    its own layout. Edit a table and it stays as it is; the page is made from the run.

    Example: peerpressure report study-results
    """
    with listing_problems(), progress_line() as show_stage:
        show_stage("loading")
        from peerpressure.report.run import report_again

        page = report_again(folder, show_stage)
    target = out or folder / "report.html"
    from peerpressure.files import replacing

    with replacing(target) as file:
        file.write(page)
    if as_json:
        print_json({"folder": folder, "report": target})
    else:
        show(f"open {target}")
