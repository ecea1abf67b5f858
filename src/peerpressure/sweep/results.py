"""The result of a unit as one file: written whole or not at all, checked against damage when read.

``units/ab/abcd….json`` holds ``{"checksum":…,"unit":{…}}``, where the checksum is that of the text of the unit.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from peerpressure.errors import complain
from peerpressure.files import replacing

from .errors import DamagedSweepError
from .plan import Fingerprint, Unit, canonical, hash_text, unit_key

_FOLDER = "units"
_FILE = re.compile(r"([0-9a-f]{32})\.json")
_LEFTOVER = re.compile(r"\.[0-9a-f]{32}\.json\..*\.part")
_TEXT = re.compile(r'\{"checksum":"([0-9a-f]{32})","unit":(.*)\}', re.DOTALL)


class Result(NamedTuple):
    """What a unit gave, with what it was."""

    fingerprint: str
    key: str
    parameters: dict[str, Any]
    replication: int
    rows: list[dict[str, Any]]


def result_path(folder: Path, key: str) -> Path:
    """Return where the result of a unit is kept; 256 folders share them, so that none grows too large to list."""
    return folder / _FOLDER / key[:2] / f"{key}.json"


def write_result(folder: Path, fingerprint: str, unit: Unit, rows: str) -> None:
    """Keep the rows, given as JSON, of a unit."""
    body = (
        f'{{"fingerprint":"{fingerprint}","key":"{unit.key}","parameters":{unit.parameters},'
        f'"replication":{unit.replication},"rows":{rows}}}'
    )
    path = result_path(folder, unit.key)
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        file.write(f'{{"checksum":"{hash_text(body)}","unit":{body}}}'.encode())


def read_result(folder: Path, key: str, fingerprint: Fingerprint) -> Result:
    """Read the result of a unit; a damaged file is one clear error."""
    path = result_path(folder, key)
    try:
        found = _TEXT.fullmatch(path.read_text(encoding="utf-8"))
        if found is None or hash_text(found[2]) != found[1]:
            raise ValueError("other bytes than were written")
        result = Result(**json.loads(found[2]))
        if unit_key(fingerprint.task, canonical(result.parameters), result.replication) != key:
            raise ValueError("the result of another unit")
    except (OSError, ValueError, TypeError) as error:
        rule = "a result file must be as it was written"
        remedy = "delete it and run the sweep again, which computes this unit anew"
        raise DamagedSweepError(complain(rule, got=f"{path} ({error})", remedy=remedy)) from error
    return result


def kept_keys(folder: Path) -> set[str]:
    """Return the keys of all units that have a result file."""
    return {found[1] for entry in _entries(folder) if (found := _FILE.fullmatch(entry.name))}


def remove_leftovers(folder: Path) -> None:
    """Delete what killed writers left half-written."""
    for entry in _entries(folder):
        if _LEFTOVER.fullmatch(entry.name):
            Path(entry.path).unlink(missing_ok=True)


def remove_results(folder: Path) -> None:
    """Delete all result files and nothing else."""
    remove_leftovers(folder)
    for key in kept_keys(folder):
        result_path(folder, key).unlink(missing_ok=True)


def _entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    for shard in sorted((folder / _FOLDER).glob("[0-9a-f][0-9a-f]")):
        with os.scandir(shard) as entries:
            yield from entries
