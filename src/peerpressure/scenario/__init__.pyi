from .loading import (
    Problem as Problem,
    ScenarioError as ScenarioError,
    load_scenario as load_scenario,
    parse_scenario as parse_scenario,
    scenario_from as scenario_from,
)
from .scenario import (
    Scenario as Scenario,
    schema_text as schema_text,
    shipped_schema as shipped_schema,
    starter_text as starter_text,
)
