"""How often chance is called pressure in surveys of few waves, and how often intervals of weak pressure contain it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from peerpressure import Network, compare
from peerpressure.networks import barabasi_albert
from peerpressure.recovery.courses import ADAPTING, TELLING_ROWS
from peerpressure.recovery.rivals import FamilyFit

from .comparison import STD, Array, Truth, family
from .processes import spread
from .sections import Cell, Section, Table, Target, share
from .settings import Settings

WEAK = 0.15
WAVES = (3, 5, 10)
KINDS = ("uniform", "far apart", "likeness")
# Records of each setting, by the number of people; a comparison of 200 takes three times as long as one of 60.
RECORDS = {60: 400, 200: 200}
# Records of 60 people that are compared with adapting rivals, too, and the waves that tell these apart.
ADAPTED, ADAPTED_WAVES = 100, (5, 10)

TEXT = f"""\
Records are made by a plain loop on BA(n, 3) networks with σ = {STD:g} and y₀ = x₀ not observed. *Size* is the share of
records without pressure for which a model with neighbours has the largest weight among all rivals without adaptation.
*Found* is that share where pressure is {WEAK:g}; *cover* the share of 95 % intervals of its fit that contain it, and
*opinions covered* that of the intervals of hidden opinions. Hidden opinions are *uniform* on [0, 1]; *far apart*, they
are white with standard deviation 1, and the first row under pressure tells little of them; with *likeness*, they are
smoothed over the network, (1 + 3D⁻¹L)⁻¹ of white noise, and friends think alike before any influence. Adapting rivals
take most of the time; the second table shows what they change. Shares are given ± a standard error over records.
"""


def opinions(kind: str, network: Network, rng: np.random.Generator) -> Array:
    """Return hidden opinions: uniform, far apart, or alike between friends."""
    white = rng.standard_normal(network.n)
    if kind == "likeness":
        mean = network.adjacency.toarray() / network.degrees[:, None]
        return np.asarray(np.linalg.solve(4 * np.eye(network.n) - 3 * mean, white))
    return white if kind == "far apart" else rng.random(network.n)


class Panel(NamedTuple):
    """What the records of one seed say: pressure called where there is none, and found; its fit and opinions."""

    called: bool
    found: bool
    value: float
    covered: bool
    inside: float


class People(NamedTuple):
    """A network, the hidden opinions of its agents, and the generator of what they answer."""

    network: Network
    hidden: Array
    rng: np.random.Generator

    @classmethod
    def drawn(cls, n: int, kind: str, seed: int) -> People:
        """Return people of a kind."""
        network, rng = barabasi_albert(n, 3, seed=seed), np.random.default_rng(950_000 + seed)
        return cls(network, opinions(kind, network, rng), rng)

    def record(self, waves: int, truth: Truth) -> Array:
        """Return their answers."""
        return family(self.network.adjacency.toarray(), self.hidden, waves, truth, self.rng)


def rivals(waves: int) -> list[str]:
    """Return the rivals without adaptation that so many waves tell apart."""
    return ["none", "constant", "linear", *(["power"] if waves > TELLING_ROWS else []), "degroot", "walk"]


def panel(n: int, waves: int, kind: str, seed: int) -> Panel:
    """Return what comparisons say of two records of the same people, without and with pressure."""
    people = People.drawn(n, kind, seed)
    x, names = people.hidden, rivals(waves)
    called = compare(people.record(waves, Truth()), people.network, names).fit.uses_network
    answer = compare(people.record(waves, Truth(lambda t, last: WEAK)), people.network, names)
    fit: Any = answer.fits["constant"]
    assert isinstance(fit, FamilyFit)
    table, (value, std) = fit.parameters, fit.opinions
    inside = float(np.mean(np.abs(value - x) <= 1.96 * std))
    covered = bool(table.low[0] <= WEAK <= table.high[0])
    return Panel(called, answer.fit.uses_network, float(table.value[0]), covered, inside)


def adapted(n: int, waves: int, kind: str, seed: int) -> tuple[bool, bool]:
    """Return whether pressure is called where there is none, without adapting rivals and with them."""
    people = People.drawn(n, kind, seed)
    rows = people.record(waves, Truth())
    everything = compare(rows, people.network)
    # Fits do not depend on what they are compared with.
    still = {name: fit.bic for name, fit in everything.fits.items() if not name.endswith(ADAPTING)}
    return everything.fits[min(still, key=lambda name: still[name])].uses_network, everything.fit.uses_network


def short(settings: Sequence[tuple[int, int, str]], records: int, jobs: int) -> list[tuple[list[Cell], float, float]]:
    """Return rows, with size and coverage as numbers.

    They are the setting, size, share found, median and coverage of weak pressure, and coverage of opinions.
    """
    found = spread(panel, [(*setting, seed) for setting in settings for seed in range(records)], jobs)
    rows = list[tuple[list[Cell], float, float]]()
    for k, setting in enumerate(settings):
        own = found[k * records : (k + 1) * records]
        called, seen, inside = (share([one[field] for one in own]) for field in (0, 1, 4))
        cover = [one.covered for one in own]
        median = float(np.median([one.value for one in own]))
        row: list[Cell] = [*setting, records, called, seen, median, share(cover), inside]
        rows.append((row, float(np.mean([one.called for one in own])), float(np.mean(cover))))
    return rows


def adapting(settings: Sequence[tuple[int, int, str]], records: int, jobs: int) -> list[list[Cell]]:
    """Return rows: the setting, and the size without adapting rivals and with them."""
    found = spread(adapted, [(*setting, seed) for setting in settings for seed in range(records)], jobs)
    parts = [found[k * records : (k + 1) * records] for k in range(len(settings))]
    return [
        [*setting, records, *(share([one[side] for one in own]) for side in (0, 1))]
        for setting, own in zip(settings, parts, strict=True)
    ]


def measure(settings: Settings) -> Section:
    """Return size and coverage of short panels."""
    sizes = {60: 4} if settings.quick else {n: settings.records_or(count) for n, count in RECORDS.items()}
    waves = WAVES[:1] if settings.quick else WAVES
    rows = [
        row
        for n, records in sizes.items()
        for row in short([(n, length, kind) for length in waves for kind in KINDS], records, settings.jobs)
    ]
    again = [(60, length, kind) for length in ADAPTED_WAVES for kind in KINDS][: 1 if settings.quick else None]
    more = adapting(again, 1 if settings.quick else min(settings.records_or(ADAPTED), ADAPTED), settings.jobs)
    setting = ("n", "waves", "opinions", "records")
    tables = [
        Table(
            f"Short panels, pressure 0 or {WEAK:g}",
            (*setting, "size", "found", "median", "cover", "opinions covered"),
            [cells for cells, _, _ in rows],
        ),
        Table("Size with adapting rivals", (*setting, "without them", "with them"), more),
    ]
    size, cover = max(size for _, size, _ in rows), min(cover for _, _, cover in rows)
    targets = [
        Target("no pressure called pressure in short panels, at most", 0.07, size, at_least=False),
        Target("coverage of pressure in short panels", 0.93, cover),
    ]
    return Section("Short panels", TEXT, tables, targets)
