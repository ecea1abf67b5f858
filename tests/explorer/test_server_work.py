"""Work is bounded, can be called off, and that of one tab does not disturb another."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import peerpressure as pp
from peerpressure.explorer import routes
from peerpressure.explorer.answers import run_answer
from peerpressure.explorer.jobs import CancellationToken, JobQueue, Watched
from peerpressure.explorer.limits import Limits
from peerpressure.explorer.models import Cache, ModelCache, Prepared
from peerpressure.explorer.requests import OverdueError, RequestError, WithdrawnError, refusal_of
from tests.explorer.asking import SMALL, Asker, in_a_loop, served

# A run that the watcher repeats until it is called off; SHORT takes milliseconds.
LONG = SMALL | {"run": {"steps": 100_000, "replicates": 20, "seed": 1}}
SHORT = SMALL | {"run": {"steps": 3, "replicates": 1, "seed": 1}}


def patient(begun: threading.Event) -> Callable[[CancellationToken], str]:
    """Return work that goes on until it is called off."""

    def work(token: CancellationToken) -> str:
        begun.set()
        while True:
            token.check()
            threading.Event().wait(0.005)

    return work


def quick(token: CancellationToken) -> str:
    return "done"


def test_a_new_question_withdraws_the_old_one_and_no_other() -> None:
    async def scene() -> list[Any]:
        queue = JobQueue(Limits(workers=3))
        begun = [threading.Event(), threading.Event()]
        old = asyncio.create_task(queue.do(("tab", "run"), patient(begun[0])))
        other = asyncio.create_task(queue.do(("other", "run"), patient(begun[1])))
        await asyncio.to_thread(lambda: [event.wait(10) for event in begun])
        answer = await queue.do(("tab", "run"), quick)
        elsewhere = await queue.do(("tab", "network"), quick)
        first = await asyncio.gather(old, return_exceptions=True)
        still = not other.done()
        queue.withdraw(("other", "run"))
        second = await asyncio.gather(other, return_exceptions=True)
        queue.close()
        return [answer, elsewhere, still, *map(type, [*first, *second])]

    assert in_a_loop(scene()) == ["done", "done", True, WithdrawnError, WithdrawnError]


def test_who_goes_away_withdraws_its_own_question_and_not_the_one_that_took_its_place() -> None:
    async def scene() -> list[Any]:
        queue, left, begun = JobQueue(Limits(workers=2)), asyncio.Event(), threading.Event()

        async def gone() -> None:
            await left.wait()

        old = asyncio.create_task(queue.do(("tab", "run"), patient(threading.Event()), gone))
        await asyncio.sleep(0)
        new = asyncio.create_task(queue.do(("tab", "run"), patient(begun)))
        # The old page leaves in the same breath in which its question is taken up anew.
        left.set()
        first = await asyncio.gather(old, return_exceptions=True)
        await asyncio.to_thread(begun.wait, 10)
        still = not new.done()
        queue.close()
        second = await asyncio.gather(new, return_exceptions=True)
        return [type(first[0]), still, type(second[0])]

    assert in_a_loop(scene()) == [WithdrawnError, True, WithdrawnError]


def test_work_that_was_withdrawn_while_it_waited_is_never_begun() -> None:
    begun: list[str] = []

    async def scene() -> None:
        queue = JobQueue(Limits(workers=1))
        blocking = threading.Event()
        first = asyncio.create_task(queue.do(("a", "run"), patient(blocking)))
        await asyncio.to_thread(blocking.wait, 10)
        waiting = asyncio.create_task(queue.do(("b", "run"), lambda token: begun.append("b")))
        await asyncio.sleep(0)
        queue.withdraw(("b", "run"))
        queue.withdraw(("a", "run"))
        await asyncio.gather(first, waiting, return_exceptions=True)
        assert await queue.do(("c", "run"), quick) == "done"
        queue.close()

    in_a_loop(scene())
    assert begun == []


def test_the_queue_is_bounded_and_empties() -> None:
    async def scene() -> list[int]:
        queue = JobQueue(Limits(workers=1, waiting=3))
        tasks = [asyncio.create_task(queue.do((str(tab), "run"), patient(threading.Event()))) for tab in range(3)]
        await asyncio.sleep(0)
        with pytest.raises(RequestError) as told:
            await queue.do(("one more", "run"), quick)
        taken = queue.taken
        for tab in range(3):
            queue.withdraw((str(tab), "run"))
        await asyncio.gather(*tasks, return_exceptions=True)
        # Two had not begun and are gone at once; the third ends with its next look at its token.
        assert queue.taken <= 1
        assert await queue.do(("one more", "run"), quick) == "done"
        queue.close()
        return [told.value.status, taken]

    assert in_a_loop(scene()) == [429, 3]


def test_work_without_end_is_ended() -> None:
    async def scene() -> None:
        queue = JobQueue(Limits(workers=1, seconds=0.05))
        with pytest.raises(OverdueError, match=r"within 0\.05 seconds") as told:
            await queue.do(("tab", "run"), patient(threading.Event()))
        assert refusal_of(told.value) == (422, {"error": {"text": str(told.value), "where": None}})
        queue.close()

    in_a_loop(scene())


def test_work_that_never_asks_is_left_to_itself() -> None:
    free = threading.Event()

    async def scene() -> None:
        queue = JobQueue(Limits(workers=2, seconds=0.05))
        with pytest.raises(OverdueError):
            await queue.do(("tab", "run"), lambda token: free.wait(10))
        assert await queue.do(("tab", "run"), quick) == "done"
        free.set()
        queue.close()

    in_a_loop(scene())


READINGS: dict[str, Callable[[pp.Model], object]] = {
    "simulate": lambda model: pp.simulate(model, 9),
    "moments": lambda model: pp.moments(model, 9),
    "exposure": lambda model: pp.privacy.exposure(model, 9),
    "verdict": lambda model: pp.diagnose(model, 9),
}


@pytest.mark.parametrize("reading", READINGS.values(), ids=[*READINGS])
def test_every_reading_of_a_model_can_be_called_off(reading: Callable[[pp.Model], object]) -> None:
    token = CancellationToken(60)
    model = ModelCache(Limits()).prepare({"scenario": SMALL}, token).model
    assert isinstance(model.pressure, Watched)
    reading(model)
    token.withdraw()
    with pytest.raises(WithdrawnError):
        reading(model)


def test_a_part_of_the_work_can_be_hurried_and_is_called_off_with_the_whole() -> None:
    token = CancellationToken(60)
    token.begin()
    asked = ModelCache(Limits()).prepare({"scenario": SMALL}, token)
    with pytest.raises(OverdueError):
        pp.moments(asked.hurried(0.0), 9)
    pp.moments(asked.hurried(60.0), 9)
    pp.moments(asked.system, 9)
    token.withdraw()
    with pytest.raises(WithdrawnError):
        pp.moments(asked.hurried(60.0), 9)


def test_watching_changes_no_number() -> None:
    token = CancellationToken(60)
    schedule = pp.schedules.Formula("2^sqrt(t)")
    watched = Watched(schedule, token)
    times = np.array([1.0, 7.0, 2e6])
    for one, other in zip(watched.homogeneous(times), schedule.homogeneous(times), strict=True):
        assert np.array_equal(one, other)
    assert (str(watched), watched.growth) == (str(schedule), schedule.growth)


class Watcher:
    """Stands beside the server's runs: it tells when one begins, and how one that is called off ends."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.begun, self.ended = threading.Event(), threading.Event()
        original = run_answer

        def watched(asked: Prepared, limits: Limits) -> bytes:
            self.begun.set()
            try:
                # However fast the machine is, a long run does not end by itself.
                while asked.steps == LONG["run"]["steps"]:
                    original(asked, limits)
                return original(asked, limits)
            except WithdrawnError:
                self.ended.set()
                raise

        patch.setattr(routes, "run_answer", watched)


def test_a_long_run_is_superseded_over_http_and_another_tab_is_not_disturbed(monkeypatch: pytest.MonkeyPatch) -> None:
    watcher = Watcher(monkeypatch)
    with (
        served(Limits(seconds=300)) as address,
        ThreadPoolExecutor(1) as pool,
        Asker(address, "one") as one,
        Asker(address, "one") as again,
        Asker(address, "two") as two,
    ):
        old = pool.submit(one.post, "run", LONG)
        assert watcher.begun.wait(30)
        # The other tab is answered while the long run goes on, and the long run is not ended by it.
        assert two.post("run", SHORT).status_code == 200
        assert again.post("network", SHORT).status_code == 200
        assert not old.done()
        assert not watcher.ended.is_set()
        assert again.post("run", SHORT).status_code == 200
        answer = old.result(timeout=30)
        assert (answer.status_code, answer.json()["error"]["text"]) == (409, "superseded")
        assert watcher.ended.wait(30)


def test_a_page_that_goes_away_takes_its_question_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    watcher = Watcher(monkeypatch)
    with served(Limits(seconds=300)) as address, Asker(address) as gone:
        raw = socket.create_connection((gone.http.base_url.host, gone.http.base_url.port or 80))
        body = json.dumps({"scenario": LONG}).encode()
        head = ["POST /api/run HTTP/1.1", "Host: localhost", "Content-Type: application/json"]
        raw.sendall("\r\n".join([*head, f"Content-Length: {len(body)}", "", ""]).encode() + body)
        assert watcher.begun.wait(30)
        raw.close()
        assert watcher.ended.wait(30)


@pytest.mark.parametrize(
    ("limits", "scenario", "says", "where"),
    [
        ({"agents": 20}, SMALL, "number of agents must be at most 20 here, got 30", "network"),
        ({"edges": 50}, SMALL, "number of edges must be at most 50 here, got 60", "network"),
        ({"work": 1_000}, SMALL, "agents × steps × replicates must be at most 1,000 here, got 3,600", "run"),
        ({"steps": 10}, SMALL, "number of steps must be at most 10 here, got 40", "run.steps"),
        ({"values": 20}, SMALL | {"agents": {"hidden": [0.5] * 30}}, "must be at most 20 here", None),
        (
            {"changes": 100},
            SMALL | {"network": SMALL["network"] | {"dynamics": {"kind": "rewiring", "rate": 0.5}}},
            "changes of a temporal network must be at most 100 here",
            "network",
        ),
    ],
)
def test_every_bound_is_named_with_the_value_and_the_remedy(
    limits: dict[str, int], scenario: dict[str, Any], says: str, where: str | None
) -> None:
    with pytest.raises(RequestError) as told:
        ModelCache(Limits(**limits)).read({"scenario": scenario})
    assert says in str(told.value)
    assert "; " in str(told.value)
    assert (told.value.status, told.value.where) == (422, where)


@pytest.mark.parametrize(
    "network",
    [
        {"generator": "complete", "n": 10**9},
        {"generator": "grid", "rows": 10**9, "columns": 10**9},
        {"generator": "erdos_renyi", "n": 50_000, "p": 1.0},
        {"generator": "watts_strogatz", "n": 50_000, "k": 49_998, "p": 0.1},
        {"generator": "barabasi_albert", "n": 50_000, "m": 40_000},
        {"generator": "random_regular", "n": 50_000, "degree": 40_000},
        {"generator": "star", "n": 2**62},
        {"edges": [[0, 2**31 - 1]]},
        {"temporal": "edge_markovian", "n": 50_000, "birth": 0.5, "death": 0.5},
        {"temporal": "activity_driven", "n": 50_000, "contacts": 2**40},
        {"temporal": "growing", "n": 2**40, "m": 3},
        {"generator": "cycle", "n": 50_000, "dynamics": {"kind": "failing_edges", "probability": 0.5, "steps": 2**40}},
    ],
)
def test_a_network_without_bounds_is_refused_before_it_is_built(
    network: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ModelCache, "_build", lambda *_: pytest.fail("it was built"))
    with pytest.raises(RequestError) as told:
        ModelCache(Limits()).read({"scenario": SMALL | {"network": network}})
    assert told.value.where == "network"


def test_a_flood_of_mistakes_is_told_in_one_sentence() -> None:
    with pytest.raises(RequestError, match="99,999 others"):
        ModelCache(Limits()).read({"scenario": SMALL | {"agents": {"hidden": ["a"] * 99_999}}})


def test_what_is_kept_is_bounded_and_the_oldest_goes_first() -> None:
    made: list[int] = []
    cache: Cache[int] = Cache(10, lambda kept: kept)

    def get(key: int) -> int:
        return cache.get(key, lambda: made.append(key) or key)  # type: ignore[func-returns-value]

    assert [get(key) for key in (4, 5, 4, 3, 4, 5)] == [4, 5, 4, 3, 4, 5]
    assert made == [4, 5, 3, 5]
    assert get(11) == 11
    assert cache.held <= 10


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 40)), max_size=60))
def test_a_cache_never_holds_more_than_its_bound(asked: list[tuple[int, int]]) -> None:
    cache: Cache[int] = Cache(100, lambda kept: kept)
    for key, size in asked:
        assert cache.get((key, size), partial(int, size)) == size
        assert cache.held <= 100


def test_a_network_is_built_once_for_all_questions_about_it(monkeypatch: pytest.MonkeyPatch) -> None:
    cache = ModelCache(Limits())
    first = cache.read({"scenario": SMALL}).graph
    louder = SMALL | {"noise": {"law": "gaussian", "std": 2.0}, "run": SMALL["run"] | {"steps": 99}}
    assert cache.read({"scenario": louder}).graph is first
    assert cache.drawing(first) is cache.drawing(pp.networks.barabasi_albert(30, 2, seed=5))
    assert cache.read({"scenario": SMALL | {"run": SMALL["run"] | {"seed": 6}}}).graph is not first
