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
from typing import Any, Literal, NamedTuple, TypeAlias, final

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, sparse, special

from peerpressure.fitting._integrated import DRAWS, best_spread, height_at_best, noise_factors
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


@final
@dataclass(frozen=True, eq=False)
class _Scored:
    """What a law explains, and by what, whatever share of the last answer is kept.

    Each scored answer, ``now``, is of an ``agent`` at a ``row``, ``gap`` steps after the agent's last one, ``before``;
    both are about the ``mean`` of all answers. ``regressors`` (n, k) are what levels are expected to depend on, and
    ``around`` (T, n) the means of the neighbours' last answers.
    """

    panel: Panel
    law: OwnLaw
    mean: float
    row: NDArray[np.int64]
    agent: NDArray[np.int64]
    gap: NDArray[np.int64]
    now: Array
    before: Array
    regressors: Array
    around: Array

    @cached_property
    def by_agent(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The answers in the order of their agents, and where those of each agent begin."""
        counts = np.bincount(self.agent, minlength=self.panel.n)
        return np.argsort(self.agent, kind="stable"), np.concatenate([[0], np.cumsum(counts)])


class _Equations(NamedTuple):
    """Scored answers as value = slope · x + columns · c + N(0, σ²), each divided by its scale, with x of its agent."""

    value: Array
    slope: Array
    columns: Any
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
        around = _scored(panel, self.law).around
        left = rows[1:] - self.memory * rows[:-1] - level.effects[:, None] - level.weight * around
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
    scored = _scored(panel, law)

    def at(memory: float) -> _Level:
        check_cancelled()
        return _level_of(scored, memory)

    if law.memory != "free":
        return OwnFit(name, panel, fixed[law.memory], at(fixed[law.memory]))
    grid = np.linspace(*_MEMORY, _MEMORIES)
    best = int(np.argmax([at(float(memory)).height for memory in grid]))
    near = (grid[max(best - 1, 0)], grid[min(best + 1, _MEMORIES - 1)])
    options = {"xatol": 1e-4}
    top = optimize.minimize_scalar(lambda memory: -at(memory).height, bounds=near, method="bounded", options=options)
    return OwnFit(name, panel, float(top.x), at(float(top.x)))


def _level_of(scored: _Scored, memory: float) -> _Level:
    """Return levels and effects of highest likelihood at a share of the last answer."""
    law, regressors, equations = scored.law, scored.regressors, _equations(scored, memory)
    n, slope, value, Z = scored.panel.n, equations.slope, equations.value, equations.columns
    order, ends = scored.by_agent
    by_agent = sparse.csr_array((slope[order], order, ends), shape=(n, slope.size))
    G, P = (A.toarray() if sparse.issparse(A) else A for A in (Z.T @ Z, by_agent @ Z))
    r, q = Z.T @ value, by_agent @ value
    information, squares = np.bincount(scored.agent, slope**2, n), float(value @ value)

    def at(spreads: Array) -> tuple[Array, Array, Array]:
        """Return heights (g,), coefficients (g, k) and variances (g,) for some λ."""
        share = spreads[:, None] / (1 + spreads[:, None] * information)
        inverse = np.linalg.pinv(G - P.T @ (share[:, :, None] * P), rcond=1e-12, hermitian=True)
        left = r - (share * q) @ P
        c = (inverse @ left[:, :, None])[:, :, 0]
        rss = squares - share @ q**2 - (c * left).sum(axis=1)
        variance = np.maximum(rss, 1e-24 * squares + 1e-300) / value.size
        height = equations.log_scale + height_at_best(value.size, variance)
        return height - 0.5 * np.log1p(spreads[:, None] * information).sum(axis=1), c, variance

    spreads = np.zeros(1)
    if law.level == "own":
        spreads = np.array([0.0, np.exp(best_spread(lambda logs: -at(np.exp(logs))[0]))])
    heights, coefficients, variances = at(spreads)
    best = int(np.argmax(heights))
    spread, height, c, variance = float(spreads[best]), float(heights[best]), coefficients[best], float(variances[best])
    known = regressors.shape[1]
    mean = regressors @ c[:known]
    keep = np.asarray(spread / (1 + spread * information), dtype=np.float64)
    away = q - P[:, known:] @ c[known:] - information * mean
    weight = float(c[-1]) if law.responds else 0.0
    shared = c[known : c.size - law.responds]
    made = _Level(height, spread, variance, mean, mean + keep * away, variance * keep, np.zeros(0), weight)
    made = replace(made, effects=_effects(scored, memory, shared, made))
    if law.responds:
        covariance = variance * np.linalg.pinv(G - P.T @ (keep[:, None] * P), hermitian=True)
        made = replace(made, weight_std=float(np.sqrt(max(covariance[-1, -1], 0.0))))
    return made


def _scored(panel: Panel, law: OwnLaw) -> _Scored:
    """Return what a law explains in a record."""
    mean, present = float(np.nanmean(panel.rows)), np.isfinite(panel.rows)
    last = np.maximum.accumulate(np.where(present, np.arange(panel.length + 1)[:, None], 0), axis=0)[:-1]
    row, agent = np.nonzero(panel.scored)
    before = last[row, agent]
    # Who has no neighbours hears the mean of all.
    around = np.where(np.isnan(panel.neighbours_last), mean, panel.neighbours_last)
    return _Scored(
        panel,
        law,
        mean,
        row,
        agent,
        row + 1 - before,
        panel.rows[row + 1, agent] - mean,
        panel.rows[before, agent] - mean,
        _regressors(panel, law, mean),
        around,
    )


def _equations(scored: _Scored, memory: float) -> _Equations:
    """Return the equations of scored answers; columns of the regressors of levels come first."""
    panel, law, g = scored.panel, scored.law, scored.gap
    powers = np.power(float(memory), np.arange(int(g.max()) + 1, dtype=np.float64))
    reach, scale = np.cumsum(powers)[g - 1], np.sqrt(np.cumsum(powers**2)[g - 1])
    value = (scored.now - powers[g] * scored.before) / scale
    regressors, around = scored.regressors, scored.around - scored.mean
    if law.shared == "period" and panel.is_complete:
        # Effects of periods are means over agents where nobody is missing.
        value = (value.reshape(panel.length, -1) - value.reshape(panel.length, -1).mean(axis=1)[:, None]).ravel()
        regressors = regressors - regressors.mean(axis=0)
        around = around - around.mean(axis=1)[:, None]
    slope = reach / scale if law.level != "none" else np.zeros(g.size)
    shared = _shared_columns(scored, powers, scale)
    stack: Any = sparse.hstack if sparse.issparse(shared) else np.hstack
    columns = stack([slope[:, None] * regressors[scored.agent], shared, *[around.reshape(-1, 1)] * law.responds])
    return _Equations(value, slope, columns, -float(np.log(scale).sum()))


def _regressors(panel: Panel, law: OwnLaw, mean: float) -> Array:
    """Return what levels are expected to depend on, (n, k), first answers about the mean of all answers."""
    if law.level == "none":
        return np.zeros((panel.n, 0))
    columns = panel.regressors.copy() if law.level == "own" else np.ones((panel.n, 1))
    columns[:, 1:] -= mean
    # With effects of periods there is no further constant.
    return columns[:, 1:] if law.shared == "period" else columns


def _shared_columns(scored: _Scored, powers: Array, scale: Array) -> Any:
    """Return the columns of what all agents share, each answer with the steps since the agent's last one."""
    panel, law, row, g = scored.panel, scored.law, scored.row, scored.gap
    if law.shared == "nothing" or (law.shared == "period" and panel.is_complete):
        return np.zeros((row.size, 0))
    weights = np.concatenate([(powers[k] / scale)[g > k] for k in range(int(g.max()))])
    places = np.concatenate([np.flatnonzero(g > k) for k in range(int(g.max()))])
    steps = np.concatenate([(row - k)[g > k] for k in range(int(g.max()))])
    by_step = sparse.csr_array((weights, (places, steps)), shape=(row.size, panel.length))
    return by_step if law.shared == "period" else (by_step @ _trend(panel))[:, None]


def _trend(panel: Panel) -> Array:
    return np.arange(panel.length, dtype=np.float64) - 0.5 * (panel.length - 1)


def _effects(scored: _Scored, memory: float, c: Array, level: _Level) -> Array:
    """Return what all agents share at each scored row, (T,), on the scale of the answers."""
    panel, law = scored.panel, scored.law
    # Answers were taken about their mean μ: φ(y − μ) + w(m − μ) + μ leaves (1 − φ − w)μ.
    constant = (1 - memory - level.weight) * scored.mean
    if law.shared == "trend":
        return np.asarray(constant + c[0] * _trend(panel))
    if law.shared == "nothing":
        return np.full(panel.length, constant)
    if panel.is_complete:
        left = panel.rows[1:] - memory * panel.rows[:-1] - level.mean - level.weight * scored.around
        return np.asarray(left.mean(axis=1))
    return np.asarray(constant + c)
