"""How command lines are parsed: -h, help as wide as the terminal, and options that are given at most once."""

from __future__ import annotations

from collections import Counter
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
