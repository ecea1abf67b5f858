"""``peerpressure simulate``: a run that options describe, without a scenario file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from peerpressure.cli.options import (
    Activation,
    Adaptation,
    Continuous,
    Dynamics,
    EdgeDirection,
    Graph,
    Hidden,
    Isolated,
    NoiseLaw,
    Pressure,
    Signed,
    Zealots,
    scenario_of,
)
from peerpressure.cli.run import carry_out
from peerpressure.cli.terminal import AsJson, check_folder, listing_problems, print_json, show
from peerpressure.support.files import expanded
from peerpressure.support.progress import on_terminal

if TYPE_CHECKING:
    from peerpressure.scenario import Scenario


def simulate(
    context: typer.Context,
    network: Graph = None,
    direction: EdgeDirection = None,
    signed: Signed = False,
    hidden: Hidden = None,
    zealots: Zealots = None,
    pressure: Pressure = None,
    noise: NoiseLaw = None,
    adaptation: Adaptation = None,
    dynamics: Dynamics = None,
    activation: Activation = None,
    isolated: Isolated = None,
    continuous: Continuous = False,
    steps: Annotated[int, typer.Option(min=1, help="Number of steps; of 0.1 each in continuous time.")] = 1000,
    replicates: Annotated[int, typer.Option(min=1, help="Number of independent runs.")] = 1,
    seed: Annotated[int, typer.Option(min=0, help="Seed of all random numbers.")] = 0,
    out: Annotated[
        Path,
        typer.Option(help="Folder for results; or NAME.zarr, for all steps of a run of any size."),
    ] = Path("simulation"),
    as_json: AsJson = False,
) -> None:
    """Simulate a model that options describe, and write the same results as run.

    Takes the options of diagnose. The results contain them as scenario.toml, which you can edit and pass to run. With
    --out NAME.zarr, only the run is written, step by step; the same command continues an interrupted one.

    Example: peerpressure simulate --network ba:100:2 --noise gaussian:1 --steps 500 --replicates 10 --out first
    """
    if network is None:
        text = "give --network; to run a scenario file, use peerpressure run"
        raise typer.BadParameter(text, param_hint="'--network'")
    check_folder(out)
    with listing_problems():
        scenario, _ = scenario_of(None, context.params)
    if out.suffix.lower() == ".zarr":
        _stream(scenario, out, as_json=as_json)
        return
    carry_out(scenario, out, None, "'--out'", as_json=as_json)


def _stream(scenario: Scenario, out: Path, *, as_json: bool) -> None:
    """Write all steps of a run to a store, and print what it is."""
    from peerpressure.simulation import simulate
    from peerpressure.simulation.trajectory import contents

    asked = scenario.run
    run = simulate(
        scenario.system(),
        asked.steps,
        asked.replicates,
        seed=asked.seed,
        progress=on_terminal() and not as_json,
        out=expanded(out),
    )
    if as_json:
        print_json({"store": str(out), "run": repr(run), **run.provenance()})
        return
    show(repr(run), f"all steps in {out}, a Zarr store", f"the store {contents(hidden=True)}")
