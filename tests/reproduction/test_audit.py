"""The audit: each verdict as it stands, and turned by evidence from a model for which the claim fares otherwise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from peerpressure import Constant, Gaussian, Linear, Model, StudentT
from peerpressure.networks import cycle, k2
from peerpressure.reproduction import (
    Comparison,
    Evidence,
    audit,
    convergence,
    noise_levels,
    printed,
    residuals,
    size_effect,
    sweep_ba,
    two_agents_recovery,
)
from peerpressure.reproduction._beyond import observers, partial_observers
from peerpressure.reproduction._sweep import fit
from peerpressure.reproduction.claims import CHECKS, Check, _empirical, _theory, protection, with_fast_pressure
from peerpressure.reproduction.design import scale_free_model
from peerpressure.reproduction.printed import PrintedTerm
from peerpressure.theory.two_agents import printed_gram

Turn = Callable[[Evidence], Evidence]
TIMES = (10, 100, 1_000)
SMALL = scale_free_model(3, agents=12, noise=1.0)
MANY = scale_free_model(3, agents=30)
FROZEN = Model(k2(), [1.0, 2.0], noise=Gaussian(1.0, temporal="frozen"), start=[0.0, 0.0])


def pair_of(**changes: object) -> Turn:
    """Return a turn to two agents who are not quite the paper's."""
    model = Model(k2(), [1.0, 2.0], **({"noise": Gaussian(1.0)} | changes))  # type: ignore[arg-type]
    return lambda e: replace(e, pair=two_agents_recovery(replications=5, model=model))


def watched(model: Model) -> pd.DataFrame:
    both = {"two_agents": model, "scale_free": SMALL}
    return pd.concat([observers(m, name, TIMES, replications=5) for name, m in both.items()], ignore_index=True)


@pytest.fixture(scope="module")
def evidence() -> Evidence:
    pair = two_agents_recovery(3, 60)
    two, one = (sweep_ba(3, edges=edges) for edges in (2, 1))
    return Evidence(
        slow=MANY,
        fast=with_fast_pressure(MANY),
        steps=1_000,
        runs=convergence(3, 1_000, agents=30).tables()["summary"],
        pair=pair,
        observers=watched(pair.model),
        protection=protection(SMALL, TIMES),
        partial=partial_observers(SMALL, [0.5, 1.0], steps=20),
        residuals=residuals(3, 20, agents=40, steps=40),
        sweeps=Comparison(two, one),
        sizes=size_effect(3, 300),
        noise=noise_levels(3, 10, steps=600, levels=[0.5, 5.0], model=MANY),
    )


def test_every_claim_has_a_row_with_a_verdict_and_a_reason(evidence: Evidence) -> None:
    table = audit(evidence)
    assert len(table) == len(CHECKS)
    assert table["id"].is_unique
    assert table.columns.tolist() == ["id", "claim", "where", "printed", "found", "verdict", "why"]
    assert set(table["verdict"]) <= {"confirmed", "corrected", "refuted", "cannot be tested"}
    assert not (table == "").any(axis=None)
    assert not table["why"].str.contains("nan").any()
    assert table["why"].str.contains(r"\d").all()


STANDING: dict[Check, str] = {
    _theory.contracts: "confirmed",
    _theory.reaches_v: "confirmed",
    _theory.noise_vanishes: "corrected",
    _theory.growth_condition: "confirmed",
    _theory.oscillates: "corrected",
    _empirical.slows_down: "corrected",
    _theory.coefficients: "confirmed",
    _theory.even_variance: "corrected",
    _theory.odd_variance: "corrected",
    _theory.gram: "corrected",
    _theory.series_limit: "confirmed",
    _theory.inverse_limit: "confirmed",
    _theory.sigma: "refuted",
    _theory.instability: "refuted",
    _empirical.simplest_case: "refuted",
    _empirical.cannot_be_recovered: "refuted",
    _empirical.protected: "refuted",
    _empirical.normal_residuals: "corrected",
    _empirical.response: "corrected",
    _empirical.label: "corrected",
    _empirical.print_agrees: "confirmed",
    _empirical.regression_two: "corrected",
    _empirical.regression_one: "corrected",
    _empirical.linear_in_variance: "confirmed",
}


@pytest.mark.parametrize("check", STANDING, ids=lambda check: check.__name__)
def test_verdicts_as_they_stand(evidence: Evidence, check: Check) -> None:
    assert check(evidence).verdict == STANDING[check]


def _hasty(e: Evidence) -> Evidence:
    return replace(e, slow=e.fast)


def _runs(**sources: str) -> Turn:
    """Return a turn to runs in which one took the place of another."""

    def turn(e: Evidence) -> Evidence:
        runs = e.runs.set_index("run")
        for name, source in sources.items():
            runs.loc[name] = e.runs.set_index("run").loc[source]
        return replace(e, runs=runs.reset_index())

    return turn


def _louder(levels: list[float], model: Model) -> Turn:
    return lambda e: replace(e, noise=noise_levels(3, 5, steps=600, levels=levels, model=model))


def _printing(e: Evidence, regressor: str, response: str = "mean_residual_variance") -> Evidence:
    """Let the paper have printed our own fits."""
    tables = {}
    for result in (e.sweeps.two, e.sweeps.one):
        fits = fit(result.cells, response, regressor).set_index("term")
        tables[result.edges] = {
            term: PrintedTerm(
                row.estimate, row.standard_error, row.t, row.p, 1e-3 * abs(row.estimate), row.low, row.high, 0.0
            )
            for term, row in zip(fits.index, fits.itertuples(), strict=True)
        }
    return replace(e, printed=tables)


def _misprint(**changes: float) -> Turn:
    def turn(e: Evidence) -> Evidence:
        tables = {edges: dict(terms) for edges, terms in printed.REGRESSIONS.items()}
        for terms in tables.values():
            terms["noise"] = replace(terms["noise"], **changes)
        return replace(e, printed=tables)

    return turn


def _sweeps(change: Callable[[pd.DataFrame], pd.DataFrame], families: tuple[int, ...] = (2, 1)) -> Turn:
    def turn(e: Evidence) -> Evidence:
        two, one = (
            replace(part, rows=change(part.rows)) if part.edges in families else part
            for part in (e.sweeps.two, e.sweeps.one)
        )
        return replace(e, sweeps=Comparison(two, one))

    return turn


def _larger(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.assign(mean_residual_variance=3 * rows["mean_residual_variance"], exact=3 * rows["exact"])


def _same_family(e: Evidence) -> Evidence:
    return replace(e, sweeps=Comparison(e.sweeps.two, replace(e.sweeps.two, edges=1)))


def _sizes(power: float) -> Turn:
    return lambda e: replace(
        e, sizes=e.sizes.assign(variance=0.25 * (e.sizes["agents"] / 90) ** power, standard_error=1e-3)
    )


TUNED = replace(MANY, pressure=Linear.tuned(MANY.network, MANY.s))
WEAK = replace(MANY, stubbornness=np.full(30, 1e-18))
TURNS: list[tuple[Check, str, Turn]] = [
    (_theory.contracts, "refuted", lambda e: replace(e, slow=WEAK)),
    (_theory.reaches_v, "refuted", _hasty),
    (_theory.reaches_v, "cannot be tested", lambda e: replace(e, slow=replace(MANY, pressure=Linear(10.0)))),
    (_theory.noise_vanishes, "refuted", _hasty),
    (_theory.noise_vanishes, "confirmed", lambda e: replace(e, fast=e.slow)),
    (_theory.growth_condition, "refuted", _hasty),
    (_theory.oscillates, "confirmed", _runs(fast_cycles="fast_tree")),
    (_theory.oscillates, "refuted", _runs(fast_tree="fast_cycles")),
    (_empirical.slows_down, "confirmed", _louder([0.001, 5.0], TUNED)),
    (_empirical.slows_down, "refuted", _louder([1.0, 1.001], MANY)),
    (_theory.coefficients, "refuted", pair_of(stubbornness=2.0)),
    (_theory.even_variance, "confirmed", pair_of(noise=Gaussian([1.0, 0.0]))),
    (_theory.even_variance, "refuted", pair_of(stubbornness=2.0)),
    (_theory.odd_variance, "confirmed", pair_of(noise=Gaussian([1.0, 0.0]))),
    (_theory.odd_variance, "refuted", pair_of(stubbornness=2.0)),
    (_theory.gram, "refuted", pair_of(stubbornness=2.0)),
    (
        _theory.gram,
        "confirmed",
        lambda e: replace(e, pair=replace(e.pair, law=replace(e.pair.law, H=printed_gram(100)))),
    ),
    (_theory.series_limit, "refuted", pair_of(stubbornness=2.0)),
    (_theory.inverse_limit, "refuted", pair_of(stubbornness=2.0)),
    (_theory.sigma, "confirmed", pair_of(pressure=Constant(0.0))),
    (_theory.instability, "confirmed", pair_of(noise=Gaussian(1e-12))),
    (_empirical.simplest_case, "confirmed", lambda e: replace(e, observers=watched(SMALL))),
    (_empirical.cannot_be_recovered, "confirmed", lambda e: replace(e, observers=watched(FROZEN))),
    (_empirical.protected, "confirmed", lambda e: replace(e, protection=protection(FROZEN, TIMES))),
    (_empirical.protected, "cannot be tested", lambda e: replace(e, protection=protection(SMALL, (5, 10)))),
    (
        _empirical.normal_residuals,
        "confirmed",
        lambda e: replace(
            e, residuals=residuals(3, 5, steps=20, model=Model(cycle(40), np.zeros(40), noise=Gaussian(1)))
        ),
    ),
    (
        _empirical.normal_residuals,
        "refuted",
        lambda e: replace(
            e, residuals=residuals(1, 2, steps=2, model=Model(cycle(201), np.zeros(201), noise=StudentT(df=2.2)))
        ),
    ),
    (_empirical.normal_residuals, "cannot be tested", lambda e: replace(e, residuals=residuals(3, 5, agents=12))),
    (_empirical.response, "confirmed", lambda e: _printing(e, "noise", "residual_variance")),
    (_empirical.response, "refuted", _misprint(estimate=100.0, t=1000.0)),
    (_empirical.label, "confirmed", lambda e: _printing(e, "noise_variance")),
    (_empirical.label, "refuted", _misprint(t=1.0)),
    (_empirical.print_agrees, "refuted", _misprint(p=0.05)),
    (_empirical.print_agrees, "refuted", _misprint(high=0.5)),
    (_empirical.regression_two, "confirmed", lambda e: _printing(e, "noise_variance")),
    (_empirical.regression_two, "refuted", _misprint(estimate=-1.0)),
    (_empirical.regression_one, "confirmed", lambda e: _printing(e, "noise_variance")),
    (_empirical.regression_one, "refuted", _misprint(estimate=-1.0)),
    (_empirical.linear_in_variance, "refuted", _sweeps(lambda rows: rows.assign(noise=rows["noise"] ** 2))),
    (_empirical.linear_in_variance, "cannot be tested", _sweeps(lambda rows: rows[rows["noise"] < 6.2])),
    (_empirical.independent_of_size, "confirmed", _sizes(0.0)),
    (_empirical.independent_of_size, "corrected", _sizes(-0.03)),
    (_empirical.independent_of_size, "refuted", _sizes(-1.0)),
    (_empirical.identical_families, "confirmed", _same_family),
    (_empirical.identical_families, "refuted", _sweeps(_larger, (1,))),
]


@pytest.mark.parametrize(("check", "verdict", "turn"), TURNS, ids=[f"{c.__name__}-{v}" for c, v, _ in TURNS])
def test_verdicts_turn_with_the_evidence(evidence: Evidence, check: Check, verdict: str, turn: Turn) -> None:
    assert check(turn(evidence)).verdict == verdict


def test_every_check_is_turned_at_least_once() -> None:
    assert {check for check, _, _ in TURNS} == set(CHECKS)
