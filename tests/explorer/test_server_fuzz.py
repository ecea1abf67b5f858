"""Hundreds of hostile requests: every one is refused or answered, none brings the server down or fills its memory."""

from __future__ import annotations

import contextlib
import copy
import json
from collections.abc import Iterator
from typing import Any

import httpx
import psutil
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from peerpressure.errors import InvalidInputError
from peerpressure.explorer.app import API
from peerpressure.explorer.links import state_of
from peerpressure.explorer.protocol import Limits
from tests.builders import examples
from tests.explorer.asking import SMALL, Asker, served
from tests.explorer.driving import fragment_of
from tests.explorer.test_server_exports import VARIANTS
from tests.scenario.strategies import scenarios

TIGHT = Limits(
    agents=120,
    edges=1_000,
    changes=5_000,
    steps=300,
    work=100_000,
    exact=10**7,
    observed=200_000,
    states=20_000,
    times=100,
    rows=5_000,
    numbers=20_000,
    values=2_000,
    request_bytes=100_000,
    upload_bytes=20_000,
    verdict=50_000_000,
    recovered=0,
)
GROWTH = 250 * 2**20  # bytes that the process may gain, caches and the allocator's own reserves included
ROUTES = [name for name in API if name not in ("upload", "export/figure")]


def many(share: float) -> settings:
    """Return settings for this share of the usual number of examples, however long each takes."""
    return examples(share, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


numbers = st.sampled_from(
    [0, -1, 1, 2, 3, 1e308, -1e308, 5e-324, 1e-9, 0.5, 2**31, 2**53, 2**63 - 1, -(2**63), True, False, None]
)
hostile = """
    /etc/passwd ../../x.csv __class__ t 1/(t-3) exp(exp(t)) -t hidden 0 ü☃ {{7*7}} ');os.abort()# <script> linear custom
    tuned frozen kalman file k2 events output
"""
texts = st.sampled_from([*hostile.split(), "", "\0", "\u202e", "a" * 3_000])
finite = st.floats(allow_nan=False, allow_infinity=False)
junk: st.SearchStrategy[Any] = st.recursive(
    st.one_of(numbers, texts, st.text(max_size=8), finite, st.integers(-9, 400)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(texts | st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
sound = st.one_of(st.sampled_from([*VARIANTS.values()]), scenarios)


@st.composite
def mutated(draw: st.DrawFn) -> Any:
    """Return a scenario in which something was changed, removed or added."""
    scenario = copy.deepcopy(draw(sound))
    for _ in range(draw(st.integers(0, 3))):
        place: Any = scenario
        while draw(st.booleans()) and isinstance(place, dict) and place:
            inner = place[draw(st.sampled_from(sorted(place)))]
            if not isinstance(inner, dict):
                break
            place = inner
        key = draw(st.sampled_from(sorted(place))) if place and draw(st.integers(0, 4)) else draw(texts)
        if draw(st.integers(0, 4)):
            place[key] = draw(junk)
        else:
            place.pop(key, None)
    return scenario


@pytest.fixture(scope="module")
def asker() -> Iterator[Asker]:
    with served(TIGHT) as address, Asker(address) as one:
        one.post("observe", SMALL | {"run": {"steps": 20}})
        before = psutil.Process().memory_info().rss
        yield one
        # After all of the requests of this file.
        assert psutil.Process().memory_info().rss - before < GROWTH


def check(answer: httpx.Response) -> None:
    assert answer.status_code < 500, answer.text
    if answer.status_code >= 400:
        error = answer.json()["error"]
        assert set(error) == {"text", "where"}
        assert isinstance(error["text"], str)
        assert 0 < len(error["text"]) < 2_000
        assert "Traceback" not in answer.text


@many(2)
@given(st.sampled_from(ROUTES), mutated(), st.one_of(st.just([0]), junk))
def test_scenarios_that_were_tampered_with(asker: Asker, question: str, scenario: Any, agents: Any) -> None:
    check(asker.post(question, scenario, agents=agents))


@many(0.2)
@given(mutated(), st.sampled_from(["curves", "network", "observer"]), junk)
def test_pictures_of_scenarios_that_were_tampered_with(asker: Asker, scenario: Any, what: str, time: Any) -> None:
    check(asker.post("export/figure", scenario, what=what, time=time, format="png"))


@many(2)
@given(st.sampled_from([*ROUTES, "export/figure"]), st.one_of(junk.map(json.dumps), st.text(), st.just("NaN")))
def test_bodies_that_are_no_scenario(asker: Asker, question: str, body: str) -> None:
    headers = {"content-type": "application/json"}
    answer = asker.http.post(f"api/{question}", content=body.encode("utf-8", "replace"), headers=headers)
    check(answer)
    assert answer.status_code >= 400


cells = st.sampled_from(["a", "b", "0", "1", "-1", "nan", "1e400", "", '"', "#", "ü"])
edge_lists = st.lists(st.tuples(cells, cells, cells), max_size=12).map(
    lambda rows: "\n".join(",".join(row) for row in rows).encode()
)
graphs = st.sampled_from(
    [
        b"<graphml/>",
        b"<graphml><graph><node id='a'/></graph></graphml>",
        b"<a>" * 500,
        b"<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>",
    ]
)


@many(2)
@given(
    st.one_of(st.sampled_from(["a.csv", "a.graphml", "a.txt", "x.npz", "../a.edges", "a.csv\0"]), st.text(max_size=20)),
    st.one_of(edge_lists, graphs, st.binary(max_size=200)),
)
def test_files_that_are_no_networks(asker: Asker, name: str, data: bytes) -> None:
    check(asker.http.post("api/upload", params={"name": name.encode("utf-8", "replace")}, content=data))


@many(0.4)
@given(mutated(), st.integers(0, 30), st.one_of(st.just({}), junk))
def test_links_that_were_tampered_with(scenario: Any, cut: int, view: Any) -> None:
    fragment = fragment_of({"scenario": scenario, "view": view})
    # A refusal is the only other way out.
    with contextlib.suppress(InvalidInputError):
        assert state_of(fragment[: len(fragment) - max(0, cut - 20)], TIGHT)["scenario"] == scenario


words = st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=30)
paths = st.sampled_from(["/", "/api/run", "/api/catalogue", "/static/..", "/api/export/toml"]) | words.map("/".__add__)
names = st.sampled_from(["origin", "x-tab", "content-type", "content-encoding", "sec-fetch-site", "range", "accept"])


@many(2)
@given(
    st.sampled_from(["GET", "POST", "PUT", "HEAD", "DELETE", "OPTIONS"]),
    paths,
    st.dictionaries(names, words),
)
def test_requests_of_any_kind(asker: Asker, method: str, path: str, headers: dict[str, str]) -> None:
    request = asker.http.build_request(method, "/", headers=headers)
    request.url = request.url.copy_with(raw_path=path.encode().replace(b"#", b"%23"))
    assert asker.http.send(request).status_code < 500


def test_the_server_still_answers_after_all_of_this(asker: Asker) -> None:
    assert asker.post("run", SMALL | {"run": {"steps": 20}}).status_code == 200
