"""Jobs are bounded and can be cancelled, and those of one tab do not disturb another."""

from __future__ import annotations

import asyncio
import itertools
import json
import platform
import resource
import socket
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import peerpressure as pp
from peerpressure.errors import CancelledError
from peerpressure.explorer import app, models
from peerpressure.explorer.answers import forecast_facts, long_run, run_answer
from peerpressure.explorer.jobs import JobQueue
from peerpressure.explorer.models import ModelCache
from peerpressure.explorer.protocol import (
    Limits,
    RequestError,
    SupersededError,
    TimeLimitError,
    error_answer,
)
from peerpressure.scenario import Experiment, Scenario, scenario_from
from peerpressure.support.progress import cancellable, check_cancelled
from peerpressure.theory import Outcome
from tests.explorer.asking import SMALL, Asker, in_a_loop, served
from tests.waiting import result_of, wait_for_event, wait_until

# A run that the watcher repeats until it is cancelled; SHORT takes milliseconds.
LONG = SMALL | {"run": {"steps": 100_000, "replicates": 20, "seed": 1}}
ADAPTING = SMALL | {"agents": {"adaptation": 0.05}}
SHORT = SMALL | {"run": {"steps": 3, "replicates": 1, "seed": 1}}


def patient(begun: threading.Event) -> Callable[[], str]:
    """Return work that goes on until it is cancelled."""

    def work() -> str:
        begun.set()
        while True:
            check_cancelled()
            threading.Event().wait(0.005)

    return work


def quick() -> str:
    return "done"


def resident() -> float:
    """The memory of this process that is in use, in MiB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 2**20


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries need no such help, or have none")
def test_memory_that_a_job_has_freed_goes_back_to_the_system() -> None:
    kept: list[bytes] = []

    def work() -> float:
        # More than what the process may have left of earlier work.
        pieces = [bytes(2_000) for _ in range(250_000)]
        # The C library gives back what lies above the last piece in use, and this one is at the top.
        kept.append(pieces[-1])
        return resident()

    async def scene() -> float:
        queue = JobQueue(Limits(workers=1))
        most = await queue.submit(("tab", "run"), work)
        queue.close()
        return most

    before = resident()
    most = in_a_loop(scene())
    assert most > before + 80
    # The memory goes back after the answer, which does not wait for it.
    wait_until(lambda: resident() < before + 40, "the memory of a job to go back")


def test_what_is_kept_between_requests_is_bounded_by_bytes() -> None:
    """Keys do not hold the edges and opinions that they stand for."""
    edges = [[k, k + 1] for k in range(2_000)]
    scenario = scenario_from(SMALL | {"network": {"edges": edges}})
    assert len(models._network_key(scenario)) < 100
    assert len(models._model_key(scenario)) < 100
    table = pp.schedules.Table(range(1, 5_001))
    assert models._schedule_bytes(table) >= 8 * 5_000


def test_a_new_job_supersedes_the_old_one_of_its_client_and_no_other() -> None:
    async def scene() -> list[Any]:
        queue = JobQueue(Limits(workers=3))
        begun = [threading.Event(), threading.Event()]
        old = asyncio.create_task(queue.submit(("tab", "run"), patient(begun[0])))
        other = asyncio.create_task(queue.submit(("other", "run"), patient(begun[1])))
        for event in begun:
            await asyncio.to_thread(wait_for_event, event, "the start of a job")
        answer = await queue.submit(("tab", "run"), quick)
        elsewhere = await queue.submit(("tab", "network"), quick)
        first = await asyncio.gather(old, return_exceptions=True)
        still = not other.done()
        queue.cancel(("other", "run"))
        second = await asyncio.gather(other, return_exceptions=True)
        queue.close()
        return [answer, elsewhere, still, *map(type, [*first, *second])]

    assert in_a_loop(scene()) == ["done", "done", True, SupersededError, SupersededError]


def test_a_client_that_disconnects_cancels_its_own_job_and_not_the_one_that_superseded_it() -> None:
    async def scene() -> list[Any]:
        queue, left, begun = JobQueue(Limits(workers=2)), asyncio.Event(), threading.Event()

        async def gone() -> None:
            await left.wait()

        old = asyncio.create_task(queue.submit(("tab", "run"), patient(threading.Event()), gone))
        await asyncio.sleep(0)
        new = asyncio.create_task(queue.submit(("tab", "run"), patient(begun)))
        # The old page disconnects at the moment at which its job is superseded.
        left.set()
        first = await asyncio.gather(old, return_exceptions=True)
        await asyncio.to_thread(wait_for_event, begun, "the start of a job")
        still = not new.done()
        queue.close()
        second = await asyncio.gather(new, return_exceptions=True)
        return [type(first[0]), still, type(second[0])]

    assert in_a_loop(scene()) == [SupersededError, True, SupersededError]


def test_a_job_that_is_cancelled_while_it_waits_never_starts() -> None:
    begun: list[str] = []

    async def scene() -> None:
        queue = JobQueue(Limits(workers=1))
        blocking = threading.Event()
        first = asyncio.create_task(queue.submit(("a", "run"), patient(blocking)))
        await asyncio.to_thread(wait_for_event, blocking, "the start of a job")
        waiting = asyncio.create_task(queue.submit(("b", "run"), lambda: begun.append("b")))
        await asyncio.sleep(0)
        queue.cancel(("b", "run"))
        queue.cancel(("a", "run"))
        await asyncio.gather(first, waiting, return_exceptions=True)
        assert await queue.submit(("c", "run"), quick) == "done"
        queue.close()

    in_a_loop(scene())
    assert begun == []


def test_the_queue_is_bounded_and_empties() -> None:
    async def scene() -> list[int]:
        queue = JobQueue(Limits(workers=1, waiting=3))
        tasks = [asyncio.create_task(queue.submit((str(tab), "run"), patient(threading.Event()))) for tab in range(3)]
        await asyncio.sleep(0)
        with pytest.raises(RequestError) as told:
            await queue.submit(("one more", "run"), quick)
        taken = queue.pending
        for tab in range(3):
            queue.cancel((str(tab), "run"))
        await asyncio.gather(*tasks, return_exceptions=True)
        # Two had not started and are gone at once; the third ends at its next check_cancelled.
        assert queue.pending <= 1
        assert await queue.submit(("one more", "run"), quick) == "done"
        queue.close()
        return [told.value.status, taken]

    assert in_a_loop(scene()) == [429, 3]


def test_a_job_without_end_is_stopped_at_the_time_limit() -> None:
    async def scene() -> None:
        queue = JobQueue(Limits(workers=1, seconds=0.05))
        with pytest.raises(TimeLimitError, match=r"took longer than 0\.05 s; take fewer") as told:
            await queue.submit(("tab", "run"), patient(threading.Event()))
        assert error_answer(told.value) == (422, {"error": {"text": str(told.value), "where": None}})
        queue.close()

    in_a_loop(scene())


def test_a_job_without_checkpoints_is_abandoned_at_the_time_limit() -> None:
    free = threading.Event()

    async def scene() -> None:
        queue = JobQueue(Limits(workers=2, seconds=0.05))
        try:
            with pytest.raises(TimeLimitError):
                await queue.submit(("tab", "run"), free.wait)
            # However slow the machine is, the next job has time enough.
            queue.limits = Limits(workers=2)
            assert await queue.submit(("tab", "run"), quick) == "done"
        finally:
            free.set()
        queue.close()

    in_a_loop(scene())


def test_the_diagnosis_has_a_limit_of_its_own_and_is_cancelled_with_the_job() -> None:
    built = ModelCache(Limits()).build({"scenario": ADAPTING})
    assert long_run(built, Limits(verdict=0)).outcome is Outcome.UNKNOWN
    assert long_run(built, Limits()).outcome is not Outcome.UNKNOWN
    calls = itertools.count()
    with pytest.raises(CancelledError), cancellable(lambda: next(calls) > 1):
        long_run(built, Limits())


def test_a_forecast_is_not_lost_with_advice_that_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    built = ModelCache(Limits()).build({"scenario": SMALL})

    def endless(*_: object) -> None:
        while True:
            check_cancelled()

    monkeypatch.setattr("peerpressure.theory._diagnosis.advice", endless)
    facts = forecast_facts(built, Limits())
    assert facts is not None
    assert facts["advice"] is None
    exact = pp.diagnose(built.system, built.steps, advise=False).forecast
    assert exact is not None
    assert facts["forecast"]["rms_distance"] == exact.rms_distance


class Watcher:
    """Wraps the server's runs: it tells when one begins, and when one is cancelled."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.begun, self.ended = threading.Event(), threading.Event()
        original = run_answer

        def watched(built: Experiment, limits: Limits, topic: int = 0) -> bytes:
            self.begun.set()
            try:
                # However fast the machine is, a long run does not end by itself.
                while built.steps == LONG["run"]["steps"]:
                    original(built, limits, topic)
                return original(built, limits, topic)
            except CancelledError:
                self.ended.set()
                raise

        patch.setattr(app, "run_answer", watched)


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
        wait_for_event(watcher.begun, "the start of a run")
        # The other tab is answered while the long run goes on, and the long run is not ended by it.
        assert two.post("run", SHORT).status_code == 200
        assert again.post("network", SHORT).status_code == 200
        assert not old.done()
        assert not watcher.ended.is_set()
        assert again.post("run", SHORT).status_code == 200
        answer = result_of(old, "the answer to a run that is no longer wanted")
        assert (answer.status_code, answer.json()["error"]["text"]) == (409, str(SupersededError()))
        wait_for_event(watcher.ended, "the end of a run that is no longer wanted")


def test_a_page_that_disconnects_cancels_its_job(monkeypatch: pytest.MonkeyPatch) -> None:
    watcher = Watcher(monkeypatch)
    with served(Limits(seconds=300)) as address, Asker(address) as gone:
        raw = socket.create_connection((gone.http.base_url.host, gone.http.base_url.port or 80))
        body = json.dumps({"scenario": LONG}).encode()
        head = ["POST /api/run HTTP/1.1", "Host: localhost", "Content-Type: application/json"]
        raw.sendall("\r\n".join([*head, f"Content-Length: {len(body)}", "", ""]).encode() + body)
        wait_for_event(watcher.begun, "the start of a run")
        raw.close()
        wait_for_event(watcher.ended, "the end of a run that is no longer wanted")


@pytest.mark.parametrize(
    ("limits", "scenario", "says", "where"),
    [
        ({"agents": 20}, SMALL, "number of agents must be at most 20 here, got 30", "network"),
        ({"edges": 50}, SMALL, "number of edges must be at most 50 here, got 56", "network"),
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
        ModelCache(Limits(**limits)).load({"scenario": scenario})
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
    monkeypatch.setattr(Scenario, "graph", property(lambda _: pytest.fail("it was built")))
    with pytest.raises(RequestError) as told:
        ModelCache(Limits()).load({"scenario": SMALL | {"network": network}})
    assert told.value.where == "network"


def test_a_flood_of_mistakes_is_told_in_one_sentence() -> None:
    with pytest.raises(RequestError, match="99,999 others"):
        ModelCache(Limits()).load({"scenario": SMALL | {"agents": {"hidden": ["a"] * 99_999}}})


def test_the_cache_of_networks_is_bounded_and_drops_the_least_recently_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "NETWORK_BYTES", 4_900)
    cache = ModelCache(Limits())

    def graph(n: int) -> pp.Network:
        return cache.load({"scenario": {"network": {"generator": "path", "n": n}}}).graph

    first, second = graph(10), graph(11)
    assert graph(10) is first
    third = graph(12)
    # Of three networks of about two kilobytes there is room for two.
    assert graph(10) is first
    assert graph(12) is third
    assert graph(11) is not second
    # One that is larger than the whole cache is built, and not kept.
    assert graph(100) is not graph(100)


def test_a_network_is_built_once_for_all_requests_about_it() -> None:
    cache = ModelCache(Limits())
    first = cache.load({"scenario": SMALL}).graph
    louder = SMALL | {"noise": {"law": "gaussian", "std": 2.0}, "run": SMALL["run"] | {"steps": 99}}
    assert cache.load({"scenario": louder}).graph is first
    assert cache.drawing(first) is cache.drawing(pp.networks.barabasi_albert(30, 2, seed=5))
    assert cache.load({"scenario": SMALL | {"run": SMALL["run"] | {"seed": 6}}}).graph is not first
