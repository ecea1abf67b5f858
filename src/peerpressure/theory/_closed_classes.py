"""The long run on networks with several closed classes, without structural balance, or with agents who hear nobody.

A closed class hears nobody else, so that it is a model of its own, judged as such; with camps, opinions count with the
sign of their camp. Under growing pressure an agent outside of all classes comes to the mean over whom it listens to: a
mixture of the values of the classes, in which its own opinion does not count. A class without balance comes to 0,
and an agent who listens to nobody shows its own opinion and noise for ever.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from peerpressure.model import Model
from peerpressure.networks import Network
from peerpressure.networks._classes import absorbed, closed_classes, double_cover, phases
from peerpressure.schedules import Constant
from peerpressure.statespace import System
from peerpressure.step import Array
from peerpressure.theory._classification import LongRun, Outcome, classify
from peerpressure.theory._departure import decide
from peerpressure.theory._reasons import Reason, ReasonCode, Value, shown_digit
from peerpressure.theory._regime import NoiseEffect, Regime, fades_out, noise_effect
from peerpressure.theory._stationary import fixed_point
from peerpressure.theory._structure import SAME
from peerpressure.theory._verdict import ClassLimit

# Classes that are named with their values, and classes of several agents whose values are computed at all: each is
# judged as a model of its own. The limit of an agent who listens to nobody is known at once.
NAMED = 3
MOST_CLASSES = 1_000


@final
@dataclass(frozen=True, eq=False)
class GeneralOutcome:
    """Outcome, reasons, the limit of each closed class, and the mean limit of each agent where there is one."""

    outcome: Outcome
    reasons: tuple[Reason, ...]
    classes: tuple[ClassLimit, ...] = ()
    state: Array | None = None


@final
@dataclass(frozen=True, eq=False)
class _Class:
    """A closed class: its agents, the camp of each, and its period, that of the double cover if it has no balance.

    ``neutral``: it has no balance. ``rotates``: under fast pressure its agents pass opinions on in turn for ever.
    """

    agents: NDArray[np.int64]
    camp: NDArray[np.int64]
    period: int
    neutral: bool = False
    rotates: bool = False


def _classes(network: Network) -> list[_Class]:
    A, n = network.adjacency, network.n
    if not network.signed:
        found = [(agents, phases(A, agents)[0]) for agents in network.closed_classes]
        return [_Class(agents, np.ones(agents.size, np.int64), h, rotates=h > 1) for agents, h in found]
    cover, out = double_cover(A), []
    for states in closed_classes(cover):
        agents, h = np.unique(states % n), phases(cover, states)[0]
        if agents.size < states.size:
            # An opinion comes back with the opposite sign after half of the period, or is forgotten.
            plain = phases(csr_array(abs(A)), agents)[0]
            out.append(_Class(agents, np.ones(agents.size, np.int64), h, neutral=True, rotates=h == 2 * plain))
            continue
        camp = np.where(np.isin(agents, states), 1, -1)
        # A class with camps has an image with the opposite signs; one of the two is enough.
        if camp[0] == 1:
            out.append(_Class(agents, camp, h, rotates=h > 1))
    return out


def judge(system: System, long_run: LongRun, tolerance: float) -> GeneralOutcome | None:
    """Return the outcome on a network of several closed classes or without balance; None where no result is known.

    ``long_run`` is the classification, which has the regimes of pressure and noise.
    """
    model, regime = system.model, long_run.regime
    noise = noise_effect(model, regime)
    known = regime is not Regime.UNKNOWN and noise not in (NoiseEffect.UNKNOWN, NoiseEffect.WANDERS)
    if model.adaptation is not None or not known:
        return None
    if noise is NoiseEffect.SCATTERS:
        return GeneralOutcome(Outcome.DISAGREEMENT, (Reason(ReasonCode.NOISE_OUTGROWS_PRESSURE),))
    return _bounded(long_run) if regime is Regime.BOUNDED else _growing(system, long_run, noise, tolerance)


def _bounded(long_run: LongRun) -> GeneralOutcome | None:
    model, limit = long_run.model, long_run.growth.limit
    if limit is None:
        return GeneralOutcome(Outcome.DISAGREEMENT, (Reason(ReasonCode.BOUNDED_PRESSURE),))
    state = fixed_point(replace(model, pressure=Constant(limit)), 1)
    moves = bounded_fluctuation(model)
    if np.ptp(state) <= SAME * float(np.abs(model.x0).max()):
        # Signs may cancel by coincidence, or opinions are equal; noise that lasts keeps agents apart all the same.
        lasts = moves in (ReasonCode.FLUCTUATION_UNKNOWN, ReasonCode.FROZEN_SHIFT)
        apart = GeneralOutcome(Outcome.DISAGREEMENT, (Reason(moves),), state=state)
        return apart if lasts else _on_one_value(model, state)
    span = Reason(ReasonCode.STATIONARY_MEAN, {"low": float(state.min()), "high": float(state.max())})
    return GeneralOutcome(Outcome.DISAGREEMENT, (span, Reason(moves)), state=state)


def _on_one_value(model: Model, state: Array) -> GeneralOutcome:
    """Return the outcome where the fixed point under bounded pressure is one value for all agents."""
    value, v = float(state.mean()), model.consensus_value
    on_v = abs(value - v) <= SAME * float(np.abs(model.x0).max())
    numbers: dict[str, Value] = {"mean": value, "std": 0.0, "v": v, "error": 0.0, "digit": shown_digit([value, v], 0.0)}
    outcome = Outcome.CONSENSUS if on_v else Outcome.BIASED_CONSENSUS
    return GeneralOutcome(outcome, (Reason(ReasonCode.LIMIT, numbers),), state=state)


def bounded_fluctuation(model: Model) -> ReasonCode:
    """Return what noise does to agents under bounded pressure, where no number is computed."""
    growth = model.noise.time_scale.growth
    if model.noise.is_zero:
        return ReasonCode.NO_FLUCTUATION
    if growth.limit == 0:
        return ReasonCode.FLUCTUATION_FADES
    if growth.bounded is False:
        return ReasonCode.FLUCTUATION_GROWS
    return ReasonCode.FROZEN_SHIFT if model.noise.autocorrelation == 1 else ReasonCode.FLUCTUATION_UNKNOWN


def _growing(system: System, long_run: LongRun, noise: NoiseEffect, tolerance: float) -> GeneralOutcome | None:
    model, parts = long_run.model, _classes(long_run.model.network)
    several = sum(part.agents.size > 1 for part in parts)
    if several > MOST_CLASSES:
        too_many = Reason(ReasonCode.TOO_MANY_CLASSES, {"classes": several, "most": MOST_CLASSES})
        return GeneralOutcome(Outcome.UNKNOWN, (too_many,))
    found = [_class_limit(system, part, long_run, tolerance) for part in parts]
    limits = [limit for limit in found if limit is not None]
    if len(limits) < len(found):
        return None
    reasons = [Reason(ReasonCode.CLOSED_CLASSES, {"classes": len(parts)}), *_named(parts, limits)]
    if any(limit.value is None for limit in limits):
        return GeneralOutcome(Outcome.PERIODIC, tuple(reasons), tuple(limits))
    state = _state(model, parts, limits)
    silent = sum(part.agents.size == 1 and not model.network.degrees[part.agents[0]] for part in parts)
    fades = model.noise.is_zero or model.noise.autocorrelation == 1 or fades_out(model.noise.time_scale)
    if silent and not fades:
        reasons.append(Reason(ReasonCode.SILENT_NOISE, {"agents": silent}))
        outcome = Outcome.UNKNOWN if fades is None else Outcome.DISAGREEMENT
        return None if fades is None else GeneralOutcome(outcome, tuple(reasons), tuple(limits), state)
    outcome = _outcome(model, parts, limits, state)
    transient = np.setdiff1d(np.arange(model.n), np.concatenate([part.agents for part in parts]))
    if transient.size:
        low, high = float(state[transient].min()), float(state[transient].max())
        values = {"agents": transient.size, "low": low, "high": high}
        same = f"{low:.4g}" == f"{high:.4g}"
        reasons.append(Reason(ReasonCode.TRANSIENT_FOLLOW if same else ReasonCode.TRANSIENT_AGENTS, values))
    return GeneralOutcome(outcome, tuple(reasons), tuple(limits), state)


def _class_limit(system: System, part: _Class, long_run: LongRun, tolerance: float) -> ClassLimit | None:
    """Return the limit of a class, whose value is None where it is periodic; None where it is not known."""
    model, agents = long_run.model, part.agents
    periodic = part.rotates and long_run.regime is Regime.FAST and not long_run.continuous
    if part.neutral:
        if part.rotates and not (long_run.growth.is_regular or long_run.continuous):
            # Pressure that depends on the phase of t may weight opinions and their opposites differently.
            return None
        return ClassLimit(agents, part.camp, None if periodic else 0.0, 0.0, math.inf, part.period)
    if agents.size == 1:
        std = _own_deviation(long_run, agents[0])
        return None if std is None else ClassLimit(agents, part.camp, float(model.x0[agents[0]]), std, math.inf, 1)
    alone = _class_model(model, part)
    found, limit, _ = decide(classify(system.with_model(alone)), tolerance)
    if found.outcome in (Outcome.OSCILLATION, Outcome.PERIODIC):
        return ClassLimit(agents, part.camp, None, math.nan, alone.kappa, part.period)
    if found.outcome not in (Outcome.CONSENSUS, Outcome.BIASED_CONSENSUS) or limit is None:
        return None
    return ClassLimit(agents, part.camp, limit.mean, limit.std, alone.kappa, part.period, limit.residual)


def _own_deviation(long_run: LongRun, agent: int) -> float | None:
    """Return the deviation of the limit of an agent who listens to nobody; None if frozen noise has no limit."""
    noise, sigma = long_run.model.noise, float(long_run.deviations[agent])
    if noise.is_zero or noise.autocorrelation < 1 or not sigma:
        # Noise that is drawn anew moves the agent for ever, about its opinion.
        return 0.0
    scale = math.inf if long_run.noise_grows else noise.time_scale.growth.limit
    return None if scale is None else sigma * scale


def _class_model(model: Model, part: _Class) -> Model:
    """Return the model of one class by itself, in which opinions have the sign of their camp."""
    agents, noise = part.agents, model.noise
    network = Network(csr_array(abs(model.network.adjacency[agents][:, agents])), directed=True)
    own = noise if np.ndim(noise.std) == 0 else replace(noise, std=np.asarray(noise.std)[agents])
    start = model.start if isinstance(model.start, str) else part.camp * model.start[agents]
    return Model(network, part.camp * model.x0[agents], model.s[agents], model.pressure, own, start)


def _state(model: Model, parts: list[_Class], limits: list[ClassLimit]) -> Array:
    known = np.full(model.n, np.nan)
    for part, limit in zip(parts, limits, strict=True):
        known[part.agents] = part.camp * (limit.value or 0.0)
    return absorbed(model.network.adjacency, known)


def _outcome(model: Model, parts: list[_Class], limits: list[ClassLimit], state: Array) -> Outcome:
    opinions = np.concatenate([model.x0, model.start_state])
    near = SAME * max(float(np.abs(opinions).max()), 1e-300) + 10 * max(limit.residual for limit in limits)
    certain = not any(limit.std for limit in limits)
    camps = [limit for part, limit in zip(parts, limits, strict=True) if not part.neutral]
    if not camps:
        return Outcome.NEUTRAL
    if np.ptp(state) <= near and (len(parts) == 1 or certain):
        on_v = certain and abs(float(state[0]) - model.consensus_value) <= near
        return Outcome.CONSENSUS if on_v else Outcome.BIASED_CONSENSUS
    if len(parts) == 1 and np.ptp(np.abs(state)) <= near:
        return Outcome.BIPARTITE
    return Outcome.CLUSTERS if _is_pure(model, parts) else Outcome.DISAGREEMENT


def _is_pure(model: Model, parts: list[_Class]) -> bool:
    """Whether every agent comes to the value of one class, and none to a mixture of several."""
    # Whatever the values of the classes are: random ones tell a mixture from each of them.
    values = np.random.default_rng(0).uniform(1.0, 2.0, len(parts))
    known = np.full(model.n, np.nan)
    for part, value in zip(parts, values, strict=True):
        known[part.agents] = 0.0 if part.neutral else part.camp * value
    # Sorted, with 0 for classes without balance, so that the nearest value is one of two neighbours.
    sizes = np.sort(np.append(values, 0.0 if any(part.neutral for part in parts) else values[0]))
    state = np.abs(absorbed(model.network.adjacency, known))
    above = np.searchsorted(sizes, state).clip(1, sizes.size - 1)
    nearest = np.minimum(np.abs(state - sizes[above - 1]), np.abs(state - sizes[above]))
    return bool(np.all(nearest <= SAME))


def _named(parts: list[_Class], limits: list[ClassLimit]) -> list[Reason]:
    reasons, told = [], list(zip(parts, limits, strict=True))
    single = sum(part.agents.size == 1 for part in parts)
    if single > NAMED:
        # One sentence for all of them; what is worth naming is the classes of several agents.
        reasons.append(Reason(ReasonCode.SINGLE_CLASSES, {"agents": single}))
        told = [(part, limit) for part, limit in told if part.agents.size > 1]
    for part, limit in told[:NAMED]:
        values: dict[str, Value] = {"agents": part.agents.size, "period": part.period}
        if limit.value is None:
            reasons.append(Reason(ReasonCode.CLASS_ROTATES, values))
        elif part.neutral:
            reasons.append(Reason(ReasonCode.CLASS_NEUTRAL, values))
        else:
            code = ReasonCode.CLASS_LIMIT if np.all(part.camp == 1) else ReasonCode.CLASS_CAMPS
            code = ReasonCode.CLASS_UNBOUNDED if math.isinf(limit.std) else code
            camps = "" if np.all(part.camp == 1) else ", with the opposite sign in the second of two camps"
            numbers: dict[str, Value] = {
                "mean": limit.value,
                "opposite": -limit.value,
                "std": limit.std,
                "camps": camps,
            }
            reasons.append(Reason(code, values | numbers))
    return reasons
