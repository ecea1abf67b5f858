"""An exported page computes what the server would answer where its engine covers the model, and offers no more."""

from __future__ import annotations

import base64
import json
import tomllib
from functools import cache
from typing import Any

import numpy as np
import pytest

from peerpressure.explorer.answers import exact_answer, recovered_answer, run_answer
from peerpressure.explorer.catalogue import catalogue
from peerpressure.explorer.models import ModelCache
from peerpressure.explorer.protocol import Limits, unpack
from peerpressure.explorer.recorded import _PLAYED, record
from peerpressure.scenario import starter_text
from tests.explorer.driving import SMALL
from tests.explorer.test_page_logic import run_node

PLAYABLE = "../../../src/peerpressure/explorer/static/js/playable.js"
# What a reader may set in the file.
CHANGES: list[dict[str, Any]] = [
    {"pressure": {"kind": "power", "exponent": 1.5}, "run": {"steps": 25, "replicates": 3, "seed": 1}},
    {"pressure": {"formula": "2^sqrt(t)"}, "noise": {"law": "laplace", "std": 0.3}},
    {"pressure": {"kind": "constant", "value": 2}, "noise": {"law": "none"}},
    {"noise": {"law": "student", "df": 4, "std": 0.2}},
    {"pressure": {"kind": "tuned"}, "noise": {"law": "gaussian", "std": 0.2}},
]


@cache
def recorded(name: str = "SMALL") -> Any:
    scenario = SMALL if name == "SMALL" else json.loads(name)
    return record({"scenario": scenario}, Limits(), "")


def played(questions: list[tuple[str, dict[str, Any]]], one: Any = None) -> list[dict[str, Any]]:
    """Return what Node makes of questions about changed scenarios: an answer, or the error in its place."""
    code = f"""
        import {{ text }} from "node:stream/consumers";
        const page = await import("{PLAYABLE}");
        const {{ questions, model, base }} = JSON.parse(await text(process.stdin));
        const answer = (question, scenario) => {{
            try {{ return Buffer.from(page.played(question, scenario, model, [3])).toString("base64"); }}
            catch (error) {{ return {{ [error.name]: error.message }}; }} }};
        console.log(JSON.stringify(questions.map(([question, scenario]) =>
            ({{ can: page.canPlay(scenario, base), answer: answer(question, scenario) }}))));"""
    one = one or recorded()
    given = {"questions": questions, "model": json.loads(one.answers["0/model"]), "base": one.scenarios[0]}
    return list(json.loads(run_node("--input-type=module", "--eval", code, text=json.dumps(given))))


@cache
def played_changes() -> dict[str, list[dict[str, Any]]]:
    """Return what the page answers to each question about each of the changes."""
    names = ("run", "exact", "recovered")
    found = iter(played([(name, {**SMALL, **change}) for name in names for change in CHANGES]))
    return {name: [next(found) for _ in CHANGES] for name in names}


@pytest.mark.parametrize("number", range(len(CHANGES)))
def test_an_exported_page_computes_what_the_server_answers(number: int) -> None:
    scenario = {**SMALL, **CHANGES[number]}
    limits = Limits()
    built = ModelCache(limits).build({"scenario": scenario | {"observe": {"methods": ["auto"]}}})
    questions = {
        "run": run_answer(built, limits),
        "exact": exact_answer(built, {"agents": [3]}, limits),
        "recovered": recovered_answer(built, limits),
    }
    for question, answer in questions.items():
        found = played_changes()[question][number]
        assert found["can"]
        facts, arrays = unpack(base64.b64decode(found["answer"]))
        own, expected = unpack(answer)
        if question == "recovered":
            # Without noise the server solves for what the page knows one step later.
            both = np.intersect1d(arrays["times"], expected["times"])
            assert both.size >= expected["times"].size - 1
            for one in (arrays, expected):
                rows = np.isin(one["times"], both)
                one |= {name: one[name][rows] for name in ("times", "values", "std")}
        for name, values in expected.items():
            np.testing.assert_allclose(arrays[name], values, atol=2e-6, rtol=2e-5, err_msg=f"{question} {name}")
        if question == "run":
            assert facts["verdict"]["outcome"] == own["verdict"]["outcome"]
            assert facts["verdict"]["heading"] == own["verdict"]["heading"]
            assert facts["pressure"] == own["pressure"]
            assert {"n", "class_values", "own_limits", "signed", "replicates"} <= set(facts)


def test_what_the_engine_does_not_cover_is_refused_by_name_or_not_offered() -> None:
    assert "a table" not in json.dumps(_PLAYED)
    runs: dict[str, dict[str, Any]] = {
        "at most": {"run": {"steps": 10**6, "seed": 1}},
        "ar1 in time": {"noise": {"law": "gaussian", "std": 1, "temporal": {"kind": "ar1", "coefficient": 0.5}}},
        "t +": {"pressure": {"formula": "t +"}},
        "another network": {"network": {"named": "karate"}},
        "another seed": {"run": {"steps": 40, "replicates": 3, "seed": 2}},
    }
    asked = [*(("run", {**SMALL, **change}) for change in runs.values()), ("budget", SMALL)]
    long, correlated, formula, network, seed, budget = played(asked)
    assert not network["can"]
    assert not seed["can"]
    assert "FormulaError" in formula["answer"]
    for one, words in ((long, "at most"), (correlated, "ar1 in time"), (budget, "save the scenario")):
        assert words in one["answer"]["NotCovered"]
    # Controls are offered for what the page computes, and for nothing else.
    choices = json.loads(recorded().catalogue)
    assert choices["recorded"]["plays"]
    assert {name: [one["id"] for one in choices[name]] for name in _PLAYED} == {
        name: [one["id"] for one in catalogue(Limits(), None)[name] if one["id"] in ids]
        for name, ids in _PLAYED.items()
    }
    assert all(len(choices[name]) == len(ids) for name, ids in _PLAYED.items())
    adapting = json.dumps({**SMALL, "agents": {**SMALL["agents"], "adaptation": {"rate": 0.1}}})
    one = recorded(adapting)
    assert not json.loads(one.catalogue)["recorded"]["plays"]
    assert "0/model" not in one.answers


AR1 = {"law": "gaussian", "std": 1.0, "temporal": {"ar1": 0.5}}
# Scenarios, and whether a page of them plays.
PAGES: dict[str, tuple[dict[str, Any], bool]] = {
    "starter": (tomllib.loads(starter_text()), True),
    "in discrete time": (SMALL | {"time": {"continuous": False}}, True),
    "tuned": (SMALL | {"pressure": {"kind": "tuned"}}, True),
    "numbers": (SMALL | {"pressure": 0.5, "noise": 0.2}, True),
    "optimal": (SMALL | {"pressure": {"kind": "optimal"}}, False),
    "correlated noise": (SMALL | {"noise": AR1}, False),
    "fading noise": (SMALL | {"noise": {"law": "gaussian", "std": 1.0, "time_scale": {"formula": "1/t"}}}, False),
}


@pytest.mark.parametrize("name", PAGES)
def test_what_a_page_lets_a_reader_change_it_computes(name: str) -> None:
    scenario, plays = PAGES[name]
    one = record({"scenario": scenario}, Limits(), "")
    assert json.loads(one.catalogue)["recorded"]["plays"] == plays
    if plays:
        base = dict(one.scenarios[0]) | {"run": {**one.scenarios[0]["run"], "steps": 20}}
        changes: list[dict[str, Any]] = [{"pressure": {"kind": "power", "exponent": 0.5}}, {}]
        changes.append({"noise": {"law": "laplace", "std": 0.1}})
        for found in played([("run", base | change) for change in changes], one):
            assert found["can"]
            assert isinstance(found["answer"], str), found
