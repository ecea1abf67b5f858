"""Rivals in which people keep or return to a level, everybody may share the period, and neighbours may be heard.

An answer follows the agent's last one, a level, and what all agents share at a step,

    y_t = φ y_{t−1} + w m_{t−1} + x + a_t + σ ε_t,

where φ is 0, 1 or estimated; the level x is the agent's own, the same for all, or none; a_t is nothing, a trend, or an
effect of each period; and the weight w of the mean m of the neighbours' last answers is 0 in all but two of them. Own
levels have the law x | y₁ ~ N(α + β y₁ + γ · mean of the neighbours' y₁, λσ²) and are integrated out, as in the rivals
with pressure, whose answers and whose criterion these have as well. Between an answer and the one g steps before it the
equation is summed, so gaps need no filter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias, final

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, sparse, special

from peerpressure.fitting._integrated import DRAWS, height_at_best, noise_factors
from peerpressure.fitting._parameters import NO_PARAMETERS
from peerpressure.fitting._record import Panel, one_step_errors
from peerpressure.model.step import Array
from peerpressure.support.progress import check_cancelled
from peerpressure.support.results import read_only

# Agents from which an effect of each period explains less of the noise than it is charged for.
_SHARING = 6
# Shares of the last answer that are searched, and points of a first look.
_MEMORY = (-0.5, 0.999)
_MEMORIES = 9
# Variance of levels, in units of that of the noise, that is searched through.
_LOG_SPREADS = (-12.0, 12.0)

# Weight of neighbours beyond which nothing is left of the own, and the least share of it that opinions are read from.
ALL, _LEAST = 0.998, 0.05

Memory: TypeAlias = Literal["none", "free", "whole"]
Levels: TypeAlias = Literal["own", "common", "none"]
Shared: TypeAlias = Literal["nothing", "trend", "period"]


@final
@dataclass(frozen=True)
class OwnLaw:
    """A row of the table of rivals: how much of the last answer is kept, whose level there is, and what all share."""

    memory: Memory
    level: Levels
    shared: Shared
    words: str
    responds: bool = False


# "none" and "walk" are members of other families as well, in which they stand.
OWN_LAWS: Mapping[str, OwnLaw] = {
    "none+trend": OwnLaw("none", "own", "trend", "Answers vary about people's own opinions, which share a trend."),
    "none+period": OwnLaw("none", "own", "period", "Answers vary about people's own opinions and what moves all."),
    "own-return": OwnLaw("free", "own", "nothing", "People return to a level of their own."),
    "own-return+trend": OwnLaw("free", "own", "trend", "People return to levels of their own, which share a trend."),
    "own-return+period": OwnLaw("free", "own", "period", "People return to a level of their own, and all move alike."),
    "common-return": OwnLaw("free", "common", "nothing", "All return to one value, each on its own."),
    "common-return+period": OwnLaw("free", "common", "period", "All return to one value, which moves."),
    "walk+period": OwnLaw("whole", "none", "period", "People move on from their last answers, and all move alike."),
    "own-return+neighbours": OwnLaw("free", "own", "nothing", "People return to a level of their own.", True),
    "own-return+neighbours+period": OwnLaw(
        "free", "own", "period", "People return to a level of their own, and all move alike.", True
    ),
}


def own_names(panel: Panel) -> tuple[str, ...]:
    """Return the laws that a record can be compared with."""
    if panel.errors is not None:
        return ()
    hears = panel.is_complete and bool(panel.slope.any())
    return tuple(
        name
        for name, law in OWN_LAWS.items()
        if (law.shared != "period" or panel.n >= _SHARING) and (hears or not law.responds)
    )


class _Equations(NamedTuple):
    """Scored answers as value = slope · x + columns · c + N(0, σ²), each divided by its scale, with x of its agent."""

    value: Array
    slope: Array
    agent: NDArray[np.int64]
    columns: sparse.csr_array
    log_scale: float


@final
@read_only
@dataclass(frozen=True, eq=False)
class _Level:
    """Levels and shared effects at the maximum: x ~ N(mean, λσ²), with posterior ``value`` and ``variance``."""

    height: float
    spread: float
    variance: float
    mean: Array
    value: Array
    errors: Array
    effects: Array
    weight: float = 0.0
    weight_std: float = 0.0


@final
@dataclass(frozen=True, eq=False)
class OwnFit:
    """A fitted rival of levels, last answers and shared effects."""

    name: str
    panel: Panel = field(repr=False)
    memory: float
    level: _Level = field(repr=False)
    # Tests of fit are of models with hidden opinions, and none of this package is such a law.
    model = None
    conditional = None
    measurement_noise = None
    tells_errors = True
    parameters = NO_PARAMETERS

    @property
    def words(self) -> str:
        """What people do by this law."""
        return self.law.words

    def courses(self) -> None:
        """Return nothing: there is no pressure."""

    @property
    def law(self) -> OwnLaw:
        """The row of the table."""
        return OWN_LAWS[self.name]

    @property
    def log_likelihood(self) -> float:
        """The log-likelihood of the scored answers."""
        return self.level.height

    @property
    def _common(self) -> int:
        law = self.law
        own = {"own": int(self.panel.regressors.shape[1]) + 1, "common": 1, "none": 0}[law.level]
        constant = law.shared == "period" and law.level != "none"
        return 1 + own - constant + (law.memory == "free") + (law.shared == "trend") + law.responds

    @property
    def _periods(self) -> int:
        return int(self.panel.scored.any(axis=1).sum()) if self.law.shared == "period" else 0

    @property
    def k(self) -> int:
        """The number of parameters that agents share, effects of periods among them."""
        return self._common + self._periods

    @property
    def bic(self) -> float:
        """Schwarz's criterion; the effect of a period is learned from the answers of that period alone."""
        count, periods = self.panel.count, self._periods
        charge = periods * float(np.log(count / periods)) if periods else 0.0
        return charge + self.panel.bic(self._common, self.log_likelihood)

    @property
    def unidentified(self) -> str:
        """Nothing, unless neighbours have all the weight: at other ends, each law is another one."""
        return "weight" if self.level.weight > ALL else ""

    @property
    def uses_network(self) -> bool:
        """Whether neighbours have a positive weight."""
        return self.level.weight > 0

    @property
    def weight(self) -> tuple[float, float, float]:
        """The weight of the mean of the neighbours' last answers, with the ends of its interval; 0 without them."""
        value, half = self.level.weight, float(special.ndtri(0.975)) * self.level.weight_std
        return value, value - half, value + half

    @property
    def noise_std(self) -> float:
        """Standard deviation of the noise."""
        return float(np.sqrt(self.level.variance))

    def predictions(self, panel: Panel) -> Array:
        """Return each answer as predicted from those before it, and from what all share in its period, (T, n)."""
        level, rows = self.level, panel.filled
        left = rows[1:] - self.memory * rows[:-1] - level.effects[:, None]
        if self.law.responds:
            left = left - level.weight * _around(panel)
        return rows[1:] - one_step_errors(left, np.ones_like(left), panel.scored, level.mean, level.spread)

    @cached_property
    def opinions(self) -> tuple[Array, Array]:
        """The level that each agent returns to, with its standard error; the last answer where nobody has an own."""
        if self.law.level != "own":
            return self.panel.last, np.zeros(self.panel.n)
        effects = self.level.effects
        shared = float(effects[-1] if self.law.shared == "trend" else effects.mean())
        # The share of an answer that is neither the last one's nor the neighbours'.
        own = max(1 - self.memory - self.level.weight, _LEAST)
        return (self.level.value + shared) / own, np.sqrt(self.level.errors) / own

    def draws(self) -> tuple[Array, Array]:
        """Return draws of pressure (first, mean, last), rate and noise, (m, 5), and their shares.

        Pressure is that by which the mean of the neighbours has this weight at the mean degree.
        """
        scores = np.random.default_rng(0).standard_normal(DRAWS)
        weight = np.clip(self.level.weight + self.level.weight_std * scores, 0.0, ALL)
        pressure = weight / (1 - weight) / (float(self.panel.slope.mean()) or 1.0)
        noise = self.noise_std * noise_factors(self._freedom) / (1 - weight)
        return np.column_stack([pressure, pressure, pressure, 0 * pressure, noise]), np.full(DRAWS, 1 / DRAWS)

    @property
    def _freedom(self) -> int:
        """Degrees of freedom of the noise, beside levels of single agents and what all share."""
        return self.panel.count - self.k - (self.panel.n if self.law.level == "own" else 0)


def fit_own(panel: Panel, name: str) -> OwnFit:
    """Return the rival of a name with the highest likelihood."""
    law, fixed = OWN_LAWS[name], {"none": 0.0, "whole": 1.0}

    def at(memory: float) -> _Level:
        check_cancelled()
        return _level_of(panel, law, memory)

    if law.memory != "free":
        return OwnFit(name, panel, fixed[law.memory], at(fixed[law.memory]))
    grid = np.linspace(*_MEMORY, _MEMORIES)
    best = int(np.argmax([at(float(memory)).height for memory in grid]))
    near = (grid[max(best - 1, 0)], grid[min(best + 1, _MEMORIES - 1)])
    options = {"xatol": 1e-4}
    top = optimize.minimize_scalar(lambda memory: -at(memory).height, bounds=near, method="bounded", options=options)
    return OwnFit(name, panel, float(top.x), at(float(top.x)))


def _level_of(panel: Panel, law: OwnLaw, memory: float) -> _Level:
    """Return levels and effects of highest likelihood at a share of the last answer."""
    equations, regressors = _equations(panel, law, memory)
    n, slope, value = panel.n, equations.slope, equations.value
    by_agent = sparse.csr_array((slope, (equations.agent, np.arange(slope.size))), shape=(n, slope.size))
    Z = equations.columns
    G, P, r, q = (Z.T @ Z).toarray(), (by_agent @ Z).toarray(), Z.T @ value, by_agent @ value
    information, squares = np.bincount(equations.agent, slope**2, n), float(value @ value)

    def at(spread: float) -> tuple[float, Array, float]:
        share = spread / (1 + spread * information)
        c = np.linalg.lstsq(G - P.T @ (share[:, None] * P), r - P.T @ (share * q), rcond=1e-12)[0]
        rss = squares - share @ q**2 - c @ (r - P.T @ (share * q))
        variance = max(float(rss), 1e-24 * squares + 1e-300) / value.size
        height = equations.log_scale + height_at_best(value.size, variance)
        return float(height - 0.5 * np.log1p(spread * information).sum()), c, variance

    spread = 0.0
    if law.level == "own":
        top = optimize.minimize_scalar(lambda z: -at(float(np.exp(z)))[0], bounds=_LOG_SPREADS, method="bounded")
        spread = max((0.0, float(np.exp(top.x))), key=lambda each: at(each)[0])
    height, c, variance = at(spread)
    known = regressors.shape[1]
    mean = regressors @ c[:known]
    keep = np.asarray(spread / (1 + spread * information), dtype=np.float64)
    away = q - P[:, known:] @ c[known:] - information * mean
    weight = float(c[-1]) if law.responds else 0.0
    shared = c[known : c.size - law.responds]
    made = _Level(height, spread, variance, mean, mean + keep * away, variance * keep, np.zeros(0), weight)
    made = replace(made, effects=_effects(panel, law, memory, shared, made))
    if law.responds:
        covariance = variance * np.linalg.pinv(G - P.T @ (keep[:, None] * P), hermitian=True)
        made = replace(made, weight_std=float(np.sqrt(max(covariance[-1, -1], 0.0))))
    return made


def _equations(panel: Panel, law: OwnLaw, memory: float) -> tuple[_Equations, Array]:
    """Return the equations of scored answers, and the regressors of levels, (n, k), whose columns come first."""
    rows, gap, before = panel.rows - np.nanmean(panel.rows), *_gaps(panel)
    row, agent = np.nonzero(panel.scored)
    g = gap[row, agent]
    powers = np.power(float(memory), np.arange(int(g.max()) + 1, dtype=np.float64))
    reach, scale = np.cumsum(powers)[g - 1], np.sqrt(np.cumsum(powers**2)[g - 1])
    value = (rows[row + 1, agent] - powers[g] * rows[before[row, agent], agent]) / scale
    regressors = _regressors(panel, law)
    shared = _shared_columns(panel, law, powers, g, row, scale)
    around = _around(panel) - np.nanmean(panel.rows) if law.responds else np.zeros((panel.length, panel.n))
    if law.shared == "period" and panel.is_complete:
        # Effects of periods are means over agents where nobody is missing.
        value = (value.reshape(panel.length, -1) - value.reshape(panel.length, -1).mean(axis=1)[:, None]).ravel()
        regressors = regressors - regressors.mean(axis=0)
        around = around - around.mean(axis=1)[:, None]
    slope = reach / scale if law.level != "none" else np.zeros(g.size)
    heard = [sparse.csr_array(around.ravel()[:, None])] * law.responds
    columns = sparse.hstack([sparse.csr_array(slope[:, None] * regressors[agent]), shared, *heard], format="csr")
    return _Equations(value, slope, agent, columns, -float(np.log(scale).sum())), regressors


def _gaps(panel: Panel) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return how many steps before each answer the agent's last one is, and its row, (T, n)."""
    present = np.isfinite(panel.rows)
    last = np.maximum.accumulate(np.where(present, np.arange(panel.length + 1)[:, None], 0), axis=0)[:-1]
    return np.arange(1, panel.length + 1)[:, None] - last, last


def _regressors(panel: Panel, law: OwnLaw) -> Array:
    """Return what levels are expected to depend on, (n, k), first answers about the mean of all answers."""
    if law.level == "none":
        return np.zeros((panel.n, 0))
    columns = panel.regressors.copy() if law.level == "own" else np.ones((panel.n, 1))
    columns[:, 1:] -= np.nanmean(panel.rows)
    # With effects of periods there is no further constant.
    return columns[:, 1:] if law.shared == "period" else columns


def _shared_columns(
    panel: Panel, law: OwnLaw, powers: Array, g: NDArray[np.int64], row: NDArray[np.int64], scale: Array
) -> sparse.csr_array:
    """Return the columns of what all agents share, each answer with the steps since the agent's last one."""
    if law.shared == "nothing" or (law.shared == "period" and panel.is_complete):
        return sparse.csr_array((row.size, 0))
    weights = np.concatenate([(powers[k] / scale)[g > k] for k in range(int(g.max()))])
    places = np.concatenate([np.flatnonzero(g > k) for k in range(int(g.max()))])
    steps = np.concatenate([(row - k)[g > k] for k in range(int(g.max()))])
    by_step = sparse.csr_array((weights, (places, steps)), shape=(row.size, panel.length))
    if law.shared == "period":
        return by_step
    return sparse.csr_array((by_step @ _trend(panel))[:, None])


def _around(panel: Panel) -> Array:
    """Return the mean of the neighbours' last answers at each scored row, (T, n); that of all for who has none."""
    return np.where(np.isnan(panel.neighbours_last), np.nanmean(panel.rows), panel.neighbours_last)


def _trend(panel: Panel) -> Array:
    return np.arange(panel.length, dtype=np.float64) - 0.5 * (panel.length - 1)


def _effects(panel: Panel, law: OwnLaw, memory: float, c: Array, level: _Level) -> Array:
    """Return what all agents share at each scored row, (T,), on the scale of the answers."""
    # Answers were taken about their mean μ: φ(y − μ) + w(m − μ) + μ leaves (1 − φ − w)μ.
    constant = (1 - memory - level.weight) * float(np.nanmean(panel.rows))
    if law.shared == "trend":
        return np.asarray(constant + c[0] * _trend(panel))
    if law.shared == "nothing":
        return np.full(panel.length, constant)
    if panel.is_complete:
        left = panel.rows[1:] - memory * panel.rows[:-1] - level.mean
        if law.responds:
            left = left - level.weight * _around(panel)
        return np.asarray(left.mean(axis=1))
    return np.asarray(constant + c)
