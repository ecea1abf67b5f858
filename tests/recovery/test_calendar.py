"""Observed outputs with calendar times become steps of a stated length; several topics share one network."""

from __future__ import annotations

import gzip
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import peerpressure as pp
from peerpressure.cli.data import ALONE
from peerpressure.errors import InvalidInputError
from peerpressure.scenario import ScenarioError, parse_scenario, read_answers
from peerpressure.support.dates import calendar_steps, seconds_in
from tests.cli.calling import run

NETWORK = pp.Network([[0, 1, 0], [1, 0, 2], [0, 2, 0]], labels=["002", "001", "003"])
MODEL = pp.Model(NETWORK, hidden=[0.0, 1.0, 2.0], noise=pp.Gaussian(0.5))
SIMULATED = pp.simulate(MODEL, 8, seed=1)
STEPS = SIMULATED.to_dataframe().query("time > 0")
DAYS = [date(2024, 2, 26 + k) if k < 4 else date(2024, 3, k - 3) for k in range(8)]  # 2024 is a leap year
UNIX = 1_708_905_600  # 2024-02-26


def observed(times: Any) -> pd.DataFrame:
    """The run with other names for its times."""
    return STEPS.assign(time=[times[t - 1] for t in STEPS["time"]])


CALENDARS: dict[str, tuple[Any, str]] = {
    "ISO days": ([day.isoformat() for day in DAYS], "1 day"),
    "dates of Python": (DAYS, "day"),
    "instants": ([datetime(2024, 1, 31, 22) + k * pd.Timedelta("90min") for k in range(8)], "1.5 hours"),
    "instants of pandas": (pd.date_range("2024-01-31", periods=8, freq="15min"), "15 min"),
    "time zones": ([f"2024-02-26T{12 + k:02}:00+01:00" for k in range(8)], "1 h"),
    "Unix seconds": ([UNIX + 86_400 * k for k in range(8)], "1 day"),
    "Unix milliseconds": ([1000 * (UNIX + 60 * k) for k in range(8)], "60 s"),
}


@pytest.mark.parametrize("name", CALENDARS)
def test_calendar_times_become_steps(name: str, tmp_path: Path) -> None:
    times, step = CALENDARS[name]
    found = pp.Trajectory.from_dataframe(observed(times), MODEL, step=step)
    assert found.times.tolist() == list(range(1, 9))
    np.testing.assert_array_equal(np.asarray(found.states), np.asarray(SIMULATED.states)[:, 1:])
    np.testing.assert_array_equal(pp.recover(found, MODEL).value, pp.recover(SIMULATED, MODEL).value)
    file = tmp_path / "observed.csv.gz"
    file.write_bytes(gzip.compress(observed(times).to_csv(index=False, sep=";", decimal=",").encode()))
    seen = read_answers(file, MODEL, step)
    np.testing.assert_array_equal(np.asarray(seen.runs[""].states), np.asarray(found.states))
    assert "separated by semicolons, decimal commas" in seen.description
    assert "is step 1" in seen.description


def test_gaps_and_an_origin() -> None:
    frame = observed([day.isoformat() for day in DAYS]).query("time != '2024-02-28'")
    assert pp.Trajectory.from_dataframe(frame, MODEL, "1 day").times.tolist() == [1, 2, 4, 5, 6, 7, 8]
    assert pp.Trajectory.from_dataframe(frame, MODEL, "1 day", "2024-02-20").times.tolist() == [6, 7, 9, 10, 11, 12, 13]
    assert pp.Trajectory.from_dataframe(frame, MODEL, "1 day", date(2024, 2, 26)).times[0] == 0


def test_continuous_time_has_dates_too(tmp_path: Path) -> None:
    file = tmp_path / "observed.parquet"
    observed(DAYS).to_parquet(file)
    seen = read_answers(file, pp.SDE(MODEL, step=0.5), "1 day")
    assert seen.runs[""].times.tolist() == [0.5 * k for k in range(1, 9)]
    assert seen.description.startswith("Parquet, ")


REFUSED: dict[str, tuple[Any, str | None, str]] = {
    "dates without a step": ([day.isoformat() for day in DAYS], None, "got '2024-02-26' in row .*'1 day'"),
    "instants without a step": (DAYS, None, "times must count steps.*'1 day'"),
    "days as numbers": ([20240226 + k for k in range(8)], None, "at most 10,000,000 steps, got 20240226"),
    "off the grid": ([f"2024-02-26T{k:02}:00" for k in range(0, 16, 2)], "3 hours", "got '2024-02-26T02:00'.*2 hours"),
    "counts with a step": (list(range(1, 9)), "1 day", "Unix times.*got 1 in row"),
    "seconds and milliseconds": ([UNIX] * 4 + [1000 * UNIX] * 4, "1 day", "Unix times"),
    "numbers among dates": (["2024-02-26"] * 4 + [5] * 4, "1 day", "all times must be dates if one is, got 5"),
    "no such day": (["2024-02-30"] * 8, "1 day", "a date must exist"),
    "nothing": ([None] * 8, "1 day", "must be Unix times.*got None"),
    "before the calendar": (["0001-01-01", "0001-01-03"] * 4, "1 week", "whole steps of 1 week.*2 days"),
    "no date": (["soon"] * 8, "1 day", "all times must be dates if one is, got 'soon'"),
    "too fine": (["2024-02-26", "2026-02-26"] * 4, "1 s", "at most 10,000,000 steps"),
    "a number": (DAYS, 7, "a number and a unit.*got 7"),  # type: ignore[dict-item]
}


@pytest.mark.parametrize("name", REFUSED)
def test_times_that_leave_a_doubt_are_refused(name: str) -> None:
    times, step, says = REFUSED[name]
    with pytest.raises(InvalidInputError, match=says):
        pp.Trajectory.from_dataframe(observed(times), MODEL, step)


def test_an_origin_must_fit() -> None:
    frame = observed(DAYS)
    for step, origin, says in [
        ("1 day", "2024-02-27", r"must not come before 2024-02-27.*got datetime.date\(2024, 2, 26\)"),
        ("1 day", "2024-02-25T12:00", "whole steps of 1 day.*12 hours"),
        ("1 day", "Monday", "the origin must be a date, got 'Monday'"),
        (None, "2024-02-25", "origin must come with the length of a step"),
    ]:
        with pytest.raises(InvalidInputError, match=says):
            pp.Trajectory.from_dataframe(frame, MODEL, step, origin)


def test_durations() -> None:
    assert [seconds_in(text) for text in ("90s", "1.5 h", "WEEK", "2 days")] == [90.0, 5400.0, 604800.0, 172800.0]
    assert calendar_steps(["0001-01-01", "0001-01-15"], "week")[0].tolist() == [1.0, 3.0]
    steps, words = calendar_steps(["2024-01-31T12:00", "2024-01-31T11:00"], "hour")
    assert (steps.tolist(), words) == ([2.0, 1.0], "steps of 1 hour, 2024-01-31T11:00:00 is step 1")


SCENARIO = """[network]
edges = [[0, 1], [1, 2]]
weights = [1.0, 2.0]
labels = ["002", "001", "003"]
[noise]
law = "gaussian"
std = 0.5
[run]
steps = 8
[observe]
methods = ["ols"]
"""


def topics(folder: Path) -> dict[str, pd.DataFrame]:
    """Answers on two topics in one file; the second one has gaps and begins a day later."""
    other = pp.simulate(MODEL, 8, seed=2).to_dataframe().query("time > 1 and not (time == 4 and agent == '001')")
    parts = {"tax": STEPS, "speed limit": other}
    rows = [part.assign(topic=name, time=[DAYS[t - 1] for t in part["time"]]) for name, part in parts.items()]
    pd.concat(rows).sort_values("public").to_csv(folder / "observed.csv", index=False)
    (folder / "study.toml").write_text(SCENARIO)
    return parts


def test_topics_have_estimates_of_their_own(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    parts = topics(tmp_path)
    command = ["recover", tmp_path / "observed.csv", "--scenario", tmp_path / "study.toml", "--step", "1 day"]
    answer = run(capfd, *command, "--json", "--out", tmp_path / "all.csv").json
    assert "topic from 'topic'" in answer["outputs"]
    assert "2024-02-26 is step 1" in answer["outputs"]
    assert set(answer["topics"]) == set(parts)
    for name, part in parts.items():
        expected = pp.recover(pp.Trajectory.from_dataframe(part, MODEL), MODEL, "ols")
        found = [agent["value"] for agent in answer["topics"][name]["agents"]]
        np.testing.assert_allclose([found], expected.value, rtol=1e-12)
    table = pd.read_csv(tmp_path / "all.csv", dtype={"agent": str})
    assert sorted(table.groupby("topic")["agent"].apply(list)["tax"]) == ["001", "002", "003"]
    words = run(capfd, *command).out
    assert all(f"{name}: Hidden opinions of" in words for name in parts)
    # Where the network is inferred too, topics do not share it, and the output says so.
    assert ALONE not in words
    assert ALONE in run(capfd, *command, "--unknown-network").out
    assert run(capfd, *command, "--unknown-network", "--json").json["notes"][-1] == ALONE
    frame = pd.read_csv(tmp_path / "observed.csv", dtype={"agent": str})
    with pytest.raises(InvalidInputError, match=r"one topic, got '.*', '.*'; select one"):
        pp.Trajectory.from_dataframe(frame, MODEL, "1 day")


def test_the_scenario_may_state_the_step(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    observed(DAYS).to_csv(tmp_path / "observed.csv", index=False)
    (tmp_path / "study.toml").write_text(SCENARIO + "step = '1 day'\norigin = '2024-02-20'\n")
    answer = run(capfd, "recover", tmp_path / "observed.csv", "--scenario", tmp_path / "study.toml")
    assert answer.status == 0
    assert "2024-02-26 is step 6" in answer.out
    for wrong in ("step = 'soon'", "origin = 'Monday'"):
        with pytest.raises(ScenarioError, match=r"got '(soon|Monday)'"):
            parse_scenario(SCENARIO + wrong)


def test_a_row_without_a_topic_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "observed.csv"
    file.write_text("time,agent,topic,public\n1,001,tax,0.5\n2,001,,0.5\n")
    with pytest.raises(InvalidInputError, match="a topic if one has, got '' in row 3"):
        read_answers(file, MODEL)
