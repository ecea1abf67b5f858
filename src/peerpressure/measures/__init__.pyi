from ._files import (
    ObservedOutputs as ObservedOutputs,
    check_room as check_room,
    no_place as no_place,
    read_outputs as read_outputs,
)
from ._measures import (
    MEASURES as MEASURES,
    Measure as Measure,
    measure as measure,
    measure_scenario as measure_scenario,
    with_fields as with_fields,
)
from ._sweep_file import Sweep as Sweep, load_sweep as load_sweep
from .experiment import (
    Experiment as Experiment,
    estimates as estimates,
    network_table as network_table,
    results as results,
    states as states,
    summaries as summaries,
)
