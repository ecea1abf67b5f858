"""Parameters as data: the name, kind, legal range, title and help of everything that a user sets.

Schedules, noise laws and generators declare their parameters with `Parameter`. The check of the constructor, the
section of a scenario file and its JSON schema, the shorthand of the command line and the sliders of the explorer are
read from that declaration. The default is in the signature of the member and its description in one line in its
docstring; `with_defaults` and `summary` read them from there. Values for each agent may come with names, which
are matched with the labels of the agents.
"""

from __future__ import annotations

import inspect
import math
import numbers
import operator
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, final

from peerpressure.errors import InvalidInputError, did_you_mean, first_few, message

Kind = Literal["whole", "real", "probability", "flag", "text", "list", "per agent"]
# Not None, which is a legal default of some parameters.
REQUIRED: Final = ...  # the default of a parameter that has none

_NOUNS: dict[Kind, str] = {"whole": "a whole number", "real": "a finite number", "probability": "a probability"}


@final
@dataclass(frozen=True)
class Slider:
    """Range of values that an interactive control offers, within the legal range.

    Parameters
    ----------
    minimum, maximum, step : float
        Ends of the control, and the distance between neighbouring values.
    start : float, optional
        Where the control starts, if not at the parameter's default.
    log : bool, default False
        Whether equal distances on the control are equal ratios of values.
    """

    minimum: float
    maximum: float
    step: float = 1
    start: float | None = None
    log: bool = False


@final
@dataclass(frozen=True)
class Parameter:
    """Declaration of one parameter.

    Parameters
    ----------
    name : str
        Name of the argument, which is also the key in scenario files.
    kind : {"whole", "real", "probability", "flag", "text", "list", "per agent"}
        Type of the value; "per agent" is one number, or a list with one for each agent.
    title : str
        A few words for a label.
    help : str, optional
        One line on the meaning.
    above, at_least, below, at_most : float, optional
        Bounds of the legal range, open and closed.
    unit : str, optional
        Unit of the value.
    remedy : str, optional
        What to do about an illegal value.
    slider : Slider, optional
        Values that an interactive control offers; a parameter without one is not offered.
    examples : tuple of str, optional
        Texts to start from, for a parameter of kind "text".
    default : object, optional
        Read from the signature by `with_defaults`; `REQUIRED` if there is none.

    Examples
    --------
    >>> slope = Parameter("slope", "real", "slope", above=0)
    >>> slope.check(2)
    2.0
    >>> slope.check(0)
    Traceback (most recent call last):
    peerpressure.errors.InvalidInputError: slope must be a finite number above 0, got 0; choose such a value
    """

    name: str
    kind: Kind
    title: str
    help: str = ""
    above: float | None = None
    at_least: float | None = None
    below: float | None = None
    at_most: float | None = None
    unit: str = ""
    remedy: str = ""
    slider: Slider | None = None
    examples: tuple[str, ...] = ()
    default: Any = REQUIRED

    @property
    def bounds(self) -> dict[str, float]:
        """Bounds of the legal range by the words `gt`, `ge`, `lt` and `le`."""
        limits = {"gt": self.above, "ge": self.at_least, "lt": self.below, "le": self.at_most}
        if self.kind == "probability":
            # An open bound at the end of the unit interval replaces the closed one.
            limits |= {"ge": 0 if self.above is None else None, "le": 1 if self.below is None else None}
        return {word: bound for word, bound in limits.items() if bound is not None}

    @property
    def legal(self) -> str:
        """Legal values in words, such as 'a whole number of at least 2'."""
        words = {"above": self.above, "of at least": self.at_least, "below": self.below, "at most": self.at_most}
        bounds = [f"{word} {bound:g}" for word, bound in words.items() if bound is not None]
        return " ".join([_NOUNS[self.kind], " and ".join(bounds)]).strip()

    def check(self, value: Any, error: type[InvalidInputError] = InvalidInputError, owner: str = "") -> Any:
        """Return a number as a plain int or float, and raise `error` if it is outside of the legal range.

        Flags, texts and lists are returned as they are: the member that takes them checks them.
        """
        if self.kind not in _NOUNS:
            return value
        # Anything that is no number becomes NaN, which fails every bound and gives the same message.
        number = _plain(value, whole=self.kind == "whole")
        if not self._admits(number):
            rule = f"{self.name}{f' of {owner}' * bool(owner)} must be {self.legal}"
            raise error(message(rule, got=repr(value)[:80], remedy=self.remedy or self._usual_remedy))
        return number

    def _admits(self, number: float) -> bool:
        tests = {"gt": operator.gt, "ge": operator.ge, "lt": operator.lt, "le": operator.le}
        # A whole number may be larger than any float, and is finite.
        finite = isinstance(number, int) or math.isfinite(number)
        return finite and all(tests[word](number, bound) for word, bound in self.bounds.items())

    @property
    def _usual_remedy(self) -> str:
        return "give a number from 0 to 1" if self.kind == "probability" else "choose such a value"


def _plain(value: Any, *, whole: bool) -> float:
    """Return a number as a plain int or float, nan for anything else; True and False are no numbers."""
    # An array without axes is a number; asked by its attributes, because this module does not import NumPy.
    if getattr(value, "ndim", None) == 0 and hasattr(value, "item"):
        value = value.item()
    if isinstance(value, bool):
        return math.nan
    if whole:
        return int(value) if isinstance(value, numbers.Integral) else math.nan
    try:
        return float(value) if isinstance(value, numbers.Real) else math.nan
    except OverflowError:
        # An int too large for a double; it fails the test for a finite number.
        return math.inf


def with_defaults(member: Callable[..., Any], parameters: Iterable[Parameter]) -> tuple[Parameter, ...]:
    """Return the parameters with the defaults that the signature of the member gives them.

    >>> [one] = with_defaults(lambda slope=1.0: slope, [Parameter("slope", "real", "slope")])
    >>> one.default
    1.0
    """
    arguments = inspect.signature(member).parameters
    # Taken from the signature, the only place where a default is written.
    defaults = {name: one.default for name, one in arguments.items() if one.default is not one.empty}
    return tuple(replace(one, default=defaults.get(one.name, REQUIRED)) for one in parameters)


def summary(member: object) -> str:
    """Return the first line of a member's docstring, its description in one sentence."""
    return (inspect.getdoc(member) or "").partition("\n")[0]


# Members of a family in a few words, ``power:1.5`` or ``gaussian:0.3``: a name, followed by the member's numeric
# parameters in the order of their declaration.

# Kinds that can be written as a number between colons; a per-agent parameter takes one number for all.
_NUMBERS = ("whole", "real", "probability", "per agent")


def needs_only_numbers(member: Callable[..., Any], parameters: Iterable[Parameter]) -> bool:
    """Return whether numbers are all that a member needs.

    >>> needs_only_numbers(lambda slope: slope, [Parameter("slope", "real", "slope")])
    True
    """
    return all(one.kind in _NUMBERS for one in with_defaults(member, parameters) if one.default is REQUIRED)


def numbers_in_words(
    name: str,
    words: Sequence[str],
    member: Callable[..., Any],
    parameters: Iterable[Parameter],
    error: type[InvalidInputError] = InvalidInputError,
) -> dict[str, int | float]:
    """Return the parameters that the words after a member's name give, in the order of their declaration.

    >>> numbers_in_words("linear", ["2"], lambda slope: slope, [Parameter("slope", "real", "slope")])
    {'slope': 2.0}
    """
    declared = [one for one in with_defaults(member, parameters) if one.kind in _NUMBERS]
    needed = sum(one.default is REQUIRED for one in declared)
    # Optional parameters may be left out from the end only, since words have no names.
    if not needed <= len(words) <= len(declared):
        example = ":".join([name, *(one.name.upper() for one in declared)])
        count = f"{len(declared)}" if needed == len(declared) else f"{needed} to {len(declared)}"
        rule = f"{name} takes {count} parameter{'s' * (count != '1')}"
        raise error(message(rule, got=repr(":".join([name, *words])), remedy=f"write {example}"))
    return {one.name: _number_in_word(one, word, error) for one, word in zip(declared, words, strict=False)}


def _number_in_word(one: Parameter, word: str, error: type[InvalidInputError]) -> int | float:
    try:
        return int(word) if one.kind == "whole" else float(word)
    except ValueError:
        rule = f"{one.name} must be a {'whole number' if one.kind == 'whole' else 'number'}"
        raise error(message(rule, got=repr(word), remedy="check the words between the colons")) from None


# Names in data matched with the labels of agents.
#
# A name is that of the agent whose label equals it, or else of the only one whose label has the same text: 1 and "1"
# are one agent unless both are labels, and "001" and 1 are two. Programs write letters with accents in several forms of
# Unicode, which look alike: names are compared in the composed one.


def composed(label: Any) -> Any:
    """Return a label in the composed form of Unicode (NFC), as all labels of agents are; others stay as they are.

    >>> composed("e\u0301") == "\u00e9", composed(("e\u0301", 1)) == ("\u00e9", 1), composed(7)
    (True, True, 7)
    """
    if isinstance(label, str):
        return label if label.isascii() else unicodedata.normalize("NFC", label)
    return tuple(map(composed, label)) if type(label) is tuple else label


def merged_forms(names: Iterable[Any]) -> str | None:
    """Describe the names that occur in several forms of Unicode and are one each, or return None if there are none.

    >>> merged_forms(["Zoe\u0308", "Zo\u00eb", "bob"])
    "one name in two Unicode forms: 'Zoë'"
    """
    distinct = dict.fromkeys(name for name in names if not (isinstance(name, str) and name.isascii()))
    several = [name for name, count in Counter(map(composed, distinct)).items() if count > 1]
    if not several:
        return None
    count = "one name" if len(several) == 1 else f"{len(several):,} names"
    return f"{count} in two Unicode forms: {_listed(several)}"


def texts_of(labels: Iterable[Any]) -> dict[str, int]:
    """Return the position of each label by its text, as it occurs in a table."""
    names = [str(label) for label in labels]
    positions = {name: k for k, name in enumerate(names)}
    if len(positions) < len(names):
        twice = next(name for k, name in enumerate(names) if positions[name] != k)
        remedy = "give one of them another label"
        raise InvalidInputError("labels must differ as text to be found in a table", got=twice, remedy=remedy)
    return positions


def find_labels(names: Sequence[Any], labels: Sequence[Any]) -> list[int | None]:
    """Return the position of the agent of each name; None if there is no such agent.

    >>> find_labels(["1", 1, 2.0, "002"], [1, 2])
    [0, 0, 1, None]
    """
    place: dict[Any, int] = {label: k for k, label in enumerate(labels)}
    names = [composed(name) for name in names]
    positions = [place.get(name) for name in names]
    if None in positions:
        counts = Counter(map(str, labels))
        by_text = {str(label): k for k, label in enumerate(labels) if counts[str(label)] == 1}
        positions = [by_text.get(str(name)) if k is None else k for name, k in zip(names, positions, strict=True)]
    return positions


def is_labelled(values: Any) -> bool:
    """Return whether values come with the names of agents: a mapping, or a series as those of pandas."""
    series = hasattr(values, "index") and hasattr(values, "to_numpy") and getattr(values, "ndim", 0) == 1
    return series or isinstance(values, Mapping)


def values_in_order(values: Any, labels: Sequence[Any]) -> list[Any]:
    """Return the values of a mapping or series in the order of the labels.

    Names of others are ignored if agents have labels, because an edge list does not contain isolated agents.

    >>> values_in_order({"bob": 2.0, "ann": 1.0}, ["ann", "bob"])
    [1.0, 2.0]
    """
    plain = isinstance(values, Mapping)
    names, numbers = ([*values], [*values.values()]) if plain else (values.index.tolist(), values.to_numpy().tolist())
    rows: dict[int, int] = {}
    for row, place in enumerate(find_labels(names, labels)):
        if place is not None and rows.setdefault(place, row) != row:
            got = f"{labels[place]!r} twice"
            raise InvalidInputError("each agent must have one value", got=got, remedy="keep one of them")
    missing = [label for k, label in enumerate(labels) if k not in rows]
    others = len(names) - len(rows)
    if missing or (others and isinstance(labels, range)):
        got = f"none for {_listed(missing)}" if missing else f"{others} for others"
        hint = did_you_mean(missing[0], names) if missing else ""
        remedy = f"name values by the labels of the agents{hint}, or pass a plain list in the order of network.labels"
        raise InvalidInputError("each agent must have a value by its label", got=got, remedy=remedy)
    return [numbers[rows[k]] for k in range(len(labels))]


def refuse_labels(values: Any, name: str, error: type[InvalidInputError]) -> None:
    """Raise for values with names, where these cannot be matched because no network is known yet."""
    if is_labelled(values):
        rule = f"{name} must be one number, or a plain list in the order of the agents"
        remedy = "reorder it first, for instance with series.loc[list(network.labels)].to_numpy()"
        raise error(message(rule, got=type(values).__name__, remedy=remedy))


def _listed(labels: Sequence[Any]) -> str:
    return first_few(map(repr, labels), len(labels))


def whole(value: object, name: str, *, least: int, most: int | None = None) -> int:
    """Return a whole number from ``least`` to ``most`` as an int.

    >>> whole(3, "steps", least=1)
    3
    """
    most_of_all = math.inf if most is None else most
    # True is an int in Python, and more likely a mistake than one step.
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or not least <= int(value) <= most_of_all:
        rule = f"{name} must be a whole number " + (
            f"of at least {least}" if most is None else f"from {least} to {most}"
        )
        raise InvalidInputError(message(rule, got=repr(value), remedy="pass an int"))
    return int(value)


def checked_level(level: object) -> float:
    """Return the probability of an interval if it is one.

    >>> checked_level(0.95)
    0.95
    """
    if not isinstance(level, numbers.Real) or not 0 < float(level) < 1:
        rule = "a level must lie strictly between 0 and 1"
        raise InvalidInputError(rule, got=repr(level), remedy="for instance 0.95")
    return float(level)
