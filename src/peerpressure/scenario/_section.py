"""What all sections of a scenario file share: strict types, no unknown keys, no NaN, and files that exist."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Field, Tag, ValidationInfo

from peerpressure.errors import FileFormatError, InvalidInputError, message


class Section(BaseModel):
    """A table of a scenario file; it never changes."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


def tag(name: str) -> str:
    """Mark the name of an alternative, so that it is told from a key where an error is placed.

    >>> tag("uniform")
    '<uniform>'
    """
    return f"<{name}>"


def key_of(value: Any, *keys: str) -> tuple[str, Any] | None:
    """Return the first of these keys that a table has, with its value."""
    for key in keys:
        found = value.get(key) if isinstance(value, dict) else getattr(value, key, None)
        if found is not None:
            return key, found
    return None


def alternatives(choose: Callable[[Any], str | None], rule: str, remedy: str) -> Discriminator:
    """Return what tells alternatives apart; a value that is none of them breaks the rule."""
    return Discriminator(choose, custom_error_type="no_alternative", custom_error_message=f"{rule}; {remedy}")


def among(names: Iterable[str], what: str) -> Callable[[str], str]:
    """Return a check that a word is one of these names."""
    known = list(names)

    def check(word: str) -> str:
        if word not in known:
            near = difflib.get_close_matches(word, known, 1)
            remedy = f"did you mean {near[0]!r}?" if near else "use one of these"
            raise InvalidInputError(message(f"{what} must be one of {', '.join(known)}", got=repr(word), remedy=remedy))
        return word

    return check


def _located(path: str, info: ValidationInfo) -> str:
    """Return the path as seen from here: in a file, paths start from that file's folder.

    Whoever reads scenarios of strangers says ``files: False`` in the context, and none of them reaches the disk.
    """
    context = info.context or {}
    if context.get("files") is False:
        remedy = "write the values themselves"
        raise ValueError(message("this scenario must not name files", got=repr(path), remedy=remedy))
    folder = context.get("folder")
    return path if folder is None else str(Path(folder) / path)


def _existing(path: str, info: ValidationInfo) -> str:
    full = Path(_located(path, info))
    if not full.is_file():
        remedy = "paths start from the folder of the scenario file"
        raise ValueError(message("a file must exist", got=str(full), remedy=remedy))
    return str(full)


def _word_or_number(value: Any) -> str:
    return tag("text") if isinstance(value, str) else tag("whole number")


def _one_or_many(value: Any) -> str:
    return tag("list") if isinstance(value, list | tuple) else tag("number")


def _whole_or_not(value: Any) -> str:
    return tag("whole number") if isinstance(value, int) and not isinstance(value, bool) else tag("number")


LARGEST = 2**63 - 1  # the largest whole number that TOML promises to hold
Count: TypeAlias = Annotated[int, Field(ge=1, le=LARGEST)]
Seed: TypeAlias = Annotated[int, Field(ge=0, le=LARGEST)]
OwnSeed: TypeAlias = Annotated[Seed | None, Field(description="leave it out to draw from the seed of the run")]
Positive: TypeAlias = Annotated[float, Field(gt=0)]
Share: TypeAlias = Annotated[float, Field(ge=0, le=1)]
InputFile: TypeAlias = Annotated[str, Field(min_length=1), AfterValidator(_existing)]
OutputFolder: TypeAlias = Annotated[str, Field(min_length=1), AfterValidator(_located)]
Label: TypeAlias = Annotated[
    Annotated[str, Tag(tag("text"))] | Annotated[int, Tag(tag("whole number"))], Discriminator(_word_or_number)
]
Number: TypeAlias = Annotated[
    Annotated[float, Tag(tag("number"))] | Annotated[int, Tag(tag("whole number"))], Discriminator(_whole_or_not)
]
Numbers: TypeAlias = Annotated[list[float], Field(min_length=1)]
OneOrMany: TypeAlias = Annotated[
    Annotated[float, Tag(tag("number"))] | Annotated[Numbers, Tag(tag("list"))], Discriminator(_one_or_many)
]


def read_text(path: str | Path, what: str) -> str:
    """Return the text of a file, or say why there is none."""
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        remedy = "save it as UTF-8"
        raise FileFormatError(
            message(f"{what} must be UTF-8 text", got=f"{path} with byte {error.start}", remedy=remedy)
        ) from None
    except OSError as error:
        got = f"{path} ({error.strerror})"
        raise FileFormatError(message(f"{what} must be readable", got=got, remedy="check the path")) from error
