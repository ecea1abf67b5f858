"""Tables as LaTeX, for a paper that takes numbers from a report."""

from __future__ import annotations

import math
import re
import unicodedata
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import pandas as pd

LONG: Final = 34  # characters from which the cells of a column are broken into lines
WIDTH: Final = 0.95  # of the text, that all such columns share
_SPECIAL: Final = {
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\ensuremath{<}",
    ">": r"\ensuremath{>}",
    "|": r"\ensuremath{|}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}
_SIGNS: Final = {
    "−": "-",
    "–": "--",
    "…": r"\dots{}",
    "“": "``",
    "”": "''",
    "’": "'",
    "×": r"\times",
    "·": r"\cdot",
    "±": r"\pm",
    "≤": r"\leq",
    "≥": r"\geq",
    "≠": r"\neq",
    "≈": r"\approx",
    "≪": r"\ll",
    "→": r"\to",
    "∞": r"\infty",
    "√": r"\surd",
    "∈": r"\in",
    "ℝ": r"\mathbb{R}",
    "⟨": r"\langle",
    "⟩": r"\rangle",
    "⌈": r"\lceil",
    "⌉": r"\rceil",
    "⌊": r"\lfloor",
    "⌋": r"\rfloor",
    "‖": r"\|",
    "ᵀ": r"{}^{\top}",
}
HAT: Final = "\N{COMBINING CIRCUMFLEX ACCENT}"
_CLUSTER: Final = re.compile("(?s:.)[\u0300-\u036f]*")
_GREEK: Final = {"Σ": r"\Sigma", "Π": r"\Pi", "Δ": r"\Delta"}


def to_latex(table: pd.DataFrame, caption: str) -> str:
    r"""Return a table as LaTeX that needs the packages booktabs and amssymb; every sign is ASCII.

    >>> import pandas as pd
    >>> print(to_latex(pd.DataFrame({"noise_variance": [0.25], "name": ["σ₀² & more"]}), "An example"))
    \begin{table}
    \caption{An example}
    \begin{tabular}{rl}
    \toprule
    noise variance & name \\
    \midrule
    0.25 & \ensuremath{\sigma}\textsubscript{0}\textsuperscript{2} \& more \\
    \bottomrule
    \end{tabular}
    \end{table}
    <BLANKLINE>
    """
    columns = [[_cell(value) for value in table[name]] for name in table.columns]
    head = " & ".join(escaped(str(name).replace("_", " ")) for name in table.columns)
    body = "\n".join(" & ".join(row) + r" \\" for row in zip(*columns, strict=True))
    return (
        f"\\begin{{table}}\n\\caption{{{escaped(caption)}}}\n\\begin{{tabular}}{{{_layout(table)}}}\n\\toprule\n"
        f"{head} \\\\\n\\midrule\n{body}\n\\bottomrule\n\\end{{tabular}}\n\\end{{table}}\n"
    )


def _layout(table: pd.DataFrame) -> str:
    longest = [max((len(str(value)) for value in table[name]), default=0) for name in table.columns]
    wide = sum(length for length in longest if length > LONG)
    letters = []
    for name, length in zip(table.columns, longest, strict=True):
        numeric = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in table[name])
        # Long texts share the width by the root of their length, to keep any from becoming a column of single words.
        share = WIDTH * math.sqrt(length) / sum(math.sqrt(other) for other in longest if other > LONG) if wide else 0
        letters.append("r" if numeric else f"p{{{share:.2f}\\textwidth}}" if length > LONG else "l")
    return "".join(letters)


def _cell(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "--"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        head, power, tail = f"{value:.4g}".partition("e")
        if power:
            return rf"${head} \times 10^{{{int(tail)}}}$"
        # A minus sign, not a hyphen.
        return f"${head}$" if value < 0 else head
    return escaped(str(value))


def escaped(text: str) -> str:
    r"""Return a text with LaTeX's signs escaped, and all others written as commands.

    >>> print(escaped("50% of ρ_t ≤ 1"))
    50\% of \ensuremath{\rho}\_t \ensuremath{\leq} 1
    """
    return "".join(map(_marked, _CLUSTER.findall(text)))


def _marked(cluster: str) -> str:
    """Return a letter with the marks that follow it; of these, only the hat occurs in formulas."""
    letter = _letter(cluster[0])
    return f"\\ensuremath{{\\hat{{{letter}}}}}" if HAT in cluster[1:] else letter


def _letter(sign: str) -> str:
    if sign in _SPECIAL:
        return _SPECIAL[sign]
    if sign.isascii():
        return sign
    if sign in _SIGNS:
        code = _SIGNS[sign]
        return code if not code.startswith(("\\", "{")) or code.startswith("\\dots") else f"\\ensuremath{{{code}}}"
    name = unicodedata.name(sign, "")
    if name.startswith("GREEK SMALL LETTER "):
        return f"\\ensuremath{{\\{name.split()[-1].lower()}}}"
    if sign in _GREEK:
        return f"\\ensuremath{{{_GREEK[sign]}}}"
    return _composed(sign)


def _composed(sign: str) -> str:
    """Return a sub- or superscript, a fraction or a letter with an accent from its parts."""
    kind, _, rest = unicodedata.decomposition(sign).partition(" ")
    if kind in ("<sub>", "<super>"):
        inner = "".join(_letter(chr(int(code, 16))) for code in rest.split())
        return f"\\text{'sub' if kind == '<sub>' else 'super'}script{{{inner}}}"
    parts = unicodedata.normalize("NFKD", sign)
    # The slash of a fraction is not that of ASCII.
    plain = "".join(
        "/" if part == "\N{FRACTION SLASH}" else _letter(part)
        for part in parts
        if not unicodedata.combining(part) and part != sign
    )
    return f"\\ensuremath{{\\hat{{{plain}}}}}" if HAT in parts else plain
