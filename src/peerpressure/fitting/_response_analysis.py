"""Whether people respond to what they see of others: data and networks in any form, and the fits that decide."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import numpy as np

from peerpressure.errors import InvalidInputError, message
from peerpressure.fitting._groups import First, GroupPanel
from peerpressure.fitting._response import Response
from peerpressure.fitting._seat_placebo import Shuffles, balance_placebo, check_permutations, seat_placebo
from peerpressure.fitting._weights import WeightFit, fit_memories
from peerpressure.fitting.group_reading import group_panel
from peerpressure.model.step import Array
from peerpressure.support.progress import ShouldStop, announce, cancellable
from peerpressure.support.resources import few_threads

# The part of the information about the weight that must lie within groups for people to be compared there.
_ENOUGH: Final = 0.5


def response(
    data: Any,
    network: Any = None,
    *,
    first: First,
    group: str | None = None,
    question: str | None = None,
    seen: str | None = None,
    matter: float = 0.1,
    equal_groups: bool = False,
    permutations: int = 999,
    seed: int = 0,
    should_stop: ShouldStop | None = None,
) -> Response:
    """Tell whether people respond to what they see of others, and how much, from two to ten rounds of answers.

    Everything else that could explain the answers is left free: a person's own history, a level for each round and
    question, unequal noise. Influence is claimed only if two witnesses agree: an interval of the weight, and a placebo
    that shuffles who sat where and assumes no distribution.

    Parameters
    ----------
    data : pandas.DataFrame, path, Trajectory or array
        Answers over rounds: a table with columns ``time``, ``agent`` and ``public``, and where they apply ``group``
        (people who could see one another), ``question`` (answers that measure the same) and ``seen`` (what the person
        had seen before this answer, empty for nothing); or anything that `recover` takes, for one group.
    network : Network, sequence of Network, TemporalNetwork, mapping or path, optional
        Whom each person sees: one network, one for each wave, or a mapping from groups to either. People without ties,
        and groups that a mapping leaves out, saw nobody. Not with a column ``seen``.
    first : {"before", "after"}
        Whether the first row was answered before anybody had seen anything, as in experiments, or by people who knew
        each other's opinions already.
    group, question, seen : str, optional
        Names of these columns, where they are not the usual ones.
    matter : float, default 0.1
        The smallest weight that would matter. "No response" is said only if the interval ends below it.
    equal_groups : bool, default False
        Whether every group has the same weight in the estimate, rather than one by the information that it carries.
    permutations : int, default 999
        The number of shuffles of the placebo.
    seed : int, default 0
        Seed of the shuffles.
    should_stop : callable, optional
        Called often; the work is cancelled with `CancelledError` if it returns True.

    Returns
    -------
    Response
        The verdict with its sentences, the weight and its interval, the placebo, and weights by round.

    Raises
    ------
    InvalidInputError
        If nothing says what people saw, if there are fewer than two or more than ten rounds, if fewer than eight people
        answered in the first two, or if answers never change.
    FileFormatError
        If a file cannot be read.

    See Also
    --------
    compare : Compare models of more rows of answers.

    References
    ----------
    .. [1] C. F. Manski (1993), Identification of endogenous social effects: the reflection problem. Review of Economic
       Studies 60.
    .. [2] Y. Mundlak (1978), On the pooling of time series and cross section data. Econometrica 46.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from peerpressure.fitting import response
    >>> rng = np.random.default_rng(1)
    >>> rows = []
    >>> for group in range(20):
    ...     opinion = rng.normal(size=10)
    ...     said = opinion + 0.5 * rng.normal(size=10)
    ...     shown = np.append(said[1:], said[0])  # everybody is shown the answer of another one
    ...     then = 0.6 * (opinion + 0.5 * rng.normal(size=10)) + 0.4 * shown
    ...     rows += [(group, i, 1, said[i], None) for i in range(10)]
    ...     rows += [(group, i, 2, then[i], shown[i]) for i in range(10)]
    >>> table = pd.DataFrame(rows, columns=["group", "agent", "time", "public", "seen"])
    >>> answer = response(table, first="before")
    >>> answer.verdict, round(answer.weight.value, 1)
    ('responds', 0.4)
    """
    check_permutations(permutations, seed)
    if isinstance(matter, bool) or not isinstance(matter, int | float) or not 0 < matter < 1:
        rule, remedy = "matter must be a weight between 0 and 1", "0.1 is a tenth of what was seen"
        raise InvalidInputError(message(rule, got=repr(matter), remedy=remedy))
    with cancellable(should_stop):
        panel, notes = group_panel(data, network, first, group=group, question=question, seen=seen)
        with few_threads(panel.n):
            # People see only others, so within a group their first answers are a little unlike what they see.
            balance = balance_placebo(panel, int(permutations), int(seed)) if panel.first == "before" else None
            if _tells_within_groups(panel):
                panel = replace(panel, stratum=panel.group)
                notes = (*notes, "People were compared with others of their own group, who saw something else.")
            return _response(panel, balance, notes, float(matter), int(permutations), int(seed), equal_groups)


def _tells_within_groups(panel: GroupPanel) -> bool:
    """Return whether people of a group saw things so different that other groups are hardly needed.

    Compared with people of other groups, what moves a whole group would look like a response.
    """
    within = replace(panel, stratum=panel.group)
    if np.unique(panel.stratum).size == np.unique(panel.group).size or within.saw_the_same:
        return False
    here, everywhere = (float(WeightFit(each).information[0, 0]) for each in (within, panel))
    return here >= _ENOUGH * everywhere


def _response(
    panel: GroupPanel,
    balance: Shuffles | None,
    notes: tuple[str, ...],
    matter: float,
    permutations: int,
    seed: int,
    equal_groups: bool,
) -> Response:
    announce("fitting weights")
    size = fit_memories(panel)
    importance = _equal_weights(size.best) if equal_groups else None
    if importance is not None:
        size = fit_memories(panel, importance=importance)
    detection = fit_memories(panel, student=True, importance=importance)
    announce("shuffling seats")
    placebo = seat_placebo(panel, permutations, seed)
    announce("")
    return Response(panel, size, detection, placebo, balance, permutations, seed, importance, matter, notes)


def _equal_weights(fit: WeightFit) -> Array:
    """Return factors of people that give every group the same information about the weight."""
    information = np.zeros(int(fit.panel.group.max()) + 1)
    for one in fit.fits:
        np.add.at(information, fit.panel.group[one.row.people], one.score[:, 0] ** 2 * one.weight)
    informed = information > 0
    factor = np.divide(information[informed].mean(), information, out=np.ones(information.size), where=informed)
    return np.asarray(factor[fit.panel.group])
