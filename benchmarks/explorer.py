"""How long the explorer takes from a slider to the picture: the server alone, and the whole way through a browser."""

from __future__ import annotations

import base64
import contextlib
import json
import re
import statistics
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator
from typing import Any

import httpx
from tests.browser import chromium

from .sections import Cell, Section, Table, Target
from .settings import Settings

WANTED_SERVER, WANTED_FIRST = 25.0, 1_500.0  # milliseconds
WANTED_WHOLE = {100: 60.0, 1_000: 150.0, 10_000: 500.0}  # by agents
PATIENCE = 120_000

TEXT = """\
`peerpressure explore` in a process of its own, over HTTP on loopback. *Server* is the time from sending a request to
receiving the complete response, the median over moves of a slider that changes the noise level, so no cache helps;
a *new network* is generated and laid out from another seed each time. *Whole* is measured in the page: from the event
of the slider to the first frame of the browser after redrawing (Chromium, no display). *First picture* is the time from
asking for the page to the picture, in a browser that has nothing of it in its cache; the server runs already.
"""

MOVE = """async ([path, moves]) => {
  const root = document.documentElement;
  const slider = document.querySelector(`[data-path="${path}"] input[type=range]`);
  const spent = [];
  for (let move = 0; move < moves; move++) {
    const begin = performance.now();
    const drawn = new Promise((done) => {
      const watcher = new MutationObserver(() => { watcher.disconnect(); requestAnimationFrame(done); });
      watcher.observe(root, { attributes: true, attributeFilter: ["data-runs"] });
    });
    slider.value = String(Number(slider.min) + 40 + (move % 50));
    slider.dispatchEvent(new Event("input", { bubbles: true }));
    await drawn;
    spent.push(performance.now() - begin);
    await new Promise((done) => setTimeout(done, 60));
  }
  return spent;
}"""


def scenario(agents: int, steps: int = 200, replicates: int = 20, **more: Any) -> dict[str, Any]:
    made = {
        "network": {"generator": "barabasi_albert", "n": agents, "m": 2},
        "agents": {"stubbornness": {"law": "uniform", "low": 0.5, "high": 1.0}},
        "noise": {"law": "gaussian", "std": 0.5},
        "run": {"steps": steps, "replicates": replicates, "seed": 1},
        "observe": {"methods": ["ols", "innovations"]},
    }
    return {name: value | more.get(name, {}) for name, value in made.items()}


@contextlib.contextmanager
def started() -> Iterator[tuple[str, int]]:
    """Give the address and the process of a running explorer."""
    command = [sys.executable, "-m", "peerpressure", "explore", "--no-browser", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield re.findall(r"http://\S+/", process.stdout.readline())[0], process.pid
        finally:
            process.terminate()


def _asked(client: httpx.Client, question: str, scenarios: list[dict[str, Any]]) -> list[float]:
    """Return the milliseconds of each question, after one that is not counted."""
    spent = []
    for made in scenarios:
        begin = time.perf_counter()
        client.post(f"api/{question}", json={"scenario": made, "agents": [0]}).raise_for_status()
        spent.append((time.perf_counter() - begin) * 1e3)
    return spent[1:]


def _louder(count: int, *sizes: int) -> list[dict[str, Any]]:
    return [scenario(*sizes, noise={"std": 0.2 + 0.01 * move}) for move in range(count + 1)]


def _others(count: int, agents: int) -> list[dict[str, Any]]:
    return [scenario(agents, run={"seed": move}) for move in range(count + 1)]


def _server(client: httpx.Client, moves: int) -> dict[str, list[float]]:
    few = max(2, moves // 20)
    return {
        "run, 100 agents, 200 steps, 20 replicates": _asked(client, "run", _louder(moves, 100)),
        "exact law of the mean and one agent, with the verdict": _asked(client, "exact", _louder(few, 100)),
        "observer, regression and best, exposure and budget": _asked(client, "observe", _louder(few, 100)),
        "new network, 100 agents": _asked(client, "network", _others(few, 100)),
        "new network, 500 agents": _asked(client, "network", _others(few, 500)),
        "new network, 2,000 agents": _asked(client, "network", _others(2, 2_000)),
        "new network, 50,000 agents": _asked(client, "network", _others(1, 50_000)),
        "run, 2,000 agents, 200 steps, 20 replicates": _asked(client, "run", _louder(few, 2_000)),
        "run, 50,000 agents, 200 steps, 5 replicates": _asked(client, "run", _louder(2, 50_000, 200, 5)),
    }


def _address_of(scenario: dict[str, Any]) -> str:
    """Return the fragment that opens a scenario."""
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    packed = packer.compress(json.dumps({"scenario": scenario}).encode()) + packer.flush()
    return "#" + base64.urlsafe_b64encode(packed).decode().rstrip("=")


def _whole(address: str, moves: int) -> dict[str, list[float]]:
    """Return the milliseconds of first pictures and of redraws in a browser; nothing where there is none."""
    program = chromium()
    if program is None:
        return {}
    from playwright.sync_api import sync_playwright

    found: dict[str, list[float]] = {FIRST: []}
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for _ in range(5):
            page = browser.new_page(viewport={"width": 1400, "height": 900})
            begin = time.perf_counter()
            page.goto(address, timeout=PATIENCE)
            page.wait_for_selector("html[data-runs]", state="attached", timeout=PATIENCE)
            found[FIRST].append((time.perf_counter() - begin) * 1e3)
            page.close()
        for agents in WANTED_WHOLE:
            page = browser.new_page(viewport={"width": 1400, "height": 900})
            page.goto(address + _address_of(scenario(agents)), timeout=PATIENCE)
            page.wait_for_selector("html[data-runs]:not([data-busy])", state="attached", timeout=PATIENCE)
            # Until the exact law of the first run is drawn, which is not what is measured.
            page.wait_for_selector("html[data-exacts]", state="attached", timeout=PATIENCE)
            found[_redraw(agents)] = page.evaluate(MOVE, ["noise.std", moves + 3])[3:]
            page.close()
        browser.close()
    return found


FIRST = "first picture"


def _redraw(agents: int) -> str:
    return f"slider to redraw, {agents:,} agents"


def measure(settings: Settings) -> Section:
    moves = max(20, settings.latency_calls // 3)
    with started() as (address, _):
        transport = httpx.HTTPTransport(retries=20)
        with httpx.Client(base_url=address, timeout=120, transport=transport) as client:
            _asked(client, "observe", _louder(2, 100))
            server = _server(client, moves)
        whole = _whole(address, moves)
    rows: list[list[Cell]] = [
        [name, statistics.median(spent), _worst(spent)] for name, spent in (whole | server).items()
    ]
    run = statistics.median(next(iter(server.values())))

    def target(name: str, wanted: float) -> Target:
        seen = statistics.median(whole[name]) if name in whole else None
        return Target(f"explorer: {name}", wanted, seen, " ms", at_least=False)

    targets = [
        Target("explorer: 10²×20, 200 steps, server", WANTED_SERVER, run, " ms", at_least=False),
        *(target(_redraw(agents), wanted) for agents, wanted in WANTED_WHOLE.items()),
        target(FIRST, WANTED_FIRST),
    ]
    columns = ("", "median, ms", "95 %, ms")
    return Section("Explorer", TEXT, [Table("Milliseconds", columns, rows)], targets)


def _worst(spent: list[float]) -> float:
    return sorted(spent)[min(len(spent) - 1, int(0.95 * len(spent)))]
