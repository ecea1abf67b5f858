"""The consensus limit and its departure from v: the sizes that decide the outcome.

Where Σ 1/ρ_t converges, the classification cannot tell whether the limit is v or whether two sides differ: that takes
numbers. Values below the numerical resolution are treated as 0.

The difference δ between the two sides of a bipartite network changes its sign in every step and loses the share κ/ρ_t
at least. Where Σ 1/ρ_t converges only just, as for t^1.01, what is left of it in the end is too small to be seen.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import InvalidInputError, message
from peerpressure.model import Model, require_synchronous
from peerpressure.model.adaptation import Adaptation
from peerpressure.model.statespace import System, checked_system
from peerpressure.model.step import Array
from peerpressure.support.immutable import read_only
from peerpressure.support.parameters import Parameter
from peerpressure.theory._classification import LongRun, Outcome, classify
from peerpressure.theory._limit_law import Kind, LimitLaw, common_law, separate_law
from peerpressure.theory._limits import ConsensusLimit, Phases, component_limit, limit_of, noise_blocks_limit
from peerpressure.theory._recurrence import AbsoluteProbability
from peerpressure.theory._regime import NoiseEffect, Regime, farthest
from peerpressure.theory._structure import EQUAL_RTOL, Component, NoiselessLimit
from peerpressure.theory.propagation import adjoint_moments

if TYPE_CHECKING:
    import pandas as pd

# Steps that are followed exactly, and products that they may take in all.
FOLLOWED = 2_048
MOST_WORK = 1e9
# Periodic components that are looked at, each of which takes a limit of its own.
MOST_COMPONENTS = 16
# Nodes of the quadrature over log t.
NODES = 20_001
# Rounding errors of a limit, as a share of the largest opinion.
ROUNDING = 1e-13
# Multiple of the resolution, itself an estimate, from which a size is taken as it is.
DECISIVE_RATIO = 10.0
# A limit this close to v, as a share of the range of opinions, is called v even if a smaller difference is unresolved.
NEGLIGIBLE_BIAS = 1e-6


@final
@dataclass(frozen=True)
class Departure:
    """How far the limit is from consensus on v.

    Attributes
    ----------
    bias : float
        |E limit − v|, for the average of the two phases where the limit is periodic.
    std : float
        Standard deviation of the limit over the noise, ∞ where it is unbounded and nan where it is not computed.
    swing : float
        Root mean square of the difference between the two phases of a periodic limit, 0 for others.
    resolution : float
        Error of the computation; what is smaller cannot be told from 0.

    See Also
    --------
    Verdict : Has it where all agents agree in the limit, or exchange two values.

    Examples
    --------
    >>> from peerpressure import Model, Power, diagnose
    >>> from peerpressure.networks import k2
    >>> far = diagnose(Model(k2(), hidden=[0.0, 1.0], pressure=Power(2))).departure
    >>> far.bias, round(far.swing, 4)
    (0.0, 0.0889)
    """

    bias: float
    std: float
    swing: float
    resolution: float


def resolve_departure(long_run: LongRun, tolerance: float) -> tuple[LongRun, ConsensusLimit | None, Departure | None]:
    """Compute the limit, and let the sizes of its departure decide the outcome where they do.

    ``tolerance`` is that of the limit, as a share of the range of opinions; it is lowered where a size is unclear.
    """
    long_run = without_negligible_swings(long_run, _scale(long_run))
    limit = limit_of(long_run, tolerance=tolerance)
    if limit is None:
        return long_run, None, None
    measured = departure(long_run, limit)
    if long_run.outcome not in (Outcome.BIASED_CONSENSUS, Outcome.OSCILLATION) or not math.isfinite(limit.std):
        return long_run, limit, measured
    threshold = EQUAL_RTOL * _scale(long_run)
    unclear = not _is_clear(long_run, measured) and measured.resolution > threshold
    # What has not come within the first tolerance has been followed as far as can be afforded.
    if unclear and not long_run.lazy and measured.resolution <= tolerance * _scale(long_run) + 20 * _rounding(long_run):
        limit = limit_of(long_run, tolerance=EQUAL_RTOL) or limit
        measured = departure(long_run, limit)
    outcome = _outcome(long_run, measured, threshold)
    if outcome is not Outcome.OSCILLATION:
        # Phases that do not differ are one value.
        limit = replace(limit, phases=None)
    return replace(long_run, known=_decided_law(long_run, outcome, limit)), limit, measured


def _decided_law(long_run: LongRun, outcome: Outcome, limit: ConsensusLimit) -> LimitLaw:
    """Return the law that the sizes of the departure from v amount to."""
    n, model = long_run.model.n, long_run.model
    if outcome is Outcome.UNKNOWN:
        return LimitLaw.unknown(n)
    if outcome is Outcome.OSCILLATION:
        return separate_law(Kind.PERIODIC, n) if limit.phases is None else _phases_law(limit.phases)
    if outcome is Outcome.CONSENSUS:
        return common_law(n, Kind.CONVERGES, model.consensus_value, 0.0)
    kind = long_run.law.kind[0] if Kind.FLUCTUATES in long_run.law.kinds else Kind.RANDOM_LIMIT
    return common_law(n, kind if limit.std > 0 else Kind.CONVERGES, limit.mean, limit.std)


def _phases_law(phases: Phases) -> LimitLaw:
    """Return the law of two sides that exchange two values."""
    law = separate_law(Kind.PERIODIC, phases.side.size)
    # Camps are put in with those of all agents.
    bare = replace(phases, camp=None)
    (even, std), (odd, other) = bare.at(0), bare.at(1)
    return replace(law, mean=np.stack([even, odd]), std=np.sqrt((std**2 + other**2) / 2))


def departure(long_run: LongRun, limit: ConsensusLimit) -> Departure:
    """Return the sizes of a limit's departure from v."""
    model, swing = long_run.model, _between_phases(limit)
    if _is_driven(long_run):
        # The difference of the sides is half the swing. It obeys the recursion of the common value with alternating
        # signs, for which noise of autocorrelation φ is noise of autocorrelation −φ.
        swing = 2 * limit.std * (1 - long_run.phi) / (1 + long_run.phi)
    return Departure(
        bias=abs(limit.mean - model.consensus_value),
        std=limit.std,
        swing=swing,
        resolution=limit.residual + _rounding(long_run),
    )


def _rounding(long_run: LongRun) -> float:
    """Return what rounding leaves of opinions."""
    return ROUNDING * float(np.abs(np.concatenate([long_run.model.x0, long_run.model.start_state])).max())


def _is_driven(long_run: LongRun) -> bool:
    """Whether only noise keeps the two sides of a bipartite network apart."""
    agree = long_run.structure.limit is NoiselessLimit.CONSENSUS
    return agree and long_run.outcome is Outcome.OSCILLATION and long_run.noise is NoiseEffect.WANDERS


def _scale(long_run: LongRun) -> float:
    model = long_run.model
    # Opinions may all be equal, in which case noise sets the scale.
    return float(np.ptp(np.concatenate([model.x0, model.start_state]))) + float(long_run.deviations.max())


def _is_clear(long_run: LongRun, measured: Departure) -> bool:
    """Whether the sizes that decide exceed what is resolved by far: the swing, or else bias and deviation."""
    size = measured.swing if long_run.outcome is Outcome.OSCILLATION else max(measured.bias, measured.std)
    return size > DECISIVE_RATIO * measured.resolution


def _outcome(long_run: LongRun, measured: Departure, threshold: float) -> Outcome:
    negligible = max(measured.resolution, threshold)
    swings = long_run.outcome is Outcome.OSCILLATION
    if swings and measured.swing > negligible:
        return Outcome.OSCILLATION
    moved = max(measured.bias, measured.std) > negligible
    if (swings or not moved) and negligible > NEGLIGIBLE_BIAS * _scale(long_run):
        return Outcome.UNKNOWN
    return Outcome.BIASED_CONSENSUS if moved else Outcome.CONSENSUS


def without_negligible_swings(long_run: LongRun, scale: float) -> LongRun:
    """Return the classification with agreement in bipartite components whose sides differ by next to nothing.

    One component of constant opinions is left to the phases of its limit, and what is not computed is left as it is.
    """
    structure, networks = long_run.structure, long_run.structure.networks
    periodic = [part for part in structure.components if part.limit is NoiselessLimit.PERIODIC]
    applicable = (
        long_run.outcome is Outcome.OSCILLATION and long_run.regime is Regime.FAST and len(periodic) <= MOST_COMPONENTS
    )
    if not (periodic and applicable) or long_run.continuous or networks is None or networks.count > 1:
        return long_run
    parts = (_without_swing(long_run, part, scale) if part in periodic else part for part in structure.components)
    return replace(long_run, structure=replace(structure, components=tuple(parts)))


def _without_swing(long_run: LongRun, part: Component, scale: float) -> Component:
    structure, networks = long_run.structure, long_run.structure.networks
    assert networks is not None
    swing, value = math.inf, None
    if not structure.constant_opinions:
        affordable = networks.begin <= FOLLOWED and FOLLOWED * networks.union.nnz <= MOST_WORK
        if affordable and part.omega is not None and part.two_sided:
            swing = _swing_left(long_run.model, part.omega, networks.sides)
    elif len(structure.components) > 1 and not noise_blocks_limit(long_run):
        limit = component_limit(long_run, part, tolerance=EQUAL_RTOL)
        swing, value = _between_phases(limit) + limit.residual, limit.mean
    # Bounds and errors of computation keep a swing above zero that is none.
    if not swing <= NEGLIGIBLE_BIAS * scale:
        return part
    return replace(part, limit=NoiselessLimit.CONSENSUS, periodic=False, value=value)


def _between_phases(limit: ConsensusLimit) -> float:
    """Return the root mean square of the difference between two phases."""
    if limit.phases is None:
        return 0.0
    contrast = np.array([1.0, -1.0])
    # Rounding may leave a negative variance.
    return math.hypot(contrast @ limit.phases.mean, math.sqrt(max(0.0, contrast @ limit.phases.covariance @ contrast)))


def _swing_left(model: Model, omega: AbsoluteProbability, sides: NDArray[np.bool_]) -> float:
    """Return a bound on the root mean square of 2δ as t → ∞."""
    signed = np.where(sides, -1.0, 1.0) * omega.probability[0]
    weights = np.concatenate([signed, np.zeros(model.n)])[None]
    followed = adjoint_moments(model, weights, np.array([FOLLOWED]))
    now = math.hypot(float(followed.mean[0, 0]), math.sqrt(max(0.0, float(followed.covariance[0, 0]))))
    share, noise = _tail(model, omega)
    # Differences between constant opinions enter with alternating signs, of which the first term is a bound.
    first = omega.kappa * float(model.pressure.reciprocal(np.array([float(FOLLOWED)]))[0])
    steady = first * float(np.ptp(np.concatenate([model.x0, model.start_state])))
    return 2 * (share * (now + steady) + noise)


def _tail(model: Model, omega: AbsoluteProbability) -> tuple[float, float]:
    """Return the share of δ that later steps leave, and the deviation that their noise adds."""
    log_t = np.linspace(math.log(FOLLOWED + 0.5), farthest(model), NODES)
    times = np.exp(log_t)
    with np.errstate(all="ignore"):
        pull = omega.kappa * model.pressure.reciprocal(times)
        passed = _integral(np.log1p(pull) * times, log_t)
        kept = np.exp(passed - passed[-1])
        weights = pull * kept * _noise_scale(model, times)
        added = math.sqrt(_integral(weights**2 * times, log_t)[-1])
    phi = abs(model.noise.autocorrelation)
    if phi == 1:
        # Frozen noise enters with alternating signs: a sum of terms that rise and fall is at most twice the largest.
        phi, added = 0.0, 2 * float(weights.max())
    # AR(1) noise counts at most as if its sign alternated too.
    sigma = 0.0 if model.noise.is_zero else omega.noise(model.noise.deviations(model.n), phi)
    return float(kept[0]), sigma * added


def _noise_scale(model: Model, times: Array) -> Array:
    return np.zeros_like(times) if model.noise.is_zero else np.asarray(model.noise.time_scale.pressure(times))


def _integral(values: Array, x: Array) -> Array:
    # Imported here: it takes longer to load than most models to diagnose, which do not need it.
    from scipy.integrate import cumulative_simpson

    return np.asarray(cumulative_simpson(values, x=x, initial=0.0))


def consensus_limit(model: System, *, tolerance: float = 1e-6) -> ConsensusLimit:
    """Return the value that all public opinions converge to, be it v or not.

    Where Σ 1/ρ_t converges, the start and early noise are never forgotten, and the limit is that of the consensus mode
    Σ d y/Σ d; on a bipartite network the two sides then exchange two values forever. Where hidden opinions adapt
    forever, the limit is that of the conserved quantity m + Σ w x/(ρη), over its weights.

    Parameters
    ----------
    model : Model or SDE
        A model whose agents agree, or exchange two values; see ``diagnose``.
    tolerance : float, default 1e-6
        The horizon doubles until the limit changes by less than this share of the range of opinions, or until some
        seconds' work is spent; see ``residual``.

    Returns
    -------
    ConsensusLimit
        Mean and standard deviation over the noise, per phase where the limit is periodic.

    Raises
    ------
    InvalidInputError
        If the agents do not agree, if that is not known, or if noise adds up without bound where starts count.

    See Also
    --------
    diagnose : Whether, and how fast, the agents agree.
    fixed_point : The mean public opinions under bounded pressure.

    References
    ----------
    .. [1] M. H. DeGroot, "Reaching a consensus", J. Am. Stat. Assoc. 69 (1974).
    .. [2] B. Touri, A. Nedić, "On ergodicity, infinite flow, and consensus in random models", IEEE Trans. Autom.
       Control 56 (2011).

    Examples
    --------
    >>> from peerpressure import Model, Power
    >>> from peerpressure.networks import complete, k2
    >>> from peerpressure.theory import consensus_limit
    >>> adapting = Model(k2(), hidden=[0, 1], stubbornness=[1, 3], pressure=2, adaptation=0.1)
    >>> print(consensus_limit(adapting))
    0.7273
    >>> fast = Model(complete(3), hidden=[0, 1, 5], stubbornness=[1, 2, 4], pressure=Power(2))
    >>> print(consensus_limit(fast), fast.consensus_value)
    2.752 3.142857142857143
    """
    Parameter("tolerance", "real", "tolerance", above=0, below=1, remedy="for instance 1e-6").check(tolerance)
    require_synchronous(checked_system(model).model, "this", "diagnose has limit and rates of other models")
    long_run = classify(model)
    long_run = without_negligible_swings(long_run, _scale(long_run))
    limit = limit_of(long_run, tolerance=tolerance)
    if limit is None:
        raise _no_limit(long_run)
    return limit


def _no_limit(long_run: LongRun) -> InvalidInputError:
    remedy = "use moments(model, steps) for a finite run"
    if long_run.outcome is Outcome.UNKNOWN:
        if long_run.continuous and not long_run.model.is_plain:
            rule = "in continuous time a consensus limit is known for one network and constant hidden opinions"
            return InvalidInputError(message(rule, got=repr(long_run.model)[:120], remedy=remedy))
        rule = "a consensus limit needs schedules of known growth"
        got = f"{long_run.model.pressure} ({long_run.growth.basis}); the outcome is not known"
        remedy = f"give schedules in closed form, such as Power(1.5), or {remedy}"
        return InvalidInputError(message(rule, got=got, remedy=remedy))
    if noise_blocks_limit(long_run):
        rule = "where Σ 1/ρ_t converges, a limit needs noise with finite Σ σ_t²/ρ_t² (Σ σ_t/ρ_t if frozen)"
        return InvalidInputError(message(rule, got=str(long_run.model.noise), remedy=remedy))
    if long_run.structure.law is not None and long_run.structure.limit is NoiselessLimit.CONSENSUS:
        rule = "on a random network the limit depends on which edges are present, and is not computed"
        return InvalidInputError(message(rule, got=repr(long_run.model.temporal_network), remedy=remedy))
    rule = "only agents who agree have a consensus limit"
    got = f"{long_run.outcome.value} ({long_run.structure.limit.value})"
    return InvalidInputError(message(rule, got=got, remedy=f"see diagnose(model), or {remedy}"))


@final
@read_only
@dataclass(frozen=True, eq=False)
class ConsensusLimitCurve:
    """Consensus limits over the rate η at which hidden opinions adapt.

    Attributes
    ----------
    rates : array of shape (rates,)
        The rates η, from 0 to 1.
    mean, std, residual : array of shape (rates,)
        Mean, standard deviation and error of the limit at each rate, as in ``ConsensusLimit``.
    consensus_value : float
        The consensus value v of constant opinions.

    See Also
    --------
    consensus_limit_curve : Computes it.

    Examples
    --------
    >>> from peerpressure import Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.theory import consensus_limit_curve
    >>> curve = consensus_limit_curve(Model(k2(), hidden=[0.0, 1.0], stubbornness=[1.0, 3.0]), [0.0, 0.1])
    >>> curve.mean.round(3), curve.consensus_value
    (array([0.75, 0.72]), 0.75)
    """

    rates: Array
    mean: Array
    std: Array
    residual: Array
    consensus_value: float

    def to_dataframe(self) -> pd.DataFrame:
        """Return one row for each rate.

        Returns
        -------
        pandas.DataFrame
            Columns ``rate``, ``mean``, ``std`` and ``residual``.
        """
        import pandas as pd

        columns = {"rate": self.rates, "mean": self.mean, "std": self.std, "residual": self.residual}
        return pd.DataFrame(columns)


def consensus_limit_curve(model: Model, rates: Iterable[float], *, tolerance: float = 1e-4) -> ConsensusLimitCurve:
    """Return the consensus limit at each of several constant rates η of adaptation.

    Parameters
    ----------
    model : Model
        The model; the adaptation weights of its agents are kept. At η = 0 the limit is v where Σ 1/ρ_t diverges.
    rates : iterable of float
        The rates, each from 0 to 1.
    tolerance : float, default 1e-4
        Largest error of a limit, as in ``consensus_limit``.

    Returns
    -------
    ConsensusLimitCurve
        One limit for each rate.

    Raises
    ------
    AdaptationError
        If a rate is not a number from 0 to 1.

    See Also
    --------
    consensus_limit : The limit of one model.

    Examples
    --------
    >>> from peerpressure import Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.theory import consensus_limit_curve
    >>> model = Model(k2(), hidden=[0.0, 1.0], stubbornness=[1.0, 3.0])
    >>> consensus_limit_curve(model, [0.0, 0.01, 0.1, 1.0]).mean.round(3)
    array([0.75 , 0.744, 0.72 , 0.657])
    """
    chosen = np.array(list(rates), dtype=np.float64)
    weight = 1.0 if model.adaptation is None else model.adaptation.adaptation_weight
    limits = [
        consensus_limit(replace(model, adaptation=Adaptation(float(rate), weight)), tolerance=tolerance)
        for rate in chosen
    ]
    mean, std, residual = (np.array([getattr(one, name) for one in limits]) for name in ("mean", "std", "residual"))
    return ConsensusLimitCurve(chosen, mean, std, residual, model.consensus_value)
