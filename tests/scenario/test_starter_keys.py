"""The scenario to start from names every key that a section of its own can have."""

from __future__ import annotations

import re

import pytest

from peerpressure.scenario import starter_text
from peerpressure.scenario.agents import Agents
from peerpressure.scenario.network import NetworkFileSection
from peerpressure.scenario.scenario import Observe, Output, Privacy, RecordTable, Run, Topics, UnknownNetwork
from peerpressure.scenario.section import Section
from peerpressure.scenario.system import Time


@pytest.mark.parametrize(
    "section", [Agents, NetworkFileSection, Observe, Output, Privacy, RecordTable, Run, Time, Topics, UnknownNetwork]
)
def test_the_starter_names_all_keys(section: type[Section]) -> None:
    words = set(re.findall(r"\w+", starter_text()))
    assert set(section.model_fields) <= words
