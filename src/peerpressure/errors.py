"""The hierarchy of errors.

Every message names the rule, the value that broke it, and the remedy; ``message`` builds it. Catch
``PeerPressureError`` to catch all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice

__all__ = [
    "AdaptationError",
    "CancelledError",
    "ContradictionError",
    "FileFormatError",
    "FormulaError",
    "InvalidInputError",
    "ModelError",
    "NetworkError",
    "NoiseError",
    "PeerPressureError",
    "ScheduleError",
    "TooLargeError",
    "message",
]

SHOWN = 3  # offending items that a message names before it only counts them
DOUBLE_DIGITS = 17  # which tell any two doubles apart
SEARCHED = 10_000  # known names among which a close match is looked for


class PeerPressureError(Exception):
    """Base class of all errors that this package raises on purpose.

    Attributes
    ----------
    arguments : tuple of str
        The arguments that the remedy is about, given as ``argument``; those of another function than the one called
        are written ``function.name``. A command line names its options for them, which the message does not.
    """

    def __init__(
        self, rule: object = "", *, got: object = None, remedy: str | None = None, argument: str | tuple[str, ...] = ()
    ) -> None:
        # Without a remedy it is a whole message.
        super().__init__(rule if remedy is None else message(str(rule), got=got, remedy=remedy))
        self.arguments = (argument,) if isinstance(argument, str) else argument


# Also a ValueError, and others below a MemoryError or OSError: code that does not know this package catches them as
# usual.
class InvalidInputError(PeerPressureError, ValueError):
    """A value that enters the package breaks a rule."""


class NetworkError(InvalidInputError):
    """A graph is not valid: the model is not defined on it."""


class ScheduleError(InvalidInputError):
    """A peer-pressure schedule or one of its values is invalid."""


class FormulaError(ScheduleError):
    """A user's formula is not arithmetic in t."""


class NoiseError(InvalidInputError):
    """A noise distribution lacks mean zero or a finite standard deviation."""


class AdaptationError(InvalidInputError):
    """An adaptation rate or weight is not valid."""


class ModelError(InvalidInputError):
    """The parts of a model do not fit together."""


class ContradictionError(InvalidInputError):
    """The data contradict the model where it leaves no room for noise."""


class TooLargeError(PeerPressureError, MemoryError):
    """A run would need more memory, or its results more room on the disk, than is free; it was not started."""


class CancelledError(PeerPressureError):
    """A ``should_stop`` callback returned True before the computation was done."""


class FileFormatError(PeerPressureError, OSError):
    """A file is missing, damaged, or not of a kind that can be read."""


def message(rule: str, *, got: object, remedy: str) -> str:
    """Return an error message with its rule, value and remedy.

    Parameters
    ----------
    rule : str
        What must hold.
    got : object
        The value that breaks it.
    remedy : str
        What to do about it.

    Returns
    -------
    str
        The three in one sentence.

    See Also
    --------
    first_few : Names offending items.
    did_you_mean : Offers a close match.

    Examples
    --------
    >>> from peerpressure.errors import message
    >>> message("steps must be at least 1", got=0, remedy="ask for one step or more")
    'steps must be at least 1, got 0; ask for one step or more'
    """
    return f"{rule}, got {got}; {remedy}"


def _significant(value: float, digits: int) -> str:
    """Return a number with so many significant digits.

    >>> _significant(1234567.0, 3)
    '1.23e+06'
    """
    return f"{value:.{digits}g}"


def contrast(
    bound: float, value: float, *, digits: int = 3, show: Callable[[float, int], str] = _significant
) -> tuple[str, str]:
    """Return a bound and the value that breaks it as texts that differ.

    >>> from peerpressure.errors import contrast
    >>> contrast(1e8, 2.5e8)
    ('1e+08', '2.5e+08')
    >>> contrast(1e8, 100_000_001)
    ('100000000', '100000001')
    """
    pairs = ((show(bound, count), show(value, count)) for count in range(digits, DOUBLE_DIGITS + 1))
    # Whole numbers may differ beyond the digits of a double.
    return next((pair for pair in pairs if pair[0] != pair[1]), (str(bound), str(value)))


def first_few(items: Iterable[object], total: int) -> str:
    """Return the first few of many items as text for a message.

    >>> from peerpressure.errors import first_few
    >>> first_few(["a", "b", "c", "d"], total=9)
    'a, b, c and 6 more (9 in all)'
    """
    # islice, because items may be a generator over millions of them.
    shown = [str(item) for item in islice(items, SHOWN)]
    rest = f" and {total - len(shown)} more ({total} in all)" if total > len(shown) else ""
    return ", ".join(shown) + rest


def did_you_mean(wanted: object, known: Iterable[object]) -> str:
    """Return a question that offers the closest of the known names, or an empty text if none is close.

    >>> from peerpressure.errors import did_you_mean
    >>> did_you_mean("karat", ["karate", "davis"])
    " (did you mean 'karate'?)"
    """
    from difflib import get_close_matches

    # Bounded, because a network may have millions of labels and matching compares with each.
    by_text = {str(name).casefold(): name for name in islice(known, SEARCHED)}
    close = get_close_matches(str(wanted).casefold(), by_text, n=1)
    return f" (did you mean {by_text[close[0]]!r}?)" if close else ""


def __dir__() -> list[str]:
    return __all__
