"""The Python that makes a run again, spelt out part by part, so that a reader can go on from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pprint import pformat
from typing import Any

from peerpressure.noise import AR1, Frozen, Noise
from peerpressure.scenario import Scenario
from peerpressure.scenario._agents import AdaptationTable, NormalDraw, TwoCamps, UniformDraw
from peerpressure.scenario._network import GeneratedNetworkSection, InlineNetworkSection, NamedNetworkSection
from peerpressure.scenario._scenario import GaussianPrior, Observe, UniformPrior
from peerpressure.scenario._system import ScheduleSection, TunedSection
from peerpressure.schedules import Constant, Schedule, Table

HEAD = '''"""A run from the explorer of Peer Pressure; change what you like."""

import numpy as np

import peerpressure as pp
'''
# The streams from which scenario files draw; each part has one of its own.
STREAMS: Mapping[str, int] = {"hidden": 1, "stubbornness": 2, "start": 3, "adaptation_weight": 4}
PLAIN = (GeneratedNetworkSection, NamedNetworkSection, InlineNetworkSection)
_WIDTH = 110
_LOOKS = ("agents", "times", "first_step", "sees_start", "rounding")


def script(scenario: Scenario) -> str:
    """Return a script whose ``run`` has the very states that the scenario's run has."""
    build = (
        _model(scenario)
        if isinstance(scenario.network, PLAIN) and not scenario.temporal_network
        else _as_a_whole(scenario)
    )
    return "\n".join([HEAD, *build, *_time(scenario), "", *_run(scenario), *_observer(scenario.observe), ""])


def _as_a_whole(scenario: Scenario) -> Iterator[str]:
    """Give the lines that leave a network beyond the plain kinds to the scenario's own reader."""
    yield "from peerpressure.scenario import parse_scenario\n"
    yield f"seed = {scenario.run.seed}"
    yield f"model = parse_scenario({pformat(scenario.to_toml(), width=_WIDTH)}).model()"


def _model(scenario: Scenario) -> Iterator[str]:
    """Give the lines that build the model from its parts."""
    agents = scenario.agents
    yield f"seed = {scenario.run.seed}"
    yield from _network(scenario.network)
    parts = {"hidden": agents.hidden, "stubbornness": agents.stubbornness, "start": agents.start}
    for name, part in parts.items():
        yield from _drawn(name, part)
    more = []
    if agents.adaptation is not None:
        yield from _adaptation(agents.adaptation)
        more = ["adaptation=adaptation"]
    given = [*(f"{name}={name}" for name in parts), f"pressure={_pressure(scenario.pressure)}"]
    yield _call("model = pp.Model", ["network", *given, f"noise={_noise(scenario.noise.noise())}", *more], lines=True)


def _network(section: Any) -> Iterator[str]:
    match section:
        case GeneratedNetworkSection():
            parameters = section.model_dump(exclude={"generator", "dynamics"})
            own = {
                name: "seed" if name == "seed" and value is None else repr(value) for name, value in parameters.items()
            }
            call = _call(f"network = pp.networks.{section.generator}", [f"{name}={code}" for name, code in own.items()])
            yield call + ".largest_component()" * (parameters.get("connected") is False)
        case NamedNetworkSection():
            yield f"network = pp.networks.named({section.named!r})"
        case InlineNetworkSection():
            more = {name: value for name in ("weights", "labels") if (value := getattr(section, name)) is not None}
            given = [f"{name}={_literal(value)}" for name, value in more.items()]
            yield _call("network = pp.Network.from_edges", [f"np.array({_literal(section.edges)})", *given], lines=True)


def _drawn(name: str, part: Any) -> Iterator[str]:
    """Give the lines that make a part of the agents: drawn from its own stream, or as it was given."""
    match part:
        case UniformDraw():
            yield f"{name} = {_stream(name, part)}.uniform({part.low!r}, {part.high!r}, network.n)"
        case NormalDraw():
            yield f"{name} = {_stream(name, part)}.normal({part.mean!r}, {part.std!r}, network.n)"
        case TwoCamps():
            yield f"rng = {_stream(name, part)}"
            yield f"above = rng.permutation(network.n) < round({part.share!r} * network.n)"
            yield f"{name} = np.where(above, {part.high!r}, {part.low!r}) + rng.normal(0.0, {part.std!r}, network.n)"
        case _:
            yield f"{name} = {_literal(part)}"


def _stream(name: str, part: UniformDraw | NormalDraw | TwoCamps) -> str:
    return f"np.random.default_rng([{'seed' if part.seed is None else part.seed}, {STREAMS[name]}])"


def _adaptation(part: float | str | AdaptationTable) -> Iterator[str]:
    if not isinstance(part, AdaptationTable):
        yield f"adaptation = pp.Adaptation({part!r})"
        return
    yield from _drawn("adaptation_weight", part.adaptation_weight)
    rate = _schedule(part.rate.schedule()) if isinstance(part.rate, ScheduleSection) else repr(part.rate)
    yield f"adaptation = pp.Adaptation({rate}, adaptation_weight)"


def _pressure(section: ScheduleSection | TunedSection) -> str:
    if isinstance(section, TunedSection):
        return "pp.schedules.Linear.tuned(network, stubbornness)"
    return _schedule(section.schedule())


def _schedule(schedule: Schedule) -> str:
    values = schedule.values.tolist() if isinstance(schedule, Table) else None
    given = {name: value for name, value in schedule.to_dict().items() if name != "kind"}
    arguments = [f"{name}={value!r}" for name, value in given.items()] if values is None else [_literal(values)]
    return _call(f"pp.schedules.{type(schedule).__name__}", arguments)


def _noise(noise: Noise) -> str:
    if noise.is_zero and noise.law == "none":
        return "pp.noise.NoNoise()"
    given = [_literal(noise.std if isinstance(noise.std, float) else noise.std.tolist())]
    given += [f"{one.name}={getattr(noise, one.name)!r}" for one in noise.parameters if one.name != "std"]
    given += [] if noise.time_scale == Constant(1.0) else [f"time_scale={_schedule(noise.time_scale)}"]
    given += [f"temporal=pp.noise.AR1({noise.temporal.coefficient!r})"] if isinstance(noise.temporal, AR1) else []
    given += ["temporal='frozen'"] if isinstance(noise.temporal, Frozen) else []
    return _call(f"pp.noise.{type(noise).__name__}", given)


def _time(scenario: Scenario) -> Iterator[str]:
    time = scenario.time
    if time is not None and time.continuous:
        yield f"model = pp.SDE(model, step={time.step!r}, scaling={time.scaling!r}, method={time.method!r})"


def _run(scenario: Scenario) -> Iterator[str]:
    run = scenario.run
    yield f"print(pp.diagnose(model, steps={run.steps}))"
    yield f"run = pp.simulate(model, steps={run.steps}, replicates={run.replicates}, seed=seed)"
    yield "print(run)  # run.states is (replicates, times, agents); run.spread and run.distance are (replicates, times)"


def _observer(observe: Observe | None) -> Iterator[str]:
    if observe is None:
        return
    plain = Observe()
    looks = {name: value for name in _LOOKS if (value := getattr(observe, name)) != getattr(plain, name)}
    yield ""
    yield _call("look = pp.Observation", [f"{name}={_literal(value)}" for name, value in looks.items()])
    yield f"prior = {_prior(observe.prior)}"
    yield f"for method in {observe.methods!r}:"
    yield "    print(pp.recover(model, run, method, look, prior))"


def _prior(prior: GaussianPrior | UniformPrior | None) -> str:
    match prior:
        case GaussianPrior():
            return _call("pp.Prior", [_literal(prior.mean), _literal(prior.variance)])
        case UniformPrior():
            return _call("pp.Prior.uniform", [repr(prior.low), repr(prior.high)])
        case None:
            return "None"


def _literal(value: Any) -> str:
    """Return a plain value as Python, long lists on several lines."""
    return pformat(value, width=_WIDTH, compact=True)


def _call(function: str, arguments: Sequence[str], *, lines: bool = False) -> str:
    """Return a call, each argument on a line of its own if asked for."""
    if lines:
        return "\n".join([f"{function}(", *(f"    {argument}," for argument in arguments), ")"])
    return f"{function}({', '.join(arguments)})"
