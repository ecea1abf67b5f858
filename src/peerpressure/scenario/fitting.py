"""Whether the parts of a scenario fit together: each is built, and each misfit is told by its place."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any, TypeAlias

import numpy as np

from peerpressure.errors import InvalidInputError, PeerPressureError, complain
from peerpressure.model import Model
from peerpressure.privacy.opening import require_independent_start
from peerpressure.recovery import CONTINUOUS
from peerpressure.recovery.current import CURRENT
from peerpressure.scenario.adaptation import adaptation_of
from peerpressure.scenario.draws import values_of
from peerpressure.scenario.pressure import schedule_of
from peerpressure.scenario.scenario import Scenario

Path: TypeAlias = tuple[str | int, ...]
Check: TypeAlias = Callable[[Scenario], Any]


def misfits(scenario: Scenario, refused: Collection[str] = ()) -> Iterator[tuple[Path, str]]:
    """Give the path and the message of every part that cannot be built, but for sections refused already."""
    if "network" in refused:
        return
    try:
        _ = scenario.graph
    except PeerPressureError as error:
        yield ("network",), str(error)
        return
    for path, (needs, check) in CHECKS.items():
        if not refused or not set(needs) & set(refused):
            try:
                check(scenario)
            except PeerPressureError as error:
                yield path, str(error)


def _model_with(scenario: Scenario, **part: Any) -> Model:
    """Return a model in which all but one part is plain, so that it refuses just that one."""
    return Model(scenario.graph, **({"hidden": np.zeros(scenario.graph.n)} | part))


def _agents(scenario: Scenario, name: str) -> Any:
    return values_of(getattr(scenario.agents, name), name, scenario.graph, scenario.run.seed)


def _ends(scenario: Scenario) -> Any:
    return np.array([1.0, scenario.run.steps])


def _pressure(scenario: Scenario) -> None:
    # What the tuned schedule makes of the agents is told with them.
    schedule_of(scenario.pressure, scenario.graph, 1.0)(_ends(scenario))


def _adaptation(scenario: Scenario) -> None:
    found = adaptation_of(scenario.agents.adaptation, scenario.graph, scenario.run.seed)
    if found is not None:
        _model_with(scenario, adaptation=found)
        found.pace(_ends(scenario))


def _time(scenario: Scenario) -> None:
    if scenario.time is None:
        return
    try:
        model = scenario.model()
    except PeerPressureError:
        # What is wrong with the model is told at the part that is to blame.
        return
    scenario.time.flow(model)


def _record(scenario: Scenario) -> None:
    keep = scenario.run.what_to_keep()
    scenario.graph.indices(keep.agents or [])
    if scenario.observe is not None and (not keep.states or keep.agents is not None):
        rule = "an observer needs the states of all agents on record"
        got = f"record = {scenario.run.record!r}"
        raise InvalidInputError(complain(rule, got=got, remedy="set record = 'all', or remove [observe]"))


def _look(scenario: Scenario) -> None:
    keep, steps = scenario.run.what_to_keep(), scenario.run.steps
    times = np.union1d(np.arange(0, steps, keep.every), [steps])
    scenario.observation().resolve(_model_with(scenario), times)


def _methods(scenario: Scenario) -> None:
    asked = scenario.observe
    if asked is None:
        return
    moving = asked.target == "current" and scenario.agents.adaptation is not None
    flowing = scenario.time is not None and scenario.time.continuous
    for applies, legal, when in ((flowing, CONTINUOUS, "in continuous time"), (moving, CURRENT, "of what is held now")):
        wrong = [name for name in asked.methods if applies and name not in legal]
        if wrong:
            rule = f"estimates {when} must be made by {' or '.join(legal)}"
            remedy = "kalman needs neither all agents nor all steps"
            raise InvalidInputError(complain(rule, got=", ".join(wrong), remedy=remedy))


def _believe(scenario: Scenario) -> None:
    prior = scenario.prior()
    if prior is not None:
        prior.means(scenario.graph.n)


def _private(scenario: Scenario) -> None:
    if scenario.privacy is None:
        return
    try:
        hidden, start = (_agents(scenario, name) for name in ("hidden", "start"))
        model = _model_with(scenario, hidden=hidden, start=start)
    except PeerPressureError:
        # What is wrong with the agents is told at the part that is to blame.
        return
    require_independent_start(model)


# Each part with the sections that must have been read for it, and what tries it.
CHECKS: dict[Path, tuple[tuple[str, ...], Check]] = {
    ("agents", "hidden"): (("agents",), lambda s: _model_with(s, hidden=_agents(s, "hidden"))),
    ("agents", "stubbornness"): (("agents",), lambda s: _model_with(s, stubbornness=_agents(s, "stubbornness"))),
    ("agents", "start"): (("agents",), lambda s: _model_with(s, start=_agents(s, "start"))),
    ("agents", "adaptation"): (("agents", "run"), _adaptation),
    ("pressure",): (("pressure", "run"), _pressure),
    ("noise", "std"): (("noise",), lambda s: _model_with(s, noise=s.noise.noise())),
    ("noise", "time_scale"): (("noise", "run"), lambda s: s.noise.noise().scale(_ends(s))),
    ("time",): (("time", "agents", "pressure", "noise"), _time),
    ("run", "record"): (("run", "observe"), _record),
    ("observe",): (("observe", "run"), _look),
    ("observe", "methods"): (("observe", "agents", "time"), _methods),
    ("observe", "prior"): (("observe",), _believe),
    ("privacy",): (("privacy", "agents"), _private),
}
