"""Every estimator takes data first, in any form: runs, data frames, arrays and files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import peerpressure as pp
from peerpressure import recovery
from peerpressure.errors import FileFormatError, InvalidInputError
from peerpressure.networks import k2, path

LABELS = ["ann", "bob", "cleo", "dan"]
NETWORK = pp.Network([[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]], labels=LABELS)
MODEL = pp.Model(NETWORK, [0.1, 0.4, 0.6, 0.9], pressure=0.5, noise=pp.Gaussian(0.2))
RUN = pp.simulate(MODEL, 30, seed=1)


def states(run: pp.Trajectory) -> Any:
    """Return the states of a run that recorded them."""
    assert run.states is not None
    return run.states


TIDY = RUN.to_dataframe()
WIDE = pd.DataFrame(states(RUN)[0], columns=LABELS, index=RUN.times)

FORMS: dict[str, Callable[[Path], Any]] = {
    "run": lambda folder: RUN,
    "outputs": lambda folder: recovery.answers_of(RUN, MODEL),
    "tidy": lambda folder: TIDY,
    "tidy without replicates": lambda folder: TIDY.drop(columns="replicate"),
    "tidy with a value": lambda folder: TIDY.rename(columns={"public": "value"}),
    "tidy by index": lambda folder: TIDY.set_index(["replicate", "time", "agent"]),
    "wide by index": lambda folder: WIDE,
    "wide by a named index": lambda folder: WIDE.rename_axis("time"),
    "wide by a column": lambda folder: WIDE.rename_axis("time").reset_index(),
    "wide in another order": lambda folder: WIDE[LABELS[::-1]],
    "wide from the start": lambda folder: WIDE.reset_index(drop=True),
    "wide without the start": lambda folder: WIDE.iloc[1:].reset_index(drop=True),
    "array from the start": lambda folder: states(RUN)[0],
    "array without the start": lambda folder: states(RUN)[0, 1:],
    "array of replicates": lambda folder: states(RUN)[:, 1:],
    "xarray": lambda folder: RUN.to_xarray(),
    "one array of xarray": lambda folder: RUN.to_xarray()["public"].transpose("agent", "time", "replicate"),
    "table": lambda folder: _written(folder / "tidy.csv", lambda file: TIDY.to_csv(file, index=False)),
    "name of a table": lambda folder: str(FORMS["table"](folder)),
    "wide table": lambda folder: _written(folder / "wide.csv", WIDE.rename_axis("time").to_csv),
    "parquet": lambda folder: _written(folder / "tidy.parquet", TIDY.to_parquet),
    "saved run": lambda folder: _written(folder / "run.npz", RUN.save),
    "netcdf": lambda folder: _netcdf(folder / "run.nc"),
    "folder": lambda folder: _netcdf(folder / "run.nc").parent,
}


def _written(file: Path, write: Callable[[Path], object]) -> Path:
    write(file)
    return file


def _netcdf(file: Path) -> Path:
    with file.open("w+b") as target:
        RUN.write_netcdf(target)
    return file


@pytest.mark.parametrize("form", FORMS)
def test_all_forms_of_data_are_read_alike(form: str, tmp_path: Path) -> None:
    data = FORMS[form](tmp_path)
    known = recovery.answers_of(RUN, MODEL)
    read = recovery.answers_of(data, MODEL)
    np.testing.assert_array_equal(read.values, known.values)
    np.testing.assert_array_equal(read.seen.times, known.seen.times)


@pytest.mark.parametrize("form", ["tidy", "wide by index", "array from the start", "table", "outputs"])
def test_every_estimator_takes_them(form: str, tmp_path: Path) -> None:
    data = FORMS[form](tmp_path)
    np.testing.assert_array_equal(pp.recover(data, MODEL).value, pp.recover(RUN, MODEL).value)
    np.testing.assert_array_equal(
        pp.fit(data, MODEL, ("std",)).log_likelihood, pp.fit(RUN, MODEL, ("std",)).log_likelihood
    )
    assert recovery.diagnose_fit(data, MODEL).p_value == recovery.diagnose_fit(RUN, MODEL).p_value
    for follow in (recovery.kalman_filter, recovery.kalman_smoother):
        np.testing.assert_array_equal(follow(data, MODEL).hidden.mean, follow(RUN, MODEL).hidden.mean)


def test_replicates_of_a_frame_stay_apart() -> None:
    run = pp.simulate(MODEL, 10, replicates=3, seed=2)
    np.testing.assert_array_equal(recovery.observations_of(run.to_dataframe(), MODEL).states, run.states)


def test_a_network_is_enough_to_read_data() -> None:
    assert recovery.observations_of(WIDE, NETWORK).labels == LABELS


@pytest.mark.parametrize("model", [None, pp.Network([[0, 1], [1, 0]], labels=["ann", "bob"])], ids=["alone", "network"])
def test_an_index_of_any_name_has_the_times(model: pp.Network | None) -> None:
    frame = pd.DataFrame({"ann": [0.5, 0.4], "bob": [0.1, 0.2]}, index=pd.Index([3, 4], name="week"))
    run = pp.recovery.observations_of(frame, model)
    assert list(run.labels) == ["ann", "bob"]
    assert run.times.tolist() == [3, 4]


def test_an_index_with_the_name_of_an_agent_has_its_outputs() -> None:
    frame = pd.DataFrame({"time": [3, 4], "ann": [0.5, 0.4], "bob": [0.1, 0.2]}).set_index("ann")
    network = pp.Network([[0, 1], [1, 0]], labels=["ann", "bob"])
    states = pp.recovery.observations_of(frame, network).states
    assert states is not None
    assert states[0].tolist() == [[0.5, 0.1], [0.4, 0.2]]


def test_rows_without_times_are_steps_from_1_on() -> None:
    rows = np.array([[0.5, 0.1], [0.4, 0.2]])
    assert recovery.observations_of(rows, pp.Model(k2(), [0, 1])).times.tolist() == [1, 2]
    assert recovery.observations_of(pd.DataFrame(rows), pp.Model(k2(), [0, 1])).times.tolist() == [1, 2]
    assert recovery.observations_of(pd.DataFrame(rows, index=[0, 3]), pp.Model(k2(), [0, 1])).times.tolist() == [0, 3]


def test_frames_and_arrays_follow_the_step_of_an_equation() -> None:
    system = pp.SDE(pp.Model(path(3), [0.0, 0.5, 1.0], pressure=1.0, noise=pp.Gaussian(0.1)), step=0.1)
    run = pp.simulate(system, 20, seed=1)
    wide = pd.DataFrame(states(run)[0], index=run.times)
    for data in (wide, run.to_dataframe(), states(run)[0], states(run)[0, 1:]):
        np.testing.assert_array_equal(pp.recover(data, system, "kalman").value, pp.recover(run, system, "kalman").value)


ESTIMATORS: dict[str, Callable[..., Any]] = {
    "recover": pp.recover,
    "fit": lambda data, model: pp.fit(data, model, ("std",)),
    "diagnose_fit": recovery.diagnose_fit,
    "answers_of": recovery.answers_of,
    "observations_of": recovery.observations_of,
    "kalman_filter": recovery.kalman_filter,
    "kalman_smoother": recovery.kalman_smoother,
    "who_updated": recovery.who_updated,
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_model_in_front_is_named_in_the_error(name: str) -> None:
    with pytest.raises(InvalidInputError, match=r"data come first.*got a Model first; call it as .*\(data, model"):
        ESTIMATORS[name](MODEL, RUN)


def test_data_without_sense_are_refused() -> None:
    model = pp.Model(path(3), [0.0, 0.5, 1.0])
    refused: list[tuple[Any, str]] = [
        (np.zeros((3, 4)), r"shape \(steps, 3\).*got float64 of shape \(3, 4\)"),
        (np.zeros(3), "shape"),
        (np.zeros((0, 3)), "shape"),
        (np.array([["a", "b", "c"]]), "shape"),
        ([[1, 2, 3]], "got list"),
        (3.0, "got float"),
        (None, "got NoneType"),
        (pd.Series([1, 2, 3]), "got Series"),
        (pd.DataFrame({"x": [1], "y": [2]}), "x"),
        (pd.DataFrame(), "column"),
    ]
    for data, words in refused:
        with pytest.raises(InvalidInputError, match=words):
            pp.recover(data, model)


def test_files_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    (tmp_path / "broken.nc").write_bytes(b"nothing")
    (tmp_path / "broken.npz").write_bytes(b"nothing")
    for name in ("missing.csv", "missing.npz", "missing.nc", "broken.nc", "broken.npz", ""):
        with pytest.raises(FileFormatError):
            pp.recover(tmp_path / name, MODEL)


def test_outputs_are_observed_once() -> None:
    seen = recovery.answers_of(RUN, MODEL, pp.Observation(agents=["ann"]))
    assert pp.recover(seen, MODEL, "kalman").value.shape == (1, 4)
    with pytest.raises(InvalidInputError, match="selected already"):
        pp.recover(seen, MODEL, "kalman", pp.Observation(agents=["bob"]))
    with pytest.raises(InvalidInputError, match="2 agents"):
        pp.recover(seen, pp.Model(k2(), [0, 1]), "kalman")


LISTENERS = pp.Model(NETWORK, MODEL.x0, pressure=2.0, noise=pp.Gaussian(0.2))
LONG = pp.simulate(LISTENERS, 200, seed=3)


@pytest.mark.parametrize("form", ["tidy", "wide", "array", "xarray", "table", "wide table", "saved"])
def test_a_network_is_inferred_from_data_of_any_form(form: str, tmp_path: Path) -> None:
    wide = pd.DataFrame(states(LONG)[0, 1:], columns=LABELS, index=LONG.times[1:]).rename_axis("time")
    tidy = LONG.to_dataframe().query("time > 0")
    data: dict[str, Callable[[], Any]] = {
        "tidy": lambda: tidy,
        "wide": lambda: wide,
        "array": lambda: states(LONG)[0, 1:],
        "xarray": lambda: LONG.to_xarray().isel(time=slice(1, None)),
        "table": lambda: _written(tmp_path / "tidy.csv", lambda file: tidy.to_csv(file, index=False)),
        "wide table": lambda: _written(tmp_path / "wide.csv", wide.to_csv),
        "saved": lambda: _written(tmp_path / "run.npz", LONG.save),
    }
    estimate = recovery.infer_network(data[form](), 2.0)
    assert list(estimate.labels) == ([0, 1, 2, 3] if form == "array" else LABELS)
    np.testing.assert_allclose(estimate.weights, recovery.infer_network(LONG).weights)


def test_pressure_must_be_known_where_the_data_have_no_model() -> None:
    with pytest.raises(InvalidInputError, match="pass pressure="):
        recovery.infer_network(states(LONG)[0])
    with pytest.raises(InvalidInputError, match="data come first"):
        recovery.infer_network(LISTENERS, 2.0)


def test_names_of_columns_in_surveys_are_known(tmp_path: Path) -> None:
    (tmp_path / "panel.csv").write_text("respondent,wave,answer\nann,1,0.2\nbob,1,0.3\nann,2,0.25\n")
    panel = recovery.observations_of(tmp_path / "panel.csv")
    assert panel.labels == ["ann", "bob"]
    np.testing.assert_array_equal(panel.states, [[[0.2, 0.3], [0.25, np.nan]]])
