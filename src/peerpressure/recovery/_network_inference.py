"""Inference of an unknown network from complete answers: who listens to whom, how much, and with what confidence."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike

from peerpressure.errors import InvalidInputError, message
from peerpressure.model.step import Array
from peerpressure.networks import Network
from peerpressure.noise import Gaussian, Noise
from peerpressure.recovery._network_estimate import NetworkEstimate, distrust
from peerpressure.recovery._network_fit import (
    AgentProblem,
    EdgeFit,
    Penalty,
    SymmetricProblem,
    covariance_of,
    fit_edges,
    hidden_opinion,
    objective,
)
from peerpressure.recovery._network_likelihood import (
    Index,
    Mask,
    ProductSums,
    Steps,
    Unbounded,
    common_scale,
    confidence,
    edge_tests,
    mirrored,
    own_scales,
    residual_tests,
    sum_products,
    unbounded,
)
from peerpressure.recovery.data import observations_of
from peerpressure.recovery.digits import HARMLESS, has_density, spacing_of
from peerpressure.recovery.observation import Observation, answers_of
from peerpressure.schedules import Schedule, as_schedule
from peerpressure.simulation.trajectory import Trajectory
from peerpressure.support.progress import ShouldStop, cancellable
from peerpressure.support.resources import require_memory

if TYPE_CHECKING:
    from peerpressure.recovery.data import Record


Deviations: TypeAlias = Literal["common", "agent", "known"]


def infer_network(
    data: Record,
    pressure: Schedule | float | str | Sequence[float] | None = None,
    *,
    noise: Noise | None = None,
    std: Deviations = "common",
    symmetric: bool = False,
    signed: bool = False,
    stubbornness: float | Sequence[float] | Array = 1.0,
    penalty: Penalty = "bic",
    candidates: ArrayLike | Network | None = None,
    observation: Observation | None = None,
    partial: bool = False,
    should_stop: ShouldStop | None = None,
) -> NetworkEstimate:
    """Infer who listens to whom from public opinions alone.

    The observer knows peer pressure and when opinions were public, but neither the network nor stubbornness, hidden
    opinions or, by default, the size of the noise. Network and hidden opinions of a run's model are not used. Weights
    and hidden opinions are the maximum of their joint likelihood, one convex problem for each agent, restricted to
    the edges that the penalty selects. Unless ``signed``, weights are assumed not to be negative, and ``notes`` of the
    estimate warn of answers that show distrust. Weights may differ in the two directions of a pair, as on a directed
    network.

    Parameters
    ----------
    data : Trajectory, pandas.DataFrame, xarray.Dataset, array or path
        Public opinions at successive steps, in one replicate or several, in any form that `observations_of` takes. y₀
        is used if the ``start`` of a run's model is public, or if the observation sees it; then hidden opinions are
        known as well.
    pressure : Schedule, float, str or sequence of float, optional
        Peer pressure ρ_t; by default that of a run's model. Data in another form have none.
    noise : Noise, optional
        Noise distribution; by default that of a run's model, and Gaussian for answers that were not simulated. White or
        AR(1) with its coefficient known; errors are exact in the limit of many steps for every white law without skew
        and with a finite fourth moment.
    std : {"common", "agent", "known"}, default "common"
        Whether the deviations of ``noise`` are known up to one factor for all agents, not at all, or as they are. With
        "agent" the scale of an agent's weights is determined by its first steps only; see ``scale_std``.
    symmetric : bool, default False
        Impose a_ij = a_ji, with w_ij = a_ij/s_i for the ``stubbornness`` s given.
    signed : bool, default False
        Allow negative weights, as on a signed network: agents then move away from those whom they distrust. Opinions
        are taken relative to 0, of which −y is the opposite of y. It takes more steps than weights of one sign, and
        does not combine with ``symmetric``.
    stubbornness : float or sequence of float, default 1.0
        Used by symmetric fits only; any common factor changes nothing but the unit of weights.
    penalty : "bic", float or None, default "bic"
        Selection of edges: an L1 penalty of this many √(2 log n) standard errors of the score, or the one that the
        Bayesian information criterion chooses for each agent, then a fit of the selected edges without it; or none.
    candidates : Network or array of shape (n, n), optional
        Pairs (i, j) such that i may listen to j; all by default. Steps are lost only to gaps among these.
    observation : Observation, optional
        Observed agents and steps; by default all that is recorded from step 1 on.
    partial : bool, default False
        Accept that some agents are not observed. Weights then contain what the observed agents repeat of them.
    should_stop : callable, optional
        Called between agents; the work is cancelled with `CancelledError` if it returns True.

    Returns
    -------
    NetworkEstimate
        Weights with standard errors and confidences, hidden opinions, and noise.

    Raises
    ------
    InvalidInputError
        If the run is not of this model (adaptation, a temporal network, a signed one unless ``signed``, continuous
        time, frozen noise), has too few successive steps under peer pressure, does not observe all agents, or if some
        answers follow from the others to the last digits, as they do without fresh noise.
    TooLargeError
        If the matrices do not fit into memory, or a symmetric fit has too many edges.

    See Also
    --------
    recover : Estimate hidden opinions where the network is known.

    References
    ----------
    .. [1] Meinshausen & Bühlmann (2006), High-dimensional graphs and variable selection with the lasso, Ann. Stat. 34,
       1436.

    Examples
    --------
    >>> from peerpressure import Gaussian, Model, simulate
    >>> from peerpressure.networks import cycle
    >>> from peerpressure.recovery import infer_network
    >>> model = Model(cycle(6), hidden=range(6), noise=Gaussian(1.0))
    >>> estimate = infer_network(simulate(model, steps=400, seed=1), model.pressure)
    >>> estimate.average_precision(model.network)
    1.0
    """
    with cancellable(should_stop):
        run = observations_of(data)
        law = _checked(run, _law(run, noise), std, symmetric=symmetric, signed=signed)
        steps, agents, spacing = _steps(run, _pressure(data, pressure), law, observation)
        missing = run.model.n - agents.size
        if missing and not partial:
            rule = "all agents must be observed, because weights also contain what others repeat of the unobserved ones"
            remedy = "infer from part of the agents, for weights without standard errors"
            raise InvalidInputError(
                message(rule, got=f"{missing} of {run.model.n} unobserved", remedy=remedy),
                argument="infer_network.partial",
            )
        labels = tuple(run.model.network.labels[i] for i in agents)
        _check_memory(agents.size, 1)
        allowed = _candidates(candidates, labels)
        if signed:
            steps, allowed = mirrored(steps), np.hstack([allowed, allowed])
        groups = _groups(steps, allowed, alike=symmetric)
        deviation = law.deviations(run.model.n)[agents].astype(float)
        task = _Task(steps, groups, allowed, deviation, std, _checked_penalty(penalty), _excess_kurtosis(law))
        s = _checked_stubbornness(stubbornness, agents.size) if symmetric else None
        estimate = _directed(task) if s is None else _symmetric(task, s)
        harm = spacing if spacing is not None and spacing > HARMLESS * _least_noise(task, estimate) else 0.0
        return replace(_named(estimate, labels, missing), spacing=harm)


def _least_noise(task: _Task, estimate: NetworkEstimate) -> float:
    """Return the least standard deviation of an answer given the step before, of all agents and steps."""
    scale, rho = task.steps.scale, task.steps.rho
    white = np.sqrt(1 - task.steps.coefficient**2)
    pull = 1 + rho[:, None] * np.abs(estimate.weights).sum(axis=1)
    return float((white * scale[:, None] * estimate.noise_std / pull).min())


def _named(estimate: NetworkEstimate, labels: tuple[Hashable, ...], missing: int) -> NetworkEstimate:
    # An agent that is not observed may act on all others: what it does is taken for edges between them, and neither
    # errors nor confidence mean anything.
    if missing:
        nothing = np.full_like(estimate.weights, np.nan)
        hidden = np.full_like(estimate.hidden, np.nan)
        estimate = replace(estimate, std=nothing, confidence=nothing, hidden_std=hidden, distrust_p_value=float("nan"))
    return replace(estimate, labels=labels, unobserved=missing)


# What comes in.


def _law(run: Trajectory, noise: Noise | None) -> Noise:
    """Return the noise distribution; that of data is Gaussian unless something else is known."""
    known = run.model.noise if noise is None else noise
    return Gaussian() if noise is None and run.seed < 0 and known.is_zero else known


def _pressure(data: Record, pressure: Schedule | float | str | Sequence[float] | None) -> Schedule:
    if pressure is not None:
        return as_schedule(pressure)
    if isinstance(data, Trajectory):
        return data.model.pressure
    rule = "peer pressure must be known for a network to be inferred"
    remedy = "pass pressure=..., for instance 1.0; only a run has a model that says it"
    raise InvalidInputError(message(rule, got="data without a model", remedy=remedy))


def _checked(run: Trajectory, law: Noise, std: object, *, symmetric: bool, signed: bool) -> Noise:
    if std not in ("common", "agent", "known"):
        rule = "std must be 'common', 'agent' or 'known'"
        raise InvalidInputError(message(rule, got=repr(std), remedy="choose one of them"))
    # The problem is convex in θ_ij = w_ij τ_i; with a τ_i for each agent, equal w_ij and w_ji make θ_ij τ_j = θ_ji τ_i.
    if symmetric and std == "agent":
        rule = "a symmetric fit needs deviations that are known up to one factor: else it is not convex"
        remedy = "use a common deviation, or infer a directed network"
        raise InvalidInputError(
            message(rule, got="one of each agent", remedy=remedy),
            argument=("infer_network.std", "infer_network.symmetric"),
        )
    if symmetric and signed:
        rule = "weights of both signs are inferred for each direction on its own"
        raise InvalidInputError(
            message(rule, got="both", remedy="ask for a signed or a symmetric network, not both"),
            argument=("infer_network.signed", "infer_network.symmetric"),
        )
    model = run.model
    wrong = (
        "an SDE" if run.equation is not None
        else "hidden opinions that adapt" if model.adaptation is not None
        else "a temporal network" if model.temporal_network is not None
        else "agents who do not update at every step" if model.activation is not None
        else "frozen noise" if law.is_frozen
        else "no noise" if law.is_zero or not law.deviations(model.n).all()
        else None
    )  # fmt: skip
    if wrong:
        rule = "a network is inferred in discrete time, from constant weights and hidden opinions and fresh noise"
        remedy = "there is no inference for such runs; of noise, only the law is used unless std is 'known'"
        raise InvalidInputError(message(rule, got=wrong, remedy=remedy))
    if model.network.signed and not signed:
        # The degrees of the likelihood are sums of weights, which for signed ones are those of absolute values.
        rule = "a network is inferred under the assumption that no weight is negative"
        remedy = "infer a signed network, with weights of both signs"
        raise InvalidInputError(message(rule, got=repr(model.network), remedy=remedy), argument="infer_network.signed")
    if law.autocorrelation and not isinstance(law, Gaussian):
        rule = "AR(1) noise must be Gaussian for its network to be inferred"
        raise InvalidInputError(message(rule, got=str(law), remedy="use white noise of this law, or Gaussian AR(1)"))
    return law


def _excess_kurtosis(law: Noise) -> float:
    """Return E u⁴ − 3, after checking that the likelihood of a normal law has correct errors under this one."""
    skew, excess = (float(value) for value in law.unit().stats(moments="sk"))
    # The score is u² − 1 in the direction of the scale, and its variance needs a fourth moment.
    if not np.isfinite(excess) or abs(skew) > 1e-6:
        rule = "noise must have a finite fourth moment and no skew for standard errors of weights"
        raise InvalidInputError(message(rule, got=str(law), remedy="assume Gaussian noise with the same deviation"))
    return excess


def _checked_penalty(penalty: object) -> Penalty:
    if penalty is None or penalty == "bic":
        return penalty
    if isinstance(penalty, bool) or not isinstance(penalty, (int, float, np.number)) or not 0 <= penalty < np.inf:
        rule = "the penalty must be 'bic', None or a number, 0 or more"
        raise InvalidInputError(message(rule, got=repr(penalty), remedy="1 is the size of the noise"))
    return float(penalty)


def _checked_stubbornness(value: ArrayLike, n: int) -> Array:
    s = np.broadcast_to(np.asarray(value, dtype=np.float64), (n,)) if np.size(value) in (1, n) else np.zeros(n)
    if not (np.isfinite(s).all() and (s > 0).all()):
        rule = f"stubbornness must be positive, one for all or for each of the {n} observed agents"
        raise InvalidInputError(message(rule, got=repr(value)[:80], remedy="leave it out for equal stubbornness"))
    return np.array(s)


def _steps(
    run: Trajectory, pressure: Schedule, law: Noise, observation: Observation | None
) -> tuple[Steps, Index, float | None]:
    """Return the usable steps, the observed agents, and the spacing of a grid on which their answers lie."""
    data = answers_of(run, run.model, observation)
    if data.seen.rounding:
        rule = "answers must be exact for the network to be inferred"
        remedy = "leave rounding out; differences of late opinions are smaller than it as a rule"
        raise InvalidInputError(message(rule, got=f"rounding {data.seen.rounding:g}", remedy=remedy))
    values, times = data.values, data.seen.times
    known = data.known[0, data.seen.agents]
    public = not isinstance(run.model.start, str)
    if (public or data.seen.sees_start) and (not times.size or times[0] == 1):
        # A public start is known to every observer; a hidden one only if it is seen, and it is x₀ then.
        start = run.model.start_state[data.seen.agents] if public else known
        first = np.broadcast_to(start, (values.shape[0], 1, values.shape[2]))
        values, times = np.concatenate([first, values], axis=1), np.concatenate([[0], times])
    # Schedules begin at step 1; the values of step 0 are never read.
    at = np.maximum(times, 1)
    steps = Steps(values, times, pressure(at), law.scale(at), law.autocorrelation, known)
    return steps, data.seen.agents, spacing_of(data) if has_density(law) else None


def _candidates(given: ArrayLike | Network | None, labels: tuple[Hashable, ...]) -> Mask:
    n = len(labels)
    if given is None:
        allowed = np.ones((n, n), dtype=bool)
    elif isinstance(given, Network):
        picked = given.indices(labels)
        allowed = given.adjacency.toarray()[np.ix_(picked, picked)] != 0
    else:
        allowed = np.array(given, dtype=bool)
    if allowed.shape != (n, n):
        rule = f"candidates must be a matrix of shape ({n}, {n}), one row for each observed agent"
        raise InvalidInputError(message(rule, got=f"shape {allowed.shape}", remedy="leave it out to allow all pairs"))
    # An agent's own weight is its stubbornness.
    allowed[np.diag_indices(n)] = False
    return allowed


def _groups(steps: Steps, allowed: Mask, *, alike: bool) -> list[ProductSums]:
    """Return the sums for each set of agents that can use the same steps, ``alike`` for all agents the same ones."""
    # Of columns there are twice as many as agents where these have mirror images.
    n = len(allowed)
    missing = np.stack([np.isnan(steps.states[:, row]).any(axis=0) for row in range(steps.times.size)])
    # An agent's step is lost if its own answer is missing, or that of anyone it may listen to one step before.
    hears = allowed | (steps.lag == 2 and np.eye(n, allowed.shape[1], dtype=bool))
    heard = missing.astype(float) @ hears.T.astype(float) > 0
    lost = missing[:, :n].copy()
    for lag in range(1, steps.lag + 1):
        lost[lag:] |= heard[:-lag]
    usable = steps.consecutive()[:, None] & ~lost
    if alike:
        # One weight belongs to two agents, whose sums must run over the same steps.
        usable[:] = usable.all(axis=1, keepdims=True)
    _check_steps(usable & (steps.rho > 0)[:, None])
    _check_memory(allowed.shape[1], np.unique(usable, axis=1).shape[1])
    # Agents with the same usable steps share EᵀE, which takes nearly all of the time and memory.
    free = np.isnan(steps.known)
    keys: dict[bytes, list[int]] = {}
    for i in range(n):
        keys.setdefault(usable[:, i].tobytes() + free[i].tobytes(), []).append(i)
    # Sums that overflow are refused with the reason.
    with np.errstate(over="ignore", invalid="ignore"):
        return [
            _check_sizes(
                sum_products(
                    steps, np.array(members), np.flatnonzero(usable[:, members[0]]), free=bool(free[members[0]])
                )
            )
            for members in keys.values()
        ]


def _check_steps(usable: Mask) -> None:
    count = usable.sum(axis=0)
    if count.min() < 3:
        rule = "each agent needs 3 steps or more under peer pressure that are observed together with their predecessors"
        got = f"{int(count.min())} for agent number {int(count.argmin())}"
        remedy = "check the pressure, record every step, or name candidates to ignore the gaps of others"
        raise InvalidInputError(message(rule, got=got, remedy=remedy))


def _check_sizes(group: ProductSums) -> ProductSums:
    if not 0 < float(np.trace(group.s)) < np.inf:
        rule = "answers must differ between agents, and squares of ρ times their differences be neither 0 nor infinite"
        got = f"a sum of squares of {np.trace(group.s):g}"
        raise InvalidInputError(message(rule, got=got, remedy="check the answers, and choose another unit of opinions"))
    return group


def _check_memory(n: int, patterns: int) -> None:
    # The sums of each pattern, an inverse, five numbers for each pair without bounds, and the matrices of the result.
    needed = 8 * n * n * (patterns + 3 + 5 + 6)
    # Several patterns are those of gaps in the answers.
    remedy = "observe fewer agents, or fill gaps" if patterns > 1 else "observe fewer agents"
    require_memory(needed, what=f"the matrices of {n:,} agents", remedy=remedy)


# The fits.


@final
@dataclass(frozen=True, eq=False)
class _Task:
    steps: Steps
    groups: list[ProductSums]
    allowed: Mask
    deviation: Array
    std: Deviations
    penalty: Penalty
    excess: float

    @cached_property
    def places(self) -> list[tuple[ProductSums, int]]:
        """The group of each agent, and its position there."""
        place_of = {int(i): (group, at) for group in self.groups for at, i in enumerate(group.agents)}
        return [place_of[i] for i in range(len(place_of))]

    @cached_property
    def unbounded(self) -> list[Unbounded | None]:
        """The likelihood of each agent without bounds, None if it has too few steps."""
        n = len(self.allowed)
        agents: list[Unbounded | None] = [None] * n
        for group in self.groups:
            own = unbounded(self.steps, group, self.allowed[group.agents, :n], signed=self.signed)
            for i, agent in zip(group.agents, own, strict=True):
                agents[i] = agent
        return agents

    @property
    def signed(self) -> bool:
        """Whether agents have mirror images, to which they listen where they distrust."""
        return bool(self.allowed.shape[1] > self.allowed.shape[0])

    @cached_property
    def scales(self) -> tuple[Array, Array]:
        """The τ_i of each agent and the information about it, 0 where it is known or lost."""
        if self.std == "known":
            return 1 / self.deviation, np.zeros(self.deviation.size)
        if self.std == "agent":
            return own_scales(self.unbounded, self.deviation)
        factor, information = common_scale(self.unbounded, self.deviation)
        return factor / self.deviation, information * self.deviation**2

    @property
    def scale_std(self) -> Array:
        """The standard error of log τ_i, infinite where it is lost."""
        tau, information = self.scales
        if self.std == "known":
            return np.zeros(tau.size)
        with np.errstate(divide="ignore"):
            return np.asarray(1 / (tau * np.sqrt(information)))


def _directed(task: _Task) -> NetworkEstimate:
    n, m = task.allowed.shape
    tau, scale = task.scales
    value, error, spare = edge_tests(task.unbounded, tau, task.excess)
    # One thread: the steps are too small for threads to gain anything over the interpreter's lock.
    fits = [_fitted(task, i, m, value[i]) for i in range(n)]
    weights, std, hidden = np.zeros((n, m)), np.full((n, m), np.nan), np.zeros((n, 2))
    for i, own in enumerate(fits):
        covariance = covariance_of(own, scale[i] or np.inf, task.excess)
        weights[i, own.support] = own.beta[own.support] / tau[i]
        std[i, own.support] = np.sqrt(np.diag(covariance))
        hidden[i] = _hidden(task, i, covariance, weights[i, own.support], own.support)
    if task.penalty is None:
        # Weights that are 0 take part in the fit, so errors given these would be too small.
        sure = np.where(np.isinf(task.scale_std), 0.0, task.scale_std)
        apart = np.hstack([error] * (m // n)) / tau[:, None]
        std = np.where(weights > 0, np.hypot(apart, weights * sure[:, None]), np.nan)
    likelihood = -float(np.sum([objective(replace(own.problem, nu=np.ones(1)), own.beta) for own in fits]))
    penalties = np.array([own.penalty for own in fits])
    made = _result(task, weights, std, confidence(value, error, spare), hidden, penalties, likelihood)
    return _folded(made) if task.signed else made


def _fitted(task: _Task, i: int, candidates: int, value: Array) -> EdgeFit:
    """Return the fit of one agent; ``value`` (n,) are its weights without bounds."""
    (group, at), (tau, _), allowed = task.places[i], task.scales, task.allowed[i]
    if task.signed and task.penalty is None:
        # Without a penalty, nothing chooses between an agent and its mirror image but the sign.
        allowed = allowed & np.concatenate([value > 0, value < 0])
    problem = AgentProblem.of(group, at)
    own = fit_edges(problem, allowed, candidates, task.penalty, float(tau[i]))
    return _one_sign(own, problem) if task.signed else own


def _one_sign(own: EdgeFit, problem: AgentProblem) -> EdgeFit:
    """Return a fit in which no agent is both trusted and distrusted: of the two weights the larger one is kept."""
    trust, distrusted = np.split(own.beta[:-1], 2)
    both = (trust > 0) & (distrusted > 0)
    if not both.any():
        return own
    drop = np.append(np.concatenate([both & (trust < distrusted), both & (trust >= distrusted)]), False)
    kept = replace(own, beta=np.where(drop, 0.0, own.beta), allowed=own.allowed & (own.beta[:-1] > 0) & ~drop[:-1])
    return kept.refitted(problem)


def _folded(made: NetworkEstimate) -> NetworkEstimate:
    """Return weights of both signs (n, n) from those of agents and their mirror images (n, 2n)."""
    trust, distrusted = np.hsplit(made.weights, 2)
    std = np.where(distrusted > 0, *np.hsplit(made.std, 2)[::-1])
    # The probability of a deviation as large as this on either side.
    either = np.abs(2 * made.confidence - 1)
    return replace(made, weights=trust - distrusted, std=std, confidence=either, signed=True)


def _symmetric(task: _Task, stubbornness: Array) -> NetworkEstimate:
    n = len(task.allowed)
    tau, scale = task.scales
    # τ_i σ_i is the same for all agents, since deviations are known up to one factor.
    factor = float(tau[0] * task.deviation[0])
    pairs = np.argwhere(np.triu(task.allowed | task.allowed.T))
    problem = SymmetricProblem.of(task.groups, pairs, stubbornness, task.deviation)
    edges = fit_edges(problem, np.ones(len(pairs), dtype=bool), n, task.penalty, factor)
    covariance = covariance_of(edges, scale[0] / task.deviation[0] ** 2 or np.inf, task.excess)
    (a, b), edge = pairs[edges.support].T, edges.beta[edges.support] / factor
    weights, std, hidden = np.zeros((n, n)), np.full((n, n), np.nan), np.zeros((n, 2))
    for i, j in ((a, b), (b, a)):
        weights[i, j], std[i, j] = edge / stubbornness[i], np.sqrt(np.diag(covariance)) / stubbornness[i]
    for i in range(n):
        here = np.flatnonzero((a == i) | (b == i))
        j = (a + b)[here] - i
        own = covariance[np.ix_(here, here)] / stubbornness[i] ** 2
        hidden[i] = _hidden(task, i, own, weights[i, j], j)
    value, error, spare = edge_tests(task.unbounded, tau, task.excess)
    # The two agents of a pair have independent noise, so both tell about the same edge.
    unit = stubbornness * task.deviation
    value, precision = value * unit[:, None], 1 / (error * unit[:, None]) ** 2
    both = precision + precision.T
    mean = (value * precision + value.T * precision.T) / both
    likelihood = -objective(replace(edges.problem, nu=np.ones(n)), edges.beta)
    sure = confidence(mean, np.sqrt(1 / both), spare)
    return replace(_result(task, weights, std, sure, hidden, np.full(n, edges.penalty), likelihood), symmetric=True)


def _result(
    task: _Task, weights: Array, std: Array, sure: Array, hidden: Array, penalty: Array, likelihood: float
) -> NetworkEstimate:
    tau, _ = task.scales
    lost = np.isinf(task.scale_std)
    # Without information about the scale a weight may be any multiple of the estimate.
    std[lost] = np.where(weights[lost] > 0, np.inf, np.nan)
    hidden[lost & np.isnan(task.steps.known[: tau.size]), 1] = np.inf
    steps = np.array([group.rows for group, _ in task.places])
    # Two tests with one degree of freedom each; the p-value of a χ² with two is its exponential.
    chi = np.zeros(tau.size)
    for group in task.groups:
        own = group.agents
        relative = np.where(np.isnan(task.steps.known[own]), hidden[own, 0] - task.steps.centre, 0.0)
        both = residual_tests(task.steps, group, tau[own], weights[own], relative, task.excess)
        chi[own] = np.square(both).sum(axis=0)
    return NetworkEstimate(
        (), weights, std, sure, hidden[:, 0], hidden[:, 1], 1 / tau, task.scale_std, np.exp(-chi / 2), penalty, steps,
        likelihood + _constant(task), symmetric=False, unobserved=0, distrust_p_value=distrust(sure),
    )  # fmt: skip


def _hidden(task: _Task, i: int, covariance: Array, w: Array, support: Index) -> Array:
    group, at = task.places[i]
    # An opinion that is known takes part with its value and has no error.
    if not group.free:
        return np.array([task.steps.known[i], 0.0])
    value = hidden_opinion(group, at, float(task.scales[0][i]), covariance, w, support)
    value[0] += task.steps.centre
    return value


def _constant(task: _Task) -> float:
    """Return what the objectives leave out of the log-likelihood: the scale over time, and the factors of 2π."""
    steps, constant = task.steps, 0.0
    for group, _ in task.places:
        constant -= group.rows * 0.5 * np.log(2 * np.pi * (1 - steps.coefficient**2)) + group.log_scale
    return float(constant)
