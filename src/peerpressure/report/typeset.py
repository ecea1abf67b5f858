"""Plain text made fit to print: powers and indices set high and low, true minus signs, powers of ten."""

from __future__ import annotations

import re
from typing import Final

from markupsafe import Markup

_RULES: Final = (
    # A number that steps to nothing needs no power.
    (re.compile(r"\b0(?:\.0+)?e[+-]?\d+\b"), "0"),
    (re.compile(r"(\d)e([+-])0*(\d+)\b"), r"\1×10^\2\3"),
    (re.compile(r"\^\+"), "^"),
    # A hyphen before a number is a minus, unless it joins words.
    (re.compile(r"(?<![\w)])-(?=[\d.])"), "−"),
    (re.compile(r"\^-"), "^−"),
    (re.compile(r"\^([−]?[\w√]+(?:\.\d+)?)"), r"<sup>\1</sup>"),
    (re.compile(r"(?<=[\wα-ωΑ-Ω])_(?:\{([^}]+)\}|\(([^)]+)\)|(\w))(?!\w)"), r"<sub>\1\2\3</sub>"),
)


def typeset(text: str) -> Markup:
    """Return a text as markup, with everything else in it escaped.

    >>> typeset("y_(t−1) < 1.5e-07·t^-0.5 for Σ_{t=1}")
    Markup('y<sub>t−1</sub> &lt; 1.5×10<sup>−7</sup>·t<sup>−0.5</sup> for Σ<sub>t=1</sub>')
    """
    # Every rule leaves escaped text escaped: none of them makes or breaks an entity.
    safe = str(Markup.escape(text))
    for pattern, replacement in _RULES:
        safe = pattern.sub(replacement, safe)
    return Markup(safe)
