"""What does not combine with what, from calls of every function with every feature.

``python docs/combines.py`` writes it into ``docs/reference/combines.md``; a test compares the two.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

import peerpressure as pp
from peerpressure.theory import Outcome

PAGE = Path(__file__).parent / "reference" / "combines.md"
MARK = "<!-- table -->"
STEPS = 12
EDGES = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0), (0, 2)]
HIDDEN = np.array([0.1, 0.9, 0.4, 0.7, 0.2, 0.6])
# Models with peer pressure differ only in its course, which is the same on every network.
KINDS_OF_RIVALS = ("constant+adaptation", "degroot", "walk", "own-return+neighbours")
WORKS, REFUSED, UNKNOWN, NO_MATTER = "✓", "✗", "?", "–"


@dataclass(frozen=True)
class Feature:
    """A model that differs in one thing from the plain one, or a way in which its opinions are observed."""

    model: Mapping[str, Any] = field(default_factory=dict)
    observation: pp.Observation | None = None
    gaps: bool = False

    def build(self) -> pp.Model:
        """Return the model: plain, except for what the feature says."""
        plain = {"network": network(), "pressure": pp.Linear(0.3), "noise": pp.Gaussian(0.3), "start": 0.5}
        given = {"hidden": HIDDEN} | plain | self.model
        return pp.Model(given.pop("network"), **given)

    @property
    def of_data(self) -> bool:
        """Whether it is a property of the data and not of the model."""
        return self.gaps or self.observation is not None


def network(edges: list[tuple[int, int]] = EDGES, n: int = 6, **kind: bool) -> pp.Network:
    """Return the network of some edges; the last one is negative if it is signed."""
    matrix = np.zeros((n, n))
    for i, j in edges:
        matrix[i, j] = 1.0
        matrix[j, i] = 0.0 if kind.get("directed") else 1.0
    if kind.get("signed"):
        matrix[0, 2] = matrix[2, 0] = -1.0
    return pp.Network(matrix, **kind)


FEATURES: Mapping[str, Feature] = {
    "plain model": Feature(),
    "directed network": Feature({"network": network(directed=True)}),
    "signed network": Feature({"network": network(signed=True)}),
    "several components": Feature({"network": network([(0, 1), (1, 2), (2, 0), (3, 4), (4, 5)])}),
    "isolated agents": Feature({"network": network([(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)])}),
    "recorded temporal network": Feature(
        {"network": pp.networks.failing_edges(network(), 0.3, STEPS, seed=1, repeat=True)}
    ),
    "random network": Feature({"network": pp.networks.failing_edges(network(), 0.3, STEPS, seed=1)}),
    "several topics": Feature(
        {"network": network().with_topics(["tax", "rent"]), "hidden": np.column_stack([HIDDEN, HIDDEN[::-1]])}
    ),
    "random updates": Feature({"activation": 0.5}),
    "adaptation": Feature({"adaptation": 0.1}),
    "zealots": Feature({"stubbornness": [np.inf, 1, 1, 1, 1, 1]}),
    "hidden start": Feature({"start": "hidden"}),
    "pressure by formula": Feature({"pressure": "t*log(1 + t)"}),
    "pressure by table": Feature({"pressure": [0.3 * t for t in range(1, STEPS + 1)]}),
    "no noise": Feature({"noise": pp.noise.NoNoise()}),
    "noise by agent": Feature({"noise": pp.Gaussian([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])}),
    "noise that grows": Feature({"noise": pp.Gaussian(0.3, time_scale=pp.Power(0.25))}),
    "AR(1) noise": Feature({"noise": pp.Gaussian(0.3, temporal=pp.AR1(0.5))}),
    "frozen noise": Feature({"noise": pp.Gaussian(0.3, temporal="frozen")}),
    "Laplace noise": Feature({"noise": pp.Laplace(0.3)}),
    "random signs": Feature({"noise": pp.noise.Rademacher(0.3)}),
    "own noise distribution": Feature({"noise": pp.noise.Custom(stats.logistic(scale=0.2))}),
    "agents not observed": Feature(observation=pp.Observation(agents=[0, 1, 2, 3])),
    "steps not observed": Feature(observation=pp.Observation(times=range(1, STEPS, 2))),
    "missing answers": Feature(gaps=True),
    "rounded answers": Feature(observation=pp.Observation(rounding=0.05)),
    "answers on a scale": Feature(
        {"hidden": 1 + 4 * HIDDEN, "noise": pp.Gaussian(1.0), "start": 3.0}, pp.Observation(scale=(1, 5))
    ),
}


@dataclass(frozen=True)
class Case:
    """What a function is called with."""

    model: pp.Model
    feature: Feature

    @cached_property
    def run(self) -> pp.Trajectory:
        """A run of the model."""
        return pp.simulate(self.model, STEPS, seed=1)

    @property
    def told(self) -> tuple[Any, dict[str, pp.Observation]]:
        """Data and, where it says more than the data, the observation, for functions that take one."""
        seen = self.feature.observation
        return (self.table if self.feature.gaps else self.run), ({} if seen is None else {"observation": seen})

    @property
    def table(self) -> Any:
        """The observed opinions as data alone: a table with the steps in its index, or the run if all is observed."""
        seen = self.feature.observation or pp.Observation()
        if not self.feature.of_data:
            return self.run
        answers = pd.DataFrame(self.run.states[0, 1:].copy(), index=range(1, STEPS + 1))
        if self.feature.gaps:
            answers.iloc[6, 2] = np.nan
        if seen.scale:
            answers = answers.round().clip(*seen.scale)
        if seen.rounding:
            answers = (answers / seen.rounding).round() * seen.rounding
        return answers.loc[list(seen.times or answers.index), list(seen.agents or answers.columns)]

    @property
    def rivals(self) -> tuple[pp.Network | pp.TemporalNetwork, list[str | pp.Model]]:
        """A network and rivals: the model and one of each usual kind, or one where it is the data that are special."""
        network = self.model.temporal_network or self.model.network
        return network, ["constant"] if self.feature.of_data else [*KINDS_OF_RIVALS, self.model]


def _recover(case: Case) -> bool:
    data, seen = case.told
    return bool(pp.recover(data, case.model, **seen).identified.all())


def _diagnose_fit(case: Case) -> bool:
    data, seen = case.told
    return pp.recovery.diagnose_fit(data, case.model, **seen).p_value is not None


def _fit(case: Case) -> bool:
    data, seen = case.told
    return bool(pp.fit(data, case.model, ("std",), **seen).identifiable.all())


# Each returns what it found; False means that it has no answer.
FUNCTIONS: Mapping[str, Callable[[Case], object]] = {
    "simulate": lambda case: case.run,
    "moments": lambda case: pp.moments(case.model, STEPS),
    "diagnose": lambda case: pp.diagnose(case.model).outcome is not Outcome.UNKNOWN,
    "theory.optimal_schedule": lambda case: pp.theory.optimal_schedule(case.model, STEPS // 2),
    "SDE": lambda case: pp.moments(pp.SDE(case.model), STEPS),
    "recover": _recover,
    "recovery.diagnose_fit": _diagnose_fit,
    "fit": _fit,
    "compare": lambda case: pp.compare(case.table, *case.rivals),
    "infer_network": lambda case: pp.infer_network(
        case.table, case.model.pressure, signed=bool((case.model.network.adjacency.data < 0).any())
    ),
    "privacy.budget": lambda case: not np.isnan(pp.privacy.budget(case.model, STEPS).epsilon),
    "privacy.calibrate": lambda case: pp.privacy.calibrate(case.model, STEPS, epsilon=1.0),
    "privacy.release": lambda case: pp.privacy.release(case.model, STEPS, epsilon=1.0),
}
# Those to which it matters how opinions are observed.
OF_DATA = {"recover", "recovery.diagnose_fit", "fit", "compare", "infer_network"}


class Cell(NamedTuple):
    """A mark, and the message of a refusal."""

    mark: str
    message: str = ""


def cell(name: str, case: Case) -> Cell:
    """Call a function and return what came of it; an error that is not the package's own is not caught."""
    if case.feature.of_data and name not in OF_DATA:
        return Cell(NO_MATTER)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            answered = FUNCTIONS[name](case)
    except pp.PeerPressureError as error:
        return Cell(REFUSED, str(error))
    return Cell(UNKNOWN if answered is False else WORKS)


def table() -> dict[str, dict[str, Cell]]:
    """Return the cells of every feature by function."""
    cases = {name: Case(feature.build(), feature) for name, feature in FEATURES.items()}
    return {feature: {name: cell(name, case) for name in FUNCTIONS} for feature, case in cases.items()}


def exceptions(cells: Mapping[str, Mapping[str, Cell]], mark: str) -> Iterator[tuple[str, str, str]]:
    """Yield each function with the features whose cells have a mark, and the rule that excludes them."""
    for name in FUNCTIONS:
        rules: dict[str, list[str]] = {}
        for feature, row in cells.items():
            if row[name].mark == mark:
                rules.setdefault(row[name].message.partition(", got ")[0], []).append(feature)
        yield from ((f"`{name}`", ", ".join(features), rule) for rule, features in rules.items())


def content() -> str:
    """Return what stands between the marks of the page."""
    cells = table()
    lines = ["", f"- **Functions**: {', '.join(f'`{name}`' for name in FUNCTIONS)}."]
    lines += [f"- **Features**: {', '.join(FEATURES)}.", ""]
    lines += ["These are refused, with an error that says what to do instead:", ""]
    lines += ["| function | feature | rule |", "|---|---|---|"]
    lines += [f"| {name} | {features} | {rule} |" for name, features, rule in exceptions(cells, REFUSED)]
    lines += ["", "These run, but have no answer:", "", "| function | feature |", "|---|---|"]
    lines += [f"| {name} | {features} |" for name, features, _ in exceptions(cells, UNKNOWN)]
    return "\n".join([*lines, "", ""])


def current() -> str:
    """Return what the page has between its marks."""
    return PAGE.read_text(encoding="utf-8").split(MARK)[1]


def main() -> None:
    """Write the table into the page."""
    before, _, after = PAGE.read_text(encoding="utf-8").split(MARK)
    PAGE.write_text(f"{before}{MARK}{content()}{MARK}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
