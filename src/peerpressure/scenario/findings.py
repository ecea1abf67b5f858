"""What was found in the files that a scenario names, so that a user can see whether it is what was meant."""

from __future__ import annotations

from typing import Any

from peerpressure.networks import Network
from peerpressure.networks.readers import described_network
from peerpressure.networks.refusal import few
from peerpressure.networks.temporal.readers import described_events
from peerpressure.scenario.adaptation import AdaptationTable
from peerpressure.scenario.draws import FromColumn
from peerpressure.scenario.network import FromFile
from peerpressure.scenario.scenario import Scenario
from peerpressure.scenario.temporal import FromContacts, FromEvents


def findings(scenario: Scenario) -> dict[str, str]:
    """Return how files were read and whose the numbers are, by the key that names them."""
    agents, given = scenario.agents, scenario.agents.adaptation
    parts: dict[str, Any] = {name: getattr(agents, name) for name in ("hidden", "stubbornness", "start")}
    if isinstance(given, AdaptationTable):
        parts["adaptation.adaptation_weight"] = given.adaptation_weight
    found = {f"agents.{name}": _of_agents(part, scenario.graph) for name, part in parts.items()}
    return {key: text for key, text in ({"network": _of_network(scenario.network)} | found).items() if text is not None}


def _of_network(section: Any) -> str | None:
    match section:
        case FromFile(file=file):
            text = described_network(file)
        case FromEvents(events=file, columns=columns) | FromContacts(contacts=file, columns=columns):
            text = described_events(file, columns)
        case _:
            return None
    return None if text is None else f"{file}, {text}"


def _of_agents(part: Any, network: Network) -> str | None:
    if isinstance(part, FromColumn):
        return part.found(network)
    if isinstance(part, list):
        pairs = zip(network.labels, part, strict=True)
        return f"in the order of the agents: {few((f'{label!r} {value:g}' for label, value in pairs), network.n)}"
    return None
