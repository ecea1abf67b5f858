"""The answers of the routes: the library's own results, thinned out to what a page can show, in the binary format."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import CancelledError, PeerPressureError, message
from peerpressure.explorer.layout import Drawing, dot_radii
from peerpressure.explorer.models import network_facts
from peerpressure.explorer.protocol import (
    FATAL,
    Limits,
    RequestError,
    Thinning,
    error_text,
    pack,
    plain_labels,
    thinned,
)
from peerpressure.explorer.shapes import shape_of
from peerpressure.model import Model
from peerpressure.networks import Network
from peerpressure.privacy import Budget, Exposure, exposure
from peerpressure.recovery import METHODS, Estimate, NetworkEstimate, Observation, recover
from peerpressure.recovery.observation import ResolvedObservation
from peerpressure.report.run import recorded_epsilon
from peerpressure.scenario import Experiment
from peerpressure.scenario.scenario import Observe, Privacy
from peerpressure.simulation import simulate
from peerpressure.simulation.recording import Record
from peerpressure.simulation.trajectory import SUMMARIES, Trajectory
from peerpressure.support.progress import check_cancelled
from peerpressure.support.text import fixed, significant
from peerpressure.theory import (
    LimitLaw,
    Outcome,
    Rate,
    Reason,
    Verdict,
    agent_opinion,
    diagnose,
    mean_opinion,
    moments,
    regime_of,
)
from peerpressure.theory._forecast import forecast_work

Array: TypeAlias = NDArray[Any]
Arrays: TypeAlias = dict[str, Array]

ONE_WAY, NEGATIVE = 1, 2  # flags of an edge
MAX_EDGES = 60_000  # a drawing with more lines shows every k-th of them
MAX_CURVES = 20  # replicates shown one by one
MAX_VALUES = 40  # of closed classes, each a line in the plot of opinions
MAX_NAMED = 20  # agents whose exact moments are shown one by one
MAX_PRESSURES = 240  # points of the plot of ρ_t
MIN_TIMES = 8  # a curve with fewer points shows nothing
CONTINUOUS_TIMES = 60  # for which the equations of an SDE's moments are solved
HORIZONS, CONTINUOUS_HORIZONS = 24, 6  # for which the privacy budget is computed
MAX_RECOVERIES = 24  # times up to which hidden opinions are estimated
STEP_WORK = 200_000  # multiplications that take as long as what a step of an estimate costs for any number of agents
CALL_WORK = 8_000  # the same for a step of a diagnosis
# Factors of the noise under which ε and errors are compared, in the order in which they are computed.
NOISE_SCALES = (1.0, 0.25, 4.0, 0.5, 2.0, 0.125, 8.0, 2**-0.5, 2**0.5)
BATCH = 2_000_000  # numbers recorded in one call of ``simulate``
# Failures of one method or account that leave the others valid; SciPy raises a plain ValueError for inf.
FAILURES = (PeerPressureError, ArithmeticError, ValueError)


# The network


def agent_network(built: Experiment) -> Network:
    """Return the network that is drawn: with several topics that of the agents, on which each topic is shown."""
    return built.scenario.static_network if topics_of(built) else built.model.network


def topics_of(built: Experiment) -> tuple[Any, ...]:
    """Return the topics of which one is shown at a time; a run that was recorded before shows all pairs at once."""
    return built.model.network.topics if built.stored is None else ()


def check_one_topic(built: Experiment, what: str) -> None:
    """Raise a ``RequestError`` if there are several topics."""
    topics = topics_of(built)
    if topics:
        remedy = "take topics out; peerpressure run and peerpressure recover take several"
        raise RequestError(422, message(f"{what} must be about one topic here", got=f"{len(topics)}", remedy=remedy))


def network_answer(model: Model, places: Drawing, network: Network | None = None) -> bytes:
    """Return positions, radii, edges and degrees, with facts about the network, by default that of the model."""
    network = model.network if network is None else network
    topics = [f"{len(model.network.topics)} topics"] if network is not model.network else []
    shown, edge_flags = drawn_edges(network)
    facts: dict[str, Any] = {
        "n": network.n,
        "edge_count": network.edge_count,
        "edges_shown": len(shown),
        "facts": network_facts(network) + topics,
        "labels": plain_labels(network.labels),
        "connected": network.is_connected,
        "bipartite": network.is_bipartite,
        "weighted": network.is_weighted,
        "unit_weights": bool(np.all(np.abs(network.adjacency.data) == 1)),
        "directed": network.directed,
        "kappa": model.kappa,
        "exact": shape_of(network) is not None,
    }
    arrays = {"positions": places, "edges": shown, "looks": edge_flags, "degrees": network.degrees.astype(np.float32)}
    return pack(facts, arrays | {"radii": dot_radii(places, drawn_sizes(network))})


def drawn_sizes(network: Network) -> NDArray[np.float64]:
    """Return the sums of weights by which agents are drawn larger: on a directed network those of both directions."""
    return np.asarray(network.mutual.sum(axis=1)) if network.directed else network.degrees


def drawn_edges(network: Network) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Return the pairs that are drawn, and flags of each: whether it goes one way, and whether it is negative."""
    first, second, one_way, negative = network.pairs()
    edge_flags = ONE_WAY * one_way + NEGATIVE * negative
    step = max(1, -(-first.size // MAX_EDGES))
    return np.stack([first, second], axis=1)[::step].astype(np.uint32), edge_flags[::step].astype(np.uint32)


# The verdict


def long_run(built: Experiment, limits: Limits) -> Verdict:
    """Return the verdict, with an unknown outcome where the diagnosis takes too long."""
    return _diagnosed(built, limits) or _unknown(built.model)


def this_run(verdict: Verdict, arrays: Mapping[str, Array]) -> str:
    """Return what came of the first replicate, where the values that agents come to differ between runs."""
    differ = bool(verdict.chance) and not np.all(verdict.law.std == 0)
    values = _values_of_run(verdict, arrays) if differ else []
    deviation = float(verdict.law.std.max())
    digits = 3 if not 0 < deviation < math.inf else max(2, 1 - math.floor(math.log10(deviation)))
    told = " and ".join(fixed(value, min(digits, 6)) for value in values)
    # Single agents differ from these.
    what = "their mean is" if len(values) == 1 else "the means of the two sides are"
    if verdict.outcome is Outcome.BIPARTITE:
        what = "the means of the two camps are"
    return f"At the end of this run {what} {told}." if told else ""


def _values_of_run(verdict: Verdict, arrays: Mapping[str, Array]) -> list[float]:
    """Return the common opinion at the end of the first replicate, or those of two sides or camps in order."""
    law = verdict.law
    # With several topics the law is that of all, and the arrays are those of one.
    if law.camp.size != arrays["states"].shape[-1]:
        return []
    if verdict.outcome in (Outcome.BIASED_CONSENSUS, Outcome.RANDOM_WALK):
        return [float(arrays["mean"][0, -1])]
    if verdict.outcome is Outcome.BIPARTITE:
        sides = law.camp > 0
    elif verdict.outcome is Outcome.OSCILLATION and len(law.mean) == 2:
        # In a signed network a side has the opposite value in the second camp.
        sides = law.camp * law.mean[0] > law.camp * law.mean[1]
    else:
        return []
    last = arrays["states"][-1] * (law.camp if verdict.outcome is Outcome.OSCILLATION else 1)
    known = sides.size == last.size and 0 < np.count_nonzero(sides) < sides.size
    return sorted(float(last[part].mean()) for part in (sides, ~sides)) if known else []


def forecast_facts(built: Experiment, limits: Limits) -> dict[str, Any] | None:
    """Return the verdict with the forecast for the end of the run, None if that takes too long."""
    if forecast_work(built.system, built.steps) > limits.exact:
        return None
    # Advice takes several times the work of the forecast, which must not be lost with it.
    verdict = _diagnosed(built, limits, built.steps) or _diagnosed(built, limits, built.steps, advise=False)
    return None if verdict is None else verdict_facts(verdict, built)


def _diagnosed(built: Experiment, limits: Limits, steps: int | None = None, *, advise: bool = True) -> Verdict | None:
    # A recorded run in continuous time does not say which equation it is of.
    unknown = built.is_continuous and built.system is built.model
    if unknown or _events_to_follow(built.model) > limits.rounds:
        return None
    # A verdict accompanies other answers, and has a limit of its own: in steps, so it is the same on every machine.
    size = built.model.n + int(built.model.network.adjacency.nnz)
    left = itertools.count(limits.verdict // (CALL_WORK + size), -1)
    try:
        return diagnose(built.system, steps, advise=advise, should_stop=lambda: next(left) < 0)
    except CancelledError:
        check_cancelled()  # ends the job if it is the job that was cancelled, and not only the diagnosis
        return None


def _events_to_follow(model: Model) -> float:
    """Return the size of a temporal network over the steps that a diagnosis follows one by one."""
    temporal_network = model.temporal_network
    if temporal_network is None:
        return 0.0
    recurring = temporal_network.period or temporal_network.last_change
    return float(recurring * (model.n + model.network.degrees.sum()))


_NOT_COMPUTED = Reason(
    "not_computed",
    "The long-run behaviour takes longer to compute than this page may wait; peerpressure diagnose computes it.",
)


def _unknown(model: Model) -> Verdict:
    rate, pressure = Rate(regime_of(model.pressure)), str(model.pressure)
    reasons = (_NOT_COMPUTED,)
    law = LimitLaw.unknown(model.n)
    return Verdict(Outcome.UNKNOWN, reasons, model.consensus_value, model.kappa, pressure, rate, law)


def verdict_facts(verdict: Verdict, built: Experiment) -> dict[str, Any]:
    """Return a verdict as plain values."""
    verdict = replace(verdict, drawn=built.scenario.drawn_hidden)
    plain = verdict.to_dict() | {"text": str(verdict)}
    for one in () if plain["advice"] is None else plain["advice"]["suggestions"]:
        # The section of a scenario to take over; a table of pressures has no control on the page.
        schedule = one.pop("schedule")
        one["section"] = {"kind": "optimal"} if one["name"] == "optimal" else schedule
    return plain


# Exact moments


def exact_answer(built: Experiment, body: Mapping[str, Any], limits: Limits) -> bytes:
    """Return mean and standard deviation of the network's mean and of the agents asked for, (names, times)."""
    return exact_of(built, _checked_agents(body), limits)


def exact_of(built: Experiment, named: Sequence[int | str], limits: Limits) -> bytes:
    """Return mean and standard deviation of the network's mean and of the agents with these labels."""
    check_one_topic(built, "the exact law")
    functionals = [mean_opinion(built.system), *(agent_opinion(built.system, label) for label in named)]
    thinning = _affordable_times(built, len(functionals), limits)
    exact = moments(built.system, built.steps, of=functionals, times=thinning.times * built.system.step)
    facts = {
        "names": ["network mean", *named],
        "every": thinning.every,
        "dense": thinning.dense,
        "verdict": forecast_facts(built, limits),
    }
    return pack(facts, {"times": exact.times.astype(np.float64), "mean": exact.mean.T, "std": exact.std.T})


def _checked_agents(body: Mapping[str, Any]) -> list[int | str]:
    given = body.get("agents", [])
    plain = isinstance(given, list) and all(isinstance(one, int | str) and not isinstance(one, bool) for one in given)
    if not plain or len(given) > MAX_NAMED:
        rule = f"agents must be a list of at most {MAX_NAMED} labels"
        raise RequestError(422, message(rule, got=ascii(given)[:60], remedy="name fewer"), "agents")
    return list(given)


def _affordable_times(built: Experiment, functionals: int, limits: Limits) -> Thinning:
    """Return as many times as can be afforded: the adjoint of each runs back through all steps before it."""
    # Per step of the adjoint: one sparse product, and some vector operations of about 10 numbers per agent.
    size = built.model.network.adjacency.nnz + 10 * built.model.n
    # Times are spread over the run: the adjoints run through half of the steps on average, hence the factor 2.
    max_times = 2 * limits.exact // (functionals * built.steps * size)
    if max_times < MIN_TIMES:
        what = "steps × edges of exact moments"
        remedy = "take fewer steps, or a smaller network; curves are still simulated"
        # The check raises with the usual message; with fewer than MIN_TIMES the estimate is above the limit.
        limits.check("exact", MIN_TIMES * functionals * built.steps * size // 2, what=what, remedy=remedy)
    return thinned(built.steps, min(max_times, CONTINUOUS_TIMES if built.is_continuous else limits.times))


# A run


def run_answer(built: Experiment, limits: Limits, topic: int = 0) -> bytes:
    """Return the states of the first replicate and the summaries of all, with the peer pressure and the verdict.

    With several topics they are those of one of them, and the verdict is on all.
    """
    begin = time.perf_counter()
    model, thinning, topics = built.model, shown_times(built, limits), topics_of(built)
    topic = topic if topic < len(topics) else 0
    arrays = _run_arrays(built, thinning, topic) if built.stored is None else recorded_arrays(built.stored, limits)
    arrays |= _pressures(built)
    verdict = long_run(built, limits)
    facts = {
        "n": arrays["states"].shape[-1],
        "topics": [str(one) for one in topics],
        "topic": topic,
        "steps": built.steps,
        "replicates": built.scenario.run.replicates,
        **_limits_of(model, topics, topic),
        "signed": model.network.signed,
        "pressure": str(model.pressure),
        "verdict": verdict_facts(verdict, built),
        "this_run": this_run(verdict, arrays),
        "every": thinning.every,
        "dense": thinning.dense,
        "elapsed_ms": 1e3 * (time.perf_counter() - begin),
    }
    return pack(facts, arrays)


def _limits_of(model: Model, topics: Sequence[Any], topic: int) -> dict[str, Any]:
    """Return what agents may agree on: v, or the values of closed classes and camps."""
    target: Any = model.target
    if not topics or isinstance(target, float):
        values, own = model.class_values[:MAX_VALUES].tolist(), not isinstance(target, float)
        return {"consensus_value": model.consensus_value, "class_values": values, "own_limits": own}
    # Of several topics each may have a value of its own, which is then v for the one that is shown.
    shown = np.unique(np.asarray(target)[topic :: len(topics)])
    own = shown.size > 1
    value = model.consensus_value if own else float(shown[0])
    return {"consensus_value": value, "class_values": shown[:MAX_VALUES].tolist(), "own_limits": own}


def _pressures(built: Experiment) -> Arrays:
    """Return ρ_t at some times, ∞ beyond the range of doubles."""
    # From the first step on, since ρ_t need not be defined at 0.
    times = thinned(built.steps, MAX_PRESSURES).times[1:] * built.system.step
    return {"pressure_times": times.astype(np.float64), "pressures": built.model.pressure(times)}


def shown_times(built: Experiment, limits: Limits) -> Thinning:
    """Return as many times as fit into one picture: one number for each agent, time and kind of opinion."""
    # Hidden opinions that adapt are a second path beside the public ones.
    numbers = built.model.n * (1 + built.model.layout.has_hidden)
    return thinned(built.steps, min(limits.times, limits.states // numbers))


def _run_arrays(built: Experiment, thinning: Thinning, topic: int = 0) -> Arrays:
    """Return the first replicate agent by agent, the summaries of some, and mean spread and distance over all."""
    model, count, length = built.model, built.scenario.run.replicates, thinning.times.size
    # Batches bound the memory: only sums over replicates are kept of all but the first.
    size = max(MAX_CURVES, BATCH // max(model.n, length))
    if _needs_states(model):
        size = max(1, BATCH // (model.n * length))
    first = _first_batch(built, range(min(size, count)), thinning, topic)
    # Sums, not means of batches, because the last batch may be smaller.
    sums = {name: first[name].sum(axis=0) for name in ("spread", "max_distance")}
    for begin in range(size, count, size):
        more = recorded(built, range(begin, min(begin + size, count)), thinning, SUMMARIES, topic)
        sums = {name: total + more[name].sum(axis=0) for name, total in sums.items()}
        curves = min(MAX_CURVES, count) - len(first["spread"])
        first |= {name: np.concatenate([first[name], more[name][: max(curves, 0)]]) for name in SUMMARIES}
    arrays = {name: first[name][:MAX_CURVES] for name in SUMMARIES}
    arrays |= {f"{name}_mean": total / count for name, total in sums.items()}
    rows = np.s_[topic :: len(topics_of(built)) or 1]
    arrays |= {"states": first["states"][0], "stubbornness": model.stubbornness[rows]}
    hidden = first["hidden"]
    arrays["hidden"] = hidden if hidden.ndim == 1 else hidden[0]
    # Single precision halves the answer and exceeds the resolution of any screen; times need all their digits.
    return {"times": first["times"].astype(np.float64)} | {name: a.astype(np.float32) for name, a in arrays.items()}


def recorded_arrays(run: Trajectory, limits: Limits) -> Arrays:
    """Return what a run has recorded, at as many of its times as fit into one picture."""
    assert run.states is not None, "what is drawn has states"
    numbers = run.agents.size * (1 + (run.hidden_path is not None))
    kept = thinned(run.times.size - 1, min(limits.times, limits.states // numbers)).times
    arrays: Arrays = {"states": run.states[0, kept], "stubbornness": run.model.stubbornness[run.agents]}
    path = run.hidden_path
    arrays["hidden"] = np.asarray(run.hidden) if path is None else path[0, kept]
    for name in SUMMARIES:
        found = getattr(run, name)
        # Unknown where some agents, or their limits, are.
        whole = np.full((1, kept.size), np.nan) if found is None else found[:, kept]
        arrays[name] = whole[:MAX_CURVES]
        if name in ("spread", "max_distance"):
            arrays[f"{name}_mean"] = whole.mean(axis=0)
    return {"times": run.times[kept].astype(np.float64)} | {name: a.astype(np.float32) for name, a in arrays.items()}


def _needs_states(model: Model) -> bool:
    """Return whether summaries are those of states: distances to own limits, and numbers of one topic."""
    return not isinstance(model.target, float) or bool(model.network.topics)


def _first_batch(built: Experiment, rows: range, thinning: Thinning, topic: int) -> Arrays:
    """Return the summaries of the first replicates, and the opinions of all agents in at least one of them."""
    opinions = ("states", "hidden")
    # One run for both if its states fit; otherwise the states of one replicate and the summaries of many are two runs,
    # which agree since random numbers depend on the replicate's number.
    if len(rows) * thinning.times.size * built.model.n <= BATCH:
        return recorded(built, rows, thinning, [*opinions, *SUMMARIES], topic)
    return recorded(built, [0], thinning, opinions, topic) | recorded(built, rows, thinning, SUMMARIES, topic)


def recorded(
    built: Experiment, rows: Sequence[int], thinning: Thinning, names: Sequence[str], topic: int = 0
) -> Arrays:
    """Return the named parts of a run of these replicates, (replicates, times, …), at the times shown."""
    if topics_of(built):
        whole = _recorded(built, rows, thinning, ["states", "hidden"])
        return {name: array for name, array in _of_topic(whole, built, topic).items() if name in ("times", *names)}
    return _recorded(built, rows, thinning, names)


def _of_topic(arrays: Arrays, built: Experiment, topic: int) -> Arrays:
    """Return states and hidden opinions on one topic, and the summaries of these."""
    part = np.s_[..., topic :: len(topics_of(built))]
    states, target = arrays["states"][part], np.broadcast_to(built.model.target, built.model.n)[part]
    ends = {"minimum": states.min(axis=-1), "maximum": states.max(axis=-1), "mean": states.mean(axis=-1)}
    distances = {"spread": ends["maximum"] - ends["minimum"], "max_distance": np.abs(states - target).max(axis=-1)}
    return arrays | {"states": states, "hidden": arrays["hidden"][part]} | ends | distances


def _recorded(built: Experiment, rows: Sequence[int], thinning: Thinning, names: Sequence[str]) -> Arrays:
    # Distances to limits of their own are those of states.
    states = "states" in names or ("max_distance" in names and _needs_states(built.model))
    seed, keep = built.scenario.run.seed, Record(states=states, summaries="spread" in names)
    # Two runs: every step at first, then with a stride; the second continues the first with the same random numbers.
    run = simulate(built.system, thinning.dense, rows, seed=seed, record=keep)
    arrays: Arrays = {name: np.asarray(getattr(run, name)) for name in ("times", *names)}
    if thinning.dense < thinning.steps:
        sparse = replace(keep, every=thinning.every)
        late = simulate(built.system, thinning.steps - thinning.dense, rows, seed=seed, record=sparse, start=run)
        # The second run records its start, which is the end of the first one.
        arrays["times"] = np.concatenate([run.times, late.times[1:]])
        # Hidden opinions that are constant have no axis of times.
        for name in (name for name, early in arrays.items() if early.ndim > 1):
            arrays[name] = np.concatenate([arrays[name], getattr(late, name)[:, 1:]], axis=1)
    return arrays


# The observer


def observe_answer(built: Experiment, limits: Limits) -> bytes:
    """Return each method's estimates of the hidden opinions from all that the observer sees."""
    check_one_topic(built, "what an observer estimates")
    observation = built.scenario.observation()
    last = last_observed(built, limits)
    experiment = first_replicate(built)
    methods, arrays = _estimates(built, experiment, observation)
    arrays |= {"truth": experiment.truth[0], "seen": _observed(built.model, observation)}
    return pack({"methods": methods, "steps": last}, arrays)


def exposure_answer(built: Experiment, limits: Limits) -> bytes:
    """Return what the best observer learns about each agent."""
    check_one_topic(built, "what an observer learns")
    return pack(*_exposure(built, built.scenario.observation(), last_observed(built, limits)))


def budget_answer(built: Experiment, limits: Limits) -> bytes:
    """Return the privacy budget against the observer over time."""
    last = last_observed(built, limits)
    return pack(*_budget(built, first_replicate(built), built.scenario.observation(), last))


def bench_answer(built: Experiment, limits: Limits) -> bytes:
    """Return ε, and the error that the observer expects of its estimates, under more and less noise."""
    check_one_topic(built, "privacy under other noise")
    last = last_observed(built, limits)
    noise, found, failed = built.model.noise, dict[float, tuple[float, float]](), None
    look = built.scenario.observation().resolve(built.model, np.arange(built.steps + 1))
    step, once = _recovery_work(built.model.n, complete=_sees_everything(look))
    # Counted in work and not in seconds, so they are the same on every machine.
    affordable = max(limits.recovered // (last * step + once), 1)
    for scale in () if noise.is_zero else NOISE_SCALES[:affordable]:
        check_cancelled()
        try:
            found[scale] = _promise_and_error(_louder(built, scale), last)
        except FATAL:
            raise
        except FAILURES as error:
            failed = failed or error_text(error)
    size = float(np.sqrt(np.mean(np.square(noise.deviations(built.model.n)))))
    rows = np.array([(size * scale, *row) for scale, row in sorted(found.items())]).reshape(-1, 3)
    facts = {"std": size, "failed": None if found else failed or "there is no noise to vary"}
    return pack(facts, {"noise": rows[:, 0], "epsilon": rows[:, 1], "error": rows[:, 2]})


def _louder(built: Experiment, scale: float) -> Experiment:
    """Return the same scenario with noise of another size."""
    noise = replace(built.model.noise, std=scale * built.model.noise.std)
    system = built.system.with_model(replace(built.model, noise=noise))
    return replace(built, built=system, stored=None)


def _promise_and_error(built: Experiment, last: int) -> tuple[float, float]:
    """Return ε and the root-mean-square error that the observer expects, from as many runs as it sees."""
    look, experiment = built.scenario.observation(), first_replicate(built)
    epsilon = experiment.budget_after(last, observed=look).epsilon
    estimate = recover(experiment.run, built.system, "auto", look, built.scenario.prior(), experiment.target)
    known, runs = estimate.identified, (built.scenario.privacy or Privacy()).runs
    # Estimates of several runs are averaged.
    error = np.sqrt(estimate.variance[known].mean() / runs) if known.any() else np.nan
    return epsilon, float(error)


# What the observer makes of the first steps, and of more and more of them


def recovered_answer(built: Experiment, limits: Limits) -> bytes:
    """Return the estimates from the steps up to each of several times, (times, agents), as ``recover`` makes them."""
    check_one_topic(built, "what an observer recovers")
    experiment, estimates, failed = first_replicate(built), dict[int, Estimate](), None
    look = built.scenario.observation().resolve(built.model, np.arange(built.steps + 1))
    try:
        limits.check_observer(built.model.n, look.last)
    except RequestError as error:
        # Part of the first view, of which nobody asked this: no error, but a reason in its place.
        return _recovered(built, experiment, {}, str(error))
    complete = _sees_everything(look)
    for count in _recovery_counts(built.model.n, max(look.times.size, 1), limits, complete=complete):
        check_cancelled()
        seen = replace(built.scenario.observation(), times=look.times[:count].tolist(), first_step=0)
        try:
            estimate = recover(experiment.run, built.system, "auto", seen, built.scenario.prior(), experiment.target)
        except FATAL:
            raise
        # One step may be too few, and all of them suffice.
        except FAILURES as error:
            failed = failed or error_text(error)
            continue
        estimates[int(look.times[count - 1])] = estimate
    return _recovered(built, experiment, dict(sorted(estimates.items())), failed)


def _recovery_counts(agents: int, steps: int, limits: Limits, *, complete: bool) -> list[int]:
    """Return the numbers of steps that estimates are made from, as many as the work allows; all steps are the last.

    Counted in work and not in seconds, so they are the same on every machine.
    """
    step, once = _recovery_work(agents, complete=complete)
    for most in (MAX_RECOVERIES, MAX_RECOVERIES // 2, MAX_RECOVERIES // 4, 3, 2):
        counts = _spaced(1, steps, most)
        if sum(counts) * step + len(counts) * once <= limits.recovered:
            return counts
    return [steps]


def _recovery_work(agents: int, *, complete: bool) -> tuple[int, int]:
    """Return the work of an estimate for each step, and beside the steps."""
    # A step of a filter takes a product of matrices, for complete outputs one with the matrix of the network.
    return (STEP_WORK, agents**3) if complete else (STEP_WORK + agents**3, 0)


def _sees_everything(look: ResolvedObservation) -> bool:
    return look.everyone and look.uninterrupted and not look.rounding


def _recovered(
    built: Experiment, experiment: Experiment, estimates: Mapping[int, Estimate], failed: str | None
) -> bytes:
    """Pack estimates by the last step that they are made from."""
    size = (len(estimates), built.model.n)
    values, errors = np.full(size, np.nan, dtype=np.float32), np.full(size, np.nan, dtype=np.float32)
    for row, one in enumerate(estimates.values()):
        # nan is drawn as no point; an estimate that is not identified is arbitrary.
        values[row] = np.where(one.identified, one.value[0], np.nan)
        errors[row] = np.where(one.identified, one.std, np.nan)
    last = estimates[max(estimates)] if estimates else None
    facts: dict[str, Any] = {
        "failed": None if estimates else failed,
        "method": None if last is None else last.method,
        "title": None if last is None else METHODS[last.method].title,
        "note": "" if last is None else _in_words(last.note),
    }
    times = np.array([*estimates], dtype=np.float64) * built.system.step
    return pack(facts, {"times": times, "values": values, "std": errors, "truth": experiment.truth[0]})


def _spaced(first: int, last: int, count: int) -> list[int]:
    """Return whole numbers that are evenly spaced on a logarithmic axis."""
    # Rounding makes small numbers coincide, and unique removes the repeats.
    return [int(one) for one in np.unique(np.geomspace(min(first, last), last, count).round())]


def last_observed(built: Experiment, limits: Limits) -> int:
    """Return the last step that is observed, if the work up to there is within limits."""
    times = built.scenario.observation().times
    last = built.steps if times is None else max(times)
    limits.check_observer(built.model.n, last)
    return last


def first_replicate(built: Experiment) -> Experiment:
    """Return the experiment with its first replicate only, of which all is recorded."""
    run = built.scenario.run.model_copy(update={"replicates": 1})
    return replace(built.with_sections(run=run), record=Record())


def _estimates(
    built: Experiment, experiment: Experiment, observation: Observation
) -> tuple[list[dict[str, Any]], Arrays]:
    facts, arrays, prior = [], Arrays(), built.scenario.prior()
    for method in (built.scenario.observe or Observe()).methods:
        try:
            estimate = recover(experiment.run, built.system, method, observation, prior, experiment.target)
        # Cancellation and requests that cannot be answered end the job; another failure concerns one method only.
        except FATAL:
            raise
        except FAILURES as error:
            facts.append(_failed(method, error_text(error)))
            continue
        known = estimate.identified
        # nan is drawn as no point; an estimate that is not identified is arbitrary.
        arrays[f"estimate_{method}"] = np.where(known, estimate.value[0], np.nan)
        arrays[f"std_{method}"] = np.where(known, estimate.std, np.nan)
        facts.append(_accuracy(method, estimate, experiment.truth[0]))
    return facts, arrays


def _failed(method: str, text: str) -> dict[str, Any]:
    return {"id": method, "used": method, "rmse": None, "expected_rmse": None, "identified": 0, "failed": text}


def _accuracy(method: str, estimate: Estimate, truth: NDArray[np.float64]) -> dict[str, Any]:
    """Return the root-mean-square error over the identified agents, as it is and as the method expects it."""
    known = estimate.identified
    made, expected = (estimate.value[0] - truth)[known] ** 2, estimate.variance[known]
    return {
        "id": method,
        # "auto" takes one of the others.
        "used": estimate.method,
        "rmse": float(np.sqrt(made.mean())) if known.any() else None,
        "expected_rmse": float(np.sqrt(expected.mean())) if known.any() else None,
        "identified": int(known.sum()),
        "note": _in_words(estimate.note),
        "failed": None,
    }


def _exposure(built: Experiment, observation: Observation, steps: int) -> tuple[dict[str, Any], Arrays]:
    """Return the posterior standard deviation of the best observer for each agent, and the bits it has learned."""
    try:
        result = exposure(built.system, steps, observation, built.scenario.prior())
    except FATAL:
        raise
    except FAILURES as error:
        return {"summary": error_text(error), "text": "", "note": "", "prior_std": None}, {}
    table = result.table
    prior = float(np.sqrt(table["prior_variance"].mean()))
    facts = {"summary": exposed(result), "text": str(result), "note": result.note, "prior_std": prior}
    arrays = {
        "exposure": np.sqrt(table["posterior_variance"].to_numpy()),
        "bits": table["bits"].to_numpy(),
        "cramer_rao": np.sqrt(table["cramer_rao"].to_numpy()),
    }
    return facts, arrays


def _budget(
    built: Experiment, experiment: Experiment, observation: Observation, steps: int
) -> tuple[dict[str, Any], Arrays]:
    """Return the privacy budget against the observer, at the last step and over time."""
    terms = built.scenario.privacy or Privacy()
    facts: dict[str, Any] = {"sensitivity": terms.sensitivity, "delta": terms.delta, "runs": terms.runs}
    times = _horizons(built, observation, steps)
    try:
        budgets = [experiment.budget_after(horizon, observed=observation) for horizon in times.tolist()]
    except FATAL:
        raise
    except FAILURES as error:
        return facts | {"epsilon": None, "mu": None, "summary": error_text(error), "text": ""}, {}
    last = budgets[-1]
    # An export holds every step and every replicate, whatever the observer of the scenario sees.
    exported = replace(built, record=built.scenario.run.recording()).budget_after(built.steps, recorded=True)
    warning = f"Of all that an export records, ε is {recorded_epsilon(exported)}."
    arrays = {
        "budget_times": times.astype(np.float64),
        "budget_epsilon": np.array([one.epsilon for one in budgets]),
        "budget_mu": np.array([one.mu for one in budgets]),
    }
    limit = "" if np.isnan(last.epsilon_limit) else f"ε, all times: {last.epsilon_limit:.3g}."
    text = " ".join([last.promise, last.definition.text, limit, warning])
    return facts | {"epsilon": last.epsilon, "mu": last.mu, "summary": spent(last, steps), "text": text}, arrays


def _horizons(built: Experiment, observation: Observation, steps: int) -> NDArray[np.int64]:
    """Return the steps up to which the budget is computed, evenly spaced on a logarithmic axis."""
    first = min(steps, max(1, observation.first_step if observation.times is None else min(observation.times)))
    few = observation.times is not None and not set(observation.times) >= set(range(1, steps + 1))
    if observation.agents is None and first == 1 and not few:
        count = CONTINUOUS_HORIZONS if built.is_continuous else HORIZONS
        return np.array(_spaced(1, steps, count))
    # An account of a part follows the state step by step; all of these together take as long as three of the longest.
    halved = steps // 2 ** np.arange(int(np.log2(steps / first)) + 1)
    return np.unique(np.append(halved, first))


def _observed(model: Model, observation: Observation) -> NDArray[np.uint32]:
    observed = np.zeros(model.n, dtype=np.uint32)
    observed[slice(None) if observation.agents is None else model.network.indices(observation.agents)] = 1
    return observed


def _in_words(note: str) -> str:
    """Return a note without the argument that would change it, which a page does not have."""
    return note.replace(" unless sees_start is true", "")


# The network that an observer infers from more and more steps of a run, against the true one.

MIN_TIMES, MAX_TIMES = 2, 12
FIRST = 8  # observed steps; of fewer, hardly anything can be inferred
OVERHEAD = 10_000  # steps that take as long as what the fit of an agent costs at any number of steps


@final
@dataclass(frozen=True, eq=False)
class InferredEdges:
    """Pairs of agents that are connected, or that were taken to be at one of the times.

    ``pairs`` (m, 2) are positions, ``true`` (m,) marks the edges of the network, and ``weights`` and ``confidence``
    (times, m) are the larger ones of both directions; a weight of 0 is a pair that was not selected.
    ``average_precision`` (times,) is that of all ordered pairs. If no time has an estimate, ``failed`` says why.
    """

    times: NDArray[np.float64]
    average_precision: NDArray[np.float64]
    pairs: NDArray[np.uint32]
    true: NDArray[np.uint32]
    weights: NDArray[np.float32]
    confidence: NDArray[np.float32]
    failed: str | None

    def at(self, time: float) -> int:
        """Return the position of the last of the times up to this one, −1 if all are later."""
        return int(np.searchsorted(self.times, time, "right")) - 1


def inference_answer(built: Experiment, limits: Limits) -> bytes:
    """Return the inferred edges over time in the binary format."""
    fields = dict(vars(inferred_edges(built, limits)))
    return pack({"failed": fields.pop("failed")}, fields)


def inferred_edges(built: Experiment, limits: Limits) -> InferredEdges:
    """Return the edges that are inferred from the first replicate, at as many times as the limit of work allows."""
    check_one_topic(built, "an inferred network")
    look = built.scenario.observation().resolve(built.model, np.arange(built.steps + 1))
    counts = _counts(built.model.n, max(look.times.size, 1), limits)
    limits.check_observer(built.model.n, look.last)
    run, observe = first_replicate(built).run, built.scenario.observe or Observe()
    estimates: dict[int, NetworkEstimate] = {}
    failed = None
    for count in counts:
        check_cancelled()
        # y₀ is not among the times that are resolved; who sees it sees it from the start.
        seen = [0] * look.sees_start + look.times[:count].tolist()
        part = built.with_sections(observe=observe.model_copy(update={"times": seen})).scenario
        try:
            estimates[seen[-1]] = part.infer_network(run)
        except FATAL:
            raise
        # Gaps among the first steps may leave too few of them, and later ones suffice.
        except FAILURES as error:
            failed = failed or error_text(error)
    return _compared(built, dict(sorted(estimates.items())), failed)


def _counts(agents: int, steps: int, limits: Limits) -> list[int]:
    """Return numbers of observed steps, evenly spaced on a logarithmic axis."""
    work = agents * (steps + OVERHEAD)
    what = f"agents × (steps + {OVERHEAD:,}) × times of an inferred network"
    remedy = "observe fewer steps or a smaller network; peerpressure recover has no such limit"
    limits.check("inferred", MIN_TIMES * work, what=what, remedy=remedy, where="observe.unknown_network")
    return _spaced(FIRST, steps, min(MAX_TIMES, limits.inferred // work))


def _compared(built: Experiment, estimates: Mapping[int, NetworkEstimate], failed: str | None) -> InferredEdges:
    network = built.model.network
    size = (len(estimates), network.n, network.n)
    weights, confidence = np.zeros(size, dtype=np.float32), np.full(size, np.nan, dtype=np.float32)
    for k, one in enumerate(estimates.values()):
        # Agents that are not observed have no row.
        picked = np.ix_(network.indices(one.labels), network.indices(one.labels))
        # The larger of both directions; an edge has weights in both.
        weights[k][picked] = np.maximum(one.weights, one.weights.T)
        confidence[k][picked] = np.fmax(one.confidence, one.confidence.T)
    # In a directed network one direction suffices.
    true = network.mutual.toarray() > 0
    i, j = np.nonzero(np.triu(true | (weights > 0).any(axis=0), 1))
    return InferredEdges(
        np.array([*estimates], dtype=np.float64),
        np.array([one.average_precision(network) for one in estimates.values()]),
        np.stack([i, j], axis=1).astype(np.uint32),
        true[i, j].astype(np.uint32),
        weights[:, i, j],
        confidence[:, i, j],
        failed if not estimates else None,
    )


class PanelAnswer(NamedTuple):
    """A panel of the page: its answer, and the sections on which that does not depend, so mistakes in them may stay."""

    answer: Callable[[Experiment, Limits], bytes]
    independent_of: tuple[str, ...] = ()


# By the names under which the page asks for them.
PANELS: Mapping[str, PanelAnswer] = {
    "recovered": PanelAnswer(recovered_answer, ("privacy",)),
    "observe": PanelAnswer(observe_answer, ("privacy",)),
    "exposure": PanelAnswer(exposure_answer, ("privacy",)),
    "budget": PanelAnswer(budget_answer),
    "bench": PanelAnswer(bench_answer),
    "inference": PanelAnswer(inference_answer, ("privacy",)),
}


# Sentences with a few rounded numbers; those of the verdict are its own.

STRONG = 5  # ε beyond which a promise of privacy is weak


def exposed(exposure: Exposure) -> str:
    """Return how much an observer of a run learns about hidden opinions."""
    table = exposure.table
    before = math.sqrt(table["prior_variance"].mean())
    seen = table["seen"].to_numpy()
    after = [
        f"{significant(math.sqrt(table['posterior_variance'][chosen].mean()))} for agents that it {sees}"
        for chosen, sees in ((seen, "sees"), (~seen, "does not see"))
        if chosen.any()
    ]
    who = f"{np.count_nonzero(seen):,} of {seen.size:,} agents"
    learned = f"its typical error about a hidden opinion falls from {significant(before)} to {' and '.join(after)}"
    return f"An observer of {who} over {exposure.steps:,} steps: {learned}."


def spent(budget: Budget, steps: int) -> str:
    """Return the privacy that a run costs under the budget's observer."""
    if not math.isfinite(budget.epsilon):
        return "The run gives hidden opinions away: no finite ε bounds what this observer learns."
    much = "little" if budget.epsilon <= 1 else "much" if budget.epsilon > STRONG else "something"
    epsilon = f"{budget.epsilon:,.0f}" if budget.epsilon >= 10 else f"{budget.epsilon:.2g}"
    one = "opinion of one agent"
    if budget.model.network.topics:
        person = budget.definition.unit == "person"
        one = "opinions of one agent on all topics" if person else "opinion of one agent on one topic"
    secret = "as long as the seed is secret"
    return f"After {steps:,} steps ε = {epsilon}: this observer may learn {much} about the {one}, {secret}."
