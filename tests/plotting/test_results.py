"""Main results draw themselves: ``result.plot(ax=axes)`` returns the axes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.collections import PathCollection

import peerpressure as pp
from peerpressure import networks, privacy, recovery
from peerpressure.errors import InvalidInputError, NetworkError
from peerpressure.plotting.style import of_opinions
from tests.support.test_read_only import NOISY, run

FAILING = networks.failing_edges(networks.cycle(5), 0.2, 9, seed=1)
RESULTS: dict[str, Callable[[], Any]] = {
    "run": run,
    "summaries": lambda: pp.simulate(NOISY, 20, seed=1, record="summaries"),
    "verdict": lambda: pp.diagnose(NOISY),
    "forecast": lambda: pp.diagnose(NOISY, 20, advise=False),
    "oscillation": lambda: pp.diagnose(pp.Model(networks.k2(), [0, 1], pressure="2^t")),
    "estimate": lambda: pp.recover(run(), NOISY),
    "fit": lambda: pp.fit(run(), pp.Model(networks.cycle(5), noise=1.0), ("std",)),
    "network": lambda: networks.cycle(5),
    "directed network": lambda: networks.followers(30, 2, seed=1),
    "large network": lambda: networks.barabasi_albert(300, 2, seed=1),
    "temporal network": lambda: FAILING,
    "inferred network": lambda: recovery.infer_network(pp.simulate(NOISY, 300, seed=1), NOISY.pressure),
    "budget": lambda: privacy.budget(NOISY, 20),
    "exposure": lambda: privacy.exposure(NOISY, 20, observed=[0]),
    "moments": lambda: pp.moments(NOISY, 20),
}


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    pyplot.close("all")


@pytest.mark.parametrize("name", RESULTS)
def test_results_draw_into_given_axes_and_into_new_ones_and_name_what_is_no_axes(name: str) -> None:
    result, (figure, (left, right)) = RESULTS[name](), pyplot.subplots(1, 2)
    assert result.plot(ax=left) is left
    assert not right.has_data()
    assert left.has_data()
    own = result.plot()
    assert own.figure is not figure
    own.figure.canvas.draw()
    with pytest.raises(InvalidInputError, match="ax must be axes of Matplotlib, got str"):
        result.plot(ax="left")


def test_a_run_has_one_line_for_each_agent_and_v() -> None:
    own = run()
    axes = own.plot(replicate=1)
    [lines] = axes.collections
    assert own.states is not None
    drawn = np.array([np.asarray(line.vertices)[:, 1] for line in lines.get_paths()])
    np.testing.assert_array_equal(drawn, own.states[1].T)
    assert np.asarray(axes.lines[0].get_ydata())[0] == NOISY.consensus_value
    with pytest.raises(InvalidInputError, match="position of a replicate must be a whole number from 0"):
        own.plot(replicate=own.replicates.size)
    with pytest.raises(InvalidInputError, match="opinions over time"):
        pp.simulate(NOISY, 5, record="final").plot()


def test_an_estimate_shows_its_intervals() -> None:
    estimate = pp.recover(run(), NOISY)
    axes = estimate.plot(level=0.5)
    low, high = (ends[0] for ends in estimate.interval(0.5))
    order = np.argsort(estimate.value[0])
    bars = np.array([np.asarray(path.vertices)[:, 1] for path in axes.collections[0].get_paths()])
    np.testing.assert_allclose(bars, np.stack([low, high], axis=1)[order])
    with pytest.raises(InvalidInputError, match="level"):
        estimate.plot(level=2.0)


def test_an_estimate_stands_against_what_is_hidden_or_in_the_order_of_the_agents() -> None:
    estimate = pp.recover(run(), NOISY)
    dots = np.asarray(estimate.plot().collections[1].get_offsets())
    np.testing.assert_allclose(dots, np.stack([NOISY.x0, estimate.value[0]], axis=1))


def test_an_axis_of_time_is_logarithmic_where_all_happens_early() -> None:
    early = pp.simulate(pp.Model(networks.k2(), [0, 1], pressure=5, start=[0, 10]), 400)
    late = pp.simulate(pp.Model(networks.k2(), [0, 1], pressure="0.01*t"), 400)
    assert [one.plot().get_xscale() for one in (early, late)] == ["symlog", "linear"]
    # A run and its moments look alike.
    assert [pp.moments(one.model, 400).plot().get_xscale() for one in (early, late)] == ["symlog", "linear"]


def test_agents_who_agree_lie_on_a_level_line_and_others_do_not() -> None:
    hidden = np.linspace(0, 1, 5)
    shares = []
    for pressure in ("t", 0.5):
        model = pp.Model(networks.cycle(5), hidden, pressure=pressure)
        axes = pp.diagnose(model, 500, advise=False).plot()
        low, high = axes.get_ylim()
        dots = [one for one in axes.collections if isinstance(one, PathCollection)]
        drawn = np.concatenate([np.asarray(one.get_offsets())[:, 1] for one in dots])
        shares.append(np.ptp(drawn) / (high - low))
        assert high - low >= np.ptp(hidden)
    assert shares[0] < 0.05
    assert shares[1] > 0.3


def test_small_differences_between_agents_look_small() -> None:
    for result in (privacy.budget(NOISY, 20), privacy.exposure(NOISY, 20, observed=[0])):
        axes = result.plot()
        assert axes.get_ylim()[0] == 0
        # A dot at the edge would be cut in half.
        assert max(np.asarray(one.get_offsets())[:, 1].max() for one in axes.collections) < 0.95 * axes.get_ylim()[1]


def test_what_is_forecast_and_what_comes_of_it_stand_side_by_side() -> None:
    axes = pp.diagnose(pp.Model(networks.cycle(5), np.linspace(0, 1, 5), pressure=0.5), 500, advise=False).plot()
    dots, crosses = (np.asarray(one.get_offsets())[:, 0] for one in axes.collections if isinstance(one, PathCollection))
    assert (crosses - dots).tolist() == pytest.approx([0.3] * 5)


def test_moments_have_the_colours_of_opinions_where_they_begin() -> None:
    axes = pp.moments(pp.Model(networks.path(3), [1.0, 0.5, 0.0], pressure="t"), 5).plot()
    colours = np.array([line.get_color() for line in axes.lines])
    np.testing.assert_allclose(colours, of_opinions()([1.0, 0.5, 0.0]))


def test_a_network_is_coloured_by_values_in_order_or_by_label() -> None:
    network = pp.Network.from_edges([("ann", "bob"), ("bob", "cat")])
    given: list[Any] = [[1.0, 2.0, 3.0], {"cat": 3.0, "ann": 1.0, "bob": 2.0}]
    shades = [np.asarray(network.plot(values=values).collections[-1].get_array()).tolist() for values in given]
    assert shades == [[1.0, 2.0, 3.0]] * 2
    with pytest.raises(NetworkError, match="one value for each agent"):
        network.plot(values=[1.0])


def test_a_temporal_network_shows_the_edges_of_each_step() -> None:
    drawn = np.asarray(FAILING.plot().lines[0].get_ydata())
    assert drawn.tolist() == [FAILING.at(t).nnz // 2 for t in range(1, FAILING.span + 1)]


def test_a_budget_shows_the_epsilon_of_each_agent() -> None:
    account = privacy.budget(NOISY, 20)
    drawn = np.asarray(account.plot().collections[0].get_offsets())[:, 1]
    np.testing.assert_allclose(drawn, np.sort(account.table["epsilon"]))


def test_a_drawing_of_a_network_has_no_axes_of_numbers() -> None:
    assert not networks.cycle(5).plot(ax=pyplot.subplots()[1]).axison
