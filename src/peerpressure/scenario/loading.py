"""Loading scenarios: from a file to a scenario, or to the list of all errors in it."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar, final, get_args, get_origin

import numpy as np
from pydantic import Tag, ValidationError

from peerpressure.errors import InvalidInputError, PeerPressureError, first_few, message
from peerpressure.model import Model
from peerpressure.networks import describe_events_file, describe_network_file
from peerpressure.privacy import Definition
from peerpressure.recovery import METHODS
from peerpressure.scenario.agents import PARTS, AdaptationTable, FromAttribute, FromColumn, adaptation_of, values_of
from peerpressure.scenario.network import ContactsSection, EventsSection, NetworkFileSection
from peerpressure.scenario.scenario import Scenario
from peerpressure.scenario.section import Section, as_labels, read_text, unknown_name
from peerpressure.scenario.system import OptimalSection, ScheduleSection
from peerpressure.support.files import expanded
from peerpressure.theory.tuning import check_optimum

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails


# Errors in a scenario file: every problem with its key, its line, the value and the remedy.

KeyPath: TypeAlias = tuple[str | int, ...]

# tomllib does not report the lines of keys, so they are found by a scan of the text.
_TABLE = re.compile(r"\s*\[(\[?)([^\[\]]+)\]")
_PART = r"""(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')"""
_ENTRY = re.compile(rf"\s*({_PART}(?:\s*\.\s*{_PART})*)\s*=")
_ASIDE = re.compile(r'"(?:\\.|[^"\\])*"|\'[^\']*\'|#.*')


def lines_of(text: str) -> dict[KeyPath, int]:
    r"""Return the line, counted from 1, on which each table and each key of a file begins.

    >>> lines_of("[run]\nsteps = 10\n")
    {('run',): 1, ('run', 'steps'): 2}
    """
    line_numbers: dict[KeyPath, int] = {}
    counts: dict[KeyPath, int] = {}
    table: KeyPath = ()
    # Lines within a list of several lines or a triple-quoted string are values, in which nothing begins.
    depth, quoted = 0, ""
    for number, line in enumerate(text.splitlines(), start=1):
        if not depth and not quoted:
            if header := _TABLE.match(line):
                table = _entered(_parts(header[2]), repeated=bool(header[1]), counts=counts)
                # A repeated key is an error of TOML itself, so the first occurrence is as good as any.
                line_numbers.setdefault(table, number)
            elif entry := _ENTRY.match(line):
                line_numbers.setdefault((*table, *_parts(entry[1])), number)
        quoted = _still_quoted(line, quoted)
        # max: an unbalanced bracket in a malformed file must not hide all keys after it.
        depth = 0 if quoted else max(0, depth + _opened(line))
    return line_numbers


def _entered(parts: KeyPath, *, repeated: bool, counts: dict[KeyPath, int]) -> KeyPath:
    """Return the table that a header opens; each repeated header in double brackets is one more entry of a list."""
    if not repeated:
        return parts
    counts[parts] = counts.get(parts, -1) + 1
    return (*parts, counts[parts])


def line_of(path: Sequence[str | int], lines: dict[KeyPath, int]) -> int | None:
    """Return the line of a key, or of the nearest enclosing table that has one."""
    # From the inside out: a key that is missing has no line, but its table has.
    for end in range(len(path), 0, -1):
        if tuple(path[:end]) in lines:
            return lines[tuple(path[:end])]
    return None


def _parts(dotted: str) -> KeyPath:
    return tuple(part.strip("\"'") for part in re.findall(_PART, dotted))


def _opened(line: str) -> int:
    """Return how many more brackets a line opens than it closes; those of a table header cancel."""
    # Brackets in strings and comments open nothing.
    plain = _ASIDE.sub("", line)
    return plain.count("[") + plain.count("{") - plain.count("]") - plain.count("}")


def _still_quoted(line: str, quoted: str) -> str:
    """Return the triple quotes that are open at the end of the line, if any."""
    # A mark of the other kind within an open string is text.
    for mark in re.findall(r'"""|\'\'\'', line):
        quoted = "" if mark == quoted else quoted or mark
    return quoted


@final
@dataclass(frozen=True)
class Problem:
    """One error in a scenario file.

    Parameters
    ----------
    path : str
        Dotted path of the key; empty for the file as a whole.
    message : str
        The rule, the value and the remedy.
    line : int, optional
        Line in the file, from 1.

    See Also
    --------
    ScenarioError : All problems of a file.

    Examples
    --------
    >>> from peerpressure.scenario import Problem
    >>> Problem("run.steps", "steps must be at least 1, got 0; ask for one step or more", 7).to_dict()["line"]
    7
    """

    path: str
    message: str
    line: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, fit for JSON.

        Returns
        -------
        dict
            Keys ``path``, ``message`` and ``line``.
        """
        return asdict(self)

    def __str__(self) -> str:
        place = (
            self.path if self.line is None else f"line {self.line}, {self.path}" if self.path else f"line {self.line}"
        )
        return f"{place}: {self.message}" if place else self.message


@final
class ScenarioError(InvalidInputError):
    """A scenario or sweep file is not valid.

    Attributes
    ----------
    problems : tuple of Problem
        All errors in the file.
    source : str
        Name of the file.
    """

    def __init__(self, problems: Sequence[Problem], source: str = "") -> None:
        self.problems = tuple(problems)
        self.source = source
        # Every line names the file, so editors and terminals can jump to it.
        super().__init__("\n".join(f"{source}: {problem}" if source else str(problem) for problem in problems))


# Rule and remedy for each type of validation error; the words in braces are in the error's context.
_RULES = {
    "float_type": ("must be a number", "write it without quotes"),
    "int_type": ("must be a whole number", "write it without quotes or decimal point"),
    "string_type": ("must be text", "put it in quotes"),
    "bool_type": ("must be true or false", "write it without quotes"),
    "list_type": ("must be a list", "write [a, b, …]"),
    "dict_type": ("must be a table", "write { key = value }"),
    "model_type": ("must be a table", "write its keys under a [header] of its own"),
    "finite_number": ("must be finite", "use a finite number"),
    "greater_than": ("must be above {gt}", "use a larger value"),
    "greater_than_equal": ("must be at least {ge}", "use a larger value"),
    "less_than": ("must be below {lt}", "use a smaller value"),
    "less_than_equal": ("must be at most {le}", "use a smaller value"),
    "literal_error": ("must be {expected}", "check the spelling"),
    "too_short": ("must hold {min_length} or more", "add some, or leave the key out"),
    "too_long": ("must hold {max_length} or fewer", "take some out"),
    "string_pattern_mismatch": ("must be a field of the scenario by its dotted path", "for instance 'pressure.slope'"),
    "string_too_short": ("must not be empty", "write something, or leave the key out"),
}


def explain(error: ValidationError, root: type[Section], lines: dict[tuple[str | int, ...], int]) -> list[Problem]:
    """Return the problems of a file in the order of their lines."""
    problems = []
    for detail in error.errors(include_url=False):
        # Tags of alternatives are part of Pydantic's location, and mean nothing to a user.
        path = [part for part in detail["loc"] if not _is_tag(part)]
        if unknown := _unknown(detail):
            # The name itself is wrong, not the table that it is in.
            path, text = [*path, unknown[0]], unknown[1]
        else:
            text = _message(detail, root)
        # The path already names what the rule is about.
        text = text.removeprefix(f"{path[-1]} ") if path else text
        problems.append(Problem(path=dotted(path), message=text, line=line_of(path, lines)))
    # Problems without a line come first; sorted is stable, so those of one line keep their order.
    return sorted(problems, key=lambda problem: problem.line or 0)


def dotted(path: Sequence[str | int]) -> str:
    """Return a path in dotted notation.

    >>> dotted(["agents", "hidden", 2])
    'agents.hidden[2]'
    """
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")


def _message(detail: ErrorDetails, root: type[Section]) -> str:
    kind, value, context = detail["type"], detail["input"], detail.get("ctx", {})
    if kind == "value_error":
        return str(context["error"])
    if kind == "missing":
        return f"is missing; add {_missing(detail['loc'], root)}"
    if kind == "extra_forbidden":
        return _unknown_key(detail["loc"], root)
    if kind == "no_alternative":
        # Rule and remedy were joined in ``alternatives``, because Pydantic's custom errors have a single message.
        rule, _, remedy = detail["msg"].partition("; ")
        return message(rule, got=_shown(value), remedy=remedy)
    # Types of errors that are not listed keep Pydantic's own words, in the form of the other messages.
    rule, remedy = _RULES.get(kind, (detail["msg"][:1].lower() + detail["msg"][1:], "correct it"))
    return message(rule.format(**context), got=_shown(value), remedy=remedy)


def _unknown(detail: ErrorDetails) -> tuple[str, str] | None:
    """Return the key whose value names none of the alternatives, with the message; None if that is not the problem."""
    value = detail["input"]
    if detail["type"] != "no_alternative" or not isinstance(value, dict):
        return None
    for key, known in detail.get("ctx", {}).items():
        if isinstance(value.get(key), str):
            return key, unknown_name(key, value[key], known.split(", "))
    return None


def _missing(loc: Sequence[str | int], root: type[Section]) -> str:
    """Return what to add for a key that is missing: a line, or a section with the lines that it needs."""
    key = str(loc[-1])
    inner = list(_sections(root.model_fields[key].annotation)) if len(loc) == 1 and key in root.model_fields else []
    if not inner:
        return f"{key} = …"
    # One of several alternatives has keys of its own, which the next message lists.
    needed = (
        [name for name, field in inner[0][1].model_fields.items() if field.is_required()] if len(inner) == 1 else []
    )
    return f"a section [{key}]" + (f" with {', '.join(f'{name} = …' for name in needed)}" if needed else "")


def _shown(value: Any) -> str:
    text = repr(value)
    # A wrong value may be a list of a million numbers.
    return text if len(text) <= 60 else f"{text[:57]}…"


def _unknown_key(loc: Sequence[str | int], root: type[Section]) -> str:
    legal, key = _legal_keys(loc, root), str(loc[-1])
    near = difflib.get_close_matches(key, legal, 1)
    remedy = f"did you mean {near[0]!r}?" if near else f"the keys here are {', '.join(legal)}"
    return message("this key is unknown", got=repr(key), remedy=remedy)


def _legal_keys(loc: Sequence[str | int], root: type[Section]) -> list[str]:
    """Return the legal keys at a location, following it from the root through the alternatives taken."""
    here: list[tuple[str, type[Section]]] = [("", root)]
    for part in loc[:-1]:
        if _is_tag(part):
            # Only the alternative that was chosen has legal keys; the others would give misleading suggestions.
            here = [(name, section) for name, section in here if name == part]
        elif isinstance(part, str):
            here = [pair for _, section in here for pair in _sections(section.model_fields[part].annotation)]
    return list(here[0][1].model_fields) if here else []


def _sections(annotation: Any, name: str = "") -> Iterator[tuple[str, type[Section]]]:
    """Yield the sections in an annotation, each with its tag."""
    if isinstance(annotation, type) and issubclass(annotation, Section):
        yield name, annotation
        return
    parts = get_args(annotation)
    if get_origin(annotation) is Annotated:
        tags = [mark.tag for mark in parts[1:] if isinstance(mark, Tag)]
        parts, name = parts[:1], tags[0] if tags else name
    for part in parts:
        yield from _sections(part, name)


def _is_tag(part: str | int) -> bool:
    return isinstance(part, str) and part.startswith("<")


# From a file to a scenario.

Location: TypeAlias = tuple[str | int, ...]
Check: TypeAlias = Callable[[Scenario], Any]


def inconsistencies(scenario: Scenario, invalid: Collection[str] = ()) -> Iterator[tuple[Location, str]]:
    """Yield the path and the message of every part that cannot be built, except for sections with errors."""
    # All checks below need the agents of the network, and their topics.
    if {"network", "topics"} & set(invalid):
        return
    try:
        _ = scenario.graph
    except PeerPressureError as error:
        yield ("network",), str(error)
        return
    for path, (needs, check) in CHECKS.items():
        # A section with errors has been replaced by a stand-in, whose consequences are no errors of the file.
        if not invalid or not set(needs) & set(invalid):
            try:
                check(scenario)
            except PeerPressureError as error:
                yield path, str(error)


def _model_with(scenario: Scenario, **part: Any) -> Model:
    """Return a model in which all other parts are trivial, so only this part can raise."""
    # Zero opinions and no noise are valid on every network.
    return Model(scenario.graph, **({"hidden": np.zeros(scenario.graph.n)} | part))


def _agents(scenario: Scenario, name: str) -> Any:
    part = getattr(scenario.agents, name)
    return values_of(part, name, scenario.graph, scenario.run.seed, scenario.network_file)


def _ends(scenario: Scenario) -> Any:
    # The first and the last step, where most schedules have their extremes: errors of domain and overflow appear there.
    return np.array([1.0, scenario.run.steps])


def _pressure(scenario: Scenario) -> None:
    if isinstance(scenario.pressure, ScheduleSection):
        scenario.pressure.schedule()(_ends(scenario))
    elif isinstance(scenario.pressure, OptimalSection):
        if scenario.time is not None and scenario.time.continuous:
            rule = "the optimal schedule is that of discrete steps"
            raise InvalidInputError(message(rule, got="continuous time", remedy="leave out [time], or take 'tuned'"))
        if scenario.agents.activation is not None:
            rule = "the optimal schedule requires that everybody updates at every step"
            raise InvalidInputError(message(rule, got="agents.activation", remedy="leave that out, or take 'tuned'"))
        # Only its size is checked here: to compute it takes as long as a run.
        check_optimum(_model_with(scenario), scenario.run.steps)


def _adaptation(scenario: Scenario) -> None:
    rule = adaptation_of(scenario.agents.adaptation, scenario.graph, scenario.run.seed, scenario.network_file)
    if rule is not None:
        _model_with(scenario, adaptation=rule)
        rule.pace(_ends(scenario))


def _susceptibility(scenario: Scenario) -> None:
    given = _agents(scenario, "susceptibility")
    # Agents of susceptibility 0 need a network that does not change.
    _model_with(scenario, susceptibility=given, temporal_network=scenario.temporal_network)


def _zealots(scenario: Scenario) -> None:
    susceptibility = np.ones(scenario.graph.n)
    # Raises for an unknown label.
    susceptibility[scenario.graph.indices(as_labels(scenario.agents.zealots or []))] = 0
    _model_with(scenario, susceptibility=susceptibility, temporal_network=scenario.temporal_network)


def _activation(scenario: Scenario) -> None:
    if scenario.agents.activation is not None:
        activation = _model_with(scenario, activation=_agents(scenario, "activation")).activation
        if activation is not None and not activation.is_random:
            activation.masks(0, scenario.run.steps)


def _time(scenario: Scenario) -> None:
    # A run in continuous time under the optimal schedule is an error of [pressure].
    if scenario.time is None or not scenario.time.continuous or isinstance(scenario.pressure, OptimalSection):
        return
    try:
        model = scenario.model()
    except PeerPressureError:
        # Errors of the model are reported at the part that causes them.
        return
    scenario.time.system(model)


def _record(scenario: Scenario) -> None:
    keep = scenario.run.recording()
    # Raises for an unknown label.
    scenario.graph.indices(keep.agents or [])
    if scenario.observe is not None and (not keep.states or keep.agents is not None):
        rule = "an observer needs the states of all agents on record"
        got = f"record = {scenario.run.record!r}"
        raise InvalidInputError(message(rule, got=got, remedy="set record = 'all', or remove [observe]"))


def _observed(scenario: Scenario) -> None:
    keep, steps = scenario.run.recording(), scenario.run.steps
    # The recorded times, as the run will have them: the end is recorded also if it is no multiple of ``every``.
    times = np.union1d(np.arange(0, steps, keep.every), [steps])
    scenario.observation().resolve(_model_with(scenario), times)


def _methods(scenario: Scenario) -> None:
    asked = scenario.observe
    if asked is None:
        return
    # If opinions do not adapt, initial and current ones are the same, and every method applies.
    moving = asked.target == "current" and scenario.agents.adaptation is not None
    flowing = scenario.time is not None and scenario.time.continuous
    continuous = [name for name, method in METHODS.items() if method.continuous]
    current = [name for name, method in METHODS.items() if method.current is not None]
    for applies, legal, when in ((flowing, continuous, "in continuous time"), (moving, current, "of current opinions")):
        wrong = [name for name in asked.methods if applies and name not in (*legal, "auto")]
        if wrong:
            rule = f"estimates {when} must be made by {' or '.join(legal)}"
            remedy = "kalman needs neither all agents nor all steps"
            raise InvalidInputError(message(rule, got=", ".join(wrong), remedy=remedy))


def _prior(scenario: Scenario) -> None:
    prior = scenario.prior()
    if prior is not None:
        # Raises if a prior with one value per agent has another number of values.
        prior.means(scenario.graph.n)


def _privacy(scenario: Scenario) -> None:
    if scenario.privacy is None:
        return
    try:
        hidden, start = (_agents(scenario, name) for name in ("hidden", "start"))
        model = _model_with(scenario, hidden=hidden, start=start)
    except PeerPressureError:
        # Errors of the agents are reported at the part that causes them.
        return
    # Raises for insiders that are no agents, and for a start computed from x₀, which reveals it before any noise.
    asked = scenario.privacy
    insiders, declared = as_labels(asked.insiders), scenario.public_start
    Definition(model, scenario.run.steps, insiders=insiders, unit=asked.unit, public_start=declared)
    if scenario.privacy.insiders and scenario.time is not None and scenario.time.continuous:
        rule = "insiders are accounted for in discrete time"
        raise InvalidInputError(message(rule, got="continuous time", remedy="remove insiders, or [time]"))


# Each part with the sections that it depends on, and the check that builds it.
CHECKS: dict[Location, tuple[tuple[str, ...], Check]] = {
    ("agents", "hidden"): (("agents",), lambda s: _model_with(s, hidden=_agents(s, "hidden"))),
    ("agents", "stubbornness"): (("agents",), lambda s: _model_with(s, stubbornness=_agents(s, "stubbornness"))),
    ("agents", "susceptibility"): (("agents",), _susceptibility),
    ("agents", "zealots"): (("agents",), _zealots),
    ("agents", "start"): (("agents",), lambda s: _model_with(s, start=_agents(s, "start"))),
    ("agents", "adaptation"): (("agents", "run"), _adaptation),
    ("agents", "activation"): (("agents", "run"), _activation),
    ("agents", "isolated"): (("agents",), lambda s: _model_with(s, isolated=s.agents.isolated)),
    ("pressure",): (("pressure", "run", "time"), _pressure),
    ("noise", "std"): (("noise",), lambda s: _model_with(s, noise=s.noise.noise())),
    ("noise", "time_scale"): (("noise", "run"), lambda s: s.noise.noise().scale(_ends(s))),
    ("time",): (("time", "agents", "pressure", "noise"), _time),
    ("run", "record"): (("run", "observe"), _record),
    ("observe",): (("observe", "run"), _observed),
    ("observe", "methods"): (("observe", "agents", "time"), _methods),
    ("observe", "prior"): (("observe",), _prior),
    ("privacy",): (("privacy", "agents", "time"), _privacy),
}


Lines = dict[tuple[str | int, ...], int]
Kind = TypeVar("Kind", bound=Section)
# The smallest valid sections in place of those with errors.
_STAND_INS: Mapping[str, Any] = {"network": {"generator": "k2"}, "run": {"steps": 1}}


def load_scenario(path: str | Path, *, needs_run: bool = True) -> Scenario:
    """Read a scenario file.

    Parameters
    ----------
    path : str or Path
        TOML file; paths in it are relative to its folder.
    needs_run : bool, default True
        Whether the file must give the steps of [run], which a diagnosis and an analysis of observed outputs do not
        use. Without them the length of the run is 1, and nothing is checked that depends on it.

    Returns
    -------
    Scenario
        The validated scenario, whose parts have all been built once.

    Raises
    ------
    ScenarioError
        If the file is not valid; ``problems`` holds all errors, each with its line.
    FileFormatError
        If the file cannot be read.

    See Also
    --------
    parse_scenario : The same for a text.
    scenario_from : The same for plain values.

    Examples
    --------
    ::

        load_scenario("scenario.toml").model()
    """
    file = expanded(path)
    text = read_text(file, "a scenario")
    data = parse_toml(text, str(path))
    return scenario_from(data, folder=file.parent, source=str(path), lines=lines_of(text), needs_run=needs_run)


def parse_scenario(text: str, *, folder: str | Path = ".", source: str = "") -> Scenario:
    r"""Return the scenario in a TOML text.

    Parameters
    ----------
    text : str
        Contents of a scenario file.
    folder : str or Path, default "."
        Folder that paths in the text are relative to.
    source : str, optional
        Name of the file for error messages.

    Returns
    -------
    Scenario
        The validated scenario.

    Raises
    ------
    ScenarioError
        If the text is not valid.

    See Also
    --------
    load_scenario : Reads a file.
    scenario_from : Takes plain values.

    Examples
    --------
    >>> from peerpressure.scenario import parse_scenario
    >>> parse_scenario("[network]\ngenerator = 'cycle'\nn = 5\n[run]\nsteps = 9").graph
    Network(5 agents, 5 edges, non-bipartite, degree 2)
    """
    data = parse_toml(text, source)
    return scenario_from(data, folder=folder, source=source, lines=lines_of(text))


def scenario_from(
    data: Mapping[str, Any],
    *,
    folder: str | Path = ".",
    source: str = "",
    lines: Lines | None = None,
    needs_run: bool = True,
) -> Scenario:
    """Return the scenario that a dictionary of plain values describes.

    Parameters
    ----------
    data : mapping
        Sections by name, as nested plain values.
    folder : str or Path, default "."
        Folder that paths in the values are relative to.
    source : str, optional
        Name of the file for error messages.
    lines : dict, optional
        Line of each key, for error messages.
    needs_run : bool, default True
        Whether a section [run] is required, as for `load_scenario`.

    Returns
    -------
    Scenario
        The validated scenario.

    Raises
    ------
    ScenarioError
        If the values are not valid.

    See Also
    --------
    parse_scenario : Takes TOML.

    Examples
    --------
    >>> from peerpressure.scenario import scenario_from
    >>> scenario_from({"network": {"generator": "cycle", "n": 5}, "run": {"steps": 9}}).graph
    Network(5 agents, 5 edges, non-bipartite, degree 2)
    """
    places = lines or {}
    if isinstance(data.get("scenario"), str):
        text = f"this is a sweep; use peerpressure sweep {source}".rstrip()
        raise ScenarioError([Problem("", text, places.get(("scenario",)))], source)
    problems: list[Problem] = []
    invalid: set[str] = set()
    context = {"folder": folder}
    run = data.get("run", {})
    if not needs_run and isinstance(run, Mapping) and "steps" not in run and not _has_a_length(data):
        # Checks that depend on the length of the run are left out.
        data, invalid = {**data, "run": {**_STAND_INS["run"], **run}}, {"run"}
    try:
        scenario = Scenario.model_validate(dict(data), context=context)
    except ValidationError as error:
        problems = explain(error, Scenario, places)
        # The first part of a location is the name of the section.
        invalid |= {str(detail["loc"][0]) for detail in error.errors()}
        # A network that changes over a run of unknown length cannot be judged.
        invalid |= {"network"} if "run" in invalid and _has_a_length(data) else set()
        # The valid sections are completed by stand-ins, so parts that do not fit together are reported, too.
        valid = {name: data[name] for name in Scenario.model_fields if name in data and name not in invalid}
        scenario = Scenario.model_validate({**_STAND_INS, **valid}, context=context)
    problems += [
        Problem(path=dotted(path), message=message, line=line_of(path, places))
        for path, message in inconsistencies(scenario, invalid)
    ]
    if problems:
        raise ScenarioError(sorted(problems, key=lambda problem: problem.line or 0), source)
    return scenario


def _has_a_length(data: Mapping[str, Any]) -> bool:
    """Return whether parts of a scenario depend on the length of the run: changes of a network, optimal pressure."""
    network = data.get("network")
    dynamics = network.get("dynamics") if isinstance(network, Mapping) else None
    changes = dynamics or (network if isinstance(network, Mapping) and "temporal" in network else None)
    pressure = data.get("pressure")
    kind = pressure.get("kind") if isinstance(pressure, Mapping) else pressure
    return kind == "optimal" or (isinstance(changes, Mapping) and "steps" not in changes)


def read_as(kind: type[Kind], text: str, *, folder: str | Path, source: str) -> Kind:
    """Return a text as another kind of file, with errors reported in the same way."""
    try:
        return kind.model_validate(parse_toml(text, source), context={"folder": folder})
    except ValidationError as error:
        raise ScenarioError(explain(error, kind, lines_of(text)), source) from None


def parse_toml(text: str, source: str) -> dict[str, Any]:
    """Return the values of a TOML text."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        # tomllib reports the place of an error only in its message.
        where = re.search(r" \(at line (\d+), column \d+\)", str(error))
        message = str(error)[: where.start()] if where else str(error)
        message = f"this is not TOML: {message[:1].lower()}{message[1:]}; correct it, and other problems will show"
        raise ScenarioError([Problem("", message, int(where[1]) if where else None)], source) from None


def findings(scenario: Scenario) -> dict[str, str]:
    """Return how the files of a scenario were read and matched to agents, by the key that names each."""
    agents, given = scenario.agents, scenario.agents.adaptation
    parts: dict[str, Any] = {name: getattr(agents, name) for name in (*PARTS, "activation")}
    if isinstance(given, AdaptationTable):
        parts["adaptation.adaptation_weight"] = given.adaptation_weight
    texts = {f"agents.{name}": _of_agents(part, scenario) for name, part in parts.items()}
    texts["agents.hidden"] = texts["agents.hidden"] or scenario.drawn_hidden
    return {key: text for key, text in ({"network": _of_network(scenario)} | texts).items() if text is not None}


def _of_network(scenario: Scenario) -> str | None:
    match scenario.network:
        case NetworkFileSection(file=file, direction=direction, weighted=weighted, directed=directed):
            text = describe_network_file(file, weight="weight" if weighted else None, directed=directed)
            if scenario.static_network.directed:
                meaning = f"directed: the source of an edge {direction} its target".replace("listens", "listens to")
                text = meaning if text is None else f"{text}; {meaning}"
        case EventsSection(events=file, columns=columns) | ContactsSection(contacts=file, columns=columns):
            text = describe_events_file(file, columns)
        case _:
            return None
    return None if text is None else f"{file}, {text}"


def _of_agents(part: Any, scenario: Scenario) -> str | None:
    network = scenario.graph
    if isinstance(part, FromAttribute):
        part = part.column(scenario.network_file)
    if isinstance(part, FromColumn):
        return part.describe(network)
    if isinstance(part, list):
        values = np.ravel(part).tolist()
        # Values of the agents that hold for all topics are as many as the agents.
        pairs = list(zip(network.labels if len(values) == network.n else network.agents, values, strict=True))
        return f"in the order of the agents: {first_few((f'{label!r} {v:g}' for label, v in pairs), len(pairs))}"
    return None
