"""All experiments that the figures need, from one seed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

import pandas as pd

from peerpressure.reproduction import printed
from peerpressure.reproduction.adaptation import two_timescales
from peerpressure.reproduction.audit import Evidence, audit, hurried, protection
from peerpressure.reproduction.beyond import BeyondResult, beyond
from peerpressure.reproduction.comparison import Comparison
from peerpressure.reproduction.continuous import continuous_time
from peerpressure.reproduction.convergence import SEED, STEPS, convergence, wrong_values
from peerpressure.reproduction.exact import exact_vs_sampled
from peerpressure.reproduction.forgetting import forgetting
from peerpressure.reproduction.noise_levels import noise_levels
from peerpressure.reproduction.rates import approach, contraction_products, scale_free_model, tuning
from peerpressure.reproduction.regression import residuals
from peerpressure.reproduction.sweep import size_effect, sweep_ba
from peerpressure.reproduction.temporal import temporal_networks
from peerpressure.reproduction.two_agents import two_agents_recovery

# Exact laws cost more than simulated steps, and their figures need no more of them.
MOST_EXACT_STEPS = 10_000
MOST_APPROACH_STEPS = 5_000
MOST_NOISE_STEPS = 3_000
MOST_TIMESCALE_STEPS = 1_000
MOST_OBSERVED_STEPS = 200
MOST_TEMPORAL_STEPS = 3_000
# Exact, so that claims about limits need not wait for the simulated runs.
AUDIT_STEPS = 3_000

Tell: TypeAlias = Callable[[str], None]
Tables: TypeAlias = dict[str, pd.DataFrame]


def paper_tables(
    seed: int = SEED,
    steps: int = STEPS,
    replications: int = printed.SWEEP_REPLICATIONS,
    *,
    sizes: Sequence[int] = printed.SWEEP_AGENTS,
    folder: Path | None = None,
    workers: int | None = None,
    tell: Tell = lambda stage: None,
) -> Tables:
    """Return every table by name; ``tell`` hears of each stage before it begins.

    The sweeps go over graphs of these ``sizes`` with so many ``replications`` in each cell. With a ``folder`` they are
    kept there, in ``workers`` processes, so that an interrupted run goes on where it was.
    """
    tables = _agreement(seed, steps, tell)
    tell("the sweep over sizes and noise levels")
    sweeps, effect = _sweeps(seed, replications, sizes, folder, workers), size_effect(seed, sizes=sizes)
    evidence, found, more = _recovery(seed, steps, tables, sweeps, effect, tell)
    tables |= _extensions(seed, steps, tell)
    tell("claims against findings")
    agreed = exact_vs_sampled(evidence, more, tables)
    return tables | found | more.tables() | {"exact_vs_sampled": agreed, "audit": audit(evidence)}


def _agreement(seed: int, steps: int, tell: Tell) -> Tables:
    """Return the tables on whether, on what and how fast agents agree."""
    tell("slow and fast pressure, on a tree and with odd cycles")
    tables = convergence(seed, steps).tables()
    model = scale_free_model(seed)
    tell("what each schedule forgets")
    tables["contraction"] = contraction_products(min(steps, MOST_EXACT_STEPS))
    tell("when agents agree, and when they are right")
    approached = approach(model, min(steps, MOST_APPROACH_STEPS), seed=seed)
    tables |= {"approach_exact": approached.exact, "approach_paths": approached.paths}
    tell("what tuning gains")
    tables["tuning"] = tuning(model, min(steps, MOST_EXACT_STEPS))
    tell("many runs against their predicted law")
    wrong = wrong_values(model, seed=seed)
    return tables | {"wrong_values": wrong.values, "wrong_value_law": wrong.law}


def _sweeps(seed: int, replications: int, sizes: Sequence[int], folder: Path | None, workers: int | None) -> Comparison:
    """Return the sweeps over both graph families, each in a folder of its own."""
    two, one = (
        sweep_ba(seed, replications, edges=edges, sizes=sizes, folder=folder and folder / f"ba{edges}", workers=workers)
        for edges in printed.SWEEP_EDGES
    )
    return Comparison(two, one)


def _recovery(
    seed: int, steps: int, tables: Tables, sweeps: Comparison, effect: pd.DataFrame, tell: Tell
) -> tuple[Evidence, Tables, BeyondResult]:
    """Return what observers find, as evidence and as tables."""
    tell("what regression makes of two agents, and of a hundred")
    pair, hundred = two_agents_recovery(seed), residuals(seed)
    tell("louder noise")
    noise = noise_levels(seed, steps=min(steps, MOST_NOISE_STEPS))
    tell("better observers, schedules and masks")
    more = beyond(seed)
    model = scale_free_model(seed)
    evidence = Evidence(
        slow=model,
        fast=hurried(model),
        steps=AUDIT_STEPS,
        runs=tables["summary"],
        pair=pair,
        observers=more.observers,
        protection=protection(hundred.law.model),
        partial=more.partial,
        residuals=hundred,
        sweeps=sweeps,
        sizes=effect,
        noise=noise,
    )
    found = pair.tables() | hundred.tables() | sweeps.tables() | {"size_effect": effect} | noise.tables()
    return evidence, found, more


def _extensions(seed: int, steps: int, tell: Tell) -> Tables:
    """Return the tables on what the paper leaves to future work."""
    tell("hidden opinions that adapt")
    moving = two_timescales(seed, min(steps, MOST_TIMESCALE_STEPS)).tables()
    forgotten = forgetting(seed, min(steps, MOST_OBSERVED_STEPS)).tables()
    tell("networks that change")
    temporal = temporal_networks(seed, min(steps, MOST_TEMPORAL_STEPS))
    tell("continuous time")
    return moving | forgotten | temporal | continuous_time(seed)
