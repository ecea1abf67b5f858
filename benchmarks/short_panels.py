"""How often a response is claimed of people who respond to nobody, and how often one is found and its size covered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from peerpressure import Network
from peerpressure.fitting import response
from peerpressure.networks import barabasi_albert

from .comparison import Array
from .processes import spread
from .sections import Cell, Section, Table, Target, share
from .settings import Settings

# People, rounds and groups; in groups everybody sees four others who were dealt by chance.
SHAPES: Final = {"60 × 3": (60, 3, 1), "60 × 5": (60, 5, 1), "20 groups × 20 × 3": (20, 3, 20)}
NULLS: Final = (
    "own level", "t₂ noise", "own AR(1)", "return", "shock", "event", "trend", "walk", "error", "repeats", "homophily",
)  # fmt: skip
# What first = "before" takes for granted does not hold.
BROKEN: Final = ("weak homophily", "shared trait")
WEIGHTS: Final = (0.1, 0.2, 0.4)
NOISES: Final = ("own level", "t₂ noise")
RECORDS, PERMUTATIONS = 200, 199

TEXT = f"""\
Records are made by a plain loop. Nobody responds to anybody in the first table: people repeat their *own level* with
Gaussian noise or with *t₂ noise*; their deviations from it last (*own AR(1)*, coefficient 0.6); they move half-way to
one value each round (*return*); all share a *shock* of each round, an *event* or a *trend*; answers are a *walk*; the
first row has twice the noise (*error*); 40 % repeat their answer exactly, others have t₃ noise (*repeats*); or friends
think alike (*homophily*, (1 + 6D⁻¹L)⁻¹ of white noise, analysed with first = "after", all others with "before").
In the second table, chance did not decide who sees whom, though first = "before" says so: friends think a little alike,
(1 + D⁻¹L)⁻¹ of white noise, with more noise in the first row than later (*weak homophily*); or they have a *shared
trait*, the sign of what is smooth over the network, and answers of one kind of people have a trend of 0.5.
*Responds* is the share of records of which that is said, *p ≤ .05* that of the placebo alone. In the last table,
people give a part w of their answer to the mean of what they see. *Cover* is the share of 95 % intervals that contain
it. The 60 people are on BA(60, 3) networks. {PERMUTATIONS} shuffles; shares are given ± a standard error over records.
"""


class Found(NamedTuple):
    """What is said of one record."""

    verdict: str
    p_value: float
    value: float
    covered: bool


def networks(people: int, groups: int, rng: np.random.Generator, seed: int) -> list[Array]:
    """Return the matrix of who sees whom of each group."""
    if groups == 1:
        return [barabasi_albert(people, 3, seed=seed).adjacency.toarray()]
    seen = np.zeros((groups, people, people))
    for group in seen:
        for i, row in enumerate(group):
            row[rng.choice(np.delete(np.arange(people), i), 4, replace=False)] = 1
    return list(seen)


def record(kind: str, sees: Array, rounds: int, w: float, shocks: Array, rng: np.random.Generator) -> Array:
    """Return the answers of one group, (T, n); ``shocks`` are shared by all groups."""
    n, mean = len(sees), sees / np.maximum(sees.sum(axis=1, keepdims=True), 1)
    opinion = rng.standard_normal(n)
    if kind == "homophily":
        opinion = np.linalg.solve(7 * np.eye(n) - 6 * mean, opinion)
        opinion /= opinion.std()
    alike = opinion
    if kind in BROKEN:
        strength = 1 if kind == "weak homophily" else 6
        alike = np.linalg.solve((1 + strength) * np.eye(n) - strength * mean, rng.standard_normal(n))
        alike = (alike - alike.mean()) / alike.std()
    if kind == "weak homophily":
        opinion = alike
    lasting = rng.standard_normal(n)
    rows = [opinion + (1.0 if kind in ("error", "weak homophily") else 0.5) * rng.standard_normal(n)]
    for t in range(1, rounds):
        lasting = 0.6 * lasting + 0.8 * rng.standard_normal(n)
        noise = 0.5 * rng.standard_normal(n)
        alone = {
            "t₂ noise": opinion + 0.5 * rng.standard_t(2, n),
            "own AR(1)": opinion + 0.5 * lasting,
            "return": 0.5 * rows[-1] + 0.6 * noise,
            "shock": opinion + shocks[t] + noise,
            "event": opinion + (t > rounds / 2) + noise,
            "trend": opinion + 0.3 * t + noise,
            "walk": rows[-1] + noise,
            "weak homophily": opinion + 0.8 * noise,
            "shared trait": opinion + 0.5 * t * (alike > 0) + noise,
            "repeats": np.where(rng.random(n) < 0.4, rows[-1], opinion + 0.3 * rng.standard_t(3, n)),
        }.get(kind, opinion + noise)
        rows.append((1 - w) * alone + w * (mean @ rows[-1]))
    return np.array(rows)


def one(shape: str, kind: str, w: float, seed: int) -> Found:
    """Return what is said of one record."""
    people, rounds, groups = SHAPES[shape]
    rng = np.random.default_rng(960_000 + seed)
    sees, shocks = networks(people, groups, rng, seed), rng.standard_normal(rounds)
    answers = [record(kind, each, rounds, w, shocks, rng) for each in sees]
    data = _table(answers) if groups > 1 else answers[0]
    network: Any = {str(g): Network(each, list(range(people)), directed=True) for g, each in enumerate(sees)}
    made = response(
        data,
        network if groups > 1 else network["0"],
        first="after" if kind == "homophily" else "before",
        permutations=PERMUTATIONS,
        seed=seed,
    )
    low, high = made.weight.low, made.weight.high
    return Found(made.verdict, made.p_value, made.weight.value, bool(low <= w <= high))


def _table(answers: Sequence[Array]) -> Any:
    import pandas as pd

    rows = [
        (str(group), i, t + 1, value, "one")
        for group, values in enumerate(answers)
        for t, row in enumerate(values)
        for i, value in enumerate(row)
    ]
    return pd.DataFrame(rows, columns=["group", "agent", "time", "public", "question"])


def measure(settings: Settings) -> Section:
    """Return rates of false claims, power and coverage."""
    records = 2 if settings.quick else settings.records_or(RECORDS)
    shapes = list(SHAPES)[:1] if settings.quick else list(SHAPES)
    nulls = [(shape, kind, 0.0) for kind in NULLS[: 2 if settings.quick else None] for shape in shapes]
    broken = [(shape, kind, 0.0) for kind in BROKEN[: 1 if settings.quick else None] for shape in shapes]
    truths = [(shape, kind, w) for w in WEIGHTS for kind in NOISES for shape in shapes][: 1 if settings.quick else None]
    items = [(*setting, seed) for setting in [*nulls, *broken, *truths] for seed in range(records)]
    found = spread(one, items, settings)
    cells = {setting: found[k * records : (k + 1) * records] for k, setting in enumerate([*nulls, *broken, *truths])}
    said = {setting: [each.verdict == "responds" for each in own] for setting, own in cells.items()}

    def claimed(setting: tuple[str, str, float]) -> list[Cell]:
        shape, kind, _ = setting
        by_placebo = [each.p_value <= 0.05 for each in cells[setting]]
        return [kind, shape, records, share(said[setting]), share(by_placebo)]

    true: list[list[Cell]] = [
        [w, kind, shape, records, share(said[shape, kind, w]),
         float(np.nanmean([each.value for each in cells[shape, kind, w]])),
         share([each.covered for each in cells[shape, kind, w]]),
         share([each.verdict == "no response" for each in cells[shape, kind, w]])]
        for shape, kind, w in truths
    ]  # fmt: skip
    rates = [float(np.mean(said[setting])) for setting in nulls]
    cover = min(float(np.mean([each.covered for each in cells[setting]])) for setting in truths)
    return Section(
        "Short panels",
        TEXT,
        [
            Table(
                "Nobody responds",
                ("people", "shape", "records", "responds", "p ≤ .05"),
                [claimed(each) for each in nulls],
            ),
            Table(
                "Nobody responds, and chance did not decide who sees whom",
                ("people", "shape", "records", "responds", "p ≤ .05"),
                [claimed(each) for each in broken],
            ),
            Table(
                "People respond with weight w",
                ("w", "noise", "shape", "records", "responds", "mean w", "cover", "no response"),
                true,
            ),
        ],
        [
            Target(
                "responses claimed where there are none, on average at most",
                0.05,
                float(np.mean(rates)),
                at_least=False,
            ),
            Target("responses claimed where there are none, in any setting at most", 0.07, max(rates), at_least=False),
            Target("coverage of the weight", 0.93, cover),
        ],
    )
