"""Run the benchmarks: ``python -m benchmarks [--quick] [--only NAME ...] [--write FILE] [--json FILE]``."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from rich.console import Console

from . import (
    accelerator,
    answers,
    attacks,
    bound,
    comparison,
    coverage,
    cross_check,
    explorer,
    extensions,
    filtering,
    fit_coverage,
    goodness_of_fit,
    inference,
    influence,
    latency,
    memory,
    moderate,
    network_classes,
    orders,
    parts,
    peers,
    readers,
    refits,
    regression,
    reported,
    scaling,
    score_power,
    short_panels,
    speed,
    threads,
    whole_user,
)
from .machine import facts
from .report import markdown, show
from .sections import Section
from .settings import FULL, QUICK, Settings

MEASUREMENTS: Mapping[str, Callable[[Settings], Section]] = {
    "speed": speed.measure,
    "peers": peers.measure,
    "bound": bound.measure,
    "latency": latency.measure,
    "memory": memory.measure,
    "readers": readers.measure,
    "scaling": scaling.measure,
    "threads": threads.measure,
    "orders": orders.measure,
    "parts": parts.measure,
    "explorer": explorer.measure,
    "whole": whole_user.measure,
    "extensions": extensions.measure,
    "networks": network_classes.measure,
    "inference": inference.measure,
    "regression": regression.measure,
    "filtering": filtering.measure,
    "coverage": coverage.measure,
    "fit": fit_coverage.measure,
    "comparison": comparison.measure,
    "panels": short_panels.measure,
    "influence": influence.measure,
    "moderate": moderate.measure,
    "reported": reported.measure,
    "answers": answers.measure,
    "diagnostics": goodness_of_fit.measure,
    "scores": score_power.measure,
    "refits": refits.measure,
    "packages": cross_check.measure,
    "attacks": attacks.measure,
    "accelerator": accelerator.measure,
}


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes and few rounds, within a minute")
    parser.add_argument("--only", nargs="+", choices=MEASUREMENTS, default=list(MEASUREMENTS), metavar="NAME",
                        help=f"some of: {', '.join(MEASUREMENTS)}")  # fmt: skip
    parser.add_argument("--jobs", type=int, default=1, metavar="N",
                        help="processes that share the records of studies (fit, comparison, panels, influence, "
                        "moderate, reported, answers, scores, refits); what is timed alone runs alone")  # fmt: skip
    parser.add_argument("--records", type=int, metavar="N",
                        help="records of each setting in studies, for a first look or smaller errors")  # fmt: skip
    parser.add_argument("--keep", type=Path, metavar="FILE",
                        help="keep the result of each record of a study in a file, one a line; those that it has are "
                        "not computed again")  # fmt: skip
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the report as Markdown")
    parser.add_argument("--json", type=Path, metavar="FILE",
                        help="write the figures as JSON after each section; those of other sections that the file has "
                        "from this machine are kept, and are part of the report")  # fmt: skip
    return parser.parse_args(given)


def main(given: Sequence[str] | None = None) -> None:
    chosen = arguments(given)
    settings = replace(QUICK if chosen.quick else FULL, jobs=chosen.jobs, records=chosen.records, kept=chosen.keep)
    console = Console()
    machine = {"machine": facts(), "quick": chosen.quick}
    sections = {} if chosen.json is None else stored(chosen.json, machine)
    for file in filter(None, (chosen.json, chosen.write)):
        # Before anything is measured, for a folder that cannot be made would lose it.
        file.parent.mkdir(parents=True, exist_ok=True)
    for name in MEASUREMENTS:
        if name in chosen.only:
            begin = time.perf_counter()
            sections[name] = MEASUREMENTS[name](settings)
            show(sections[name], console)
            console.print(f"measured in {time.perf_counter() - begin:.0f} s\n")
            if chosen.json:
                figures = machine | {"sections": {key: asdict(section) for key, section in sections.items()}}
                chosen.json.write_text(json.dumps(figures, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    if chosen.write:
        ordered = [sections[name] for name in MEASUREMENTS if name in sections]
        chosen.write.write_text(markdown(ordered, quick=chosen.quick), encoding="utf-8")


def stored(file: Path, machine: Mapping[str, object]) -> dict[str, Section]:
    """Return the sections of a former run on this machine, none if the file has others or is not there."""
    if not file.exists():
        return {}
    found = json.loads(file.read_text(encoding="utf-8"))
    same = {name: found.get(name) for name in machine} == json.loads(json.dumps(machine))
    return {name: Section.from_plain(section) for name, section in found["sections"].items()} if same else {}


if __name__ == "__main__":
    main()
