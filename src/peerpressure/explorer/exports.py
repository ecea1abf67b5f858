"""A run as a table or as netCDF, just as the command line would write it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from numpy.typing import NDArray

from peerpressure.errors import message
from peerpressure.explorer.answers import MOST_EDGES
from peerpressure.explorer.jobs import CancellationToken
from peerpressure.explorer.layout import Drawing
from peerpressure.explorer.limits import Limits
from peerpressure.explorer.models import ModelCache, Prepared
from peerpressure.explorer.observer import FAILURES, experiment_of, first_replicate, last_observed
from peerpressure.explorer.requests import ENDS, RequestError
from peerpressure.measures import estimates, summaries
from peerpressure.networks import Network
from peerpressure.plotting import run
from peerpressure.plotting.style import GREY, ONE_COLUMN, OPINIONS, render, styled
from peerpressure.report.store import to_csv
from peerpressure.sde import SDE
from peerpressure.simulation import Record, simulate
from peerpressure.trajectory import Trajectory


def toml_file(asked: Prepared) -> bytes:
    """Return the scenario as a file that ``peerpressure run`` takes."""
    return f"# A scenario of the explorer; peerpressure run runs it.\n{asked.scenario.to_toml()}".encode()


def csv_file(asked: Prepared, limits: Limits) -> bytes:
    """Return one row for each replicate, time and agent, or for each replicate and time if states are not on record."""
    remedy = "take fewer replicates, or netCDF, which holds more"
    limits.check("rows", _numbers(asked), what="the rows of a table", remedy=remedy, where="run")
    return to_csv(_run(asked).to_dataframe())


def netcdf_file(asked: Prepared, limits: Limits) -> bytes:
    """Return states and summaries as netCDF."""
    remedy = "take fewer replicates or steps; peerpressure run writes as much as the disk holds"
    limits.check("numbers", _numbers(asked), what="the numbers in a file", remedy=remedy, where="run")
    data = _run(asked).to_xarray()
    try:
        return bytes(data.to_netcdf(None, engine="scipy"))
    except ValueError:
        rule, remedy = "netCDF must be able to hold the labels of agents", "take the table instead"
        raise RequestError(422, message(rule, got="some that it cannot", remedy=remedy), "network.labels") from None


def _numbers(asked: Prepared) -> int:
    keep, run = asked.scenario.run.what_to_keep(), asked.scenario.run
    agents = 1 if not keep.states else asked.model.n if keep.agents is None else len(keep.agents)
    return run.replicates * (asked.steps // keep.every + 2) * agents


def _run(asked: Prepared) -> Trajectory:
    run = asked.scenario.run
    found = simulate(asked.system, run.steps, run.replicates, seed=run.seed, record=run.what_to_keep())
    asked.token.check()
    return found


# What the page shows as pictures for a paper: drawn by the library's figures from the numbers of the same run.

KINDS: Mapping[str, str] = {"svg": "image/svg+xml", "png": "image/png"}
SUBJECTS = ("curves", "network", "observer")
FEWEST_TIMES, MOST_TIMES = 8, 2_000
LEAST_SIDE = 0.25  # of a picture's height to its width, where all agents stand in a line
RASTER = 3_000  # dots and lines from which a vector picture carries them as an image
# Matplotlib's settings are one for the whole process.
_DRAWING = threading.Lock()


def picture(asked: Prepared, what: str, time: float, kind: str, cache: ModelCache) -> bytes:
    """Return the picture of curves, network or observer, as a file of this kind."""
    # Numbers come before the lock: nobody who draws waits for somebody else's computation.
    match what:
        case "curves":
            draw = _curves(asked, cache.limits)
        case "observer":
            draw = _observer(asked, cache.limits)
        case _:
            draw = _network(asked, cache.drawing(asked.model.network), time)
    with _drawing(asked.token):
        return render(draw(), kind)


@contextlib.contextmanager
def _drawing(token: CancellationToken) -> Iterator[None]:
    """Wait for Matplotlib, as long as the picture is wanted."""
    token.check()
    while not _DRAWING.acquire(timeout=0.1):
        token.check()
    try:
        yield
    finally:
        _DRAWING.release()


def _curves(asked: Prepared, limits: Limits) -> Callable[[], Figure]:
    """Draw range, spread and distance of all replicates, at as many times as a table may have rows for."""
    replicates = asked.scenario.run.replicates
    remedy = "take fewer replicates"
    limits.check("rows", replicates * FEWEST_TIMES, what="replicates × times of a picture", remedy=remedy, where="run")
    every = -(-asked.steps // min(MOST_TIMES, limits.rows // replicates))
    # An odd stride, so that a swing between two sides is seen.
    experiment = experiment_of(asked, Record(states=False, every=every | 1))
    return partial(run.opinions, summaries(experiment), asked.model.consensus_value)


def _observer(asked: Prepared, limits: Limits) -> Callable[[], Figure]:
    """Draw the estimates of each method that can be used here, in the first replicate."""
    observe = asked.scenario.observe
    if observe is None:
        rule, remedy = "a picture of the observer needs one", "choose who is seen"
        raise RequestError(422, message(rule, got="a scenario without [observe]", remedy=remedy), "observe")
    last_observed(asked, limits)
    tables, problem = [], None
    for method in observe.methods:
        alone = asked.scenario.model_copy(update={"observe": observe.model_copy(update={"methods": [method]})})
        try:
            tables.append(estimates(first_replicate(replace(asked, scenario=alone))))
        except ENDS:
            raise
        except FAILURES as error:
            problem = error
    if not tables:
        raise problem or RequestError(422, "no method was asked for", "observe.methods")
    return partial(run.estimates, pd.concat(tables, ignore_index=True))


def _network(asked: Prepared, places: Drawing, time: float) -> Callable[[], Figure]:
    """Draw the network with agents coloured by what they show at a time, in the first replicate."""
    pace = asked.system.step if isinstance(asked.system, SDE) else 1
    step = min(max(round(time / pace), 0), asked.steps)
    shown = simulate(asked.system, step, seed=asked.scenario.run.seed, record="final").final.public[0]
    # One scale for all times: from the lowest to the highest opinion that is held or shown at the start.
    held = np.concatenate([asked.model.start_state, asked.model.hidden])
    return partial(
        network_figure,
        asked.model.network,
        places,
        shown,
        (float(held.min()), float(held.max())),
        f"public opinion $y_{{{step * pace:g}}}$",
    )


@styled
def network_figure(
    network: Network, places: Drawing, values: NDArray[Any], limits: tuple[float, float], words: str
) -> Figure:
    """Draw agents as dots, sized by degree and coloured by a value, with a scale of these limits below."""
    sources, targets, _ = network.edges()
    ends = np.stack([sources, targets], axis=1)
    ends = ends[:: -(-len(ends) // MOST_EDGES)]
    frame = np.maximum(np.abs(places).max(axis=0), LEAST_SIDE) + 0.06
    figure = Figure(figsize=(ONE_COLUMN, 0.55 + ONE_COLUMN * frame[1] / frame[0]))
    axes = figure.add_subplot()
    many = network.n + len(ends) > RASTER
    # The more lines there are, the lighter each, so that agents are seen before them.
    lightness = min(1.0, (300 / len(ends)) ** 0.5)
    lines = LineCollection(
        list(places[ends]), colors=GREY, linewidths=0.15 + 0.35 * lightness, alpha=0.05 + 0.65 * lightness, zorder=1
    )
    lines.set_rasterized(many)
    axes.add_collection(lines)
    dots = axes.scatter(
        places[:, 0],
        places[:, 1],
        s=np.clip(network.degrees / network.degrees.mean(), 0.5, 8.0) * min(30.0, 1.0 + 2_000 / network.n),
        c=np.clip(values, *limits),
        cmap=OPINIONS,
        vmin=limits[0],
        vmax=limits[1],
        edgecolors="white",
        linewidths=min(0.4, 40 / network.n),
        zorder=2,
        rasterized=many,
    )
    axes.set_aspect("equal")
    axes.set_xlim(-frame[0], frame[0])
    axes.set_ylim(-frame[1], frame[1])
    axes.axis("off")
    bar = figure.colorbar(dots, ax=axes, location="bottom", shrink=0.5, aspect=28, pad=0.01)
    bar.set_label(words, labelpad=1)
    bar.outline.set_visible(False)
    return figure
