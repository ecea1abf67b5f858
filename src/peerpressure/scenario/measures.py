"""Measures of a scenario: one function each, and one table.

A measure yields values with a detail (the method, the statistic or the outcome) and the replicate that they belong to,
None for all of them. A new measure is one function and one line in `MEASURES`; its description is the first line of its
docstring.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import InvalidInputError, message
from peerpressure.networks import shortest_window
from peerpressure.scenario import Scenario, scenario_from
from peerpressure.scenario.experiment import Experiment, network_counts
from peerpressure.simulation.recording import Record
from peerpressure.support.parameters import summary
from peerpressure.theory import Outcome, consensus_error, retention

Values: TypeAlias = Iterator[tuple[str, int | None, float]]


class Measure(NamedTuple):
    """Declaration of a measure: its function, and whether it needs the states of the run.

    Attributes
    ----------
    function : callable
        Function of an ``Experiment`` that yields (detail, replicate, value).
    needs_states : bool, default False
        Whether it needs the states of the run.

    See Also
    --------
    peerpressure.scenario.MEASURES : Table of all measures.
    measure : Evaluates measures by name.

    Examples
    --------
    >>> from peerpressure.scenario import MEASURES
    >>> MEASURES["spread"].needs_states, MEASURES["recovery_error"].needs_states
    (False, True)
    """

    function: Callable[[Experiment], Values]
    needs_states: bool = False

    @property
    def help(self) -> str:
        """Description in one line."""
        return summary(self.function)


def _by_replicate(values: NDArray[np.float64], detail: str = "") -> Values:
    for replicate, value in enumerate(values):
        yield detail, replicate, float(value)


def spread(experiment: Experiment) -> Values:
    """Spread of the public opinions at the end, max − min."""
    return _by_replicate(np.ptp(experiment.run.final.public, axis=1))


def max_distance(experiment: Experiment) -> Values:
    """Largest distance of a public opinion from the consensus value, or from the own limit, at the end."""
    off = experiment.run.final.public - experiment.model.target
    return _by_replicate(np.abs(off).max(axis=1))


def mean(experiment: Experiment) -> Values:
    """Mean of the public opinions at the end."""
    return _by_replicate(experiment.run.final.public.mean(axis=1))


def time_to_consensus(experiment: Experiment) -> Values:
    """First recorded step with a spread below the threshold, on v or on another value; nan if there is none."""
    return _first_below(experiment, experiment.run.spread)


def time_to_v(experiment: Experiment) -> Values:
    """First recorded step with all agents nearer than the threshold to v, or to their own limits; nan if none."""
    return _first_below(experiment, experiment.run.max_distance)


def _first_below(experiment: Experiment, values: NDArray[np.float64] | None) -> Values:
    """Yield the first recorded step at which values over time are below the threshold."""
    assert values is not None, "summaries are always recorded, and states where the measure needs them"
    below = values < experiment.threshold
    # argmax returns 0 also where nothing is below, hence the test with any.
    first = np.where(below.any(axis=1), experiment.run.times[below.argmax(axis=1)], np.nan)
    return _by_replicate(first)


def exact_error(experiment: Experiment) -> Values:
    """Exact root-mean-square distance of the consensus mode from the consensus value at the end."""
    yield "", None, consensus_error(experiment.system, experiment.steps)


def verdict(experiment: Experiment) -> Values:
    """1 if the agents reach the consensus value, 0 if not, nan if that is unknown; the detail is the outcome."""
    outcome = experiment.long_run.outcome
    value = math.nan if outcome is Outcome.UNKNOWN else float(outcome is Outcome.CONSENSUS)
    yield outcome.name.lower(), None, value


def consensus_limit(experiment: Experiment) -> Values:
    """Consensus limit and its standard deviation, without sampling; nan if the agents do not agree."""
    verdict = experiment.long_run
    limit = verdict.consensus_limit
    # A periodic limit has no single value.
    known = verdict.outcome is not Outcome.OSCILLATION
    yield "mean", None, limit.mean if limit is not None and known else math.nan
    yield "std", None, limit.std if limit is not None and known else math.nan


def retained(experiment: Experiment) -> Values:
    """Retention at the end: weight of x₀ in an agent's own hidden opinion, on average over the agents."""
    yield "", None, float(retention(experiment.model, experiment.steps).share[-1].mean())


def hidden_spread(experiment: Experiment) -> Values:
    """Spread of the hidden opinions at the end, max − min."""
    final = experiment.run.final
    hidden = np.broadcast_to(experiment.model.x0, final.public.shape) if final.hidden is None else final.hidden
    return _by_replicate(np.ptp(hidden, axis=1))


def isolated(experiment: Experiment) -> Values:
    """Share of isolated agents, on average over the steps and in the worst step."""
    network, steps = experiment.model.temporal_network, np.arange(1, experiment.steps + 1)
    # A static network is connected: no agent is isolated.
    share = np.zeros(1) if network is None else network_counts(network, steps).isolated / network.n
    yield "mean", None, float(share.mean())
    yield "worst", None, float(share.max())


def window(experiment: Experiment) -> Values:
    """Smallest number of steps over which the network is always jointly connected; nan if there is none."""
    network = experiment.model.temporal_network
    length = 1 if network is None else shortest_window(network, until=experiment.steps)
    yield "", None, math.nan if length is None else float(length)


def recovery_error(experiment: Experiment) -> Values:
    """Root mean square, over agents, of estimate − hidden opinion, for each method."""
    for method, estimate in experiment.estimates.items():
        # Estimates that the data do not identify have no meaning and would dominate the mean.
        off = estimate.residuals(experiment.truth)[:, estimate.identified]
        yield from _by_replicate(_root_mean_square(off), method)


def recovery_variance(experiment: Experiment) -> Values:
    """Variance, over agents, of estimate − hidden opinion, for each method."""
    for method, estimate in experiment.estimates.items():
        off = estimate.residuals(experiment.truth)[:, estimate.identified]
        # No identified agent: nan rather than a warning and 0/0.
        yield from _by_replicate(off.var(axis=1) if off.size else np.full(len(off), np.nan), method)


def standard_error(experiment: Experiment) -> Values:
    """Root mean square of the standard errors of the estimates, for each method."""
    for method, estimate in experiment.estimates.items():
        own = estimate.variance[estimate.identified]
        # Variances, not standard errors, are averaged, which makes the result comparable with recovery_error.
        yield method, None, math.sqrt(own.mean()) if own.size else math.nan


def identified(experiment: Experiment) -> Values:
    """Share of agents whose hidden opinion is identified, for each method."""
    for method, estimate in experiment.estimates.items():
        yield method, None, float(estimate.identified.mean())


def exposed(experiment: Experiment) -> Values:
    """Information gained about an agent, in bits, on average and at most; a lower bound if noise is not Gaussian."""
    bits = experiment.exposure.table["bits"]
    yield "mean", None, float(bits.mean())
    yield "worst", None, float(bits.max())


def epsilon(experiment: Experiment) -> Values:
    """ε of every agent for one run with y₀ unobserved, at the scenario's δ and sensitivity."""
    yield "", None, experiment.budget.epsilon


def _root_mean_square(off: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.sqrt((off**2).mean(axis=1)) if off.size else np.full(len(off), np.nan)


MEASURES: Mapping[str, Measure] = MappingProxyType(
    {
        "spread": Measure(spread),
        "max_distance": Measure(max_distance),
        "mean": Measure(mean),
        "time_to_consensus": Measure(time_to_consensus),
        "time_to_v": Measure(time_to_v, needs_states=True),
        "exact_error": Measure(exact_error),
        "verdict": Measure(verdict),
        "consensus_limit": Measure(consensus_limit),
        "retention": Measure(retained),
        "hidden_spread": Measure(hidden_spread),
        "isolated": Measure(isolated),
        "window": Measure(window),
        "recovery_error": Measure(recovery_error, needs_states=True),
        "recovery_variance": Measure(recovery_variance, needs_states=True),
        "standard_error": Measure(standard_error, needs_states=True),
        "identified": Measure(identified, needs_states=True),
        "exposure": Measure(exposed),
        "epsilon": Measure(epsilon),
    }
)


# Parameters of a unit that are no fields of the scenario.
FIXED = ("scenario", "measures", "threshold", "folder")


def with_fields(data: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of nested tables with fields set by their dotted paths.

    Parameters
    ----------
    data : mapping
        Nested tables, which are not changed.
    fields : mapping of str to object
        Values by their dotted paths; tables that are missing are added.

    Returns
    -------
    dict
        A deep copy with these values.

    See Also
    --------
    measure_scenario : Sets the axes of a sweep in this way.

    Examples
    --------
    >>> from peerpressure.scenario import with_fields
    >>> with_fields({"run": {"steps": 10}}, {"run.steps": 20, "noise.std": 0.5})
    {'run': {'steps': 20}, 'noise': {'std': 0.5}}
    """
    # A deep copy, because the same scenario serves all points of a sweep.
    new = copy.deepcopy(dict(data))
    for path, value in fields.items():
        *tables, last = path.split(".")
        here = new
        for name in tables:
            # A value that is no table is replaced by one, and the validation of the scenario reports it.
            if not isinstance(here.get(name), dict):
                here[name] = {}
            here = here[name]
        here[last] = value
    return new


def check_distinct_names(names: Sequence[str]) -> None:
    """Raise if a measure is named twice, whose rows would be doubled."""
    for i, name in enumerate(names):
        if name in names[:i]:
            raise InvalidInputError(message("measures must differ", got=f"{name!r} twice", remedy="name each once"))


def measure(experiment: Experiment, names: Sequence[str]) -> list[dict[str, Any]]:
    """Return tidy rows, one for each measure, detail and replicate.

    Parameters
    ----------
    experiment : Experiment
        The experiment.
    names : sequence of str
        Different names in ``MEASURES``.

    Returns
    -------
    list of dict
        Keys ``measure``, ``detail``, ``replicate`` (None for what does not depend on it) and ``value``.

    Raises
    ------
    InvalidInputError
        If a name is given twice.

    See Also
    --------
    measure_scenario : The same for one point of a sweep.

    Examples
    --------
    >>> from peerpressure.scenario import Experiment, measure
    >>> from peerpressure.scenario import scenario_from
    >>> parts = {"network": {"generator": "k2"}, "agents": {"hidden": [0.0, 1.0]}, "run": {"steps": 9}}
    >>> measure(Experiment(scenario_from(parts)), ["verdict"])
    [{'measure': 'verdict', 'detail': 'consensus', 'replicate': None, 'value': 1.0}]
    """
    check_distinct_names(names)
    return [
        {"measure": name, "detail": detail, "replicate": replicate, "value": value}
        for name in names
        for detail, replicate, value in MEASURES[name].function(experiment)
    ]


def _record(scenario: Scenario, *, states: bool) -> Record:
    """Return what to keep: summaries, and states if some measure needs them, as often as the scenario does."""
    asked = scenario.run.recording()
    partial = not asked.states or asked.agents is not None
    # An observer needs all agents; if the scenario records only some of them, or no states, every step is recorded.
    return Record(states=states, every=1 if states and partial else asked.every)


def measure_scenario(parameters: Mapping[str, Any], seed: int) -> list[dict[str, Any]]:
    """Return the measures of one point of a sweep.

    Everything without a seed of its own in the scenario is drawn from ``seed``. Two points with one seed differ only in
    what their fields change: their hidden opinions, networks and noise are drawn from the same random numbers.

    Parameters
    ----------
    parameters : mapping
        The ``scenario`` as nested tables, the names of ``measures``, the ``threshold`` of consensus, the ``folder``
        that paths start from, by default the current one, and fields to set by their dotted paths.
    seed : int
        Seed of the unit, an unsigned number of 64 bits.

    Returns
    -------
    list of dict
        Rows as ``measure`` returns them.

    See Also
    --------
    load_sweep : Plans calls of this function.

    Examples
    --------
    >>> from peerpressure.scenario import measure_scenario
    >>> scenario = {"network": {"generator": "k2"}, "agents": {"hidden": [0.0, 1.0]}, "run": {"steps": 9}}
    >>> parameters = {"scenario": scenario, "measures": ["spread"], "threshold": 0.01, "run.steps": 2}
    >>> [(row["measure"], round(row["value"], 6)) for row in measure_scenario(parameters, seed=1)]
    [('spread', 0.333333)]
    """
    # All other parameters are axes: dotted paths of the scenario.
    fields = {name: value for name, value in parameters.items() if name not in FIXED}
    # A file holds signed numbers of 64 bits, and a unit's seed is an unsigned one.
    point = with_fields(parameters["scenario"], {"run.seed": seed >> 1} | fields)
    scenario, names = scenario_from(point, folder=parameters.get("folder", ".")), parameters["measures"]
    keep = _record(scenario, states=any(MEASURES[name].needs_states for name in names))
    # Workers of a sweep already share the machine, so each computes in one thread.
    return measure(Experiment(scenario, keep, parameters["threshold"], threads=1), names)
