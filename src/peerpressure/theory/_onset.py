"""Power laws and their onset: from which t on a law describes the consensus mode and the agents' disagreement.

The mode forgets its start like exp(−κ Σ 1/ρ_t), which may take longer than any run before the lag behind the fixed
point or later noise dominate. Its bias b and variance V are followed through the scalar recursion

    (1 + a_t) b_t = b_{t−1} + a_t K/ρ_t,        (1 + a_t)² V_t = V_{t−1} + a_t² σ̄_t²,        a_t = κ/ρ_t,

step by step at first and then over geometric intervals of t, in each of which the pressure counts as constant. The
network itself relaxes at a rate given by its spectral gap, and agents are close to each other only where ρ_t exceeds
the inverse of the least positive eigenvalue of S⁻¹L.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import final

import numpy as np
from numpy.typing import NDArray

from peerpressure.model import Model, Vector
from peerpressure.networks import Network

# Steps that are taken one by one; later ones are grouped into intervals in which t grows by this factor.
EXACT_STEPS = 128
GROWTH = 1.02
# log t of the farthest time, within the range of doubles.
FARTHEST = 690.0
# Relative distance from a law up to which it is said to hold.
WITHIN = 0.1
# Agents up to which the spectrum of the network is computed, which takes a tenth of a second.
MOST_AGENTS = 500


@final
@dataclass(frozen=True)
class Law:
    """A power law constant·t^(−exponent), times log t if ``log``.

    Attributes
    ----------
    exponent : float
        The exponent; ∞ for what falls faster than every power of t.
    constant : float, optional
        The constant; None where it has no formula.
    log : bool, default False
        Whether there is a factor log t.
    onset : float, optional
        Time from which the law holds up to a tenth; ∞ where that is beyond 10^300, and None where it is not computed.

    See Also
    --------
    Rate : Laws of bias, variance and disagreement.

    Examples
    --------
    >>> from peerpressure.theory import Law
    >>> Law(exponent=0.5, constant=2.0)
    Law(exponent=0.5, constant=2.0, log=False, onset=None)
    """

    exponent: float
    constant: float | None = None
    log: bool = False
    onset: float | None = None

    def __call__(self, t: float) -> float:
        """Return the value at t, nan if the constant is not known."""
        if self.constant is None or self.exponent == math.inf:
            return math.nan
        return self.constant * math.pow(t, -self.exponent) * (math.log(t) if self.log else 1.0)

    def __str__(self) -> str:
        if self.exponent == 0:
            return "constant"
        if self.exponent == math.inf:
            return "faster than every power of t"
        power = f"t^{-self.exponent:.3g}".replace("-", "−")
        return f"{power} log t" if self.log else power


@final
@dataclass(frozen=True, eq=False)
class ModePath:
    """Bias and variance of the consensus mode over time, and the pressures; all of shape (times,)."""

    t: Vector
    reciprocal: Vector
    bias: Vector
    variance: Vector

    def onset(self, law: Law, *, of: str) -> float:
        """Return the time from which a law holds, ∞ where it does not set in within the range of doubles."""
        # Values that underflow cannot be compared, nor can a law that is 0 or faster than every power.
        values = np.abs(self.bias if of == "bias" else self.variance)
        seen = np.flatnonzero(values > 1e-280)
        if law.constant == 0 or not math.isfinite(law.exponent) or seen.size < 3:
            return 1.0
        t, log_value = self.t[: seen[-1] + 1], np.log(np.maximum(values[: seen[-1] + 1], 1e-300))
        log_t = np.log(t)
        slope = -np.gradient(log_value, log_t)
        with np.errstate(divide="ignore"):
            claimed = law.exponent - (1 / log_t if law.log else 0.0)
        off = np.abs(slope - claimed) > np.maximum(WITHIN * np.abs(claimed), 0.01)
        if law.constant is not None:
            with np.errstate(divide="ignore"):
                expected = math.log(abs(law.constant)) - law.exponent * log_t + (np.log(log_t) if law.log else 0.0)
            off |= ~(np.abs(log_value - expected) <= WITHIN)
        return _after(off, t)

    def error_reached(self, steps: int, error: float, precision: float) -> float | None:
        """Return the time from which the error, known after some steps, is at most a precision; None if never."""
        predicted = np.hypot(self.bias, np.sqrt(self.variance))
        now = float(np.interp(math.log(steps), np.log(self.t), predicted))
        # Only the decay is taken from here; the error itself is known exactly.
        off = (predicted * error > precision * now) | (self.t <= steps)
        found = _after(off, self.t)
        return found if now > 0 and math.isfinite(found) else None


def _after(off: NDArray[np.bool_], t: Vector) -> float:
    """Return the first time from which nothing is off."""
    if not np.any(off):
        return 1.0
    last = int(np.flatnonzero(off)[-1])
    return float(t[last + 1]) if last + 1 < t.size else math.inf


def mode_path(model: Model, kappa: float, lag: float, sigma: float) -> ModePath:
    """Follow bias and variance of the consensus mode of a plain model to the end of the range of doubles.

    ``lag`` is K, and ``sigma`` the deviation of ξ̄ at time scale 1 with the factor of AR(1) memory.
    """
    later = np.exp(np.arange(math.log(EXACT_STEPS), FARTHEST, math.log(GROWTH)))
    t = np.concatenate([np.arange(1.0, EXACT_STEPS), later])
    lengths = np.diff(t, prepend=0.0)
    # Pressure in the middle of each interval, at a whole time; that of a single step is its own.
    inside = np.where(t < EXACT_STEPS, t, np.floor(t - lengths / 2))
    inverse = model.pressure.reciprocal(inside)
    # Squares must not overflow.
    scale = np.minimum(model.noise.scale(inside) * sigma, 1e150) if sigma else np.zeros_like(t)
    frozen = model.noise.autocorrelation == 1
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        a = kappa * inverse
        rates = np.log1p(a) * lengths
        # The stationary variance at a constant step is a/(2 + a).
        drive = scale if frozen else scale**2 / (1 + 2 / a)
        target = lag * inverse if lag else np.zeros_like(t)
    forgotten = -np.expm1(-rates)
    noise = _driven(0.0, forgotten if frozen else -np.expm1(-2 * rates), drive)
    return ModePath(t, inverse, _bias(model, forgotten, target), noise**2 if frozen else noise)


def _bias(model: Model, forgotten: Vector, target: Vector) -> Vector:
    """Return the bias: exact for the first steps, in which agents have not come close, and by the recursion after."""
    w, v, state = model.mode_weights, model.consensus_value, model.start_state
    exact = np.empty(EXACT_STEPS - 1)
    for step, update in enumerate(model.updates(range(1, EXACT_STEPS))):
        state = update(state)
        exact[step] = w @ (state - v)
    return np.concatenate([exact, _driven(exact[-1], forgotten[exact.size :], target[exact.size :])])


def _driven(value: float, forgotten: Vector, target: Vector) -> Vector:
    """Return x with x_k = x_{k−1} + forgotten_k (target_k − x_{k−1})."""
    kept, path = 1 - forgotten, forgotten * target
    path[:1] += kept[:1] * value
    # Two steps make one of the same form, with the product of what is kept: all are doubled in length at a time, and
    # tens of thousands of steps take sixteen operations on arrays.
    shift = 1
    while shift < path.size:
        path[shift:] += kept[shift:] * path[:-shift]
        kept[shift:] *= kept[:-shift]
        shift *= 2
    return path


def network_onset(model: Model, path: ModePath) -> float | None:
    """Return the time from which agents differ by order 1/ρ_t only; None for networks too large for their spectrum."""
    if model.n > MOST_AGENTS:
        return None
    gap, stiffness = spectral_gaps(model)
    with np.errstate(divide="ignore", over="ignore"):
        strength = stiffness / path.reciprocal
        # Until then what is left of the start, e^(−gap·t), exceeds a tenth of the differences of order 1/ρ.
        off = (strength < 1 / WITHIN) | (gap * path.t < np.log(np.maximum(strength / WITHIN, 1.0)))
    return _after(off, path.t)


def spectral_gaps(model: Model) -> tuple[float, float]:
    """Return 1 − |λ₂| of D⁻¹A, without the eigenvalue −1 of a bipartite network, and the least positive one of S⁻¹L."""
    return _gaps(model.network, model.s.tobytes())


# Kept for the models that differ in noise or pressure only, as those of a slider do; networks that large are not asked.
@lru_cache(maxsize=16)
def _gaps(network: Network, stubbornness: bytes) -> tuple[float, float]:
    A, d, s = network.adjacency.toarray(), network.degrees, np.frombuffer(stubbornness)
    if network.directed:
        return _directed_gaps(A, d, s)
    root = np.sqrt(d)
    values = np.linalg.eigvalsh(A / root[:, None] / root)[:-1]
    # On two agents nothing is left that has to relax.
    inner = values[1:] if network.is_bipartite else values
    gap = 1.0 - float(np.abs(inner).max(initial=0.0))
    root_s = np.sqrt(s)
    stiffness = np.linalg.eigvalsh((np.diag(d) - A) / root_s[:, None] / root_s)[1]
    return max(gap, 1e-15), max(float(stiffness), 1e-300)


def _directed_gaps(A: Vector, d: Vector, s: Vector) -> tuple[float, float]:
    """Return the same of a directed network with one closed class, whose period has all eigenvalues of modulus 1."""
    moduli = np.abs(np.linalg.eigvals(A / d[:, None]))
    gap = 1.0 - float(moduli[moduli < 1 - 1e-9].max(initial=0.0))
    # The eigenvalue nearest to 0 is that of the consensus.
    stiffness = np.sort(np.abs(np.linalg.eigvals((np.diag(d) - A) / s[:, None])))[1]
    return max(gap, 1e-15), max(float(stiffness), 1e-300)
