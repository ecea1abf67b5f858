"""How command lines are parsed: -h, help as wide as the terminal, and options that are given at most once."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import typer
from typer.core import TyperCommand, TyperOption

# Help wraps at the width of the terminal, up to a length of line that can still be read.
SETTINGS: Final[dict[str, Any]] = {"help_option_names": ["-h", "--help"], "max_content_width": 120}


class Command(TyperCommand):
    """A command that takes each option once, unless the option is a list."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Raise if an option is repeated, of which only the last value would count."""
        # A copy, because the parser empties its list.
        _, _, order = self.make_parser(ctx).parse_args(args=[*args])
        given = Counter(one.name for one in order if isinstance(one, TyperOption) and not one.multiple)
        for one in self.params:
            if given[one.name] > 1:
                raise typer.BadParameter(f"{one.opts[0]} is given twice; give it once", param_hint=f"'{one.opts[0]}'")
        return super().parse_args(ctx, args)


# Typer's texts leave out the value, and the option in others.
_RULES: Final = (
    (re.compile(r"Input should be greater than or equal to (.+)"), r"must be at least \1"),
    (re.compile(r"Input should be less than or equal to (.+)"), r"must be at most \1"),
    (re.compile(r"Input should be a valid integer.*"), "must be a whole number"),
    (re.compile(r"Input should be a valid number.*"), "must be a number"),
    (re.compile(r"Value error, .* is not one of (.+)"), r"must be one of \1"),
)


def explain_usage(error: typer.TyperException, arguments: Sequence[str]) -> str:
    """Return the message of a wrong command line: the rule, the value and where to read more."""
    context = getattr(error, "ctx", None)
    more = f"see {getattr(context, 'command_path', 'peerpressure')} --help"
    text = error.format_message().rstrip(".")
    for pattern, rule in _RULES:
        if (found := pattern.fullmatch(error.message.rstrip("."))) and (given := _given(error, arguments)):
            text = f"{given[0]} {found.expand(rule)}, got {given[1]}"
    return f"{text}; {more}"


def _given(error: typer.TyperException, arguments: Sequence[str]) -> tuple[str, str] | None:
    """Return the option that an error is about, and its value; None if it is about something else."""
    for name in getattr(getattr(error, "param", None), "opts", ()):
        for word, following in zip(arguments, [*arguments[1:], ""], strict=True):
            # Both forms of an option with a value: --steps 5 and --steps=5.
            option, sign, value = word.partition("=")
            if option == name:
                return name, repr(value if sign else following)
    return None
