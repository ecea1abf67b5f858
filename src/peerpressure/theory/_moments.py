"""Exact mean and variance of public and hidden opinions, without sampling.

``moments`` propagates mean and covariance forwards for all agents. For functionals, which are weighted sums of agents,
it runs the adjoint of the state-space operator backwards, for any number of agents. An ``SDE`` solves the differential
equations of the same moments.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, final, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from peerpressure.errors import InvalidInputError, message
from peerpressure.immutable import read_only
from peerpressure.model import Model
from peerpressure.progress import ShouldStop, cancellable
from peerpressure.sde import SDE
from peerpressure.sde._moments import moments_at, moments_of
from peerpressure.statespace import System, checked_system, initial_state, model_transitions
from peerpressure.statespace._systems import averaged_transitions
from peerpressure.step import Array

if TYPE_CHECKING:
    import pandas as pd


Times = NDArray[np.int64]


def step_count(steps: Any, name: str = "steps") -> int:
    """Return a number of steps, or of other things by name, of at least 1.

    >>> step_count(np.int64(3))
    3
    """
    # bool is a subclass of int, and True is more likely a mistake than one step.
    whole = isinstance(steps, int | np.integer) and not isinstance(steps, bool)
    if not whole or steps < 1:
        rule = f"{name} must be a whole number of at least 1"
        raise InvalidInputError(message(rule, got=repr(steps), remedy="pass 1 or more"))
    return int(steps)


def whole_times(t: ArrayLike, *, least: int, most: int | None = None) -> Times:
    """Return one time, or a vector of them, as whole numbers from ``least`` to ``most``."""
    upper = "on" if most is None else f"to {most}"
    rule = f"a time must be a whole number from {least} {upper}, or there may be several in a row"
    try:
        given = np.asarray(t)
    except ValueError:
        # An object array fails the dtype check below, so that ragged input gets the same message as other invalid
        # input.
        given = np.asarray(None)
    if given.size == 0 and given.ndim == 1:
        return np.zeros(0, dtype=np.int64)
    # Booleans and complex numbers are excluded; floats are allowed if whole, as np.linspace returns them.
    if given.dtype.kind not in "iuf" or given.ndim > 1:
        raise InvalidInputError(message(rule, got=repr(t)[:80], remedy=f"pass t = {least}, {least + 1}, …"))
    bad = (given < least) | (given != np.floor(given)) | ~np.isfinite(given)
    if most is not None:
        bad |= given > most
    if np.any(bad):
        first = np.atleast_1d(given)[np.flatnonzero(np.atleast_1d(bad))[0]]
        raise InvalidInputError(message(rule, got=first, remedy="drop or correct that time"))
    return given.astype(np.int64)


def real_times(t: ArrayLike, *, most: float) -> NDArray[np.float64]:
    """Return one or more real times from 0 to ``most`` in order, each once."""
    rule = f"a time must be a number from 0 to {most:g}, or there may be several in a row"
    try:
        given = np.asarray(t, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInputError(message(rule, got=repr(t)[:80], remedy="pass real times")) from None
    # The last time is a product such as 3·0.1 = 0.30000000000000004, for which a user writes 0.3.
    given = np.where(np.abs(given - most) <= 1e-12 * most, most, given)
    # The negated conjunction also catches NaN, for which every comparison is False.
    bad = np.flatnonzero(~((given >= 0) & (given <= most)))
    if given.ndim > 1 or given.size == 0 or bad.size:
        got = np.atleast_1d(given).flat[bad[0]] if bad.size else repr(t)[:80]
        raise InvalidInputError(message(rule, got=got, remedy="drop or correct that time"))
    return np.unique(given)


# Functionals: weighted sums cᵀz of a state.


@final
@read_only
@dataclass(frozen=True, eq=False)
class Functional:
    """A weighted sum cᵀy of opinions, with a name.

    Parameters
    ----------
    name : str
        Name in tables and figures.
    weights : array of shape (agents,)
        The weights c.

    See Also
    --------
    agent, difference, mean, consensus_mode : Functionals in common use.
    moments : Exact mean and variance of functionals.

    Examples
    --------
    >>> import numpy as np
    >>> from peerpressure.theory import Functional
    >>> Functional("first half", np.array([0.5, 0.5, 0.0, 0.0]))(np.array([1.0, 2.0, 3.0, 4.0]))
    array(1.5)
    """

    name: str
    weights: Array

    def __call__(self, public: Array) -> Array:
        """Return cᵀy for states of shape (…, agents)."""
        return np.asarray(public @ self.weights)


Functionals: TypeAlias = Functional | Sequence[Functional | ArrayLike] | ArrayLike


def consensus_mode(model: System) -> Functional:
    """Return the degree-weighted mean Σ d y / Σ d, the conserved quantity of peer pressure without own opinions.

    In a temporal network degrees are means over time; the sum is then not conserved, but has the value of the
    consensus once agents agree.

    Parameters
    ----------
    model : Model or SDE
        The model whose network has the degrees.

    Returns
    -------
    Functional
        The sum, as ``moments`` takes it.

    See Also
    --------
    mean : The plain mean.
    mode_error : Its distance to v.

    Examples
    --------
    >>> from peerpressure import Model
    >>> from peerpressure.networks import star
    >>> from peerpressure.theory import consensus_mode
    >>> consensus_mode(Model(star(4), hidden=[1.0, 0.0, 0.0, 0.0])).weights
    array([0.5 , 0.16666667, 0.16666667, 0.16666667])
    """
    return Functional("consensus mode", checked_system(model).model.mode_weights)


def mean(model: System) -> Functional:
    """Return the mean Σ y / n over agents.

    Parameters
    ----------
    model : Model or SDE
        The model whose agents are averaged.

    Returns
    -------
    Functional
        The functional that ``moments`` takes.

    See Also
    --------
    consensus_mode : The mean that is weighted by degrees.

    Examples
    --------
    >>> from peerpressure import Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.theory import mean
    >>> mean(Model(k2(), hidden=[1.0, 2.0])).weights
    array([0.5, 0.5])
    """
    n = checked_system(model).n
    return Functional("mean", np.full(n, 1.0 / n))


def agent(model: System, label: Hashable) -> Functional:
    """Return the opinion of the agent with this label.

    Parameters
    ----------
    model : Model or SDE
        The model that has the agent.
    label : hashable
        Its label.

    Returns
    -------
    Functional
        The functional that ``moments`` takes.

    Raises
    ------
    NetworkError
        If no agent has the label.

    See Also
    --------
    difference : Difference between two agents.
    moments : Exact mean and variance of functionals.

    Examples
    --------
    >>> from peerpressure import Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.theory import agent
    >>> agent(Model(k2(), hidden=[1.0, 2.0]), 1).weights
    array([0., 1.])
    """
    weights = np.zeros(checked_system(model).n)
    weights[model.network.index(label)] = 1.0
    return Functional(f"agent {label}", weights)


def difference(model: System, a: Hashable, b: Hashable) -> Functional:
    """Return the difference y_a − y_b between the opinions of two agents.

    Parameters
    ----------
    model : Model or SDE
        The model that has the agents.
    a, b : hashable
        Their labels.

    Returns
    -------
    Functional
        The functional that ``moments`` takes.

    Raises
    ------
    NetworkError
        If no agent has one of the labels.

    See Also
    --------
    agent : The opinion of one agent.

    Examples
    --------
    >>> import numpy as np
    >>> from peerpressure import Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.theory import difference
    >>> difference(Model(k2(), hidden=[1.0, 2.0]), 1, 0)(np.array([1.0, 2.0]))
    array(1.)
    """
    return Functional(f"agent {a} − agent {b}", agent(model, a).weights - agent(model, b).weights)


def stacked(model: System, of: Functionals, agents: int | None = None) -> tuple[tuple[str, ...], Array]:
    """Return the names of one or several functionals and their weights, shape (functionals, agents)."""
    n = model.n if agents is None else agents
    if isinstance(of, Functional):
        members: Sequence[Functional] = [of]
    # A list of numbers is one functional and a list of Functionals several; mixed lists may add plain weight vectors.
    elif isinstance(of, Sequence) and any(isinstance(item, Functional) for item in of):
        members = [_named(n, item, i) for i, item in enumerate(of)]
    else:
        members = [_named(n, row, i) for i, row in enumerate(_rows(n, of))]
    rows = [_checked(n, member.weights, member.name) for member in members]
    return tuple(member.name for member in members), np.stack(rows)


def _rows(n: int, of: object) -> Array:
    try:
        rows = np.atleast_2d(np.asarray(of, dtype=np.float64))
    except (TypeError, ValueError):
        rows = np.zeros((0, 0))
    if rows.ndim != 2 or rows.size == 0:
        rule = f"a functional must be a vector of {n} weights, and several the rows of a matrix"
        remedy = "for instance consensus_mode(model), or np.eye(model.n)[0]"
        raise InvalidInputError(message(rule, got=repr(of)[:80], remedy=remedy))
    return rows


def _named(n: int, item: object, position: int) -> Functional:
    if isinstance(item, Functional):
        return item
    return Functional(f"functional {position}", np.ravel(_rows(n, item)))


def _checked(n: int, weights: Array, name: str) -> Array:
    if weights.shape != (n,):
        rule = f"a functional must have one weight for each of the {n} agents"
        remedy = "several functionals are the rows of a matrix of shape (functionals, agents)"
        raise InvalidInputError(message(rule, got=f"shape {weights.shape} in {name}", remedy=remedy))
    if not np.all(np.isfinite(weights)):
        got = f"{weights[~np.isfinite(weights)][0]} in {name}"
        raise InvalidInputError(message("weights must be finite", got=got, remedy="use 0 to leave an agent out"))
    return weights


# Moments by the adjoint: the mean and variance of weighted sums of the state.

# Numbers per array, 64 MB, in one backward run. Every requested time adds rows to it, so that many times of a large
# network are split over several runs.
BLOCK = 2**23
# Up to so many rows einsum is used instead of BLAS, whose threads cost more than they save on a few rows: 7 ms against
# 0.5 ms for 10⁶ agents.
FEW = 8


@final
@dataclass(frozen=True, eq=False)
class Sums:
    """Moments of weighted sums: mean and variance (times, sums), covariance (sums, sums) at the last time."""

    mean: Array
    variance: Array
    covariance: Array


def moments_of_sums(model: Model, weights: Array, times: Times) -> Sums:
    """Return the moments of the sums with these weights, as ``adjoint_moments`` takes them, at increasing times."""
    parts = [adjoint_moments(model, weights, block) for block in _blocks(weights.size, times)]
    mean = np.concatenate([part.mean for part in parts])
    variance = np.concatenate([part.variance for part in parts])
    return Sums(mean, variance, parts[-1].covariance)


def adjoint_moments(model: Model, weights: Array, times: Times, carry: Array | None = None) -> Sums:
    """Return the moments of cᵀy_t, or of cᵀy_t + kᵀx_{t+1}, at each time by the adjoint of the model, in O(T·nnz).

    From the weights λ_T of the state z_T, each step of z_t = F z_{t−1} + B x₀ + G w_t is run back by λ_{t−1} = Fᵀλ_t.
    The mean is λ_0ᵀz_0 + Σ_t (Bᵀλ_t)ᵀx₀, and the variance the sum of squares Σ_t |Gᵀλ_t|², for the w_t are independent.

    Parameters
    ----------
    model : Model
        A model in discrete time.
    weights : array of shape (sums, agents) or (sums, 2·agents)
        The weights c, followed by k if given.
    times : array of int
        Increasing times from 0 on.
    carry : array of shape (sums, agents), optional
        The weights of the noise u_{T+1} that later steps have left, where noise is correlated.
    """
    start, x0, n, k = initial_state(model), model.x0, model.n, weights.shape[0]
    at, noisy = start.layout, not model.noise.is_zero
    # Rows are C-contiguous per functional; `rows.T` below gives the columns that the transition works on, without a
    # copy.
    fresh = np.zeros((k, at.states))
    fresh[:, at.public] = weights[:, :n]
    wide = weights.shape[1] > n
    # Constant hidden opinions are no part of the state, and their sum is known.
    constant = weights[:, n:] @ x0 if wide and not at.has_hidden else np.zeros(k)
    if wide and at.has_hidden:
        fresh[:, at.hidden] = weights[:, n:]
    first = fresh
    if carry is not None and at.has_memory:
        first = fresh.copy()
        # u_{T+1} = φ u_T + fresh noise, so the weight on u_{T+1} is φ times a weight on the memory of step T.
        first[:, at.memory] = model.noise.autocorrelation * carry
    rows = np.empty((0, at.states))
    # Flat, latest time first: rows are appended as the run passes earlier times, so a prefix is always the active part.
    mean, variance, covariance = np.tile(constant, times.size), np.zeros(times.size * k), np.zeros((k, k))

    def collect(noise: Array) -> None:
        """Add the variance of independent draws with these weights, (draws, rows)."""
        q = noise.T
        # The first k rows belong to the last time, the only one whose full covariance is returned.
        np.add(covariance, _gram(q[:k]), out=covariance)
        if len(q) > k:
            variance[k : len(q)] += np.einsum("ij,ij->i", q[k:], q[k:])

    # Later times come first, so that those still to come are appended.
    pending = {int(time) for time in times}
    last = int(times[-1])
    for t, step in zip(range(last, 0, -1), model_transitions(model, range(last, 0, -1), layout=at), strict=True):
        if t in pending:
            rows = np.concatenate([rows, fresh if rows.size else first])
        if not at.has_hidden:
            # λᵀB x₀: constant hidden opinions enter y with the gain.
            mean[: len(rows)] += np.einsum("ij,j->i", rows[:, at.public], step.update.gain * x0)
        # The mean above must be taken before, since the adjoint overwrites its argument.
        columns, noise = step.overwriting_adjoints(rows.T)
        if noisy:
            collect(noise)
        rows = columns.T
    if 0 in pending:
        rows = np.concatenate([rows, fresh])
    # The stationary noise memory at time 0 is random too and contributes its own variance.
    if noisy and at.has_memory:
        collect(start.noise_adjoint(rows.T))
    mean += rows @ (start.offset + start.forward(hidden=x0))
    variance[:k] = np.diag(covariance)
    shape = (times.size, k)
    # Back to increasing times.
    return Sums(mean.reshape(shape)[::-1], variance.reshape(shape)[::-1], covariance)


def _gram(rows: Array) -> Array:
    """Return all products of two rows."""
    return np.einsum("ai,bi->ab", rows, rows) if rows.shape[0] <= FEW else rows @ rows.T


def _blocks(size: int, times: Times) -> Iterator[Times]:
    """Split the times so that a run carries at most BLOCK numbers, one time at least."""
    length = max(1, BLOCK // size)
    # The last block is the full one, since its run is the longest and should serve as many times as possible; the first
    # has what is left over.
    first = times.size % length or min(length, times.size)
    yield times[:first]
    for start in range(first, times.size, length):
        yield times[start : start + length]


# Moments by the covariance recursion: the mean and covariance of all agents.


def forward_moments(
    model: Model, times: Times, *, hidden: bool = False, watch: Callable[[int, Array, Array], None] | None = None
) -> Sums:
    """Return mean and variance of every agent at increasing times, and the covariance at the last.

    With z_t = (y_t, x_{t+1}) without the noise memory, z_t = M z_{t−1} + B x₀ + N u_t. For P = Cov(z) and
    R = Cov(z, u), where u has autocorrelation φ and unit variance,

        P_t = M P_{t−1} Mᵀ + N Nᵀ + (φ M R_{t−1} Nᵀ + its transpose),  R_t = N + φ M R_{t−1},

    which is a third of the work of carrying u as a part of the state. Where it is random who updates, M, B and N are
    averages, and chance adds to P what ``AveragedStep`` says. ``hidden`` asks for hidden opinions behind the
    public ones, even where they are constant. ``watch`` is called with each step, and the mean and covariance after it
    of what is asked for.
    """
    start, n, phi = initial_state(model, hidden=hidden), model.n, model.noise.autocorrelation
    at = start.layout
    size, parts = at.memory.start, at.memory.start // n
    mean = (start.offset + start.forward(hidden=model.x0))[:size]
    P, R = np.zeros((size, size)), np.zeros((size, n if phi else 0))
    kept = size if hidden else n
    means, variances = np.empty((times.size, kept)), np.empty((times.size, kept))
    slots = {int(time): slot for slot, time in enumerate(times)}
    last = int(times[-1])
    steps = averaged_transitions(model, range(1, last + 1), at)
    for t in range(last + 1):
        if t > 0:
            taken = next(steps)
            step, by_chance = taken.averaged, taken.added_by_chance(mean, P, R, model.x0)
            mean = step.forward(mean, hidden=model.x0)
            # P is symmetric, so that two products from the left are one from either side.
            # Contiguous, because the sparse product would otherwise copy the transposed view anyway.
            P = step.forward(np.ascontiguousarray(step.forward(P).T))
            N = step.noise_weights
            # A writable view of the diagonals of the blocks: N Nᵀ only couples entries of the same agent.
            np.einsum("aibi->abi", P.reshape(parts, n, parts, n))[...] += N[:, None] * N
            if phi:
                # R must be the one of the step before in the cross term, so the new noise is added to it only
                # afterwards.
                R = phi * step.forward(R)
                cross = (R[:, None, :] * N).reshape(size, size)
                P += cross + cross.T
                np.einsum("aii->ai", R.reshape(parts, n, n))[...] += N
            if by_chance is not None:
                reaches = taken.reaches
                P.reshape(parts, n, parts, n)[...] += np.einsum("ai,ij,bj->aibj", reaches, by_chance, reaches)
        if watch is not None:
            watch(t, mean[:kept], P[:kept, :kept])
        if t in slots:
            means[slots[t]], variances[slots[t]] = mean[:kept], np.diag(P)[:kept]
    return Sums(means, variances, P[:kept, :kept])


# The verb and its result.

What: TypeAlias = Literal["public", "hidden", "joint"]

# A full covariance of this size takes 32 MB, and a step of it some 50 ms.
LARGEST_COVARIANCE = 2_000
_TABLE = "simulate instead, or give a table of who updates as the activation, for which there are functionals"


@final
@read_only
@dataclass(frozen=True, eq=False, repr=False)
class Moments:
    """Mean and variance of agents, or of functionals, as ``moments`` returns them.

    They are exact for every noise law, as only its standard deviation enters.

    Attributes
    ----------
    times : array of shape (times,)
        Steps, or real times for an ``SDE``.
    names : tuple
        Labels of agents, or names of functionals.
    mean, variance : array of shape (times, names)
        Moments at each time.
    covariance : array of shape (names, names)
        Covariance at the last time.

    See Also
    --------
    moments : Computes them.

    Examples
    --------
    >>> from peerpressure import Gaussian, Model, moments
    >>> from peerpressure.networks import k2
    >>> found = moments(Model(k2(), hidden=[0.0, 1.0], noise=Gaussian(1.0)), 2)
    >>> found.mean[-1].round(3), found.variance[-1].round(3)
    (array([0.333, 0.667]), array([0.222, 0.222]))
    """

    times: Times | NDArray[np.float64]
    names: tuple[Hashable, ...]
    mean: Array
    variance: Array
    covariance: Array

    def __post_init__(self) -> None:
        for array in (self.times, self.mean, self.variance, self.covariance):
            # A frozen dataclass does not protect the contents of its arrays.
            array.flags.writeable = False

    @property
    def std(self) -> Array:
        """The standard deviations, shape (times, names)."""
        return np.sqrt(self.variance)

    def band(self, z: float = 1.96) -> tuple[Array, Array]:
        """Return mean − z·std and mean + z·std; 1.96 covers 95 % of a normal law.

        Parameters
        ----------
        z : float, default 1.96
            Half-width in standard deviations.

        Returns
        -------
        low : array of shape (times, names)
            Lower end of the band.
        high : array of shape (times, names)
            Upper end of the band.
        """
        half_width = z * self.std
        return self.mean - half_width, self.mean + half_width

    def to_dataframe(self) -> pd.DataFrame:
        """Return one row for each time and name, with columns time, name, mean and std.

        Returns
        -------
        pandas.DataFrame
            Columns ``time``, ``name``, ``mean`` and ``std``.
        """
        import pandas as pd

        count = len(self.names)
        return pd.DataFrame(
            {
                "time": np.repeat(self.times, count),
                "name": [*self.names] * self.times.size,
                "mean": self.mean.ravel(),
                "std": self.std.ravel(),
            }
        )

    def __repr__(self) -> str:
        first, last = (f"{time:.6g}" if isinstance(time, float) else f"{time}" for time in self.times[[0, -1]].tolist())
        when = f"t = {first}" + f"…{last} ({self.times.size} times)" * (self.times.size > 1)
        if len(self.names) > 4:
            what = f"{len(self.names):,} agents or functionals"
        else:
            final_values = zip(self.names, self.mean[-1], self.std[-1], strict=True)
            what = "; ".join(f"{name} {mean:.6g} ± {std:.3g}" for name, mean, std in final_values)
        return f"Moments({when}, at the end {what})"


def moments(
    model: System,
    steps: int,
    of: Functionals | None = None,
    *,
    times: ArrayLike | None = None,
    what: What = "public",
    should_stop: ShouldStop | None = None,
) -> Moments:
    """Return the exact mean and variance of opinions, or of functionals of them, up to t = ``steps``.

    Parameters
    ----------
    model : Model or SDE
        The model, in discrete or continuous time.
    steps : int
        The last step, at least 1; steps of an ``SDE`` have its own length.
    of : Functional, sequence of them, or array of shape (functionals, agents), optional
        Weighted sums, for any number of agents; the work grows with the number of times. Left out, every agent, for up
        to 2,000 of them (1,000 where hidden opinions count).
    times : array_like, optional
        Times from 0 to the last; they are returned in order, each once. By default every step, or the last one for
        functionals.
    what : {"public", "hidden", "joint"}, default "public"
        Public opinions y_t, hidden opinions x_{t+1} after step t, or both, public ones first; functionals then have
        2·agents weights.
    should_stop : callable, optional
        Called at every step; the work is cancelled if it returns True.

    Returns
    -------
    Moments
        Mean and variance at the times, and the covariance at the last.

    Raises
    ------
    InvalidInputError
        If times, weights or ``what`` are not legal, or there are too many agents for their covariance.
    CancelledError
        If ``should_stop`` returns True.

    See Also
    --------
    theory.consensus_mode, theory.mean, theory.agent, theory.difference : Functionals.

    Examples
    --------
    >>> from peerpressure import Gaussian, Model, moments
    >>> from peerpressure.networks import k2
    >>> from peerpressure.theory import agent
    >>> model = Model(k2(), hidden=[0.0, 1.0], noise=Gaussian(1.0))
    >>> moments(model, 9, of=agent(model, 0))
    Moments(t = 9, at the end agent 0 0.5 ± 0.3)
    """
    steps = step_count(steps)
    if what not in get_args(What):
        rule = "moments are those of what is 'public', 'hidden' or 'joint'"
        raise InvalidInputError(message(rule, got=repr(what), remedy="leave it out for public opinions"))
    with cancellable(should_stop):
        checked_system(model)
        # Continuous time has differential equations where discrete time has recursions.
        if isinstance(model, SDE):
            return _continuous(model, steps, of, times, what)
        return _discrete(model.model, steps, of, times, what)


def _discrete(model: Model, steps: int, of: Functionals | None, times: ArrayLike | None, what: What) -> Moments:
    if of is not None:
        names, weights = stacked(model, of, agents=2 * model.n if what == "joint" else model.n)
        chosen = _chosen(times, steps, default=np.array([steps]))
        if what == "hidden":
            # Functionals of hidden opinions are functionals of the joint state with weight 0 on the public part.
            weights = np.concatenate([np.zeros_like(weights), weights], axis=1)
        found = _sums(model, weights, chosen)
        return Moments(chosen, names, found.mean, found.variance, found.covariance)
    at = model.layout if what == "public" else model.layout.with_hidden
    # The limit counts entries of the state; with hidden opinions there are two per agent.
    remedy = "ask for functionals, for instance of=consensus_mode(model), which work for any number"
    if model.activation is not None and model.activation.is_random:
        remedy = _TABLE
    _check_size(model.n, LARGEST_COVARIANCE * model.n // at.memory.start, remedy)
    chosen = _chosen(times, steps, default=np.arange(steps + 1))
    found = forward_moments(model, chosen, hidden=what != "public")
    kept = slice(model.n, None) if what == "hidden" else slice(None)
    return Moments(
        chosen, _labels(model, what), found.mean[:, kept], found.variance[:, kept], found.covariance[kept, kept]
    )


def _sums(model: Model, weights: Array, times: Times) -> Sums:
    """Return the moments of sums by the adjoint, or from the covariance of all agents where chance adds to it."""
    if model.activation is None or not model.activation.is_random:
        return moments_of_sums(model, weights, times)
    wide = weights.shape[1] > model.n
    at = model.layout.with_hidden if wide else model.layout
    _check_size(model.n, LARGEST_COVARIANCE * model.n // at.memory.start, _TABLE)
    asked, found = {int(time): slot for slot, time in enumerate(times)}, np.empty((2, times.size, len(weights)))

    def watch(t: int, mean: Array, P: Array) -> None:
        if t in asked:
            found[:, asked[t]] = weights @ mean, np.einsum("ki,ij,kj->k", weights, P, weights, optimize=True)

    last = forward_moments(model, times, hidden=wide, watch=watch)
    return Sums(found[0], found[1], weights @ last.covariance @ weights.T)


def _continuous(sde: SDE, steps: int, of: Functionals | None, times: ArrayLike | None, what: What) -> Moments:
    end = sde.time(steps)
    if times is not None:
        chosen = real_times(times, most=end)
    else:
        chosen = np.array([sde.time(k) for k in range(steps + 1)]) if of is None else np.array([end])
    if of is None:
        names, weights = _labels(sde, what), np.eye(2 * sde.n if what == "joint" else sde.n)
    else:
        names, weights = stacked(sde, of, agents=2 * sde.n if what == "joint" else sde.n)
    if of is None and what == "public":
        found = moments_at(sde, chosen)
    else:
        weights = np.concatenate([np.zeros_like(weights), weights], axis=1) if what == "hidden" else weights
        found = moments_of(sde, weights, chosen)
    return Moments(chosen, names, found.mean, found.variance, found.covariance)


def _labels(system: System, what: What) -> tuple[Hashable, ...]:
    labels: tuple[Hashable, ...] = tuple(system.network.labels)
    if what != "joint":
        return labels
    return (*(("public", label) for label in labels), *(("hidden", label) for label in labels))


def _chosen(times: ArrayLike | None, steps: int, *, default: Times) -> Times:
    if times is None:
        return default
    chosen = np.unique(whole_times(times, least=0, most=steps))
    if chosen.size == 0:
        rule = "there must be at least one time"
        raise InvalidInputError(message(rule, got="none", remedy="leave times out for the default"))
    return chosen


def _check_size(n: int, most: int, remedy: str) -> None:
    if n > most:
        rule = f"moments of every agent are computed for up to {most:,} agents here"
        raise InvalidInputError(message(rule, got=f"{n:,}", remedy=remedy))
