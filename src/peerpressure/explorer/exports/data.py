"""A run as a table or as netCDF, just as the command line would write it."""

from __future__ import annotations

from peerpressure.errors import complain
from peerpressure.explorer.limits import Limits
from peerpressure.explorer.preparing import Prepared
from peerpressure.explorer.refusals import RequestError
from peerpressure.report.store import to_csv
from peerpressure.simulation import simulate
from peerpressure.trajectory import Trajectory


def toml_file(asked: Prepared) -> bytes:
    """Return the scenario as a file that ``peerpressure run`` takes."""
    return f"# A scenario of the explorer; peerpressure run runs it.\n{asked.scenario.to_toml()}".encode()


def csv_file(asked: Prepared, limits: Limits) -> bytes:
    """Return one row for each replicate, time and agent, or for each replicate and time if states are not on record."""
    remedy = "take fewer replicates, or netCDF, which holds more"
    limits.check("rows", _numbers(asked), what="the rows of a table", remedy=remedy, where="run")
    return to_csv(_run(asked).to_dataframe())


def netcdf_file(asked: Prepared, limits: Limits) -> bytes:
    """Return states and summaries as netCDF."""
    remedy = "take fewer replicates or steps; peerpressure run writes as much as the disk holds"
    limits.check("numbers", _numbers(asked), what="the numbers in a file", remedy=remedy, where="run")
    data = _run(asked).to_xarray()
    try:
        return bytes(data.to_netcdf(None, engine="scipy"))
    except ValueError:
        rule, remedy = "netCDF must be able to hold the labels of agents", "take the table instead"
        raise RequestError(422, complain(rule, got="some that it cannot", remedy=remedy), "network.labels") from None


def _numbers(asked: Prepared) -> int:
    keep, run = asked.scenario.run.what_to_keep(), asked.scenario.run
    agents = 1 if not keep.states else asked.model.n if keep.agents is None else len(keep.agents)
    return run.replicates * (asked.steps // keep.every + 2) * agents


def _run(asked: Prepared) -> Trajectory:
    run = asked.scenario.run
    found = simulate(asked.system, run.steps, run.replicates, seed=run.seed, record=run.what_to_keep())
    asked.token.check()
    return found
