"""What a comparison says, in plain sentences."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from peerpressure.fitting._compared import Compared, Verdict
from peerpressure.fitting._courses import ADAPTING
from peerpressure.fitting._measured_rivals import MeasuredFit
from peerpressure.fitting._own_rivals import OWN_LAWS, OwnFit
from peerpressure.fitting._place_placebo import Placebo
from peerpressure.fitting._rivals import WITH_HIDDEN

COMMON_CAUSES = (
    "No such record tells influence from shocks that neighbours share, or from friendships that form because people "
    "agree."
)
# Weight above which the choice of a model is not doubted, and p-values below which its fit is.
_CLEAR, _DOUBTFUL = 0.9, 0.01
# P-values of the placebo at which a response is found, and the response that must be found where none is said to be.
_FOUND, _MATTERS = 0.05, 0.2
# Courses of pressure, and how many times more likely some must be than others to be told from them.
_STEADY, _CHANGING, _FAR_MORE = frozenset({"constant"}), frozenset({"linear", "power"}), 20.0


def sentences_on(c: Compared) -> tuple[str, ...]:
    """Return the answer: response to neighbours, course of pressure, adaptation, fit, what is missed, and limits.

    A record that was read in the wrong way spoils all of it, which is said first.
    """
    answer = (*_response(c), *_course(c), *_adaptation(c), *_errors(c), *_doubt(c), *_fit(c), *_missed(c), *_limits(c))
    return (*_spoilt(c), *answer)


def _spoilt(c: Compared) -> Iterator[str]:
    if c.panel.remarks:
        yield "These answers lie on a grid and were taken as exact, so pressure looks weaker than it is: see the notes."


def verdict_on(c: Compared) -> Verdict:
    """Return the answer of both witnesses: the best rival, and the placebo."""
    if c.placebo is None:
        return "cannot tell"
    likely, found = c.fit.uses_network, c.placebo.p_value <= _FOUND
    if likely and found:
        return "responds"
    return "no response" if not likely and not found and c.placebo.smallest <= _MATTERS else "cannot tell"


def _response(c: Compared) -> Iterator[str]:
    fit = c.fit
    if c.placebo is None:
        yield _alone(c)
        return
    if c.verdict == "responds":
        yield "People respond to their neighbours."
        # Where pressure changes there is no one weight.
        if not (_describes(c) and c.best.removesuffix(ADAPTING) in _CHANGING):
            value, low, high, _ = c.weight
            yield f"On average they move {value:.2g} ({low:.2g} to {high:.2g}) of the way to their mean at each step."
        if isinstance(fit, OwnFit):
            yield fit.law.words
        return
    if c.verdict == "no response":
        yield "There is no sign that people respond to their neighbours in this network."
        yield f"A response of {_share(c)} of the way to their mean at each step would have been found."
    else:
        yield "These data cannot tell whether people respond to their neighbours."
        yield _why_not(c, c.placebo)
    if not fit.uses_network:
        yield _alone(c)


def _share(c: Compared) -> str:
    return "" if c.placebo is None else f"{c.placebo.smallest:.2g}"


def _why_not(c: Compared, placebo: Placebo) -> str:
    """Return why the two witnesses do not answer."""
    if not placebo.can_tell:
        return "All hear the same, so a response is not told from what moves all alike."
    if c.fit.uses_network:
        return (
            f"The best model has a response, but people dealt to other places tell as much (p = {placebo.p_value:.2g})."
        )
    if placebo.p_value <= _FOUND:
        return (
            f"Neighbours tell more than people dealt to their places (p = {placebo.p_value:.2g}), "
            "but a model without a response explains the answers best."
        )
    if not placebo.smallest < 1:
        return "So few answers would hardly show a response of any size."
    return f"A response of less than {_share(c)} of the way to their mean at each step would not have been found."


def _alone(c: Compared) -> str:
    own = OWN_LAWS.get(c.best)
    return own.words if own else _ALONE.get(c.best, _ALONE["none"])


_ALONE = {
    "none": "Answers vary about opinions of people's own, which do not change.",
    "none" + ADAPTING: "Answers vary about opinions of people's own, which follow their own answers.",
    "walk": "Each agent moves on from its last answer, at random and on its own.",
}


def _describes(c: Compared) -> bool:
    """Return whether the best model's own parameters are told: one that fits badly has neither right sizes nor ends."""
    fits = c.p_value is None or c.p_value >= _DOUBTFUL
    return c.verdict == "responds" and isinstance(c.fit, WITH_HIDDEN) and c.fit.given is None and fits


def _course(c: Compared) -> Iterator[str]:
    fit = c.fit
    if not _describes(c) or not isinstance(fit, WITH_HIDDEN):
        return
    name, p = c.best.removesuffix(ADAPTING), fit.parameters
    if name == "constant":
        size = _interval(p.value[0], p.low[0], p.high[0])
        known = _outweighs(c, _STEADY, _CHANGING)
        yield f"Pressure is constant, {size}." if known else f"Pressure is {size} if constant; growth is not ruled out."
    elif name == "linear":
        size = _interval(p.value[0], p.low[0], p.high[0])
        if _outweighs(c, _CHANGING, _STEADY):
            yield f"Pressure grows with time, by {size} a step."
        else:
            yield f"Pressure seems to grow with time, by {size} a step, but constant pressure is not ruled out."
    elif name == "power":
        verb = "grows" if p.low[1] > 0 else "falls" if p.high[1] < 0 else "hardly changes"
        yield f"Pressure {verb} with time, with exponent {_interval(p.value[1], p.low[1], p.high[1])}."


def _outweighs(c: Compared, these: frozenset[str], others: frozenset[str]) -> bool:
    """Return whether courses of pressure were compared with others, and are far more likely than these."""
    sums = [
        sum(weight for name, weight in c.weights.items() if name.removesuffix(ADAPTING) in names)
        for names in (these, others)
    ]
    return any(name.removesuffix(ADAPTING) in others for name in c.weights) and sums[0] >= _FAR_MORE * sums[1]


def _interval(value: float, low: float, high: float) -> str:
    ends = f"{low:.3g} or more" if np.isinf(high) else f"{low:.3g} to {high:.3g}"
    return f"{value:.3g} ({ends})"


def _adaptation(c: Compared) -> Iterator[str]:
    fit = c.fit
    if not _describes(c) or not isinstance(fit, WITH_HIDDEN):
        return
    if fit.course.adapts:
        p = fit.parameters
        value, low, high = p.value[-1], p.low[-1], p.high[-1]
        yield f"Opinions adapt to answers, by {_interval(value, low, high)} of the difference at each step."
    elif c.best + ADAPTING in c.fits:
        yield "Opinions stay as they are: adaptation is not distinguishable from none."


def _errors(c: Compared) -> Iterator[str]:
    if not isinstance(c.fit, MeasuredFit) or not c.fit.likelihood.errors.is_measured:
        return
    if c.fit.tells_errors:
        yield f"Answers have errors of measurement of {_interval(*c.fit.measurement_noise)}, to which nobody responds."
    else:
        yield "Errors of measurement cannot be told from the noise of opinions where nobody responds to anybody."


def _doubt(c: Compared) -> Iterator[str]:
    names = list(c.weights)
    if c.weights[c.best] < _CLEAR and len(names) > 1:
        share, other = c.weights[names[1]], names[1]
        yield f"The choice is not clear: {c.best} has a weight of {c.weights[c.best]:.2f}, {other} one of {share:.2f}."


def _fit(c: Compared) -> Iterator[str]:
    p = c.p_value
    if c.panel.errors is not None:
        yield "Whether this model fits is not tested: tests need exact answers."
    elif isinstance(c.fit, OwnFit):
        yield "Whether this model fits is not tested: tests are of models with hidden opinions."
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
