"""What the package says of a combination against its exact law: outcome, and kind, mean and deviation of each agent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from peerpressure.theory import LimitKind, Outcome, Verdict
from tests.truth.combinations import Combination
from tests.truth.second_moments import Reading, late_laws

# Shares of the scale of opinions: of means, and of variances, to which laws agree; and what counts as movement.
MEANS, VARIANCES, SWING, MOVED, APART = 2e-3, 3e-4, 1e-4, 1e-7, 5e-3
# By which factor a variance grows from 4·10⁶ to 10¹⁰ steps if it is unbounded, that of log² t at least.
GROWS = 1.4
# And by which factor at most movements then fall that never end.
CALMS = 0.3


@dataclass(frozen=True)
class Judgement:
    """What is wrong with a verdict; ``unknown`` where it decides nothing, ``open`` where the horizon does not tell."""

    name: str
    wrong: tuple[str, ...] = ()
    unknown: str = ""
    open: bool = False
    without_std: bool = False


def judge(model: Combination) -> Judgement:
    """Compare a verdict with the exact law up to 10^10 steps."""
    verdict = model.verdict
    if verdict.outcome is Outcome.UNKNOWN:
        return Judgement(model.name, unknown=verdict.reasons[-1].code)
    early, late = late_laws(model)
    kinds = true_kinds(model, early, late)
    claimed, grown = _moving(verdict.law.kind), late.variance.mean(axis=0) > 1.01 * early.variance.mean(axis=0)
    falls = late.variance.mean(axis=0) < 0.9 * early.variance.mean(axis=0)
    slow = falls & (verdict.law.kind == LimitKind.CONVERGES) & (kinds != LimitKind.CONVERGES)
    if np.any(claimed & ~_moving(kinds) & grown) or np.any(slow) or _on_its_way(model, verdict, early, late):
        # What grows like log t beside a larger variance, or falls like a small power of t, is not told from a limit.
        return Judgement(model.name, open=True)
    expected = outcomes(model, kinds, late)
    wrong = []
    if verdict.outcome not in expected:
        wrong.append(f"{verdict.outcome.name} instead of {' or '.join(sorted(one.name for one in expected))}")
    wrong += _laws(model, verdict, kinds, late)
    return Judgement(model.name, tuple(wrong), without_std=bool(np.any(np.isnan(verdict.law.std))))


def _on_its_way(model: Combination, verdict: Verdict, early: Reading, late: Reading) -> bool:
    """Whether a mean still moves at 10¹⁰ steps, towards the limit that is claimed, as it does by a small power of t."""
    before, now, claimed = (one.mean(axis=0) for one in (early.mean, late.mean, verdict.law.mean))
    moved = now - before
    return bool(np.any((np.abs(moved) > MEANS * model.size) & ((claimed - now) * moved > 0)))


def _moving(kinds: NDArray[np.object_]) -> NDArray[np.bool_]:
    return np.asarray((kinds == LimitKind.WALKS) | (kinds == LimitKind.DRIFTS))


def true_kinds(model: Combination, early: Reading, late: Reading) -> NDArray[np.object_]:
    """Return what the public opinion of each agent does, from its law at two late times."""
    size, before, now = model.size, early.variance.mean(axis=0), late.variance.mean(axis=0)
    kind = np.empty(model.n, dtype=np.object_)
    kind[:] = LimitKind.CONVERGES
    kind[now > VARIANCES * size**2] = LimitKind.RANDOM_LIMIT
    kind[np.ptp(late.mean, axis=0) > SWING * size] = LimitKind.PERIODIC
    # What moves less and less, as agents do by a small power of t under weak pressure, comes to rest.
    kind[(late.moved > MOVED * size**2) & (late.moved > CALMS * early.moved)] = LimitKind.FLUCTUATES
    kind[now > GROWS * before + 1e-2 * size**2] = LimitKind.DRIFTS if model.phi == 1 else LimitKind.WALKS
    return kind


def outcomes(model: Combination, kinds: NDArray[np.object_], late: Reading) -> set[Outcome]:
    """Return the outcomes that describe the law."""
    signed = "balanced" in model.name
    apart = np.minimum(late.apart(), late.apart(-1)) if signed else late.apart()
    together = bool(apart.max() < APART * model.size)
    growing = _moving(kinds)
    if growing.any():
        common = growing.all() and apart.max() < 0.05 * late.std.max()
        if common and "0.2" in model.scale:
            # Growing noise may also move a value that is held in place, or drive agents apart, more slowly.
            return {Outcome.RANDOM_WALK, Outcome.BIASED_CONSENSUS, Outcome.DISAGREEMENT, Outcome.BIPARTITE}
        return {Outcome.RANDOM_WALK} if common else {Outcome.CLUSTERS, Outcome.DISAGREEMENT}
    if np.any(kinds == LimitKind.PERIODIC):
        return {Outcome.PERIODIC, Outcome.OSCILLATION}
    if not together:
        pairs = bool(np.all(np.sort(apart, axis=1)[:, 1] < APART * model.size))
        return {Outcome.DISAGREEMENT, Outcome.CLUSTERS} if pairs or model.n == 2 else {Outcome.DISAGREEMENT}
    return _common(model, late, camps=signed and late.apart().max() > APART * model.size)


def _common(model: Combination, late: Reading, *, camps: bool) -> set[Outcome]:
    mean, std, size = late.mean[-1], late.std, model.size
    if "balanced" in model.name and max(np.abs(mean).max(), std.max()) < MEANS * size:
        return {Outcome.NEUTRAL}
    if camps or "balanced" in model.name:
        return {Outcome.BIPARTITE}
    off = max(abs(float(mean[0]) - model.system.consensus_value), float(std.max()))
    if off < 1e-5 * size:
        return {Outcome.CONSENSUS}
    return {Outcome.BIASED_CONSENSUS} if off > MEANS * size else {Outcome.CONSENSUS, Outcome.BIASED_CONSENSUS}


def _laws(model: Combination, verdict: Verdict, kinds: NDArray[np.object_], late: Reading) -> list[str]:
    law, size, wrong = verdict.law, model.size, []
    different = np.flatnonzero(law.kind != kinds)
    for i in different:
        # A variance or a swing near its threshold may be called either way.
        near = late.variance.mean(axis=0)[i] < 4 * VARIANCES * size**2 and np.ptp(late.mean[:, i]) < 4 * SWING * size
        # Where noise grows, so do fluctuations about a mean that is restored.
        grows = "0.2" in model.scale and law.kind[i] is LimitKind.FLUCTUATES and kinds[i] is LimitKind.WALKS
        if not (near or grows):
            wrong.append(f"agent {i} {law.kind[i].value}, true is {kinds[i].value}")
    for k, mean in enumerate(late.mean):
        said = law.at(late.t - len(late.mean) + 1 + k)
        if not np.all(np.isfinite(said)):
            # Under pressure that depends on parity, values are known of two sides that do not adapt, and no others.
            sides = verdict.outcome is Outcome.OSCILLATION and not model.rate
            turns = verdict.outcome in (Outcome.OSCILLATION, Outcome.PERIODIC)
            parity = "floor" in model.pressure and turns and not sides
            wrong += [] if "0.2" in model.scale or parity else ["means are not given"]
            break
        if np.abs(said - mean).max() > MEANS * size:
            wrong.append(f"means {said.round(4)}, true are {mean.round(4)}")
            break
    finite = np.isfinite(law.std) & ~_moving(kinds)
    variance = late.variance.mean(axis=0)
    off = np.abs(law.std[finite] ** 2 - variance[finite])
    if np.any(off > VARIANCES * size**2 + 2e-3 * variance[finite]):
        wrong.append(f"deviations {law.std.round(4)}, true are {late.std.round(4)}")
    return wrong
