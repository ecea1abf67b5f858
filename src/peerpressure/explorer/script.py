"""A Python script that repeats a run, written part by part for a reader to change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pprint import pformat
from typing import Any

from peerpressure.noise import Noise
from peerpressure.scenario import Scenario
from peerpressure.scenario.agents import STREAMS, AdaptationTable, NormalDraw, TwoCamps, UniformDraw
from peerpressure.scenario.network import GeneratedNetworkSection, InlineNetworkSection, NamedNetworkSection
from peerpressure.scenario.scenario import GaussianPrior, Observe, Privacy, Run, UniformPrior, UnknownNetwork
from peerpressure.scenario.system import OptimalSection, ScheduleSection, TunedSection
from peerpressure.schedules import Schedule, Table
from peerpressure.theory.tuning import noise_exponent

HEAD = '''"""A run from the explorer of Peer Pressure; change what you like."""

from dataclasses import replace

import numpy as np

import peerpressure as pp
'''
LISTED = (GeneratedNetworkSection, NamedNetworkSection, InlineNetworkSection)
_WIDTH = 110
_OBSERVATION = ("agents", "times", "first_step", "sees_start", "rounding")


def script(scenario: Scenario) -> str:
    """Return a script whose ``run`` has the same states as the scenario's run."""
    # Only for these networks is one call of a public function enough. Values on several topics are not those of agents.
    static = isinstance(scenario.network, LISTED) and getattr(scenario.network, "dynamics", None) is None
    static = static and scenario.topics is None
    # κ is that of the network on which zealots listen to nobody, of s divided by susceptibility, and of who updates.
    agents = scenario.agents
    plain = not isinstance(scenario.pressure, TunedSection) or (
        agents.zealots is None and agents.activation is None and agents.susceptibility == 1
    )
    build = _model(scenario) if static and plain else _parsed_model(scenario)
    return "\n".join([HEAD, *build, *_time(scenario), "", *_run(scenario), *_observer(scenario), ""])


def _parsed_model(scenario: Scenario) -> Iterator[str]:
    """Yield lines that parse the scenario, for networks whose construction takes more than one call."""
    yield "from peerpressure.scenario import parse_scenario\n"
    yield f"seed = {scenario.run.seed}"
    yield f"model = parse_scenario({pformat(scenario.to_toml(), width=_WIDTH)}).model()"


def _model(scenario: Scenario) -> Iterator[str]:
    """Yield lines that build the model from its parts."""
    agents = scenario.agents
    yield f"seed = {scenario.run.seed}"
    yield from _network(scenario.network)
    names = ("hidden", "stubbornness", "susceptibility", "start", "adaptation", "activation", "isolated")
    # Defaults are written out too, to show a reader what can be changed.
    parts = {name: part for name in names if (part := getattr(agents, name)) is not None}
    if parts["susceptibility"] == 1:
        del parts["susceptibility"]
    for name, part in parts.items():
        yield from _part(name, part)
    if agents.zealots is not None:
        yield "stubbornness = np.array(np.broadcast_to(stubbornness, network.n), dtype=float)"
        yield f"stubbornness[network.indices({_literal(agents.zealots)})] = np.inf  # zealots listen to nobody"
    laws = [f"pressure={_pressure(scenario)}", f"noise={_noise(scenario.noise.noise())}"]
    yield _call("model = pp.Model", ["network", *(f"{name}={name}" for name in parts), *laws], lines=True)
    if isinstance(scenario.pressure, OptimalSection):
        yield f"optimal = pp.theory.optimal_schedule(model, steps={scenario.run.steps})"
        yield "model = replace(model, pressure=optimal.schedule)"


def _network(section: Any) -> Iterator[str]:
    match section:
        case GeneratedNetworkSection():
            parameters = section.model_dump(exclude={"generator", "dynamics"})
            # A network without a seed of its own follows the seed of the run, also when the reader changes it.
            own = {
                name: "seed" if name == "seed" and value is None else repr(value) for name, value in parameters.items()
            }
            call = _call(f"network = pp.networks.{section.generator}", [f"{name}={code}" for name, code in own.items()])
            # A scenario takes the largest component of a random network that need not be connected.
            yield call + ".largest_component()" * (parameters.get("connected") is False)
        case NamedNetworkSection():
            yield f"network = pp.networks.named({section.named!r})"
        case InlineNetworkSection():
            more = {name: value for name in ("weights", "labels") if (value := getattr(section, name)) is not None}
            given = [f"{name}={_literal(value)}" for name, value in more.items()]
            given += [f"{name}=True" for name in ("directed", "signed") if getattr(section, name)]
            given += [] if section.direction == "listens" else [f"direction={section.direction!r}"]
            yield _call("network = pp.Network.from_edges", [f"np.array({_literal(section.edges)})", *given], lines=True)


def _part(name: str, part: Any) -> Iterator[str]:
    """Yield lines that set a part of the agents, drawn from its own stream or written out."""
    match part:
        case UniformDraw():
            # repr is the shortest text that reads back to the same double.
            yield f"{name} = {_stream(name, part)}.uniform({part.low!r}, {part.high!r}, network.n)"
        case NormalDraw():
            yield f"{name} = {_stream(name, part)}.normal({part.mean!r}, {part.std!r}, network.n)"
        case TwoCamps():
            yield f"rng = {_stream(name, part)}"
            yield f"above = rng.permutation(network.n) < round({part.share!r} * network.n)"
            yield f"{name} = np.where(above, {part.high!r}, {part.low!r}) + rng.normal(0.0, {part.std!r}, network.n)"
        case AdaptationTable():
            yield from _part("adaptation_weight", part.adaptation_weight)
            rate = _schedule(part.rate.schedule()) if isinstance(part.rate, ScheduleSection) else repr(part.rate)
            yield f"{name} = pp.Adaptation({rate}, adaptation_weight)"
        case _:
            yield f"{name} = {_literal(part)}"


def _stream(name: str, part: UniformDraw | NormalDraw | TwoCamps) -> str:
    return f"np.random.default_rng([{'seed' if part.seed is None else part.seed}, {STREAMS[name]}])"


def _pressure(scenario: Scenario) -> str:
    section = scenario.pressure
    # κ depends on the network and the agents, so it is computed in the script rather than written as a number.
    if isinstance(section, TunedSection):
        gamma = noise_exponent(scenario.noise.noise())
        arguments = ["network", "stubbornness"] + [f"noise_exponent={gamma!r}"] * (0 != gamma < 0.5)
        return _call("pp.schedules.Linear.tuned", arguments)
    # The optimal schedule needs a model, which takes its place afterwards.
    return "pp.Linear()" if isinstance(section, OptimalSection) else _schedule(section.schedule())


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
    over_time = {"time_scale": _schedule(noise.time_scale), "temporal": f"pp.noise.{noise.temporal!r}"}
    # Arguments that have their default values are left out.
    default = type(noise)()
    given += [f"{name}={code}" for name, code in over_time.items() if getattr(noise, name) != getattr(default, name)]
    return _call(f"pp.noise.{type(noise).__name__}", given)


def _time(scenario: Scenario) -> Iterator[str]:
    time = scenario.time
    if time is not None and time.continuous:
        yield f"model = pp.SDE(model, step={time.step!r}, scaling={time.scaling!r}, method={time.method!r})"


def _run(scenario: Scenario) -> Iterator[str]:
    run = scenario.run
    yield f"print(pp.diagnose(model, steps={run.steps}))"
    yield f"run = pp.simulate(model, steps={run.steps}, replicates={run.replicates}, seed=seed)"
    yield "print(run)  # run.states is (replicates, times, agents); run.spread, run.max_distance (replicates, times)"


def _observer(scenario: Scenario) -> Iterator[str]:
    observe, default = scenario.observe, Observe()
    if observe is None:
        return
    given = {name: value for name in _OBSERVATION if (value := getattr(observe, name)) != getattr(default, name)}
    yield ""
    yield _call("observation = pp.Observation", [f"{name}={_literal(value)}" for name, value in given.items()])
    yield f"prior = {_prior(observe.prior)}"
    yield f"for method in {observe.chosen_methods!r}:"
    target = "" if observe.target == default.target else f", {observe.target!r}"
    yield f"    print(pp.recover(run, model, method, observation, prior{target}))"
    if scenario.privacy is not None:
        yield from _budget(scenario, scenario.privacy)
    if observe.unknown_network is not None:
        yield from _inference(observe, observe.unknown_network, scenario.run)


def _budget(scenario: Scenario, asked: Privacy) -> Iterator[str]:
    """Yield lines that compute ε against the observer, as the page does."""
    last = scenario.run.steps if (times := scenario.observation().times) is None else max(times)
    given = {"sensitivity": asked.sensitivity, "delta": asked.delta, "runs": asked.runs, "insiders": asked.insiders}
    arguments = ["model", f"steps={last}", *(f"{name}={value!r}" for name, value in given.items())]
    arguments += ["observed=observation"] + ["public_start=True"] * scenario.public_start
    yield _call("budget = pp.privacy.budget", arguments, lines=True)
    yield "print(budget)"


def _inference(observe: Observe, asked: UnknownNetwork, run: Run) -> Iterator[str]:
    """Yield lines that infer the network from the first replicate, as the page does."""
    yield ""
    yield f"first = {'run' if run.replicates == 1 else f'pp.simulate(model, steps={run.steps}, seed=seed)'}"
    given = {name: repr(value) for name, value in asked.model_dump().items()} | {"observation": "observation"}
    if asked.symmetric:
        seen = "" if observe.agents is None else "[first.model.network.indices(observation.agents)]"
        given["stubbornness"] = f"first.model.stubbornness{seen}"
    arguments = ["first", "first.model.pressure", *(f"{name}={code}" for name, code in given.items())]
    yield _call("estimate = pp.infer_network", arguments, lines=True)
    yield "print(estimate)"
    yield "print(estimate.average_precision(first.model.network))  # 1 if every edge ranks above all other pairs"


def _prior(prior: GaussianPrior | UniformPrior | None) -> str:
    match prior:
        case GaussianPrior():
            return _call("pp.Prior", [_literal(prior.mean), _literal(prior.variance)])
        case UniformPrior():
            return _call("pp.Prior.uniform", [repr(prior.low), repr(prior.high)])
        case None:
            return "None"


def _literal(value: Any) -> str:
    """Return a plain value as Python source, long lists on several lines."""
    return pformat(value, width=_WIDTH, compact=True)


def _call(function: str, arguments: Sequence[str], *, lines: bool = False) -> str:
    """Return the source of a call, with ``lines`` each argument on its own line."""
    if lines:
        return "\n".join([f"{function}(", *(f"    {argument}," for argument in arguments), ")"])
    return f"{function}({', '.join(arguments)})"
