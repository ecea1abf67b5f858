"""Diagnosis of a model: whether the agents agree, on what, how fast, where they are after some steps, and why."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from peerpressure.model.statespace import System, checked_system
from peerpressure.networks import TemporalNetwork, joint_connectivity, shortest_window
from peerpressure.schedules import Formula
from peerpressure.support.progress import ShouldStop, cancellable, check_cancelled
from peerpressure.theory._advice import advice
from peerpressure.theory._analysis import analyse
from peerpressure.theory._classification import LongRun, Outcome
from peerpressure.theory._forecast import Forecast, forecast, is_exact, is_uncertain
from peerpressure.theory._forgetting import retention
from peerpressure.theory._limits import ConsensusLimit
from peerpressure.theory._rates import rate_of
from peerpressure.theory._reason_table import chance_of, explain
from peerpressure.theory._structure import EQUAL_RTOL, has_single_closed_class
from peerpressure.theory._verdict import Connectivity, HiddenOutcome, Verdict
from peerpressure.theory.propagation import step_count

# Up to this size the constants of the rates, which take a linear solve, are computed too.
_LARGEST_SOLVE = 5_000
# Steps whose pressures are evaluated together.
_AT_ONCE = 2**16
# Share of the windows that must be jointly connected for a window length to be called usual.
_USUAL_SHARE = 0.75


def diagnose(
    model: System,
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
        return _diagnose(checked_system(model), None if steps is None else step_count(steps), tolerance, advise=advise)


def _check_schedules(system: System, steps: int) -> None:
    """Raise for a formula that is illegal at one of the steps, before any work is done."""
    model, unit = system.model, system.step
    for first in range(1, steps + 1, _AT_ONCE):
        check_cancelled()
        times = unit * np.arange(first, min(first + _AT_ONCE, steps + 1))
        if isinstance(model.pressure, Formula):
            model.pressure(times)
        if isinstance(model.noise.time_scale, Formula):
            model.noise.scale(times)


def _diagnose(model: System, horizon: int | None, tolerance: float | None, *, advise: bool) -> Verdict:
    if horizon is not None:
        _check_schedules(model, horizon)
    analysis = analyse(model)
    long_run, limit = analysis.long_run, analysis.limit
    later = _forecast(model, horizon, tolerance)
    # Without one value for all there is nothing to be closer to.
    one_value = has_single_closed_class(long_run.model) and long_run.model.network.is_connected and not long_run.lazy
    recommended = advice(long_run, later) if advise and one_value and later is not None else None
    # Passed on, because for temporal networks it takes a backward run over all steps.
    weight = None if later is None else later.start_weight
    shown = _with_camps(long_run)
    return Verdict(
        outcome=shown.outcome,
        reasons=explain(analysis, horizon, weight),
        value=long_run.model.consensus_value,
        kappa=long_run.kappa,
        pressure=str(long_run.model.pressure),
        rate=rate_of(long_run, constants=long_run.model.n <= _LARGEST_SOLVE),
        law=shown.law,
        forecast=later,
        advice=recommended,
        consensus_limit=limit,
        hidden=_hidden(long_run, limit),
        connectivity=_connectivity(long_run, horizon),
        step=long_run.system.step if long_run.system.is_continuous else None,
        classes=shown.classes,
        directed=long_run.model.network.directed,
        span=float(np.ptp(long_run.model.x0)),
        chance=chance_of(long_run),
        weighted=bool(np.ptp(long_run.model.s) > 0),
    )


def _forecast(model: System, horizon: int | None, tolerance: float | None) -> Forecast | None:
    """Return the state after so many steps; where it is random who updates it takes too long on large networks."""
    if horizon is None or (is_uncertain(model) and not is_exact(model, horizon)):
        return None
    return forecast(model, horizon, tolerance=tolerance)


def _with_camps(long_run: LongRun) -> LongRun:
    """Return the long run of opinions with the signs of their camps."""
    if long_run.camps is None:
        return long_run
    law, signs = long_run.law, long_run.camps.astype(np.int64)
    classes = tuple(replace(each, camp=each.camp * signs[each.agents]) for each in long_run.classes)
    return replace(long_run, computed_law=replace(law, mean=law.mean * signs, camp=law.camp * signs), classes=classes)


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
        if joined.connected.mean() >= _USUAL_SHARE:
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
        distance = float(np.abs(still - limit.mean).max()) + limit.std
        near = distance <= EQUAL_RTOL * float(np.ptp(long_run.model.x0))
        agrees = long_run.outcome is Outcome.BIASED_CONSENSUS and near
    return HiddenOutcome(agrees, life, float(kept.information.max()))
