"""``peerpressure check``: all problems of a scenario or sweep file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from peerpressure.cli.terminal import USAGE, AsJson, print_json, results_folder

if TYPE_CHECKING:
    from peerpressure.sweep import Plan


def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A scenario, or a sweep, which names its scenario.")],
    as_json: AsJson = False,
) -> None:
    """List all problems of a scenario or sweep file, and where they are.

    Builds the network, reads the files, and checks spelling, types, ranges, and whether the run fits in memory and on
    the disk. For a valid scenario, lists how its files were read. Runs and writes nothing. The exit status is 0 if the
    file is valid, else 2.

    Example: peerpressure check scenario.toml
    """
    from peerpressure.errors import FileFormatError, TooLargeError
    from peerpressure.scenario import Problem, ScenarioError

    # Typed constructors, since mypy cannot infer the types of empty containers in one assignment.
    summary, findings, problems = "", dict[str, str](), list[Problem]()
    try:
        summary, findings = _summary(file)
    except ScenarioError as error:
        problems = [*error.problems]
    except FileFormatError as error:
        problems = [Problem("", str(error))]
    except TooLargeError as error:
        problems = [Problem("run.record", str(error))]
    # The same keys in both cases, so a program need not distinguish them.
    if as_json:
        listed = [problem.to_dict() for problem in problems]
        print_json({"file": file, "valid": not problems, "problems": listed, "found": findings})
    elif problems:
        count = f"{len(problems)} problem{'s' * (len(problems) != 1)}"
        print("\n".join([f"{file}: {count}", *(f"  {problem}" for problem in problems)]))
    else:
        print("\n".join([f"{file}: {summary}", *(f"  {key}: {text}" for key, text in findings.items())]))
    if problems:
        # After the output: an error would replace the list of problems by one line.
        raise typer.Exit(USAGE)


def _summary(file: Path) -> tuple[str, dict[str, str]]:
    """Return a line that describes a valid file, and what was read from the files that it names."""
    from peerpressure.scenario import check_room, load_scenario, load_sweep
    from peerpressure.scenario.loading import findings, parse_toml
    from peerpressure.scenario.section import read_text

    # The key ``scenario`` names a file in a sweep, and no section of a scenario has this name.
    if isinstance(parse_toml(read_text(file, "a scenario"), str(file)).get("scenario"), str):
        plan = load_sweep(file).plan
        return f"a sweep of {len(plan):,} units over {', '.join(plan.axes) or 'no axis'}", _meaning_of_points(plan)
    scenario = load_scenario(file)
    counts = ((scenario.run.steps, "step"), (scenario.run.replicates, "replicate"))
    length = ", ".join(f"{count:,} {name}{'s' * (count != 1)}" for count, name in counts)
    # The model is built, not run, so the size and all values are those of the run.
    room = check_room(scenario, results_folder(scenario, file))
    return f"{scenario.system()!r}, {length}, {room}", findings(scenario)


def _meaning_of_points(plan: Plan) -> dict[str, str]:
    """Return what the points of a sweep have in common, and what an error bar at a point is over."""
    replicates = plan.base["scenario"].get("run", {}).get("replicates", 1)
    if plan.random_numbers == "common":
        drawn = "common: hidden opinions, networks and noise are drawn alike at all points, where no axis changes them"
    else:
        drawn = "independent: each point draws hidden opinions, networks and noise of its own, unless they have a seed"
    bars = f"standard error over {plan.replications} replications, which differ in all that has no seed of its own"
    if plan.replications == 1:
        bars = f"standard error over {replicates} replicates of one network and one set of hidden opinions"
        if replicates == 1 and "run.replicates" not in plan.axes:
            bars = "none: there is one run at each point; replications = 5 gives them"
    return {"random numbers": drawn, "error bars": bars}
