"""What an observer of everything is told about one agent, as a privacy budget."""

from __future__ import annotations

import textwrap
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias, TypedDict, final

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import InvalidInputError, message
from peerpressure.model import Model, Vector
from peerpressure.noise import Gaussian
from peerpressure.privacy._accounting import checked_delta, positive, promise_of
from peerpressure.privacy._release import (
    over,
    release,
    require_independent_start,
    safe_release,
    start_assumption,
    told_release,
)
from peerpressure.progress import ShouldStop, cancellable
from peerpressure.recovery import CONTINUOUS, METHODS, Estimate, Observation, Prior, outputs_of
from peerpressure.recovery._information import information
from peerpressure.recovery._observation import discrete, time_steps
from peerpressure.recovery._solve import Implicit
from peerpressure.sde import SDE
from peerpressure.theory._moments import step_count
from peerpressure.trajectory import State, Trajectory

if TYPE_CHECKING:
    import pandas as pd


class Seen(TypedDict):
    """How much of the mechanism is observed, beyond steps 1 to T of one run."""

    sees_start: bool
    runs: int


@final
@dataclass(frozen=True, eq=False, repr=False)
class Budget:
    """Privacy of every agent against an observer of all agents, under stated ``assumptions``.

    ``table`` has one row for each agent, by label: ``information`` is the exact Fisher information about its opinion
    when all others are known, ``own_information`` the part told by its own noise sequence alone, and ``epsilon`` the
    ε that holds at ``delta`` for opinions up to ``sensitivity`` apart. Gaussian noise adds ``mu`` and ``zcdp``,
    Laplace noise ``epsilon_basic``, ``epsilon_advanced`` and the lower bound ``epsilon_low``. The properties give the
    most exposed agent's numbers. ``promise`` says what the law of noise guarantees. The observer sees steps 1 to
    ``steps`` of ``runs`` independent runs, and y₀ too if ``sees_start``.
    """

    model: Model
    steps: int
    sensitivity: float
    delta: float
    table: pd.DataFrame
    promise: str
    sees_start: bool
    runs: int
    start: str

    @property
    def information(self) -> float:
        """The largest Fisher information about any agent."""
        return self._worst("information")

    @property
    def epsilon(self) -> float:
        """The ε that holds for every agent."""
        return self._worst("epsilon")

    @property
    def mu(self) -> float:
        """The μ that holds for every agent; nan if noise is not Gaussian."""
        return self._worst("mu")

    @property
    def zcdp(self) -> float:
        """The ρ of zero-concentrated privacy that holds for every agent; nan if noise is not Gaussian."""
        return self._worst("zcdp")

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What every number here assumes, one sentence or two for each: the inputs, the observer, the start."""
        reach, extent = f"{self.sensitivity:g}", float(np.ptp(self.model.x0))
        inputs = f"One agent's hidden opinion moves by at most Δ = {reach}; all others are fixed and known."
        if self.sensitivity < extent:
            inputs += f" The hidden opinions range over {extent:.4g}, and a move across that range is not covered."
        runs = "one run" if self.runs == 1 else f"{self.runs:,} runs with the same hidden opinions"
        first = 0 if self.sees_start else 1
        observer = f"The observer knows the model and sees all agents at steps {first} to {self.steps:,} of {runs}."
        return inputs, observer, self.start

    def _worst(self, column: str) -> float:
        return float(self.table[column].max(skipna=False)) if column in self.table else float("nan")

    def __repr__(self) -> str:
        pass

        return budget_text(self)


def budget(
    model: Model | SDE,
    steps: int,
    sensitivity: float = 1.0,
    delta: float = 1e-5,
    *,
    sees_start: bool = False,
    runs: int = 1,
    should_stop: ShouldStop | None = None,
) -> Budget:
    """Return what is told about each agent to an observer who sees y_1, …, y_T of everyone and knows the model.

    With ``sees_start`` the observer also sees y₀, which reveals everything where y₀ = x₀. ``runs`` is the number of
    runs with independent noise that are released; information adds up over them. A given start that is an affine
    function of the hidden opinions is refused, for it is not public.

    For opinions Δ apart and Gaussian noise of covariance K over time, μ = Δ√I and zCDP ρ = Δ²I/2 with

        I = 1ᵀK⁻¹1  (Σ 1/σ_t² if white)   where the start is public, or nobody listens at step 1,
        I_i = k₁₁ Σ_{j≠i} (ρ₁A_ji/s_j)²/σ_j² + 1ᵀK⁻¹1/σ_i²,  k₁₁ = (K⁻¹)₁₁,   where y₀ = x₀ is heard but not seen.

    A mask that is held (frozen noise) is undone in the second case: comparing the neighbours' first words with
    their later ones leaves ρ₁S⁻¹Ax₀ without any noise, so that I = ∞. Where hidden opinions adapt, 1 becomes
    π = (1, 1 − η₁, (1 − η₁)(1 − η₂), …): what is told about x₀ stays below Σ π²/σ² for ever if that sum is finite. But
    frozen noise is then undone in both cases, for it stays while x₀ fades. In continuous time, for an SDE seen at
    the steps of its grid, I is the diagonal of the Fisher information, of which no part is an agent's own.

    ``should_stop`` is called at every step that is followed, and cancels the work with ``CancelledError`` if it returns
    True.

    >>> from peerpressure.networks import k2
    >>> from peerpressure.noise import Gaussian
    >>> model = Model(k2(), hidden=[0.0, 1.0], noise=Gaussian(10.0), start=[0.0, 0.0])
    >>> told = budget(model, 100)
    >>> round(told.mu, 6), round(told.epsilon, 4)
    (1.0, 4.3772)
    """
    with cancellable(should_stop):
        return _budget(model, steps, sensitivity, delta, sees_start=sees_start, runs=runs)


def _budget(model: Model | SDE, steps: int, sensitivity: float, delta: float, *, sees_start: bool, runs: int) -> Budget:
    import pandas as pd

    T, reach = step_count(steps), positive(sensitivity, "sensitivity")
    checked_delta(delta)
    require_independent_start(model)
    seen: Seen = {"sees_start": bool(sees_start), "runs": step_count(runs, "runs")}
    noise, base = model.noise, discrete(model)
    unit, promise = noise.fisher_information(), promise_of(noise)
    if isinstance(model, SDE):
        safe = told_release(_seen_in_continuous_time(model, T, **seen))
        columns = {"information": safe.squares}
    else:
        moved, safe = release(model, T, **seen), safe_release(model, T, **seen)
        columns = {
            "information": _scaled(unit, moved.squares),
            "own_information": _scaled(unit, moved.own_squares),
        }
    columns |= promise.account(safe, reach, delta, noise)
    table = pd.DataFrame(columns, index=pd.Index(list(base.network.labels), name="agent", tupleize_cols=False))
    start = start_assumption(model, sees_start=seen["sees_start"])
    return Budget(base, T, reach, float(delta), table, promise.text, start=start, **seen)


def _seen_in_continuous_time(equation: SDE, steps: int, *, sees_start: bool, runs: int) -> Vector:
    if sees_start and isinstance(equation.model.start, str):
        return np.full(equation.n, np.inf)
    return np.asarray(runs * information(equation, steps).diagonal)


def _scaled(unit: float, squares: Vector) -> Vector:
    return over(squares, 1 / unit)


# Results of this folder on a page.

WIDTH = 88
_SHOWN = 8  # agents listed by name
_NAMES = {
    "information": "Fisher information",
    "own_information": "  by its own words",
    "mu": "Gaussian privacy μ",
    "zcdp": "zCDP ρ",
    "epsilon_basic": "pure ε",
    "epsilon_advanced": "ε by composition",
    "epsilon_low": "ε at least",
    "epsilon": "ε",
    "delta_needed": "δ needed",
}


def budget_text(told: Budget) -> str:
    """Return the most exposed agent's numbers, what they promise and what they assume."""
    steps = f"{told.steps:,} step{'s' * (told.steps != 1)}"
    seen = f"{steps} seen in full" if told.runs == 1 else f"{steps} of {told.runs:,} runs seen in full"
    head = f"Privacy after {seen}, opinions up to {told.sensitivity:g} apart, δ = {told.delta:g}"
    worst = told.table.sort_values(["epsilon", "information"], ascending=False, kind="stable").iloc[0]
    lines = [f"  {_NAMES[name]:<20}{worst[name]:.6g}" for name in told.table.columns]
    lead = f"for agent {worst.name}, the most exposed of {len(told.table):,}:"
    assumed = textwrap.wrap(" ".join(["Assumed:", *told.assumptions]), WIDTH)
    return "\n".join([head, lead, *lines, *textwrap.wrap(told.promise, WIDTH), *assumed])


def exposure_text(found: Exposure) -> str:
    """Return who is at most risk, and how the seen and the unseen fare."""
    table, steps = found.table, f"{found.steps:,} step{'s' * (found.steps != 1)}"
    seen = int(table["seen"].sum())
    head = f"Exposure after {steps} to an observer of {seen:,} of {len(table):,} agents"
    groups = [("seen", table[table["seen"]]), ("unseen", table[~table["seen"]])]
    means = [f"{name}: {group['ratio'].mean():.3g}" for name, group in groups if len(group)]
    worst = table.sort_values("rank", kind="stable").head(_SHOWN)
    rows = [("agent", "seen", "posterior/prior", "Cramér–Rao", "bits")]
    rows += [
        (str(row.Index), "yes" if row.seen else "no", f"{row.ratio:.3g}", f"{row.cramer_rao:.3g}", f"{row.bits:.3g}")
        for row in worst.itertuples()
    ]
    widths = [max(len(row[k]) for row in rows) + 2 for k in range(5)]
    lines = ["  " + "".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    more = [f"  and {len(table) - _SHOWN:,} more"] * (len(table) > _SHOWN)
    mean = f"mean posterior/prior variance, {', '.join(means)}"
    return "\n".join([head, mean, *(line.rstrip() for line in lines), *more])


# What an observer of all agents, or of some, learns about each of them.

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
        pass

        return exposure_text(self)


def exposure(
    model: Model | SDE,
    steps: int,
    observed: Observed = None,
    prior: Prior | None = None,
    *,
    should_stop: ShouldStop | None = None,
) -> Exposure:
    """Return what is learned about each agent by who knows the model and sees ``observed`` agents at steps 1…``steps``.

    The observer sees everyone unless given agents (or an Observation, for certain steps or the start too), and holds
    the Gaussian prior x₀ ~ N(m, P); by default all opinions are drawn alike, with the variance that they have. Steps
    of an SDE are those of its grid. Variances are exact for Gaussian noise, and for other laws those of the best
    linear estimate:

        posterior = (P⁻¹ + J)⁻¹,  J the Fisher information about x₀ in all that is seen.

    ``should_stop`` is called at every step that is followed, and cancels the work with ``CancelledError`` if it returns
    True.

    >>> from peerpressure.networks import star
    >>> model = Model(star(4), hidden=[0, 1, 2, 3], noise=Gaussian(1.0), start=[0.0] * 4)
    >>> exposure(model, 9, prior=Prior(0.0, 1.0)).table["ratio"].round(12).tolist()
    [0.1, 0.1, 0.1, 0.1]
    """
    with cancellable(should_stop):
        return _exposure(model, steps, observed, prior)


def _exposure(model: Model | SDE, steps: int, observed: Observed, prior: Prior | None) -> Exposure:
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
        raise InvalidInputError(message(rule, got=f"all of them {model.x0[0]:g}", remedy=remedy))
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
