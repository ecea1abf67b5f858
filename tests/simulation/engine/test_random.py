"""The generator: known answers, accuracy of its elementary functions, the laws, and independence."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest
from numba import njit
from numpy.typing import NDArray
from scipy import stats

from peerpressure import Model, simulate
from peerpressure.networks import k2
from peerpressure.noise import Custom, Gaussian, Laplace, Noise, Rademacher, StudentT, Uniform
from peerpressure.simulation.engine import random, runner
from peerpressure.simulation.engine.narrow import draw_narrow
from peerpressure.simulation.engine.plan import GAUSSIAN, LAW_CODES, STREAM_FRESH, STREAM_FROZEN, WIDTH, draw_of
from peerpressure.simulation.engine.wide import draw_wide

U = np.uint64
LAWS = [Gaussian(1.0), Laplace(1.0), Uniform(1.0), StudentT(1.0, df=5.0), Rademacher(1.0)]
ALPHA = 1e-4


@njit
def _philox(counter: NDArray[np.uint64], key: NDArray[np.uint64], out: NDArray[np.uint64]) -> None:
    out[0], out[1], out[2], out[3] = random.philox(counter[0], counter[1], counter[2], counter[3], key[0], key[1])


# The published test vectors of Philox-4x32-10 in the Random123 distribution.
@pytest.mark.parametrize(
    ("counter", "key", "answer"),
    [
        ([0] * 4, [0] * 2, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
        ([0xFFFFFFFF] * 4, [0xFFFFFFFF] * 2, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
        (
            [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
            [0xA4093822, 0x299F31D0],
            [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
        ),
    ],
)
def test_philox_gives_the_published_answers(counter: list[int], key: list[int], answer: list[int]) -> None:
    out = np.zeros(4, U)
    _philox(np.array(counter, U), np.array(key, U), out)
    assert out.tolist() == answer


@njit
def _logarithms(values: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    for i in range(values.size):
        out[i] = random._natural_log(values[i])


@njit
def _angles(bits: NDArray[np.uint64], out: NDArray[np.float64]) -> None:
    for i in range(bits.size):
        out[i, 0], out[i, 1] = random._octant(bits[i])


def test_loops_of_laws_are_found_again_on_the_disk() -> None:
    # As another process would find them: a first call stores the loop, and this one looks for it.
    for wide in (False, True):
        random.filler_of(GAUSSIAN, np.dtype(np.float64), wide=wide)
        random.filler_of.__wrapped__(GAUSSIAN, np.dtype(np.float64), wide=wide)
        assert random._COMPILED[-1].cache_hits == 1
    assert random.filler_of(LAW_CODES["none"], np.dtype(np.float64), wide=True) == 0


def test_the_logarithm_is_right_to_the_last_bits() -> None:
    values = np.concatenate(
        [np.random.default_rng(1).random(100_000), 2.0 ** -np.arange(53), 1 - 2.0 ** -np.arange(1, 53)]
    )
    values = values[values > 0]
    out = np.empty_like(values)
    _logarithms(values, out)
    np.testing.assert_allclose(out, np.log(values), rtol=4e-16, atol=3e-16)


def test_sine_and_cosine_lie_on_the_circle_in_every_octant() -> None:
    bits = np.random.default_rng(2).integers(0, 2**64, 100_000, dtype=U)
    out = np.empty((bits.size, 2))
    _angles(bits, out)
    np.testing.assert_allclose((out**2).sum(axis=1), 1.0, atol=1e-15)
    octants = np.bincount((np.arctan2(out[:, 1], out[:, 0]) // (np.pi / 4)).astype(int) + 4, minlength=8)
    assert stats.chisquare(octants).pvalue > ALPHA


def _draws(noise: Noise, *, agents: int, steps: int, replicates: int, seed: int = 7) -> NDArray[np.float64]:
    """Return the engine's own draws as (replicates, steps, agents)."""
    draw, out = draw_of(noise, seed), np.empty((replicates, steps, agents))
    for r in range(replicates):
        for t in range(steps):
            draw_narrow(draw, t, r, STREAM_FRESH, out[r, t : t + 1])
    return out


@pytest.mark.parametrize("noise", LAWS, ids=lambda noise: noise.law)
def test_each_law_has_its_moments_and_distribution(noise: Noise) -> None:
    values = _draws(noise, agents=1000, steps=20, replicates=10).ravel()
    error = 1 / np.sqrt(values.size)
    unit = noise.unit()
    assert abs(values.mean()) < 4.5 * error
    kurtosis = float(np.mean(values**4))
    assert abs(np.mean(values**2) - 1) < 4.5 * error * np.sqrt(max(kurtosis - 1, 1e-12)) + 1e-12
    assert abs(np.mean(values**3)) < 4.5 * error * np.sqrt(np.mean(values**6))
    if noise.law == "rademacher":
        assert set(np.unique(values)) == {-1.0, 1.0}
        assert stats.binomtest(int((values > 0).sum()), values.size).pvalue > ALPHA
    else:
        assert stats.kstest(values, unit.cdf).pvalue > ALPHA


@pytest.mark.parametrize("noise", LAWS, ids=lambda noise: noise.law)
@pytest.mark.parametrize("along", ["agent", "pair of a block", "step", "replicate"])
def test_draws_are_independent(noise: Noise, along: str) -> None:
    values = _draws(noise, agents=400, steps=10, replicates=16)
    first, second = {
        "agent": (values[:, :, :-1], values[:, :, 1:]),
        "pair of a block": (values[:, :, :-4], values[:, :, 4:]),
        "step": (values[:, :-1], values[:, 1:]),
        "replicate": (values[:-1], values[1:]),
    }[along]
    # Values and their squares: the sine partner of a Student draw, say, would be uncorrelated but not independent.
    for power in (1, 2):
        x, y = np.abs(first.ravel()) ** power * np.sign(first.ravel()) ** power, second.ravel() ** power
        if x.std() > 1e-9:
            assert abs(np.corrcoef(stats.rankdata(x), stats.rankdata(y))[0, 1]) < 4.5 / np.sqrt(x.size)


def test_seeds_and_streams_give_unrelated_draws() -> None:
    base = _draws(Gaussian(1.0), agents=20_000, steps=1, replicates=1, seed=1).ravel()
    for other in (2, 2**32 + 1, 2**63):
        values = _draws(Gaussian(1.0), agents=20_000, steps=1, replicates=1, seed=other).ravel()
        assert abs(np.corrcoef(base, values)[0, 1]) < 4.5 / np.sqrt(base.size)
    held = np.empty((1, 20_000))
    draw_narrow(draw_of(Gaussian(1.0), 1), 0, 0, STREAM_FROZEN, held)
    assert abs(np.corrcoef(base, held[0])[0, 1]) < 4.5 / np.sqrt(base.size)


@pytest.mark.parametrize("noise", LAWS, ids=lambda noise: noise.law)
@pytest.mark.parametrize("agents", [1, 7, 8, 9, 1023, 1024, 1025, 3000])
def test_both_layouts_draw_the_same_bits(noise: Noise, agents: int) -> None:
    draw = draw_of(noise, 3)
    wide, narrow = np.empty((2, agents * WIDTH)), np.empty((2 * WIDTH, agents))
    draw_wide(draw, 5, 32, STREAM_FRESH, wide)
    draw_narrow(draw, 5, 32, STREAM_FRESH, narrow)
    np.testing.assert_array_equal(wide.reshape(2, agents, WIDTH).swapaxes(1, 2).reshape(-1, agents), narrow)


def test_single_precision_draws_are_the_double_ones_rounded() -> None:
    draw, single, double = draw_of(Gaussian(1.0), 3), np.empty((1, 5000), np.float32), np.empty((1, 5000))
    draw_narrow(draw, 1, 0, STREAM_FRESH, single)
    draw_narrow(draw, 1, 0, STREAM_FRESH, double)
    np.testing.assert_array_equal(single, double.astype(np.float32))


def test_a_share_that_is_rounded_to_1_gives_a_finite_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    """In float32 about one share in 10⁸ is 1, too rare to wait for."""
    monkeypatch.setattr(runner, "draw_narrow", lambda draw, step, first, stream, memory: memory.fill(1))
    model = Model(k2(), hidden=[0.0, 1.0], noise=Custom(stats.norm()))
    drawn = simulate(model, 1, seed=1, dtype=np.float32).final.public
    assert np.isfinite(drawn).all()


def test_every_law_has_a_code() -> None:
    codes: dict[str, Any] = dict(LAW_CODES)
    assert len(set(codes.values())) == len(codes)


def test_compiled_functions_have_names_of_their_own() -> None:
    """Kernels stored on disk carry copies of what they call, by name: two loops of one name would be mixed up."""
    modules = ("random", "wide", "narrow", "arguments")
    found = {
        id(item): item.py_func
        for module in modules
        for item in vars(importlib.import_module(f"peerpressure.simulation.engine.{module}")).values()
        if hasattr(item, "py_func")
    }
    names = [(function.__module__, function.__qualname__) for function in found.values()]
    assert len(names) == len(set(names))
    assert len(names) > 20
