"""``peerpressure explore`` as a process: it starts, serves, and ends with Ctrl-C."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

import peerpressure as pp
from peerpressure import cli
from peerpressure.cli import explore
from peerpressure.explorer.catalogue import catalogue
from peerpressure.explorer.links import is_link, state_of
from peerpressure.explorer.models import page_state
from peerpressure.explorer.protocol import Limits, RequestError
from peerpressure.explorer.server import LOOPBACK, PORT, address_of, bracketed, is_loopback, names_for, open_socket
from peerpressure.scenario import load_scenario, scenario_from
from tests import waiting
from tests.explorer.driving import fragment_of

FILES = """
[network]
file = "friends.csv"
[agents]
hidden = { file = "agents.csv", column = "x" }
[noise]
law = "gaussian"
std = 0.5
[run]
steps = 12
record = "summaries"
[output]
folder = "somewhere"
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    (tmp_path / "friends.csv").write_text("ann,bob,2\nbob,cat,1\ncat,ann,1\n")
    (tmp_path / "agents.csv").write_text("agent,x\ncat,3\nann,1\nbob,2\n")
    (tmp_path / "scenario.toml").write_text(FILES)
    return tmp_path / "scenario.toml"


MODULE = ("-m", "peerpressure")


@contextlib.contextmanager
def started(*arguments: object, program: Sequence[str] = MODULE) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Give the running command and its address."""
    command = [sys.executable, *program, "explore", "--no-browser", "--port", "0", *map(str, arguments)]
    environment = os.environ | {"PYTHONIOENCODING": "utf-8"}
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    with waiting.started(command, env=environment, **pipes) as process:
        while (match := re.search(r"http://\S+/", line := waiting.line_of(process))) is None:
            assert line, "it ended without an address"
        yield process, match[0]


# The command in a process that takes long to be taken apart, as on a machine that does much else, and as long to answer
# as such a machine needs.
SLOW_TO_END = """
import atexit, functools, time
from peerpressure.cli import main
from peerpressure.explorer import app
atexit.register(time.sleep, 100)
app.Limits = functools.partial(app.Limits, seconds=3_600.0)
main()
"""


@pytest.mark.skipif(os.name != "posix", reason="Ctrl-C is sent by other means elsewhere")
def test_it_serves_a_scenario_until_ctrl_c(scenario: Path) -> None:
    with started(scenario, program=("-c", SLOW_TO_END)) as (process, address):
        retrying = httpx.HTTPTransport(retries=10)
        with httpx.Client(base_url=address, timeout=None, transport=retrying) as client:
            listed = waiting.in_thread(lambda: client.get("api/catalogue").json(), "the catalogue")
            body = {"scenario": listed["default"]["scenario"]}
            answer = waiting.in_thread(lambda: client.post("api/run", json=body), "a run")
        assert listed["default"]["scenario"]["agents"]["hidden"] == [1, 2, 3]
        assert answer.status_code == 200, answer.text
        process.send_signal(signal.SIGINT)
        assert waiting.wait_for_end(process) == 0
        assert process.stdout is not None
        assert process.stdout.read().strip() == "Explorer ended"


# The command, with a pressure whose every look is work that cannot be called off.
UNSTOPPABLE = """
import os, threading
import numba, numpy
from peerpressure.cli import main
from peerpressure.schedules import Linear

@numba.njit(nogil=True)
def loop(count):
    while count[0] >= 0:
        count[0] = (count[0] + 1) % 1_000_003

def pressure(self, t):
    if threading.current_thread().name.startswith("AnyIO"):
        os.write(1, b"at work\\n")
        loop(numpy.zeros(1, int))
    return t
Linear.pressure = pressure
main()
"""
SMALL = {"network": {"named": "karate"}, "run": {"steps": 5}}


@pytest.mark.skipif(os.name != "posix", reason="signals are passed on by other means elsewhere")
def test_ctrl_c_ends_it_whatever_is_being_computed() -> None:
    with started(program=("-c", UNSTOPPABLE)) as (process, address), contextlib.ExitStack() as clients:
        assert process.stdout is not None
        pool = clients.enter_context(ThreadPoolExecutor(3))
        answers = [
            pool.submit(httpx.post, f"{address}api/run", json={"scenario": SMALL}, timeout=None) for _ in range(3)
        ]
        for _ in answers:
            assert waiting.line_of(process) == "at work\n"
        # One who has nothing to ask, and one who never finishes the question.
        place = (httpx.URL(address).host, httpx.URL(address).port or 80)
        for sent in (b"", b"POST /api/run HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\n{"):
            clients.enter_context(socket.create_connection(place)).sendall(sent)
        process.send_signal(signal.SIGINT)
        assert waiting.wait_for_end(process) == 0
        assert process.stdout.read().strip().splitlines()[-1] == "Explorer ended"
        # Whoever asked is told that there will be no answer.
        assert [waiting.result_of(answer, "an answer").status_code for answer in answers] == [409] * 3


def test_what_a_file_reads_from_others_is_written_out(scenario: Path) -> None:
    read = load_scenario(scenario)
    state = page_state(read, Limits())["scenario"]
    assert state["network"] == {
        "edges": [[0, 1], [0, 2], [1, 2]],
        "weights": [2.0, 1.0, 1.0],
        "labels": ["ann", "bob", "cat"],
    }
    assert state["agents"]["hidden"] == [1.0, 2.0, 3.0]
    assert "output" not in state
    assert "record" not in state["run"]
    again, before = scenario_from(state).model(), read.model()
    assert (again.network.adjacency != before.network.adjacency).nnz == 0
    assert again.x0.tolist() == before.x0.tolist()


def test_attributes_of_a_graph_are_written_out(tmp_path: Path) -> None:
    (tmp_path / "friends.gml").write_text(
        'graph [ node [ id 1 label "ann" x 0.5 ] node [ id 2 label "bob" x 2 ] edge [ source 1 target 2 ] ]'
    )
    text = FILES.replace("friends.csv", "friends.gml").replace('file = "agents.csv", column = "x"', 'attribute = "x"')
    (tmp_path / "scenario.toml").write_text(text)
    state = page_state(load_scenario(tmp_path / "scenario.toml"), Limits())["scenario"]
    assert state["agents"]["hidden"] == [0.5, 2.0]
    assert scenario_from(state).model().network.labels == ("ann", "bob")


def test_a_scenario_beyond_the_bounds_is_refused_at_once(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "large.toml"
    file.write_text("[network]\ngenerator = 'star'\nn = 60000\n[run]\nsteps = 1\n")
    assert cli.invoke(["explore", "--no-browser", str(file)]) == 1
    assert "at most 50,000 here, got 60,000" in capfd.readouterr().err
    with pytest.raises(RequestError):
        page_state(load_scenario(file), Limits(agents=100))


COMPARED = {
    "scenario": SMALL,
    "view": {"time": 3, "agents": [1]},
    "other": SMALL | {"noise": {"law": "gaussian", "std": 0.5}},
}


def test_a_link_is_read_in_every_form_in_which_it_is_passed_on() -> None:
    fragment = fragment_of(COMPARED)
    for link in (fragment, fragment[1:], f"http://127.0.0.1:8321/{fragment}", f"HTTP://[::1]/?a=b%23{fragment[1:]}"):
        assert is_link(link)
        assert state_of(link, Limits()) == COMPARED
    # The page opens with it.
    assert catalogue(Limits(), state_of(fragment, Limits()))["default"] == COMPARED
    assert state_of(fragment_of({"scenario": SMALL}), Limits()) == {"scenario": SMALL, "view": {}, "other": None}
    assert not is_link("scenario.toml")
    assert not is_link("a" * 39)


def test_a_file_whose_name_looks_like_a_link_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a#1.toml", "a" * 40):
        assert is_link(name)
        Path(name).touch()
        assert not is_link(name)


BAD_LINKS = {
    "no fragment": ("http://127.0.0.1:8321/", "must hold a state of the explorer"),
    "no base64": ("http://127.0.0.1:8321/#a!b", "must hold a state of the explorer"),
    "cut off": (fragment_of(COMPARED)[:-9], "must hold a state of the explorer"),
    "no JSON object": (fragment_of([1]), "must hold a state of the explorer"),
    "no scenario": (fragment_of({"view": {}}), "must hold a state of the explorer"),
    "too much": (fragment_of("x" * 80_000_000), "must hold a state of the explorer"),
    "a file": (fragment_of({"scenario": SMALL | {"network": {"file": "/etc/passwd"}}}), "must not name files"),
    "too large": (fragment_of({"scenario": SMALL | {"run": {"steps": 10**9}}}), "at most 1,000,000 here"),
    "half a comparison": (fragment_of(COMPARED | {"other": {"network": {"generator": "x"}}}), "generator"),
}


@pytest.mark.parametrize("name", BAD_LINKS)
def test_a_bad_link_gives_one_clear_error(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    link, words = BAD_LINKS[name]
    assert cli.invoke(["explore", "--no-browser", link]) == 2
    told = capfd.readouterr().err.strip()
    assert words in told
    assert len(told.splitlines()) == 1


def test_the_next_free_port_is_taken_unless_one_was_named() -> None:
    with open_socket("127.0.0.1") as first, open_socket("127.0.0.1") as second:
        ports = [one.getsockname()[1] for one in (first, second)]
        assert PORT <= ports[0] < ports[1]
        with pytest.raises(pp.PeerPressureError, match=f"127.0.0.1:{ports[0]}"):
            open_socket("127.0.0.1", ports[0])


def test_an_address_that_is_not_ours_is_refused(capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["explore", "--no-browser", "--host", "203.0.113.7"]) == 1
    assert "203.0.113.7" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("10.1.2.3", False),
        ("example.org", False),
    ],
)
def test_loopback_is_told_from_the_rest(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback
    assert names_for(host) >= LOOPBACK


def test_who_listens_to_everyone_answers_to_its_own_names_only() -> None:
    names = names_for("0.0.0.0")
    assert socket.gethostname().lower() in names
    assert "0.0.0.0" not in names
    assert names_for("10.1.2.3") == LOOPBACK | {"10.1.2.3"}
    assert address_of("0.0.0.0", 1) == "http://127.0.0.1:1/"


def test_opening_to_others_says_what_that_means(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    from peerpressure.explorer import server

    opened: list[Any] = []
    monkeypatch.setattr(explore, "_end_process", lambda: None)
    monkeypatch.setattr(server, "serve", lambda app, *_: opened.append(app.user_middleware[1].kwargs["allowed_hosts"]))
    assert cli.invoke(["explore", "--no-browser", "--host", "0.0.0.0", "--port", "0"]) == 0
    told = capfd.readouterr().out
    assert "no password" in told
    assert socket.gethostname().lower() in told
    assert set(opened[0]) == {*map(bracketed, names_for("0.0.0.0"))}
    assert cli.invoke(["explore", "--no-browser", "--port", "0"]) == 0
    assert "no password" not in capfd.readouterr().out


def test_the_browser_is_opened_when_the_page_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    import threading
    import webbrowser

    from peerpressure.explorer import server

    seen = threading.Event()
    monkeypatch.setattr(explore, "_end_process", lambda: None)
    monkeypatch.setattr(webbrowser, "open", lambda address: seen.set())
    monkeypatch.setattr(server, "serve", lambda app, listening, when_ready: when_ready())
    assert cli.invoke(["explore", "--port", "0"]) == 0
    waiting.wait_for_event(seen, "the browser to be opened")
