"""Diagnosis of a model: whether the agents agree, on what, how fast, and where they are after a number of steps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from peerpressure.model import Model
from peerpressure.networks import TemporalNetwork, joint_connectivity, shortest_window
from peerpressure.progress import ShouldStop, cancellable, checkpoint
from peerpressure.schedules import Formula
from peerpressure.sde import SDE
from peerpressure.statespace import model_of, step_length
from peerpressure.theory._advice import advice
from peerpressure.theory._asynchronous_verdict import asynchronous_verdict
from peerpressure.theory._classification import LongRun, Outcome, classify
from peerpressure.theory._closed_classes import GeneralOutcome, judge
from peerpressure.theory._departure import decide
from peerpressure.theory._explanation import explain, pressure_reasons
from peerpressure.theory._forecast import Forecast, forecast, is_exact, is_uncertain
from peerpressure.theory._limits import ConsensusLimit, with_component_values
from peerpressure.theory._moments import step_count
from peerpressure.theory._rates import Rate, rate_of
from peerpressure.theory._reasons import Reason, ReasonCode
from peerpressure.theory._retention import retention
from peerpressure.theory._structure import SAME, is_covered
from peerpressure.theory._verdict import Connectivity, HiddenOutcome, Verdict

# Up to this size the constants of the rates, which take a linear solve, are computed too.
_LARGEST_SOLVE = 5_000
# Share of the range of opinions to which limits are computed. They are printed with few digits, and each further digit
# may take many times the steps.
_TOLERANCE = 1e-3
# Components whose values are computed where that takes more than their opinions.
_NAMED_COMPONENTS = 3
# Steps whose pressures are evaluated together.
_AT_ONCE = 2**16
# Share of the windows that must be jointly connected for a window length to be called usual.
_MOSTLY = 0.75


def diagnose(
    model: Model | SDE,
    steps: int | None = None,
    *,
    tolerance: float | None = None,
    advise: bool = True,
    should_stop: ShouldStop | None = None,
) -> Verdict:
    """Decide whether the agents will agree, on what, and how fast.

    Parameters
    ----------
    model : Model or SDE
        Any model.
    steps : int, optional
        A number of steps after which to compute exactly where the agents are, and which schedules would bring them
        closer to v by then. In continuous time steps are those of the equation.
    tolerance : float, optional
        The distance of the settling times in the forecast; see ``forecast``.
    advise : bool, default True
        Whether to look for such schedules, which takes most of the time where ``steps`` is given.
    should_stop : callable, optional
        Called at every step that is computed; cancels the work with ``CancelledError`` if it returns True.

    Returns
    -------
    Verdict
        The outcome, its reasons and its rates; ``print`` gives a page of text.

    See Also
    --------
    consensus_limit : The limit of the public opinions where all agents agree.
    consensus_rate : Only the rates.
    moments : The exact law of the state after a number of steps.
    optimal_schedule : The best schedule for a number of steps, for larger models than a diagnosis looks at.

    References
    ----------
    .. [1] M. H. DeGroot, "Reaching a consensus", J. Am. Stat. Assoc. 69 (1974).
    .. [2] N. E. Friedkin, E. C. Johnsen, "Social influence and opinions", J. Math. Sociol. 15 (1990).
    .. [3] A. Jadbabaie, J. Lin, A. S. Morse, "Coordination of groups of mobile autonomous agents using nearest neighbor
       rules", IEEE Trans. Autom. Control 48 (2003).
    .. [4] B. Touri, A. Nedić, "On ergodicity, infinite flow, and consensus in random models", IEEE Trans. Autom.
       Control 56 (2011).

    Examples
    --------
    >>> from peerpressure import Model, Power, diagnose
    >>> from peerpressure.networks import k2
    >>> diagnose(Model(k2(), hidden=[0, 1])).outcome.value
    'consensus on v'
    >>> diagnose(Model(k2(), hidden=[0, 1], pressure=Power(2))).outcome.value
    'permanent oscillation between the two sides'
    """
    with cancellable(should_stop):
        return _diagnose(model, None if steps is None else step_count(steps), tolerance, advise=advise)


def _check_schedules(system: Model | SDE, steps: int) -> None:
    """Raise for a formula that is illegal at one of the steps, before any work is done."""
    model, unit = model_of(system), step_length(system)
    for first in range(1, steps + 1, _AT_ONCE):
        checkpoint()
        times = unit * np.arange(first, min(first + _AT_ONCE, steps + 1))
        if isinstance(model.pressure, Formula):
            model.pressure(times)
        if isinstance(model.noise.time_scale, Formula):
            model.noise.scale(times)


def _diagnose(model: Model | SDE, horizon: int | None, tolerance: float | None, *, advise: bool) -> Verdict:
    if horizon is not None:
        _check_schedules(model, horizon)
    if model_of(model).activation is not None:
        return _asynchronous(model_of(model), horizon, tolerance)
    long_run = with_component_values(classify(model), most=_NAMED_COMPONENTS, tolerance=_TOLERANCE)
    ahead = None if horizon is None else forecast(model, horizon, tolerance=tolerance)
    covered = is_covered(long_run.model)
    if not covered and not long_run.settled:
        found = judge(long_run.system, long_run, _TOLERANCE)
        if found is not None:
            return _general_verdict(long_run, found, ahead, model_of(model).network.camps)
    # Without one value for all there is nothing to be closer to.
    one_value = covered and long_run.model.network.is_connected
    better = advice(long_run, ahead) if advise and one_value and ahead is not None else None
    long_run, limit, departure = decide(long_run, _TOLERANCE)
    # Passed on, because for temporal networks it takes a backward run over all steps.
    weight = None if ahead is None else ahead.start_weight
    return Verdict(
        outcome=_with_camps(long_run.outcome) if long_run.has_camps else long_run.outcome,
        reasons=(*_camps(long_run, model), *explain(long_run, limit, departure, horizon, weight)),
        estimated=long_run.estimated,
        value=long_run.model.consensus_value,
        kappa=long_run.kappa,
        pressure=str(long_run.model.pressure),
        rate=rate_of(long_run, constants=long_run.model.n <= _LARGEST_SOLVE),
        forecast=ahead,
        advice=better,
        consensus_limit=limit,
        departure=departure,
        hidden=_hidden(long_run, limit),
        connectivity=_connectivity(long_run, horizon),
        step=long_run.system.step if isinstance(long_run.system, SDE) else None,
        directed=long_run.model.network.directed,
    )


def _asynchronous(model: Model, horizon: int | None, tolerance: float | None) -> Verdict:
    """Return the verdict on a model with asynchronous updates; the forecast of a large one would take too long."""
    known = horizon is not None and (is_exact(model, horizon) or not is_uncertain(model))
    return asynchronous_verdict(model, forecast(model, horizon or 1, tolerance=tolerance) if known else None)


def _with_camps(outcome: Outcome) -> Outcome:
    """Return the outcome for opinions with the sign of their camp."""
    agrees = outcome in (Outcome.CONSENSUS, Outcome.BIASED_CONSENSUS)
    return Outcome.BIPARTITE if agrees else outcome


def _camps(long_run: LongRun, system: Model | SDE) -> tuple[Reason, ...]:
    if not long_run.has_camps:
        return ()
    first = int(np.count_nonzero(model_of(system).network.camps == 1))
    return (Reason(ReasonCode.CAMPS, {"first": first, "second": long_run.model.n - first}),)


def _general_verdict(
    long_run: LongRun, found: GeneralOutcome, ahead: Forecast | None, camps: NDArray[np.int8]
) -> Verdict:
    """Return the verdict on a network of several closed classes, or without balance."""
    model, signed = long_run.model, long_run.has_camps
    reasons = (*pressure_reasons(long_run), *found.reasons)
    return Verdict(
        outcome=_with_camps(found.outcome) if signed else found.outcome,
        reasons=reasons,
        estimated=long_run.estimated,
        value=model.consensus_value,
        kappa=model.kappa,
        pressure=str(model.pressure),
        rate=Rate(long_run.regime, estimated=long_run.estimated),
        forecast=ahead,
        classes=tuple(replace(each, camp=each.camp * camps[each.agents]) if signed else each for each in found.classes),
        limits=camps * found.state if signed and found.state is not None else found.state,
        step=long_run.system.step if isinstance(long_run.system, SDE) else None,
        directed=long_run.model.network.directed,
    )


def _connectivity(long_run: LongRun, horizon: int | None) -> Connectivity | None:
    temporal_network, structure = long_run.model.temporal_network, long_run.structure
    if temporal_network is None:
        return None
    law = structure.law
    horizon = None if horizon is None else long_run.network_step(horizon)
    # Joint connectivity is that of the record, if a random process goes on after it.
    horizon = temporal_network.span if horizon is None and law is not None else horizon
    usual, broken = _usual_window(temporal_network, horizon)
    never = np.zeros((1, long_run.model.n), dtype=np.bool_)
    isolated = never if structure.networks is None else structure.networks.silent
    at_times = int(np.count_nonzero(np.any(isolated, axis=0)))
    return Connectivity(
        period=temporal_network.period,
        last_change=temporal_network.last_change,
        until=horizon,
        window=shortest_window(temporal_network, horizon),
        usual=usual,
        broken=broken,
        components=tuple(component.agents.size for component in structure.components),
        values=tuple(component.value for component in structure.components),
        isolated=float(isolated.mean()) if law is None else law.isolation,
        isolated_agents=at_times if law is None else long_run.model.n * (law.isolation > 0),
    )


def _usual_window(network: TemporalNetwork, horizon: int | None) -> tuple[int | None, tuple[tuple[int, int], ...]]:
    """Return the first window of 1, 2, 4, … steps that is mostly connected, and the intervals where it is not."""
    end = network.span if horizon is None else horizon
    window = 1
    while window <= end:
        joined = joint_connectivity(network, window, end)
        if joined.connected.mean() >= _MOSTLY:
            return window, tuple(joined.broken)
        # Powers of two: each test passes over all steps, and only the order of magnitude is reported.
        window *= 2
    return None, ()


def _hidden(long_run: LongRun, limit: ConsensusLimit | None) -> HiddenOutcome | None:
    # Half-lives and information are those of steps.
    if long_run.structure.constant_opinions or long_run.continuous:
        return None
    # One step is enough: half-life and information do not depend on how many are asked for.
    kept = retention(long_run.model, 1)
    life = (float(kept.half_life.min()), float(kept.half_life.max()))
    agrees, still = long_run.hidden_agrees, long_run.model.x0[~long_run.structure.opinions.movable]
    if agrees is False and long_run.structure.opinions.lasting and still.size and limit is not None:
        # Agents who adapt follow a public consensus, which may be the opinion of those who do not.
        apart = float(np.abs(still - limit.mean).max()) + limit.std
        agrees = long_run.outcome is Outcome.BIASED_CONSENSUS and apart <= SAME * float(np.ptp(long_run.model.x0))
    return HiddenOutcome(agrees, life, float(kept.information.max()))
