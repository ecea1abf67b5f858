"""What can go wrong with a sweep; each message names the remedy, and finished units are kept in every case."""

from __future__ import annotations

from peerpressure.errors import PeerPressureError, complain


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


def damaged(why: str) -> DamagedSweepError:
    """Return the error for a ledger that is not whole."""
    remedy = "run the sweep again: the ledger is made anew from the results on disk"
    return DamagedSweepError(complain("the ledger must be as it was written", got=why, remedy=remedy))


def no_room(got: str) -> SweepError:
    """Return the error for a disk that takes no more."""
    remedy = "free some space, or see who may write there, and run the sweep again"
    return SweepError(complain("the disk must take the results", got=got, remedy=remedy))
