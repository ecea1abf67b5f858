"""The long run where it is random who updates: value, rate κ_q, and the random limit under fast pressure.

In the mean the step is I − Q + QC_t with the probabilities q, a lazy version of the synchronous one. Its consensus mode
has the weights π_q ∝ π/q, in which Σ π_q q s/d = κ_q = κ/Σ(π/q): v is the same, and approached with κ_q instead of κ.
Who keeps an opinion breaks every period. The change of those who update is of order 1/ρ_t once agents are close, as
noise is, so that chance in who updates averages out where noise does. Under fast pressure nothing averages, and the
limit is random even without noise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from peerpressure.model import Model
from peerpressure.schedules import Constant
from peerpressure.step import Array
from peerpressure.theory._classification import Outcome, is_proportional, without_signs
from peerpressure.theory._closed_classes import bounded_fluctuation
from peerpressure.theory._forecast import Forecast
from peerpressure.theory._limits import ConsensusLimit
from peerpressure.theory._moments import forward_moments
from peerpressure.theory._rates import Law, Rate, mode_noise
from peerpressure.theory._reasons import Reason, ReasonCode, shown_digit
from peerpressure.theory._regime import NoiseEffect, Regime, noise_adds_up, noise_effect, noise_is_estimated, regime_of
from peerpressure.theory._stationary import fixed_point
from peerpressure.theory._structure import SAME, is_covered
from peerpressure.theory._verdict import Verdict

# Multiplications, about two seconds', after which the law of the limit is extrapolated.
_MOST_WORK = 2e9
_FAR = 1e18  # the time up to which 1/ρ_t is integrated


@final
@dataclass(frozen=True, eq=False)
class _LongRun:
    """Outcome with its reasons, the limit where there is one value, and the mean limit of each agent."""

    outcome: Outcome
    reasons: tuple[Reason, ...]
    limit: ConsensusLimit | None = None
    state: Array | None = None


def asynchronous_verdict(model: Model, ahead: Forecast | None) -> Verdict:
    """Return the verdict on a model in which not everybody updates at every step."""
    network, regime = model.network, regime_of(model.pressure)
    camps = network.signed and network.is_balanced and regime is not Regime.BOUNDED and model.is_constant
    judged = without_signs(model) if camps else model
    given = [Reason(ReasonCode.PRESSURE_GROWTH, {"basis": model.pressure.growth.basis, "regime": regime.name.lower()})]
    found = _long_run(judged, regime)
    outcome = found.outcome
    if camps:
        first = int(np.count_nonzero(network.camps == 1))
        given.append(Reason(ReasonCode.CAMPS, {"first": first, "second": model.n - first}))
        agrees = outcome in (Outcome.CONSENSUS, Outcome.BIASED_CONSENSUS)
        outcome = Outcome.BIPARTITE if agrees else outcome
    agrees = found.outcome is Outcome.CONSENSUS and regime.reaches_value
    return Verdict(
        outcome=outcome,
        reasons=(*given, *_activation(model), *found.reasons),
        estimated=model.pressure.growth.estimated or noise_is_estimated(model),
        value=judged.consensus_value,
        kappa=judged.kappa,
        pressure=str(model.pressure),
        rate=_rate(judged, regime) if agrees else Rate(regime, estimated=model.pressure.growth.estimated),
        forecast=ahead,
        consensus_limit=found.limit,
        limits=found.state,
        directed=network.directed,
    )


def _activation(model: Model) -> Iterator[Reason]:
    activation = model.activation
    assert activation is not None
    if not activation.is_random:
        yield Reason(ReasonCode.ACTIVATION_TABLE, {"steps": len(activation.values)})
    else:
        yield Reason(ReasonCode.ACTIVATION, {"activation": str(activation)})


def _long_run(model: Model, regime: Regime) -> _LongRun:
    activation, noise = model.activation, noise_effect(model, regime)
    assert activation is not None
    connected = model.network.directed or model.network.is_connected
    if not (activation.is_random and model.is_constant and connected and is_covered(model)):
        return _LongRun(Outcome.UNKNOWN, (Reason(ReasonCode.ACTIVATION_NOT_COVERED),))
    if regime is Regime.UNKNOWN or noise is NoiseEffect.UNKNOWN:
        code = ReasonCode.UNKNOWN_GROWTH if regime is Regime.UNKNOWN else ReasonCode.UNKNOWN_NOISE
        return _LongRun(Outcome.UNKNOWN, (Reason(code),))
    if noise is NoiseEffect.NONE and np.ptp(np.concatenate([model.x0, model.start_state])) == 0:
        limit = ConsensusLimit(model.consensus_value, 0.0)
        return _LongRun(Outcome.CONSENSUS, (Reason(ReasonCode.SETTLED),), limit)
    if regime is Regime.BOUNDED:
        return _bounded(model)
    if noise is NoiseEffect.SCATTERS:
        return _LongRun(Outcome.DISAGREEMENT, (Reason(ReasonCode.NOISE_OUTGROWS_PRESSURE),))
    rate = Reason(ReasonCode.ACTIVATION_RATE, {"kappa": model.kappa, "synchronous": model.synchronous.kappa})
    found = _fast(model) if regime is Regime.FAST else _slow(model, noise)
    return replace(found, reasons=(rate, *found.reasons))


def _bounded(model: Model) -> _LongRun:
    """Return the outcome at the fixed point of the mean, which is that of the synchronous model."""
    limit, moves = model.pressure.growth.limit, bounded_fluctuation(model)
    if limit is None:
        return _LongRun(Outcome.DISAGREEMENT, (Reason(ReasonCode.BOUNDED_PRESSURE),))
    state = fixed_point(replace(model.synchronous, pressure=Constant(limit)), 1)
    if np.ptp(state) <= SAME * float(np.abs(model.x0).max()):
        # Equal opinions: the fixed point is common to all who update, so that only noise keeps agents apart.
        if moves in (ReasonCode.NO_FLUCTUATION, ReasonCode.FLUCTUATION_FADES):
            v = model.consensus_value
            return _LongRun(Outcome.CONSENSUS, (Reason(ReasonCode.SETTLED),), ConsensusLimit(v, 0.0))
        return _LongRun(Outcome.DISAGREEMENT, (Reason(moves),), state=state)
    span = Reason(ReasonCode.STATIONARY_MEAN, {"low": float(state.min()), "high": float(state.max())})
    return _LongRun(Outcome.DISAGREEMENT, (span, Reason(moves)), state=state)


def _slow(model: Model, noise: NoiseEffect) -> _LongRun:
    v = model.consensus_value
    forgotten = Reason(ReasonCode.START_FORGOTTEN, {"condition": "Σ 1/ρ_t", "v": v})
    if noise in (NoiseEffect.NONE, NoiseEffect.VANISHES):
        reasons = (forgotten, Reason(ReasonCode.ACTIVATION_AVERAGES))
        return _LongRun(Outcome.CONSENSUS, reasons, ConsensusLimit(v, 0.0))
    scale = model.noise.time_scale.growth.limit
    if noise is NoiseEffect.STAYS and scale is not None and math.isfinite(scale):
        # Frozen noise shifts hidden opinions once and for all.
        std = mode_noise(model) * scale
        values = {"mean": v, "std": std, "v": v}
        return _LongRun(Outcome.BIASED_CONSENSUS, (Reason(ReasonCode.FROZEN_NOISE, values),), ConsensusLimit(v, std))
    return _LongRun(Outcome.UNKNOWN, (Reason(ReasonCode.ACTIVATION_NOT_COVERED),))


def _fast(model: Model) -> _LongRun:
    remembered = Reason(ReasonCode.START_REMEMBERED, {"condition": "Σ 1/ρ_t"})
    if not (model.noise.is_zero or noise_adds_up(model)):
        return _LongRun(Outcome.UNKNOWN, (remembered, Reason(ReasonCode.ACTIVATION_NOT_COVERED)))
    limit, v = _random_limit(model), model.consensus_value
    if limit is None:
        # That all agents agree needs no numbers; on what is open.
        return _LongRun(Outcome.BIASED_CONSENSUS, (remembered, Reason(ReasonCode.LIMIT_DEPENDS_ON_UPDATES, {"v": v})))
    near = SAME * float(np.ptp(model.x0)) + limit.residual
    if abs(limit.mean - v) <= near and limit.std <= near:
        return _LongRun(Outcome.UNKNOWN, (remembered, Reason(ReasonCode.ACTIVATION_NOT_COVERED)), limit)
    digit = shown_digit([limit.mean, v], limit.residual)
    values = {"mean": limit.mean, "std": limit.std, "v": v, "error": limit.residual, "digit": digit}
    return _LongRun(Outcome.BIASED_CONSENSUS, (remembered, Reason(ReasonCode.RANDOM_LIMIT, values)), limit)


def _random_limit(model: Model) -> ConsensusLimit | None:
    """Return mean and deviation of the limit under fast pressure; None for a network that is too large.

    The law is exact up to a step T. Later the consensus mode follows m ← m + (κ_q/ρ_t)(v − m + O(spread)), by which the
    deviation from v shrinks by exp(−κ_q Σ_{t>T} 1/ρ_t). Chance in who updates moves it by at most the spread in each of
    about T steps, until pressure has doubled and more; that and later noise are the residual.
    """
    n, kappa, v, w = model.n, model.kappa, model.consensus_value, model.mode_weights
    horizon = int(min(_MOST_WORK / (n * (4 * model.network.adjacency.nnz + 20 * n)), 4096))
    if horizon < 64:
        return None
    found = forward_moments(model, np.array([horizon]))
    mean, P = found.mean[-1], found.covariance
    late = np.geomspace(horizon, _FAR, 4096)
    reciprocal = model.pressure.reciprocal(late)
    left, m = kappa * float(np.trapezoid(reciprocal, late)), float(w @ mean)
    variance = max(float(w @ P @ w), 0.0)
    spread = math.sqrt(float(np.mean((mean - m) ** 2)) + max(float(np.trace(P)) / n - float(np.mean(P @ w)), 0.0))
    later = mode_noise(model) * kappa * float(model.noise.scale(horizon)) if not model.noise.is_zero else 0.0
    power = 1 if model.noise.autocorrelation == 1 else 2
    noise = (later**power * float(np.trapezoid(reciprocal**power, late))) ** (1 / power)
    residual, shrink = math.sqrt(horizon) * spread + noise, math.exp(-left)
    return ConsensusLimit(v + (m - v) * shrink, math.sqrt(variance) * shrink, horizon, residual)


def _rate(model: Model, regime: Regime) -> Rate:
    """Return the exponents, which are those of the synchronous model with κ_q; chance counts as noise of scale 1."""
    growth, activation = model.pressure.growth, model.activation
    p = growth.exponent
    assert activation is not None
    if p is None or regime not in (Regime.SLOW, Regime.LINEAR):
        return Rate(regime, estimated=growth.estimated)
    gamma = 0.0 if model.noise.is_zero else model.noise.time_scale.growth.exponent
    # Only for these is the mode of the fixed point v itself, so that nothing but the start decides the bias.
    exact = is_proportional(model) and np.ptp(activation.values) == 0
    if regime is Regime.SLOW:
        bias, r = (Law(math.inf) if exact else Law(p)), None
    else:
        r = model.kappa / (growth.slope or float(model.pressure.pressure(np.array([_FAR]))[0]) / _FAR)
        bias = Law(r) if exact else Law(min(r, 1.0), log=r == 1)
    variance = apart = None
    if gamma is not None:
        gamma = max(gamma, 0.0)
        free = p - 2 * gamma
        variance = Law(free) if r is None else Law(min(2 * r, free), log=2 * r == free)
        apart = Law(p - gamma)
    return Rate(regime, bias, variance, apart, r, estimated=growth.estimated or noise_is_estimated(model))
