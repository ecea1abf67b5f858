"""``peerpressure run``: simulate a scenario, diagnose it and write the results."""

from __future__ import annotations

import contextlib
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from peerpressure.cli.terminal import (
    AsJson,
    check_folder,
    facts,
    open_scenario,
    print_json,
    progress_line,
    results_folder,
    show,
)
from peerpressure.support.files import declare_output
from peerpressure.support.progress import on_terminal

if TYPE_CHECKING:
    from rich.table import Table

    from peerpressure.scenario import Experiment, Scenario


def run(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The scenario; `peerpressure new` writes one to start from.")
    ],
    out: Annotated[
        Path | None, typer.Option(help="Folder for results; the file's own [output] folder, or one beside it.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Simulate a scenario, diagnose it, and write results, figures and a one-page report.

    Writes the run to run.nc (netCDF-4), tables to CSV, figures to PNG (or PDF, SVG), and a page with all of it to
    report.html. With [observe] in the file, an observer estimates the hidden opinions; with [privacy], exposure and
    privacy budget are computed. Results appear only when all of them are complete.

    Example: peerpressure run scenario.toml --out results
    """
    scenario = open_scenario(file)
    folder = out or results_folder(scenario, file)
    # All that can fail because of arguments fails before the simulation, which may take hours.
    named_by = f"output.folder of {file}" if out is None and scenario.output.folder else "'--out'"
    check_folder(folder, named_by)
    carry_out(scenario, folder, file, named_by, as_json=as_json)


def carry_out(scenario: Scenario, folder: Path, file: Path | None, named_by: str, *, as_json: bool) -> None:
    """Run a scenario, write its results to a folder and print them.

    ``file`` has the scenario, unless it was given by options; ``named_by`` is what names the folder.
    """
    from peerpressure.report.run import may_be_written, other_source
    from peerpressure.scenario import Experiment, check_room
    from peerpressure.simulation.processes import Together, first_goes_on, launched_world

    comm = launched_world()
    with contextlib.nullcontext() if comm is None else Together(comm).checking():
        # A folder of results is replaced as a whole, and files of other origin in it would be lost.
        if not may_be_written(folder):
            raise typer.BadParameter(f"{folder} holds other files than a run's; name a new folder", param_hint=named_by)
        declare_output(folder)
        if (other := other_source(folder, file)) is not None:
            text = f"{folder} holds the results of {other}; name another folder with --out, or delete this one"
            raise typer.BadParameter(text, param_hint=named_by)
        check_room(scenario, folder)
        experiment = Experiment(scenario, progress=on_terminal(), comm=comm)
        _ = experiment.system
    if comm is None:
        _write(experiment, folder, file, as_json=as_json)
        return
    _ = experiment.run
    with first_goes_on(comm):
        if comm.rank == 0:
            _write(experiment, folder, file, as_json=as_json)


def _write(experiment: Experiment, folder: Path, file: Path | None, *, as_json: bool) -> None:
    """Simulate, write the results and print them."""
    from peerpressure.report.drawing import elsewhere
    from peerpressure.report.folder import write_folder
    from peerpressure.report.run import OWN, order_figures, run_files, study_of
    from peerpressure.support.resources import available_cores, few_threads

    scenario = experiment.scenario
    drawn = scenario.output.figures or scenario.output.report
    with elsewhere(available_cores() if drawn else 1) as submit:
        # Simulated here, or its progress bar and the line of stages would overlap on the terminal.
        _ = experiment.run
        # Few agents: further threads of linear algebra would take the cores on which figures are drawn.
        # For all of the results: their last digits may depend on the number of threads.
        with progress_line() as show_stage, few_threads(experiment.model.n):
            show_stage("diagnosing")
            ordered = order_figures(experiment, submit)
            summary = () if as_json else _summary(experiment)
            study = study_of(scenario, file or folder)
            files = run_files(experiment, study.name, ordered, show_stage, study.inputs)
            written = write_folder(files, folder, study, OWN)
    # Printed only now: a reader of the output that is gone loses no result.
    if as_json:
        print_json(_answer(experiment, folder, written))
        return
    pages = [f"; open {path}" for path in written if path.suffix == ".html"]
    from peerpressure.simulation.trajectory import contents

    show(*summary)
    show("".join([f"{len(written)} files in {folder}", *pages]), f"the folder {contents(hidden=True)}")


def _answer(experiment: Experiment, folder: Path, written: list[Path]) -> dict[str, object]:
    from peerpressure.scenario import measure

    names = ["spread", "max_distance", "mean"]
    # Measures that make sense for this scenario; the others would be trivial.
    names += ["hidden_spread"] if experiment.run.final.hidden is not None else []
    names += ["isolated"] if experiment.model.temporal_network is not None else []
    names += ["recovery_error", "standard_error"] if experiment.scenario.observe is not None else []
    names += ["exposure"] if experiment.scenario.privacy is not None else []
    return _privacy(experiment) | {
        "verdict": experiment.verdict.to_dict(),
        "hidden_drawn": experiment.scenario.drawn_hidden,
        "measures": measure(experiment, names),
        "contains_hidden_opinions": True,
        "folder": folder,
        "files": written,
    }


def _privacy(experiment: Experiment) -> dict[str, object]:
    """Return the ε of one run, of what is recorded, and against the scenario's observer, each with its definition."""
    if experiment.scenario.privacy is None:
        return {}
    from peerpressure.errors import InvalidInputError, TooLargeError

    accounts = {"one_run": experiment.budget, "recorded": experiment.recorded_budget}
    # For insiders who see certain steps, and for some of many agents, only what holds for everyone is known.
    with contextlib.suppress(InvalidInputError, TooLargeError):
        accounts |= {} if experiment.observer_budget is None else {"observer": experiment.observer_budget}
    return {
        "privacy": {
            name: {
                # JSON has no infinity, and null would mean unknown.
                "epsilon": "infinite" if math.isinf(budget.epsilon) else budget.epsilon,
                "delta": budget.delta,
                "sensitivity": budget.definition.sensitivity,
                "runs": budget.definition.runs,
                "sees_start": budget.definition.sees_start,
                "definition": budget.definition.terms,
                "warnings": budget.definition.warnings,
            }
            for name, budget in accounts.items()
        }
    }


def _summary(experiment: Experiment) -> tuple[str, Table]:
    """Return the verdict as a heading, and what became of the run as a table."""
    from peerpressure.report.run import observer_rows, outcome_rows, privacy_numbers, settling_facts

    scenario, verdict = experiment.scenario, experiment.verdict
    rows = [*outcome_rows(experiment), *settling_facts(experiment)]
    rows += [] if scenario.drawn_hidden is None else [("hidden opinions", scenario.drawn_hidden)]
    rows += [
        (f"hidden opinions by {method}", f"{identified} identified, standard error {claimed}, error made {made}")
        for method, identified, claimed, made in observer_rows(experiment)
    ]
    if numbers := privacy_numbers(experiment):
        place = "report.html" if scenario.output.report else "--json"
        rows += [*numbers, ("meaning of ε", f"for study, because the seed is known; all terms are in {place}")]
    return f"{verdict.heading}\n{verdict.summary}", facts(rows)
