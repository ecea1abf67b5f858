from ._ledger import (
    DamagedSweepError as DamagedSweepError,
    MissingSweepError as MissingSweepError,
    OtherSweepError as OtherSweepError,
    SweepBusyError as SweepBusyError,
    SweepError as SweepError,
    UnfinishedSweepError as UnfinishedSweepError,
)
from ._results import (
    Failure as Failure,
    SweepStatus as SweepStatus,
    collect as collect,
    status as status,
    write_table as write_table,
)
from ._run import run_sweep as run_sweep
from .plan import Draws as Draws, Fingerprint as Fingerprint, Plan as Plan, Range as Range, Unit as Unit
