"""Joint connectivity against the union of matrices, window by window, and in closed form."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from peerpressure.networks import (
    TemporalNetwork,
    _joint_connectivity,
    activity_driven,
    cycle,
    failing_edges,
    joint_connectivity,
    limit_components,
    path,
    recorded_contacts,
    shortest_window,
)
from peerpressure.networks.classes import components
from tests.networks.histories import History, histories


def pieces(network: TemporalNetwork, first: int, last: int) -> int:
    """The components of the union over some steps, by adding up their matrices."""
    return components(sum((network.at(t) for t in range(first, last + 1)), start=network.at(first)).tocsr())[0]


@pytest.fixture(params=["plain", "compiled"])
def twin(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sweep by plain Python, or by its compiled twin."""
    monkeypatch.setattr(_joint_connectivity, "INTERPRETED", 10**9 if request.param == "plain" else 0)


@pytest.mark.usefixtures("twin")
def test_joint_connectivity_matches_the_dense_union() -> None:
    @settings(max_examples=30, deadline=None)
    @given(histories(agents=5, steps=8, events=18), st.integers(1, 4), st.none() | st.integers(4, 25))
    def check(history: History, window: int, until: int | None) -> None:
        network = history.network()
        windows = joint_connectivity(network, window, until)
        count = until // window if until is not None else -(-network.span // window)
        want = [pieces(network, k * window + 1, (k + 1) * window) for k in range(count)]
        assert windows.components.tolist() == want
        assert windows.connected.tolist() == [number == 1 for number in want]
        assert windows.always == all(windows.connected)
        broken = {t for first, last in windows.broken for t in range(first, last + 1)}
        assert broken == {t for t in range(1, count * window + 1) if want[(t - 1) // window] > 1}
        assert all(last + 1 < first for (_, last), (first, _) in zip(windows.broken, windows.broken[1:], strict=False))

    check()


@pytest.mark.usefixtures("twin")
def test_shortest_window_matches_brute_force() -> None:
    @settings(max_examples=30, deadline=None)
    @given(histories(agents=4, steps=6, events=18), st.none() | st.integers(1, 20))
    def check(history: History, until: int | None) -> None:
        network = history.network()
        # What holds forever shows within a few spans, and no window needs to be longer than two.
        horizon = until or 5 * network.span + 10
        longest = until or 2 * network.span
        want = next(
            (
                w
                for w in range(1, longest + 1)
                if all(pieces(network, t, t + w - 1) == 1 for t in range(1, horizon - w + 2))
            ),
            None,
        )
        assert shortest_window(network, until) == want

    check()


@settings(max_examples=30, deadline=None)
@given(histories())
def test_limit_components_match_the_recurring_edges(history: History) -> None:
    network = history.network()
    late = 10 * network.span
    count, member = limit_components(network)
    assert count == pieces(network, late, late + network.span) == member.max() + 1
    union = np.sum([history.dense(t) for t in range(late, late + network.span + 1)], axis=0)
    i, j = np.nonzero(union)
    assert np.array_equal(member[i], member[j])


@pytest.mark.usefixtures("twin")
@pytest.mark.parametrize("n", [2, 3, 7, 40])
def test_shortest_window_of_a_ring_with_one_edge_at_a_time(n: int) -> None:
    """With one edge of a path at each step in turn, n − 1 steps suffice; of a cycle, n − 1 of its n edges do."""
    steps = np.arange(n - 1)
    rounds = TemporalNetwork.from_contacts((steps, steps, steps + 1), repeat=True)
    assert shortest_window(rounds) == n - 1
    assert joint_connectivity(rounds, n - 1, until=10 * n).always
    if n > 2:
        steps = np.arange(n)
        rounds = TemporalNetwork.from_contacts((steps, steps, (steps + 1) % n), repeat=True)
        assert shortest_window(rounds) == n - 1


@pytest.mark.parametrize("gap", [1, 2, 10])
def test_a_rare_edge_sets_the_shortest_window(gap: int) -> None:
    """An edge that is there one step in every so many is in every window of that length, and in no shorter one."""
    network = TemporalNetwork.from_events([(1, 0, 1), (1, 1, 2), *([(2, 1, 2, 0)] if gap > 1 else [])], period=gap)
    assert shortest_window(network) == gap


def test_disconnected_limit_has_no_shortest_window() -> None:
    network = TemporalNetwork.from_events([(1, 0, 1), (1, 1, 2), (6, 0, 1, 0)])
    assert shortest_window(network) is None
    assert shortest_window(network, until=5) == 1
    assert shortest_window(network, until=9) == 5
    assert shortest_window(TemporalNetwork.constant(path(3))) == 1
    assert repr(joint_connectivity(network, 5, until=20)) == (
        "JointConnectivity(1 of 4 windows of 5 connected, up to 2 components, broken 6–20)"
    )
    assert repr(joint_connectivity(network, 5, until=5)) == "JointConnectivity(1 of 1 windows of 5 connected)"


def test_joint_connectivity_of_large_networks() -> None:
    for network in (
        activity_driven(600, 240, seed=1, contacts=2, floor=0.02),
        failing_edges(cycle(300), 0.02, 200, seed=2, repeat=True),
    ):
        windows = joint_connectivity(network, 40)
        assert windows.components.size == -(-network.span // 40)
        for k in (0, 2, 4):
            assert windows.components[k] == pieces(network, 40 * k + 1, 40 * (k + 1))
        # The bound is met somewhere, and the window below it is broken somewhere.
        window = shortest_window(network, until=200)
        assert window is not None
        assert all(pieces(network, t, t + window - 1) == 1 for t in range(1, 202 - window, 5))
        assert any(pieces(network, t, t + window - 2) > 1 for t in range(1, 203 - window))


def test_joint_connectivity_of_the_hospital_contacts() -> None:
    ward = recorded_contacts("hospital", 3600, repeat=True)
    window = shortest_window(ward)
    assert window is not None
    assert 24 < window <= ward.span
