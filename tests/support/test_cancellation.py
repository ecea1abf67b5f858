"""Every verb can be cancelled by its ``should_stop`` callback, whatever the model, and a callback changes no number."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from select import select
from typing import Any

import numpy as np
import pytest

import peerpressure as pp
from peerpressure.errors import CancelledError
from peerpressure.networks import barabasi_albert, cycle, failing_edges
from peerpressure.noise import Gaussian
from peerpressure.privacy import budget, exposure
from peerpressure.recovery import diagnose_fit, information
from peerpressure.simulation.engine.runner import ProcessorRun
from peerpressure.support.progress import cancellable, check_cancelled
from peerpressure.theory import Moments, forecast
from tests import waiting

STEPS = 12
NETWORK = barabasi_albert(12, 2, seed=1)
PARTS: dict[str, Any] = {"hidden": np.linspace(0, 1, 12), "noise": Gaussian(0.5), "start": np.zeros(12)}
MODELS: dict[str, pp.Model | pp.SDE] = {
    "plain": pp.Model(NETWORK, **PARTS),
    "table": pp.Model(NETWORK, pressure=[float(t) for t in range(1, STEPS + 1)], **PARTS),
    "adapting": pp.Model(NETWORK, adaptation=0.1, **PARTS),
    "temporal": pp.Model(failing_edges(NETWORK, 0.2, steps=STEPS, seed=1), **PARTS),
    "continuous": pp.SDE(pp.Model(NETWORK, **PARTS)),
}
RUNS = {name: pp.simulate(model, STEPS, seed=1) for name, model in MODELS.items()}
VERBS: dict[str, Callable[..., Any]] = {
    "simulate": lambda model, run, **stop: pp.simulate(model, STEPS, 3, seed=2, **stop),
    "moments": lambda model, run, **stop: pp.moments(model, STEPS, **stop),
    "diagnose": lambda model, run, **stop: pp.diagnose(model, STEPS, **stop),
    "forecast": lambda model, run, **stop: forecast(model, STEPS, **stop),
    "recover": lambda model, run, **stop: pp.recover(run, model, "kalman", **stop),
    "diagnose_fit": lambda model, run, **stop: diagnose_fit(run, model, **stop),
    "information": lambda model, run, **stop: information(model, STEPS, **stop),
    "exposure": lambda model, run, **stop: exposure(model, STEPS, [0, 1], **stop),
    "budget": lambda model, run, **stop: budget(model, STEPS, **stop),
}
# Verbs that follow the model step by step; the others ask at least when they start.
FOLLOWING = ("moments", "diagnose", "forecast", "recover", "diagnose_fit", "exposure")


def numbers(result: Any) -> list[Any]:
    """Return all numbers in a result, whatever its type."""
    match result:
        case pp.Trajectory():
            return [result.states, result.final.public]
        case Moments():
            return [result.mean, result.variance]
        case pp.Estimate():
            return [result.value, result.variance]
        case _:
            return [str(result)]


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_stops_at_any_call_of_its_callback(verb: str, kind: str) -> None:
    def calls(last: int | None) -> int:
        """Return how often the verb asks; it is told to stop the ``last`` time."""
        count = itertools.count(1)
        with contextlib.suppress(CancelledError):
            VERBS[verb](MODELS[kind], RUNS[kind], should_stop=lambda: next(count) == last)
            assert last is None, "it was told to stop, and went on to the end"
        return next(count) - 1

    # The second call: the steps of an SDE that the first has made are kept.
    _, total = calls(None), calls(None)
    assert total >= (STEPS if verb in FOLLOWING else 1)
    for last in {1, 1 + total // 2, total}:
        assert calls(last) == last


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("verb", VERBS)
def test_a_callback_changes_no_number(verb: str, kind: str) -> None:
    alone = numbers(VERBS[verb](MODELS[kind], RUNS[kind]))
    watched = numbers(VERBS[verb](MODELS[kind], RUNS[kind], should_stop=lambda: False))
    for one, other in zip(alone, watched, strict=True):
        assert np.array_equal(one, other)


def test_a_long_run_stops_between_blocks_of_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    from peerpressure.simulation.engine import plan

    monkeypatch.setattr(plan, "_SEGMENT", 12 * 8 * 10.0)  # bytes: ten steps of twelve agents
    monkeypatch.setattr(plan, "_FIRST", 1)  # all of them at once
    monkeypatch.setattr(plan, "_BETWEEN", float("inf"))
    reached: list[int] = []
    with pytest.raises(CancelledError):
        pp.simulate(
            MODELS["plain"],
            1_000,
            record="final",
            progress=lambda done, total: reached.append(done),
            should_stop=lambda: len(reached) == 3,
        )
    assert reached == [10, 20, 30]


def test_an_exact_path_of_constant_pressure_stops_between_steps() -> None:
    calls = itertools.count(1)
    sde = pp.SDE(pp.Model(NETWORK, pressure=1.0, **PARTS))
    with pytest.raises(CancelledError):
        pp.simulate(sde, 1_000, should_stop=lambda: next(calls) == 500)


def test_what_a_callback_raises_propagates() -> None:
    def fail() -> bool:
        raise KeyError("own")

    with pytest.raises(KeyError, match="own"):
        pp.diagnose(MODELS["adapting"], should_stop=fail)


def test_callbacks_nest_and_end_with_their_block() -> None:
    stop = {"outer": False, "inner": False}
    with cancellable(lambda: stop["outer"]):
        with cancellable(lambda: stop["inner"]):
            check_cancelled()
            for name in stop:
                stop[name] = True
                with pytest.raises(CancelledError):
                    check_cancelled()
                stop[name] = False
        stop["inner"] = True
        check_cancelled()
    stop["outer"] = True
    check_cancelled()


class FakeClock:
    """A clock on which a step of the engine takes a given time."""

    def __init__(self, seconds: float) -> None:
        self.now, self.seconds = 0.0, seconds

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize("seconds", [1e-5, 0.01, 3.0])
def test_time_between_two_looks_at_cancellation_is_bounded(seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    model = pp.Model(cycle(3000), np.linspace(0, 1, 3000), noise=Gaussian(0.1))
    expected = pp.simulate(model, 3000, record="final").final.public
    clock, times = FakeClock(seconds), [0.0]
    advance = ProcessorRun._advance

    def advancing(run: ProcessorRun, begin: int, end: int, pool: Any) -> None:
        clock.now += clock.seconds * (end - begin)
        advance(run, begin, end, pool)

    monkeypatch.setattr(ProcessorRun, "clock", clock)
    monkeypatch.setattr(ProcessorRun, "_advance", advancing)

    def looked() -> bool:
        times.append(clock.now)
        return False

    assert np.array_equal(pp.simulate(model, 3000, record="final", should_stop=looked).final.public, expected)
    gaps = np.diff(times)
    # Until a step has been measured, their number is a guess from the size of the state.
    assert gaps[2:].max() <= max(0.21, 1.01 * seconds)
    if seconds == 0.01:
        assert len(gaps) < 3000 * 0.01 / 0.2 + 10


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="only POSIX blocks signals")
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_ctrl_c_does_not_reach_the_first_process_that_is_started_deaf(method: str, tmp_path: Path) -> None:
    program = f"""if True:
        import multiprocessing, signal
        from peerpressure.support.progress import deaf_children
        def tell():
            print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []))
        if __name__ == "__main__":
            process = multiprocessing.get_context({method!r}).Process(target=tell)
            with deaf_children():
                process.start()
            process.join()
            tell()
    """
    (tmp_path / "program.py").write_text(program)
    assert waiting.run([sys.executable, "program.py"], cwd=tmp_path).stdout == "True\nFalse\n"


@pytest.mark.skipif(os.name != "posix", reason="processes are killed by other means elsewhere")
@pytest.mark.parametrize("work", ["pool", "copies", "process"])
def test_processes_of_the_report_end_with_their_parent(work: str, tmp_path: Path) -> None:
    """One that waits for orders waited for ever, and one that computes printed a traceback when it had finished."""
    program = """if True:
        import os, signal, sys, time
        from peerpressure.report import drawing
        from peerpressure.reproduction import _experiments
        if __name__ == "__main__":
            if sys.argv[1] == "pool":
                drawing.draw = time.sleep
                drawings = drawing.draw_all([0.0, 0.0, 1e6], 2)
                next(drawings)
                os.kill(os.getpid(), signal.SIGKILL)
            if sys.argv[1] == "copies":
                with drawing.elsewhere(2):
                    os.kill(os.getpid(), signal.SIGKILL)
            with _experiments._beside(1, separate_process=True, seeds=1, progress=lambda stage: None):
                os.kill(os.getpid(), signal.SIGKILL)
    """
    (tmp_path / "program.py").write_text(program)
    # Python tidies up after a killed process, and warns of that.
    command = [sys.executable, "-W", "ignore", "program.py", work]
    with waiting.started(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        assert waiting.wait_for_end(process) == -signal.SIGKILL
        assert process.stdout is not None
        output = process.stdout.fileno()
        # They inherit their output, which ends when all of them have.
        waiting.wait_until(lambda: select([output], [], [], 0)[0], "the end of the processes")
        assert os.read(output, 1_000) == b""
