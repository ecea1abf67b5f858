"""``peerpressure report``: the report in a results folder, rebuilt from the stored results."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from peerpressure.cli.terminal import AsJson, listing_problems, print_json, progress_line, show
from peerpressure.errors import InvalidInputError, message


def report(
    folder: Annotated[
        Path,
        typer.Argument(metavar="FOLDER", help="A results folder of run, simulate, recover, fit, compare or infer."),
    ],
    out: Annotated[
        Path | None, typer.Option(help="File of the page.", show_default="report.html in the folder")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Rebuild the report of a folder from its stored results, without simulating or fitting.

    The same version gives the same bits; a later one may change the layout.

    Example: peerpressure report study-results
    """
    with listing_problems(), progress_line() as show_stage:
        show_stage("loading")
        page = _page(folder, show_stage)
    target = out or folder / "report.html"
    from peerpressure.support.files import replacing

    with replacing(target) as file:
        file.write(page)
    if as_json:
        print_json({"folder": folder, "report": target})
    else:
        show(f"open {target}")


def _page(folder: Path, show_stage: Callable[[str], None]) -> bytes:
    from peerpressure.report.estimates import ESTIMATES, page_again
    from peerpressure.report.folder import made_by, read_provenance
    from peerpressure.report.run import report_again

    provenance = read_provenance(folder)
    if provenance.command == "run":
        return report_again(provenance, show_stage)
    if ESTIMATES in provenance.outputs:
        return page_again(folder, made_by(provenance.facts["repeat"]))
    rule, remedy = "a report is made from the results of a run, or from estimates", "name a folder of these"
    raise InvalidInputError(message(rule, got=f"{folder}, results of {provenance.command}", remedy=remedy))
