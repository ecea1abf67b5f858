"""How long the explorer takes from a slider to the picture: the server alone, and the whole way through a browser."""

from __future__ import annotations

import contextlib
import re
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import httpx

from .sections import Cell, Section, Table, Target
from .settings import Settings

WANTED_SERVER, WANTED_WHOLE = 25.0, 100.0  # milliseconds
PATIENCE = 120_000

TEXT = """\
`peerpressure explore` in a process of its own, over HTTP on loopback. *Server* is the time from sending a request to
receiving the complete response, the median over moves of a slider that changes the noise level, so that no cache helps;
a *new network* is generated and laid out from another seed each time. *Whole* is measured in the page: from the event
of the slider to the first frame of the browser after redrawing (Chromium, no display).
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
        "pressure, while a formula is typed": _asked(client, "pressure", _louder(moves, 100)),
        "new network, 100 agents": _asked(client, "network", _others(few, 100)),
        "new network, 500 agents": _asked(client, "network", _others(few, 500)),
        "new network, 2,000 agents": _asked(client, "network", _others(2, 2_000)),
        "new network, 50,000 agents": _asked(client, "network", _others(1, 50_000)),
        "run, 2,000 agents, 200 steps, 20 replicates": _asked(client, "run", _louder(few, 2_000)),
        "run, 50,000 agents, 200 steps, 5 replicates": _asked(client, "run", _louder(2, 50_000, 200, 5)),
    }


def _whole(address: str, moves: int) -> list[float] | None:
    """Return the milliseconds from slider to redraw in a browser; None where there is none."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        return None
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        page.goto(address, timeout=PATIENCE)
        page.wait_for_selector("html[data-runs]:not([data-busy])", state="attached", timeout=PATIENCE)
        spent: list[float] = page.evaluate(MOVE, ["noise.std", moves + 3])
        browser.close()
    return spent[3:]


def measure(settings: Settings) -> Section:
    moves = max(20, settings.latency_calls // 3)
    with started() as (address, _):
        transport = httpx.HTTPTransport(retries=20)
        with httpx.Client(base_url=address, timeout=120, transport=transport) as client:
            _asked(client, "observe", _louder(2, 100))
            server = _server(client, moves)
        whole = _whole(address, moves)
    rows: list[list[Cell]] = [[name, statistics.median(spent), _worst(spent)] for name, spent in server.items()]
    seen = None if whole is None else statistics.median(whole)
    if whole is not None:
        rows.insert(0, ["whole, slider to redraw, 100 agents", seen, _worst(whole)])
    run = statistics.median(next(iter(server.values())))
    targets = [
        Target("explorer: 10²×20, 200 steps, server", WANTED_SERVER, run, " ms", at_least=False),
        Target("explorer: 10²×20, 200 steps, slider to redraw", WANTED_WHOLE, seen, " ms", at_least=False),
    ]
    columns = ("", "median, ms", "95 %, ms")
    return Section("Explorer", TEXT, [Table("Milliseconds", columns, rows)], targets)


def _worst(spent: list[float]) -> float:
    return sorted(spent)[min(len(spent) - 1, int(0.95 * len(spent)))]
