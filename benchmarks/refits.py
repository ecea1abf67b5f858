"""Size and power of the tests of fit where the model was fitted to the same outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

import peerpressure as pp
from peerpressure.fitting import fit
from peerpressure.recovery._diagnostics import TESTS

from .processes import spread
from .score_power import AGENTS, changed
from .sections import Cell, Section, Table, Target, share
from .settings import Settings

RECORDS, STEPS, LEVEL, STD = 200, (40, 200), 0.05, 0.3
FITTED: Mapping[str, tuple[str, ...]] = {
    "std": ("std",),
    "std, constant": ("std", "constant"),
    "stubbornness, std": ("std", "stubbornness"),
}
FAULTS = (
    "none",
    "missing tie",
    "unequal stubbornness",
    "stubbornness 3",
    "AR(0.4) noise",
    "t₃ noise",
    "linear pressure",
)

TEXT = f"""\
Outputs of {AGENTS} agents on BA({AGENTS}, 2) under constant pressure of 0.5 with σ = {STD:g}, each with one fault: a
tie that the fitted model lacks, stubbornness between ½ and 2, one agent's of 3, noise with memory or heavy tails, and
linear pressure of 0.05 t. Unknowns are fitted to the outputs, and the fitted model is tested on them. *Any* is the
share of records whose combined p-value is {LEVEL:.0%} or less, *named* that in which scores name something, and the
others are shares of single tests.
"""


def made(fault: str, seed: int) -> tuple[pp.Model, pp.Model]:
    """Return the model that makes outputs, and the one that is fitted to them."""
    rng = np.random.default_rng(70_000 + seed)
    network = pp.networks.barabasi_albert(AGENTS, 2, seed=seed)
    right = pp.Model(network, rng.uniform(size=AGENTS), pressure=pp.Constant(0.5), noise=pp.Gaussian(STD))
    i, j, _ = network.edges()
    spare = [pair for pair in zip(i, j, strict=True) if min(network.degrees[list(pair)]) > 2]
    first, second = spare[int(rng.integers(len(spare)))]
    ratios = 2 ** rng.uniform(-1, 1, AGENTS)
    one = np.where(np.arange(AGENTS) == rng.integers(AGENTS), 3.0, 1.0)
    return {
        "none": (right, right),
        "missing tie": (right, replace(right, network=changed(network, (int(first), int(second)), 0.0))),
        "unequal stubbornness": (replace(right, stubbornness=ratios), right),
        "stubbornness 3": (replace(right, stubbornness=one), right),
        "AR(0.4) noise": (replace(right, noise=pp.Gaussian(STD, temporal=pp.AR1(0.4))), right),
        "t₃ noise": (replace(right, noise=pp.StudentT(STD, df=3.0)), right),
        "linear pressure": (replace(right, pressure=pp.Linear(0.05)), right),
    }[fault]


def tested(fault: str, unknown: str, steps: int, seed: int) -> list[float]:
    """Return the combined p-value, whether scores name something, and the p-value of each test, NaN for none."""
    makes, fitted = made(fault, seed)
    diagnostics = fit(pp.simulate(makes, steps, seed=seed), fitted, FITTED[unknown]).diagnostics
    assert diagnostics is not None
    found = [diagnostics.tests[name] for name in TESTS]
    each = [np.nan if p is None else float(p[0]) for p in found]
    together = diagnostics.p_value
    return [np.nan if together is None else float(together[0]), float(bool(diagnostics.misses.sentences)), *each]


def measure(settings: Settings) -> Section:
    """Return size and power of tests after a fit."""
    records = 1 if settings.quick else settings.records_or(RECORDS)
    cells = [(fault, unknown, steps) for steps in STEPS for unknown in FITTED for fault in FAULTS
             if fault == "none" or unknown != "stubbornness, std" or fault in ("missing tie", "t₃ noise")]  # fmt: skip
    if settings.quick:
        cells = cells[:2]
    found = spread(tested, [(*cell, seed) for cell in cells for seed in range(records)], settings)
    own = {cell: np.array(found[k * records : (k + 1) * records]) for k, cell in enumerate(cells)}
    rows = [[*cell, *_shares(each)] for cell, each in own.items()]
    columns = ("fault", "fitted", "T", "any", "named", *TESTS)
    most = max(float(np.mean(each[:, 0] <= LEVEL)) for cell, each in own.items() if cell[0] == "none")
    return Section(
        "Tests after a fit",
        TEXT,
        [Table(f"Shares of {records} records", columns, rows)],
        [Target("right models rejected", 0.08, None if settings.quick else most, at_least=False)],
    )


def _shares(each: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> Sequence[Cell]:
    shares: list[Cell] = [None if np.isnan(p).all() else share((p <= LEVEL).tolist()) for p in each.T]
    shares[1] = share(each[:, 1].tolist())
    return shares
