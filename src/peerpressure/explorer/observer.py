"""What an observer makes of a run: estimates beside the truth, who is exposed, and what is promised as time goes on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import PeerPressureError
from peerpressure.explorer.encoding import pack
from peerpressure.explorer.limits import Limits
from peerpressure.explorer.models import Prepared
from peerpressure.explorer.requests import ENDS, complaint
from peerpressure.measures import Experiment
from peerpressure.model import Model
from peerpressure.privacy import exposure
from peerpressure.recovery import Estimate, Observation, recover
from peerpressure.report.run import recorded_epsilon
from peerpressure.scenario._scenario import Observe, Privacy
from peerpressure.sde import SDE
from peerpressure.simulation import Record

Arrays: TypeAlias = dict[str, NDArray[Any]]
# Times at which the budget is drawn up; where time flows, each takes the solution of an equation.
HORIZONS, FLOWING_HORIZONS = 24, 6
# What one method, or one account, may come to grief of while the others go on; SciPy refuses inf as a plain ValueError.
FAILURES = (PeerPressureError, ArithmeticError, ValueError)


def observe_answer(asked: Prepared, limits: Limits) -> bytes:
    """Return each method's estimate of every hidden opinion, the exposure of agents, and the budget over time."""
    model, look = asked.model, asked.scenario.observation()
    last = last_observed(asked, limits)
    experiment = first_replicate(asked)
    methods, arrays = _estimates(asked, experiment, look)
    exposed, more = _exposure(asked, look, last)
    budgeted, over_time = _budget(asked, experiment, last)
    arrays["truth"], arrays["seen"] = experiment.truth[0], _seen(model, look)
    facts = {"methods": methods, "steps": last, "exposure": exposed, "budget": budgeted}
    return pack(facts, arrays | more | over_time)


def last_observed(asked: Prepared, limits: Limits) -> int:
    """Return the last step that the observer sees, if that is within bounds."""
    times = asked.scenario.observation().times
    last = asked.steps if times is None else max(times)
    limits.check_observer(asked.model.n, last)
    return last


def first_replicate(asked: Prepared) -> Experiment:
    """Return the first replicate of the scenario's experiment."""
    run = asked.scenario.run.model_copy(update={"replicates": 1})
    return experiment_of(replace(asked, scenario=asked.scenario.model_copy(update={"run": run})), Record())


def experiment_of(asked: Prepared, record: Record) -> Experiment:
    """Return the scenario's experiment; it can be called off like all else."""
    experiment = Experiment(asked.scenario, record=record)
    experiment.__dict__["system"] = asked.system
    return experiment


def _estimates(asked: Prepared, experiment: Experiment, look: Observation) -> tuple[list[dict[str, Any]], Arrays]:
    facts, arrays, prior = [], Arrays(), asked.scenario.prior()
    for method in (asked.scenario.observe or Observe()).methods:
        asked.token.check()
        try:
            estimate = recover(asked.system, experiment.run, method, look, prior, experiment.target)
        except ENDS:
            raise
        except FAILURES as error:
            facts.append(_failed(method, complaint(error)))
            continue
        known = estimate.identified
        arrays[f"estimate_{method}"] = np.where(known, estimate.value[0], np.nan)
        arrays[f"std_{method}"] = np.where(known, estimate.std, np.nan)
        facts.append(_accuracy(method, estimate, experiment.truth[0]))
    return facts, arrays


def _failed(method: str, text: str) -> dict[str, Any]:
    return {"id": method, "rmse": None, "expected_rmse": None, "identified": 0, "failed": text}


def _accuracy(method: str, estimate: Estimate, truth: NDArray[np.float64]) -> dict[str, Any]:
    """Return the error that a method made over the agents whom it identifies, and the one that it expects."""
    known = estimate.identified
    made, expected = (estimate.value[0] - truth)[known] ** 2, estimate.variance[known]
    return {
        "id": method,
        "rmse": float(np.sqrt(made.mean())) if known.any() else None,
        "expected_rmse": float(np.sqrt(expected.mean())) if known.any() else None,
        "identified": int(known.sum()),
        "note": estimate.note,
        "failed": None,
    }


def _exposure(asked: Prepared, look: Observation, steps: int) -> tuple[dict[str, Any], Arrays]:
    """Return what the best observer is left not to know of each agent, as a standard deviation and in bits learned."""
    try:
        found = exposure(asked.system, steps, look, asked.scenario.prior())
    except ENDS:
        raise
    except FAILURES as error:
        return {"text": complaint(error), "prior_std": None}, {}
    table = found.table
    facts = {"text": str(found), "prior_std": float(np.sqrt(table["prior_variance"].mean()))}
    arrays = {
        "exposure": np.sqrt(table["posterior_variance"].to_numpy()),
        "bits": table["bits"].to_numpy(),
        "cramer_rao": np.sqrt(table["cramer_rao"].to_numpy()),
    }
    return facts, arrays


def _budget(asked: Prepared, experiment: Experiment, steps: int) -> tuple[dict[str, Any], Arrays]:
    """Return what agents are promised against who sees everything, now and as it came about."""
    terms = asked.scenario.privacy or Privacy()
    facts: dict[str, Any] = {"sensitivity": terms.sensitivity, "delta": terms.delta}
    count = FLOWING_HORIZONS if isinstance(asked.system, SDE) else HORIZONS
    times = np.unique(np.geomspace(1, steps, count).round().astype(np.int64))
    promised = []
    try:
        for horizon in times.tolist():
            asked.token.check()
            promised.append(experiment.budget_after(horizon))
    except ENDS:
        raise
    except FAILURES as error:
        return facts | {"epsilon": None, "mu": None, "text": complaint(error)}, {}
    last = promised[-1]
    # An export has every step and every replicate, whatever the observer is shown.
    recorded = experiment_of(asked, asked.scenario.run.recording()).budget_after(asked.steps, recorded=True)
    exported = f"Of all that an export records, ε is {recorded_epsilon(recorded)}."
    arrays = {
        "budget_times": times.astype(np.float64),
        "budget_epsilon": np.array([one.epsilon for one in promised]),
        "budget_mu": np.array([one.mu for one in promised]),
    }
    return facts | {
        "epsilon": last.epsilon,
        "mu": last.mu,
        "text": " ".join([last.promise, *last.assumptions, exported]),
    }, arrays


def _seen(model: Model, look: Observation) -> NDArray[np.uint32]:
    seen = np.zeros(model.n, dtype=np.uint32)
    seen[slice(None) if look.agents is None else model.network.indices(look.agents)] = 1
    return seen
