"""Reasons for an outcome: codes with numbers, and the rows of a table that they are told from."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from string import Formatter
from typing import Any, Generic, TypeAlias, TypeVar, final

from peerpressure.support.results import one_line
from peerpressure.support.text import plain, rounded

T = TypeVar("T")
Value: TypeAlias = float | int | str
Values: TypeAlias = Mapping[str, Value]


@final
@one_line
@dataclass(frozen=True)
class Reason:
    """One fact that an outcome rests on: a code, its sentence, and the numbers in it by name.

    ``str`` gives the sentence with its numbers.

    Parameters
    ----------
    code : str
        Which fact.
    sentence : str
        Its sentence, with the names of numbers in braces.
    values : mapping of str to float, int or str, optional
        The numbers and phrases that the sentence names.

    See Also
    --------
    Verdict : Has the facts behind an outcome.

    Examples
    --------
    >>> from peerpressure import Model, diagnose
    >>> from peerpressure.networks import k2
    >>> reason = diagnose(Model(k2(), hidden=[0.0, 1.0], pressure=2)).reasons[1]
    >>> reason.code, reason.values["low"]
    ('apart', 0.4)
    >>> print(reason)
    Bounded pressure leaves agents apart: their mean public opinions span 0.4 to 0.6.
    """

    code: str
    sentence: str
    values: Values = field(default_factory=dict)

    def __str__(self) -> str:
        return _FORMATTER.vformat(self.sentence, (), self.values)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, fit for JSON: code, numbers (None where not finite) and sentence.

        Returns
        -------
        dict
            Keys ``code``, ``values`` and ``text``.
        """
        # Numbers are given besides the sentence, so clients need not parse text.
        return {"code": self.code, "values": plain(self.values), "text": str(self)}


@final
@dataclass(frozen=True)
class ReasonRow(Generic[T]):
    """A reason that may be told of a long run: its code and sentence, when it is told, and the numbers in it.

    Where ``values`` gives several sets of numbers, the reason is told of each.
    """

    code: str
    sentence: str
    when: Callable[[T], bool] = lambda _: True
    values: Callable[[T], Values | Iterable[Values]] = lambda _: {}

    def reasons(self, run: T) -> list[Reason]:
        """Return the reasons of this row, of which there are none where it does not apply."""
        if not self.when(run):
            return []
        values = self.values(run)
        return [self.reason(**each) for each in ([values] if isinstance(values, Mapping) else values)]

    def reason(self, **values: Value) -> Reason:
        """Return the reason with these numbers."""
        return Reason(self.code, self.sentence, values)


def paragraph(reasons: Sequence[Reason]) -> str:
    """Return the sentences of several reasons in a row."""
    return " ".join(map(str, reasons))


@final
class _Sentences(Formatter):
    """Format numbers for sentences, beyond the standard format specs."""

    def format_field(self, value: Any, format_spec: str) -> str:
        """Return a number of agents in words, a deviation after ±, or a phrase left out where there is no number."""
        # Additional format specs, so every sentence stays one template without code around it.
        if isinstance(value, tuple):
            low, high = value
            return span(low, high, format_spec)
        if format_spec.startswith("to "):
            return rounded(value, float(format_spec[3:]))
        if format_spec == "agents":
            return "one agent" if value == 1 else f"{value:,} agents"
        if format_spec.startswith("±"):
            return f" ± {value:{format_spec[1:]}}" if 0 < value < math.inf else ""
        if format_spec.startswith("about "):
            words, _, digits = format_spec.rpartition(" ")
            return "" if math.isnan(value) else f" {words} {value:{digits}}"
        return format(value, format_spec)

    def get_value(self, key: Any, args: Any, kwargs: Any) -> Any:
        """Return a value by its name; ``range`` is from ``low`` to ``high``."""
        return (kwargs["low"], kwargs["high"]) if key == "range" else super().get_value(key, args, kwargs)


def span(low: float, high: float, format_spec: str) -> str:
    """Return a range in words, and one number where its ends are printed alike.

    >>> span(0.1, 0.2, ".3g"), span(0.1, 0.1, ".3g"), span(1.0, 1.0, "span .3g")
    ('0.1 to 0.2', '0.1', 'are all 1')
    """
    verb, _, digits = format_spec.rpartition(" ")
    ends = f"{low:{digits}}", f"{high:{digits}}"
    if ends[0] == ends[1]:
        return f"are all {ends[0]}" if verb else ends[0]
    return f"{verb} {' to '.join(ends)}".lstrip()


_FORMATTER = _Sentences()
