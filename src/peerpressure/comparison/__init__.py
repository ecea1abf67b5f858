"""Comparison: which of several models explains a record of public opinions best, and what follows from it.

``compare`` goes from a table of answers and a network to an answer in words: whether people respond to their
neighbours, how pressure changes over time, what people think, and what the best model misses.
"""

from __future__ import annotations

from peerpressure.comparison._comparison import Comparison, compare

__all__ = ["Comparison", "compare"]


def __dir__() -> list[str]:
    return __all__
