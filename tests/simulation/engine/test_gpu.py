"""The accelerator against the processor: the same noise, the same states, to rounding."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import peerpressure as pp
from peerpressure.simulation.engine import gpu
from tests.builders import KINDS, NOISES, extended_model, random_model
from tests.general_networks import MATRICES, model as general_model


def _has_device() -> bool:
    try:
        gpu._cupy()
    except pp.PeerPressureError:
        return False
    return True


needs_device = pytest.mark.skipif(not _has_device(), reason="no NVIDIA device with CuPy on this machine")
OWN = [name for name, noise in NOISES.items() if not isinstance(noise, pp.noise.Custom)]


def kept(adaptation: float | None) -> pp.Model:
    pairs = pp.networks.gossip(pp.networks.cycle(12), 300, seed=3)
    assert pairs.isolated == "keep"
    return pp.Model(pairs, np.linspace(0, 1, 12), noise=NOISES["gaussian"], adaptation=adaptation)


def hubs(temporal: bool) -> pp.Model:
    """Rows of many pieces, that change, beside rows of a few neighbours and of none; n is no multiple of a group."""
    n, rng = 1003, np.random.default_rng(4)
    i, j, _ = pp.networks.star(n - 3).edges()
    network: Any = pp.Network.from_edges((i, j), rng.uniform(0.2, 3.0, i.size), n=n)
    if temporal:
        network = pp.networks.failing_edges(pp.networks.barabasi_albert(n, 40, seed=1), 0.2, 12, seed=2, repeat=True)
    return pp.Model(network, rng.normal(size=n), rng.uniform(0.3, 2.0, n), noise=NOISES["gaussian"])


RESUMED: dict[str, Callable[[], pp.Model]] = {
    **{
        f"{name}, {weighted=}": partial(random_model, 300, weighted=weighted, noise=NOISES[name])
        for name in OWN
        for weighted in (False, True)
    },
    **{
        f"{kind}, {name}": partial(extended_model, kind, noise=NOISES[name])
        for kind in KINDS
        for name in ("gaussian", "ar1", "frozen")
    },
    **{f"hubs, {temporal=}": partial(hubs, temporal) for temporal in (False, True)},
}
UPDATING = {
    "share": 0.3,
    "each": np.linspace(0.1, 1.0, 300),
    "single": "single",
    "table": np.eye(300)[np.arange(40) % 7] > 0,
}
SYSTEMS: dict[str, Callable[[], pp.Model | pp.SDE]] = {
    **RESUMED,
    **{kind: partial(general_model, kind, noise=NOISES["gaussian"]) for kind in MATRICES},
    **{f"kept, {adaptation=}": partial(kept, adaptation) for adaptation in (None, 0.1)},
    **{
        f"{who} updates, {adaptation=}": partial(
            random_model, 300, noise=NOISES["ar1"], activation=activation, adaptation=adaptation
        )
        for who, activation in UPDATING.items()
        for adaptation in (None, 0.1)
    },
    **{
        f"euler, {scaling}": partial(
            pp.SDE, random_model(300, noise=pp.Gaussian(0.7)), step=0.1, scaling=scaling, method="euler"
        )
        for scaling in ("printed", "model")
    },
}


@needs_device
@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("replicates", [1, 7, 33])
def test_runs_equal_the_processors(name: str, replicates: int) -> None:
    system = SYSTEMS[name]()
    here, there = (pp.simulate(system, 40, replicates, seed=5, device=device) for device in ("cpu", "gpu"))
    for part in ("times", "states", "hidden_path", "minimum", "maximum", "mean"):
        one, other = getattr(here, part), getattr(there, part)
        assert (one is None) == (other is None)
        if one is not None:
            np.testing.assert_allclose(other, one, rtol=1e-11, atol=1e-12)
    assert np.abs(here.final.public - system.start_state).max() > 0
    if name in RESUMED:
        first = pp.simulate(system, 13, replicates, seed=5, device="gpu")
        rest = pp.simulate(system, 27, replicates, seed=5, device="gpu", start=first)
        np.testing.assert_array_equal(rest.final.public, there.final.public)


@needs_device
@pytest.mark.parametrize("name", OWN)
def test_single_precision_follows_double(name: str) -> None:
    model = random_model(300, noise=NOISES[name])
    here = pp.simulate(model, 20, 7, seed=5)
    single = pp.simulate(model, 20, 7, seed=5, device="gpu", dtype=np.float32)
    np.testing.assert_allclose(single.final.public, here.final.public, atol=1e-4)


def test_exact_paths_are_refused_elsewhere() -> None:
    flow = pp.SDE(random_model(noise=pp.Gaussian(0.7)), method="exact")
    with pytest.raises(pp.errors.InvalidInputError, match="method='euler'"):
        pp.simulate(flow, 3, device="gpu")


@needs_device
def test_what_the_accelerator_cannot_do_is_said() -> None:
    with pytest.raises(pp.PeerPressureError, match="device cpu"):
        pp.simulate(random_model(noise=NOISES["custom"]), 3, device="gpu")


@needs_device
@pytest.mark.parametrize("kind", ["adapting", "periodic"])
def test_batches_equal_one_run(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = extended_model(kind, noise=NOISES["ar1"])
    whole = pp.simulate(model, 70, replicates=21, seed=5, device="gpu")
    done: list[int] = []
    monkeypatch.setattr(gpu.Device, "most_replicates", lambda self: 8)
    parts = pp.simulate(model, 70, replicates=21, seed=5, device="gpu", progress=lambda steps, of: done.append(steps))
    for name in ("states", "mean", *(["hidden"] if model.adaptation is not None else [])):
        np.testing.assert_array_equal(getattr(parts, name), getattr(whole, name))
    np.testing.assert_array_equal(parts.final.memory, whole.final.memory)
    assert done == sorted(done)
    assert done[-1] == 70


@needs_device
@pytest.mark.parametrize("numbers", [[0], [0, 0, 0]], ids=["one", "three"])
def test_accelerators_divide_the_replicates(numbers: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Three that are the same one: the same code runs on machines that have several."""
    model = extended_model("periodic", noise=NOISES["ar1"])
    single = {row: pp.simulate(model, 70, replicates=[row], seed=5, device="gpu") for row in (0, 40, 79)}
    done: list[int] = []
    monkeypatch.setattr(gpu, "device_numbers", lambda: numbers)
    monkeypatch.setattr(gpu.Device, "most_replicates", lambda self: 20)
    whole = pp.simulate(model, 70, replicates=80, seed=5, device="gpu", progress=lambda steps, of: done.append(steps))
    for row, alone in single.items():
        np.testing.assert_array_equal(whole.final.public[row], alone.final.public[0])
    assert done == sorted(done)
    assert done[-1] == 70


@needs_device
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weighted", [False, True])
def test_one_replicate_has_the_bits_of_many(dtype: Any, weighted: bool) -> None:
    """Long rows, short ones and hubs, whose sums are taken in other ways if there is one replicate."""
    edges = pp.networks.barabasi_albert(3_000, 9, seed=1).adjacency
    if weighted:
        edges = edges.copy()
        edges.data = np.random.default_rng(1).uniform(0.5, 2.0, edges.nnz)
        edges = edges + edges.T
    model = pp.Model(pp.Network(edges), hidden=np.linspace(0, 1, 3_000), noise=pp.Gaussian(0.1))
    many = pp.simulate(model, 12, replicates=5, seed=5, dtype=dtype, device="gpu", record="final").final.public
    for row in range(5):
        one = pp.simulate(model, 12, replicates=[row], seed=5, dtype=dtype, device="gpu", record="final").final.public
        np.testing.assert_array_equal(one[0], many[row])


@needs_device
def test_replicates_need_not_be_consecutive() -> None:
    whole = pp.simulate(random_model(), 9, replicates=7, seed=5, device="gpu")
    some = pp.simulate(random_model(), 9, replicates=[1, 2, 5], seed=5, device="gpu")
    np.testing.assert_array_equal(some.final.public, whole.final.public[[1, 2, 5]])


@needs_device
def test_a_replicate_that_does_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu.Device, "free_bytes", lambda self: 1000)
    with pytest.raises(pp.errors.TooLargeError, match="one replicate must fit"):
        pp.simulate(random_model(), 3, device="gpu")


@pytest.mark.skipif(_has_device(), reason="this machine has a device")
def test_a_missing_device_is_one_clear_error() -> None:
    with pytest.raises(pp.PeerPressureError, match=r"pip install cupy"):
        pp.simulate(random_model(), 3, device="gpu")


def test_unknown_devices_are_refused() -> None:
    with pytest.raises(pp.errors.InvalidInputError, match="'tpu'"):
        pp.simulate(random_model(), 3, device="tpu")
