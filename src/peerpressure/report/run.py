"""The results of one run: rows for the terminal, a report as an HTML page, and the folder of all files."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import FileFormatError, InvalidInputError, TooLargeError
from peerpressure.model import Model
from peerpressure.networks import Network, TemporalNetwork
from peerpressure.privacy import Budget
from peerpressure.report.drawing import Drawing, Order, Submit, here
from peerpressure.report.estimates import Picture
from peerpressure.report.folder import FOLDER, SCENARIO, FolderProvenance, Study, keep_as, read_provenance
from peerpressure.report.html import Column, HtmlTable, Image, number, table, templates
from peerpressure.report.store import PART, Content, to_csv, write_csv
from peerpressure.scenario import Experiment, Scenario, load_scenario, states
from peerpressure.scenario.experiment import agent_columns, tables_of
from peerpressure.scenario.scenario import FORMATS
from peerpressure.simulation.trajectory import Trajectory, contents
from peerpressure.support.files import declared_inputs, same_file
from peerpressure.support.provenance import json_text, sha256_of
from peerpressure.support.text import with_deviation
from peerpressure.theory._text import progress_rows
from peerpressure.version import __version__

if TYPE_CHECKING:
    import pandas as pd


MOST_PLACED = 120  # agents whose layout takes a second or two
MOST_JOINED = 8  # edges per agent above which a drawing is unreadable
MAX_CSV_EDGES = 1_000_000  # above which edges are written as Parquet
MOST_LINES = 30  # agents whose opinions are drawn one by one
LISTED = 12  # agents on the page; the table beside it has all of them

# Both must be there before a folder counts as results and may be overwritten.
MARKS = ("run.nc", "verdict.json")
TABLES = ("agents", "summaries", "network", "estimates", "inferred_network", "budget", "frontier", "states")
FIGURES = (
    *("opinions", "hidden", "opinion_map", "network", "estimates"),
    *("exposure", "exposure_map", "budget", "frontier"),
)
# All names that a run can write but need not; those of an earlier run are removed.
OWN = frozenset([*(f"{name}.csv" for name in TABLES), *(f"{name}.{kind}" for name in FIGURES for kind in FORMATS)]) | {
    *("report.html", "edges.csv", "edges.parquet")
}


CONTENTS = f"{contents(hidden=True)}; peerpressure release writes what may be published"


def model_rows(experiment: Experiment) -> list[tuple[str, str]]:
    """Return the parameters of the run in words."""
    model = experiment.model
    s, x = model.s, model.x0
    words = model.description()
    drawn = experiment.scenario.drawn_hidden
    chance = "" if drawn is None else f", {drawn}"
    adapting = f", adapting by {words['adaptation']}" if "adaptation" in words else ""
    rules = {"own": "show their own opinions", "keep": "keep their last public opinions"}
    silent = [("isolated agents", rules[words["isolated"]])] if "isolated" in words else []
    updates = [("updates", words["activation"])] if "activation" in words else []
    flow = [] if experiment.run.equation is None else [("time", experiment.run.equation)]
    return [
        # The text inside the brackets of the representation, without the name of the class.
        ("network", words["network"].partition("(")[2].removesuffix(")")),
        *silent,
        ("hidden opinions", f"{number(x.min())} to {number(x.max())}, mean {number(x.mean())}{chance}{adapting}"),
        ("stubbornness", number(s[0]) if np.ptp(s) == 0 else f"{number(s.min())} to {number(s.max())}"),
        ("peer pressure", str(model.pressure)),
        ("noise", str(model.noise)),
        *updates,
        *flow,
        ("run", experiment.scenario.run.words),
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
    rows = [(name, _with_scatter(value)) for name, value in values.items()]
    # Without noise all replicates are the same.
    varies = any("±" in text for _, text in rows)
    return [*rows, *([("±", f"standard deviation over {len(final):,} replicates")] * varies)]


def _with_scatter(values: NDArray[np.float64]) -> str:
    """Return a mean with its standard deviation, both to the second digit of the latter; of one value, the value."""
    mean, scatter = float(values.mean()), float(values.std(ddof=1)) if values.size > 1 else 0.0
    return with_deviation(mean, scatter).replace("-", "\N{MINUS SIGN}") if scatter else number(mean)


def settling_facts(experiment: Experiment) -> list[tuple[str, str]]:
    """Return from which step on agents are close to each other and to v."""
    forecast = experiment.verdict.forecast
    return [] if forecast is None else progress_rows(forecast)


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


def privacy_numbers(experiment: Experiment) -> list[tuple[str, str]]:
    """Return the exposure of agents, and the ε of one run and of the recorded data; nothing without [privacy]."""
    if experiment.scenario.privacy is None:
        return []
    exposure, one, recorded = experiment.exposure, experiment.budget, experiment.recorded_budget
    bits, least = exposure.table["bits"], "" if exposure.is_exact else "at least "
    rows = [
        ("mean information", f"{least}{number(float(bits.mean()))} bits per agent from one run"),
        ("most exposed agent", f"{least}{number(float(bits.max()))} bits, agent {bits.idxmax()}"),
        ("ε of the recorded data", recorded_epsilon(recorded)),
        ("ε of one run, y₀ unobserved", _epsilon(one)),
        *_observer_epsilon(experiment),
    ]
    if not math.isnan(one.epsilon_limit):
        rows.append(("ε of one run, all times", number(one.epsilon_limit)))
    return [*rows, *(("warning", sentence) for sentence in one.definition.warnings)]


def privacy_definition(experiment: Experiment) -> list[tuple[str, str]]:
    """Return the sentences that define ε, and what exposure means; nothing without [privacy]."""
    if experiment.scenario.privacy is None:
        return []
    note = experiment.exposure.note
    terms = experiment.budget.definition.terms.items()
    return [*terms, ("results folder", CONTENTS), *([("exposure", note)] if note else [])]


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


CAPTIONS: Mapping[str, str] = {
    "opinions": "Left, the highest and the lowest public opinion of all replicates, the mean over agents of every "
    "replicate, the agents of the first replicate if they are few (grey), and the consensus value v (dotted). Right, "
    "spread max − min and largest distance max |y − v|: median and interquartile range over replicates. If closed "
    "classes or camps have values of their own, these are dotted, and distances are to the agents' own limits.",
    "hidden": "Left, the highest and the lowest hidden opinion after each step of all replicates, the mean over "
    "agents of every replicate, and the consensus value v (dotted). Right, the spread of hidden and of public "
    "opinions: median and interquartile range over replicates.",
    "opinion_map": "The agents on their network, in one scale of colours. Left, hidden opinions at the start. Right, "
    "public opinions after the last step, means over replicates. Agents with more neighbours are larger.",
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
    graph = experiment.model.network
    if source == "summaries":
        yield "opinions", (data, v, _agents_over_time(experiment.run))
        # The column exists only if hidden opinions adapt.
        if "hidden_mean" in data:
            yield "hidden", (data, v)
    elif source == "network":
        yield "network", (data,)
    elif source == "estimates":
        yield "estimates", (data, experiment.target)
    elif source == "agents":
        # Kamada–Kawai needs all pairs of distances: its cost grows faster than the square of the number of agents.
        drawn = graph.n <= MOST_PLACED and 0 < graph.edge_count <= MOST_JOINED * graph.n
        # An agent has one colour, and with several topics several opinions.
        if drawn and "topic" not in data:
            yield "opinion_map", (data, _pairs(graph), *opinion_scale(experiment.model))
        if private:
            yield "exposure", (data,)
        if private and drawn:
            yield "exposure_map", (experiment.exposure.table, experiment.exposure.edges())
    # A log axis cannot display an infinite ε, the budget of a run without noise.
    elif source == "budget" and np.isfinite(data["epsilon"]).any():
        yield "budget", (data,)
    elif source == "frontier" and experiment.frontier is not None:
        yield "frontier", (data, experiment.frontier.units, experiment.frontier.limit)


def _pairs(network: Network) -> pd.DataFrame:
    """Return the pairs of linked agents, by their positions, as figures draw them."""
    import pandas as pd

    return pd.DataFrame(dict(zip(("source", "target", "one_way", "negative"), network.pairs(), strict=True)))


def opinion_scale(model: Model) -> tuple[tuple[float, float], str]:
    """Return the opinion in the middle of the colours with how far these reach to both sides, and its name.

    The middle is v, or 0 between camps, whose opinions are opposite; the reach is that of the hidden opinions, or of
    the start where those are all v.
    """
    signed = model.network.signed
    centre = 0.0 if signed else model.consensus_value
    half = float(np.abs(model.x0 - centre).max()) or float(np.abs(model.start_state - centre).max())
    return (centre, max(half, 1e-9)), "" if signed or not isinstance(model.target, float) else "$v$"


def _agents_over_time(run: Trajectory) -> pd.DataFrame | None:
    """Return the public opinions of the first replicate by time and agent, where they are recorded and few."""
    import pandas as pd

    if run.states is None or run.agents.size > MOST_LINES:
        return None
    return pd.DataFrame(run.states[0], index=run.times)


_OBSERVER = ("method", "identified", "standard error", "error made")


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
            answer=[*outcome_rows(experiment), *settling_facts(experiment)],
            model=model_rows(experiment),
            observer=HtmlTable(_OBSERVER, observer_rows(experiment), [False, True, True, True]),
            privacy=privacy_numbers(experiment),
            definition=privacy_definition(experiment),
            agents=_agents(tables["agents"], exact=experiment.scenario.privacy is None or experiment.exposure.is_exact),
            pictures=[Picture(name, CAPTIONS[name], picture) for name, picture in pictures.items()],
            files=[
                *edge_file(experiment.scenario.agent_network),
                *(f"{name}.csv" for name in tables),
                *(["states.csv"] * experiment.lists_states),
            ],
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
    ]
    # One replicate has no standard deviation.
    if agents["final_std"].notna().any():
        columns.append(Column("final_std", "standard deviation over replicates", digits=2))
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
    inputs: Mapping[str, Path] | None = None,
) -> dict[str, Content]:
    """Return the files of a run by name; files that grow with the run are produced while they are written.

    ``inputs`` are the input files by their names in the folder.
    """
    ordered = ordered or order_figures(experiment)
    tables, drawings = ordered.tables, ordered.drawings
    stored = scenario_file(experiment.scenario, inputs or {}, _HEADING)
    scenario = stored.decode().removeprefix(_HEADING)
    files: dict[str, Content] = {
        SCENARIO: stored,
        "verdict.json": json_text(experiment.verdict.to_dict()).encode(),
    }
    files |= {f"{name}.csv": to_csv(table) for name, table in tables.items()}
    files |= edge_file(experiment.scenario.agent_network)
    # As functions, called while the file is written, so no second copy of the states is in memory.
    files["run.nc"] = lambda file: experiment.run.write_netcdf(file, _origin(experiment, scenario, inputs or {}))
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


def _origin(experiment: Experiment, scenario: str, inputs: Mapping[str, Path]) -> dict[str, str]:
    """Return the attributes of a run that is separated from its folder: its scenario, and hashes of its inputs.

    Dates and versions of libraries are in the provenance of the folder; here they would change the bits of each run.
    """
    hashes = {name: sha256_of(path) for name, path in inputs.items()}
    made = {"software": f"peerpressure {experiment.run.version}", "seed": experiment.run.seed, "inputs": hashes}
    return {"scenario": scenario, "provenance": json_text(made)}


def network_files(network: Network | TemporalNetwork, **columns: Any) -> dict[str, Content]:
    """Return the network as it was used: its edges, and its agents with further columns, by the names of the files."""
    import pandas as pd

    graph = network.aggregate if isinstance(network, TemporalNetwork) else network
    return {**edge_file(network), "agents.csv": to_csv(pd.DataFrame({**agent_columns(graph), **columns}))}


def edge_file(network: Network | TemporalNetwork) -> dict[str, Content]:
    """Return the edges of a network, or the events of a temporal one, by the name of the file."""
    import pandas as pd

    table = pd.DataFrame(network.edge_columns())
    if len(table) <= MAX_CSV_EDGES or find_spec("pyarrow") is None:
        return {"edges.csv": lambda file: write_csv([table], file)}
    # Texts, because a column of Parquet has one type and labels may have several.
    texts = {name: table[name].map(str) for name in ("source", "target") if table[name].dtype == object}
    return {"edges.parquet": lambda file: table.assign(**texts).to_parquet(file, index=False, engine="pyarrow")}


def study_of(
    scenario: Scenario,
    file: Path,
    command: str = "run",
    line: Callable[[Mapping[Path, str]], Sequence[str]] | None = None,
) -> Study:
    """Return the study of a command that takes a scenario: its name, its inputs, and how to repeat it.

    Parameters
    ----------
    scenario : Scenario
        The scenario, which is written to the folder with the names of `Study.inputs`.
    file : Path
        File of the scenario; a folder of results stands for a scenario that no file has. A scenario among the results
        of the same command is the study of those.
    command : str, default "run"
        Name of the command.
    line : callable, optional
        Words of the command line that repeats it, from the names of files in the folder by their paths; by default the
        scenario alone.
    """
    earlier = _earlier(file, command)
    # A scenario that was given by options has no source, neither at first nor when it is run again.
    source = earlier.kept_source if earlier is not None else file if file.is_file() else None
    given = [path for path in declared_inputs() if not same_file(path, file)]
    kept = keep_as([*filter(None, [source]), *given])
    names = {**{path: f"{FOLDER}/{name}" for path, name in kept.items()}, file.absolute(): f"{FOLDER}/{SCENARIO}"}
    return Study(
        command=command,
        name=_study_name(file) if earlier is None else earlier.name,
        repeat=(command, *(line(names) if line is not None else [f"{FOLDER}/{SCENARIO}"])),
        seed=scenario.run.seed,
        source=None if source is None else file,
        original=None if source is None else Path(os.path.abspath(source)),
        inputs={name: path for path, name in kept.items()},
        contents=contents(hidden=True),
    )


def scenario_file(scenario: Scenario, inputs: Mapping[str, Path], heading: str = "") -> bytes:
    """Return a scenario as a file of a results folder, with every default written out and copies as its inputs."""
    names = {Path(os.path.abspath(path)): name for name, path in inputs.items()}
    return f"{heading}{scenario.to_toml('', names)}".encode()


def _earlier(file: Path, command: str) -> FolderProvenance | None:
    """Return the provenance of the results whose scenario this file is; None if it is another file."""
    if file.name != SCENARIO:
        return None
    with contextlib.suppress(FileFormatError):
        provenance = read_provenance(file.parent)
        return provenance if provenance.command == command else None
    return None


def _study_name(file: Path) -> str:
    """Return the name of the study that a scenario file describes: that of its folder, if the file is "scenario".

    >>> _study_name(Path("studies/rivals.toml")), _study_name(Path("studies/polarised/scenario.toml"))
    ('rivals', 'polarised')
    """
    return file.stem if file.stem != "scenario" else file.resolve().parent.name or file.stem


def other_source(folder: Path, file: Path | None) -> Path | None:
    """Return the scenario file whose results a folder contains, if that is another one or is not known to exist."""
    try:
        named = read_provenance(folder).source
    except FileFormatError:
        # No such file, or one that was edited, which tells nothing.
        return None
    return None if named is None or (file is not None and same_file(named, file)) else named


_HEADING = f"# peerpressure run {SCENARIO} repeats this run.\n# This folder {contents(hidden=True)}.\n"


def may_be_written(out: Path) -> bool:
    """Return whether a folder is new, empty or contains the results of a run, which puts no other files at risk."""
    return not out.exists() or not any(out.iterdir()) or all((out / name).is_file() for name in MARKS)


def report_again(provenance: FolderProvenance, progress: Callable[[str], None] = lambda stage: None) -> bytes:
    """Return the report of a run from the stored results in its folder, without simulation."""
    folder = provenance.folder
    scenario = load_scenario(folder / SCENARIO)
    # The page and its figures are made, whatever the scenario asks for beside them.
    asked = scenario.model_copy(update={"output": scenario.output.model_copy(update={"report": True})})
    experiment = Experiment(asked, stored=Trajectory.from_netcdf(folder / "run.nc", asked.model()))
    progress("drawing")
    ordered = order_figures(experiment)
    pictures = {name: one.picture for name, wait in ordered.drawings.items() if (one := wait()).picture is not None}
    # The text that the folder has, without its heading.
    text = (folder / SCENARIO).read_text(encoding="utf-8").removeprefix(_HEADING)
    return run_page(experiment, ordered.tables, pictures, provenance.name, text).encode()
