"""Mathematics for a browser: a small part of LaTeX in, MathML out, with no script and no font to fetch."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from html import escape
from typing import Final

from peerpressure.errors import InvalidInputError, complain

_TOKEN: Final = re.compile(r"\\\\|\\[A-Za-z]+|\\.|\d+(?:\.\d+)?|\s+|.", re.DOTALL)
_LETTERS: Final = dict(
    zip(
        "alpha beta gamma delta epsilon kappa mu xi pi rho sigma tau phi Sigma Delta".split(),
        "αβγδεκμξπρστφΣΔ",
        strict=True,
    )
)
_SIGNS: Final = {
    "le": "≤",
    "ge": "≥",
    "ne": "≠",
    "to": "→",
    "infty": "∞",
    "in": "∈",
    "sim": "∼",
    "cdot": "·",
    "circ": "∘",
    "top": "⊤",
    "approx": "≈",
    "propto": "∝",
    "times": "×",
    "pm": "±",
    "dots": "…",
    "mid": "∣",
    "lfloor": "⌊",
    "rfloor": "⌋",
}
_LARGE: Final = {"sum": "∑", "prod": "∏", "lim": "lim"}
_SPACES: Final = {",": "0.17em", ";": "0.28em", " ": "0.33em", "quad": "1em"}
_ACCENTS: Final = {"hat": "^", "bar": "¯"}
_NAMES: Final = ("log", "Var", "Cov", "min", "max")


def mathml(latex: str, *, display: bool = False) -> str:
    """Return a formula as a MathML element; what this small reader does not know is an error, never a wrong formula.

    >>> mathml("x^2")
    '<math><msup><mi>x</mi><mn>2</mn></msup></math>'
    """
    body = _Reader(latex).everything()
    return f'<math display="block">{body}</math>' if display else f"<math>{body}</math>"


class _Reader:
    """Reads one formula from left to right."""

    def __init__(self, latex: str) -> None:
        self._latex = latex
        self._tokens = _TOKEN.findall(latex)
        self._next = 0

    def everything(self) -> str:
        """Return the whole formula."""
        body = self._row(())
        if self._peek():
            raise self._unknown(self._peek())
        return body

    def _peek(self) -> str:
        while self._next < len(self._tokens) and self._tokens[self._next].isspace():
            self._next += 1
        return self._tokens[self._next] if self._next < len(self._tokens) else ""

    def _take(self, expected: str = "") -> str:
        token = self._peek()
        if not token or (expected and token != expected):
            raise self._unknown(token or "its end")
        self._next += 1
        return token

    def _unknown(self, token: str) -> InvalidInputError:
        rule = "a formula must use what the report's mathematics knows"
        return InvalidInputError(complain(rule, got=f"{token} in {self._latex}", remedy="write it another way"))

    def _row(self, ends: tuple[str, ...]) -> str:
        """Return all up to one of the ends, which is left to be taken, as one element."""
        parts = []
        while self._peek() and self._peek() not in (*ends, "}"):
            parts.append(self._scripted())
        return parts[0] if len(parts) == 1 else f"<mrow>{''.join(parts)}</mrow>"

    def _scripted(self) -> str:
        large = self._peek().removeprefix("\\") in _LARGE
        base = self._atom()
        scripts = {}
        while self._peek() in ("^", "_"):
            scripts[self._take()] = self._atom()
        under, over = scripts.get("_"), scripts.get("^")
        if under and over:
            name = "munderover" if large else "msubsup"
            return f"<{name}>{base}{under}{over}</{name}>"
        if under:
            name = "munder" if large else "msub"
            return f"<{name}>{base}{under}</{name}>"
        return f"<msup>{base}{over}</msup>" if over else base

    def _atom(self) -> str:
        token = self._take()
        if token == "{":
            body = self._row(())
            self._take("}")
            return body
        if token.startswith("\\"):
            return self._command(token[1:])
        if token[0].isdigit():
            return f"<mn>{token}</mn>"
        if token.isalpha():
            return f"<mi>{token}</mi>"
        if token in "^_}&":
            raise self._unknown(token)
        return f"<mo>{escape('−' if token == '-' else token)}</mo>"

    def _command(self, name: str) -> str:
        for table, form in _FORMS:
            if name in table:
                return form(table[name])
        match name:
            case "frac":
                return f"<mfrac>{self._atom()}{self._atom()}</mfrac>"
            case "sqrt":
                return f"<msqrt>{self._atom()}</msqrt>"
            case "mathbf":
                return f"<mi>{''.join(_bold(letter) for letter in self._word())}</mi>"
            case "text":
                return f"<mtext>{escape(self._word())}</mtext>"
            case "begin":
                return self._matrix()
        if name in _ACCENTS:
            return f'<mover accent="true">{self._atom()}<mo stretchy="false">{_ACCENTS[name]}</mo></mover>'
        raise self._unknown(f"\\{name}")

    def _word(self) -> str:
        """Return what stands between braces as it is, blanks included."""
        self._take("{")
        if "}" not in self._tokens[self._next :]:
            raise self._unknown("no closing brace")
        end = self._tokens.index("}", self._next)
        word, self._next = "".join(self._tokens[self._next : end]), end + 1
        return word

    def _matrix(self) -> str:
        kind = self._word()
        if kind != "bmatrix":
            raise self._unknown(kind)
        rows, cells = [], [self._row(("&", "\\\\", "\\end"))]
        while (mark := self._take()) != "\\end":
            if mark == "\\\\":
                rows.append(cells)
                cells = []
            cells.append(self._row(("&", "\\\\", "\\end")))
        rows.append(cells)
        self._word()
        body = "".join(f"<mtr>{''.join(f'<mtd>{cell}</mtd>' for cell in row)}</mtr>" for row in rows)
        return f"<mrow><mo>[</mo><mtable>{body}</mtable><mo>]</mo></mrow>"


def _bold(letter: str) -> str:
    """Return a letter in mathematical bold, for which MathML has characters of their own."""
    first = 0x1D41A - ord("a") if letter.islower() else 0x1D400 - ord("A")
    return chr(ord(letter) + first) if letter.isascii() and letter.isalpha() else letter


_FORMS: Final[tuple[tuple[Mapping[str, str], Callable[[str], str]], ...]] = (
    (_LETTERS, lambda letter: f"<mi>{letter}</mi>"),
    (_SIGNS, lambda sign: f"<mo>{sign}</mo>"),
    (_LARGE, lambda sign: f'<mo movablelimits="false">{sign}</mo>'),
    (_SPACES, lambda width: f'<mspace width="{width}"/>'),
    ({name: name for name in _NAMES}, lambda name: f"<mi>{name}</mi>"),
)
