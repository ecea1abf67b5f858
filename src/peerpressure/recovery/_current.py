"""What agents hold in the end, x_{T+1} after the last seen step T, where hidden opinions adapt.

An observer of everything knows x_{T+1} = π_T x₀ + k_T up to the fading share of x₀, and so better and better, while x₀
itself sinks into the past. A new method is one function ``method(model, data, prior) -> Estimate`` and one line in
``CURRENT``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from peerpressure.errors import InvalidInputError, TooLargeError, message
from peerpressure.model import Model
from peerpressure.noise import Gaussian
from peerpressure.recovery._estimate import Covariance, Estimate, Prior, Target, estimate_from, known_estimate
from peerpressure.recovery._information import PARTIAL_LIMIT
from peerpressure.recovery._innovations import adopted, innovations, own_share, refuse_incomplete
from peerpressure.recovery._kalman import believed_state, run_filter
from peerpressure.recovery._observation import Outputs
from peerpressure.recovery._regression import Design, refuse_large
from peerpressure.recovery._solve import Implicit, solve, split

Array: TypeAlias = NDArray[np.float64]
TARGETS = ("initial", "current")


def current_by_innovations(model: Model, data: Outputs, prior: Prior | None = None) -> Estimate:
    """Return π_T x̂₀ + k_T from complete outputs, with covariance π_T Cov(x̂₀) π_T."""
    refuse_incomplete(data)
    free = data.seen.free.size
    initial = innovations(model, data, prior) if free else known_estimate(model, data, "innovations")
    share = np.broadcast_to(own_share(model, data.seen.last)[-1], (model.n,))
    identified = initial.identified | (share == 0)
    return replace(
        initial,
        value=share * initial.value + adopted(model, data),
        covariance=_scaled(initial.covariance, share),
        identified=identified,
        rank=model.n if identified.all() else initial.rank,
        note="" if free else "follows from the start, which was seen",
    )


def current_by_filter(model: Model, data: Outputs, prior: Prior | None = None) -> Estimate:
    """Return the filter's belief about x_{T+1}, from whatever is seen."""
    if model.n > PARTIAL_LIMIT:
        rule = f"what agents hold in the end is followed through a partial view for at most {PARTIAL_LIMIT:,} agents"
        remedy = "use complete outputs with method='innovations', which takes millions"
        raise TooLargeError(message(rule, got=f"{model.n:,}", remedy=remedy))
    moment = deque(run_filter(model, data, prior), maxlen=1)[0]
    solution = moment.knowledge.solve()
    held = believed_state(moment, solution.belief).part(slice(model.n, 2 * model.n))
    goodness_of_fit = solution.goodness_of_fit if isinstance(model.noise, Gaussian) else None
    rank = model.n - int(np.linalg.matrix_rank(held.loose, tol=1e-9)) if held.loose.size else model.n
    return Estimate(
        model, "kalman", held.mean, held.covariance, held.identified, rank, solution.condition, goodness_of_fit
    )


CURRENT: Mapping[str, Callable[[Model, Outputs, Prior | None], Estimate]] = {
    "innovations": current_by_innovations,
    "kalman": current_by_filter,
}


def current(model: Model, data: Outputs, method: str, prior: Prior | None) -> Estimate:
    """Return the estimate of what agents hold in the end."""
    if method not in CURRENT:
        rule = f"what agents hold in the end is estimated by {' or '.join(CURRENT)}"
        raise InvalidInputError(message(rule, got=repr(method), remedy="use method='kalman', or target='initial'"))
    return replace(CURRENT[method](model, data, prior), target="current")


def checked_target(value: object) -> Target:
    """Return what is to be estimated, refusing what is neither."""
    if value == "initial":
        return "initial"
    if value == "current":
        return "current"
    rule = f"the target must be one of {', '.join(map(repr, TARGETS))}"
    raise InvalidInputError(message(rule, got=repr(value), remedy="'initial' is x₀, 'current' what is held in the end"))


def _scaled(covariance: Covariance, share: Array) -> Any:
    """Return diag(share) · covariance · diag(share), in the form in which the covariance came."""
    if isinstance(covariance, Implicit):
        entries = None if covariance.entries is None else share**2 * covariance.entries
        return Implicit(
            covariance.n, lambda columns: share[:, None] * (covariance @ (share[:, None] * columns)), entries
        )
    if sparse.issparse(covariance):
        sides = sparse.diags_array(share, format="csr")
        return sparse.csr_array(sides @ covariance @ sides)
    return share[:, None] * (covariance @ np.diag(share))


# One look at the end: only the last seen step is used.

NAME = "snapshot"


def snapshot(model: Model, data: Outputs, prior: Prior | None = None) -> Estimate:
    """Return the best linear unbiased estimate from y_T alone: J = Q_Tᵀ Cov(e_T)⁻¹ Q_T."""
    refuse_large(model, NAME, "forms the covariance of the outputs and")
    there = np.flatnonzero(data.present[-1])
    seen = replace(data.seen, times=data.seen.times[-1:], agents=data.seen.agents[there])
    last = replace(data, seen=seen, values=data.values[:, -1:, there], present=np.ones((1, there.size), dtype=bool))
    design = Design(model, seen, last.present)
    Q = design.columns()[0]
    whiten, quiet = split(design.covary(np.eye(there.size)[None])[0])
    y = design.observed(last)[0]
    noisy, seen_noisy = whiten @ Q, whiten @ y
    J, rhs = noisy.T @ noisy, noisy.T @ seen_noisy
    if prior is not None:
        mean, rest = prior.given(data.known)
        precision = np.linalg.inv(rest.covariance(seen.free.size))
        J, rhs = J + precision, rhs + precision @ mean.T
    solution = solve(J, quiet @ Q, (quiet @ y).T)
    return estimate_from(
        model,
        data,
        NAME,
        solution.value(J, rhs.T),
        solution.inverse,
        identified=solution.identified,
        rank=solution.rank,
        condition=solution.condition,
        note=f"step {seen.last} only",
    )
