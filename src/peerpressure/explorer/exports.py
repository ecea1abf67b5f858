"""Files to save: the scenario, its run as a program, table or netCDF, and pictures of what the page shows."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, final

import numpy as np

from peerpressure.errors import message
from peerpressure.explorer.answers import (
    FAILURES,
    NEGATIVE,
    ONE_WAY,
    bench_answer,
    budget_answer,
    check_one_topic,
    drawn_edges,
    drawn_sizes,
    first_replicate,
    inferred_edges,
    last_observed,
    recorded,
    recovered_answer,
    shown_times,
)
from peerpressure.explorer.layout import Drawing
from peerpressure.explorer.models import ModelCache
from peerpressure.explorer.protocol import FATAL, Limits, RequestError, unpack
from peerpressure.recovery import METHODS
from peerpressure.report.run import opinion_scale
from peerpressure.report.store import to_csv
from peerpressure.scenario import Experiment, Scenario, estimates, summaries
from peerpressure.simulation import simulate
from peerpressure.simulation.recording import Record
from peerpressure.simulation.trajectory import SUMMARIES, Trajectory, contents
from peerpressure.support.progress import check_cancelled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KINDS: Mapping[str, str] = {"svg": "image/svg+xml", "png": "image/png", "pdf": "application/pdf"}
SUBJECTS = ("curves", "network", "observer", "privacy")
# Fewer times show no curve; more than the width of a picture in pixels are useless.
MIN_TIMES, MAX_TIMES = 8, 2_000
MOST_RINGED = 400  # agents with rings around them
COMMON = 3  # multiple of the distance from v that all have in common, to which zoomed colours reach at least
RESOLUTION = 1e-5  # smallest range of colours, as a share of the largest
# Matplotlib's settings are those of the whole process, so only one picture is drawn at a time.
_DRAWING = threading.Lock()


def toml_file(built: Experiment) -> bytes:
    """Return the scenario as a file for ``peerpressure run``."""
    # Opinions that are drawn follow from the seed, and are hidden from nobody.
    held = contents(hidden=built.scenario.drawn_hidden is None)
    return f"# A scenario of the explorer; peerpressure run runs it.\n# It {held}.\n{built.scenario.to_toml()}".encode()


_PROGRAM = '''"""A run from the explorer of Peer Pressure; change what you like."""

import peerpressure as pp
from peerpressure.scenario import parse_scenario

scenario = parse_scenario("""
{toml}""")
model, steps = scenario.system(), scenario.run.steps
print(pp.diagnose(model, steps=steps))
run = pp.simulate(model, steps, scenario.run.replicates, seed=scenario.run.seed)
print(run)  # run.states is (replicates, times, agents)
'''
_OBSERVED = """for method in scenario.observe.methods:
    print(pp.recover(run, model, method, scenario.observation(), scenario.prior(), scenario.observe.target))
"""
_INFERRED = """estimate = scenario.infer_network(pp.simulate(model, steps, seed=scenario.run.seed))
print(estimate)
"""


def python_file(scenario: Scenario) -> bytes:
    """Return a Python program whose ``run`` has the same states as the scenario's run."""
    # Within the quotes of a text of several lines.
    toml = scenario.to_toml().replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    observe = scenario.observe
    observed = "" if observe is None else _OBSERVED
    inferred = "" if observe is None or observe.unknown_network is None else _INFERRED
    return (_PROGRAM.format(toml=toml) + observed + inferred).encode()


def csv_file(built: Experiment, limits: Limits) -> bytes:
    """Return one row for each replicate, time and agent, or for each replicate and time if states are not recorded."""
    remedy = "take fewer replicates, or netCDF, which holds more"
    limits.check("rows", _numbers(built), what="the rows of a table", remedy=remedy, where="run")
    return to_csv(_run(built).to_dataframe())


def netcdf_file(built: Experiment, limits: Limits) -> bytes:
    """Return states and summaries as netCDF."""
    remedy = "take fewer replicates or steps; peerpressure run writes as much as the disk holds"
    limits.check("numbers", _numbers(built), what="the numbers in a file", remedy=remedy, where="run")
    data = _run(built).to_xarray()
    try:
        # SciPy's writer works in memory; other engines need a file on disk.
        return bytes(data.to_netcdf(None, engine="scipy"))
    except ValueError:
        rule, remedy = "netCDF must be able to hold the labels of agents", "take the table instead"
        raise RequestError(422, message(rule, got="some that it cannot", remedy=remedy), "network.labels") from None


def _numbers(built: Experiment) -> int:
    keep, run = built.scenario.run.recording(), built.scenario.run
    # Without states a table has one row per replicate and time.
    agents = 1 if not keep.states else built.model.n if keep.agents is None else len(keep.agents)
    # The start and the last step come in addition to multiples of the stride.
    return run.replicates * (built.steps // keep.every + 2) * agents


def _run(built: Experiment) -> Trajectory:
    run = built.scenario.run
    return simulate(built.system, run.steps, run.replicates, seed=run.seed, record=run.recording())


# Pictures; the functions that draw import Matplotlib, which takes a second and which most users never need.


@final
@dataclass(frozen=True)
class Look:
    """What is shown: the time, the opinions that colour the network and their range, and the logarithmic axes."""

    time: float = 0
    colour: str = "public"
    log_time: bool = False
    log_size: bool = False
    zoom_colours: bool = False


def picture(built: Experiment, what: str, look: Look, kind: str, cache: ModelCache) -> bytes:
    """Return a picture of the curves, the network or the observer's estimates, as a file of this kind."""
    check_one_topic(built, "a picture")
    time = look.time
    # All numbers are computed before the lock is taken: no picture waits for another one's computation.
    match what:
        case "curves":
            draw = _curves(built, look, cache.limits)
        case "observer" if built.scenario.observe is not None and built.scenario.observe.unknown_network is not None:
            draw = _inferred(built, cache.drawing(built.model.network), time, cache.limits)
        case "observer":
            draw = _observer(built, cache.limits)
        case "privacy":
            draw = _privacy(built, cache.limits)
        case _:
            draw = _network(built, cache.drawing(built.model.network), look, cache.limits)
    from peerpressure.plotting import render

    with _drawing():
        return render(draw(), kind)


@contextlib.contextmanager
def _drawing() -> Iterator[None]:
    """Hold the lock for Matplotlib; waiting for it can be cancelled."""
    check_cancelled()
    # A plain acquire could not be cancelled.
    while not _DRAWING.acquire(timeout=0.1):
        check_cancelled()
    try:
        yield
    finally:
        _DRAWING.release()


def _curves(built: Experiment, look: Look, limits: Limits) -> Callable[[], Figure]:
    """Draw range, spread and distance of all replicates, at as many times as a table may have rows for."""
    from peerpressure.plotting import run

    replicates = built.scenario.run.replicates
    remedy = "take fewer replicates"
    limits.check("rows", replicates * MIN_TIMES, what="replicates × times of a picture", remedy=remedy, where="run")
    times = min(MAX_TIMES, limits.rows // replicates)
    every = -(-built.steps // times)
    # An odd stride shows an oscillation between two sides.
    # Distances to the agents' own limits need the states; if these are too many, the picture goes without.
    states = not isinstance(built.model.target, float) and replicates * times * built.model.n <= limits.numbers
    experiment = replace(built, record=Record(states=states, every=every | 1))
    table = summaries(experiment)
    return partial(run.opinions, table, built.model.class_values, log_time=look.log_time, log_size=look.log_size)


def _observer(built: Experiment, limits: Limits) -> Callable[[], Figure]:
    """Draw the estimates of each method that works here, in the first replicate."""
    import pandas as pd

    from peerpressure.plotting import run

    observe = built.scenario.observe
    if observe is None:
        rule, remedy = "a picture of the observer needs one", "choose the observed agents"
        raise RequestError(422, message(rule, got="a scenario without [observe]", remedy=remedy), "observe")
    last_observed(built, limits)
    tables, problem = [], None
    for method in observe.methods:
        # One method at a time: the failure of one must not hide the estimates of the others.
        one = built.with_sections(observe=observe.model_copy(update={"methods": [method]}))
        try:
            tables.append(estimates(first_replicate(one)))
        except FATAL:
            raise
        except FAILURES as error:
            problem = error
    if not tables:
        raise problem or RequestError(422, "no method was asked for", "observe.methods")
    titles = {name: method.title for name, method in METHODS.items()}
    return partial(run.estimates, pd.concat(tables, ignore_index=True), observe.target, titles)


def _privacy(built: Experiment, limits: Limits) -> Callable[[], Figure]:
    """Draw ε and the error of the observer's estimates over time and over noise, in the numbers of the page."""
    from peerpressure.plotting.run import bench

    (budget, over_time), (_, path), (facts, noise) = (
        unpack(answer(built, limits)) for answer in (budget_answer, recovered_answer, bench_answer)
    )
    if "budget_times" not in over_time:
        raise RequestError(422, str(budget["summary"]), "privacy")
    errors = np.sqrt(np.nanmean(path["std"].astype(float) ** 2, axis=1) / budget["runs"])
    return partial(
        bench,
        {"time": (over_time["budget_times"], over_time["budget_epsilon"]), "noise": (noise["noise"], noise["epsilon"])},
        {"time": (path["times"], errors), "noise": (noise["noise"], noise["error"])},
        facts["std"],
    )


def _inferred(built: Experiment, places: Drawing, time: float, limits: Limits) -> Callable[[], Figure]:
    """Draw the edges that are inferred up to a time, and how well they are over time."""
    from peerpressure.plotting.network import inferred_network

    edges = inferred_edges(built, limits)
    if edges.failed is not None:
        raise RequestError(422, edges.failed, "observe.unknown_network")
    # Times in a request may lie outside of the run.
    time = min(max(time, 0), built.steps)
    k = edges.at(time)
    # Before the first time nothing is inferred.
    inferred = edges.weights[k] > 0 if k >= 0 else np.zeros(len(edges.pairs), dtype=bool)
    curve = (edges.times, edges.average_precision)
    return partial(
        inferred_network, places, edges.pairs, edges.true > 0, inferred, curve, min(max(time, 0), built.steps)
    )


def _network(built: Experiment, places: Drawing, look: Look, limits: Limits) -> Callable[[], Figure]:
    """Draw the network as the page does: public opinions of the first replicate within rings of the hidden ones."""
    from peerpressure.plotting.network import coloured_network

    model, pace = built.model, built.system.step
    # Times in a request are continuous and may lie beyond the end.
    step = min(max(round(look.time / pace), 0), built.steps)
    final = simulate(built.system, step, seed=built.scenario.run.seed, record="final").final
    public, hidden = final.public[0], model.x0 if final.hidden is None else final.hidden[0]
    # The colours of all times.
    (v, half), name = opinion_scale(model)
    # The same edges as on the page.
    ends, edge_flags = drawn_edges(model.network)
    by_hidden = look.colour == "hidden"
    zoomed = look.zoom_colours and (not by_hidden or final.hidden is not None)
    present = _reach(built, "hidden" if by_hidden else "public", step, (v, half), limits) if zoomed else half
    return partial(
        coloured_network,
        places,
        ends,
        drawn_sizes(model.network),
        hidden if by_hidden else public,
        # Rings of hidden opinions would need other colours than a part of the scale.
        None if by_hidden or zoomed or model.n > MOST_RINGED else hidden,
        (v, present),
        f"{_shown(by_hidden=by_hidden, zoomed=zoomed)}, $t$ = {step * pace:g}",
        one_way=edge_flags & ONE_WAY > 0,
        negative=edge_flags & NEGATIVE > 0,
        zealots=model.network.degrees == 0,
        centre_name=name,
    )


def _shown(*, by_hidden: bool, zoomed: bool) -> str:
    """Return what the colours of a picture mean."""
    if by_hidden:
        return "hidden opinion" + ", zoomed in" * zoomed
    return "public opinion, zoomed in" if zoomed else "public opinion, in a ring of the hidden one"


def _reach(built: Experiment, opinions: str, step: int, scale: tuple[float, float], limits: Limits) -> float:
    """Return how far opinions of the first replicate are from v at most, from a step on, as on the page."""
    (v, widest), thinning = scale, shown_times(built, limits)
    arrays = recorded(built, [0], thinning, ["states", "hidden"] if opinions == "hidden" else SUMMARIES)
    values = arrays["hidden"] if opinions == "hidden" else np.stack([arrays["minimum"], arrays["maximum"]], axis=-1)
    later = values[0, np.searchsorted(thinning.times, step) :] - v
    # What agents agree on, all on one side of v, is no extreme opinion.
    common = np.maximum(later.min(axis=-1), -later.max(axis=-1))
    later = np.maximum(np.abs(later).max(axis=-1), COMMON * common)
    return float(np.clip(np.nan_to_num(later, nan=widest).max(initial=0.0), RESOLUTION * max(widest, abs(v)), widest))
