"""The reasons for the outcome of a model, with their numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import TypeAlias

import numpy as np

from peerpressure.networks import NetworkLaw
from peerpressure.schedules import Table
from peerpressure.support.text import shown_digit
from peerpressure.theory._analysis import NAMED, Analysis, Source, stationary_states
from peerpressure.theory._answer import CHANCES, chance_words
from peerpressure.theory._class_limits import too_many_classes
from peerpressure.theory._classification import LongRun, Outcome
from peerpressure.theory._conserved import late_scale
from peerpressure.theory._limit_law import Kind, LimitLaw
from peerpressure.theory._limit_operator import obstacle
from peerpressure.theory._limits import ConsensusLimit
from peerpressure.theory._rates import start_weight
from peerpressure.theory._reasons import Reason, ReasonCode, Value
from peerpressure.theory._recurrence import periodic_limit
from peerpressure.theory._regime import LATE_TIME, NoiseEffect, Regime, converges_almost_surely, noise_adds_up
from peerpressure.theory._stationary import fluctuation
from peerpressure.theory._structure import Component, NoiselessLimit, has_single_closed_class, period_of

Reasons: TypeAlias = list[Reason]


def explain(analysis: Analysis, horizon: int | None = None, weight: float | None = None) -> tuple[Reason, ...]:
    """Return the reasons for the outcome of a model.

    For an unknown outcome, ``horizon`` is a number of steps to look at instead, and ``weight`` that of the start by
    then, where it is known.
    """
    return (*_camps(analysis.long_run), *_explained(analysis, horizon, weight))


def _explained(analysis: Analysis, horizon: int | None, weight: float | None) -> Reasons:
    long_run = analysis.long_run
    if long_run.settled:
        return [Reason(ReasonCode.SETTLED)]
    # Reasons come in a fixed order: what is given (pressure, network, adaptation), then what follows.
    given = [
        *_pressure(long_run),
        *_network(long_run),
        *_beyond_record(long_run, horizon),
        *_activation(long_run),
    ]
    if analysis.source is Source.CLASSES:
        # Each class has a value of its own, and what adaptation says of a common one does not apply.
        return [*given, *_classes(long_run)]
    given += _adaptation(long_run)
    if analysis.source is Source.OPERATOR:
        return [*given, *_of_law(long_run)]
    if long_run.outcome is Outcome.UNKNOWN and not analysis.decided:
        return [*given, *_unknown(long_run, horizon, weight)]
    return [*given, *_of_components(analysis)]


def _camps(long_run: LongRun) -> Reasons:
    if long_run.camps is None:
        return []
    first = int(np.count_nonzero(long_run.camps == 1))
    return [_reason(ReasonCode.CAMPS, first=first, second=long_run.model.n - first)]


def _of_components(analysis: Analysis) -> Reasons:
    long_run, departure, v = analysis.long_run, analysis.departure, analysis.long_run.model.consensus_value
    outcome = long_run.outcome
    if long_run.balanced and outcome is Outcome.CONSENSUS:
        return [_reason(ReasonCode.BALANCED, v=v)]
    if departure is not None and analysis.decided and outcome in (Outcome.CONSENSUS, Outcome.UNKNOWN):
        code = ReasonCode.LIMIT_IS_V if outcome is Outcome.CONSENSUS else ReasonCode.LIMIT_UNRESOLVED
        bound = max(departure.bias, departure.std, departure.swing) + departure.resolution
        remembered = _start_remembered(long_run) if long_run.regime is Regime.FAST else []
        return [*remembered, _reason(code, v=v, bound=bound, **asdict(departure))]
    agree = outcome in (Outcome.CONSENSUS, Outcome.BIASED_CONSENSUS, Outcome.NEUTRAL)
    if long_run.regime is Regime.BOUNDED and long_run.structure.constant_opinions and agree:
        # Signs cancel by coincidence.
        return _of_law(long_run)
    return _OUTCOMES[outcome](long_run, analysis.limit)


def _activation(long_run: LongRun) -> Reasons:
    activation = long_run.model.activation
    if activation is None:
        return []
    if not activation.is_random:
        return [_reason(ReasonCode.ACTIVATION_TABLE, steps=len(activation.values))]
    given = [_reason(ReasonCode.ACTIVATION, activation=str(activation))]
    model, grows = long_run.model, long_run.regime not in (Regime.BOUNDED, Regime.UNKNOWN)
    if not (grows and model.is_constant and has_single_closed_class(model)) or long_run.noise is NoiseEffect.SCATTERS:
        return given
    return [*given, _reason(ReasonCode.ACTIVATION_RATE, kappa=model.kappa, synchronous=model.synchronous.kappa)]


def _classes(long_run: LongRun) -> Reasons:
    """Return the classes with their values, and what becomes of the agents outside of them."""
    law, classes = long_run.law, long_run.classes
    if not classes:
        return [Reason(ReasonCode.NOISE_OUTGROWS_PRESSURE)]
    reasons = [_reason(ReasonCode.CLOSED_CLASSES, classes=len(classes)), *_named(classes)]
    if Kind.PERIODIC in law.kinds:
        return reasons
    if law.kinds & {Kind.FLUCTUATES, Kind.WALKS} and any(part.agents.size == 1 for part in classes):
        silent = sum(part.agents.size == 1 for part in classes)
        return [*reasons, _reason(ReasonCode.SILENT_NOISE, agents=silent)]
    transient = np.setdiff1d(np.arange(long_run.model.n), np.concatenate([part.agents for part in classes]))
    if transient.size:
        low, high = float(law.mean[0, transient].min()), float(law.mean[0, transient].max())
        code = ReasonCode.TRANSIENT_FOLLOW if f"{low:.4g}" == f"{high:.4g}" else ReasonCode.TRANSIENT_AGENTS
        reasons.append(_reason(code, agents=int(transient.size), low=low, high=high))
    return reasons


def _named(classes: tuple[Component, ...]) -> Reasons:
    reasons, listed = [], list(classes)
    single = sum(part.agents.size == 1 for part in classes)
    if single > NAMED:
        # One sentence for all of them; what is worth naming is the classes of several agents.
        reasons.append(_reason(ReasonCode.SINGLE_CLASSES, agents=single))
        listed = [part for part in classes if part.agents.size > 1]
    for part in listed[:NAMED]:
        values: dict[str, Value] = {"agents": int(part.agents.size), "period": part.period}
        if part.value is None:
            reasons.append(Reason(ReasonCode.CLASS_ROTATES, values))
        elif part.neutral:
            reasons.append(Reason(ReasonCode.CLASS_NEUTRAL, values))
        else:
            code = ReasonCode.CLASS_LIMIT if np.all(part.camp == 1) else ReasonCode.CLASS_CAMPS
            code = ReasonCode.CLASS_UNBOUNDED if math.isinf(part.std) else code
            camps = "" if np.all(part.camp == 1) else ", with the opposite sign in the second of two camps"
            values |= {
                "mean": part.value,
                "opposite": -part.value,
                "std": part.std,
                "camps": camps,
                "which": _which(part.std),
            }
            reasons.append(Reason(code, values))
    return reasons


def _of_law(long_run: LongRun) -> Reasons:
    """Return what the limit law of the agents says, where it is computed from limits of products of steps."""
    law, v = long_run.law, long_run.model.consensus_value
    span = {"low": float(law.mean.min()), "high": float(law.mean.max())}
    if long_run.outcome is Outcome.RANDOM_WALK:
        code = ReasonCode.FROZEN_DRIFT if Kind.DRIFTS in law.kinds else ReasonCode.RANDOM_WALK_UNBOUNDED
        return [_reason(code, mean=float(law.mean[0, 0]))]
    if long_run.outcome in (Outcome.CONSENSUS, Outcome.BIASED_CONSENSUS, Outcome.BIPARTITE):
        mean, std = float(law.mean[0, 0] * law.camp[0]), float(law.std[0])
        digit = shown_digit([mean, v], 1e-4 * max(abs(mean), abs(v), 1e-300))
        return [_limit_reason(long_run, {"mean": mean, "std": std, "v": v, "error": 0.0, "digit": digit})]
    if len(law.mean) > 1:
        reasons = [_reason(ReasonCode.PERIODIC_LAW, period=len(law.mean), **span)]
    else:
        reasons = [_reason(ReasonCode.LIMITS_SPAN, **span)]
    return [*reasons, *_moving(law)]


_MOVING: Mapping[Kind, ReasonCode] = {
    Kind.RANDOM_LIMIT: ReasonCode.RANDOM_LIMITS,
    Kind.FLUCTUATES: ReasonCode.MOVING_LIMITS,
    Kind.WALKS: ReasonCode.SOME_WALK,
    Kind.DRIFTS: ReasonCode.SOME_DRIFT,
}


def _moving(law: LimitLaw) -> Reasons:
    reasons = []
    for kind, code in _MOVING.items():
        which = law.kind == kind
        if np.any(which):
            values: dict[str, Value] = {"agents": int(np.count_nonzero(which)), "high": float(law.std[which].max())}
            reasons.append(Reason(code, values))
    return reasons


def _pressure(long_run: LongRun) -> Reasons:
    """Return what is known of the growth of the pressure."""
    basis = long_run.growth.basis
    # A sentence may begin with ρ, whose capital is another letter.
    basis = basis if basis.startswith(("ρ", "log ρ")) else basis[0].upper() + basis[1:]
    return [_reason(ReasonCode.PRESSURE_GROWTH, basis=basis, regime=long_run.regime.name.lower())]


def _reason(code: ReasonCode, **values: Value) -> Reason:
    return Reason(code, values)


def _network(long_run: LongRun) -> Reasons:
    temporal_network, structure = long_run.model.temporal_network, long_run.structure
    if temporal_network is None:
        return []
    period, law = temporal_network.period, structure.law
    if law is not None:
        return _random_network(law, long_run)
    if structure.networks is None:
        return [_reason(ReasonCode.PERIOD_TOO_LONG, period=period or 0)]
    if period is None:
        reasons = [_reason(ReasonCode.NETWORK_RECORDED, t=temporal_network.last_change)]
    else:
        reasons = [_reason(ReasonCode.NETWORK_REPEATS, period=period)]
    if structure.all_isolated and len(structure.components) > 1:
        reasons.append(Reason(ReasonCode.ALL_ISOLATED))
    elif len(structure.components) > 1:
        single = sum(component.agents.size == 1 for component in structure.components)
        reasons.append(_reason(ReasonCode.COMPONENTS, components=len(structure.components), single=single))
    silent = structure.networks.silent
    who = np.any(silent, axis=0)
    if np.any(who & ~np.all(silent, axis=0)):
        # Over the agents concerned only; over all agents a few isolated ones would round to 0 %.
        share = float(silent[:, who].mean())
        reasons.append(_isolated(long_run, int(np.count_nonzero(who)), share))
    return reasons


def _isolated(long_run: LongRun, agents: int, share: float) -> Reason:
    keeps = long_run.structure.keeps
    code = ReasonCode.INTERMITTENTLY_SILENT if keeps else ReasonCode.INTERMITTENTLY_ISOLATED
    return _reason(code, agents=agents, share=share)


def _random_network(law: NetworkLaw, long_run: LongRun) -> Reasons:
    reasons = [_reason(ReasonCode.RANDOM_NETWORK, process=law.generator.replace("_", " "))]
    if law.isolation and law.is_ergodic:
        reasons.append(_isolated(long_run, long_run.model.n, law.isolation))
    return reasons


def _beyond_record(long_run: LongRun, horizon: int | None) -> Reasons:
    """Say that steps beyond the record of a random process are not those of the process."""
    network = long_run.model.temporal_network
    if horizon is None or network is None or network.law is None:
        return []
    horizon = long_run.network_step(horizon)
    if horizon <= network.last_change:
        return []
    return [_reason(ReasonCode.BEYOND_RECORD, steps=horizon, t=network.last_change)]


def _adaptation(long_run: LongRun) -> Reasons:
    opinions = long_run.structure.opinions
    if opinions.constant or opinions.lasting is None:
        return []
    if opinions.fades:
        return [Reason(ReasonCode.DETACHED if opinions.detached else ReasonCode.ADAPTATION_FADES)]
    anchors = int(np.count_nonzero(~opinions.movable))
    if not anchors:
        return [Reason(ReasonCode.ADAPTATION_LASTS)]
    return [_reason(ReasonCode.ADAPTATION_ANCHORED, agents=anchors)]


def _condition(long_run: LongRun) -> str:
    return "∫ dt/ρ" if long_run.continuous else "Σ 1/ρ_t"


def _consensus(long_run: LongRun, limit: ConsensusLimit | None) -> Reasons:
    v = long_run.model.consensus_value
    reasons = [_reason(ReasonCode.START_FORGOTTEN, condition=_condition(long_run), v=v)]
    omega = long_run.omega
    if long_run.lazy:
        return [*reasons, Reason(ReasonCode.ACTIVATION_AVERAGES)]
    if not long_run.structure.constant_opinions or omega is None:
        return reasons
    if long_run.regime is Regime.MARGINAL:
        reasons.append(_reason(ReasonCode.MARGINAL_RATE, condition=_condition(long_run)))
    if long_run.regime is Regime.SLOW:
        reasons.append(Reason(ReasonCode.FOLLOWS_FIXED_POINT))
    if long_run.noise is NoiseEffect.NONE:
        return reasons
    if long_run.phi == 1:
        # One draw for all steps is not averaged over them.
        return [*reasons, Reason(ReasonCode.NOISE_FADES), Reason(_CONVERGENCE[converges_almost_surely(long_run.model)])]
    slowly = long_run.regime is Regime.SLOW
    # As for white noise; the factor of the memory is a reason of its own.
    sigma = omega.noise(long_run.deviations, 0.0)
    code = ReasonCode.NOISE_AVERAGES_SLOWLY if slowly else ReasonCode.NOISE_AVERAGES
    reasons.append(_reason(code, sigma=sigma, scale=_times_scale(long_run)))
    if 0 < abs(long_run.phi) < 1:
        factor = (omega.noise(long_run.deviations, long_run.phi) / sigma) ** 2
        reasons.append(_reason(ReasonCode.NOISE_MEMORY, factor=factor))
    return [*reasons, Reason(_CONVERGENCE[converges_almost_surely(long_run.model)])]


def _times_scale(long_run: LongRun) -> str:
    """Return what the deviation of one step is to be multiplied by, in words, where noise changes over time."""
    times = np.geomspace(1.0, LATE_TIME, 8)
    constant = not np.ptp(long_run.model.noise.time_scale.pressure(times))
    return "" if constant else " times the scale of the noise at t"


def _biased(long_run: LongRun, limit: ConsensusLimit | None) -> Reasons:
    structure = long_run.structure
    if not structure.constant_opinions:
        return [_limit(long_run, limit), *_moved_opinions(long_run)]
    if structure.components[0].sources is not None:
        return [_limit(long_run, limit), Reason(ReasonCode.ISOLATED_SOURCE)]
    if long_run.regime is Regime.FAST and long_run.lazy:
        return [*_start_remembered(long_run)[:1], _limit(long_run, limit)]
    if long_run.regime is Regime.FAST:
        return [*_start_remembered(long_run), _limit(long_run, limit)]
    if long_run.noise in (NoiseEffect.WANDERS, NoiseEffect.STAYS):
        return [_noise_in_the_limit(long_run, limit)]
    return [_limit(long_run, limit), Reason(ReasonCode.DEGREES_CHANGE)]


def _noise_in_the_limit(long_run: LongRun, limit: ConsensusLimit | None) -> Reason:
    mean, std = (math.nan, math.nan) if limit is None else (limit.mean, limit.std)
    values = {"mean": mean, "v": long_run.model.consensus_value}
    if long_run.noise is NoiseEffect.WANDERS:
        return Reason(ReasonCode.NOISE_WANDERS, values)
    if not long_run.noise_grows:
        return Reason(ReasonCode.FROZEN_NOISE, values | {"std": std})
    return Reason(ReasonCode.FROZEN_NOISE_GROWS, values)


def _start_remembered(long_run: LongRun) -> Reasons:
    reasons = [_reason(ReasonCode.START_REMEMBERED, condition=_condition(long_run))]
    if long_run.continuous and long_run.model.network.is_bipartite:
        reasons.append(Reason(ReasonCode.CONTINUOUS_DAMPING))
    elif long_run.model.is_plain and not long_run.continuous and not long_run.structure.components[0].periodic:
        directed = long_run.model.network.directed
        reasons.append(Reason(ReasonCode.APERIODIC_DIRECTED if directed else ReasonCode.APERIODIC))
    elif long_run.model.is_plain and long_run.outcome not in (Outcome.OSCILLATION, Outcome.UNKNOWN):
        reasons.append(Reason(ReasonCode.SIDES_AGREE))
    return reasons


def _limit(long_run: LongRun, limit: ConsensusLimit | None) -> Reason:
    v = long_run.model.consensus_value
    if limit is not None:
        digit = shown_digit([limit.mean, v], limit.residual)
        values = {"mean": limit.mean, "std": limit.std, "v": v, "error": limit.residual, "digit": digit}
        return _limit_reason(long_run, values)
    if long_run.lazy and long_run.noise is not NoiseEffect.WANDERS:
        return _reason(ReasonCode.LIMIT_DEPENDS_ON_UPDATES, v=v)
    # Frozen noise whose shares Σ σ_t/ρ_t diverge moves the value without bound, too.
    unbounded = long_run.regime is Regime.FAST and noise_adds_up(long_run.model) is False
    if long_run.noise is NoiseEffect.WANDERS or (long_run.noise is NoiseEffect.STAYS and unbounded):
        return _reason(ReasonCode.LIMIT_UNBOUNDED, v=v)
    # Another record of the same process would have another limit.
    if long_run.structure.law is not None:
        return _reason(ReasonCode.LIMIT_DEPENDS_ON_NETWORK, v=v)
    return _reason(ReasonCode.LIMIT_DEPENDS_ON_NOISE, v=v)


def chance_of(long_run: LongRun) -> tuple[str, ...]:
    """Return what random limits depend on."""
    model = long_run.model
    # Where starts are forgotten and hidden opinions constant, who updates and which edges are present average out.
    lasts = long_run.regime is Regime.FAST or model.adaptation is not None
    counts = {
        "noise": long_run.noise is not NoiseEffect.NONE,
        "updates": lasts and model.activation is not None and model.activation.is_random,
        "network": lasts and long_run.structure.law is not None,
    }
    return tuple(name for name, does in counts.items() if does)


def _which(std: float) -> str:
    """Return what the limit of a class or component depends on, in words, where it differs between runs."""
    return f"a value that depends on {CHANCES['noise']}: " if std else ""


def _limit_reason(long_run: LongRun, values: Mapping[str, Value]) -> Reason:
    """Return the common limit, and what it depends on where it differs between runs."""
    chance = chance_words(chance_of(long_run))
    if long_run.lazy and values["std"] != 0:
        return Reason(ReasonCode.RANDOM_LIMIT, {**values, "chance": chance})
    which = "" if values["std"] == 0 else f"a value that depends on {chance}: "
    return Reason(ReasonCode.LIMIT, {**values, "which": which})


def _moved_opinions(long_run: LongRun) -> Reasons:
    structure = long_run.structure
    lasting, anchored = structure.adapting is not None, structure.anchored
    if lasting and long_run.noise is NoiseEffect.STAYS and not anchored:
        return [Reason(ReasonCode.EARLY_NOISE_KEPT)]
    if long_run.regime.reaches_value and anchored:
        return [Reason(ReasonCode.ANCHORS_ATTRACT if lasting else ReasonCode.OPINIONS_MOVED)]
    if long_run.regime is Regime.FAST:
        return [_reason(ReasonCode.START_REMEMBERED, condition=_condition(long_run))]
    return []


def _oscillation(long_run: LongRun, limit: ConsensusLimit | None) -> Reasons:
    v, components = long_run.model.consensus_value, long_run.structure.components
    if long_run.regime is not Regime.FAST and long_run.structure.limit is NoiselessLimit.PERIODIC:
        return [Reason(ReasonCode.PARITY_OF_PRESSURE)]
    if long_run.regime is not Regime.FAST:
        return [_phases_driven(long_run)]
    periodic = sum(component.limit is NoiselessLimit.PERIODIC for component in components)
    bipartite = _reason(ReasonCode.BIPARTITE_COMPONENTS, periodic=periodic, components=len(components))
    reasons = _start_remembered(long_run)
    if limit is not None and limit.phases is not None:
        (first, second), (first_std, second_std) = limit.phases.mean.tolist(), limit.phases.std.tolist()
        values = {"first": first, "first_std": first_std, "second": second, "second_std": second_std, "v": v}
        values |= {"error": limit.residual, "digit": shown_digit([first, second], limit.residual)}
        if long_run.has_camps:
            opposite = {"opposite_first": -first, "opposite_second": -second}
            return [*reasons, Reason(ReasonCode.TWO_PHASES_OF_CAMPS, values | opposite)]
        return [*reasons, Reason(ReasonCode.TWO_PHASES, values)]
    if long_run.noise is NoiseEffect.NONE or not long_run.model.is_plain:
        return [*reasons, bipartite]
    return [*reasons, bipartite, _limit(long_run, None)]


def _phases_driven(long_run: LongRun) -> Reason:
    # Several components have no common value, and one that adapting opinions move has no closed form.
    (first, *others), constant = long_run.structure.components, long_run.structure.constant_opinions
    mean = first.value if constant and not others and first.value is not None else math.nan
    frozen = long_run.phi == 1
    return _reason(ReasonCode.CLASSES_DRIVEN_BY_NOISE if frozen else ReasonCode.PHASES_DRIVEN_BY_NOISE, mean=mean)


def _disagreement(long_run: LongRun, limit: ConsensusLimit | None) -> Reasons:
    structure, omega = long_run.structure, long_run.omega
    bounded = long_run.regime is Regime.BOUNDED
    # Under bounded pressure with a common mode, the mean states are still known, and only their scatter grows.
    if long_run.noise is NoiseEffect.SCATTERS and not (bounded and omega is not None):
        return [Reason(ReasonCode.NOISE_OUTGROWS_PRESSURE)]
    # Agents that nobody influences adapt to nothing but their own noise.
    drift = not structure.constant_opinions and bool(structure.opinions.random_walk)
    alone = [Reason(ReasonCode.ISOLATED_RANDOM_WALKS)] if drift else []
    if structure.all_isolated and structure.keeps:
        return [Reason(ReasonCode.KEPT_OPINIONS)]
    if structure.all_isolated:
        return alone or [_reason(ReasonCode.OWN_OPINIONS, noise=_own_noise(long_run))]
    if structure.opinions.detached:
        return alone or [Reason(ReasonCode.BOUNDED_PRESSURE)]
    if structure.limit is not NoiselessLimit.DISAGREEMENT:
        return [_shown_noise(long_run, limit)]
    means = long_run.law.mean
    # Known from the analysis, unless something of the law is not.
    states = means if np.all(np.isfinite(means)) else stationary_states(long_run)
    returns = structure.law is not None and structure.intermittent
    mean_states = Reason(ReasonCode.RETURN_TO_OPINIONS if returns else ReasonCode.BOUNDED_PRESSURE)
    if states is not None:
        code = ReasonCode.RANDOM_MEAN if returns else ReasonCode.STATIONARY_MEAN
        mean_states = _reason(code, low=float(states.min()), high=float(states.max()))
    static = omega is not None or long_run.model.is_constant
    noise = [_fluctuation(long_run)] if static and long_run.noise is not NoiseEffect.NONE else []
    still = [Reason(ReasonCode.NO_FLUCTUATION)] if static and not noise else []
    if long_run.follows_pressure and Kind.UNKNOWN in long_run.law.kinds:
        still = [Reason(ReasonCode.FOLLOWS_PRESSURE)]
    return [mean_states, *noise, *still]


def _own_noise(long_run: LongRun) -> str:
    """Return what an agent without neighbours shows besides its opinion, in words."""
    noise = long_run.model.noise
    lasts = not noise.is_zero and noise.time_scale.growth.limit != 0
    return " and its own noise" if lasts else ""


def _shown_noise(long_run: LongRun, limit: ConsensusLimit | None) -> Reason:
    if long_run.structure.constant_opinions:
        return Reason(ReasonCode.FLUCTUATION_UNKNOWN)
    mean, std = (math.nan, math.nan) if limit is None else (limit.mean, limit.std)
    # Under high pressure only agents without neighbours show their own noise.
    bounded = long_run.regime is Regime.BOUNDED
    who = "all agents keep" if bounded else "agents who are isolated at times keep"
    code = ReasonCode.OWN_NOISE if long_run.hidden_agrees else ReasonCode.OWN_NOISE_KEPT
    return _reason(code, mean=mean, std=std, who=who)


def _fluctuation(long_run: LongRun) -> Reason:
    noise = long_run.noise
    if noise is NoiseEffect.SCATTERS:
        return Reason(ReasonCode.FLUCTUATION_GROWS)
    if long_run.model.noise.time_scale.growth.limit == 0:
        return Reason(ReasonCode.FLUCTUATION_FADES)
    deviation = fluctuation(long_run)
    if deviation is None:
        return Reason(ReasonCode.FROZEN_SHIFT if noise is NoiseEffect.STAYS else ReasonCode.FLUCTUATION_UNKNOWN)
    frozen = noise is NoiseEffect.STAYS
    weights = "influence" if long_run.model.network.directed else "degree"
    if deviation.agents is None:
        code = ReasonCode.FROZEN_MODE_DEVIATION if frozen else ReasonCode.MODE_FLUCTUATION
        return _reason(code, std=deviation.mode, weights=weights)
    low, high = float(deviation.agents.min()), float(deviation.agents.max())
    code = ReasonCode.FROZEN_DEVIATION if frozen else ReasonCode.FLUCTUATION
    return _reason(code, std=deviation.mode, low=low, high=high, weights=weights)


def _clusters(long_run: LongRun, limit: ConsensusLimit | None) -> Reasons:
    structure, v = long_run.structure, long_run.model.consensus_value
    # Components are sorted by size, so the largest are named.
    known = [part for part in structure.components if part.value is not None][:NAMED]
    reasons = [_reason(ReasonCode.COMPONENT_LIMITS_DIFFER, v=v)]
    reasons += [_component(long_run, part) for part in known]
    if len(known) < len(structure.components):
        reasons.append(_reason(ReasonCode.COMPONENTS_NOT_NAMED, components=len(structure.components) - len(known)))
    alone = structure.components[-1].agents.size == 1 and not structure.keeps
    noisy = long_run.noise is not NoiseEffect.NONE and alone
    if structure.adapting is not None and noisy:
        reasons.append(Reason(ReasonCode.ISOLATED_RANDOM_WALKS))
    elif long_run.noise is NoiseEffect.WANDERS and structure.opinions.random_walk:
        reasons.append(Reason(ReasonCode.COMPONENTS_WANDER))
    return reasons


def _component(long_run: LongRun, part: Component) -> Reason:
    mean, std = math.nan if part.value is None else part.value, _component_deviation(long_run, part)
    if std is None:
        return _reason(ReasonCode.COMPONENT_MEAN, agents=part.agents.size, mean=mean)
    return _reason(ReasonCode.COMPONENT_LIMIT, agents=part.agents.size, mean=mean, std=std, which=_which(std))


def _component_deviation(long_run: LongRun, part: Component) -> float | None:
    """Return the deviation of the limit of a component over the noise; None where it has none, or it is not known."""
    structure, noise, scale = long_run.structure, long_run.noise, long_run.model.noise.time_scale.growth.limit
    alone = part.agents.size == 1
    if noise is NoiseEffect.NONE:
        return 0.0
    if not (structure.constant_opinions and long_run.regime.reaches_value) or (alone and structure.keeps):
        return None
    if noise is NoiseEffect.VANISHES:
        # An agent without neighbours has nobody to average its noise with.
        return None if alone and scale != 0 else 0.0
    if noise is not NoiseEffect.STAYS or scale is None or math.isinf(scale) or not (alone or part.omega):
        return None
    w = np.ones(1) if part.omega is None else part.omega.influence[part.agents]
    return float(np.linalg.norm(w * long_run.deviations[part.agents]) / w.sum()) * scale


def _periodic(long_run: LongRun, limit: ConsensusLimit | None) -> Reasons:
    structure, regime = long_run.structure, long_run.regime
    sources, law = structure.components[0].sources, long_run.law
    if regime is Regime.BOUNDED:
        span = {"low": float(law.mean.min()), "high": float(law.mean.max())}
        return [_reason(ReasonCode.PERIODIC_LAW, period=len(law.mean), **span)]
    if structure.limit is not NoiselessLimit.PERIODIC:
        return [_phases_driven(long_run)]
    reasons = [Reason(ReasonCode.SEVERAL_CLOSED_CLASSES)]
    if long_run.model.network.directed:
        # Of a static network, whose one class has groups that never mix.
        rotating = _reason(ReasonCode.ROTATING_PHASES, period=period_of(long_run.model))
        return [*_start_remembered(long_run)[:1], rotating] if regime is Regime.FAST else [rotating]
    if sources is not None:
        reasons = [_reason(ReasonCode.ISOLATED_SOURCES, agents=int(sources.size))]
    decided = regime.reaches_value or sources is not None
    if structure.networks is None or not structure.constant_opinions or not decided:
        return reasons
    states = periodic_limit(long_run.model, structure.networks)
    if states is not None:
        reasons.append(_reason(ReasonCode.CYCLE_RANGE, low=float(states.min()), high=float(states.max())))
    return reasons


def _random_walk(long_run: LongRun, limit: ConsensusLimit | None) -> Reasons:
    mean = math.nan if limit is None else limit.mean
    if long_run.phi == 1:
        return [_reason(ReasonCode.FROZEN_DRIFT, mean=mean)]
    rate = _variance_per_step(long_run)
    if rate is None:
        return [_reason(ReasonCode.RANDOM_WALK_UNBOUNDED, mean=mean)]
    return [_reason(ReasonCode.RANDOM_WALK, mean=mean, rate=rate)]


def _variance_per_step(long_run: LongRun) -> float | None:
    """Return by how much the variance of the common value grows in a step where pressure and rate have limits."""
    model, omega = long_run.model, long_run.omega
    adaptation = model.adaptation
    if adaptation is None or omega is None:
        return None
    # Otherwise the variance does not grow by a constant amount per step.
    scale = model.noise.time_scale.growth.limit
    if not model.pressure.growth.exponent == adaptation.rate.growth.exponent == 0 or not scale:
        return None
    # The common value moves by Σ w ε/ρ, over the weights 1 + Σ w/(ρη) of the conserved sum.
    rho, eta = float(model.pressure(LATE_TIME)), adaptation.at(LATE_TIME, model.n)
    step = omega.noise(long_run.deviations, long_run.phi) * omega.kappa / (rho + float(np.sum(omega.influence / eta)))
    return (step * late_scale(long_run)) ** 2 if math.isfinite(step) else None


def _cause(long_run: LongRun) -> Reason | None:
    """Return why the long run of a combination that needs limits of products is not known; None for other models."""
    model = long_run.model
    if long_run.regime is Regime.UNKNOWN:
        return None
    too_many = None if has_single_closed_class(model) else too_many_classes(model.network)
    if too_many is not None:
        return too_many
    needed = long_run.lazy or (long_run.continuous and not model.is_constant) or not has_single_closed_class(model)
    if not needed:
        return None
    code = obstacle(long_run) or ReasonCode.UNRESOLVED_MODES
    if long_run.lazy and code in (ReasonCode.NOISE_WITHOUT_LIMIT, ReasonCode.UNRESOLVED_MODES):
        return Reason(ReasonCode.ACTIVATION_NOT_COVERED)
    without_limit = code in (ReasonCode.NOISE_WITHOUT_LIMIT, ReasonCode.PRESSURE_WITHOUT_LIMIT)
    if without_limit and not has_single_closed_class(model):
        return _reason(ReasonCode.NETWORK_NOT_COVERED, classes=len(model.network.closed_classes))
    return Reason(code)


def _unknown(long_run: LongRun, horizon: int | None, weight: float | None) -> Reasons:
    code, opinions = ReasonCode.UNKNOWN_GROWTH, long_run.structure.opinions
    cause = _cause(long_run)
    if cause is not None:
        return [cause]
    if long_run.regime is not Regime.UNKNOWN and opinions.lasting is not None and long_run.structure.law is not None:
        code = obstacle(long_run) or ReasonCode.UNKNOWN_LAW
    elif long_run.regime is not Regime.UNKNOWN and opinions.lasting is None:
        code = ReasonCode.UNKNOWN_ADAPTATION
    elif long_run.regime is not Regime.UNKNOWN and long_run.noise is NoiseEffect.UNKNOWN:
        code = ReasonCode.UNKNOWN_NOISE
    elif long_run.regime is not Regime.UNKNOWN and long_run.structure.networks is not None:
        code = _undecided(long_run)
    system, pressure = long_run.system, long_run.model.pressure
    if horizon is None and isinstance(pressure, Table) and long_run.model.is_plain and not long_run.continuous:
        horizon = pressure.values.size
    if horizon is None:
        return [Reason(code), Reason(ReasonCode.NO_HORIZON)]
    weight = start_weight(system, horizon) if weight is None else weight
    times = np.array([1, horizon])
    rho = pressure(pressure.reading_times(times * system.step))
    first, last = (float(value) for value in rho)
    seen = _reason(ReasonCode.FINITE_HORIZON, steps=horizon, first=first, last=last, weight=weight)
    return [Reason(code), seen]


def _undecided(long_run: LongRun) -> ReasonCode:
    """Return why the outcome is open although pressure, noise and adaptation are known."""
    networks, parts = long_run.structure.networks, long_run.structure.components
    if not any(part.limit is NoiselessLimit.UNKNOWN for part in parts):
        return ReasonCode.UNKNOWN_NOISE
    if long_run.growth.is_regular:
        return ReasonCode.UNKNOWN_ANCHORS
    static = networks is not None and networks.count == 1
    return ReasonCode.UNKNOWN_PHASES if static else ReasonCode.UNKNOWN_REPETITION


_CONVERGENCE: Mapping[bool | None, ReasonCode] = {
    True: ReasonCode.ALMOST_SURELY,
    False: ReasonCode.MEAN_SQUARE_ONLY,
    None: ReasonCode.MEAN_SQUARE,
}
_OUTCOMES: Mapping[Outcome, Callable[[LongRun, ConsensusLimit | None], Reasons]] = {
    Outcome.CONSENSUS: _consensus,
    Outcome.BIASED_CONSENSUS: _biased,
    Outcome.OSCILLATION: _oscillation,
    Outcome.DISAGREEMENT: _disagreement,
    Outcome.CLUSTERS: _clusters,
    Outcome.PERIODIC: _periodic,
    Outcome.RANDOM_WALK: _random_walk,
}
