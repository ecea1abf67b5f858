from ._files import (
    ObservedOutputs as ObservedOutputs,
    check_room as check_room,
    no_place as no_place,
    read_answers as read_answers,
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
from .loading import (
    Problem as Problem,
    ScenarioError as ScenarioError,
    load_scenario as load_scenario,
    parse_scenario as parse_scenario,
    scenario_from as scenario_from,
)
from .measures import (
    MEASURES as MEASURES,
    Measure as Measure,
    measure as measure,
    measure_scenario as measure_scenario,
    with_fields as with_fields,
)
from .scenario import (
    Scenario as Scenario,
    schema_text as schema_text,
    shipped_schema as shipped_schema,
    starter_text as starter_text,
)
