"""``peerpressure paper``: the paper's experiments, their figures and tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from peerpressure.cli.terminal import AsJson, print_json, refuse_file, telling

if TYPE_CHECKING:
    import pandas as pd

MOST_STEPS = 10_000_000


def paper(
    out: Annotated[
        Path, typer.Option(help="Folder for figures (PDF and PNG) and tables (CSV); made if it is not there.")
    ] = Path("build/paper"),
    seed: Annotated[
        int, typer.Option(min=0, help="What graph, opinions and noise are drawn from; one seed, one result.")
    ] = 14,
    steps: Annotated[
        int, typer.Option(min=100, max=MOST_STEPS, help="How long the runs are; small ones take less time to draw.")
    ] = 100_000,
    as_json: AsJson = False,
) -> None:
    """Run the experiments on convergence and write their figures and tables.

    A hundred agents on a scale-free graph agree on the consensus value v when peer pressure grows like t. When it
    grows like 2^√t they swing for ever between two values on a tree, and agree on a wrong value where the graph has
    odd cycles. The summary tells how far agents end from each other (spread) and from v (distance), which are two
    different things, and how far agent 1 moved in the last step (swing).

    The same seed and steps give the same tables, byte for byte.

    Example: peerpressure paper --out build/paper --steps 10000
    """
    refuse_file(out)
    with telling() as tell:
        from peerpressure.experiments import paper_tables
        from peerpressure.figures import FIGURES, draw, save

        tables = paper_tables(seed, steps, tell=tell)
        tell("drawing")
        # All is drawn before anything is written, so that a failure leaves the folder as it was.
        figures = {name: draw(name, tables) for name in FIGURES}
        tell("writing")
        written = [_write_table(table, out, name) for name, table in tables.items()]
        written += [path for name, figure in figures.items() for path in save(figure, out, name)]
    if as_json:
        _print_json(tables["summary"], seed, written)
    else:
        _print_summary(tables["summary"], out, len(written))


def _write_table(table: pd.DataFrame, folder: Path, name: str) -> Path:
    from peerpressure.files import replacing

    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"{name}.csv"
    with replacing(target) as file:
        file.write(table.to_csv(index=False, lineterminator="\n").encode())
    return target


def _print_json(summary: pd.DataFrame, seed: int, written: Sequence[Path]) -> None:
    answer = {"seed": seed, "runs": summary.to_dict(orient="records"), "files": [str(path) for path in written]}
    print_json(answer)


def _print_summary(summary: pd.DataFrame, out: Path, count: int) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    first = summary.iloc[0]
    table = Table(
        box=box.SIMPLE_HEAD, title=f"After {first['steps']:,} steps; consensus value v = {first['consensus_value']:.4f}"
    )
    for name in ("graph", "ρ_t", "mean", "spread", "distance to v", "swing", "in the end"):
        table.add_column(name, justify="right" if name in ("mean", "spread", "distance to v", "swing") else "left")
    for run in summary.itertuples():
        numbers = (f"{value:.4f}" for value in (run.mean, run.spread, run.distance, run.swing))
        table.add_row(
            "tree" if run.bipartite else "odd cycles", run.pressure, *numbers, run.predicted.replace("_", " ")
        )
    console = Console()
    console.print(table)
    console.print(f"{count} files in {out}", highlight=False, soft_wrap=True)
