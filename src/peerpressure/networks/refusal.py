"""How the networks say no: one shape of message, which names the first few offenders and counts the rest."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice

from peerpressure.errors import NetworkError, complain

SHOWN = 3  # offenders that a message names before it only counts them
SEARCHED = 10_000  # names among which a near match is looked for


def refusal(rule: str, *, got: object, remedy: str) -> NetworkError:
    """Return the error for a graph, a label or a parameter that breaks a rule."""
    return NetworkError(complain(rule, got=got, remedy=remedy))


def few(items: Iterable[object], total: int) -> str:
    """Name the first few of many.

    >>> few(["a", "b", "c", "d"], total=9)
    'a, b, c and 6 more (9 in all)'
    """
    shown = [str(item) for item in islice(items, SHOWN)]
    rest = f" and {total - len(shown)} more ({total} in all)" if total > len(shown) else ""
    return ", ".join(shown) + rest


def nearest(wanted: object, known: Iterable[object]) -> str:
    """Return a question that offers the closest of the known names, or nothing.

    >>> nearest("karat", ["karate", "davis"])
    " (did you mean 'karate'?)"
    """
    by_text = {str(name).casefold(): name for name in islice(known, SEARCHED)}
    close = get_close_matches(str(wanted).casefold(), by_text, n=1)
    return f" (did you mean {by_text[close[0]]!r}?)" if close else ""
