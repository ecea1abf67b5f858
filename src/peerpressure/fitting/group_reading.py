"""From tables of answers, in groups or in one, and from networks in any form, to a panel of groups."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias, cast, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from peerpressure.errors import InvalidInputError, message
from peerpressure.fitting._groups import Codes, First, GroupPanel, Neighbours, Shown
from peerpressure.model import Model
from peerpressure.model.step import Array
from peerpressure.networks import Network, TemporalNetwork, read_network
from peerpressure.recovery import read_observations
from peerpressure.simulation.outputs import MISSING
from peerpressure.support.files import naming
from peerpressure.support.table_files import frame_table, read_table
from peerpressure.support.tables import TextTable, places_in

Waves: TypeAlias = Network | TemporalNetwork | Sequence[Network]
Graphs: TypeAlias = Waves | Mapping[Any, Waves]
Unit: TypeAlias = tuple[str, str]  # a group and its question

COLUMNS: Final = ("time", "agent", "public", "group", "question", "seen")
_LAYOUT = "use columns time, agent and public, and where they apply group, question and seen"


@final
@dataclass(frozen=True, eq=False)
class AnswerTable:
    """Answers by row and person, with the group and the question of each person, and what was seen if that is known."""

    values: Array
    times: NDArray[Any]
    agents: Sequence[str]
    groups: Sequence[str]
    questions: Sequence[str]
    seen: Array | None
    has_groups: bool
    has_questions: bool
    words: str  # how a table was read


def group_panel(
    data: Any,
    network: Any,
    first: First,
    *,
    group: str | None = None,
    question: str | None = None,
    seen: str | None = None,
) -> tuple[GroupPanel, tuple[str, ...]]:
    """Return the panel of data, and remarks on how they were read."""
    if first not in ("before", "after"):
        rule = "first must be 'before', if the first row was answered before anybody had seen anything, or 'after'"
        raise InvalidInputError(message(rule, got=repr(first), remedy="use 'after' for people who know each other"))
    answers = _answers(data, {"group": group, "question": question, "seen": seen})
    if len(answers.values) < 2:
        rule, remedy = "people must have answered in two rounds or more", "add rounds"
        raise InvalidInputError(message(rule, got=f"{len(answers.values)}", remedy=remedy))
    questions, stratum = _codes(answers.questions)[1], _strata(answers)
    values, shown = _standardised(answers, questions)
    units = _codes(list(zip(answers.groups, answers.questions, strict=True)))[1]
    notes: tuple[str, ...] = ()
    if shown is None or (network is not None and np.isnan(shown).all()):
        networks, notes = _networks(answers, units, graphs_of(network))
        exposure: Shown | Neighbours = Neighbours(values, networks)
    elif network is not None:
        rule, remedy = "what people saw comes from a column or from a network", "leave one of them out"
        raise InvalidInputError(message(rule, got="both", remedy=remedy))
    else:
        shown[0] = np.nan
        exposure = Shown(shown)
    cluster = _codes(answers.groups)[1] if answers.has_groups else units
    panel = GroupPanel(values, exposure, first, stratum, cluster, units, answers.agents)
    words = (f"The answers were read as {answers.words}.",) if answers.words and _is_path(data) else ()
    return panel, (*words, *notes, *_gaps(panel))


def _gaps(panel: GroupPanel) -> tuple[str, ...]:
    lost = int((np.isfinite(panel.answers) & ~panel.answered).sum())
    return (f"{lost} answers after a person's first missing one were not used.",) if lost else ()


def _strata(answers: AnswerTable) -> Codes:
    """Return codes of people who could have sat in each other's place: of a question, or else of a group."""
    return _codes(answers.questions if answers.has_questions else answers.groups)[1]


def _codes(values: Sequence[Hashable]) -> tuple[list[Hashable], Codes]:
    names = list(dict.fromkeys(values))
    place = {name: k for k, name in enumerate(names)}
    return names, np.array([place[value] for value in values], dtype=np.intp)


def _standardised(answers: AnswerTable, questions: Codes) -> tuple[Array, Array | None]:
    """Return answers and what was seen in units of their question: questions differ in what they measure."""
    values, seen = answers.values.copy(), None if answers.seen is None else answers.seen.copy()
    for code in np.unique(questions):
        members = questions == code
        first = values[:, members][np.isfinite(values[:, members])]
        middle = np.median(first)
        scale = 1.4826 * np.median(np.abs(first - middle)) or first.std() or 1.0
        values[:, members] = (values[:, members] - middle) / scale
        if seen is not None:
            seen[:, members] = (seen[:, members] - middle) / scale
    return values, seen


# AnswerTable


def _answers(data: Any, names: Mapping[str, str | None]) -> AnswerTable:
    """Return the answers of a table with one answer to a row, or of data in any other form, which are of one group."""
    with naming(Path(data), "a file of answers") if _is_path(data) else nullcontext():
        table = _table_of(data)
        places = {} if table is None else _places(table.heading or (), names)
        if table is not None and {"time", "agent", "public"} <= places.keys():
            table.check_rows()
            return _tidy(table, places)
    missing = [name for name in names.values() if name is not None]
    if missing:
        rule = "groups, questions and what was seen come with a table of one answer to a row"
        raise InvalidInputError(message(rule, got=f"a column {missing[0]!r} of other data", remedy=_LAYOUT))
    return _plain(data)


def _is_path(data: Any) -> bool:
    return isinstance(data, (str, os.PathLike))


def _table_of(data: Any) -> TextTable | None:
    """Return the table in a file or a data frame, None for data of other kinds."""
    if _is_path(data):
        path = Path(data)
        is_run = path.is_dir() or path.suffix.lower() in (".nc", ".npz", ".zarr")
        return None if is_run else read_table(path).headed()
    if not (hasattr(data, "columns") and hasattr(data, "itertuples")):
        return None
    return frame_table(data)


def _plain(data: Any) -> AnswerTable:
    run, words = read_observations(data)
    if run.states is None or run.states.shape[0] != 1:
        rule, remedy = (
            "these must be the recorded answers of one group",
            "pass one replicate, simulated with all states recorded",
        )
        raise InvalidInputError(message(rule, got=f"{run.replicates.size} replicates", remedy=remedy))
    labels = [str(label) for label in np.array(run.model.network.labels, dtype=object)[np.asarray(run.agents)]]
    blank = [""] * len(labels)
    return AnswerTable(run.states[0].copy(), np.asarray(run.times), labels, blank, blank, None, False, False, words)


def _places(heading: Sequence[str], names: Mapping[str, str | None]) -> dict[str, int]:
    """Return the columns of each role: those that were named, and others by their usual names."""
    named = {role: _named(heading, name) for role, name in names.items() if name is not None}
    others = [name if k not in named.values() else "" for k, name in enumerate(heading)]
    return places_in(others, [role for role in COLUMNS if role not in named], letters=True) | named


def _named(heading: Sequence[str], name: str) -> int:
    if list(heading).count(name) != 1:
        got = ", ".join(map(repr, heading))
        raise InvalidInputError(message(f"there must be one column {name!r}", got=got, remedy="name one of these"))
    return list(heading).index(name)


def _numbers(table: TextTable, k: int, name: str) -> Array:
    """Return the numbers of a column, NaN where they are missing."""
    there = np.flatnonzero(table.columns[k].where(lambda text: text.casefold() not in MISSING))
    out = np.full(len(table), np.nan)
    out[there] = table.taken(there).numbers(k, name, "a number, or empty")
    wrong = np.flatnonzero(np.isinf(out))
    if wrong.size:
        row = table.row(int(wrong[0]))
        raise table.malformed(row, f"{name} {row.fields[k]!r}", f"the {name} must be finite, or empty")
    return out


def _tidy(table: TextTable, places: Mapping[str, int]) -> AnswerTable:
    """Return the answers of rows with one answer each; rounds are the times in their order."""
    times, row = np.unique(table.times(places["time"]), return_inverse=True)
    texts = {role: table.column(k) for role, k in places.items()}
    blank = [""] * len(row)
    keys = list(zip(texts.get("group", blank), texts.get("question", blank), texts["agent"], strict=True))
    people, person = _codes(keys)
    values = np.full((times.size, len(people)), np.nan)
    place = row * len(people) + person
    _, counts = np.unique(place, return_counts=True)
    if counts.max(initial=1) > 1:
        again = next(k for k in range(1, place.size) if place[k] in place[:k])
        remedy = "name the columns of groups and questions, in which people may have the same names"
        raise table.malformed(table.row(again), f"another answer of {keys[again][2]!r} in the same round", remedy)
    values[row, person] = _numbers(table, places["public"], "answer")
    seen = None
    if "seen" in places:
        seen = np.full(values.shape, np.nan)
        seen[row, person] = _numbers(table, places["seen"], "value seen")
    groups, questions, agents = (list(part) for part in zip(*cast("list[tuple[str, str, str]]", people), strict=True))
    words = table.description(places)
    return AnswerTable(values, times, agents, groups, questions, seen, "group" in texts, "question" in texts, words)


# Networks


def graphs_of(network: Any, *, directed: bool | None = None) -> Graphs:
    """Return networks as they are, or those in a file: one, or one for each group or wave that a column names."""
    if isinstance(network, (str, os.PathLike)):
        return _graphs_in(Path(network), directed)
    if not (hasattr(network, "labels") or isinstance(network, Mapping | Sequence)):
        rule = "the response to others needs to know what people saw: a network, or a column 'seen'"
        remedy = "pass a Network, one for each wave, or a mapping from groups to networks"
        raise InvalidInputError(
            message(rule, got="neither" if network is None else type(network).__name__, remedy=remedy)
        )
    return cast("Graphs", network)


def _graphs_in(path: Path, directed: bool | None) -> Graphs:
    with naming(path, "a network"):
        try:
            table = read_table(path).headed()
            places = places_in(table.heading or (), ("source", "target", "weight", "group", "time"))
        except UnicodeDecodeError:
            places = {}
    if not {"source", "target"} <= places.keys() or not {"group", "time"} & places.keys():
        return read_network(path, directed=directed)
    with naming(path, "a network"):
        table.check_rows()
        sources, targets = table.column(places["source"]), table.column(places["target"])
        weights = table.numbers(places["weight"], "weight") if "weight" in places else np.ones(len(sources))
        groups = table.column(places["group"]) if "group" in places else [""] * len(sources)
        times = table.times(places["time"]) if "time" in places else np.zeros(len(sources))
        waves = np.unique(times)
        made: dict[str, list[Network]] = {}
        for name in dict.fromkeys(groups):
            mine = np.array([group == name for group in groups])
            labels = list(dict.fromkeys(label for k in np.flatnonzero(mine) for label in (sources[k], targets[k])))
            made[name] = [
                Network.from_edges(
                    [(sources[k], targets[k], weights[k]) for k in np.flatnonzero(mine & (times == wave))],
                    labels=labels,
                    directed=bool(directed),
                )
                for wave in waves
            ]
    chosen: dict[str, Waves] = {name: one if "time" in places else one[0] for name, one in made.items()}
    return chosen if "group" in places else chosen[""]


def _networks(answers: AnswerTable, units: Codes, graphs: Graphs) -> tuple[list[sparse.csr_array], tuple[str, ...]]:
    """Return the networks of all groups side by side, one for each row after the first, and remarks."""
    steps, n = len(answers.values), len(answers.agents)
    parts: list[list[tuple[Codes, Codes, Array]]] = [[] for _ in range(steps - 1)]
    strangers, known = set[str](), dict[str, set[str]]()
    for group, agent in zip(answers.groups, answers.agents, strict=True):
        known.setdefault(group, set()).add(agent)
    for code in range(int(units.max()) + 1):
        members = np.flatnonzero(units == code)
        graph = _of_group(graphs, answers.groups[int(members[0])])
        for k, (labels, weights) in enumerate(() if graph is None else _waves(graph, answers.times, steps)):
            place = {answers.agents[i]: i for i in map(int, members)}
            strangers |= set(labels) - known[answers.groups[int(members[0])]]
            where = np.array([place.get(label, -1) for label in labels])
            edges = sparse.coo_array(weights)
            rows, columns = where[edges.coords[0]], where[edges.coords[1]]
            kept = (rows >= 0) & (columns >= 0)
            parts[k].append((rows[kept], columns[kept], np.asarray(edges.data, dtype=np.float64)[kept]))
    made = [_side_by_side(each, n) for each in parts]
    if not any(one.nnz for one in made):
        rule = "agents of the network must be ones who answered"
        got = f"none of {', '.join(sorted(strangers)[:3]) or 'nobody'}"
        raise InvalidInputError(message(rule, got=got, remedy="use the same names in both tables"))
    alone = int((sum(np.diff(one.indptr) for one in made) == 0).sum())
    notes = [f"{alone} of {n} people saw nobody."] * bool(alone)
    notes += [f"{len(strangers)} agents of the network gave no answers."] * bool(strangers)
    return made, tuple(notes)


def _of_group(graphs: Graphs, group: str) -> Waves | None:
    """Return the network of a group; None for one that a mapping leaves out, which saw nobody."""
    return {str(name): one for name, one in graphs.items()}.get(group) if isinstance(graphs, Mapping) else graphs


def _waves(graph: Waves, times: NDArray[Any], steps: int) -> list[tuple[list[str], sparse.csr_array]]:
    """Return the labels and the weights of the network that people saw before each row after the first."""
    if not isinstance(graph, Sequence):
        graphs, when = [graph] * (steps - 1), [int(time) for time in times[1:]]
    elif len(graph) in (steps, steps - 1):
        # With a network for each wave, people respond to what those of the wave before had said.
        graphs, when = list(graph[: steps - 1]), [1] * (steps - 1)
    else:
        rule = f"there must be a network for each of the {steps} waves, or for each but the last"
        raise InvalidInputError(message(rule, got=f"{len(graph)}", remedy="give one network if it does not change"))
    models = {id(one): Model(one, np.zeros(one.n)) for one in graphs}
    found = [(models[id(one)], step) for one, step in zip(graphs, when, strict=True)]
    if any(
        (model.network.adjacency.nnz and model.network.adjacency.data.min() < 0) or model.network.topics
        for model, _ in found
    ):
        rule, remedy = (
            "what people saw is a mean, so weights must be positive",
            "leave out ties of distrust, and topics",
        )
        raise InvalidInputError(message(rule, got="a signed network or one with topics", remedy=remedy))
    return [([str(label) for label in model.network.labels], model.adjacency_at(step)) for model, step in found]


def _side_by_side(parts: Sequence[tuple[Codes, Codes, Array]], n: int) -> sparse.csr_array:
    if not parts:
        return sparse.csr_array((n, n))
    rows, columns, weights = (np.concatenate(each) for each in zip(*parts, strict=True))
    return sparse.csr_array((weights, (rows, columns)), shape=(n, n))
