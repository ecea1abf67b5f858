"""The engine of the page computes what the library computes: the same runs, moments, estimates and verdicts."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import peerpressure as pp
from peerpressure import networks, noise
from peerpressure.errors import FormulaError
from peerpressure.support.formula import parse
from peerpressure.theory import Regime, regime_of
from tests.explorer.test_page_logic import run_node

ENGINE = "../../../src/peerpressure/explorer/static/js/engine"
LAWS: dict[str, Callable[..., noise.Noise]] = {
    "gaussian": pp.Gaussian,
    "laplace": pp.Laplace,
    "uniform": noise.Uniform,
    "student": pp.StudentT,
    "rademacher": noise.Rademacher,
}
PRESSURES = (
    "2", "t", "0.2*t", "t^2", "2^sqrt(t)", "log(1 + t)", "t^0.3", "1/t", "2 + 1/t", "t*log(1 + t)", "sqrt(t)/3 + 1",
    "max(1, t/4)", "t*log(1+t)^2", "-(-t) + 3*e", "floor(t/3) + 1", "exp(t/10)", "max(0, t - 1e9*max(0, t - 9))",
)  # fmt: skip


def evaluated(expression: str, given: Any) -> Any:
    """Return the value of an expression of the engine, and of what is given, by one process of Node."""
    code = f"""
        import {{ text }} from "node:stream/consumers";
        const engine = await import("{ENGINE}/engine.js");
        const {{ growthOf, leadOf }} = await import("{ENGINE}/growth.js");
        const {{ evaluate }} = await import("{ENGINE}/formula.js");
        const attempt = (work) => {{
            try {{ return work(); }} catch (error) {{ return {{ [error.name]: error.message }}; }}
        }};
        const given = JSON.parse(await text(process.stdin));
        console.log(JSON.stringify({expression}, (key, value) => ArrayBuffer.isView(value) ? [...value] : value));"""
    return json.loads(run_node("--input-type=module", "--eval", code, text=json.dumps(given)))


def random_case(number: int) -> dict[str, Any]:
    """Return a scenario as the page holds it, and what to do with it."""
    rng = np.random.default_rng(number)
    n = int(rng.integers(2, 30)) if number else 150
    directed = bool(rng.random() < 0.4)
    # A ring holds all together, in both directions or in one; the rest is by chance.
    pairs = {(i, (i + 1) % n) for i in range(n)} | {tuple(rng.integers(0, n, 2).tolist()) for _ in range(n)}
    kept = {(i, j) if directed else (min(i, j), max(i, j)) for i, j in pairs if i != j}
    if number % 5 == 1:
        # Only between even and odd agents: two sides where n is even.
        kept = {(i, j) for i, j in kept if (i + j) % 2 or abs(i - j) == n - 1}
    edges = sorted(kept)
    law = str(rng.choice([*LAWS, "gaussian", "gaussian"]))
    heard: dict[str, Any] = {
        "law": law,
        "std": float(rng.uniform(0.05, 2)),
        "temporal": ["white", "frozen"][number % 3 == 2],
    }
    heard |= {"df": float(rng.uniform(2.5, 9))} if law == "student" else {}
    agents: dict[str, Any] = {"hidden": rng.normal(size=n).tolist(), "stubbornness": rng.uniform(0.3, 2, n).tolist()}
    agents |= {"start": rng.normal(size=n).tolist()} if rng.random() < 0.4 else {}
    weights = rng.uniform(0.2, 2, len(edges)).tolist()
    return {
        "scenario": {
            "network": {"edges": edges, "weights": weights, "directed": directed},
            "agents": agents,
            "pressure": {"formula": PRESSURES[number % len(PRESSURES)]},
            "noise": heard,
        },
        "steps": int(rng.integers(2, 30)),
        "seed": int(rng.integers(0, 2**53)),
        "replicate": int(rng.integers(0, 1000)),
    }


CASES = 50


@cache
def cases() -> list[tuple[dict[str, Any], pp.Model, dict[str, Any]]]:
    """Return each case, its model, and what the engine makes of it."""
    given = [random_case(number) for number in range(CASES)]
    made = """given.map(({ scenario, steps, seed, replicate }) => {
        const model = engine.modelOf(scenario), states = engine.simulate(model, { steps, seed, replicate });
        return { states, moments: engine.moments(model, steps), mean: engine.stdOfMean(model, steps),
            recovered: attempt(() => engine.recover(model, states, steps)),
            verdict: attempt(() => engine.verdict(model)) } })"""
    return [(case, model_of(case["scenario"]), one) for case, one in zip(given, evaluated(made, given), strict=True)]


def model_of(scenario: dict[str, Any]) -> pp.Model:
    network, agents, heard = scenario["network"], scenario["agents"], dict(scenario["noise"])
    edges = np.array(network["edges"])
    return pp.Model(
        networks.Network.from_edges(edges, network["weights"], directed=network["directed"]),
        hidden=agents["hidden"],
        stubbornness=agents["stubbornness"],
        pressure=scenario["pressure"]["formula"],
        noise=LAWS[heard.pop("law")](**heard),
        start=agents.get("start", "hidden"),
    )


def test_the_same_seed_is_the_same_run() -> None:
    worst = 0.0
    for case, model, made in cases():
        states = np.asarray(pp.simulate(model, case["steps"], [case["replicate"]], seed=case["seed"]).states)
        worst = max(worst, np.abs(states.ravel() - made["states"]).max() / np.abs(states).max())
    assert worst < 1e-14


def test_mean_and_band_are_exact() -> None:
    for case, model, made in cases():
        exact = pp.moments(model, case["steps"])
        rows = exact.times.astype(np.int64)
        mean, std = (np.reshape(made["moments"][name], (-1, model.n))[rows] for name in ("mean", "std"))
        np.testing.assert_allclose(mean, exact.mean, rtol=0, atol=1e-14)
        np.testing.assert_allclose(std, exact.std, rtol=1e-10)
        np.testing.assert_allclose(made["mean"], np.sqrt(exact.covariance.mean()), rtol=1e-10)


def test_opinions_are_recovered_as_the_library_does() -> None:
    refused = 0
    for case, model, made in cases():
        found = made["recovered"]
        if "NotCovered" in found:
            assert ("frozen" in found["NotCovered"]) or ("no digit" in found["NotCovered"])
            refused += 1
            continue
        run = pp.simulate(model, case["steps"], [case["replicate"]], seed=case["seed"])
        estimate = pp.recover(run, model, method="innovations")
        np.testing.assert_allclose(found["value"], estimate.value[0], rtol=0, atol=1e-10)
        np.testing.assert_allclose(found["std"], estimate.std, rtol=1e-8)
    assert refused < CASES / 3


def test_verdicts_are_those_of_the_library() -> None:
    seen = set()
    for case, model, made in cases():
        assert "outcome" in made["verdict"], (case["scenario"]["pressure"], made["verdict"])
        judged = pp.diagnose(model)
        assert made["verdict"]["outcome"] == judged.outcome.name.lower(), case["scenario"]["pressure"]
        assert made["verdict"]["value"] == pytest.approx(judged.value, rel=1e-9)
        seen.add(made["verdict"]["outcome"])
    assert seen >= {"consensus", "biased_consensus", "oscillation", "disagreement"}


FORMULAS = (
    *PRESSURES, "2**t", "-t^2", "2^-t", "t^2^0.5", "1e3/t", ".5*t", "2.*t", " t + 1 ", "+t", "min(t, 3, 2*t,)", "−t·2",
    "t²", "t⁻²", "log1p(t)*sqrt(t)", "log10(t) + log2(t)", "expm1(t/50)", "abs(sin(t)) + 1", "ceil(t/2)", "t^1.0000001",
    "1^(1/0.0001*t)", "exp(-t)", "exp(sqrt(t))/t^9", "t^3/t^2", "((t))", "t - - t", "2*-t", "(-1)^t", "t^(1/2)", "5",
    "log(t)^3", "t*log(t)", "t/log(t)", "exp(2*log(1+t))", "max(t, t^2)", "min(t, 5)", "2^(3*t)*3^(-t)",
)  # fmt: skip
NO_FORMULAS = (
    "", " ", "x", "2t", "t t", "t(2)", "sqrt", "sqrt()", "sqrt(t, t)", "min(t)", "1/0", "log(-1)", "t)", "(t", "t,",
    "(t, 2)", "0x1f", "1_0", "01*t", "__import__('os')", "t.real", "t if t else 2", "t # 1", "1e999", "t;t", "[t]",
    "t = 2", "lambda: t", "sin(cos)", "pi()", "+", "t + ", "t ^ * 2", "\\u0074", "é", "t // 2", "t % 2", "~t",
    "t and t", "True", "min(a=1, b=2)", "(" * 51 + "t" + ")" * 51, " + ".join(["t"] * 31), "1" * 400, "constructor",
    "toString(t)", "t" * 1501,
)  # fmt: skip


def test_formulas_are_read_as_the_library_reads_them() -> None:
    times = [1.0, 2.0, 3.5, 40.0, 1000.0]
    made = "given[0].map((one) => attempt(() => given[1].map((t) => String(evaluate(engine.parseFormula(one), t)))))"
    values = evaluated(made, [[*FORMULAS, *NO_FORMULAS], times])
    for text, found in zip(FORMULAS, values, strict=False):
        np.testing.assert_allclose(
            [float(one.replace("Infinity", "inf")) for one in found], parse(text)(times), rtol=1e-13
        )
    for text, found in zip(NO_FORMULAS, values[len(FORMULAS) :], strict=True):
        with pytest.raises(FormulaError):
            parse(text)
        assert list(found) == ["FormulaError"], text


def test_growth_is_that_of_the_library_or_not_decided() -> None:
    legal = [text for text in FORMULAS if (parse(text)(np.geomspace(1, 1e9, 200)) >= 0).all()]
    found = evaluated("given.map((one) => attempt(() => growthOf(leadOf(engine.parseFormula(one)))))", legal)
    names = {Regime.BOUNDED: "bounded", Regime.FAST: "fast"}
    decided = [(text, one) for text, one in zip(legal, found, strict=True) if isinstance(one, str)]
    assert [one for one in decided if one[1] != names.get(regime_of(pp.schedules.Formula(one[0])), "slow")] == []
    assert len(decided) > 0.8 * len(legal)


REFUSED: dict[str, dict[str, Any]] = {
    "network.temporal": {"network": {"edges": [[0, 1]], "temporal": "rewiring"}},
    "negative weights": {"network": {"edges": [[0, 1, -1]]}},
    "network.named": {"network": {"named": "karate"}},
    "scenario.topics": {"topics": {"names": ["a", "b"]}},
    "agents.adaptation": {"agents": {"hidden": [0, 1], "adaptation": {"rate": 0.1}}},
    "agents.zealots": {"agents": {"hidden": [0, 1], "zealots": [0]}},
    "a law to draw them from": {"agents": {"hidden": {"law": "uniform"}}},
    "the pressure tuned": {"pressure": {"kind": "tuned"}},
    "ar1 in time": {"noise": {"law": "gaussian", "temporal": {"kind": "ar1", "coefficient": 0.5}}},
    "the noise custom": {"noise": {"law": "custom"}},
    "scale changes": {"noise": {"law": "gaussian", "time_scale": {"kind": "linear"}}},
    "at most 500 agents": {"network": {"edges": [[0, 500]]}},
    "parts that do not hear each other": {"network": {"edges": [[0, 1], [2, 3]]}, "agents": {"hidden": [0, 1, 2, 3]}},
    "sin is not decided": {"pressure": {"formula": "2 + sin(t)"}},
    "no long run": {"pressure": {"kind": "table", "values": [1, 2]}},
    "is -1 at t = 1": {"pressure": {"formula": "t - 2"}},
}


def test_what_is_not_covered_is_refused_by_name() -> None:
    base: dict[str, Any] = {"network": {"edges": [[0, 1]]}, "agents": {"hidden": [0, 1]}, "pressure": {"formula": "t"}}
    made = """given.map((one) => attempt(() => {
        const model = engine.modelOf(one); engine.simulate(model, { steps: 1 }); return engine.verdict(model) }))"""
    found = evaluated(made, [base, *({**base, **one} for one in REFUSED.values())])
    assert found[0]["outcome"] == "consensus"
    assert [
        one for one, answer in zip(REFUSED, found[1:], strict=True) if one not in answer.get("NotCovered", "")
    ] == []
