"""Beyond the paper: better observers, a tuned schedule, partial observation, and privacy over time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerpressure.model import Model
from peerpressure.networks import barabasi_albert, k2
from peerpressure.noise import Gaussian
from peerpressure.privacy import budget, exposure
from peerpressure.recovery import Prior, information, recover
from peerpressure.reproduction import printed
from peerpressure.reproduction._regression import ols_law
from peerpressure.reproduction.design import SEED, agents_drawn, check_replications, stream
from peerpressure.schedules import Linear, Power
from peerpressure.simulation import simulate
from peerpressure.simulation.recording import Record
from peerpressure.simulation.trajectory import Trajectory
from peerpressure.theory import ideal_deviation
from peerpressure.theory.propagation import consensus_mode, moments

OBSERVER_STEPS = (2, 3, 5, 10, 20, 30, 50, 100, 200, 300, 500, 1_000)
OBSERVED_AGENTS = 30
PARTIAL_STEPS = 60
FRACTIONS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
HORIZONS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000)
SCHEDULE_STEPS = (10, 30, 100, 300, 1_000, 3_000)
REPLICATIONS = 200
# Opinions on [0, 1] differ by at most 1; noise of this size hides them for some tens of steps.
PRIVACY_NOISE = 10.0
# Above ½, where Σ 1/σ_t² converges and the privacy loss is bounded; the variance of the averaged noise then grows as
# t^(2·0.6 − 1) instead of falling.
GROWTH = 0.6
# In units of σ₀²: an estimator with a larger variance has learned nothing, and would flatten the others in a figure.
LARGEST_VARIANCE = 100.0
# Errors of the observer's own view, in units of σ₀.
ERRORS = (0.0, 0.001, 0.01, 0.1, 1.0)
Matrix: TypeAlias = NDArray[np.float64]


@final
@dataclass(frozen=True, eq=False)
class BeyondResult:
    """The experiments beyond the paper, as tables."""

    observers: pd.DataFrame
    schedules: pd.DataFrame
    partial: pd.DataFrame
    privacy: pd.DataFrame

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the tables by name; the functions of their names document the columns."""
        return {
            "observers": self.observers,
            "schedules": self.schedules,
            "partial_observers": self.partial,
            "privacy_over_time": self.privacy,
        }


def beyond(
    seed: int = SEED,
    replications: int = REPLICATIONS,
    *,
    agents: int = OBSERVED_AGENTS,
    steps: int = SCHEDULE_STEPS[-1],
) -> BeyondResult:
    """Compare observers, schedules, partial observation and kinds of noise, on two agents and on a scale-free graph.

    Parameters
    ----------
    seed : int, default 14
        Seed of graph, agents and noise.
    replications : int, default 200
        Sampled runs, 2 or more.
    agents : int, default 30
        Number of agents of the scale-free graph.
    steps : int, default 3000
        Length of the longest runs.

    Returns
    -------
    BeyondResult
        Four tables; ``observers``, ``schedules``, ``partial_observers`` and ``privacy_over_time`` document them.

    Raises
    ------
    InvalidInputError
        If there are fewer than two replications.

    See Also
    --------
    residuals : The paper's own observer.

    Examples
    --------
    ::

        list(beyond(replications=2, agents=8).tables())
    """
    check_replications(replications, "what lies beyond")
    both = observed_models(seed, agents)
    many = both["scale_free"]
    observed = [
        observers(model, name, _until(steps, OBSERVER_STEPS), replications=replications, seed=stream(seed, name))
        for name, model in both.items()
    ]
    return BeyondResult(
        pd.concat(observed, ignore_index=True),
        schedules(many, _until(steps, SCHEDULE_STEPS), replications=replications, seed=stream(seed, "schedules")),
        partial_observers(many, seed=seed),
        privacy_over_time(many, _until(steps, HORIZONS)),
    )


def observed_models(seed: int, agents: int = OBSERVED_AGENTS) -> dict[str, Model]:
    """Return the observed models by name: the paper's two agents, and a scale-free graph."""
    pair = Model(k2(), printed.TWO_AGENTS_HIDDEN, noise=Gaussian(printed.TWO_AGENTS_NOISE))
    many = Model(barabasi_albert(agents, 2, seed=seed), *agents_drawn(agents, seed), noise=Gaussian(1.0))
    return {"two_agents": pair, "scale_free": many}


def _until(steps: int, times: Sequence[int]) -> list[int]:
    return [time for time in times if time <= max(steps, times[0])]


def observers(
    model: Model,
    name: str,
    times: Sequence[int] = OBSERVER_STEPS,
    *,
    replications: int = REPLICATIONS,
    seed: int = SEED,
) -> pd.DataFrame:
    """Return the error of each estimator that observes all agents.

    Tables
    ------
    observers
        network (two_agents, scale_free), observer (ols, wls, snapshot, innovations), steps, variance, sampled,
        standard_error: the error variance of one hidden opinion, mean over agents, in units of σ₀²; exact, and over
        sampled replicates. Rows are absent where an estimator cannot identify all opinions, or has a variance above
        LARGEST_VARIANCE.
    """
    unit = float(np.mean(model.noise.deviations(model.n) ** 2))
    rows = []
    for steps in times:
        # Noise depends on seed, replicate, step and agent: longer runs continue shorter ones, and ``law.residuals``
        # below draws the same runs again: all estimators are compared on the same data.
        law, run = ols_law(model, steps), simulate(model, steps, replications, seed=seed)
        results = {
            "ols": (np.diag(law.covariance), law.residuals(replications, seed)),
            "wls": _recovered(model, run, "wls"),
            "snapshot": _recovered(model, run, "snapshot"),
            "innovations": (information(model, steps).bound, recover(run, model).residuals()),
        }
        for observer, (variances, residuals) in results.items():
            # Written to skip NaN like an infinite variance: not all opinions are identified.
            if not variances.mean() < LARGEST_VARIANCE * unit:
                continue
            sampled, error = _mean_square(residuals)
            row = {"network": name, "observer": observer, "steps": steps, "variance": variances.mean() / unit}
            rows.append(row | {"sampled": sampled / unit, "standard_error": error / unit})
    return pd.DataFrame(rows)


def observation_error(
    errors: Sequence[float] = ERRORS, times: Sequence[int] = OBSERVER_STEPS, *, model: Model | None = None
) -> pd.DataFrame:
    """Return the best variance of an observer of two agents whose view of each output has an error of its own.

    The observer sees y_t + η_t with independent normal errors of deviation τ, from t = 1 on, and knows everything else.
    With τ > 0 the variance does not tend to 0: late steps say nothing, because ξ_t − x₀ is a small difference of
    outputs times t. For small τ the floor is (2/π)σ₀τ.

    Tables
    ------
    observation_error
        error (τ, in units of σ₀), steps, variance (in units of σ₀²), floor (2τ/π, the limit for many steps and a small
        τ).
    """
    pair = model or observed_models(SEED)["two_agents"]
    variances = dict(_seen_with_errors(pair, errors, times))
    rows = [
        {"error": float(error), "steps": steps, "variance": float(variances[steps][k]), "floor": 2 * error / np.pi}
        for k, error in enumerate(errors)
        for steps in variances
    ]
    return pd.DataFrame(rows)


def _seen_with_errors(model: Model, errors: Sequence[float], times: Sequence[int]) -> Iterator[tuple[int, Matrix]]:
    """Yield steps, and for each error the variance of agent 1 in the inverse of the information in so many of them."""
    A, noise = model.network.adjacency.toarray(), model.noise.deviations(model.n) ** 2
    seen = np.square(errors)[:, None, None] * np.eye(model.n)
    # The Kalman filter of y given x₀: its prediction is affine in x₀ with the weights B, and P is its error.
    B, P, J = np.eye(model.n) + 0 * seen, 0 * seen, 0 * seen
    for t, step in enumerate(model.updates(range(1, max(times) + 1)), start=1):
        C = step.coupling_scale[:, None] * A
        B, P = np.diag(step.gain) + C @ B, C @ P @ C.T + np.diag(step.gain**2 * noise)
        told = np.linalg.inv(P + seen)
        weighted = told @ B
        J += B.swapaxes(1, 2) @ weighted
        if t in times:
            yield t, np.linalg.inv(J)[:, 0, 0].astype(np.float64, copy=False)
        B, P = B - P @ weighted, P - P @ told @ P


def schedules(
    model: Model, times: Sequence[int] = SCHEDULE_STEPS, *, replications: int = REPLICATIONS, seed: int = SEED
) -> pd.DataFrame:
    """Return the error of the consensus mode under ρ_t = t and under the tuned ρ_t = κt.

    Tables
    ------
    schedules
        schedule (t, κt), steps, bias, std, rms, sampled_rms, standard_error, ideal, gain: gain is the rms under
        ρ_t = t divided by that of the row.
    """
    mode, last, rows = consensus_mode(model), max(times), []
    for name, pressure in (("t", Linear()), ("κt", Linear.tuned(model.network, model.s))):
        own = replace(model, pressure=pressure)
        law = moments(own, last, of=mode, times=list(times))
        # One seed for both schedules: a paired comparison. Every tenth step is enough, since 10 divides all ``times``.
        run = simulate(own, last, replications, seed=seed, record=Record(every=10))
        for i, steps in enumerate(law.times):
            bias, std = float(law.mean[i, 0]) - model.consensus_value, float(law.std[i, 0])
            errors = mode(_at(run, int(steps))) - model.consensus_value
            rms, error = _root_mean_square(errors)
            row = {"schedule": name, "steps": int(steps), "bias": bias, "std": std, "rms": np.hypot(bias, std)}
            rows.append(
                row | {"sampled_rms": rms, "standard_error": error, "ideal": ideal_deviation(model, int(steps))}
            )
    table = pd.DataFrame(rows)
    # Two blocks of the same times, the slow schedule first.
    slow = table[table["schedule"] == "t"]["rms"].to_numpy()
    return table.assign(gain=np.tile(slow, 2) / table["rms"])


def partial_observers(
    model: Model, fractions: Sequence[float] = FRACTIONS, *, steps: int = PARTIAL_STEPS, seed: int = SEED
) -> pd.DataFrame:
    """Return the posterior variance of observed and unobserved agents, for nested random sets of observed ones.

    Tables
    ------
    partial_observers
        fraction (of observed agents), group (observed, unobserved), agents, ratio, low, high: posterior over prior
        variance, mean and range over the agents of the group.
    """
    # Prefixes of one permutation are nested, so more observed agents cannot give less information.
    order = np.random.default_rng([seed, 2]).permutation(model.n)
    rows = []
    for fraction in fractions:
        chosen = [model.network.labels[i] for i in order[: max(1, round(fraction * model.n))]]
        table = exposure(model, steps, chosen, Prior.uniform(*printed.HIDDEN_RANGE)).table
        for group, part in (("observed", table[table["seen"]]), ("unobserved", table[~table["seen"]])):
            # At fraction 1 there are no unobserved agents.
            if len(part):
                ratio = part["ratio"]
                row = {"fraction": fraction, "group": group, "agents": len(part), "ratio": ratio.mean()}
                rows.append(row | {"low": ratio.min(), "high": ratio.max()})
    return pd.DataFrame(rows)


def privacy_over_time(model: Model, times: Sequence[int] = HORIZONS) -> pd.DataFrame:
    """Return the privacy loss and the accuracy of the consensus under white, growing and frozen noise.

    Tables
    ------
    privacy_over_time
        design (white, growing, frozen), steps, information, mu, epsilon, rms_error: Fisher information about the most
        exposed agent in all outputs so far, the privacy parameters that follow from it, and the RMS error of the
        consensus mode.
    """
    noises = {
        "white": Gaussian(PRIVACY_NOISE),
        "growing": Gaussian(PRIVACY_NOISE, time_scale=Power(GROWTH)),
        "frozen": Gaussian(PRIVACY_NOISE, temporal="frozen"),
    }
    tuned, mode, rows = Linear.tuned(model.network, model.s), consensus_mode(model), []
    for design, noise in noises.items():
        # A public start: y₀ = x₀ would reveal the hidden opinions at once.
        start = np.full(model.n, np.mean(printed.HIDDEN_RANGE))
        own = replace(model, noise=noise, pressure=tuned, start=start)
        law = moments(own, max(times), of=mode, times=list(times))
        for i, steps in enumerate(times):
            # Sensitivity 1, the default: opinions on [0, 1] differ by at most 1.
            spent = budget(own, steps)
            error = float(np.hypot(law.mean[i, 0] - model.consensus_value, law.std[i, 0]))
            row = {"design": design, "steps": steps, "information": spent.information, "mu": spent.mu}
            rows.append(row | {"epsilon": spent.epsilon, "rms_error": error})
    return pd.DataFrame(rows)


def _recovered(model: Model, run: Trajectory, method: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    estimate = recover(run, model, method)
    return estimate.variance, estimate.residuals()


def _mean_square(residuals: NDArray[np.float64]) -> tuple[float, float]:
    """Return the mean square over replicates and agents, with its standard error over replicates."""
    # Errors of the agents of one run are correlated, so the standard error is over replicates only.
    each = (residuals**2).mean(axis=1)
    return float(each.mean()), float(each.std(ddof=1) / np.sqrt(each.size))


def _root_mean_square(values: NDArray[np.float64]) -> tuple[float, float]:
    square, error = _mean_square(values[:, None])
    # The delta method: d√q = dq/(2√q).
    return float(np.sqrt(square)), error / (2 * float(np.sqrt(square)))


def _at(run: Trajectory, step: int) -> NDArray[np.float64]:
    assert run.states is not None, "states are recorded by default"
    return np.asarray(run.states[:, np.flatnonzero(run.times == step)[0]])
