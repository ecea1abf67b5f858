"""What a comparison says, in plain sentences."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from peerpressure.comparison._compared import Compared
from peerpressure.recovery.courses import ADAPTING
from peerpressure.recovery.measured_rivals import MeasuredFit
from peerpressure.recovery.rivals import WITH_HIDDEN, AverageFit

COMMON_CAUSES = (
    "No such record tells influence from shocks that neighbours share, or from friendships that form because people "
    "agree."
)
# Weight above which the choice of a model is not doubted, and p-values below which its fit is.
_CLEAR, _DOUBTFUL = 0.9, 0.01


def sentences_on(c: Compared) -> tuple[str, ...]:
    """Return the answer: response to neighbours, course of pressure, adaptation, fit, what is missed, and limits.

    A record that was read in the wrong way spoils all of it, which is said first.
    """
    answer = (*_response(c), *_course(c), *_adaptation(c), *_errors(c), *_doubt(c), *_fit(c), *_missed(c), *_limits(c))
    return (*_spoilt(c), *answer)


def _spoilt(c: Compared) -> Iterator[str]:
    if c.panel.remarks:
        yield "These answers lie on a grid and were taken as exact, so pressure looks weaker than it is: see the notes."


def _response(c: Compared) -> Iterator[str]:
    fit = c.fit
    if isinstance(fit, AverageFit) and fit.uses_network:
        yield "People respond to their neighbours."
        yield f"They move {fit.weight:.0%} of the way to the mean of their neighbours at each step."
    elif fit.uses_network:
        yield "People respond to their neighbours."
    elif not c.has_network:
        yield _ALONE.get(c.best, _ALONE["none"])
    elif c.best in ("walk", "var"):
        yield "This network does not explain these data."
        yield _ALONE[c.best]
    else:
        yield "There is no sign that people respond to their neighbours in this network."
        yield _ALONE.get(c.best, _ALONE["none"])


_ALONE = {
    "none": "Answers vary about opinions of people's own, which do not change.",
    "none" + ADAPTING: "Answers vary about opinions of people's own, which follow their own answers.",
    "walk": "Each agent moves on from its last answer, at random and on its own.",
    "var": "Agents respond to one another, but along other ties than those of a network; infer_network estimates them.",
}


def _course(c: Compared) -> Iterator[str]:
    fit = c.fit
    if not isinstance(fit, WITH_HIDDEN) or not fit.uses_network or fit.given is not None:
        return
    name, p = c.best.removesuffix(ADAPTING), fit.parameters
    if name == "constant":
        yield f"Pressure is constant, {_interval(p.value[0], p.low[0], p.high[0])}."
    elif name == "linear":
        yield f"Pressure grows with time, by {_interval(p.value[0], p.low[0], p.high[0])} a step."
    elif name == "power":
        verb = "grows" if p.low[1] > 0 else "falls" if p.high[1] < 0 else "hardly changes"
        yield f"Pressure {verb} with time, with exponent {_interval(p.value[1], p.low[1], p.high[1])}."
    else:
        rho = fit.dynamics.rho
        steady = np.diff(rho)
        verb = "grows" if (steady >= 0).all() else "falls" if (steady <= 0).all() else "changes"
        yield f"Pressure {verb} over time, from {rho[0]:.3g} to {rho[-1]:.3g}."


def _interval(value: float, low: float, high: float) -> str:
    ends = f"{low:.3g} or more" if np.isinf(high) else f"{low:.3g} to {high:.3g}"
    return f"{value:.3g} ({ends})"


def _adaptation(c: Compared) -> Iterator[str]:
    fit = c.fit
    if not isinstance(fit, WITH_HIDDEN) or fit.given is not None or not fit.uses_network:
        return
    if fit.adapts:
        p = fit.parameters
        value, low, high = p.value[-1], p.low[-1], p.high[-1]
        yield f"Opinions adapt to answers, by {_interval(value, low, high)} of the difference at each step."
    elif c.best + ADAPTING in c.fits:
        yield "Opinions stay as they are: adaptation is not distinguishable from none."


def _errors(c: Compared) -> Iterator[str]:
    if isinstance(c.fit, MeasuredFit) and c.fit.likelihood.errors.is_measured:
        yield f"Answers have errors of measurement of {_interval(*c.fit.measurement_noise)}, to which nobody responds."


def _doubt(c: Compared) -> Iterator[str]:
    names = list(c.weights)
    if c.weights[c.best] < _CLEAR and len(names) > 1:
        share, other = c.weights[names[1]], names[1]
        yield f"The choice is not clear: {c.best} has a weight of {c.weights[c.best]:.2f}, {other} one of {share:.2f}."


def _fit(c: Compared) -> Iterator[str]:
    p = c.p_value
    if c.panel.errors is not None:
        yield "Whether this model fits is not tested: tests need exact answers."
    if p is None:
        return
    if p >= _DOUBTFUL:
        yield f"The data are as this model expects (p = {p:.2g})."
        return
    yield f"Even the best of these models fits badly (p = {p:.2g}): something else made these data."
    if c.diagnostics is not None:
        yield from (f"{finding[0].upper()}{finding[1:]}." for finding in c.diagnostics.findings.values())


def _missed(c: Compared) -> Iterator[str]:
    if c.misses is not None and c.misses.sentences:
        yield from c.misses.sentences
        yield "For each of agents, signs and ties, such a finding is chance in 1 of 20 records that the model explains."


def _limits(c: Compared) -> Iterator[str]:
    if c.caveat:
        yield c.caveat
    if not c.has_network:
        yield "Without a network, only models without neighbours were compared; infer_network estimates who hears whom."
