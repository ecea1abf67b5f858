"""The JSON Schema of scenario files, by which an editor completes and checks them."""

from __future__ import annotations

import json
from importlib.resources import files

from peerpressure.scenario.scenario import Scenario

FILE = "scenario.schema.json"


def schema_text() -> str:
    """Return the schema that the sections make, as the package ships it."""
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema"} | Scenario.model_json_schema()
    return json.dumps(schema, indent=1, ensure_ascii=False) + "\n"


def shipped_schema() -> str:
    """Return the schema that came with the package."""
    return (files("peerpressure") / FILE).read_text(encoding="utf-8")
