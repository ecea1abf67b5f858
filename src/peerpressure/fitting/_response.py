"""Whether people respond to what they see, and how much: one weight for all groups, with two witnesses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias, final

import numpy as np
from scipy import stats

from peerpressure.fitting._groups import GroupPanel, Neighbours
from peerpressure.fitting._likeness import Likeness, likeness
from peerpressure.fitting._people import People, people_of
from peerpressure.fitting._seat_placebo import Shuffles, alike_placebo, shared_placebo
from peerpressure.fitting._weights import LARGEST, Remembered, WeightFit, fit_memories
from peerpressure.model import Model
from peerpressure.model.step import Array
from peerpressure.networks import Network
from peerpressure.noise import Gaussian
from peerpressure.schedules import Constant

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from peerpressure.report.estimates import Estimates, Picture

Verdict: TypeAlias = Literal["responds", "no response", "cannot tell"]

FOUND: Final = 2.8  # standard errors: a weight so large is found in four of five records
SIGNIFICANT: Final = 0.05
# Neighbours who think alike at this level already stand against a response; in one network, chance seldom dealt seats.
LIKENESS: Final = 0.1
LIKENESS_IN_ONE: Final = 0.2
AWAY: Final = 0.01  # for people who move away from what they see, which is rare


class Weight(NamedTuple):
    """An estimate with its 95 % interval and its standard error.

    Attributes
    ----------
    value, low, high, std : float
        The estimate, the ends of the interval, and the standard error.

    See Also
    --------
    Response : Has the weight of what was seen.

    Examples
    --------
    >>> from peerpressure.fitting import Weight
    >>> Weight(0.3, 0.2, 0.4, 0.05).high
    0.4
    """

    value: float
    low: float
    high: float
    std: float


@final
@dataclass(frozen=True, eq=False)
class Response:
    """Whether people respond to what they see, how much, and what the data cannot tell.

    Attributes
    ----------
    panel : GroupPanel
        The answers, in units of their questions, and what people saw.
    size, detection : Remembered
        Fits with one weight, by least squares and with Student's errors.
    placebo : Shuffles
        The test that shuffles who sat where.
    balance : Shuffles or None
        Whether first answers were like what was seen first; None where people knew each other before.
    permutations, seed : int
        The number of shuffles and their seed.
    importance : array or None
        Further weights of people in the fits, (n,).
    matter : float
        The smallest weight that would matter.
    notes : tuple of str
        What a reader must know of how the data were read.

    See Also
    --------
    response : Returns it.

    Examples
    --------
    >>> import numpy as np
    >>> import peerpressure as pp
    >>> rng = np.random.default_rng(1)
    >>> opinions = rng.normal(size=30)
    >>> answer = pp.fitting.response(
    ...     opinions + rng.normal(size=(3, 30)), pp.networks.cycle(30), first="before", permutations=99
    ... )
    >>> answer.verdict
    'cannot tell'
    """

    panel: GroupPanel
    size: Remembered
    detection: Remembered
    placebo: Shuffles
    balance: Shuffles | None
    permutations: int
    seed: int
    importance: Array | None = None
    matter: float = 0.1
    notes: tuple[str, ...] = ()

    @cached_property
    def verdict(self) -> Verdict:
        """The answer: "responds" (also by moving away), "no response" (larger than ``matter``), or "cannot tell"."""
        if self._is_doubted:
            return "cannot tell"
        if self._found:
            return "responds"
        is_small = self._reach < self.matter and self.smallest < 2 * self.matter
        return "no response" if is_small else "cannot tell"

    @property
    def _reach(self) -> float:
        """The largest weight in the interval, in either direction."""
        return max(self.weight.high, -self.weight.low)

    @property
    def is_refused(self) -> bool:
        """Whether neighbours were alike before anybody had seen anything, so seats were not dealt by chance."""
        return self.balance is not None and self.balance.statistic > 0 and self.balance.p_value <= SIGNIFICANT

    @cached_property
    def rounds(self) -> Remembered:
        """The fit by least squares with a weight for each round."""
        return fit_memories(self.panel, "round", importance=self.importance)

    @cached_property
    def alike(self) -> Shuffles | None:
        """Whether neighbours are alike in what they would have said without a response; None without networks."""
        if self.panel.first == "after":
            return None
        return alike_placebo(self.panel, self.size.best, self.permutations, self.seed)

    @cached_property
    def together(self) -> Shuffles | None:
        """Whether neighbours move together in the same round; None without one network of all."""
        return shared_placebo(self.panel, self.rounds.best, self.permutations, self.seed)

    @cached_property
    def people(self) -> People:
        """Who responds less than the others."""
        return people_of(self.size.best, self.permutations, self.seed)

    @cached_property
    def likeness(self) -> Likeness:
        """How alike people were to those whom they saw, and whether that grew."""
        return likeness(self.panel)

    @cached_property
    def _found(self) -> bool:
        low, high = (float(end[-1]) for end in self.detection.best.interval)
        if self.weight.value < 0:
            return high < 0 and self.weight.value <= -self.matter and self.p_value <= AWAY
        return low > 0 and self.weight.value > 0 and self.p_value <= SIGNIFICANT

    @property
    def is_confounded(self) -> bool:
        """Whether what is found may be of people who knew each other and approach opinions that they share."""
        return self._found and self.panel.first == "after" and self.likeness.p_value <= SIGNIFICANT

    @property
    def is_alike(self) -> bool:
        """Whether what is found may be of neighbours who think alike, since they do in all rounds taken together."""
        level = LIKENESS_IN_ONE if self.panel.is_one_network else LIKENESS
        return self._found and self.alike is not None and self.alike.p_value <= level

    @property
    def is_shared(self) -> bool:
        """Whether what is found may be of neighbours who share what moves them, since they move in the same round."""
        return self._found and self.together is not None and self.together.p_value <= SIGNIFICANT

    @property
    def _is_doubted(self) -> bool:
        return self.is_refused or self.is_alike or self.is_confounded or self.is_shared

    @cached_property
    def weight(self) -> Weight:
        """The weight of what was seen in an answer, by least squares; NaN if it cannot be estimated."""
        best, (low, high) = self.size.best, self.size.interval
        if not np.isfinite([low[-1], high[-1]]).all():
            return Weight(np.nan, -np.inf, np.inf, np.inf)
        return Weight(*(float(value[-1]) for value in (best.w, low, high, best.std)))

    @property
    def _is_known(self) -> bool:
        """Whether the interval of the weight rests on anything that is not refused."""
        return bool(np.isfinite(self.weight.value)) and not self._is_doubted

    @property
    def smallest(self) -> float:
        """The smallest weight that would have been found in four of five such data sets."""
        return FOUND * self.weight.std

    @property
    def p_value(self) -> float:
        """The p-value of the placebo, for a response in either direction where the weight is below 0."""
        return replace(self.placebo, two_sided=self.weight.value < 0).p_value

    @property
    def memory(self) -> float:
        """Whether people return to their opinion (0), or go on from their last answer (1), as estimated."""
        return self.size.best.memory

    @cached_property
    def by_round(self) -> pd.DataFrame:
        """For each row after the first: weight with interval, share of others since the first row, and unmoved."""
        import pandas as pd

        best, (low, high) = self.rounds.best, self.rounds.interval
        # Among people who knew each other, three rows leave one change of what they saw, which no round has alone.
        has_rounds = self.panel.first == "before" or self.panel.rows > 3
        known = np.isfinite(best.std) & (has_rounds and self._is_known)
        # Ends are unions over memories, as those of weights are.
        reach = stats.norm.ppf(0.975)
        shares = [(one.shares, reach * one.shares_std) for one in self.size.near]
        unknown = 0.0 if self._is_known else np.nan
        columns = {
            "round": np.arange(2, self.panel.rows + 1),
            "weight": np.where(known, best.w, np.nan),
            "low": np.where(known, low, -np.inf),
            "high": np.where(known, high, np.inf),
            "share": self.size.best.shares + unknown,
            "share_low": np.min([share - half for share, half in shares], axis=0) + unknown,
            "share_high": np.max([share + half for share, half in shares], axis=0) + unknown,
            "unmoved": self.panel.unmoved,
        }
        return pd.DataFrame(columns)

    @cached_property
    def growth(self) -> Literal["grows", "falls"] | None:
        """Whether the weight grows or falls over rounds under every memory that explains the answers; else None."""
        directions = {_direction(one) for one in self.rounds.near}
        return directions.pop() if len(directions) == 1 else None

    @property
    def unmoved(self) -> float:
        """The share of answers that repeat the one before exactly."""
        there = self.panel.answered[1:].sum(axis=1)
        return float(self.panel.unmoved @ there / max(there.sum(), 1))

    @cached_property
    def stubborn(self) -> pd.DataFrame:
        """People by how much they respond, the least responsive first; without rows if that cannot be told."""
        return self.people.table(self.panel)

    @property
    def pressure(self) -> Weight:
        """The pressure ρ = w/(1 − w)/d that gives this weight to what is seen, at stubbornness 1.

        d is the mean degree of those who see somebody; what was shown counts as one neighbour.
        """
        d, (value, low, high, std) = self.panel.degree, self.weight
        value, low, high = (w / (1 - w) / d if w < 1 else np.inf for w in (value, low, high))
        return Weight(value, low, high, std / (1 - self.weight.value) ** 2 / d)

    @cached_property
    def model(self) -> Model | None:
        """The fitted model, for ``simulate``, ``recover`` and ``privacy``; None without one constant network.

        Everybody listens to the mean of those whom they see, with pressure w/(1 − w). Opinions are in units of their
        question: 0 is its median answer and 1 its robust standard deviation.
        """
        exposure = self.panel.exposure
        if not isinstance(exposure, Neighbours) or not np.isfinite(self.weight.value):
            return None
        one = exposure.networks[0]
        if any((one != other).nnz for other in exposure.networks[1:]):
            return None
        degrees = np.asarray(one.sum(axis=1))
        rows = one.multiply(np.divide(1.0, degrees, out=np.zeros(degrees.shape), where=degrees > 0)[:, None]).tocsr()
        fit, w = self.size.best, max(self.weight.value, 0.0)
        spread = np.sqrt(sum(float(np.square(each.residual).sum()) for each in fit.fits) / fit.count) / (1 - w)
        network = Network(rows, self._labels, directed=True)
        return Model(network, self._opinions(fit), 1.0, Constant(w / (1 - w)), Gaussian(spread), adaptation=fit.memory)

    @property
    def _labels(self) -> list[Any]:
        labels = list(self.panel.labels)
        return labels if len(set(labels)) == len(labels) else list(range(self.panel.n))

    def _opinions(self, fit: WeightFit) -> Array:
        """Return hidden opinions before round 2: the mean of what each would have said alone, or the first answers."""
        answers, seen = self.panel.answers, self.panel.seen
        w = np.concatenate([[0.0], fit.w])[:, None]
        alone = np.where(np.isfinite(seen), (answers - w * np.nan_to_num(seen)) / (1 - w), answers)
        there = self.panel.answered
        mean = np.where(there, alone, 0.0).sum(axis=0) / np.maximum(there.sum(axis=0), 1)
        return np.asarray(fit.memory * np.nan_to_num(answers[0]) + (1 - fit.memory) * mean)

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        """The answer in words, the most important sentence first."""
        return tuple(_sentences(self))

    def report(self, path: str | Path) -> Path:
        """Write a page with the answer and its figures, which needs nothing but a browser.

        Parameters
        ----------
        path : str or Path
            An .html file.

        Returns
        -------
        Path
            The file.
        """
        return self.estimates(drawn=True).write_page(path)

    def estimates(self, *, drawn: bool) -> Estimates:
        """Return what is told of a response, for its page and its results folder.

        Parameters
        ----------
        drawn : bool
            Whether figures are drawn, too.

        Returns
        -------
        Estimates
            Sentences, numbers, tables and figures.
        """
        from peerpressure.report.estimates import Estimates

        balance = self.balance
        facts = {
            "verdict": self.verdict,
            "weight": self.weight._asdict(),
            "pressure": self.pressure._asdict(),
            "p_value": self.p_value,
            "smallest": self.smallest,
            "matter": self.matter,
            "memory": self.memory,
            "balance": None if balance is None else {"correlation": balance.statistic, "p_value": balance.p_value},
            "p_value_alike": None if self.alike is None else self.alike.p_value,
            "p_value_together": None if self.together is None else self.together.p_value,
            "rounds": self.by_round.to_dict(orient="records"),
            "people": int(self.panel.people.size),
        }
        tables = {"rounds": self.by_round} | ({"people": self.stubborn} if self.people.differ else {})
        has_rounds = bool(self.by_round["weight"].notna().any())
        return Estimates(
            "Response to others",
            self.sentences,
            facts,
            tables,
            _pictures(self) if drawn else (),
            (*([_COLUMNS] * has_rounds), *self.notes),
            printed=("rounds",) if has_rounds else (),
        )

    def __str__(self) -> str:
        return "\n".join(self.sentences)

    def _repr_html_(self) -> str:
        return "".join(f"<p>{escape(sentence)}</p>" for sentence in self.sentences)


def _direction(fit: WeightFit) -> Literal["grows", "falls"] | None:
    """Return whether the weights of rounds have a slope over time that is not 0."""
    t = np.arange(fit.w.size) - (fit.w.size - 1) / 2
    if fit.w.size < 2 or not np.isfinite(fit.std).all():
        return None
    slope, std = float(t @ fit.w), float(np.sqrt(max(float(t @ fit.covariance @ t), 0.0)))
    # Stricter than an interval: nobody has asked, so few should be told by chance.
    reach = float(stats.t.ppf(0.995, max(float(fit.effective.min()) - 1, 1.0))) * std
    return None if abs(slope) <= reach else "grows" if slope > 0 else "falls"


# The answer in words

_FEW_CARRY = 0.6  # the weight without those who moved far, as a part of the whole, below which that is said
_MANY_UNMOVED = 0.1
# What an answer assumes, by what is declared of the first row.
_LIMITS: Final = {
    "before": "This assumes that chance decided who saw what, and that people share no shocks, trends, seasons or "
    "traits with those they saw.",
    "after": "Friends who share shocks, trends, seasons or traits, or change alike for other reasons, look the same.",
}
_COLUMNS = (
    "In each round, the share is the part of an answer that others make up since the first one, and unmoved is the "
    "part of answers that repeat the one before. Intervals are at 95 %."
)
_AIM = 0.2  # a weight for which the number of people is stated that would find it


def _sentences(r: Response) -> Iterator[str]:
    """Return the sentences, the most important first."""
    yield from _verdict(r)
    yield from _why(r)
    if r.verdict == "responds":
        yield from _details(r)
    yield from _unmoved(r)
    yield from _people(r)
    if r.verdict == "responds" or (r.verdict == "no response" and r.panel.first == "before"):
        yield _LIMITS[r.panel.first]


def _verdict(r: Response) -> Iterator[str]:
    w = r.weight
    if r.verdict == "responds":
        yield _claim(r)
        if w.low <= 0 <= w.high:
            yield "That they respond is established, but how much is uncertain."
        share = r.by_round.iloc[-1]
        # Where people may as well return to their opinion each round, the share is the weight.
        if w.value > 0 and min(one.memory for one in r.size.near) > 0:
            ends = f"{max(share['share_low'], 0):.2f} to {min(share['share_high'], 1):.2f}"
            yield f"After {r.panel.rows} rounds others make up {share['share']:.2f} ({ends}) of their answers."
    elif r.verdict == "no response":
        yield f"No response larger than {r._reach:.2f} of the way to what was seen."
    elif not r._is_known:
        yield "These data cannot tell whether people respond to what they see."
    else:
        yield (
            f"These data cannot tell whether people respond to what they see: its weight may lie anywhere from "
            f"{w.low:.2f} to {w.high:.2f}. A response below {r.smallest:.2f} would often have been missed."
        )
    yield _witnesses(r)


def _claim(r: Response) -> str:
    """Return what is established, after the condition on which it rests where people may have chosen whom they see."""
    w = r.weight
    if w.value > 0:
        said = "people respond to what they see: on average they move "
        said += f"{w.value:.2f} ({w.low:.2f} to {w.high:.2f}) of the way to it each round."
    else:
        said = "people move away from what they see: on average by "
        said += f"{-w.value:.2f} ({-w.high:.2f} to {-w.low:.2f}) of the distance to it each round."
    if isinstance(r.panel.exposure, Neighbours) and r.panel.first == "before":
        return f"If chance decided who sees whom, {said}"
    return said[0].upper() + said[1:]


def _witnesses(r: Response) -> str:
    groups, clusters = (np.unique(each[r.panel.people]).size for each in (r.panel.group, r.panel.cluster))
    many = f"{r.panel.people.size:,} people"
    if groups > 1:
        many += f" in {groups} groups" + (f", of {clusters} sessions" if clusters not in (1, groups) else "")
    times = r.placebo.shuffled.size
    return f"Who saw what was shuffled {times} times: p = {r.p_value:.3g} ({many}, {r.panel.rows} rounds)."


def _why(r: Response) -> Iterator[str]:
    """Return why the data cannot tell, and what would decide."""
    if r.verdict != "cannot tell":
        return
    if r.is_refused and r.balance is not None:
        yield (
            f"Neighbours were alike before anybody had seen anything (correlation {r.balance.statistic:.2f}, "
            f"p = {r.balance.p_value:.2g}): seats were not assigned by chance. Declare the first row as answered after."
        )
    elif r.is_alike and r.alike is not None:
        yield (
            f"What people saw predicts their answers, but neighbours also think alike, in all rounds together "
            f"(p = {r.alike.p_value:.2g}), which no response explains: chance may not have decided who sees whom. "
            f"Declare the first row as answered after."
        )
    elif r.is_confounded:
        first, last = r.likeness.by_row[[0, -1]]
        yield (
            f"What people saw predicts their answers, but they also grew more like those whom they saw (correlation "
            f"{first:.2f}, later {last:.2f}). People who approach opinions that they share do so without any response."
        )
        yield "If nobody had seen anything before the first row, declare it as answered before."
    elif r.is_shared and r.together is not None:
        yield (
            f"What people saw predicts their answers, but neighbours also move together in the same round "
            f"(p = {r.together.p_value:.2g}), which no response to earlier answers explains: they may share shocks, "
            f"trends, seasons or traits."
        )
    elif any(one.is_at_edge for one in r.size.near):
        yield f"The likeliest weight is at the end of the range that is searched, ±{LARGEST}, so none is given."
    elif r.panel.saw_the_same or not np.isfinite(r.weight.value):
        yield (
            "Everybody in a group saw the same, or almost: within one group a response cannot be distinguished from a "
            "common change. Give several groups that answered the same question, or people who saw nothing."
        )
    else:
        yield from _disagreement(r)
        needed = r.panel.people.size * (r.smallest / _AIM) ** 2
        if r.smallest > _AIM:
            yield f"To find a weight of {_AIM}, about {_rounded(needed):,} such people would be needed."


def _disagreement(r: Response) -> Iterator[str]:
    """Return which of the two witnesses finds a response that the other does not confirm."""
    (low, high), by_placebo = (end[-1] for end in r.detection.best.interval), r.p_value <= SIGNIFICANT
    by_interval = low > 0 or high < 0
    if by_interval and not by_placebo:
        side = "above" if low > 0 else "below"
        yield f"The estimate is {side} 0, but shuffled seats show as much, so it is not taken for a response."
    elif by_placebo and not by_interval:
        yield "Shuffled seats show less, but the interval of the weight contains 0, so it is not taken for a response."


def _rounded(value: float) -> int:
    """Return a number with one or two digits that mean something."""
    return int(float(f"{value:.1e}"))


def _details(r: Response) -> Iterator[str]:
    robust = float(r.detection.best.w[-1])
    if robust / r.weight.value < _FEW_CARRY:
        yield f"{r.weight.value:.2f} rests on a few people who moved far; without them it is {robust:.2f}."
    if r.growth is not None and r.weight.value > 0:
        weights = ", ".join(f"{value:.2f}" for value in r.by_round["weight"])
        yield f"The weight of each round {r.growth} ({weights})."


def _unmoved(r: Response) -> Iterator[str]:
    if r.unmoved > _MANY_UNMOVED:
        rounds = [f"{100 * part:.0f} %" for part in r.panel.unmoved]
        listed = " and ".join(filter(None, (", ".join(rounds[:-1]), rounds[-1])))
        link = "and" if len(rounds) == 2 else "to"
        when = f", in rounds 2 {link} {r.panel.rows}" if len(rounds) > 1 else ""
        yield f"{listed} repeated their last answer exactly{when}."


def _people(r: Response) -> Iterator[str]:
    if r.verdict != "responds" or r.weight.value < 0:
        return
    if not r.people.differ:
        yield "The data cannot tell who is more stubborn than others."
        return
    table = r.stubborn
    least = int(table["stubborn"].sum())
    which = f"{least} of {len(table)} respond less than average" if least else "the data cannot tell who responds less"
    yield f"People differ in how much they respond; {which}."


# The page


def _revisions(found: Response) -> pd.DataFrame:
    """Return round, distance to what was seen, and change of everybody who saw something."""
    import pandas as pd

    panel = found.panel
    parts = []
    for t in range(1, panel.rows):
        there = panel.answered[t] & np.isfinite(panel.seen[t])
        before, after, seen = (row[there] for row in (panel.answers[t - 1], panel.answers[t], panel.seen[t]))
        parts.append(pd.DataFrame({"round": t + 1, "distance": seen - before, "change": after - before}))
    return pd.concat(parts, ignore_index=True)


def _pictures(found: Response) -> list[Picture]:
    from peerpressure.plotting import response as draw

    pictures = []
    if found.placebo.statistic:
        pictures.append(
            drawn_picture(
                "The response among shuffled seats",
                "Grey, how strong the response looks where people keep their answers and swap their seats, so that "
                "nobody can have responded to what the data say they saw. The line is the data themselves.",
                draw.placebo(found.placebo.shuffled, found.placebo.statistic, found.p_value),
            )
        )
    if np.isfinite(found.by_round["weight"]).any():
        pictures.append(
            drawn_picture(
                "Weight of what was seen, by round",
                "Blue, the weight of what was seen in the answers of each round, with 95 % intervals. Grey, the share "
                "of others in the answers since the first row, at one weight for all rounds.",
                draw.rounds(found.by_round),
            )
        )
    changes = _revisions(found)
    if len(changes):
        pictures.append(
            drawn_picture(
                "How people revised their answers",
                "Each dot is a person in a round: how far what they saw was from their last answer, and how much they "
                "changed it, in robust standard deviations of the question. Dots on the horizontal line did not move. "
                "People also move towards others without seeing them, because extreme answers become less extreme: the "
                "estimate takes that out, this picture does not.",
                draw.revisions(changes, found.weight.value if found.verdict == "responds" else None),
            )
        )
    return pictures


def drawn_picture(heading: str, caption: str, figure: Figure) -> Picture:
    """Return a figure as an image with its heading and caption."""
    from peerpressure.report.estimates import Picture
    from peerpressure.report.pictures import image, settled

    return Picture(heading, caption, image(settled(figure)))
