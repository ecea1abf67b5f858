"""What an observer of all agents, or of some, learns about each of them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import InvalidInputError, complain
from peerpressure.model import Model, Vector
from peerpressure.noises import Gaussian
from peerpressure.privacy.opening import require_independent_start
from peerpressure.recovery import CONTINUOUS, METHODS, Estimate, Observation, Prior, outputs_of
from peerpressure.recovery.continuous import discrete, time_steps
from peerpressure.recovery.implicit import Implicit
from peerpressure.sde import SDE
from peerpressure.theory.times import step_count
from peerpressure.trajectory import State, Trajectory

if TYPE_CHECKING:
    import pandas as pd

Observed: TypeAlias = Sequence[Hashable] | Observation | None
# Columns solved for at a time where a covariance is known only by what it does.
_AT_ONCE = 256


@final
@dataclass(frozen=True, eq=False, repr=False)
class Exposure:
    """How much each agent is exposed to one observer.

    ``table`` has one row for each agent, by label: whether it is ``seen``, and with it all who are ever its neighbours
    (``neighbourhood_seen``); ``prior_variance``, ``posterior_variance`` and their ``ratio``, 1 for nothing learned
    and 0 for all; ``cramer_rao``, the least variance of an estimate without a prior, inf if the data leave the agent
    open; the mutual information ½ log(prior/posterior) in ``nats`` and ``bits``; and the ``rank``, 1 at most risk.
    """

    model: Model
    steps: int
    table: pd.DataFrame

    def edges(self) -> pd.DataFrame:
        """Return the network's edges as positions in the table: source, target."""
        import pandas as pd

        source, target, _ = self.model.network.edges()
        return pd.DataFrame({"source": source, "target": target})

    def __repr__(self) -> str:
        from peerpressure.privacy.render import exposure_text

        return exposure_text(self)


def exposure(model: Model | SDE, steps: int, observed: Observed = None, prior: Prior | None = None) -> Exposure:
    """Return what is learned about each agent by who knows the model and sees ``observed`` agents at steps 1…``steps``.

    The observer sees everyone unless given agents (or an Observation, for certain steps or the start too), and holds
    the Gaussian prior x₀ ~ N(m, P); by default all opinions are drawn alike, with the variance that they have. Steps
    of an SDE are those of its grid. Variances are exact for Gaussian noise, and for other laws those of the best
    linear estimate:

        posterior = (P⁻¹ + J)⁻¹,  J the Fisher information about x₀ in all that is seen.

    >>> from peerpressure.networks import star
    >>> model = Model(star(4), hidden=[0, 1, 2, 3], noise=Gaussian(1.0), start=[0.0] * 4)
    >>> exposure(model, 9, prior=Prior(0.0, 1.0)).table["ratio"].round(12).tolist()
    [0.1, 0.1, 0.1, 0.1]
    """
    import pandas as pd

    require_independent_start(model)
    T, base = step_count(steps), discrete(model)
    belief = _default_prior(base) if prior is None else prior
    before, look = belief.variances(base.n), _observation(observed)
    seen = _seen(base, look)
    if look is not None and seen.all():
        look = replace(look, agents=None)
    after, bound = before, np.full(base.n, np.inf)
    if seen.any():
        after, bound = (_variances(model, T, look, known) for known in (belief, None))
    # Rounding must not report that looking made anyone less known.
    ratio = np.minimum(after / before, 1.0)
    columns = {
        "seen": seen,
        "neighbourhood_seen": seen & ~(base.network.adjacency @ (~seen).astype(float) > 0),
        "prior_variance": before,
        "posterior_variance": after,
        "ratio": ratio,
        "cramer_rao": bound,
        **_mutual_information(ratio),
    }
    table = pd.DataFrame(columns, index=pd.Index(list(base.network.labels), name="agent", tupleize_cols=False))
    table["rank"] = table["ratio"].round(12).rank(method="min").astype(int)
    return Exposure(base, T, table)


def _mutual_information(ratio: Vector) -> dict[str, Vector]:
    with np.errstate(divide="ignore"):
        nats = -0.5 * np.log(ratio) + 0.0
    return {"nats": nats, "bits": nats / np.log(2)}


def _default_prior(model: Model) -> Prior:
    spread = float(model.x0.var())
    if spread == 0:
        rule = "the default prior has the variance of the hidden opinions, which must differ"
        remedy = "say what the observer believes, for instance prior=Prior(0.5, 1/12)"
        raise InvalidInputError(complain(rule, got=f"all of them {model.x0[0]:g}", remedy=remedy))
    return Prior(float(model.x0.mean()), spread)


def _observation(observed: Observed) -> Observation | None:
    """Return the observation that is meant, None where nobody is seen."""
    if observed is None or isinstance(observed, Observation):
        return observed or Observation()
    return Observation(agents=observed) if isinstance(observed, str) or len(observed) else None


def _seen(model: Model, look: Observation | None) -> NDArray[np.bool_]:
    seen = np.zeros(model.n, dtype=bool)
    if look is not None:
        seen[slice(None) if look.agents is None else model.network.indices(look.agents)] = True
    return seen


def _variances(model: Model | SDE, steps: int, look: Observation | None, prior: Prior | None) -> Vector:
    """Return the error variance of the best estimate of each agent.

    It is the same for every run, so that one in which no noise happened to fall serves.
    """
    method = "innovations" if look == Observation() else "kalman"
    base = discrete(model)
    run = _run_of(base, _quiet_path(model, steps))
    # The methods themselves, for what rounding hides from an estimate of one run is no protection.
    if isinstance(model, SDE):
        timed = replace(run, times=np.float64(model.step) * np.arange(steps + 1))
        data = outputs_of(model, timed, look)
        return _exact_variance(CONTINUOUS[method](model, data, prior)) if data.seen.free.size else np.zeros(model.n)
    alike = replace(
        base, noise=Gaussian(base.noise.std, time_scale=base.noise.time_scale, temporal=base.noise.temporal)
    )
    data = outputs_of(alike, run, look)
    return _exact_variance(METHODS[method](alike, data, prior)) if data.seen.free.size else np.zeros(model.n)


def _quiet_path(model: Model | SDE, steps: int) -> Vector:
    path, held = np.empty((steps + 1, model.n)), model.x0
    path[0] = model.start_state
    if isinstance(model, SDE):
        for k, step in enumerate(time_steps(model, steps)):
            path[k + 1] = step.matrix @ path[k] + step.effect @ held
        return path
    for t in range(1, steps + 1):
        update = model.update(t)
        path[t] = update(path[t - 1], hidden=held)
        held = update.adapt(held, path[t])
    return path


def _run_of(model: Model, path: Vector) -> Trajectory:
    steps = path.shape[0] - 1
    return Trajectory(
        model=model,
        seed=0,
        replicates=np.zeros(1, dtype=np.int64),
        times=np.arange(steps + 1),
        agents=np.arange(model.n),
        states=path[None],
        minimum=None,
        maximum=None,
        mean=None,
        final=State(steps, path[-1:]),
    )


def _exact_variance(estimate: Estimate) -> Vector:
    """Return the variances, solving for them agent by agent where the covariance does not fit."""
    if not isinstance(estimate.covariance, Implicit):
        return estimate.variance
    labels = list(estimate.model.network.labels)
    blocks = [labels[i : i + _AT_ONCE] for i in range(0, len(labels), _AT_ONCE)]
    return np.concatenate([estimate.variance_of(block) for block in blocks])
