"""How fast the start is forgotten: contraction of distances between states, and the weight of x₀ that is left."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse import csgraph
from scipy.sparse.linalg import eigs

from peerpressure.errors import InvalidInputError, message
from peerpressure.model import Model
from peerpressure.model.adaptation import Adaptation
from peerpressure.model.statespace import discrete_model
from peerpressure.model.step import Array, Update
from peerpressure.schedules import Table
from peerpressure.support.progress import check_cancelled
from peerpressure.support.results import read_only
from peerpressure.theory._regime import farthest_reading
from peerpressure.theory.propagation import step_count, whole_times

# Contraction: the factor by which one step, or all steps so far, shrink the distance between two states.

# Up to this number of rows all eigenvalues are computed; Arnoldi iteration may miss members of a cluster near 1.
DENSE_JOINT = 600


def log_fading(update: Update) -> float:
    """Return the log of the factor per step by which (y, x) converges if one step is repeated forever.

    The map (y, x) ↦ (g∘x + C y, x + η∘(y − x)) conserves every hidden opinion that never adapts, and every consensus of
    a component in which all adapt. The largest modulus among the other eigenvalues determines the rate.
    """
    assert update.adaptation_rate is not None
    # Hidden opinions that never adapt would only add eigenvalues 1, which hide the one in question.
    adapting = np.flatnonzero(update.adaptation_rate > 0).astype(np.int64)
    matrix = _joint_map(update, adapting)
    lasting = _agreements(update)
    return _log_modulus(matrix, lasting)


def _joint_map(update: Update, adapting: NDArray[np.int64]) -> sparse.csr_array:
    """Return the joint map of all public opinions and of the hidden ones that adapt."""
    assert update.adaptation_rate is not None
    n = update.gain.size
    C, own = update.coupling, sparse.diags_array(update.gain, format="csr")[:, adapting]
    eta = sparse.diags_array(update.adaptation_rate[adapting], format="csr")
    rows = sparse.eye_array(n, format="csr")[adapting]
    stays = sparse.diags_array(1.0 - update.adaptation_rate[adapting])
    # Hidden opinions adapt to the new public opinion y_t, hence C and the gain occur in the second row too.
    return sparse.csr_array(sparse.block_array([[C, own], [eta @ rows @ C, stays + eta @ rows @ own]]))


def _agreements(update: Update) -> int:
    """Return the number of connected groups in which all adapt, each of which keeps any consensus."""
    assert update.adaptation_rate is not None
    count, label = csgraph.connected_components(update.adjacency, directed=False)
    # One agent that does not adapt fixes the consensus of its component, which then is no free mode.
    has_fixed = np.zeros(count, dtype=np.bool_)
    has_fixed[label[update.adaptation_rate == 0]] = True
    return int(np.count_nonzero(~has_fixed))


def _log_modulus(matrix: sparse.csr_array, lasting: int) -> float:
    """Return the log of the largest modulus among the eigenvalues that are not the lasting ones, equal to 1."""
    if matrix.shape[0] <= max(DENSE_JOINT, lasting + 3):
        values = np.linalg.eigvals(matrix.toarray())
    else:
        # The lasting eigenvalues have modulus 1, the largest possible, so the next one is the first of interest.
        values = eigs(matrix, k=lasting + 1, which="LM", return_eigenvectors=False)
    # By distance from 1 and not by modulus: a bipartite network also has an eigenvalue near −1, which is no consensus.
    order = np.argsort(np.abs(values - 1.0))
    rest = np.abs(np.delete(values, order[:lasting]))
    return float(np.log(rest.max())) if rest.size and rest.max() > 0 else -np.inf


# Up to this size a dense eigenvalue is faster, and exact for two agents too.
DENSE = 300
LANCZOS_ITERATIONS = 300


def contraction(model: Model, t: ArrayLike, *, exact: bool = False) -> Array:
    """Return the factor by which step t contracts the distance between two states.

    Parameters
    ----------
    model : Model
        The model.
    t : int or array of int
        Steps from 1 on.
    exact : bool, default False
        False gives the bound α_t = max_i ρ_t d_i/(s_i + ρ_t d_i) in the max-norm; True the spectral radius of C_t,
        which is the factor in the long run if pressure and network stay constant. Where hidden opinions adapt, any
        consensus is kept and the max-norm does not contract; True then gives the factor of all other modes, public and
        hidden.

    Returns
    -------
    array of the shape of ``t``
        The factors.

    Raises
    ------
    InvalidInputError
        If a time is invalid, or hidden opinions adapt and ``exact`` is False.

    See Also
    --------
    contraction_product : Product of the bounds over all steps.

    Examples
    --------
    >>> from peerpressure import Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.theory import contraction
    >>> contraction(Model(k2(), hidden=[0.0, 1.0]), [1, 3])
    array([0.5 , 0.75])
    """
    return np.exp(log_contraction(model, t, exact=exact))


def log_contraction(model: Model, t: ArrayLike, *, exact: bool = False) -> Array:
    """Return log α_t, or the log of the spectral radius, precise even where the factor rounds to 1.

    >>> from peerpressure.networks import k2
    >>> log_contraction(Model(k2(), hidden=[0.0, 1.0], pressure=1e20), 1)
    array(-1.e-20)
    """
    model, times = discrete_model(model), whole_times(t, least=1)
    if model.adaptation is not None and not exact:
        rule = "in the max-norm a step contracts only while hidden opinions are constant"
        remedy = "ask for exact=True, the factor by which disagreement fades"
        raise InvalidInputError(message(rule, got=model.adaptation, remedy=remedy))
    factor = _log_spectral_radius if exact else _log_row_sum
    steps = times.ravel().tolist()
    # Consecutive steps, as a product has them, are read in one go.
    run = range(steps[0], steps[-1] + 1) if steps else range(0)
    updates = model.updates(run) if steps == list(run) else map(model.update, steps)
    return np.array([factor(update) for update in updates], dtype=np.float64).reshape(times.shape)


def contraction_product(model: Model, steps: int, *, log: bool = False) -> Array:
    """Return Π_{k≤t} α_k for t = 1…steps, which tends to 0 exactly when Σ 1/ρ_t diverges.

    The shape is (steps,).

    >>> from peerpressure import Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.theory import contraction_product
    >>> contraction_product(Model(k2(), hidden=[0.0, 1.0]), 3)
    array([0.5       , 0.33333333, 0.25      ])
    """
    logs = np.cumsum(log_contraction(model, np.arange(1, step_count(steps) + 1)))
    return logs if log else np.exp(logs)


def _log_row_sum(update: Update) -> float:
    """Return log max_i Σ_j |C_ij|; the moduli in a row of C sum to 1 − gain."""
    least = float(update.gain.min())
    # log1p of the gain is exact where α_t is so close to 1 that 1 − gain rounds to 1.
    if least < 0.5:
        return float(np.log1p(-least))
    return _log_of_one_minus(least, float(update.absolute.couple(np.ones_like(update.gain)).max()))


def _log_spectral_radius(update: Update) -> float:
    """Return log λ for the largest eigenvalue λ of C, which is similar to √coupling_scale A √coupling_scale.

    For its unit eigenvector u and y = √coupling_scale u, the distance from 1 is a sum of positive terms:
    1 − λ = Σ gain u² + ½ Σ_ij w_ij (y_i − y_j)².
    """
    if update.adaptation_rate is not None and np.any(update.adaptation_rate):
        return log_fading(update)
    # An opinion that is kept is an eigenvector.
    if update.kept is not None:
        return 0.0
    # No pressure, or nobody has a neighbour at this step.
    if not np.any(update.coupling_scale) or not update.adjacency.nnz:
        return -np.inf
    if update.transposed is not update.adjacency or update.adjacency.data.min() < 0:
        return _log_general_radius(update)
    root = np.sqrt(update.coupling_scale)
    scale = sparse.diags_array(root)
    # The symmetric similar matrix has real eigenvalues and orthogonal eigenvectors, so Lanczos and `eigh` apply.
    radius, u = _top(sparse.csr_array(scale @ update.adjacency @ scale), 1.0 / root)
    y = root * u
    edges = sparse.coo_array(update.adjacency)
    i, j = edges.coords
    # A sum of positive terms keeps full relative accuracy of 1 − λ, where the difference would have none left. An error
    # ε in u only enters with ε², as for every Rayleigh quotient.
    distance = update.gain @ u**2 + 0.5 * (edges.data @ (y[i] - y[j]) ** 2)
    return _log_of_one_minus(float(distance), radius)


def _log_general_radius(update: Update) -> float:
    """Return log λ for the largest modulus λ of an eigenvalue of a C that is not symmetric, or has negative entries.

    Rows of C ≥ 0 sum to 1 − gain, so a left eigenvector l ≥ 0 gives 1 − λ = Σ gain l/Σ l, a sum of positive terms.
    """
    back = sparse.csr_array(update.coupling.T)
    if back.shape[0] <= DENSE:
        values, vectors = np.linalg.eig(back.toarray())
    else:
        values, vectors = eigs(back, k=1, which="LM")
    top = int(np.argmax(np.abs(values)))
    radius, left = float(np.abs(values[top])), np.abs(vectors[:, top])
    if back.data.min() < 0 or not left.sum() > 0:
        return float(np.log(radius)) if radius > 0 else -np.inf
    return _log_of_one_minus(float(update.gain @ left / left.sum()), radius)


def _log_of_one_minus(distance: float, factor: float) -> float:
    """Return log(factor) = log(1 − distance) from whichever of the two has not lost its digits."""
    if factor == 0:
        return -np.inf
    # Near λ = 1 the distance is precise, and near λ = 0 the factor is.
    return float(np.log1p(-distance) if distance < 0.5 else np.log(factor))


def _top(matrix: sparse.csr_array, start: Array) -> tuple[float, Array]:
    """Return the largest eigenvalue of a symmetric matrix and its unit eigenvector.

    The start is the eigenvector at infinite pressure.
    """
    if matrix.shape[0] <= DENSE:
        values, vectors = np.linalg.eigh(matrix.toarray())
        return float(values[-1]), vectors[:, -1]
    from scipy.sparse.linalg import ArpackNoConvergence, eigsh

    try:
        values, vectors = eigsh(matrix, k=1, which="LA", v0=start, maxiter=LANCZOS_ITERATIONS)
    except ArpackNoConvergence:
        # The eigenvalues of long chains cluster at 1, where Lanczos converges slowly. Inverting around a shift just
        # above 1 separates them; the shift must not be an eigenvalue, hence 1e-9.
        values, vectors = eigsh(matrix, k=1, sigma=1.0 + 1e-9, which="LM", v0=start)
    return float(values[0]), vectors[:, 0]


# Retention: the weight of the initial opinion x₀ that is left in an agent's own hidden opinion.

# Steps, and numbers in all, that are followed one by one; later ones are summed up by quadrature over log t.
FOLLOWED = 1_000_000
MOST_WORK = 2**24
NODES = 20_001
# Longer half-lives count as infinite: steps are no longer whole numbers in double precision.
FARTHEST_LIFE = 1e15
BLOCK = 2**20
FIRST_BLOCK = 2**10
# A smaller share adds less than 1e-18 per step to a sum of squares that is at least 1.
NEGLIGIBLE_SHARE = 1e-9


@final
@read_only
@dataclass(frozen=True, eq=False, repr=False)
class Retention:
    """The weight Π_{s≤t}(1 − η_s) of x₀ in an agent's own hidden opinion after step t.

    Attributes
    ----------
    share : array of shape (steps + 1, agents)
        The weights from time 0 on.
    half_life : array of shape (agents,)
        The number of steps after which less than half is left, beyond a million steps to about 7 digits; ∞ where that
        does not happen in 10¹⁵ steps, or in a table of rates.
    information : array of shape (agents,)
        The sum over all steps of the square of the share with which an agent enters the step. An observer of all steps
        of an agent, each with noise of standard deviation σ, has at most ``information``/σ² Fisher information about
        x₀. It is ∞ where the sum diverges, nan if that is unknown.

    See Also
    --------
    retention : Computes it.
    Adaptation : The rates η_t.

    Examples
    --------
    >>> from peerpressure import Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.theory import retention
    >>> retention(Model(k2(), hidden=[0.0, 1.0], adaptation=0.1), 3).share[:, 0].round(3)
    array([1.   , 0.9  , 0.81 , 0.729])
    """

    share: Array
    half_life: Array
    information: Array

    def __repr__(self) -> str:
        low, high = self.half_life.min(), self.half_life.max()
        life = f"{low:g}" if low == high else f"{low:g}–{high:g}"
        return f"Retention(half-life {life} steps, {self.share[-1].mean():.3g} left after {len(self.share) - 1:,})"


def retention(model: Model, steps: int) -> Retention:
    """Return the weight of x₀ in each agent's own hidden opinion after each of ``steps`` steps.

    Parameters
    ----------
    model : Model
        The model; where hidden opinions are constant, all of x₀ is retained.
    steps : int
        The last step, at least 1.

    Returns
    -------
    Retention
        Shares, half-lives and information of each agent.

    Raises
    ------
    InvalidInputError
        If ``steps`` is not a whole number of at least 1.

    See Also
    --------
    diagnose : Whether hidden opinions agree in the long run.
    recovery.information : What an observer learns of x₀.

    Examples
    --------
    >>> from peerpressure import Adaptation, Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.theory import retention
    >>> kept = retention(Model(k2(), hidden=[0.0, 1.0], adaptation=Adaptation(0.5, [1.0, 0.0])), 3)
    >>> kept.share[:, 0], kept.half_life
    (array([1.   , 0.5  , 0.25 , 0.125]), array([ 2., inf]))
    >>> kept.information.round(6)
    array([1.333333,      inf])
    """
    model, steps = discrete_model(model), step_count(steps)
    if model.adaptation is None:
        return Retention(np.ones((steps + 1, model.n)), np.full(model.n, math.inf), np.full(model.n, math.inf))
    # Agents of one adaptation weight have the same shares.
    factors, which = np.unique(model.adaptation.adaptation_weights(model.n), return_inverse=True)
    share, lives, totals = _followed(model.adaptation, factors, steps)
    return Retention(share[:, which], lives[which], totals[which])


def _followed(adaptation: Adaptation, factors: Array, steps: int) -> tuple[Array, Array, Array]:
    """Return shares, half-lives and sums of squares for every factor, shapes (steps + 1, factors) and (factors,)."""
    share = np.ones((steps + 1, factors.size))
    lives, squares, left = np.full(factors.size, math.inf), np.zeros(factors.size), np.ones(factors.size)
    # Half-lives and information concern all time, so the recursion continues beyond the steps asked for.
    known = adaptation.rate.values.size if isinstance(adaptation.rate, Table) else FOLLOWED
    last, done = max(steps, min(known, MOST_WORK // factors.size)), 0
    # In blocks, so memory does not grow with the number of steps, and the loop stops once nothing is left; the first
    # ones are short, as most adaptation forgets soon.
    length, most = FIRST_BLOCK, max(1, BLOCK // factors.size)
    while done < last and (done < steps or np.any(left[factors > 0] > NEGLIGIBLE_SHARE)):
        asked = done < steps
        block = _rates(adaptation, done, min(done + min(length, most), steps if asked else last), asked=asked)
        if block is None:
            break
        after = block[:, None] * factors
        # In place: blocks are long, and memory takes longer than the arithmetic.
        np.cumprod(np.subtract(1.0, after, out=after), axis=0, out=after)
        after *= left
        # A step observes the share with which the agent enters it, hence the shift by one.
        squares += left**2 + np.einsum("tk,tk->k", after[:-1], after[:-1])
        # Shares never rise, so the first one below is where those above end.
        above = np.count_nonzero(after >= 0.5, axis=0)
        lives = np.where(np.isinf(lives) & (above < len(after)), done + above + 1, lives)
        if asked:
            share[done + 1 : done + block.size + 1] = after
        left, done, length = after[-1], done + block.size, 4 * length
    later, rest = _later(adaptation, factors, left, done)
    return share, np.minimum(lives, later), squares + rest


def _rates(adaptation: Adaptation, begin: int, end: int, *, asked: bool) -> Array | None:
    """Return the common rates of steps begin + 1…end; None if they are invalid and were not asked for."""
    try:
        return adaptation.pace(np.arange(begin + 1, end + 1))
    except InvalidInputError:
        # A user's formula may give rates above 1 at late times that no run ever reaches.
        if asked:
            raise
        return None


def _later(adaptation: Adaptation, factors: Array, left: Array, done: int) -> tuple[Array, Array]:
    """Return half-lives and sums of squared shares, from the steps after those that were followed.

    Shares are exp(−Λ) with Λ = −Σ log(1 − η_t), a sum that is an integral by the midpoint rule, over log t.
    """
    lives, squares = np.full(factors.size, math.inf), np.zeros(factors.size)
    squares[factors == 0] = math.inf
    open_ended = np.flatnonzero((factors > 0) & (left > NEGLIGIBLE_SHARE))
    if isinstance(adaptation.rate, Table):
        squares[open_ended] = math.nan
        return lives, squares
    if not open_ended.size:
        return lives, squares
    # Imported here, since it takes long to load and few adaptations need it.
    from scipy.integrate import cumulative_simpson

    nodes = min(NODES, max(1001, MOST_WORK // factors.size))
    log_t = np.linspace(math.log(done + 0.5), farthest_reading(adaptation.rate), nodes)
    times = np.exp(log_t)
    with np.errstate(all="ignore"):
        rates = adaptation.rate.pressure(times)
        for k in open_ended:
            check_cancelled()
            sums = cumulative_simpson(-np.log1p(-rates * factors[k]) * times, x=log_t, initial=0.0)
            lives[k] = _first_below_half(left[k], sums, log_t)
            squares[k] = left[k] ** 2 * _sum_of_squares(adaptation, factors[k], sums, log_t)
    return lives, squares


def _first_below_half(left: float, sums: Array, log_t: Array) -> float:
    """Return the first step after which less than one half is left, where that is after the followed steps."""
    from scipy.interpolate import CubicSpline

    needed = math.log(2 * left)
    if needed < 0 or not sums[-1] > needed:
        return math.inf
    after = int(np.searchsorted(sums, needed))
    # Few nodes around the crossing, where sums are strictly increasing.
    near = slice(max(after - 3, 0), after + 2)
    # The integral up to t + ½ is the sum up to the step t.
    step = math.exp(float(CubicSpline(sums[near], log_t[near])(needed))) - 0.5
    return float(math.floor(step) + 1) if step < FARTHEST_LIFE else math.inf


def _sum_of_squares(adaptation: Adaptation, factor: float, sums: Array, log_t: Array) -> float:
    """Return the sum of exp(−2Λ) over later steps: ∞ where it diverges, nan if that is unknown."""
    from scipy.integrate import simpson

    exponent, times = adaptation.rate.growth.exponent, np.exp(log_t)
    terms = np.exp(-2 * sums)
    # Where η ~ c/t, terms fall like t^(−2c), and the sum over all t converges for 2c > 1.
    fall = 2 * factor * float(adaptation.rate.pressure(times[:1])[0]) * float(times[0])
    if exponent is not None and (exponent < -1 or (exponent == -1 and fall <= 1)):
        return math.inf
    if exponent == -1:
        return float(times[0] / (fall - 1)) + 0.5
    total = float(simpson(terms * times, x=log_t)) + 0.5
    return total if terms[-1] * times[-1] <= NEGLIGIBLE_SHARE * total else math.nan
