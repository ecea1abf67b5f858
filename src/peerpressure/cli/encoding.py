"""Output in encodings that lack Greek letters and mathematical signs: these are spelled out."""

from __future__ import annotations

import codecs
import io
import sys
import unicodedata

SPELL = "peerpressure.spell"  # the name of this way to treat what an encoding lacks
SIGNS = {
    **dict.fromkeys("−–—‑", "-"),
    **dict.fromkeys("‘’′", "'"),
    **dict.fromkeys("“”″", '"'),
    **{"≤": "<=", "≥": ">=", "≠": "!=", "≈": "~", "∝": "~", "±": "+-", "×": "x", "·": "*", "∘": "*", "⁄": "/"},
    **{"→": "->", "←": "<-", "↦": "->", "∞": "inf", "√": "sqrt", "∫": "int", "∂": "d", "‖": "||", "°": " deg"},
    **{"⟨": "<", "⟩": ">", "⌊": "[", "⌋": "]", "⌈": "[", "⌉": "]", "✓": "yes", "✗": "no", "△": "triangle", "Σ": "sum "},
}
RAISED = {"<super>": "^", "<sub>": "_"}


def spelled(text: str) -> str:
    """Return a text with all its signs spelled out; letters of other alphabets become escapes that keep them apart.

    >>> spelled("ρ_t ≤ σ², x₀")
    'rho_t <= sigma^2, x_0'
    """
    parts, height = [], ""
    for sign in text:
        kind, _, rest = unicodedata.decomposition(sign).partition(" ")
        # One mark is enough for the exponent −1.
        mark = RAISED.get(kind, "")
        parts.append(mark if mark != height else "")
        plain = "".join(chr(int(code, 16)) for code in rest.split()) if kind.startswith("<") else sign
        parts.append("".join(map(_spelled_sign, plain)))
        height = mark
    return "".join(parts)


def _spelled_sign(sign: str) -> str:
    name = unicodedata.name(sign, "")
    if sign.isascii() or sign in SIGNS:
        return SIGNS.get(sign, sign)
    if name.startswith("GREEK ") and " LETTER " in name and " WITH " not in name:
        letter = name.rpartition(" LETTER ")[2].removeprefix("FINAL ").lower()
        return letter.capitalize() if "CAPITAL" in name else letter
    if unicodedata.combining(sign):
        return ""  # a bar or a hat over a letter
    return sign.encode("ascii", "backslashreplace").decode()


def _spell(error: UnicodeError) -> tuple[str | bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end]
    if all("\udc80" <= sign <= "\udcff" for sign in missing):
        # The bytes of a file name that was in another encoding: they go out as they came in.
        return missing.encode("ascii", "surrogateescape"), error.end
    return spelled(missing), error.end


def spell_what_is_missing() -> None:
    """Let both output streams spell what their encoding lacks; nothing changes for UTF-8."""
    codecs.register_error(SPELL, _spell)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=SPELL)


def speaks_unicode() -> bool:
    """Say whether the output can hold every character."""
    return codecs.lookup(sys.stdout.encoding or "ascii").name.startswith("utf")


def as_shown(text: str) -> str:
    """Return a text as the output shows it, so that a table can make room for it."""
    encoding = sys.stdout.encoding or "ascii"
    return text.encode(encoding, SPELL).decode(encoding, "surrogateescape")
