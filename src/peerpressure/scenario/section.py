"""Building blocks of the sections of a scenario file.

`Section` is the base of all of them: strict types, no unknown keys, no NaN. `derived` makes the section of a schedule,
of a noise law or of a generator from its declared parameters.
"""

from __future__ import annotations

import difflib
import functools
import inspect
import operator
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, TypeVar, cast, final

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    PlainSerializer,
    SerializationInfo,
    Tag,
    ValidationInfo,
    create_model,
)

from peerpressure.errors import FileFormatError, InvalidInputError, message
from peerpressure.networks import GENERATORS
from peerpressure.support.files import declare_input, expanded, relative_path
from peerpressure.support.parameters import REQUIRED, Kind, Parameter, Slider, summary, with_defaults


class Section(BaseModel):
    """A table of a scenario file; it is immutable."""

    # strict: a quoted number in a file is a mistake, not a number; frozen, because a scenario caches what it builds.
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


@final
@dataclass(frozen=True)
class Choice:
    """One of several alternatives that a page offers.

    Parameters
    ----------
    id : str
        Name in a scenario.
    title, help : str
        Label, and a sentence.
    parameters : tuple of Parameter
        What the user sets; numbers with a slider, or a text with examples.
    fixed : mapping, optional
        Keys that its section always has.
    """

    id: str
    title: str
    help: str = ""
    parameters: tuple[Parameter, ...] = ()
    fixed: Mapping[str, Any] | None = None

    def __hash__(self) -> int:
        # Annotations are compared by their hashes, and mappings have none.
        return hash((self.id, self.title))

    @property
    def sliders(self) -> tuple[Parameter, ...]:
        """Parameters that a slider sets."""
        return tuple(one for one in self.parameters if one.slider is not None)


@final
@dataclass(frozen=True)
class Feature:
    """How a page offers a key that is left out unless it is wanted; it stands in the annotation of its field.

    Parameters
    ----------
    title, help : str
        Label, and a sentence on what it adds.
    options : tuple of Choice
        Its kinds, of which the first is added. A kind is a number, if its only parameter is ``value``; a word, its own
        name, without parameters and fixed keys; or else a table of both.
    """

    title: str
    help: str
    options: tuple[Choice, ...] = ()


def choices(family: Mapping[str, Any], **fixed: Mapping[str, Any]) -> list[Choice]:
    """Return the members of a family, without those that need what no control sets, such as a list per agent.

    ``fixed`` are the fixed keys of some.
    """
    made = []
    for name, one in family.items():
        # Generators are built by a function of theirs; schedules and laws are classes.
        member, about = (one.build, one.help) if hasattr(one, "build") else (one, summary(one))
        declared = with_defaults(member, one.parameters)
        if all(each.default is not REQUIRED or each.slider or each.examples for each in declared):
            made.append(Choice(name, one.title, about, declared, fixed.get(name)))
    return made


def real(name: str, title: str, low: float, high: float, start: float, step: float, *, log: bool = False) -> Parameter:
    """Return a number that a slider sets."""
    return Parameter(name, "real", title, slider=Slider(low, high, step, start, log))


def share(name: str, title: str, start: float) -> Parameter:
    """Return a share that a slider sets."""
    return real(name, title, 0.0, 1.0, start, 0.01)


def limits(low: float, high: float, starts: tuple[float, float], step: float, *, log: bool = False) -> Any:
    """Return the two ends of values that are drawn uniformly, within a range."""
    ends = zip(("low", "high"), ("lowest", "highest"), starts, strict=True)
    return tuple(real(name, title, low, high, start, step, log=log) for name, title, start in ends)


def controls(section: type[Section]) -> tuple[Parameter, ...]:
    """Return the keys of a section that sliders set."""
    return tuple(
        Parameter(
            name,
            "whole" if isinstance(slider.step, int) else "real",
            one.title or name,
            default=one.default,
            slider=slider,
        )
        for name, one in section.model_fields.items()
        for slider in one.metadata
        if isinstance(slider, Slider)
    )


def tag(name: str) -> Tag:
    """Mark an alternative with its name, distinguished from a key in the location of an error.

    >>> tag("uniform")
    Tag(tag='<uniform>')
    """
    return Tag(f"<{name}>")


def chosen_by(choose: Callable[[Any], str | None], **error: Any) -> Discriminator:
    """Return the discriminator between alternatives, by the function that names the one that a value is.

    ``error`` is what Pydantic reports if it names none.
    """

    def tag_of(value: Any) -> str | None:
        name = choose(value)
        return None if name is None else tag(name).tag

    return Discriminator(tag_of, **error)


def key_of(value: Any, *keys: str) -> tuple[str, Any] | None:
    """Return the first of these keys that a table has, with its value."""
    # Values are dictionaries when a file is read, and sections when they come from code.
    for key in keys:
        entry = value.get(key) if isinstance(value, dict) else getattr(value, key, None)
        if entry is not None:
            return key, entry
    return None


class _Names(dict[str, Any]):
    """Legal names by key; hashable, because annotations are compared by their hashes."""

    def __hash__(self) -> int:  # type: ignore[override]  # a dict has none
        return hash(tuple(self.items()))


def alternatives(choose: Callable[[Any], str | None], rule: str, remedy: str, **names: Iterable[str]) -> Discriminator:
    """Return the discriminator between alternatives; a value that is none of them breaks the rule.

    ``names`` are the legal values of the keys that choose, so an unknown one is reported as such.
    """
    # The context of an error holds plain values only.
    known = _Names({key: ", ".join(values) for key, values in names.items()})
    return chosen_by(
        choose,
        custom_error_type="no_alternative",
        custom_error_message=f"{rule}; {remedy}",
        custom_error_context=known,
    )


def among(names: Iterable[str], what: str) -> Callable[[str], str]:
    """Return a validator that a word is one of these names."""
    known = list(names)

    def check(word: str) -> str:
        # Not a Literal: its message would list the names without a suggestion.
        if word not in known:
            raise InvalidInputError(unknown_name(what, word, known))
        return word

    return check


# What others call the members of the families.
_SYNONYMS = {
    **{"ring": "cycle", "circle": "cycle", "line": "path", "chain": "path", "clique": "complete", "lattice": "grid"},
    **{one.short: name for name, one in GENERATORS.items() if one.short},
    **{"small_world": "watts_strogatz", "scale_free": "barabasi_albert", "random": "erdos_renyi"},
    **{"normal": "gaussian", "gaussian": "normal", "gauss": "normal"},
}


def unknown_name(what: str, word: str, known: Sequence[str]) -> str:
    """Return the message for a word that is none of the known names, with the nearest of them.

    >>> unknown_name("a generator", "ring", ["cycle", "path"])
    "a generator must be one of cycle, path, got 'ring'; did you mean 'cycle'?"
    """
    plain = word.lower().replace("-", "_").replace(" ", "_")
    synonym = _SYNONYMS.get(plain)
    near = [synonym] if synonym in known else difflib.get_close_matches(plain, known, 1)
    # A short word is the beginning of a longer name, though most of its letters differ.
    near = near or [name for name in known if len(plain) > 2 and name.startswith(plain)]
    remedy = f"did you mean {near[0]!r}?" if near else "use one of these"
    return message(f"{what} must be one of {', '.join(known)}", got=repr(word), remedy=remedy)


def _located(path: str, info: ValidationInfo) -> str:
    """Return the path relative to the folder of the scenario file.

    With ``files: False`` in the context, as for scenarios from the network, no file may be named at all.
    """
    context = info.context or {}
    # A request over HTTP must not learn which files exist on this machine, so even the existence is not tested.
    if context.get("files") is False:
        remedy = "write the values themselves"
        raise ValueError(message("this scenario must not name files", got=repr(path), remedy=remedy))
    folder, full = context.get("folder"), expanded(path)
    return str(full if folder is None else Path(folder) / full)


def _existing(path: str, info: ValidationInfo) -> str:
    full = Path(_located(path, info))
    if not full.is_file():
        remedy = "paths start from the folder of the scenario file"
        # ValueError, which Pydantic collects together with all other problems of the file.
        raise ValueError(message("a file must exist", got=str(full), remedy=remedy))
    declare_input(full)
    return str(full)


def _written(path: str, info: SerializationInfo) -> str:
    """Return a path as it is written in a file of the folder in the context, if there is one.

    Files that the context has under ``inputs`` are copied to that folder, and are named as they are there.
    """
    context = info.context or {}
    folder, copies = context.get("folder"), context.get("inputs") or {}
    kept = copies.get(Path(os.path.abspath(path)))
    return kept or (path if folder is None else relative_path(path, folder))


def as_labels(given: Sequence[Any]) -> list[Any]:
    """Return the labels of agents as a network has them, in which a pair is a tuple."""
    return [tuple(label) if isinstance(label, list) else label for label in given]


def _whole_or_not(value: Any) -> str:
    # bool is a subclass of int, and true is no number.
    return "whole number" if isinstance(value, int) and not isinstance(value, bool) else "number"


LARGEST = 2**63 - 1  # the largest integer that every TOML reader supports
Count: TypeAlias = Annotated[int, Field(ge=1, le=LARGEST)]
Seed: TypeAlias = Annotated[int, Field(ge=0, le=LARGEST)]
OwnSeed: TypeAlias = Annotated[Seed | None, Field(description="leave it out to draw from the seed of the run")]
Positive: TypeAlias = Annotated[float, Field(gt=0)]
Share: TypeAlias = Annotated[float, Field(ge=0, le=1)]
InputFile: TypeAlias = Annotated[
    str, Field(min_length=1), AfterValidator(_existing), PlainSerializer(_written, return_type=str)
]
OutputFolder: TypeAlias = Annotated[str, Field(min_length=1), AfterValidator(_located)]
Label: TypeAlias = Annotated[
    # A discriminated union reports the errors of the chosen alternative only; a plain union lists those of all.
    Annotated[str, tag("text")] | Annotated[int, tag("whole number")],
    chosen_by(lambda value: "text" if isinstance(value, str) else "whole number"),
]
# A pair of an agent and a topic is a label if there are topics.
AgentLabel: TypeAlias = Annotated[
    Annotated[Label, tag("label")] | Annotated[Annotated[list[Label], Field(min_length=2, max_length=2)], tag("pair")],
    chosen_by(lambda value: "pair" if isinstance(value, list | tuple) else "label"),
]
Number: TypeAlias = Annotated[
    Annotated[float, tag("number")] | Annotated[int, tag("whole number")], chosen_by(_whole_or_not)
]
Numbers: TypeAlias = Annotated[list[float], Field(min_length=1)]
Rows: TypeAlias = Annotated[list[Numbers], Field(min_length=1, fail_fast=True)]
OneOrMany: TypeAlias = Annotated[
    Annotated[float, tag("number")] | Annotated[Numbers, tag("list")],
    chosen_by(lambda value: "list" if isinstance(value, list | tuple) else "number"),
]


# Ranges, such as that of a probability, come from the declared bounds and not from the type.
_TYPES: Mapping[Kind, Any] = {
    "whole": int,
    "real": float,
    "probability": float,
    "flag": bool,
    "text": Annotated[str, Field(min_length=1)],
    "list": Numbers,
    "per agent": OneOrMany,
}
Derived = TypeVar("Derived", bound=Section)


def derived(
    base: type[Derived],
    name: str,
    member: Callable[..., Any],
    parameters: Iterable[Parameter],
    *,
    key: str,
    description: str,
    more: Mapping[str, Any] | None = None,
) -> type[Derived]:
    """Return the section of one member of a family.

    Parameters
    ----------
    base : type of Section
        Section that the new one extends.
    name : str
        Name of the member, the value of ``key``.
    member : callable
        Class or function whose signature gives the defaults.
    parameters : iterable of Parameter
        Declarations of the other keys.
    key : str
        Key that names the member.
    description : str
        What the member is, in one line.
    more : mapping, optional
        Further keys, as `pydantic.create_model` takes them.

    Returns
    -------
    type of Section
        Subclass of ``base``.
    """
    # The literal type lets the JSON schema identify the alternative, and the default lets code leave the key out.
    fields: dict[str, Any] = {key: (cast(Any, Literal)[name], name)}
    # Types, ranges and defaults come from the declarations, so the file format cannot differ from the
    # constructors.
    fields |= {one.name: (_annotation(one), one.default) for one in with_defaults(member, parameters)}
    fields |= more or {}
    title = "".join(word.capitalize() for word in name.split("_"))
    return create_model(f"{title}{base.__name__}", __base__=base, __doc__=description, **fields)


def _annotation(one: Parameter) -> Any:
    """Return the type of a key with its legal range and its description."""
    # A default of None means that the key may be left out.
    plain = _TYPES[one.kind] if one.default is not None else _TYPES[one.kind] | None
    # Larger integers are valid in Python, but not in other TOML readers.
    bounds = ({"le": LARGEST} if one.kind == "whole" else {}) | one.bounds
    description = (one.help or one.title) + f" ({one.unit})" * bool(one.unit)
    return Annotated[plain, Field(description=description, **cast(Any, bounds))]


def takes(member: Callable[..., Any], argument: str) -> bool:
    """Return whether a class or function has an argument of this name."""
    return argument in inspect.signature(member).parameters


def union_of(sections: Mapping[str, type[Section]]) -> Any:
    """Return the union of sections, each marked with its name."""
    return functools.reduce(operator.or_, (Annotated[one, tag(name)] for name, one in sections.items()))


def read_text(path: str | Path, what: str) -> str:
    """Return the text of a file; raise FileFormatError if it cannot be read as UTF-8."""
    try:
        # utf-8-sig removes the byte order mark that some editors on Windows write.
        return Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        remedy = "save it as UTF-8"
        raise FileFormatError(
            message(
                f"{what} must be UTF-8 text",
                got=f"{path} with byte 0x{error.object[error.start]:02x} at position {error.start}",
                remedy=remedy,
            )
        ) from None
    except OSError as error:
        got = f"{path} ({error.strerror})"
        raise FileFormatError(message(f"{what} must be readable", got=got, remedy="check the path")) from error
