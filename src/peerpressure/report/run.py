"""One run in a few rows of words and numbers, for the page and for the terminal."""

from __future__ import annotations

import json
import math
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, final

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import FileFormatError, TooLargeError, message
from peerpressure.files import umask
from peerpressure.measures import Experiment, results
from peerpressure.measures._results import states
from peerpressure.plotting import privacy, run
from peerpressure.plotting.style import styled
from peerpressure.privacy import Budget
from peerpressure.report.html import Image, image, typeset
from peerpressure.report.store import PART, Content, publish, to_csv, write_csv
from peerpressure.report.tables import Column, number, table
from peerpressure.storage import write_netcdf
from peerpressure.theory._rendering import heading, rows as verdict_rows
from peerpressure.version import __version__

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


def model_rows(experiment: Experiment) -> list[tuple[str, str]]:
    """Return what was run."""
    model, asked = experiment.model, experiment.scenario.run
    s, x = model.s, model.x0
    network = repr(model.network if model.temporal_network is None else model.temporal_network)
    moving = "" if model.adaptation is None else f", adapting by {model.adaptation}"
    flow = [] if experiment.run.equation is None else [("time", experiment.run.equation)]
    return [
        ("network", network.partition("(")[2].removesuffix(")")),
        ("hidden opinions", f"{number(x.min())} to {number(x.max())}, mean {number(x.mean())}{moving}"),
        ("stubbornness", number(s[0]) if np.ptp(s) == 0 else f"{number(s.min())} to {number(s.max())}"),
        ("peer pressure", str(model.pressure)),
        ("noise", str(model.noise)),
        *flow,
        ("run", f"{number(asked.steps)} steps, {number(asked.replicates)} replicates, seed {asked.seed}"),
    ]


def outcome_rows(experiment: Experiment) -> list[tuple[str, str]]:
    """Return where the simulated agents ended, over replicates."""
    final, v = experiment.run.final.public, experiment.model.consensus_value
    values = {
        "mean of agents": final.mean(axis=1),
        "spread (max − min)": np.ptp(final, axis=1),
        "distance of the farthest to v": np.abs(final - v).max(axis=1),
    }
    held = experiment.run.final.hidden
    if held is not None:
        values |= {"mean of what agents hold": held.mean(axis=1), "spread of what they hold": np.ptp(held, axis=1)}
    return [(name, _with_scatter(value)) for name, value in values.items()]


def _with_scatter(values: NDArray[np.float64]) -> str:
    """Return a mean with its standard deviation, both to the second digit of the latter."""
    scatter = float(values.std())
    if not scatter:
        return number(float(values.mean()))
    places = max(0, 1 - math.floor(math.log10(scatter)))
    return f"{values.mean():.{places}f} ± {scatter:.{places}f}".replace("-", "\N{MINUS SIGN}")


def observer_rows(experiment: Experiment) -> list[tuple[str, str, str, str]]:
    """Return, for each method, who is identified, the error that it claims and the error that it makes."""
    if experiment.scenario.observe is None:
        return []
    rows = []
    for method, estimate in experiment.estimates.items():
        known = estimate.identified
        claimed = np.sqrt(estimate.variance[known].mean()) if known.any() else np.nan
        made = np.sqrt((estimate.residuals(experiment.truth)[:, known] ** 2).mean()) if known.any() else np.nan
        rows.append((method, f"{int(known.sum()):,} of {known.size:,}", number(float(claimed)), number(float(made))))
    return rows


def privacy_rows(experiment: Experiment) -> list[tuple[str, str]]:
    """Return how exposed agents are, the ε of one run and of all that is recorded, and what these assume."""
    if experiment.scenario.privacy is None:
        return []
    told, one, recorded = experiment.exposure.table, experiment.budget, experiment.recorded_budget
    return [
        ("learned on average", f"{number(float(told['bits'].mean()))} bits from one run"),
        ("about the most exposed", f"{number(float(told['bits'].max()))} bits, agent {told['bits'].idxmax()}"),
        ("ε of one run, y₀ unseen", _epsilon(one)),
        ("ε of what is recorded", recorded_epsilon(recorded)),
        ("assumed", " ".join([*one.assumptions, "The results folder also holds the hidden opinions themselves."])),
    ]


def _epsilon(told: Budget) -> str:
    value = "unknown" if math.isnan(told.epsilon) else number(told.epsilon)
    return f"{value} at δ = {told.delta:g} and Δ = {told.sensitivity:g}"


def recorded_epsilon(told: Budget) -> str:
    """Return the ε of a record, with how much of the mechanism is in it."""
    runs = f"{told.runs:,} run{'s' * (told.runs != 1)}"
    return f"{_epsilon(told)}, {runs} {'with y₀' if told.sees_start else 'from step 1 on'}"


# The page of one run: what was asked, what becomes of the agents, what was seen, and how to run it again.

MOST_PLACED = 120  # agents for whom places in a drawing are found within a second or two
MOST_JOINED = 8  # edges for each agent, beyond which a drawing shows nothing but edges
LISTED = 12  # agents named on the page; the table beside it has all of them


@final
@dataclass(frozen=True)
class Picture:
    """A figure on the page with its name, its caption and its picture."""

    name: str
    caption: str
    image: Image


CAPTIONS: Mapping[str, str] = {
    "opinions": "Left, the highest and the lowest public opinion (mean over replicates), the mean over agents of "
    "every replicate, and the consensus value v (dotted). Right, spread max − min and distance to v: median and middle "
    "half of the replicates.",
    "hidden": "Left, the highest and the lowest hidden opinion after each step (mean over replicates), the mean over "
    "agents of every replicate, and the consensus value v (dotted). Right, the spread of hidden and of public "
    "opinions: median and middle half of the replicates.",
    "network": "The number of edges in every step, and of the agents without a neighbour, who show what they think.",
    "estimates": "What the observer makes of each hidden opinion in the first replicate, with 95 % intervals; a "
    "perfect estimate lies on the dotted line.",
    "exposure": "Bits that the observer learns about each agent beyond what it believed before.",
    "exposure_map": "What is left of the observer's uncertainty about each agent, drawn on the network.",
    "budget": "The ε of differential privacy that holds for every agent against an observer of all agents in one run, "
    "from step 1 on; y₀ is not observed, and one opinion moves by at most Δ.",
    "frontier": "Left, how far from v agents end by each way of hiding, when its noise is just enough for a budget μ. "
    "Right, what noise of deviation 1 tells about an agent and costs in accuracy as time goes on, from small dots to "
    "large ones. No unbiased way is below the dotted limit.",
}


def figures(experiment: Experiment, tables: Mapping[str, pd.DataFrame]) -> dict[str, Figure]:
    """Return the figures of a run, by name."""
    made, v = {}, experiment.model.consensus_value
    if "summaries" in tables:
        made["opinions"] = run.opinions(tables["summaries"], v)
        if "hidden_mean" in tables["summaries"]:
            made["hidden"] = run.hidden(tables["summaries"], v)
    if "network" in tables:
        made["network"] = run.changing(tables["network"])
    if "estimates" in tables:
        made["estimates"] = run.estimates(tables["estimates"], experiment.target)
    return made | _privacy_figures(experiment, tables)


@styled
def settled(figure: Figure) -> Figure:
    """Return the figure with its layout worked out once, and not again for each kind of file."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    return figure


def _privacy_figures(experiment: Experiment, tables: Mapping[str, pd.DataFrame]) -> dict[str, Figure]:
    if experiment.scenario.privacy is None:
        return {}
    made = {"exposure": run.exposed(tables["agents"])}
    network = experiment.model.network
    if network.n <= MOST_PLACED and network.edge_count <= MOST_JOINED * network.n:
        told = experiment.exposure
        made["exposure_map"] = privacy.exposure(told.table, told.edges())
    if "budget" in tables and np.isfinite(tables["budget"]["epsilon"]).any():
        made["budget"] = run.spent(tables["budget"])
    compared = experiment.frontier
    if compared is not None:
        made["frontier"] = privacy.frontier(compared.table, compared.units, compared.limit)
    return made


def run_page(
    experiment: Experiment, tables: Mapping[str, pd.DataFrame], pictures: Mapping[str, Figure], title: str
) -> str:
    """Return the page as HTML that is complete in itself."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("peerpressure.report", "templates")
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["typeset"] = typeset
    return environment.get_template("run.html").render(
        title=title,
        version=__version__,
        heading=heading(experiment.verdict),
        reason=experiment.verdict.reason,
        facts=verdict_rows(experiment.verdict),
        model=model_rows(experiment),
        outcome=outcome_rows(experiment),
        observer=observer_rows(experiment),
        privacy=privacy_rows(experiment),
        agents=_agents(tables["agents"]),
        pictures=[Picture(name, CAPTIONS[name], image(figure)) for name, figure in pictures.items()],
        files=[f"{name}.csv" for name in (*tables, *(["states"] if experiment.lists_states else []))],
        scenario=experiment.scenario.to_toml().strip(),
    )


def _agents(agents: pd.DataFrame) -> object:
    columns = [
        Column("agent", "agent"),
        Column("degree", "degree"),
        Column("stubbornness", "stubbornness"),
        Column("hidden", "hidden"),
        Column("final_mean", "shown at the end"),
        Column("final_std", "± over replicates", digits=2),
    ]
    if "final_hidden_mean" in agents:
        columns.append(Column("final_hidden_mean", "hidden at the end"))
    if "bits" in agents:
        columns.append(Column("bits", "bits exposed"))
    names = agents.assign(agent=agents["agent"].map(str))
    return table(names, columns, most=LISTED)


# The folder of one run: results, figures and the page, all made before any of it is written.

MARKS = ("run.nc", "verdict.json")
TABLES = ("agents", "summaries", "network", "estimates", "budget", "frontier", "states")
FIGURES = ("opinions", "hidden", "network", "estimates", "exposure", "exposure_map", "budget", "frontier")
OWN = frozenset(
    [*(f"{name}.csv" for name in TABLES), *(f"{name}.{kind}" for name in FIGURES for kind in ("pdf", "png"))]
) | {"report.html"}


def run_files(
    experiment: Experiment, title: str, tell: Callable[[str], None] = lambda stage: None
) -> dict[str, Content]:
    """Return the files of a run by name; what grows with the length of the run is made when it is written."""
    asked = experiment.scenario.output
    tables = results(experiment)
    files: dict[str, Content] = {
        "scenario.toml": experiment.scenario.to_toml().encode(),
        "verdict.json": _verdict(experiment),
    }
    files |= {f"{name}.csv": to_csv(table) for name, table in tables.items()}
    files["run.nc"] = lambda file: write_netcdf(experiment.run.to_xarray(), file)
    if experiment.lists_states:
        files["states.csv"] = lambda file: write_csv(states(experiment.run, PART), file)
    if asked.figures or asked.report:
        from peerpressure.plotting.style import render

        pass

        tell("drawing")
        drawn = {name: settled(figure) for name, figure in figures(experiment, tables).items()}
        if asked.figures:
            files |= {
                f"{name}.{kind}": render(figure, kind) for name, figure in drawn.items() for kind in ("pdf", "png")
            }
        if asked.report:
            files["report.html"] = run_page(experiment, tables, drawn, title).encode()
    return files


def _verdict(experiment: Experiment) -> bytes:
    return (json.dumps(experiment.verdict.to_dict(), indent=2, ensure_ascii=False) + "\n").encode()


def may_be_written(out: Path) -> bool:
    """Say whether a folder is new, empty or the results of a run, so that nobody's own files are at risk."""
    return not out.exists() or not any(out.iterdir()) or all((out / name).is_file() for name in MARKS)


def refuse_without_room(out: Path, needed: int) -> None:
    """Refuse a place that takes no new folder, or has less room than the results need, before any work is done."""
    there = next(place for place in (out, *out.absolute().parents) if place.exists())
    try:
        # Whether one may write is best found out by doing so.
        with tempfile.TemporaryDirectory(dir=there.parent if there == out else there):
            free = shutil.disk_usage(there).free
    except OSError as error:
        raise _no_place(out, error) from error
    if needed > free:
        rule = f"results must fit on the disk, of which {amount(free)} is free in {there}"
        remedy = "free some, name another folder with --out, or record less, for instance record = 'summaries'"
        raise TooLargeError(message(rule, got=f"{amount(needed)} to write", remedy=remedy))


def amount(size: float) -> str:
    """Return a number of bytes in words.

    >>> amount(2_722_720_000)
    '2.72 GB'
    """
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} GB"


def write_run(files: Mapping[str, Content], out: Path) -> list[Path]:
    """Write the files, all or none: a folder of results appears, or changes, once everything is on the disk.

    Where that fails, the results go to a temporary folder, which the error names.
    """
    try:
        return _write_all(files, out)
    except OSError as error:
        kept = _rescued(files, out.name)
        remedy = (
            f"all of it is kept in {kept}, move it from there"
            if kept
            else "nothing could be kept; make room or name another folder with --out, and run it again: its seed gives "
            "the same numbers"
        )
        rule = "the results must be written"
        raise FileFormatError(message(rule, got=f"{error.strerror or error} for {out}", remedy=remedy)) from error


def _write_all(files: Mapping[str, Content], out: Path) -> list[Path]:
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        part = Path(tempfile.mkdtemp(dir=out.parent, prefix=f".{out.name}.", suffix=".part"))
    except OSError as error:
        raise _no_place(out, error) from error
    try:
        publish(part, files)
        if out.exists():
            for name in files:
                (part / name).replace(out / name)
            # What an earlier run left and this one does not have would be taken for a part of it.
            for name in OWN - files.keys():
                (out / name).unlink(missing_ok=True)
            part.rmdir()
        else:
            # A temporary folder is private, and results are as open as any other.
            part.chmod(0o777 & ~umask())
            part.rename(out)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
    return [out / name for name in files]


def _rescued(files: Mapping[str, Content], name: str) -> Path | None:
    """Write the files to a temporary folder; None if there is no room there either."""
    place = None
    try:
        place = Path(tempfile.mkdtemp(prefix="peerpressure-"))
        publish(place / name, files)
    except OSError:
        if place is not None:
            shutil.rmtree(place, ignore_errors=True)
        return None
    return place / name


def _no_place(out: Path, error: OSError) -> FileFormatError:
    rule, remedy = "results must have a place to go", "name a folder that may be written to"
    return FileFormatError(message(rule, got=f"{out} ({error.strerror})", remedy=remedy))
