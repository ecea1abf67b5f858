"""The consensus limit: the value, or the phases of a periodic limit, that public opinions converge to.

Opinions that never move give it in closed form. Elsewhere a conserved quantity is followed: a weighted sum of public
and hidden opinions that later steps leave as it is, up to terms that are summed in closed form or by quadrature. Its
law is exact up to a horizon, and extrapolated over horizons that double.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

import numpy as np
from numpy.typing import NDArray

from peerpressure.adaptation import Adaptation
from peerpressure.errors import InvalidInputError, message
from peerpressure.model import Model, Vector
from peerpressure.noise import NoNoise
from peerpressure.sde import SDE
from peerpressure.sde._moments import moments_of
from peerpressure.theory._classification import LongRun, Outcome, classify
from peerpressure.theory._conserved import Conserved, conserved_at, late_scale
from peerpressure.theory._moments import adjoint_moments
from peerpressure.theory._regime import NoiseEffect, Regime
from peerpressure.theory._structure import Component, NoiselessLimit

if TYPE_CHECKING:
    import pandas as pd

# Multiplications that a consensus limit is worth, some seconds; what a step costs in any case, and a unit of
# continuous time, which takes a few dozen evaluations.
MOST_WORK = 1e9
PER_STEP = 3e4
PER_TIME = 5e4
# Changes below this share of the opinions are rounding errors, and doubling the horizon further would not reduce them.
ROUNDING = 1e-12


@final
@dataclass(frozen=True, eq=False)
class Phases:
    """The two values that the sides of a bipartite network exchange for ever.

    ``mean`` has shape (2,) and ``covariance`` shape (2, 2). Public opinions of side 0 have the first value at even
    times and the second at odd ones, those of side 1 the other way round; ``side`` has shape (agents,).
    """

    mean: Vector
    covariance: Vector
    side: NDArray[np.int8]

    @property
    def std(self) -> Vector:
        """The standard deviations of the two values."""
        return np.sqrt(np.diag(self.covariance))

    def at(self, t: int) -> tuple[Vector, Vector]:
        """Return mean and standard deviation of each agent at a late time t; shapes (agents,)."""
        which = (self.side + t % 2) % 2
        return self.mean[which], self.std[which]


@final
@dataclass(frozen=True)
class ConsensusLimit:
    """Limit of the common value: its mean and standard deviation over the noise, ∞ where it is a random walk.

    ``phases`` has the two values of a periodic limit, whose average over a period is the common value. Closed forms
    have horizon 0 and residual 0. Elsewhere the law was computed exactly up to t = ``horizon`` and extrapolated to
    the limit; ``residual`` estimates the error that this leaves.
    """

    mean: float
    std: float
    horizon: float = 0
    residual: float = 0.0
    phases: Phases | None = None

    def __str__(self) -> str:
        if self.phases is not None:
            values = zip(self.phases.mean, self.phases.std, strict=True)
            return " and ".join(_plus_minus(mean, std) for mean, std in values)
        return _plus_minus(self.mean, self.std)


def _plus_minus(mean: float, std: float) -> str:
    return f"{mean:.4g}" + (f" ± {std:.2g}" if 0 < std < math.inf else "")


def consensus_limit(model: Model | SDE, *, tolerance: float = 1e-6) -> ConsensusLimit:
    """Return the value that all public opinions converge to, be it v or not.

    Where Σ 1/ρ_t converges, the start and early noise are never forgotten, and the limit is that of the consensus mode
    Σ d y/Σ d; on a bipartite network the two sides then exchange two values for ever. Where hidden opinions adapt for
    ever, the limit is that of the conserved quantity m + Σ w x/(ρη), over its weights.

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
        If the agents do not agree, if that is not known, or if start, pressure and growing noise all count.

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
    >>> from peerpressure.networks import complete, k2
    >>> from peerpressure.schedules import Power
    >>> print(consensus_limit(Model(k2(), hidden=[0.0, 1.0], stubbornness=[1.0, 3.0], pressure=2.0, adaptation=0.1)))
    0.7273
    >>> fast = Model(complete(3), hidden=[0, 1, 5], stubbornness=[1, 2, 4], pressure=Power(2))
    >>> print(consensus_limit(fast), fast.consensus_value)
    2.752 3.142857142857143
    """
    long_run = classify(model)
    found = limit_of(long_run, tolerance=tolerance)
    if found is None:
        raise _no_limit(long_run)
    return found


def limit_of(long_run: LongRun, *, tolerance: float) -> ConsensusLimit | None:
    """Return the consensus limit of a model that is classified; None where there is none or it is not known."""
    structure = long_run.structure
    if long_run.settled or (long_run.balanced and structure.constant_opinions):
        return ConsensusLimit(long_run.model.consensus_value, 0.0)
    if long_run.outcome is Outcome.UNKNOWN or long_run.noise is NoiseEffect.SCATTERS or len(structure.components) != 1:
        return None
    component = structure.components[0]
    if structure.law is not None:
        # The limit on a random network depends on which edges are present, unless an opinion fixes it.
        return _closed_form(long_run, component)
    # Only a static bipartite network has exactly two phases, both computed from conserved sums.
    two_sided = component.limit is NoiselessLimit.PERIODIC and long_run.model.is_plain
    if not (component.limit is NoiselessLimit.CONSENSUS or two_sided) or _noise_is_in_the_way(long_run):
        return None
    return component_limit(long_run, component, tolerance=tolerance)


def _noise_is_in_the_way(long_run: LongRun) -> bool:
    """Whether noise of growing scale is never forgotten, and its share in the limit is not computed."""
    noisy = not long_run.model.noise.is_zero and not long_run.model.noise.time_scale.growth.bounded
    return long_run.regime is Regime.FAST and long_run.structure.constant_opinions and noisy


def _no_limit(long_run: LongRun) -> InvalidInputError:
    remedy = "use moments(model, steps) for a finite run"
    if long_run.outcome is Outcome.UNKNOWN:
        rule = "a consensus limit needs schedules of known growth"
        got = f"{long_run.model.pressure} ({long_run.growth.basis}); the outcome is not known"
        remedy = f"give schedules in closed form, such as Power(1.5), or {remedy}"
        return InvalidInputError(message(rule, got=got, remedy=remedy))
    if _noise_is_in_the_way(long_run):
        rule = "where Σ 1/ρ_t converges, a limit is computed for noise whose scale over time stays bounded"
        return InvalidInputError(message(rule, got=str(long_run.model.noise), remedy=remedy))
    if long_run.structure.law is not None and long_run.structure.limit is NoiselessLimit.CONSENSUS:
        rule = "on a random network the limit depends on which edges are present, and is not computed"
        return InvalidInputError(message(rule, got=repr(long_run.model.temporal_network), remedy=remedy))
    rule = "only agents who agree have a consensus limit"
    got = f"{long_run.outcome.value} ({long_run.structure.limit.value})"
    return InvalidInputError(message(rule, got=got, remedy=f"see diagnose(model), or {remedy}"))


def component_limit(long_run: LongRun, component: Component, *, tolerance: float) -> ConsensusLimit:
    """Return the limit of one component that agrees, or exchanges two values."""
    return _closed_form(long_run, component) or _followed(long_run, component, tolerance)


def with_component_values(long_run: LongRun, *, most: int, tolerance: float) -> LongRun:
    """Return a classification with the values of the largest components, where each agrees by itself."""
    structure = long_run.structure
    if structure.limit is not NoiselessLimit.CLUSTERS or structure.law is not None:
        return long_run
    components = list(structure.components)
    # Only the mean of a component is named, and noise does not change it.
    quiet = _without_noise(long_run)
    for number, component in enumerate(components[:most]):
        if component.value is None:
            value = component_limit(quiet, component, tolerance=tolerance).mean
            components[number] = replace(component, value=value)
    return replace(long_run, structure=replace(structure, components=tuple(components)))


@final
@dataclass(frozen=True, eq=False)
class ConsensusLimitCurve:
    """Consensus limits over the rate η at which hidden opinions adapt; all of shape (rates,)."""

    rates: Vector
    mean: Vector
    std: Vector
    residual: Vector
    consensus_value: float

    def to_dataframe(self) -> pd.DataFrame:
        """Return one row for each rate."""
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
        As in ``consensus_limit``.

    Returns
    -------
    ConsensusLimitCurve
        One limit for each rate.

    Examples
    --------
    >>> from peerpressure.networks import k2
    >>> model = Model(k2(), hidden=[0.0, 1.0], stubbornness=[1.0, 3.0])
    >>> consensus_limit_curve(model, [0.0, 0.01, 0.1, 1.0]).mean.round(3)
    array([0.75 , 0.744, 0.72 , 0.657])
    """
    chosen = np.array(list(rates), dtype=np.float64)
    weight = 1.0 if model.adaptation is None else model.adaptation.adaptation_weight
    found = [
        consensus_limit(replace(model, adaptation=Adaptation(float(rate), weight)), tolerance=tolerance)
        for rate in chosen
    ]
    mean, std, residual = (np.array([getattr(one, name) for one in found]) for name in ("mean", "std", "residual"))
    return ConsensusLimitCurve(chosen, mean, std, residual, model.consensus_value)


def _closed_form(long_run: LongRun, component: Component) -> ConsensusLimit | None:
    """Return the limit where opinions that never move attract all others."""
    value, noise, structure = component.value, long_run.noise, long_run.structure
    if value is None:
        return None
    averaged = noise is NoiseEffect.VANISHES and structure.anchored and not structure.intermittent
    if noise is NoiseEffect.NONE or averaged:
        return ConsensusLimit(value, 0.0)
    if not (structure.anchored and long_run.regime.reaches_value):
        return None
    if noise is NoiseEffect.WANDERS or long_run.noise_grows:
        return ConsensusLimit(value, math.inf)
    if component.omega is None:
        return None
    # Frozen noise of all agents shifts the limit; adapting agents internalise theirs, so that only the weights of the
    # others oppose it.
    w, adapting = component.omega.influence, structure.adapting
    anchors = w.sum() if adapting is None else w[~adapting].sum()
    return ConsensusLimit(value, float(np.linalg.norm(w * long_run.deviations) / anchors) * late_scale(long_run))


def _followed(long_run: LongRun, component: Component, tolerance: float) -> ConsensusLimit:
    """Follow the conserved quantity over horizons that double, and extrapolate it."""
    opinions = np.concatenate([long_run.model.x0, long_run.model.start_state])
    # Opinions may all be equal, in which case noise sets the scale.
    scale = float(np.ptp(opinions)) + float(long_run.deviations.max())
    enough = tolerance * scale + ROUNDING * float(np.abs(opinions).max())
    frozen = long_run.noise is NoiseEffect.STAYS and long_run.structure.anchored and long_run.noise_grows
    unbounded = long_run.noise in (NoiseEffect.WANDERS, NoiseEffect.SCATTERS) or frozen
    # Only the mean is followed then; the standard deviation is ∞ by the classification.
    if unbounded:
        long_run = _without_noise(long_run)
    horizon, most = _horizons(long_run)
    seen: list[Vector] = []
    limits: list[Vector] = []
    ahead: list[float] = []
    while True:
        conserved = conserved_at(long_run, component, horizon)
        seen.append(_law(long_run, conserved, horizon))
        limits.append(_extrapolated(seen))
        ahead.append(conserved.change)
        residual = _residual(limits, ahead)
        # At least three horizons, because Aitken's extrapolation and its error estimate need them.
        if residual <= enough or (len(limits) > 2 and 2 * horizon > most):
            return _result(long_run, limits[-1], horizon, residual, unbounded=unbounded)
        # Doubling turns a power law in t into a geometric sequence, which Aitken's formula extrapolates exactly.
        horizon *= 2


def _residual(limits: list[Vector], ahead: list[float]) -> float:
    """Estimate the error of the last limit from its distance to the one before.

    The first two are not extrapolated. They estimate the error only where it shrinks no faster than the change that
    is still ahead.
    """
    if len(limits) < 2 or (len(limits) == 2 and math.isinf(ahead[-1])):
        return math.inf
    moved = _change(limits[-2], limits[-1])
    if len(limits) > 2:
        return moved
    shrunk = ahead[-2] - ahead[-1]
    # The tail already contains the change that is ahead in first order, so the error is at most of the order of the
    # observed change times the ratio of what is left to what was covered.
    return moved * max(1.0, ahead[-1] / shrunk if shrunk > 0 else 1.0)


def _without_noise(long_run: LongRun) -> LongRun:
    quiet = replace(long_run.model, noise=NoNoise())
    # The equation of the quiet model where time is continuous, whose start is forgotten otherwise than in steps.
    system = replace(long_run.system, model=quiet) if isinstance(long_run.system, SDE) else quiet
    return replace(long_run, system=system, model=quiet, deviations=np.zeros(quiet.n))


def _horizons(long_run: LongRun) -> tuple[float, float]:
    """Return the first horizon and the last one that is affordable."""
    model, networks = long_run.model, long_run.structure.networks
    assert networks is not None
    size = model.network.adjacency.nnz + 20 * model.n
    if long_run.continuous:
        return 32.0, MOST_WORK / (PER_TIME + 10 * size)
    # A multiple of the period, so that the network is in the same phase at all horizons.
    first = max(networks.count * math.ceil(64 / networks.count), networks.begin)
    return first, max(4 * first, MOST_WORK / (PER_STEP + size))


def _law(long_run: LongRun, conserved: Conserved, horizon: float) -> Vector:
    """Return the means of the conserved quantities, then their covariances row by row, computed up to a horizon."""
    system, n = long_run.system, long_run.model.n
    if isinstance(system, SDE):
        found = moments_of(system, conserved.weights[:, :n], horizon)
        # Hidden opinions of an SDE are constant and contribute to the mean only.
        mean, covariance = found.mean[0] + conserved.weights[:, n:] @ system.x0, found.covariance
    else:
        sums = adjoint_moments(system, conserved.weights, np.array([horizon]), conserved.carry)
        mean, covariance = sums.mean[0], sums.covariance
    return np.concatenate([mean, (covariance + np.diag(conserved.variance)).ravel()])


def _extrapolated(seen: list[Vector]) -> Vector:
    """Return the limit of a sequence whose last differences shrink by a steady factor (Aitken), as power laws do."""
    last = seen[-1]
    if len(seen) < 3:
        return last
    before, now = seen[-2] - seen[-3], last - seen[-2]
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = now / before
        # A factor outside (0, 0.9) is no regular decay: the formula would amplify rounding errors, or extrapolate far.
        return np.where((factor > 0) & (factor < 0.9), last + now * factor / (1 - factor), last)


def _split(law: Vector) -> tuple[Vector, Vector]:
    count = 1 if law.size == 2 else 2
    return law[:count], law[count:].reshape(count, count)


def _change(before: Vector, after: Vector) -> float:
    (mean_before, cov_before), (mean, cov) = _split(before), _split(after)
    # Extrapolated variances may be slightly negative.
    roots = [np.sqrt(np.maximum(np.diag(covariance), 0.0)) for covariance in (cov_before, cov)]
    return float(np.max(np.abs(mean - mean_before) + np.abs(roots[1] - roots[0])))


def _result(long_run: LongRun, law: Vector, horizon: float, residual: float, *, unbounded: bool) -> ConsensusLimit:
    mean, covariance = _split(law)
    std = math.inf if unbounded else math.sqrt(max(covariance[0, 0], 0.0))
    phases = None
    if mean.size == 2:
        # The modes m and δ make the values m + δ and m − δ of the two sides.
        turn, sides = np.array([[1.0, 1.0], [1.0, -1.0]]), long_run.model.network.sides
        assert sides is not None
        phases = Phases(turn @ mean, turn @ covariance @ turn.T, sides.astype(np.int8))
    return ConsensusLimit(float(mean[0]), std, horizon, residual, phases)
