"""Unknown parameters: whether people respond to each other, and how much.

``response`` answers for records of a few rounds, in one group or in many: whether people respond to what they saw, with
which weight, and what the data cannot tell.
"""

from __future__ import annotations

from peerpressure.fitting._analysis import response
from peerpressure.fitting._response import Response, Weight

__all__ = ["Response", "Weight", "response"]


def __dir__() -> list[str]:
    return __all__
