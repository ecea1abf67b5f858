"""The folder of one run: results, figures and the page, all made before any of it is written."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from peerpressure.errors import FileFormatError, complain
from peerpressure.measures import Experiment, results
from peerpressure.report.store import publish, to_csv

MARKS = ("run.nc", "verdict.json")
TABLES = ("agents", "summaries", "network", "estimates", "budget", "frontier", "states")
FIGURES = ("opinions", "held", "network", "estimates", "exposure", "exposure_map", "budget", "frontier")
OWN = frozenset(
    [*(f"{name}.csv" for name in TABLES), *(f"{name}.{kind}" for name in FIGURES for kind in ("pdf", "png"))]
) | {"report.html"}


def run_files(experiment: Experiment, title: str, tell: Callable[[str], None] = lambda stage: None) -> dict[str, bytes]:
    """Return the files of a run by name, the page last."""
    asked = experiment.scenario.output
    tables = results(experiment)
    files = {"scenario.toml": experiment.scenario.to_toml().encode(), "verdict.json": _verdict(experiment)}
    files |= {f"{name}.csv": to_csv(table) for name, table in tables.items()}
    files["run.nc"] = bytes(experiment.run.to_xarray().to_netcdf(None, engine="scipy"))
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


def write_run(files: dict[str, bytes], out: Path) -> list[Path]:
    """Write the files: a new folder appears whole, and in one that is there each file is replaced whole."""
    if out.exists():
        # What an earlier run left and this one does not have would be taken for a part of it.
        for name in OWN - files.keys():
            (out / name).unlink(missing_ok=True)
        return publish(out, files)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        part = Path(tempfile.mkdtemp(dir=out.parent, prefix=f".{out.name}.", suffix=".part"))
    except OSError as error:
        rule, remedy = "results must have a place to go", "name a folder that may be written to"
        raise FileFormatError(complain(rule, got=f"{out} ({error.strerror})", remedy=remedy)) from error
    try:
        publish(part, files)
        # A temporary folder is private, and results are as open as any other.
        part.chmod(0o777 & ~_umask())
        part.rename(out)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
    return [out / name for name in files]


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
