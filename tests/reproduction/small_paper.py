"""The whole reproduction at small sizes, computed once for all tests that look at its tables, figures and page."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from types import ModuleType

import matplotlib as mpl
import pandas as pd
import pytest
from matplotlib.figure import Figure
from threadpoolctl import threadpool_info

from peerpressure.plotting import draw
from peerpressure.report.pictures import settled
from peerpressure.report.store import from_csv, to_csv
from peerpressure.reproduction import _experiments, paper_tables
from peerpressure.reproduction.design import SEED

# Experiments whose sizes are none of the request's, at sizes that have the same rows and columns of every kind.
SMALLER: dict[tuple[ModuleType, str], dict[str, int]] = {
    (_experiments, "convergence"): {"agents": 30},
    (_experiments, "transients"): {"agents": 30, "graphs": 3},
    (_experiments, "biased_consensus"): {"replicates": 200},
    (_experiments, "size_effect"): {"agents_per_size": 300},
    (_experiments, "residuals"): {"agents": 40, "replications": 50},
    (_experiments, "beyond"): {"agents": 12, "replications": 20, "steps": 300},
}


@contextmanager
def smaller() -> Iterator[None]:
    """Let experiments have these sizes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_experiments, "AUDIT_STEPS", 1_000)
        for (module, name), sizes in SMALLER.items():
            patch.setattr(module, name, partial(getattr(module, name), **sizes))
        yield


@dataclass(frozen=True)
class SmallPaper:
    """All tables, the stages that were told, and the threads of linear algebra that were seen meanwhile."""

    tables: dict[str, pd.DataFrame]
    stages: tuple[str, ...]
    threads: frozenset[int]


@cache
def small_paper() -> SmallPaper:
    """Run every experiment."""
    stages: list[str] = []
    threads: set[int] = set()

    def note(stage: str) -> None:
        stages.append(stage)
        threads.update(library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas")

    with smaller():
        tables = paper_tables(seed=SEED, steps=1_000, replications=3, sizes=[20, 50, 80], seeds=1, progress=note)
    return SmallPaper(tables, tuple(stages), frozenset(threads))


@cache
def tables_read() -> dict[str, pd.DataFrame]:
    """Return the tables as figures and the page read them, from CSV."""
    return {name: from_csv(to_csv(table)) for name, table in small_paper().tables.items()}


@cache
def _drawn(name: str) -> tuple[Figure, list[str]]:
    """Return a figure of these tables, and the settings and tables that drawing it has changed."""
    settings, tables = dict(mpl.rcParams), tables_read()
    copies = {key: table.copy() for key, table in tables.items()}
    figure = settled(draw(name, tables))
    changed = [key for key, value in mpl.rcParams.items() if key not in settings or settings[key] != value]
    return figure, changed + [key for key, copy in copies.items() if not tables[key].equals(copy)]


def paper_figure(name: str) -> Figure:
    """Return a figure of these tables, drawn once for all tests that look at it and change nothing."""
    return _drawn(name)[0]


def changed_by(name: str) -> list[str]:
    """Return the names of settings of Matplotlib and of tables that drawing a figure has changed."""
    return _drawn(name)[1]
