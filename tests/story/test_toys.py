"""What the story shows is what the library computes: the same runs, the same numbers, and Python that prints them."""

from __future__ import annotations

import contextlib
import io
import json
import re
from functools import cache
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import peerpressure as pp
from peerpressure.explorer.bundle import INDEX as EXPLORER
from peerpressure.explorer.links import state_of
from peerpressure.explorer.protocol import Limits
from peerpressure.explorer.server import PORT
from peerpressure.explorer.story import INDEX, TUTORIAL, club, page
from peerpressure.scenario import Experiment, scenario_from
from tests.explorer.driving import fragment_of
from tests.explorer.test_page_logic import run_node

TOYS = "../../../src/peerpressure/explorer/static/js/story/toys.js"
# Settings of each control: the first, both ends, and where something changes.
SETTINGS: dict[str, list[float]] = {
    "friends": [90, 0, 41],
    "steady": [1, 0, 50],
    "agreement": [3000, 300, 0, 17],
    "lifted": [0, 1],
    "rooms": [0.5, 1, 1.25, 2],
    "counting": [0, 1, 2],
    "unmasking": [1, 10, 200],
    "hiding": [10, 1, 20],
}


@cache
def toys() -> dict[str, list[dict[str, Any]]]:
    """Return what Node makes of each toy at each setting."""
    code = f"""
        import {{ text }} from "node:stream/consumers";
        const {{ toysOf }} = await import("{TOYS}");
        const {{ club, settings }} = JSON.parse(await text(process.stdin));
        console.log(JSON.stringify(Object.fromEntries(toysOf(club).map(toy => [toy.id, settings[toy.id].map(value => ({{
            value, ...toy.show(value), python: toy.python(value), scenario: toy.scenario(value) }}))]))));"""
    given = json.dumps({"club": club(), "settings": SETTINGS})
    return dict(json.loads(run_node("--input-type=module", "--eval", code, text=given)))


@pytest.mark.parametrize("name", SETTINGS)
def test_the_python_of_a_toy_prints_its_numbers(name: str) -> None:
    for shown in toys()[name]:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(shown["python"], "<toy>", "exec"), {})
        assert printed.getvalue().strip() == shown["printed"], shown["value"]
        assert shown["python"].count("\n") < 16


# The guess that turns out right, as the library says: by its verdicts, means and errors, which the Python prints.
RIGHT = {
    "friends": "quarter",
    "steady": "almost",
    "agreement": "average",
    "lifted": "wishes",
    "rooms": "never",
    "counting": "stubborn",
    "unmasking": "know",
    "hiding": "kept",
}
# The day that is shown at a setting; what is said on it is seen in the rows.
DAYS = {"friends": 1, "steady": 1000, "lifted": 301, "rooms": 20, "counting": 300, "unmasking": 300, "hiding": 300}


def test_the_right_guess_does_not_depend_on_the_setting() -> None:
    assert {name: {one["right"] for one in settings} for name, settings in toys().items()} == {
        name: {right} for name, right in RIGHT.items()
    }


@pytest.mark.parametrize("name", SETTINGS)
def test_a_link_leads_to_the_same_run(name: str) -> None:
    for shown in toys()[name]:
        state = state_of(fragment_of({"scenario": shown["scenario"], "view": {}, "other": None}), Limits())
        model, given = Experiment(scenario_from(state["scenario"])).model, state["scenario"]["run"]
        run = pp.simulate(model, given["steps"], seed=given["seed"])
        said = np.asarray(run.states)[0, DAYS.get(name, shown["value"])]
        # The members of the club stand in the order of their wishes.
        order = np.argsort(model.x0, kind="stable") if model.n == club()["n"] else np.arange(model.n)
        words = np.array([row["said"] for row in shown["rows"]])
        if name == "friends":  # the others are shown as they have just spoken
            assert words[0] == pytest.approx(said[0])
        elif name == "hiding":  # the second is one of the club
            assert np.abs(words[1] - said).min() < 1e-9
        else:
            np.testing.assert_allclose(words, said[order], atol=1e-9)
            np.testing.assert_array_equal([row["wish"] for row in shown["rows"]], model.x0[order])


def test_the_outcomes_are_those_of_the_library() -> None:
    outcomes = {"agreement": ["CONSENSUS"], "steady": ["DISAGREEMENT"], "rooms": ["CONSENSUS", "OSCILLATION"]}
    for name, expected in outcomes.items():
        seen = [pp.diagnose(Experiment(scenario_from(one["scenario"])).model).outcome.name for one in toys()[name]]
        assert set(seen) - {"RANDOM_WALK"} >= set(expected), seen


def text_of(html: str) -> str:
    """Return the words of the page as they stand in its file, without the titles that it cites."""
    return re.sub(r"<[^>]*>", " ", re.sub(r"<(cite|code|head)\b.*?</\1>", " ", html, flags=re.DOTALL))


def test_a_line_of_the_listener_is_as_wide_as_it_is_said_to_be() -> None:
    for row in (row for one in toys()["hiding"] for row in one["rows"]):
        assert 0 < row["told"] - row["sure"] < row["wish"] < row["told"] + row["sure"] < 108  # within the picture
    ends = [row["told"] + sign * row["sure"] for one in toys()["unmasking"] for row in one["rows"] for sign in (-1, 1)]
    assert -15 < min(ends) < max(ends) < 115  # within the picture
    found = [abs(row["told"] - row["wish"]) < row["sure"] for one in toys()["unmasking"] for row in one["rows"]]
    assert 0.9 < np.mean(found) < 1


def test_the_subtraction_adds_up_as_it_is_printed() -> None:
    for one in toys()["unmasking"]:
        says, friends, own, times, day, average = [number for _, number in one["sum"]]
        assert float(says) - float(friends.removeprefix("− ")) == pytest.approx(float(own), abs=1e-9)
        assert float(own) * float(times.removeprefix("× ")) == pytest.approx(float(day), abs=0.05)
        assert average == one["printed"].split()[0]
    assert day == toys()["unmasking"][0]["printed"].split()[0]


def test_more_than_the_budget_is_said_to_be_too_much() -> None:
    for one in toys()["hiding"]:
        assert [share > 1 for _, share, _ in one["budget"]] == [
            words.endswith("too much") for *_, words in one["budget"]
        ]
    assert toys()["hiding"][-1]["budget"][1][1] > 1


def test_what_is_said_of_one_try_is_of_that_try() -> None:
    for shown in toys()["rooms"]:
        scenario = shown["scenario"]
        door = scenario | {"network": {"edges": [*scenario["network"]["edges"], [0, 1]]}}
        said = np.asarray(pp.simulate(Experiment(scenario_from(door)).model, steps=1000, seed=1).states)[0, -1]
        assert ("mark" in shown) == shown["printed"].startswith("oscillation")
        assert shown.get("mark", said.mean()) == pytest.approx(said.mean())
    for shown in toys()["hiding"]:
        moved = []
        for kind in ("white", "frozen"):
            scenario = shown["scenario"] | {"noise": shown["scenario"]["noise"] | {"temporal": kind}}
            model = Experiment(scenario_from(scenario)).model
            said = np.asarray(pp.simulate(model, steps=300, seed=1).states)[0, -1]
            mean = pp.moments(model, steps=300).mean[-1]
            moved.append(f"{abs(said.mean() - mean.mean()):.2f}")
        assert f"in this one it is {' and '.join(moved)}." in shown["answer"][1]


# Signs and words of the theory, and of programs.
HARD = re.compile(
    r"[ΣΔρσεηα∞]|\bv\b|bipartite|stochastic|matrix|variance|deviation|covariance|eigen|consensus|oscillat|"
    r"asymptot|\bagents?\b|\bnodes?\b|\bedges?\b|estimat|parameter|stubbornness|\w_\w",
    re.IGNORECASE,
)


def test_words_are_plain_and_results_are_computed() -> None:
    text = text_of(INDEX.read_text("utf-8"))
    spoken = [sentence for settings in toys().values() for one in settings for sentence in one["answer"]]
    assert HARD.findall(" ".join([text, *spoken])) == []
    # The ends and the middle of the scale, two settings of the pressure, and the years of the club.
    assert set(re.findall(r"\d+", text)) <= {"0", "50", "100", "1", "10", "1970", "1977"}


def test_the_page_is_one_small_file() -> None:
    html = unescape(str(page()))
    assert len(str(page()).encode()) < 300_000
    assert set(re.findall(r"https?://[^/\"' <]*", html)) <= {f"http://127.0.0.1:{PORT}", "http://www.w3.org"}
    assert "/static/" not in html
    assert "default-src 'none'" in html


def test_it_opens_the_documentation_and_leads_to_the_rest_of_it() -> None:
    docs = Path(__file__).parents[2] / "docs"
    (root,) = re.findall(r'^root_doc = "(.*)"', (docs / "conf.py").read_text("utf-8"), re.MULTILINE)
    assert (docs / f"{root}.md").exists()
    assert not (docs / "index.md").exists()
    assert f'<a href="{root}.html">Documentation</a>' in str(page(f"{root}.html"))
    assert "Documentation</a>" not in str(page())


def test_the_tutorial_is_linked_where_there_is_one_and_named_elsewhere() -> None:
    assert (Path(__file__).parents[2] / TUTORIAL).exists()
    assert f"<code>{TUTORIAL}</code>" in str(page())
    assert TUTORIAL in EXPLORER.read_text("utf-8")
    assert 'href="tutorials/too-fast.html"' in str(page("contents.html"))
