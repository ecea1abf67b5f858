"""All experiments of the report, from one seed."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from peerpressure.reproduction import printed
from peerpressure.reproduction._beyond import (
    BeyondResult,
    beyond,
    observation_error,
    observed_models,
    observers,
    partial_observers,
)
from peerpressure.reproduction._choices import choices, typical_failures
from peerpressure.reproduction._convergence import (
    STEPS,
    approach,
    biased_consensus,
    contraction_products,
    convergence,
    noise_levels,
    transients,
    tuning,
)
from peerpressure.reproduction._regression import residuals, two_agents_recovery
from peerpressure.reproduction._sweep import SweepComparison, shared_graph_sweep, size_effect, sweep_ba
from peerpressure.reproduction.claims import Evidence, audit, protection, verdicts, with_fast_pressure
from peerpressure.reproduction.design import SEED, scale_free_model
from peerpressure.support.progress import deaf_children, end_with_parent
from peerpressure.support.resources import one_thread

# Exact laws cost more than simulated steps, and their power laws are visible well before the longest runs end.
MOST_EXACT_STEPS = 10_000
MOST_APPROACH_STEPS = 5_000
MOST_NOISE_STEPS = 3_000
# The audit uses exact laws and does not depend on the length of the simulated runs.
AUDIT_STEPS = 3_000
# The verdicts are repeated for further seeds, on smaller ensembles.
SEEDS = 10
SEED_STEPS = 1_000
FEW_SEEDS = 20
SEED_SIZES = (20, 90)
SEED_NOISES = (0.1, 10.0)
# The number of further seeds whose verdicts a second process takes, with what else it does.
SEEDS_BESIDE = 6

Progress: TypeAlias = Callable[[str], None]
Tables: TypeAlias = dict[str, pd.DataFrame]
Row: TypeAlias = dict[str, Any]


class Aside(NamedTuple):
    """The tables on what the paper does not state, and the verdicts of some seeds."""

    tables: Tables
    verdicts: list[pd.DataFrame]


# Two processes share the cores, and matrices are small.
@one_thread()
def paper_tables(
    seed: int = SEED,
    steps: int = STEPS,
    replications: int = printed.SWEEP_REPLICATIONS,
    *,
    sizes: Sequence[int] = printed.SWEEP_AGENTS,
    folder: Path | None = None,
    workers: int | None = None,
    seeds: int = SEEDS,
    progress: Progress = lambda stage: None,
) -> Tables:
    """Run every experiment, and return all tables by name.

    Parameters
    ----------
    seed : int, default 14
        Root seed of all experiments.
    steps : int, default 100,000
        Length of the longest runs.
    replications : int, default 20
        Runs per cell of the sweeps.
    sizes : sequence of int
        Graph sizes of the sweeps.
    folder : Path, optional
        Folder of the sweeps, from which an interrupted run continues.
    workers : int, optional
        Processes of sweeps with a folder; with more than one, choices and verdicts for other seeds are computed beside
        all the rest.
    seeds : int, default 10
        Consecutive seeds, from ``seed`` on, for which the verdicts on random evidence are computed.
    progress : callable, optional
        Called with the name of each stage before it begins.

    Returns
    -------
    dict of str to pandas.DataFrame
        The tables; the functions and ``tables`` methods of the experiments document the columns.

    See Also
    --------
    audit : The verdicts on the paper's claims, one of the tables.

    Examples
    --------
    The whole run takes about half a minute::

        tables = paper_tables()
    """
    with _beside(seed, separate_process=(workers or 1) > 1, seeds=seeds, progress=progress) as aside:
        tables = _agreement(seed, steps, progress)
        progress("the sweep over sizes and noise levels")
        sweeps, effect = _sweeps(seed, replications, sizes, folder, workers), size_effect(seed, sizes=sizes)
        evidence, recovered, more = _recovery(seed, steps, tables, sweeps, effect, progress)
        progress("verdicts for further seeds")
        judged = [verdicts(evidence, seed), *_judged(_further(seed, seeds)[SEEDS_BESIDE:])]
        added = aside()
    tables |= added.tables
    # The audit comes last: it judges claims by the tables and results of all other experiments.
    progress("claims against findings")
    compared = exact_vs_sampled(evidence, more, tables)
    by_seed = pd.concat([*judged, *added.verdicts], ignore_index=True).sort_values("seed", kind="stable")
    claims = {"audit": audit(evidence), "audit_seeds": by_seed.reset_index(drop=True)}
    tables["observation_error"] = observation_error()
    return tables | recovered | more.tables() | {"exact_vs_sampled": compared} | claims


def _agreement(seed: int, steps: int, progress: Progress) -> Tables:
    """Return the tables on whether, on what value and how fast agents agree."""
    progress("slow and fast pressure, on a tree and with odd cycles")
    tables = convergence(seed, steps).tables() | {"transients": transients(seed)}
    model = scale_free_model(seed)
    progress("contraction under each schedule")
    tables["contraction"] = contraction_products(min(steps, MOST_EXACT_STEPS))
    progress("disagreement and distance to v")
    tables |= approach(model, min(steps, MOST_APPROACH_STEPS), seed=seed)
    progress("the gain of tuning")
    tables["tuning"] = tuning(model, min(steps, MOST_EXACT_STEPS))
    progress("biased consensus against its predicted law")
    return tables | biased_consensus(model, seed=seed)


def _sweeps(
    seed: int, replications: int, sizes: Sequence[int], folder: Path | None, workers: int | None
) -> SweepComparison:
    """Return the sweeps over both graph families, each in its own folder."""
    two, one = (
        # ``folder and`` passes None on; separate folders, because a folder stores the plan of one sweep.
        sweep_ba(seed, replications, edges=edges, sizes=sizes, folder=folder and folder / f"ba{edges}", workers=workers)
        for edges in printed.SWEEP_EDGES
    )
    return SweepComparison(two, one)


def _recovery(
    seed: int, steps: int, tables: Tables, sweeps: SweepComparison, effect: pd.DataFrame, progress: Progress
) -> tuple[Evidence, Tables, BeyondResult]:
    """Return the results on recovery, as evidence for the audit and as tables."""
    progress("regression on two agents, and on a hundred")
    # With the printed numbers of runs: ``replications`` is for the sweeps.
    pair, hundred = two_agents_recovery(seed), residuals(seed)
    progress("larger noise")
    noise = noise_levels(seed, steps=min(steps, MOST_NOISE_STEPS))
    progress("better observers, schedules and noise designs")
    more = beyond(seed, steps=steps)
    model = scale_free_model(seed)
    evidence = Evidence(
        slow=model,
        fast=with_fast_pressure(model),
        steps=AUDIT_STEPS,
        runs=tables["summary"],
        transients=tables["transients"],
        pair=pair,
        observers=more.observers,
        protection=protection(hundred.law.model),
        partial=more.partial,
        residuals=hundred,
        sweeps=sweeps,
        sizes=effect,
        noise=noise,
    )
    recovered = pair.tables() | hundred.tables() | sweeps.tables() | {"size_effect": effect} | noise.tables()
    return evidence, recovered, more


@contextmanager
def _beside(seed: int, *, separate_process: bool, seeds: int, progress: Progress) -> Iterator[Callable[[], Aside]]:
    """Start what is independent of all else, on request in a ``separate_process``, and yield what waits for it."""
    if not separate_process:
        yield lambda: _aside(seed, seeds, progress)
        return
    # Spawned rather than forked: threads of a compiled run do not survive a fork.
    context = multiprocessing.get_context("spawn")
    result, sender = context.Pipe(duplex=False)
    child = context.Process(target=_send_aside, args=(sender, seed, seeds), daemon=True)
    with deaf_children():
        child.start()
    # With this end closed, a child that dies ends the wait.
    sender.close()

    def wait() -> Aside:
        progress("what the paper does not state")
        received = result.recv()
        if isinstance(received, BaseException):
            raise received
        assert isinstance(received, Aside)
        return received

    try:
        yield wait
    finally:
        child.terminate()
        child.join()


@one_thread()
def _send_aside(sender: Connection, seed: int, seeds: int) -> None:
    end_with_parent()
    try:
        sender.send(_aside(seed, seeds, lambda stage: None))
    # An error of the child is raised where its tables are waited for.
    except Exception as error:
        sender.send(error)


def _aside(seed: int, seeds: int, progress: Progress) -> Aside:
    """Return the tables on what the paper does not state, and the verdicts of some seeds."""
    progress("what the paper does not state")
    # With the verdicts of one seed only, few seeds tell what is typical.
    typical = typical_failures(seed) if seeds > 1 else typical_failures(seed, FEW_SEEDS)
    tables = {"choices": choices(seed), "typical_failures": typical}
    return Aside(tables, _judged(_further(seed, seeds)[:SEEDS_BESIDE]))


def _further(seed: int, count: int) -> range:
    """Return the seeds after the first for which the verdicts are repeated."""
    return range(seed + 1, seed + count)


def _judged(seeds: Sequence[int]) -> list[pd.DataFrame]:
    return [verdicts(small_evidence(seed), seed) for seed in seeds]


def small_evidence(seed: int) -> Evidence:
    """Return the evidence of one seed from exact laws, shorter runs and one graph per size, in seconds."""
    model, both, hundred = scale_free_model(seed), observed_models(seed), residuals(seed)
    times = (printed.STEPS // 10, printed.STEPS)
    observed = [observers(own, name, times, replications=2, seed=seed) for name, own in both.items()]
    two, one = (shared_graph_sweep(seed, edges=edges) for edges in printed.SWEEP_EDGES)
    return Evidence(
        slow=model,
        fast=with_fast_pressure(model),
        steps=SEED_STEPS,
        runs=convergence(seed, SEED_STEPS).tables()["summary"],
        transients=transients(seed),
        pair=two_agents_recovery(seed, 2),
        observers=pd.concat(observed, ignore_index=True),
        protection=protection(hundred.law.model),
        partial=partial_observers(both["scale_free"], [0.5], seed=seed),
        residuals=hundred,
        sweeps=SweepComparison(two, one),
        sizes=size_effect(seed, sizes=SEED_SIZES),
        noise=noise_levels(seed, 2, steps=SEED_STEPS, levels=SEED_NOISES),
    )


def exact_vs_sampled(evidence: Evidence, more: BeyondResult, tables: Tables) -> pd.DataFrame:
    """Return every quantity of the experiments that is known both exactly and from a sample.

    Tables
    ------
    exact_vs_sampled
        experiment, quantity, exact, sampled, standard_error, z: z = (sampled − exact)/standard_error.
    """
    rows = [*_biased_consensus(tables), *_two_agents(evidence), *_residuals(evidence), *_sweep_cells(evidence)]
    rows += [*_noise(evidence), *_beyond(more)]
    return pd.DataFrame(rows)


def _row(experiment: str, quantity: str, exact: float, sampled: float, error: float) -> Row:
    return {
        "experiment": experiment,
        "quantity": quantity,
        "exact": float(exact),
        "sampled": float(sampled),
        "standard_error": float(error),
        "z": float((sampled - exact) / error),
    }


def _biased_consensus(tables: Tables) -> Iterator[Row]:
    values, law = tables["biased_consensus"]["value"].to_numpy(), tables["biased_consensus_law"].iloc[0]
    std, count = values.std(ddof=1), values.size
    # Standard errors use the exact law, not the sample: z is standard normal if both agree.
    error = law["std"] / np.sqrt(count)
    yield _row("biased_consensus", "mean of the consensus limit", law["mean"], values.mean(), error)
    # The standard deviation of a normal sample has standard error σ/√(2n) for large n.
    yield _row("biased_consensus", "its standard deviation", law["std"], std, law["std"] / np.sqrt(2 * count))


def _two_agents(e: Evidence) -> Iterator[Row]:
    for estimate in (e.pair.ols, e.pair.innovations):
        sampled = estimate.value.var(axis=0, ddof=1)
        # The variance of a normal sample has standard error σ²·√(2/(n − 1)).
        error = estimate.variance[0] * np.sqrt(2 / (len(estimate.value) - 1))
        # Agent 1 only: by symmetry both have the same variance, and under regression nearly opposite errors.
        yield _row("two_agents_recovery", f"variance by {estimate.method}", estimate.variance[0], sampled[0], error)


def _residuals(e: Evidence) -> Iterator[Row]:
    residuals, exact = e.residuals.residuals, float(np.trace(e.residuals.law.covariance)) / e.residuals.law.model.n
    # Residuals of one run are correlated over agents; runs are independent.
    each = (residuals**2).mean(axis=1)
    yield _row("residuals", "mean square of a residual", exact, each.mean(), each.std(ddof=1) / np.sqrt(each.size))


def _sweep_cells(e: Evidence) -> Iterator[Row]:
    for sweep in (e.sweeps.two, e.sweeps.one):
        cells = sweep.cells
        # Cells are independent with different variances: the standard deviation of their mean.
        error = np.sqrt((cells["exact_std"] ** 2).sum()) / len(cells)
        name, sampled = f"mean of ⟨σ²⟩ over cells, m = {sweep.edges}", cells["mean_residual_variance"].mean()
        yield _row("sweep_ba", name, cells["exact"].mean(), sampled, error)
        table = sweep.regression().query("term == 'noise'").set_index(["source", "regressor"])
        for regressor in ("noise", "noise_variance"):
            measured, exact = table.loc[("measured", regressor)], table.loc[("exact", regressor), "estimate"]
            name = f"slope on {regressor}, m = {sweep.edges}"
            # The exact fit is on the same graphs, so the difference is due to the noise of the runs.
            yield _row("sweep_ba", name, exact, measured["estimate"], measured["standard_error"])


def _noise(e: Evidence) -> Iterator[Row]:
    fits = e.noise.exponents.set_index(["noise", "quantity", "source"])
    for level in e.noise.exponents["noise"].unique():
        # Bias and std of the mode are not estimated from the runs.
        for quantity in ("weighted_distance", "weighted_disagreement"):
            exact, sampled = (fits.loc[(level, quantity, source)] for source in ("exact", "sampled"))
            name = f"exponent of {quantity}, σ₀ = {level:g}"
            yield _row("noise_levels", name, exact["exponent"], sampled["exponent"], sampled["standard_error"])


def _beyond(more: BeyondResult) -> Iterator[Row]:
    # Only the longest observation: runs of different lengths share their noise and are not independent evidence.
    last = more.observers["steps"].max()
    for row in more.observers[more.observers["steps"] == last].itertuples():
        name = f"variance by {row.observer}, {row.network}, T = {last}"
        yield _row("beyond", name, row.variance, row.sampled, row.standard_error)
    last = more.schedules["steps"].max()
    for row in more.schedules[more.schedules["steps"] == last].itertuples():
        yield _row("beyond", f"rms under {row.schedule}, T = {last}", row.rms, row.sampled_rms, row.standard_error)
