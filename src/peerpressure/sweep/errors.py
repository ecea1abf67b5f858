"""What can go wrong with a sweep; each message names the remedy, and finished units are kept in every case."""

from __future__ import annotations

from peerpressure.errors import PeerPressureError


class SweepError(PeerPressureError):
    """A sweep could not start or go on."""


class SweepBusyError(SweepError):
    """Another process is at work on the same sweep."""


class OtherSweepError(SweepError):
    """A folder holds results of another task, version or seed."""


class DamagedSweepError(SweepError):
    """The ledger or a result file is not what was written."""


class UnfinishedSweepError(SweepError):
    """A table was asked for before all of its units were finished."""
