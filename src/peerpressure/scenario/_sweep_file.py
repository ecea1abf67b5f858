"""Sweep files: a scenario, the fields that vary, and the measures at every point."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, final

from pydantic import AfterValidator, Field, ValidationError, model_validator

from peerpressure.errors import InvalidInputError, message
from peerpressure.scenario import Problem, Scenario, ScenarioError, load_scenario
from peerpressure.scenario.loading import explain, line_of, lines_of, parse_toml, read_as
from peerpressure.scenario.measures import MEASURES, check_distinct_names, with_fields
from peerpressure.scenario.section import (
    Count,
    InputFile,
    Number,
    OutputFolder,
    Positive,
    Section,
    Seed,
    among,
    read_text,
)
from peerpressure.scenario.system import ScheduleSection
from peerpressure.support.files import expanded
from peerpressure.sweep import Draws, Plan, Range
from peerpressure.sweep.plan import RandomNumbers, canonical, hash_text

TASK = "peerpressure.scenario:measure_scenario"
CHECKED = 2_000  # points validated before a sweep starts; an error at one is usually an error at many
Spacing: TypeAlias = Literal["linear", "log"]


class EvenRange(Section):
    """``count`` values from ``start`` to ``stop``, both included; whole numbers if both ends are."""

    start: Number
    stop: Number
    count: Count
    spacing: Spacing = "linear"

    def values(self) -> Range:
        """Return the range."""
        # Whole ends in the file mean a whole parameter, such as a number of agents or steps.
        whole = isinstance(self.start, int) and isinstance(self.stop, int)
        return Range(self.start, self.stop, self.count, self.spacing, whole)


class RandomDraws(Section):
    """``count`` random values between ``low`` and ``high``, fixed by the seed; whole numbers if both ends are."""

    low: Number
    high: Number
    count: Count
    spacing: Spacing = "linear"

    def values(self) -> Draws:
        """Return the draws."""
        whole = isinstance(self.low, int) and isinstance(self.high, int)
        return Draws(self.low, self.high, self.count, self.spacing, whole)


class Axis(Section):
    """A field of the scenario, by its dotted path, and its values: a list, an even range or random draws.

    A list may have ``labels``, which the table shows in place of the values.
    """

    field: Annotated[str, Field(pattern=r"^[a-z_0-9]+(\.[a-z_0-9]+)*$")]
    values: Annotated[list[Any], Field(min_length=1)] | None = None
    labels: list[str] | None = None
    range: EvenRange | None = None
    random: RandomDraws | None = None

    @model_validator(mode="after")
    def _has_values(self) -> Axis:
        given = [name for name in ("values", "range", "random") if getattr(self, name) is not None]
        if len(given) != 1:
            rule = "an axis must have one of values, range and random"
            remedy = "for instance values = [0.5, 1.0, 2.0]"
            raise InvalidInputError(message(rule, got=" and ".join(given) or "none of them", remedy=remedy))
        if self.labels is not None and (self.values is None or len(self.labels) != len(self.values)):
            count = "no list of values" if self.values is None else f"{len(self.labels)} for {len(self.values)} values"
            rule, remedy = "an axis must have a label for each value of its list", "list them in the same order"
            raise InvalidInputError(message(rule, got=count, remedy=remedy))
        # Ranges and draws check themselves when they are built; here the error still belongs to the axis and its line.
        self.along()
        return self

    def along(self) -> Sequence[Any] | Range | Draws:
        """Return the values for a plan."""
        spaced = self.range or self.random
        return spaced.values() if spaced is not None else self.values or []


class Measured(Section):
    """The measures at every point; ``threshold`` is the spread below which agents count as agreed."""

    names: list[
        Annotated[str, AfterValidator(among(MEASURES, "a measure")), Field(json_schema_extra={"enum": [*MEASURES]})]
    ] = Field(min_length=1)
    threshold: Positive = 0.01

    @model_validator(mode="after")
    def _differ(self) -> Measured:
        check_distinct_names(self.names)
        return self


class SweepOutput(Section):
    """The folder of the results."""

    folder: OutputFolder | None = None


class SweepFile(Section):
    """A sweep over the grid of its axes, each point ``replications`` times.

    Random numbers are common by default: what has no seed of its own is drawn from ``seed`` and the replication, and
    is the same at all points that do not change it. If they are independent, each point draws its own.
    """

    scenario: InputFile
    axis: list[Axis] = Field(default_factory=list)
    replications: Count = 1
    seed: Seed = 0
    random_numbers: RandomNumbers = "common"
    measure: Measured
    output: SweepOutput = SweepOutput()


@final
@dataclass(frozen=True)
class Sweep:
    """A plan, and the folder that its file names, if any.

    Attributes
    ----------
    plan : Plan
        The units of the sweep.
    folder : Path or None
        Folder of its results; None if the file names none.

    See Also
    --------
    load_sweep : Reads it from a file.

    Examples
    --------
    >>> from peerpressure.scenario import Sweep
    >>> from peerpressure.sweep import Plan
    >>> Sweep(Plan("mymodule:task", replications=3), None).plan.replications
    3
    """

    plan: Plan
    folder: Path | None


def load_sweep(path: str | Path) -> Sweep:
    """Read a sweep file with its scenario, and validate its points.

    Parameters
    ----------
    path : str or Path
        The TOML file.

    Returns
    -------
    Sweep
        The plan, and the folder of its results.

    Raises
    ------
    ScenarioError
        With all problems of the file at once.

    See Also
    --------
    peerpressure.sweep.run_sweep : Runs the plan.

    Examples
    --------
    >>> from importlib.resources import files
    >>> from peerpressure.scenario import load_sweep
    >>> sweep = load_sweep(files("peerpressure.scenario") / "examples" / "own_data" / "sweep.toml")
    >>> list(sweep.plan.axes), len(sweep.plan)
    (['noise.std'], 20)
    """
    file = expanded(path)
    text = read_text(file, "a sweep file")
    data = parse_toml(text, str(path))
    if "scenario" not in data and data.keys() & {"network", "run"}:
        raise ScenarioError([Problem("", f"this is a scenario; use peerpressure run {path}")], str(path))
    asked = read_as(SweepFile, text, folder=file.parent, source=str(path))
    # Only what the file sets: defaults written out would conflict with an axis that replaces a section's kind.
    # Paths start from the folder of the sweep: results do not depend on where it lies or is run.
    context = {"folder": file.parent}
    scenario = load_scenario(asked.scenario).model_dump(exclude_none=True, exclude_unset=True, context=context)
    fixed = {"scenario": scenario, "measures": asked.measure.names, "threshold": asked.measure.threshold}
    local = {"folder": str(file.parent.absolute())}
    try:
        axes = {axis.field: axis.along() for axis in asked.axis}
        # A dict keeps only the last of two axes with one field, and the grid would silently be smaller.
        if len(axes) < len(asked.axis):
            raise InvalidInputError(message("axes must differ", got="a field twice", remedy="join their values"))
        labels = {axis.field: axis.labels for axis in asked.axis if axis.labels is not None}
        number, seed = asked.replications, asked.seed
        plan = Plan(
            TASK,
            base=fixed,
            axes=axes,
            replications=number,
            seed=seed,
            local=local,
            labels=labels,
            random_numbers=asked.random_numbers,
        )
    except InvalidInputError as error:
        raise ScenarioError([Problem("axis", str(error), line_of(("axis", 0), lines_of(text)))], str(path)) from None
    # One wrong value of an axis is wrong at every point that contains it, and is reported once.
    problems: dict[tuple[str, str], Problem] = {}
    for problem in _wrong_points(plan, scenario, asked, lines_of(text)):
        # A mistake in the field itself shows at all its values; the first one stands for the others.
        problems.setdefault((problem.path, problem.message.partition(", got ")[0]), problem)
    if problems:
        raise ScenarioError(list(problems.values()), str(path))
    return Sweep(plan, None if asked.output.folder is None else Path(asked.output.folder))


def _wrong_points(plan: Plan, scenario: Mapping[str, Any], asked: SweepFile, lines: Any) -> Iterator[Problem]:
    """Yield the problems of the points of a plan, each at the axis that causes it."""
    names: list[str] = [axis.field for axis in asked.axis]
    first: dict[str, Mapping[str, Any]] = {}
    for fields in _points(plan):
        try:
            # Only the fields are validated; building the networks of thousands of points would take as long as the
            # sweep.
            point = Scenario.model_validate(with_fields(scenario, fields), context=dict(plan.local))
        except ValidationError as error:
            for problem in explain(error, Scenario, {}):
                yield _blamed(problem, names, lines)
        else:
            other = first.setdefault(hash_text(canonical(_meaning(point))), fields)
            if other != fields:
                yield _repeated(other, fields, names, lines)


def _points(plan: Plan) -> Iterator[dict[str, Any]]:
    """Yield the fields of the first points of a plan, and of those along each axis."""
    names, values = list(plan.values), list(plan.values.values())
    grid = itertools.islice(itertools.product(*values), CHECKED)
    # In a large grid the first points have few values of the first axes.
    along = (
        (*(one[0] for one in values[:i]), value, *(one[0] for one in values[i + 1 :]))
        for i in range(len(values))
        for value in values[i][:CHECKED]
    )
    for point in itertools.chain(grid, along if len(plan) > CHECKED else ()):
        yield dict(zip(names, point, strict=True))


def _meaning(part: Any) -> Any:
    """Return what decides the result of a scenario: plain values, with defaults, and formulas in one spelling."""
    if isinstance(part, ScheduleSection):
        return dict(part.schedule().to_dict())
    if isinstance(part, Section):
        kept = type(part).model_fields.keys() - ({"output"} if isinstance(part, Scenario) else set())
        return {name: _meaning(getattr(part, name)) for name in kept}
    return [_meaning(one) for one in part] if isinstance(part, list) else part


def _repeated(one: Mapping[str, Any], other: Mapping[str, Any], names: Sequence[str], lines: Any) -> Problem:
    """Return the problem of two points that are the same scenario, at the first axis in which they differ."""
    axis = next(i for i, name in enumerate(names) if canonical(one[name]) != canonical(other[name]))
    got = " and ".join(f"{names[axis]} = {json.dumps(point[names[axis]]):.80}" for point in (one, other))
    rule, remedy = "points of a sweep must differ", "leave one out; replications repeat a point"
    text = message(rule, got=f"{got}, which give the same scenario", remedy=remedy)
    return Problem(f"axis[{axis}]", text, line_of(("axis", axis), lines))


def _blamed(problem: Problem, names: Sequence[str], lines: Any) -> Problem:
    """Return the problem of a point at the axis whose field it concerns."""
    path = problem.path
    parts = re.findall(r"[^.\[\]]+", path)
    fields = {i: name.split(".") for i, name in enumerate(names)}
    # The field of an axis is at the path, around it or inside of it if all parts that both have are the same.
    guilty = [i for i, field in fields.items() if all(a == b for a, b in zip(field, parts, strict=False))]
    if not guilty:
        return Problem("axis", f"{path}: {problem.message}", line_of(("axis",), lines))
    # The narrowest: an axis may set a section, and another one a field of it.
    axis = max(guilty, key=lambda i: min(len(fields[i]), len(parts)))
    return Problem(f"axis[{axis}]", f"{path}: {problem.message}", line_of(("axis", axis), lines))
