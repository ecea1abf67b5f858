"""Errors in a scenario file: every problem with its key, its line, the value and the remedy."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, final, get_args, get_origin

from pydantic import Tag, ValidationError

from peerpressure.errors import InvalidInputError, message
from peerpressure.scenario._section import Section, unknown_name

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails


Path: TypeAlias = tuple[str | int, ...]

# tomllib does not report the lines of keys, so that they are found by a scan of the text.
_TABLE = re.compile(r"\s*\[(\[?)([^\[\]]+)\]")
_PART = r"""(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')"""
_ENTRY = re.compile(rf"\s*({_PART}(?:\s*\.\s*{_PART})*)\s*=")
_ASIDE = re.compile(r'"(?:\\.|[^"\\])*"|\'[^\']*\'|#.*')


def lines_of(text: str) -> dict[Path, int]:
    r"""Return the line, counted from 1, on which each table and each key of a file begins.

    >>> lines_of("[run]\nsteps = 10\n")
    {('run',): 1, ('run', 'steps'): 2}
    """
    found: dict[Path, int] = {}
    counts: dict[Path, int] = {}
    table: Path = ()
    # Lines within a list of several lines or a triple-quoted string are values, in which nothing begins.
    depth, quoted = 0, ""
    for number, line in enumerate(text.splitlines(), start=1):
        if not depth and not quoted:
            if header := _TABLE.match(line):
                table = _entered(_parts(header[2]), repeated=bool(header[1]), counts=counts)
                # A repeated key is an error of TOML itself, so that the first occurrence is as good as any.
                found.setdefault(table, number)
            elif entry := _ENTRY.match(line):
                found.setdefault((*table, *_parts(entry[1])), number)
        quoted = _still_quoted(line, quoted)
        # max: an unbalanced bracket in a malformed file must not hide all keys after it.
        depth = 0 if quoted else max(0, depth + _opened(line))
    return found


def _entered(parts: Path, *, repeated: bool, counts: dict[Path, int]) -> Path:
    """Return the table that a header opens; each repeated header in double brackets is one more entry of a list."""
    if not repeated:
        return parts
    counts[parts] = counts.get(parts, -1) + 1
    return (*parts, counts[parts])


def line_of(path: Sequence[str | int], lines: dict[Path, int]) -> int | None:
    """Return the line of a key, or of the nearest enclosing table that has one."""
    # From the inside out: a key that is missing has no line, but its table has.
    for end in range(len(path), 0, -1):
        if tuple(path[:end]) in lines:
            return lines[tuple(path[:end])]
    return None


def _parts(dotted: str) -> Path:
    return tuple(part.strip("\"'") for part in re.findall(_PART, dotted))


def _opened(line: str) -> int:
    """Return how many more brackets a line opens than it closes; those of a table header cancel."""
    # Brackets in strings and comments open nothing.
    plain = _ASIDE.sub("", line)
    return plain.count("[") + plain.count("{") - plain.count("]") - plain.count("}")


def _still_quoted(line: str, quoted: str) -> str:
    """Return the triple quotes that are open at the end of the line, if any."""
    # A mark of the other kind within an open string is text.
    for mark in re.findall(r'"""|\'\'\'', line):
        quoted = "" if mark == quoted else quoted or mark
    return quoted


@final
@dataclass(frozen=True)
class Problem:
    """One error in a scenario file.

    Parameters
    ----------
    path : str
        Dotted path of the key; empty for the file as a whole.
    message : str
        The rule, the value and the remedy.
    line : int, optional
        Line in the file, from 1.

    See Also
    --------
    ScenarioError : All problems of a file.

    Examples
    --------
    >>> from peerpressure.scenario import Problem
    >>> Problem("run.steps", "steps must be at least 1, got 0; ask for one step or more", 7).to_dict()["line"]
    7
    """

    path: str
    message: str
    line: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, fit for JSON.

        Returns
        -------
        dict
            Keys ``path``, ``message`` and ``line``.
        """
        return asdict(self)

    def __str__(self) -> str:
        place = (
            self.path if self.line is None else f"line {self.line}, {self.path}" if self.path else f"line {self.line}"
        )
        return f"{place}: {self.message}" if place else self.message


@final
class ScenarioError(InvalidInputError):
    """A scenario or sweep file is not valid.

    Attributes
    ----------
    problems : tuple of Problem
        All errors in the file.
    source : str
        Name of the file.
    """

    def __init__(self, problems: Sequence[Problem], source: str = "") -> None:
        self.problems = tuple(problems)
        self.source = source
        # Every line names the file, so that editors and terminals can jump to it.
        super().__init__("\n".join(f"{source}: {problem}" if source else str(problem) for problem in problems))


# Rule and remedy for each type of validation error; the words in braces are in the error's context.
_RULES = {
    "float_type": ("must be a number", "write it without quotes"),
    "int_type": ("must be a whole number", "write it without quotes or decimal point"),
    "string_type": ("must be text", "put it in quotes"),
    "bool_type": ("must be true or false", "write it without quotes"),
    "list_type": ("must be a list", "write [a, b, …]"),
    "dict_type": ("must be a table", "write { key = value }"),
    "model_type": ("must be a table", "write its keys under a [header] of its own"),
    "finite_number": ("must be finite", "nan and inf are no values here"),
    "greater_than": ("must be above {gt}", "use a larger value"),
    "greater_than_equal": ("must be at least {ge}", "use a larger value"),
    "less_than": ("must be below {lt}", "use a smaller value"),
    "less_than_equal": ("must be at most {le}", "use a smaller value"),
    "literal_error": ("must be {expected}", "check the spelling"),
    "too_short": ("must hold {min_length} or more", "add some, or leave the key out"),
    "too_long": ("must hold {max_length} or fewer", "take some out"),
    "string_pattern_mismatch": ("must be a field of the scenario by its dotted path", "for instance 'pressure.slope'"),
    "string_too_short": ("must not be empty", "write something, or leave the key out"),
}


def explain(error: ValidationError, root: type[Section], lines: dict[tuple[str | int, ...], int]) -> list[Problem]:
    """Return the problems of a file in the order of their lines."""
    found = []
    for detail in error.errors(include_url=False):
        # Tags of alternatives are part of Pydantic's location, and mean nothing to a user.
        path = [part for part in detail["loc"] if not _is_tag(part)]
        if unknown := _unknown(detail):
            # The name itself is wrong, not the table that it is in.
            path, text = [*path, unknown[0]], unknown[1]
        else:
            text = _message(detail, root)
        # The path already names what the rule is about.
        text = text.removeprefix(f"{path[-1]} ") if path else text
        found.append(Problem(path=dotted(path), message=text, line=line_of(path, lines)))
    # Problems without a line come first; sorted is stable, so that those of one line keep their order.
    return sorted(found, key=lambda problem: problem.line or 0)


def dotted(path: Sequence[str | int]) -> str:
    """Return a path in dotted notation.

    >>> dotted(["agents", "hidden", 2])
    'agents.hidden[2]'
    """
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")


def _message(detail: ErrorDetails, root: type[Section]) -> str:
    kind, value, context = detail["type"], detail["input"], detail.get("ctx", {})
    if kind == "value_error":
        return str(context["error"])
    if kind == "missing":
        return f"is needed and not there; add {_missing(detail['loc'], root)}"
    if kind == "extra_forbidden":
        return _unknown_key(detail["loc"], root)
    if kind == "no_alternative":
        # Rule and remedy were joined in ``alternatives``, because Pydantic's custom errors have a single message.
        rule, _, remedy = detail["msg"].partition("; ")
        return message(rule, got=_shown(value), remedy=remedy)
    # Types of errors that are not listed keep Pydantic's own words, in the form of the other messages.
    rule, remedy = _RULES.get(kind, (detail["msg"][:1].lower() + detail["msg"][1:], "correct it"))
    return message(rule.format(**context), got=_shown(value), remedy=remedy)


def _unknown(detail: ErrorDetails) -> tuple[str, str] | None:
    """Return the key whose value names none of the alternatives, with the message; None if that is not the problem."""
    value = detail["input"]
    if detail["type"] != "no_alternative" or not isinstance(value, dict):
        return None
    for key, known in detail.get("ctx", {}).items():
        if isinstance(value.get(key), str):
            return key, unknown_name(key, value[key], known.split(", "))
    return None


def _missing(loc: Sequence[str | int], root: type[Section]) -> str:
    """Return what to add for a key that is missing: a line, or a section with the lines that it needs."""
    key = str(loc[-1])
    inner = list(_sections(root.model_fields[key].annotation)) if len(loc) == 1 and key in root.model_fields else []
    if not inner:
        return f"{key} = …"
    # One of several alternatives has keys of its own, which the next message lists.
    needed = (
        [name for name, field in inner[0][1].model_fields.items() if field.is_required()] if len(inner) == 1 else []
    )
    return f"a section [{key}]" + (f" with {', '.join(f'{name} = …' for name in needed)}" if needed else "")


def _shown(value: Any) -> str:
    text = repr(value)
    # A wrong value may be a list of a million numbers.
    return text if len(text) <= 60 else f"{text[:57]}…"


def _unknown_key(loc: Sequence[str | int], root: type[Section]) -> str:
    legal, key = _legal_keys(loc, root), str(loc[-1])
    near = difflib.get_close_matches(key, legal, 1)
    remedy = f"did you mean {near[0]!r}?" if near else f"the keys here are {', '.join(legal)}"
    return message("there is no such key here", got=repr(key), remedy=remedy)


def _legal_keys(loc: Sequence[str | int], root: type[Section]) -> list[str]:
    """Return the legal keys at a location, following it from the root through the alternatives taken."""
    here: list[tuple[str, type[Section]]] = [("", root)]
    for part in loc[:-1]:
        if _is_tag(part):
            # Only the alternative that was chosen has legal keys; the others would give misleading suggestions.
            here = [(name, section) for name, section in here if name == part]
        elif isinstance(part, str):
            here = [pair for _, section in here for pair in _sections(section.model_fields[part].annotation)]
    return list(here[0][1].model_fields) if here else []


def _sections(annotation: Any, name: str = "") -> Iterator[tuple[str, type[Section]]]:
    """Yield the sections in an annotation, each with its tag."""
    if isinstance(annotation, type) and issubclass(annotation, Section):
        yield name, annotation
        return
    parts = get_args(annotation)
    if get_origin(annotation) is Annotated:
        tags = [mark.tag for mark in parts[1:] if isinstance(mark, Tag)]
        parts, name = parts[:1], tags[0] if tags else name
    for part in parts:
        yield from _sections(part, name)


def _is_tag(part: str | int) -> bool:
    return isinstance(part, str) and part.startswith("<")
