"""The consensus limit, and how far it is from v: the sizes that decide the outcome.

Where Σ 1/ρ_t converges, the classification cannot tell whether the limit is v or whether two sides differ: that takes
numbers. Values below the numerical resolution are treated as 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

import numpy as np

from peerpressure.errors import InvalidInputError, message
from peerpressure.model import Model, require_synchronous
from peerpressure.model.adaptation import Adaptation
from peerpressure.model.statespace import System, checked_system
from peerpressure.model.step import Array
from peerpressure.support.parameters import Parameter
from peerpressure.support.results import read_only
from peerpressure.theory._classification import LongRun, Outcome, classify
from peerpressure.theory._limit_law import LimitKind, LimitLaw, common_law, separate_law
from peerpressure.theory._limits import ConsensusLimit, Phases, limit_of, noise_blocks_limit
from peerpressure.theory._regime import NoiseEffect
from peerpressure.theory._structure import EQUAL_RTOL, NoiselessLimit

if TYPE_CHECKING:
    import pandas as pd

# Rounding errors of a limit, as a share of the largest opinion.
ROUNDING = 1e-13
# Multiple of the resolution, itself an estimate, from which a size is taken as it is.
DECISIVE_RATIO = 10.0
# A limit this close to v, as a share of the range of opinions, is called v even if a smaller difference is unresolved.
NEGLIGIBLE_BIAS = 1e-6


@final
@dataclass(frozen=True)
class Distance:
    """How far the limit is from consensus on v: |E limit − v|, its deviation, and the difference of its two phases.

    ``resolution`` is the error of the computation; what is smaller cannot be told from 0.
    """

    bias: float
    std: float
    swing: float
    resolution: float


def decide(long_run: LongRun, tolerance: float) -> tuple[LongRun, ConsensusLimit | None, Distance | None]:
    """Compute the limit, and let the sizes of its distance from v decide the outcome where they do.

    ``tolerance`` is that of the limit, as a share of the range of opinions; it is lowered where a size is unclear.
    """
    limit, phases = limit_of(long_run, tolerance=tolerance)
    if limit is None:
        return long_run, None, None
    measured = _distance(long_run, limit, phases)
    if long_run.outcome not in (Outcome.BIASED_CONSENSUS, Outcome.OSCILLATION) or not math.isfinite(limit.std):
        return long_run, limit, measured
    threshold = EQUAL_RTOL * _scale(long_run)
    unclear = not _is_clear(long_run, measured) and measured.resolution > threshold
    # What has not come within the first tolerance has been followed as far as can be afforded.
    if unclear and not long_run.lazy and measured.resolution <= tolerance * _scale(long_run) + 20 * _rounding(long_run):
        again, phases = limit_of(long_run, tolerance=EQUAL_RTOL)
        limit = again or limit
        measured = _distance(long_run, limit, phases)
    known = _decided_law(long_run, _outcome(long_run, measured, threshold), limit, phases)
    return replace(long_run, computed_law=known), limit, measured


def _decided_law(long_run: LongRun, outcome: Outcome, limit: ConsensusLimit, phases: Phases | None) -> LimitLaw:
    """Return the law that the sizes of the distance from v amount to."""
    n, model = long_run.model.n, long_run.model
    if outcome is Outcome.UNKNOWN:
        return LimitLaw.unknown(n)
    if outcome is Outcome.OSCILLATION:
        # Phases that do not differ are one value.
        return separate_law(LimitKind.PERIODIC, n) if phases is None else phases.law
    if outcome is Outcome.CONSENSUS:
        return common_law(n, LimitKind.CONVERGES, model.consensus_value, 0.0)
    kind = long_run.law.kind[0] if LimitKind.FLUCTUATES in long_run.law.kinds else LimitKind.RANDOM_LIMIT
    return common_law(n, kind if limit.std > 0 else LimitKind.CONVERGES, limit.mean, limit.std)


def _distance(long_run: LongRun, limit: ConsensusLimit, phases: Phases | None) -> Distance:
    swing = 0.0 if phases is None else phases.swing
    if _is_driven(long_run):
        # The difference of the sides is half the swing. It obeys the recursion of the common value with alternating
        # signs, for which noise of autocorrelation φ is noise of autocorrelation −φ.
        swing = 2 * limit.std * (1 - long_run.phi) / (1 + long_run.phi)
    bias = abs(limit.mean - long_run.model.consensus_value)
    return Distance(bias, limit.std, swing, limit.residual + _rounding(long_run))


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


def _is_clear(long_run: LongRun, measured: Distance) -> bool:
    """Whether the sizes that decide exceed what is resolved by far: the swing, or else bias and deviation."""
    size = measured.swing if long_run.outcome is Outcome.OSCILLATION else max(measured.bias, measured.std)
    return size > DECISIVE_RATIO * measured.resolution


def _outcome(long_run: LongRun, measured: Distance, threshold: float) -> Outcome:
    negligible = max(measured.resolution, threshold)
    swings = long_run.outcome is Outcome.OSCILLATION
    if swings and measured.swing > negligible:
        return Outcome.OSCILLATION
    moved = max(measured.bias, measured.std) > negligible
    if (swings or not moved) and negligible > NEGLIGIBLE_BIAS * _scale(long_run):
        return Outcome.UNKNOWN
    return Outcome.BIASED_CONSENSUS if moved else Outcome.CONSENSUS


def consensus_limit(model: System, *, tolerance: float = 1e-6) -> ConsensusLimit:
    """Return the value that all public opinions converge to, v or another one.

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
        Mean and standard deviation over the noise; those of the average of the two values that sides exchange.

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
    limit, _ = limit_of(long_run, tolerance=tolerance)
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
