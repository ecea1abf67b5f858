"""What the commands share: parsing, transliteration of the output, errors, the progress line, JSON and tables."""

from __future__ import annotations

import codecs
import contextlib
import inspect
import io
import os
import shutil
import sys
import unicodedata
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TextIO, TypeAlias

import typer
from pydantic import ValidationError
from typer.core import TyperCommand, TyperGroup, TyperOption

from peerpressure.errors import FileFormatError, PeerPressureError
from peerpressure.support.files import declare_input, expanded, guarding_inputs
from peerpressure.support.progress import announcing
from peerpressure.support.provenance import json_text

if TYPE_CHECKING:
    from rich.table import Table

    from peerpressure.scenario import Scenario


# Parsing

# Help wraps at the width of the terminal, up to a length of line that can still be read.
SETTINGS: Final[dict[str, Any]] = {"help_option_names": ["-h", "--help"], "max_content_width": 120}


OUTPUTS: Final = ("out", "figure", "report", "export")  # parameters that name what is written; all other paths are read


class Commands(TyperGroup):
    """Commands that the help lists with the whole first sentence of each."""

    def groups(self) -> Mapping[str, Sequence[str]]:
        """Return the names of commands, by the titles of their groups."""
        return {"Commands": list(self.commands)}

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the groups."""
        width = max(map(len, self.commands))
        for title, names in self.groups().items():
            with formatter.section(title):
                lines = [str(self.commands[name].help).partition("\n\n")[0] for name in names]
                formatter.write_dl([(name.ljust(width), line) for name, line in zip(names, lines, strict=True)])


class Command(TyperCommand):
    """A command that takes each option once, unless it is a list, and never writes to what it reads."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Raise if an option is repeated, of which only the last value would count."""
        # A copy, because the parser empties its list.
        _, _, order = self.make_parser(ctx).parse_args(args=[*args])
        given = Counter(one.name for one in order if isinstance(one, TyperOption) and not one.multiple)
        for one in self.params:
            if given[one.name] > 1:
                raise typer.BadParameter(f"{one.opts[0]} is given twice; give it once", param_hint=f"'{one.opts[0]}'")
        rest = super().parse_args(ctx, args)
        # Shells expand the home folder at the beginning of a word only, and not in --out=~/results.
        ctx.params |= {name: expanded(value) for name, value in ctx.params.items() if isinstance(value, Path)}
        return rest

    def invoke(self, ctx: Any) -> Any:
        """Run the command, with every path that it reads declared as an input."""
        with guarding_inputs():
            for name, value in ctx.params.items():
                # A folder is no file that could be replaced; what is read in it is known to the command.
                if isinstance(value, Path) and name not in OUTPUTS and not value.is_dir():
                    declare_input(value)
            return super().invoke(ctx)


# Rules for the types of errors that Typer's validation has; its own texts leave out the value, and some the option.
_RULES: Final = {
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "int_parsing": "must be a whole number",
    "float_parsing": "must be a number",
    "value_error": "must be {error}",
}


def explain_usage(error: typer.TyperException) -> str:
    """Return the message of a wrong command line: the rule, the value and where to read more."""
    context = getattr(error, "ctx", None)
    more = f"see {getattr(context, 'command_path', 'peerpressure')} --help"
    text, cause = error.format_message().rstrip("."), error.__cause__
    if isinstance(cause, ValidationError):
        found = cause.errors()[0]
        values = dict(found.get("ctx", {}))
        if found["type"] == "value_error":
            # What Typer raises itself: "'x' is not one of 'a', 'b'."
            values["error"] = str(values["error"]).partition(" is not ")[2].rstrip(".")
        if found["type"] in _RULES:
            option = error.param.opts[0]  # type: ignore[attr-defined]
            text = f"{option} {_RULES[found['type']].format(**values)}, got {found['input']!r}"
    return f"{text}; {more}"


# Arguments of the library, and the key of a scenario that sets them.
_KEYS: Final = {
    "method": "methods in [observe]",
    **{name: f"{name} in [observe]" for name in ("times", "sees_start", "rounding", "prior", "target")},
    **{name: f"{name} in [agents]" for name in ("start", "isolated")},
    **{name: f"{name} in [run]" for name in ("record", "replicates")},
    **{f"infer_network.{name}": f"{name} in unknown_network of [observe]" for name in ("symmetric", "signed", "std")},
    **{f"infer_network.{name}": f"{name} in unknown_network of [observe]" for name in ("penalty", "partial")},
    "SDE.method": "method in [time]",
    "public_start": "public_start in [privacy]",
}


def options_of(command: Callable[..., object]) -> list[str]:
    """Return the options of a command, which are named after its parameters.

    >>> options_of(lambda as_json, measurement_noise: None)
    ['--as-json', '--measurement-noise']
    """
    return [f"--{name.replace('_', '-')}" for name in inspect.signature(command).parameters]


def in_words_of(error: PeerPressureError, options: Container[str]) -> str:
    """Return the message of the library, with the options or keys that set the arguments of its remedy.

    >>> in_words_of(PeerPressureError("use the method kalman", argument="method"), ["--method"])
    'use the method kalman (--method)'
    >>> in_words_of(PeerPressureError("use the method kalman", argument="method"), [])
    'use the method kalman (methods in [observe])'
    """
    places = []
    for argument in error.arguments:
        option = f"--{argument.rpartition('.')[2].replace('_', '-')}"
        places += [option] if option in options else [_KEYS[argument]] if argument in _KEYS else []
    return f"{error} ({', '.join(places)})" if places else str(error)


# 2 is what shells and Typer use for wrong arguments, 130 what shells report for Ctrl-C (128 + SIGINT).
FAILURE, USAGE, INTERRUPTED = 1, 2, 130  # exit statuses

AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")]

# Output in encodings that lack Greek letters and mathematical signs

TRANSLITERATE = "peerpressure.transliterate"  # the name of the codec error handler
# Unicode decomposition covers letters and digits; these signs have none, or a misleading one.
SIGNS = {
    **dict.fromkeys("−–—‑", "-"),
    **dict.fromkeys("‘’′", "'"),
    **dict.fromkeys("“”″", '"'),
    **{"≤": "<=", "≥": ">=", "≠": "!=", "≈": "~", "∝": "~", "±": "+-", "×": "x", "·": "*", "∘": "*", "⁄": "/"},
    **{"→": "->", "←": "<-", "↦": "->", "∞": "inf", "√": "sqrt", "∫": "int", "∂": "d", "‖": "||", "°": " deg"},
    **{"⟨": "<", "⟩": ">", "⌊": "[", "⌋": "]", "⌈": "[", "⌉": "]", "✓": "yes", "✗": "no", "△": "triangle", "Σ": "sum "},
}
POSITIONS = {"<super>": "^", "<sub>": "_"}


def transliterated(text: str) -> str:
    """Return a text in ASCII: Greek letters and signs are spelled out, other letters become escapes.

    >>> transliterated("ρ_t ≤ σ², x₀")
    'rho_t <= sigma^2, x_0'
    """
    parts, height = [], ""
    for sign in text:
        kind, _, rest = unicodedata.decomposition(sign).partition(" ")
        # One mark serves a whole exponent such as −1.
        mark = POSITIONS.get(kind, "")
        parts.append(mark if mark != height else "")
        # Superscripts, subscripts and ligatures decompose into plain signs; canonical decompositions have no <kind> and
        # keep the letter.
        plain = "".join(chr(int(code, 16)) for code in rest.split()) if kind.startswith("<") else sign
        parts.append("".join(map(_ascii_sign, plain)))
        height = mark
    return "".join(parts)


def _ascii_sign(sign: str) -> str:
    name = unicodedata.name(sign, "")
    if sign.isascii() or sign in SIGNS:
        return SIGNS.get(sign, sign)
    # An accented Greek letter is part of a Greek word rather than of a formula, and is escaped like other letters.
    if name.startswith("GREEK ") and " LETTER " in name and " WITH " not in name:
        letter = name.rpartition(" LETTER ")[2].removeprefix("FINAL ").lower()
        return letter.capitalize() if "CAPITAL" in name else letter
    if unicodedata.combining(sign):
        return ""  # a bar or a hat over a letter
    # Escapes are ugly but lossless; a question mark would hide which character was meant.
    return sign.encode("ascii", "backslashreplace").decode()


def _handle(error: UnicodeError) -> tuple[str | bytes, int]:
    # The same handler may be asked to decode or translate, which it cannot.
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end]
    if all("\udc80" <= sign <= "\udcff" for sign in missing):
        # Bytes of a file name in another encoding, which are written as they were read.
        return missing.encode("ascii", "surrogateescape"), error.end
    return transliterated(missing), error.end


def transliterate_output() -> None:
    """Let both output streams transliterate what their encoding lacks; nothing changes for UTF-8."""
    # An error handler of the codec works for all output, also of libraries, and costs nothing where it is not needed.
    codecs.register_error(TRANSLITERATE, _handle)
    for stream in (sys.stdout, sys.stderr):
        # Under test runners and in notebooks the streams are other objects.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=TRANSLITERATE)


def open_closed_streams() -> None:
    """Let standard streams that the caller has closed be the null device.

    Python has no object for a closed stream, and the next file that is opened would take its number: what compiled
    libraries print would then end up in that file.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            # Opened in this order, because a new file takes the lowest free number.
            stream = open(os.devnull, mode, encoding="utf-8")  # noqa: SIM115 — open until the process ends
            # For processes that this one starts, too.
            os.set_inheritable(stream.fileno(), True)
            setattr(sys, name, stream)


def has_unicode() -> bool:
    """Return whether the output can hold every character."""
    # The codec's own name, since utf-8, UTF8 and u8 are one encoding.
    return codecs.lookup(sys.stdout.encoding or "ascii").name.startswith("utf")


def as_printed(text: str) -> str:
    """Return a text as it will be printed, so the columns of a table are wide enough."""
    encoding = sys.stdout.encoding or "ascii"
    return text.encode(encoding, TRANSLITERATE).decode(encoding, "surrogateescape")


class GuardedOutput:
    """Standard output that remembers why it could not be written to, and takes everything afterwards.

    What a command does besides printing, such as the rest of its files and its exit status, does not depend on whether
    anybody reads what it prints.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.error: OSError | None = None

    def write(self, text: str) -> int:
        """Write a text."""
        try:
            self._stream.write(text)
        except OSError as error:
            self._give_up(error)
        return len(text)

    def flush(self) -> None:
        """Write what is buffered."""
        try:
            self._stream.flush()
        except OSError as error:
            self._give_up(error)

    def __getattr__(self, name: str) -> Any:
        """Return anything else from the stream, such as its encoding."""
        return getattr(self._stream, name)

    def _give_up(self, error: OSError) -> None:
        self.error = self.error or error
        # What is still buffered is written again at the end of the process, where it would print a traceback.
        with contextlib.suppress(OSError), open(os.devnull, "w", encoding="utf-8") as nowhere:
            os.dup2(nowhere.fileno(), self._stream.fileno())


# Errors and progress


class InvalidFileError(PeerPressureError):
    """A file with problems, each of which is printed as a line."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = tuple(lines)
        super().__init__("; ".join(lines))


def print_error(message: str, status: int) -> int:
    """Print a message as one line on the error stream, and return the exit status."""
    # One line, so scripts and logs can take it as one record.
    # An error stream that cannot be written to leaves the exit status.
    with contextlib.suppress(OSError):
        print(f"peerpressure: {' '.join(message.split())}", file=sys.stderr)
    return status


@contextlib.contextmanager
def progress_line() -> Iterator[Callable[[str], None]]:
    """Give a function that shows the current stage, on the error stream and only if that is a terminal."""
    # In a log file a progress line would leave thousands of control characters.
    if not sys.stderr.isatty():
        yield lambda stage: None
        return
    from rich.console import Console

    # The dots of the spinner are Braille characters.
    with Console(stderr=True).status("starting", spinner="dots" if has_unicode() else "line") as status:
        stage = "starting"

        def show(text: str) -> None:
            nonlocal stage
            stage = text
            status.update(text)

        with announcing(lambda text: status.update(text or stage)):
            yield show


def check_folder(out: Path, named_by: str = "'--out'") -> None:
    """Check that a path can become a folder, before any work is done; ``named_by`` is what names it."""
    # The first existing ancestor decides: folders are created as needed, but not below a file.
    there = next((place for place in (out, *out.parents) if place.exists()), Path())
    if not there.is_dir():
        raise typer.BadParameter(f"{there} is a file; name a folder", param_hint=named_by)


@contextlib.contextmanager
def listing_problems() -> Iterator[None]:
    """Turn the problems of a file into the lines of one error."""
    from peerpressure.scenario import ScenarioError

    try:
        yield
    except ScenarioError as error:
        # The exception lists the problems; its cause would only add the internals of the validation.
        raise InvalidFileError(str(error).splitlines()) from None
    except FileFormatError as error:
        # A file that cannot be read is a wrong argument, unlike a result that cannot be written.
        raise InvalidFileError([str(error)]) from None


def open_scenario(path: Path, *, needs_run: bool = True) -> Scenario:
    """Return the scenario in a file, or raise an error that lists all its problems."""
    with listing_problems():
        # Imported here, so ``--help`` does not load the validation.
        from peerpressure.scenario import load_scenario

        return load_scenario(path, needs_run=needs_run)


def results_folder(scenario: Scenario, file: Path) -> Path:
    """Return the folder of the results that a scenario names, or the one beside its file."""
    return Path(scenario.output.folder or file.with_name(f"{file.stem}-results"))


def print_json(answer: Mapping[str, Any]) -> None:
    """Print plain values as JSON, with the version of its schema; numbers that JSON lacks become null."""
    # JSON's own escapes keep every name, where transliteration would change it.
    print(json_text(answer, ascii_only=not has_unicode()), end="")


def text_width() -> int:
    """Return the width at which text is wrapped: that of the terminal, if there is one, within bounds."""
    if not sys.stdout.isatty():
        return 88
    # Wider lines than that are hard to read, and narrower ones leave no room for a table.
    return min(max(shutil.get_terminal_size().columns, 40), 100)


def show(*parts: Table | str) -> None:
    """Print tables and lines, in colour on a terminal that supports it."""
    from rich.console import Console

    console = Console()
    for part in parts:
        if isinstance(part, str):
            # Unwrapped, so a path in it can be copied.
            # markup=False: square brackets in a label or path are no styles.
            console.print(part, highlight=False, soft_wrap=True, markup=False)
        else:
            console.print(part)


def facts(rows: Sequence[tuple[str, str]]) -> Table:
    """Return names and values as a table without rules."""
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        # Transliteration changes the length of texts, and Rich computes widths before the stream encodes them.
        table.add_row(as_printed(name), as_printed(value))
    return table


def columns(title: str | None, names: Sequence[str], rows: Sequence[Sequence[str]], *, text: int = 1) -> Table:
    """Return a table whose first ``text`` columns are words and whose others are numbers."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left")
    for i, name in enumerate(names):
        table.add_column(as_printed(name), justify="left" if i < text else "right")
    for row in rows:
        table.add_row(*map(as_printed, row))
    return table
