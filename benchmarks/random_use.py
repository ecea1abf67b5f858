"""The explorer under random use: ``python -m benchmarks.random_use --seconds 600 --seed 1``.

Requests at random show the memory of the server; with ``--page`` random actions in a browser show how long its page
stands still at most.
"""

from __future__ import annotations

import argparse
import os
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
from tests.browser import chromium

from peerpressure.explorer.catalogue import presets

from .explorer import started

QUESTIONS = ("network", "run", "run", "exact", "check", "observe", "inference")
EXPORTS = ("export/figure", "export/csv", "export/netcdf")
SIZES = (50, 300, 1_000, 3_000, 20_000)


def resident(process: int) -> float:
    """Return the memory that a process uses, in MB."""
    (line,) = (line for line in Path(f"/proc/{process}/status").read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) * 1024 / 1e6


def requests(rng: random.Random) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield questions about presets with other seeds and sizes, without end."""
    while True:
        scenario = _varied(rng.choice(presets()).state["scenario"], rng)
        for question in rng.sample([*QUESTIONS, *EXPORTS], 4):
            figure = {"what": rng.choice(["curves", "network", "observer"]), "format": "png", "time": 5}
            yield question, {"scenario": scenario} | (figure if question == "export/figure" else {})


def _varied(given: Mapping[str, Any], rng: random.Random) -> dict[str, Any]:
    scenario = dict(given) | {"run": given["run"] | {"seed": rng.randrange(10**6)}}
    # Opinions and observed agents that are given one by one belong to the network as it is.
    listed = any(isinstance(value, list) for value in scenario.get("agents", {}).values())
    if "generator" in scenario["network"] and not listed and "agents" not in scenario.get("observe", {}):
        size = {"n": rng.choice(SIZES)} if "n" in scenario["network"] and rng.random() < 0.4 else {}
        scenario["network"] = scenario["network"] | {"seed": rng.randrange(10**6)} | size
    return scenario


# Kept in the page: its tasks of 50 ms or more, as the browser reports them.
WATCH = """() => { window.tasks = [];
  new PerformanceObserver((list) => tasks.push(...list.getEntries().map((one) => one.duration)))
    .observe({ type: "longtask" }) }"""
# Move a slider, choose an option, or press a button: any that can be seen, or is in a menu or a drawer.
ACT = """([kind, part]) => {
  const seen = [...document.querySelectorAll(kind)].filter((one) =>
    !one.disabled && (one.checkVisibility() || one.matches(".card, #share-menu *")));
  const one = seen[Math.floor(part * seen.length)];
  if (!one) return;
  const rest = (part * seen.length) % 1;
  if (one.type === "range") one.value = Number(one.min) + rest * (Number(one.max) - Number(one.min));
  else if (one instanceof HTMLSelectElement) one.selectedIndex = Math.floor(rest * one.options.length);
  else one.click();
  for (const name of ["input", "change"]) one.dispatchEvent(new Event(name, { bubbles: true })) }"""
KINDS = (
    "input[type=range]",
    "select",
    "#play, #step-on, #step-back, #to-end, #time",
    "#compare, #comparison-swap, #comparison-end, #undo, #redo",
    "[role=tab], #log-time, #log-size, #zoom-colours, #zoom-in, #zoom-out, #theme, .segment input, .tick input",
    ".card",
    "#share-menu [data-take=network], #share-menu [data-take=plots]",
)


def use_page(address: str, seconds: float, rng: random.Random) -> str:
    """Act at random in a page, and return what the browser says of it."""
    from playwright.sync_api import sync_playwright

    errors: list[str] = []
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 720})
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.add_init_script(f"({WATCH})()")
        page.goto(address, timeout=60_000)
        page.wait_for_selector("html[data-runs]", timeout=60_000)
        actions, end, tasks, heap = 0, time.monotonic() + seconds, [0.0], 0.0
        while time.monotonic() < end:
            page.evaluate(ACT, [rng.choice(KINDS), rng.random()])
            page.wait_for_timeout(rng.choice([20, 100, 500]))
            actions += 1
            if actions % 20 == 0:
                tasks += page.evaluate("() => window.tasks.splice(0)")
                heap = max(heap, page.evaluate("() => performance.memory.usedJSHeapSize") / 1e6)
        browser.close()
    freezes = sorted(tasks)[-5:]
    return (
        f"{actions} actions: longest tasks {', '.join(f'{one:.0f}' for one in freezes)} ms, "
        f"{sum(one > 1_000 for one in tasks)} over 1 s, heap up to {heap:.0f} MB, {len(errors)} errors {errors[:3]}"
    )


def main() -> None:
    """Use the explorer at random for some time, and print how it fares."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--page", action="store_true", help="act in a browser")
    chosen = parser.parse_args()
    answers: Counter[int] = Counter()
    with started() as (address, process), httpx.Client(base_url=address, timeout=60) as client:
        over, seen = threading.Event(), [resident(process)]

        def watch() -> None:
            while not over.wait(0.1):
                seen.append(resident(process))

        watcher = threading.Thread(target=watch)
        watcher.start()
        rng = random.Random(chosen.seed)
        if chosen.page:
            told = use_page(address, chosen.seconds, rng)
        else:
            end = time.monotonic() + chosen.seconds
            for question, body in requests(rng):
                answers[client.post(f"api/{question}", json=body, headers={"X-Tab": "random"}).status_code] += 1
                if time.monotonic() > end:
                    break
            told = f"{sum(answers.values())} requests {dict(answers)}"
        time.sleep(2)
        over.set()
        watcher.join()
        print(f"{told}; server: peak {max(seen):.0f} MB, at the end {seen[-1]:.0f} MB, load {os.getloadavg()[1]:.1f}")


if __name__ == "__main__":
    main()
