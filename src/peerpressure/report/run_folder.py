"""The folder of one run: results, figures and the page, all made before any of it is written."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from peerpressure.errors import FileFormatError, TooLargeError, complain
from peerpressure.files import umask
from peerpressure.measures import Experiment, results
from peerpressure.measures.results import states
from peerpressure.report.store import PART, Content, publish, to_csv, write_csv
from peerpressure.storage import write_netcdf

MARKS = ("run.nc", "verdict.json")
TABLES = ("agents", "summaries", "network", "estimates", "budget", "frontier", "states")
FIGURES = ("opinions", "held", "network", "estimates", "exposure", "exposure_map", "budget", "frontier")
OWN = frozenset(
    [*(f"{name}.csv" for name in TABLES), *(f"{name}.{kind}" for name in FIGURES for kind in ("pdf", "png"))]
) | {"report.html"}


def run_files(
    experiment: Experiment, title: str, tell: Callable[[str], None] = lambda stage: None
) -> dict[str, Content]:
    """Return the files of a run by name; what grows with the length of the run is made when it is written."""
    asked = experiment.scenario.output
    tables = results(experiment)
    files: dict[str, Content] = {
        "scenario.toml": experiment.scenario.to_toml().encode(),
        "verdict.json": _verdict(experiment),
    }
    files |= {f"{name}.csv": to_csv(table) for name, table in tables.items()}
    files["run.nc"] = lambda file: write_netcdf(experiment.run, file)
    if experiment.lists_states:
        files["states.csv"] = lambda file: write_csv(states(experiment.run, PART), file)
    if asked.figures or asked.report:
        from peerpressure.figures.style import render
        from peerpressure.report.run_page import figures, run_page, settled

        tell("drawing")
        drawn = {name: settled(figure) for name, figure in figures(experiment, tables).items()}
        if asked.figures:
            files |= {
                f"{name}.{kind}": render(figure, kind) for name, figure in drawn.items() for kind in ("pdf", "png")
            }
        if asked.report:
            files["report.html"] = run_page(experiment, tables, drawn, title).encode()
    return files


def _verdict(experiment: Experiment) -> bytes:
    return (json.dumps(experiment.verdict.to_dict(), indent=2, ensure_ascii=False) + "\n").encode()


def may_be_written(out: Path) -> bool:
    """Say whether a folder is new, empty or the results of a run, so that nobody's own files are at risk."""
    return not out.exists() or not any(out.iterdir()) or all((out / name).is_file() for name in MARKS)


def refuse_without_room(out: Path, needed: int) -> None:
    """Refuse a place that takes no new folder, or has less room than the results need, before any work is done."""
    there = next(place for place in (out, *out.absolute().parents) if place.exists())
    try:
        # Whether one may write is best found out by doing so.
        with tempfile.TemporaryDirectory(dir=there.parent if there == out else there):
            free = shutil.disk_usage(there).free
    except OSError as error:
        raise _no_place(out, error) from error
    if needed > free:
        rule = f"results must fit on the disk, of which {amount(free)} is free in {there}"
        remedy = "free some, name another folder with --out, or record less, for instance record = 'summaries'"
        raise TooLargeError(complain(rule, got=f"{amount(needed)} to write", remedy=remedy))


def amount(size: float) -> str:
    """Return a number of bytes in words.

    >>> amount(2_722_720_000)
    '2.72 GB'
    """
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} GB"


def write_run(files: Mapping[str, Content], out: Path) -> list[Path]:
    """Write the files, all or none: a folder of results appears, or changes, once everything is on the disk.

    Where that fails, the results go to a temporary folder, which the error names.
    """
    try:
        return _write_all(files, out)
    except OSError as error:
        kept = _rescued(files, out.name)
        remedy = (
            f"all of it is kept in {kept}, move it from there"
            if kept
            else "nothing could be kept; make room or name another folder with --out, and run it again: its seed gives "
            "the same numbers"
        )
        rule = "the results must be written"
        raise FileFormatError(complain(rule, got=f"{error.strerror or error} for {out}", remedy=remedy)) from error


def _write_all(files: Mapping[str, Content], out: Path) -> list[Path]:
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        part = Path(tempfile.mkdtemp(dir=out.parent, prefix=f".{out.name}.", suffix=".part"))
    except OSError as error:
        raise _no_place(out, error) from error
    try:
        publish(part, files)
        if out.exists():
            for name in files:
                (part / name).replace(out / name)
            # What an earlier run left and this one does not have would be taken for a part of it.
            for name in OWN - files.keys():
                (out / name).unlink(missing_ok=True)
            part.rmdir()
        else:
            # A temporary folder is private, and results are as open as any other.
            part.chmod(0o777 & ~umask())
            part.rename(out)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
    return [out / name for name in files]


def _rescued(files: Mapping[str, Content], name: str) -> Path | None:
    """Write the files to a temporary folder; None if there is no room there either."""
    place = None
    try:
        place = Path(tempfile.mkdtemp(prefix="peerpressure-"))
        publish(place / name, files)
    except OSError:
        if place is not None:
            shutil.rmtree(place, ignore_errors=True)
        return None
    return place / name


def _no_place(out: Path, error: OSError) -> FileFormatError:
    rule, remedy = "results must have a place to go", "name a folder that may be written to"
    return FileFormatError(complain(rule, got=f"{out} ({error.strerror})", remedy=remedy))
