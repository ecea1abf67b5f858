"""The results of one run: rows for the terminal, a report as an HTML page, and the folder of all files."""

from __future__ import annotations

import json
import math
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import FileFormatError, InvalidInputError, TooLargeError, message
from peerpressure.files import declare_output, relative_path, umask
from peerpressure.measures import Experiment, no_place, states
from peerpressure.measures.experiment import tables_of
from peerpressure.privacy import Budget
from peerpressure.rendering import with_deviation
from peerpressure.report.drawing import Drawing, Order, Submit, here
from peerpressure.report.html import Column, HtmlTable, Image, number, table, templates
from peerpressure.report.store import PART, Content, publish, to_csv, write_csv
from peerpressure.scenario.scenario import FORMATS
from peerpressure.trajectory import contents
from peerpressure.version import __version__

if TYPE_CHECKING:
    import pandas as pd


MOST_PLACED = 120  # agents whose layout takes a second or two
MOST_JOINED = 8  # edges per agent above which a drawing is unreadable
LISTED = 12  # agents on the page; the table beside it has all of them

# Both must be there before a folder counts as results and may be overwritten.
MARKS = ("run.nc", "verdict.json")
SCENARIO = "scenario.toml"
TABLES = ("agents", "summaries", "network", "estimates", "inferred_network", "budget", "frontier", "states")
FIGURES = ("opinions", "hidden", "network", "estimates", "exposure", "exposure_map", "budget", "frontier")
# All names that a run can write but need not; those of an earlier run are removed.
OWN = frozenset([*(f"{name}.csv" for name in TABLES), *(f"{name}.{kind}" for name in FIGURES for kind in FORMATS)]) | {
    "report.html"
}


CONTENTS = f"{contents(hidden=True)}; peerpressure release writes what may be published"


def model_rows(experiment: Experiment) -> list[tuple[str, str]]:
    """Return the parameters of the run in words."""
    model, asked = experiment.model, experiment.scenario.run
    s, x = model.s, model.x0
    # The text inside the brackets of the representation, without the name of the class.
    graph = repr(model.network if model.temporal_network is None else model.temporal_network)
    words = model.description()
    drawn = experiment.scenario.drawn_hidden
    chance = "" if drawn is None else f", {drawn}"
    adapting = f", adapting by {words['adaptation']}" if "adaptation" in words else ""
    rules = {"own": "show their own opinions", "keep": "keep their last public opinions"}
    silent = [("isolated agents", rules[words["isolated"]])] if "isolated" in words else []
    updates = [("updates", words["activation"])] if "activation" in words else []
    flow = [] if experiment.run.equation is None else [("time", experiment.run.equation)]
    return [
        ("network", graph.partition("(")[2].removesuffix(")")),
        *silent,
        ("hidden opinions", f"{number(x.min())} to {number(x.max())}, mean {number(x.mean())}{chance}{adapting}"),
        ("stubbornness", number(s[0]) if np.ptp(s) == 0 else f"{number(s.min())} to {number(s.max())}"),
        ("peer pressure", str(model.pressure)),
        ("noise", str(model.noise)),
        *updates,
        *flow,
        ("run", f"{number(asked.steps)} steps, {number(asked.replicates)} replicates, seed {asked.seed}"),
        ("results folder", CONTENTS),
    ]


def outcome_rows(experiment: Experiment) -> list[tuple[str, str]]:
    """Return measures of the final state, over replicates."""
    final, v = experiment.run.final.public, experiment.model.target
    measured = "y − v" if isinstance(v, float) else "y − own limit"
    values = {
        "mean": final.mean(axis=1),
        "spread, max − min": np.ptp(final, axis=1),
        f"largest distance, max |{measured}|": np.abs(final - v).max(axis=1),
    }
    hidden = experiment.run.final.hidden
    if hidden is not None:
        values |= {"mean of hidden opinions": hidden.mean(axis=1), "spread of hidden opinions": np.ptp(hidden, axis=1)}
    return [(name, _with_scatter(value)) for name, value in values.items()]


def _with_scatter(values: NDArray[np.float64]) -> str:
    """Return a mean with its standard deviation, both to the second digit of the latter."""
    mean, scatter = float(values.mean()), float(values.std())
    return with_deviation(mean, scatter).replace("-", "\N{MINUS SIGN}") if scatter else number(mean)


def observer_rows(experiment: Experiment) -> list[tuple[str, str, str, str]]:
    """Return, for each method, the number of identified agents, the standard error and the actual RMS error."""
    if experiment.scenario.observe is None:
        return []
    rows = []
    for method, estimate in experiment.estimates.items():
        known = estimate.identified
        # Agents that are not identified have no finite variance and would dominate the mean.
        claimed = np.sqrt(estimate.variance[known].mean()) if known.any() else np.nan
        made = np.sqrt((estimate.residuals(experiment.truth)[:, known] ** 2).mean()) if known.any() else np.nan
        rows.append((method, f"{int(known.sum()):,} of {known.size:,}", number(float(claimed)), number(float(made))))
    return rows


def privacy_rows(experiment: Experiment) -> list[tuple[str, str]]:
    """Return the exposure of agents, the ε of one run and of the recorded data, and the definition."""
    if experiment.scenario.privacy is None:
        return []
    found, one, recorded = experiment.exposure, experiment.budget, experiment.recorded_budget
    bits, least = found.table["bits"], "" if found.is_exact else "at least "
    rows = [
        ("mean information", f"{least}{number(float(bits.mean()))} bits per agent from one run"),
        ("most exposed agent", f"{least}{number(float(bits.max()))} bits, agent {bits.idxmax()}"),
        ("ε of the recorded data", recorded_epsilon(recorded)),
        ("ε of one run, y₀ unobserved", _epsilon(one)),
        *_observer_epsilon(experiment),
    ]
    if not math.isnan(one.epsilon_limit):
        rows.append(("ε of one run, all times", number(one.epsilon_limit)))
    rows += one.definition.terms.items()
    rows += [("warning", sentence) for sentence in one.definition.warnings]
    return [*rows, ("results folder", CONTENTS), *([("exposure", found.note)] if found.note else [])]


def _observer_epsilon(experiment: Experiment) -> list[tuple[str, str]]:
    """Return the ε of one run against the observer of the scenario, or why it is not known."""
    name = "ε against the observer"
    try:
        account = experiment.observer_budget
    except (InvalidInputError, TooLargeError) as error:
        return [(name, f"not computed: {error}")]
    return [] if account is None else [(name, f"{_epsilon(account)}. {account.definition.terms['observer']}")]


def _epsilon(budget: Budget) -> str:
    value = "unknown" if math.isnan(budget.epsilon) else number(budget.epsilon)
    return f"{value} at δ = {budget.delta:g} and Δ = {budget.definition.sensitivity:g}"


def recorded_epsilon(budget: Budget) -> str:
    """Return the ε of recorded data, with the number of runs and whether y₀ is among them."""
    seen = budget.definition
    runs = f"{seen.runs:,} run{'s' * (seen.runs != 1)}"
    return f"{_epsilon(budget)}, {runs} {'with y₀' if seen.sees_start else 'from step 1 on'}"


@final
@dataclass(frozen=True)
class Picture:
    """A figure on the page with its name, its caption and its picture."""

    name: str
    caption: str
    image: Image


CAPTIONS: Mapping[str, str] = {
    "opinions": "Left, the highest and the lowest public opinion (mean over replicates), the mean over agents of "
    "every replicate, and the consensus value v (dotted). Right, spread max − min and largest distance max |y − v|: "
    "median and interquartile range over replicates. Where closed classes or camps have values of their own, these are "
    "dotted, and distances are to the agents' own limits.",
    "hidden": "Left, the highest and the lowest hidden opinion after each step (mean over replicates), the mean over "
    "agents of every replicate, and the consensus value v (dotted). Right, the spread of hidden and of public "
    "opinions: median and interquartile range over replicates.",
    "network": "The number of edges and of isolated agents in every step.",
    "estimates": "The observer's estimates of the hidden opinions in the first replicate, ± 1 standard deviation; a "
    "perfect estimate lies on the dotted line.",
    "exposure": "Information in bits that the observer gains about each agent beyond the prior; a lower bound if the "
    "noise is not Gaussian.",
    "exposure_map": "Posterior over prior variance of each agent, drawn on the network; an upper bound if the noise "
    "is not Gaussian.",
    "budget": "The ε of differential privacy that holds for every agent against an observer of all agents in one run, "
    "from step 1 on; y₀ is not observed, and one opinion changes by at most Δ.",
    "frontier": "Left, the error of the consensus under each noise design, when its noise just meets a budget μ. "
    "Right, the information about an agent and the error of the consensus under noise of standard deviation 1 over "
    "time, from small dots to large ones. No unbiased design in which agents add noise independently is below the "
    "dotted limit.",
}


@final
@dataclass(frozen=True)
class Ordered:
    """The tables of a run, and its figures, which are being drawn."""

    tables: dict[str, pd.DataFrame]
    drawings: dict[str, Callable[[], Drawing]]


def order_figures(experiment: Experiment, submit: Submit = here) -> Ordered:
    """Return the tables of a run by name; each figure that is asked for is ordered as soon as its table is there."""
    asked = experiment.scenario.output
    formats = tuple(asked.formats) if asked.figures else ()
    ordered = Ordered({}, {})
    for source, data in tables_of(experiment):
        ordered.tables[source] = data
        for name, arguments in figures(experiment, source, data) if asked.figures or asked.report else ():
            ordered.drawings[name] = submit(Order(name, arguments, formats, asked.report))
    return ordered


def figures(experiment: Experiment, source: str, data: pd.DataFrame) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Yield the figures that are drawn with a table: their names, and the arguments of their functions."""
    v, private = experiment.model.class_values, experiment.scenario.privacy is not None
    if source == "summaries":
        yield "opinions", (data, v)
        # The column exists only where hidden opinions adapt.
        if "hidden_mean" in data:
            yield "hidden", (data, v)
    elif source == "network":
        yield "network", (data,)
    elif source == "estimates":
        yield "estimates", (data, experiment.target)
    elif source == "agents" and private:
        yield "exposure", (data,)
        graph = experiment.model.network
        # Kamada–Kawai needs all pairs of distances: its cost grows faster than the square of the number of agents.
        if graph.n <= MOST_PLACED and graph.edge_count <= MOST_JOINED * graph.n:
            yield "exposure_map", (experiment.exposure.table, experiment.exposure.edges())
    # A log axis cannot display an infinite ε, the budget of a run without noise.
    elif source == "budget" and np.isfinite(data["epsilon"]).any():
        yield "budget", (data,)
    elif source == "frontier" and experiment.frontier is not None:
        yield "frontier", (data, experiment.frontier.units, experiment.frontier.limit)


def run_page(
    experiment: Experiment,
    tables: Mapping[str, pd.DataFrame],
    pictures: Mapping[str, Image],
    title: str,
    scenario: str,
) -> str:
    """Return the report of a run as a self-contained HTML page."""
    return (
        templates()
        .get_template("run.html")
        .render(
            title=title,
            version=__version__,
            verdict=experiment.verdict,
            model=model_rows(experiment),
            outcome=outcome_rows(experiment),
            observer=observer_rows(experiment),
            privacy=privacy_rows(experiment),
            agents=_agents(tables["agents"], exact=experiment.scenario.privacy is None or experiment.exposure.is_exact),
            pictures=[Picture(name, CAPTIONS[name], picture) for name, picture in pictures.items()],
            files=[f"{name}.csv" for name in (*tables, *(["states"] if experiment.lists_states else []))],
            scenario=scenario.strip(),
        )
    )


def _agents(agents: pd.DataFrame, *, exact: bool) -> HtmlTable:
    columns = [
        *(Column(name, name) for name in ("agent", "topic") if name in agents),
        Column("degree", "degree"),
        Column("stubbornness", "stubbornness"),
        Column("hidden", "hidden"),
        Column("final_mean", "final public"),
        Column("final_std", "± over replicates", digits=2),
    ]
    if "final_hidden_mean" in agents:
        columns.append(Column("final_hidden_mean", "final hidden"))
    if "bits" in agents:
        columns.append(Column("bits", "exposure, bits" if exact else "exposure, bits ≥"))
    # Labels may be numbers, which the table would round and align as such.
    names = agents.assign(**{name: agents[name].map(str) for name in ("agent", "topic") if name in agents})
    return table(names, columns, most=LISTED)


def run_files(
    experiment: Experiment,
    title: str,
    ordered: Ordered | None = None,
    progress: Callable[[str], None] = lambda stage: None,
    place: Place | None = None,
) -> dict[str, Content]:
    """Return the files of a run by name; files that grow with the run are produced while they are written."""
    ordered = ordered or order_figures(experiment)
    tables, drawings = ordered.tables, ordered.drawings
    scenario = experiment.scenario.to_toml(None if place is None else place.folder)
    files: dict[str, Content] = {
        SCENARIO: f"{'' if place is None else place.heading}{scenario}".encode(),
        "verdict.json": _verdict(experiment),
    }
    files |= {f"{name}.csv": to_csv(table) for name, table in tables.items()}
    # As functions, called while the file is written, so that no second copy of the states is in memory.
    files["run.nc"] = experiment.run.write_netcdf
    if experiment.lists_states:
        files["states.csv"] = lambda file: write_csv(states(experiment.run, PART), file)
    if drawings:
        progress("drawing")
    # Figures before files: an error in a figure occurs before anything is written.
    drawn = {name: wait() for name, wait in drawings.items()}
    files |= {f"{name}.{kind}": data for name, one in drawn.items() for kind, data in one.files.items()}
    if experiment.scenario.output.report:
        pictures = {name: one.picture for name, one in drawn.items() if one.picture is not None}
        files["report.html"] = run_page(experiment, tables, pictures, title, scenario).encode()
    return files


def _verdict(experiment: Experiment) -> bytes:
    return (json.dumps(experiment.verdict.to_dict(), indent=2, ensure_ascii=False) + "\n").encode()


@final
@dataclass(frozen=True)
class Place:
    """The folder of the results, and the scenario file that they come from."""

    folder: Path
    source: Path

    @property
    def heading(self) -> str:
        """First lines of the scenario among the results: the file that they come from, and what they contain."""
        # From the folder, as other paths in the file; quoted, because a path may contain anything.
        return (
            f"{_HEADING}{json.dumps(relative_path(self.source, self.folder))}\n# This folder {contents(hidden=True)}.\n"
        )

    @property
    def other_source(self) -> Path | None:
        """The scenario file whose results the folder contains, if that is another one or is not known to exist."""
        try:
            with (self.folder / SCENARIO).open(encoding="utf-8") as file:
                line = file.readline()
            named = self.folder / json.loads(line.removeprefix(_HEADING)) if line.startswith(_HEADING) else None
        except (OSError, ValueError):
            # No such file, or one that was edited, which tells nothing.
            return None
        if named is None or (named.exists() and named.samefile(self.source)):
            return None
        return Path(os.path.normpath(named))


_HEADING = "# peerpressure run scenario.toml repeats this run of "


def may_be_written(out: Path) -> bool:
    """Return whether a folder is new, empty or contains the results of a run, so that no other files are at risk."""
    return not out.exists() or not any(out.iterdir()) or all((out / name).is_file() for name in MARKS)


def write_run(files: Mapping[str, Content], out: Path) -> list[Path]:
    """Write the files, all or none: the folder appears or changes once everything is on the disk.

    If that fails, the results go to a temporary folder, which the error names.
    """
    declare_output(out)
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
        # Beside the target, hence on the same file system, where a rename is atomic.
        part = Path(tempfile.mkdtemp(dir=out.parent, prefix=f".{out.name}.", suffix=".part"))
    except OSError as error:
        raise no_place(out, error) from error
    try:
        publish(part, files)
        if out.exists():
            # An existing folder may contain files of the user, so that it is updated file by file and not replaced.
            for name in files:
                (part / name).replace(out / name)
            # Files of an earlier run would be mistaken for results of this one.
            for name in OWN - files.keys():
                (out / name).unlink(missing_ok=True)
            part.rmdir()
        else:
            # A temporary folder is private; results get the usual permissions.
            part.chmod(0o777 & ~umask())
            part.rename(out)
    # Also on Ctrl-C: a partial folder must not remain.
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
    return [out / name for name in files]


def _rescued(files: Mapping[str, Content], name: str) -> Path | None:
    """Write the files to a temporary folder; None if that fails too."""
    place = None
    try:
        # The system's temporary folder is often on another disk, which may have room.
        place = Path(tempfile.mkdtemp(prefix="peerpressure-"))
        publish(place / name, files)
    except OSError:
        if place is not None:
            shutil.rmtree(place, ignore_errors=True)
        return None
    return place / name
