"""Verdicts, sentences and pages on records whose truth is known."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import peerpressure as pp
from peerpressure.fitting import Response, response
from peerpressure.fitting._seat_placebo import Shuffles
from peerpressure.networks import barabasi_albert, watts_strogatz
from tests.fitting.records import groups, matrix, ring

Array = NDArray[np.float64]
QUICK: dict[str, Any] = {"first": "before", "permutations": 199}


def answered(table: pd.DataFrame, network: Any = None, **options: Any) -> Response:
    return response(table, network, **QUICK | options)


@cache
def answered_by(w: float, **people: Any) -> Response:
    """Return what is found of groups, once for all tests that ask of the same ones."""
    return answered(groups(w, **people))


def test_a_response_is_found_with_its_weight() -> None:
    found = answered_by(0.4, seed=5)
    assert found.verdict == "responds"
    assert found.weight.low < 0.4 < found.weight.high
    assert found.weight.low > 0.2
    assert found.p_value == pytest.approx(1 / 200)
    assert found.memory == 0.0
    assert found.sentences[0].startswith(
        f"People respond to what they see: on average they move {found.weight.value:.2f}"
    )
    assert found.pressure.value == pytest.approx(found.weight.value / (1 - found.weight.value))
    assert str(found).splitlines() == list(found.sentences)
    assert found.growth is None
    assert not any("grows" in sentence or "falls" in sentence for sentence in found.sentences)
    assert found.by_round["round"].tolist() == [2, 3]
    assert found.by_round["unmoved"].tolist() == [0, 0]


def test_people_who_go_on_from_their_last_answer_are_told_from_those_who_return() -> None:
    found = answered(groups(0.3, memory=True, seed=5))
    assert found.memory == 1.0
    assert found.weight.low < 0.3 < found.weight.high
    share = found.by_round.iloc[-1]
    assert share["share_low"] < 1 - 0.7**2 < share["share_high"]
    ends = f"{share['share_low']:.2f} to {share['share_high']:.2f}"
    assert f"After 3 rounds others make up {share['share']:.2f} ({ends}) of their answers." in found.sentences


def test_nobody_responds_and_much_data_say_so() -> None:
    found = answered_by(0.0, people=40, count=40, seed=2)
    assert found.verdict == "no response"
    assert found.sentences[0] == f"No response larger than {found.weight.high:.2f} of the way to what was seen."
    # What would matter is the reader's to say.
    assert replace(found, matter=0.01).verdict == "cannot tell"


def test_little_data_cannot_tell_and_say_what_would_decide() -> None:
    found = answered(groups(0.1, count=2, seed=1))
    assert found.verdict == "cannot tell"
    assert f"from {found.weight.low:.2f} to {found.weight.high:.2f}" in found.sentences[0]
    assert f"A response below {found.smallest:.2f} would often have been missed." in found.sentences[0]
    assert any(sentence.startswith("To find a weight of 0.2, about ") for sentence in found.sentences)


@pytest.mark.parametrize("sees", ["star", "everybody"])
def test_one_group_that_saw_the_same_cannot_tell(sees: str) -> None:
    rng = np.random.default_rng(1)
    n = 30
    network = np.ones((n, n)) - np.eye(n)
    if sees == "star":
        network = np.zeros((n, n))
        network[1:, 0] = 1
    said = [rng.normal(size=n)]
    for _ in range(2):
        said.append(0.5 * rng.normal(size=n) + 0.5 * network @ said[-1] / np.maximum(network.sum(axis=1), 1))
    found = response(np.array(said), pp.Network(network, directed=True), **QUICK)
    assert found.verdict == "cannot tell"
    assert any(sentence.startswith("Everybody in a group saw the same") for sentence in found.sentences)
    assert found.smallest == np.inf


def test_groups_that_answer_one_question_tell_what_one_of_them_cannot() -> None:
    """Everybody in a group sees the same, and groups differ in what they see."""
    rng, rows = np.random.default_rng(7), list[Any]()
    for group in range(40):
        first = rng.normal(size=12)
        shown = rng.normal()
        then = 0.6 * (0.5 * first + 0.5 * rng.normal(size=12)) + 0.4 * shown
        rows += [(group, "q", i, 1, first[i], None) for i in range(12)]
        rows += [(group, "q", i, 2, then[i], shown) for i in range(12)]
    table = pd.DataFrame(rows, columns=["trial", "task", "person", "round", "answer", "seen"])
    assert answered(table).verdict == "responds"
    assert answered(table.drop(columns="task")).verdict == "cannot tell"


def _approaching_values_of_groups(seed: int) -> tuple[pd.DataFrame, dict[str, pp.Network]]:
    """Return answers of people who respond to nobody, and approach a value that their group shares."""
    rng, rows, networks = np.random.default_rng(seed), list[Any](), dict[str, pp.Network]()
    for group in range(12):
        y, value = rng.normal(size=15), rng.normal()
        networks[f"g{group}"] = pp.Network(ring(15), directed=True)
        for t in range(3):
            rows += [(f"g{group}", "q", i, t, y[i]) for i in range(15)]
            y = 0.5 * y + 0.5 * value + 0.3 * rng.normal(size=15)
    return pd.DataFrame(rows, columns=["group", "question", "agent", "time", "public"]), networks


@pytest.mark.parametrize("seed", range(4))
def test_what_moves_a_whole_group_is_no_response_within_it(seed: int) -> None:
    table, networks = _approaching_values_of_groups(seed)
    found = answered(table, network=networks)
    assert found.verdict != "responds"
    assert found.weight.low < 0 < found.weight.high
    assert any("compared with others of their own group" in note for note in found.notes)


def test_people_who_saw_nothing_are_controls() -> None:
    rng, rows = np.random.default_rng(10), []
    for i in range(200):
        first, shown = rng.normal(), 0.8 if i < 100 else np.nan
        alone = 0.5 * first + 0.5 * rng.normal()
        then = 0.6 * alone + 0.4 * shown if i < 100 else alone
        rows += [("q", i, 1, first, None), ("q", i, 2, then, shown)]
    found = answered(pd.DataFrame(rows, columns=["question", "agent", "time", "public", "seen"]))
    assert found.verdict == "responds"
    assert found.weight.low < 0.4 < found.weight.high


SEEDS = range(6)


def alike(seed: int, w: float = 0.0) -> tuple[np.ndarray[Any, Any], pp.Network]:
    """Return three waves of people on a network whose friends think alike."""
    network, rng = pp.networks.barabasi_albert(60, 3, seed=seed), np.random.default_rng(seed)
    mean = network.adjacency.toarray() / network.degrees[:, None]
    opinion = np.linalg.solve(7 * np.eye(60) - 6 * mean, rng.normal(size=60))
    opinion /= opinion.std()
    said = [opinion + 0.3 * rng.normal(size=60)]
    for _ in range(2):
        said.append((1 - w) * (opinion + 0.3 * rng.normal(size=60)) + w * (mean @ said[-1]))
    return np.array(said), network


def test_friends_who_are_alike_are_no_influence() -> None:
    found = [response(*alike(seed), **QUICK) for seed in SEEDS]
    refused = [each for each in found if each.is_refused]
    assert len(refused) > 3
    assert all(each.verdict == "cannot tell" for each in refused)
    assert all("Declare the first row as answered after." in " ".join(each.sentences) for each in refused)
    after = [response(*alike(seed), **QUICK | {"first": "after"}) for seed in SEEDS]
    assert [each.verdict for each in after].count("responds") == 0
    assert all(each.balance is None for each in after)
    # Three waves leave one change of what people saw, which is no weight of one round.
    assert after[0].by_round["weight"].isna().all()


def nulls(kind: str, seed: int) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(seed)
    opinion, said = rng.normal(size=60), [rng.normal(size=60)]
    for t in range(1, 5):
        alone = opinion + 0.5 * rng.standard_t(2, size=60) if kind == "tails" else opinion + 0.5 * rng.normal(size=60)
        said.append(
            {
                "shock": alone + np.random.default_rng([seed, t]).normal(),
                "return": 0.5 * said[-1] + 0.3 * rng.normal(size=60),
                "walk": said[-1] + 0.3 * rng.normal(size=60),
                "repeats": np.where(rng.random(60) < 0.4, said[-1], alone),
            }.get(kind, alone)
        )
    return np.array(said)


@pytest.mark.parametrize("kind", ["tails", "shock", "return", "walk", "repeats"])
def test_no_response_is_claimed_of_people_who_see_nobody(kind: str) -> None:
    network = pp.networks.barabasi_albert(60, 3, seed=1)
    verdicts = [response(nulls(kind, seed), network, **QUICK).verdict for seed in range(3)]
    assert "responds" not in verdicts


def test_a_weight_that_grows_or_falls_is_said_only_where_it_is_established() -> None:
    growing = answered(groups((0.05, 0.6), people=25, count=20))
    assert growing.growth == "grows"
    assert any(sentence.startswith("The weight of each round grows (0.0") for sentence in growing.sentences)
    assert answered(groups((0.6, 0.05), people=25, count=20)).growth == "falls"
    assert answered(groups(0.3, people=25, count=20)).growth is None


def test_who_is_more_stubborn_is_said_if_people_are_so_in_all_rounds() -> None:
    parts = np.where(np.arange(15) < 5, 0.0, 0.7)
    found = answered(groups(parts, rounds=5, noise=0.3))
    assert found.people.differ
    table = found.stubborn
    assert set(table.columns) == {"agent", "weight", "low", "high", "stubborn"}
    assert table["weight"].is_monotonic_increasing
    stubborn = table[table["stubborn"]]
    assert len(stubborn) > 2
    assert np.mean(stubborn["agent"].astype(int) < 5) > 0.9
    assert any(sentence.startswith("People differ in how much they respond") for sentence in found.sentences)
    alike_ones = answered(groups(0.4, rounds=5))
    assert not alike_ones.people.differ
    assert alike_ones.stubborn.empty
    assert "The data cannot tell who is more stubborn than others." in alike_ones.sentences
    assert answered(groups(0.4, rounds=2)).people.placebo is None


def test_groups_may_count_alike() -> None:
    table = pd.concat([groups(0.6, people=40, count=2, seed=1), groups(0.2, people=10, count=20, seed=2)
                       .assign(group=lambda rows: "small " + rows["group"])])  # fmt: skip
    by_people, by_group = (answered(table, equal_groups=equal).weight.value for equal in (False, True))
    assert by_group < by_people


def test_those_who_repeat_their_answers_are_counted() -> None:
    table = groups(0.5, rounds=2, people=30)
    said = matrix(table).copy()
    lazy = np.arange(said.shape[1]) % 3 == 0
    said[1, lazy] = said[0, lazy]
    table["public"] = [
        said[t - 1, k]
        for k, t in zip(pd.factorize(table["group"] + table["agent"].map(str))[0], table["time"], strict=True)
    ]
    found = answered(table)
    assert found.unmoved == pytest.approx(1 / 3)
    assert "33 % repeated their last answer exactly." in found.sentences


def test_the_model_can_be_used_and_its_answers_give_the_weight_back() -> None:
    network = pp.Network(ring(200), directed=True)
    rng = np.random.default_rng(1)
    opinion = rng.normal(size=200)
    start = opinion + 0.3 * rng.normal(size=200)
    people = pp.Model(network, opinion, 1.0, pp.Constant(0.5), pp.Gaussian(0.3), start=start)
    run = pp.simulate(people, 4, seed=3, record="all")
    assert run.states is not None
    found = response(run.states[0], network, **QUICK)
    assert found.weight.low < 0.5 < found.weight.high  # two of weight 1 are seen: w = 0.5·2/(1 + 0.5·2)
    model = found.model
    assert model is not None
    again = pp.simulate(model, 4, seed=5, record="all")
    assert again.states is not None
    second = response(again.states[0], model.network, **QUICK)
    assert second.weight.low < found.weight.value < second.weight.high
    assert pp.recover(again, model).std.shape[-1] == 200
    assert answered_by(0.4).model is None


def test_a_response_has_a_page_with_its_answer_first(tmp_path: Any) -> None:
    found = answered_by(0.4)
    file = found.report(tmp_path / "page.html")
    text = file.read_text()
    assert text.index("People respond to what they see") < text.index("<svg" if "<svg" in text else "<img")
    assert text.count("data:image/") == 3
    assert found._repr_html_().startswith("<p>People respond")


def test_the_same_seed_is_the_same_answer() -> None:
    table = groups(0.15)
    one, same, other = (answered(table, seed=seed) for seed in (1, 1, 2))
    assert (one.placebo.shuffled == same.placebo.shuffled).all()
    assert (one.placebo.shuffled != other.placebo.shuffled).any()
    assert one.weight == same.weight == other.weight


def test_one_witness_is_not_enough() -> None:
    found = answered_by(0.4, seed=5)
    assert found.verdict == "responds"
    # The interval alone, with shuffled seats that show as much.
    doubted = replace(found, placebo=Shuffles(0.0, found.placebo.shuffled))
    assert doubted.p_value > 0.05
    assert doubted.verdict == "cannot tell"
    assert any("shuffled seats show as much" in sentence for sentence in doubted.sentences)
    # The placebo alone, with an interval that holds 0.
    weak = answered(groups(0.0, count=3, seed=3))
    assert weak.detection.best.interval[0][-1] < 0
    doubted = replace(weak, placebo=found.placebo)
    assert doubted.p_value <= 0.05
    assert doubted.verdict == "cannot tell"
    assert any("the interval of the weight contains 0" in sentence for sentence in doubted.sentences)
    # Neighbours who were alike before take the answer back, whatever both say.
    refused = replace(found, balance=found.placebo)
    assert refused.verdict == "cannot tell"


def test_neighbours_who_were_unlike_do_not_take_a_response_back() -> None:
    """People see only others, so in a small group their first answers are a little unlike what they see."""
    there, none = answered_by(0.4, seed=5), answered_by(0.0, people=40, count=40, seed=2)
    unlike = Shuffles(-0.2, np.linspace(-0.1, 0.1, 199), two_sided=True)
    assert unlike.p_value <= 0.05
    assert replace(there, balance=unlike).verdict == "responds"
    assert not any("were alike" in sentence for sentence in replace(none, balance=unlike).sentences)
    assert none.sentences[-1].startswith("This assumes that chance decided who saw what")


def _surveyed(w: float, n: int = 60, trend: float = 0.0) -> tuple[Array, pp.Network]:
    """Return five rounds of people who give a part w to their friends, most of whom share a trait and its trend."""
    rng, trait = np.random.default_rng(3), np.arange(n) % 2
    share = np.where(trait[:, None] == trait, 8.0, 1.0) / n
    A = np.triu(rng.random((n, n)) < share, 1).astype(float)
    network = pp.Network(A + A.T)
    W = network.adjacency.toarray() / np.maximum(network.degrees, 1)[:, None]
    opinion = rng.normal(size=n)
    rows = [opinion + 0.5 * rng.normal(size=n)]
    for t in range(1, 5):
        alone = opinion + trend * t * trait + 0.5 * rng.normal(size=n)
        rows.append((1 - abs(w)) * alone + w * (W @ rows[-1]))
    return np.array(rows), network


def test_neighbours_who_move_together_do_not_respond() -> None:
    """Both witnesses say that they do, but a trend that friends share moves them in the same round."""
    found = response(*_surveyed(0.0, n=200, trend=0.5), **QUICK)
    assert found.p_value <= 0.05
    assert found.detection.best.interval[0][-1] > 0
    assert found.balance is not None
    assert found.balance.p_value > 0.2
    assert found.verdict == "cannot tell"
    assert "neighbours also move together in the same round" in found.sentences[2]
    assert found.by_round[["weight", "share"]].isna().all(axis=None)
    assert found.estimates(drawn=False).printed == ()
    assert found.estimates(drawn=False).notes == found.notes


def test_a_response_in_one_network_is_claimed_under_the_condition_that_chance_made_it() -> None:
    found = response(*_surveyed(0.4, n=200), **QUICK)
    assert found.verdict == "responds"
    assert found.sentences[0].startswith("If chance decided who sees whom, people respond to what they see: on average")
    degree = _surveyed(0.4, n=200)[1].degrees
    weight = found.weight.value
    assert found.pressure.value == pytest.approx(weight / (1 - weight) / degree[degree > 0].mean())
    # Weak signs that friends think alike are enough for doubt.
    assert found.alike is not None
    assert found.alike.p_value > 0.2
    doubted = replace(found)
    vars(doubted)["alike"] = Shuffles(0.1, np.linspace(-0.2, 0.15, 199))
    assert doubted.alike is not None
    assert 0.1 < doubted.alike.p_value < 0.2
    assert doubted.verdict == "cannot tell"
    assert "neighbours also think alike" in doubted.sentences[2]


def test_likeness_that_first_answers_hide_takes_a_claim_for_groups_with_networks_back() -> None:
    """Nobody responds, friends think a little alike, and first answers have more noise than later ones."""
    rng, rows, networks = np.random.default_rng(3), [], {}
    for group in range(20):
        A = np.zeros((20, 20))
        for i in range(20):
            A[i, rng.choice(np.delete(np.arange(20), i), 4, replace=False)] = 1
        opinion = np.linalg.solve(2 * np.eye(20) - A / 4, rng.normal(size=20))
        opinion = (opinion - opinion.mean()) / opinion.std()
        networks[str(group)] = pp.Network(A, directed=True)
        said = [opinion + noise * rng.normal(size=20) for noise in (1.0, 0.4, 0.4)]
        rows += [(str(group), "q", i, t, said[t][i]) for t in range(3) for i in range(20)]
    table = pd.DataFrame(rows, columns=["group", "question", "agent", "time", "public"])
    found = answered(table, networks)
    assert found.p_value <= 0.05
    assert found.detection.best.interval[0][-1] > 0
    assert found.balance is not None
    assert found.balance.p_value > 0.05
    assert found.verdict == "cannot tell"
    assert "neighbours also think alike, in all rounds together" in found.sentences[2]


def test_people_who_move_away_are_said_to_do_so() -> None:
    found = response(*_surveyed(-0.4, n=200), **QUICK)
    assert found.verdict == "responds"
    assert found.weight.low < -0.4 < found.weight.high < 0
    assert found.sentences[0].startswith(
        f"If chance decided who sees whom, people move away from what they see: on average by {-found.weight.value:.2f}"
    )
    # A weight far below 0 is a response that is not excluded.
    assert answered_by(-0.3, people=40, count=40, seed=2).verdict == "responds"


def test_a_weight_at_the_end_of_its_range_is_not_identified() -> None:
    """Everybody copies what was seen, up to tiny errors of reading it."""
    rng, rows = np.random.default_rng(1), []
    for i in range(100):
        first, shown = rng.normal(size=2)
        rows += [("q", i, 1, first, None), ("q", i, 2, shown + 1e-3 * rng.normal(), shown)]
    found = answered(pd.DataFrame(rows, columns=["question", "agent", "time", "public", "seen"]))
    assert found.verdict == "cannot tell"
    assert np.isnan(found.weight.value)
    assert any("at the end of the range that is searched" in sentence for sentence in found.sentences)


def _approaching(seed: int) -> tuple[Array, pp.Network]:
    """Return answers of people who respond to nobody, and approach opinions in which friends are alike."""
    network, rng = watts_strogatz(100, 6, 0.2, seed=seed), np.random.default_rng(seed)
    W = network.adjacency.toarray() / network.degrees[:, None]
    shared = np.linalg.solve(4 * np.eye(100) - 3 * W, rng.normal(size=100))
    y, rows = rng.normal(size=100), []
    for _ in range(5):
        y = y + 0.3 * (shared / shared.std() - y) + 0.25 * rng.normal(size=100)
        rows.append(y)
    return np.array(rows), network


@pytest.mark.parametrize("seed", [0, 7])
def test_friends_who_approach_like_opinions_do_not_respond(seed: int) -> None:
    """Both witnesses say that they do."""
    found = response(*_approaching(seed), first="after", permutations=99)
    assert found.p_value <= 0.05
    assert found.detection.best.interval[0][-1] > 0
    assert found.verdict == "cannot tell"
    assert found.sentences[0] == "These data cannot tell whether people respond to what they see."
    assert "grew more like those whom they saw (correlation" in found.sentences[2]
    assert not any("would be needed" in sentence for sentence in found.sentences)


def test_friends_who_have_long_been_alike_and_respond_are_found() -> None:
    network, rng = barabasi_albert(200, 3, seed=2), np.random.default_rng(2)
    W = network.adjacency.toarray() / network.degrees[:, None]
    shared = np.linalg.solve(7 * np.eye(200) - 6 * W, rng.normal(size=200))
    y = shared = shared / shared.std()
    rows = []
    for _ in range(20):
        y = 0.6 * (shared + 0.5 * rng.normal(size=200)) + 0.4 * (W @ y)
        rows.append(y)
    found = response(np.array(rows[-5:]), network, first="after", permutations=99)
    assert found.verdict == "responds"
    assert found.likeness.by_row.min() > 0.2
    assert found.sentences[-1].startswith("Friends who share shocks, trends, seasons or traits, or change alike")
    # The record does not tell whether people go on from their last answers, which would make the share 0.95.
    assert not any("others make up" in sentence for sentence in found.sentences)
