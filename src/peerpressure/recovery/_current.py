"""The hidden opinions x_{T+1} after the last observed step T, where they adapt.

An observer of complete outputs knows x_{T+1} = π_T x₀ + k_T up to the decreasing share π_T of x₀, so the error of
x_{T+1} tends to 0 with π_T even where that of x₀ does not. A new method is one function
``method(model, data, prior) -> Estimate`` and one line in ``CURRENT``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from peerpressure.errors import InvalidInputError, TooLargeError, message
from peerpressure.model import Model
from peerpressure.recovery._estimate import Covariance, Estimate, Target, known_estimate
from peerpressure.recovery._innovations import adopted_part, check_complete, innovations
from peerpressure.recovery._kalman import last_step
from peerpressure.recovery._least_squares import SymmetricOperator
from peerpressure.recovery._limits import PARTIAL_LIMIT, SHARE_TOLERANCE
from peerpressure.recovery._observation import Outputs
from peerpressure.recovery._prior import Prior
from peerpressure.statespace import System, model_of, retained, state_layout

Array: TypeAlias = NDArray[np.float64]
TARGETS = ("initial", "current")


def current_by_innovations(system: System, data: Outputs, prior: Prior | None = None) -> Estimate:
    """Return π_T x̂₀ + k_T from complete outputs, with covariance π_T Cov(x̂₀) π_T."""
    check_complete(data)
    if not isinstance(system, Model):
        # Between the observed times of an equation, opinions adapt to what is not seen.
        return replace(current_by_filter(system, data, prior), method="innovations")
    model, free = system, data.seen.free.size
    initial = innovations(model, data, prior) if free else known_estimate(model, data, "innovations")
    share = np.broadcast_to(retained(model, data.seen.last)[-1], (model.n,))
    # With nothing of x₀ left, the adopted part is the whole opinion and is known exactly.
    identified = initial.identified | (share == 0)
    return replace(
        initial,
        value=share * initial.value + adopted_part(model, data),
        covariance=_scaled(initial.covariance, share),
        identified=identified,
        rank=model.n if identified.all() else initial.rank,
        note="" if free else "follows from the start, which was observed",
    )


def current_by_filter(system: System, data: Outputs, prior: Prior | None = None) -> Estimate:
    """Return the filter's posterior of x_{T+1}, from any outputs."""
    model = model_of(system)
    if model.n > PARTIAL_LIMIT:
        rule = f"current opinions are filtered from partial outputs for at most {PARTIAL_LIMIT:,} agents"
        remedy = "use complete outputs with method='innovations', which takes millions"
        raise TooLargeError(message(rule, got=f"{model.n:,}", remedy=remedy))
    last = last_step(system, data, prior)
    solution = last.information.solve()
    hidden = last.state.posterior(solution.posterior).part(state_layout(system).hidden)
    # Directions of x₀ that are not determined may shrink to 0 in x_{T+1}, so the rank is counted again.
    lost = int(np.linalg.matrix_rank(hidden.null_space, tol=SHARE_TOLERANCE)) if hidden.null_space.size else 0
    return Estimate(
        model,
        "kalman",
        hidden.mean,
        hidden.covariance,
        hidden.identified,
        model.n - lost,
        solution.condition,
    )


CURRENT: Mapping[str, Callable[[System, Outputs, Prior | None], Estimate]] = {
    "innovations": current_by_innovations,
    "kalman": current_by_filter,
}


def current(system: System, data: Outputs, method: str, prior: Prior | None) -> Estimate:
    """Return the estimate of the hidden opinions after the last observed step."""
    if method not in CURRENT:
        rule = f"hidden opinions after the last step are estimated by {' or '.join(CURRENT)}"
        raise InvalidInputError(message(rule, got=repr(method), remedy="use method='kalman', or target='initial'"))
    return replace(CURRENT[method](system, data, prior), target="current")


def checked_target(value: object) -> Target:
    """Return which hidden opinions are to be estimated, after checking it."""
    if value == "initial":
        return "initial"
    if value == "current":
        return "current"
    rule = f"the target must be one of {', '.join(map(repr, TARGETS))}"
    raise InvalidInputError(
        message(rule, got=repr(value), remedy="'initial' is x₀, 'current' the hidden opinions after the last step")
    )


def _scaled(covariance: Covariance, share: Array) -> Any:
    """Return diag(share) · covariance · diag(share), in the form in which the covariance came."""
    # Composed lazily: forming the matrix is what operators avoid.
    if isinstance(covariance, SymmetricOperator):
        return covariance.scaled(share)
    if sparse.issparse(covariance):
        sides = sparse.diags_array(share, format="csr")
        return sparse.csr_array(sides @ covariance @ sides)
    return share[:, None] * (covariance @ np.diag(share))
