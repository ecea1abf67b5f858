"""Bounds on what one request may ask for, checked before anything is built."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import message
from peerpressure.explorer.requests import RequestError
from peerpressure.scenario import Scenario

# Which steps of a run are shown, where all would be more than a picture can hold.


@final
@dataclass(frozen=True)
class Shown:
    """Steps 0 to ``dense`` one by one, from there on every ``every``-th, and the last."""

    steps: int
    dense: int
    every: int

    @property
    def times(self) -> NDArray[np.int64]:
        """The steps that are shown."""
        early = np.arange(self.dense + 1)
        late = np.arange(self.dense - self.dense % self.every + self.every, self.steps, self.every)
        return np.unique(np.concatenate([early, late, [self.steps]]))


def shown(steps: int, most: int) -> Shown:
    """Return a choice of at most ``most`` steps, all of them where that is enough.

    The first ones are kept one by one, for on a log axis they take most of the room. The stride of the others is odd:
    a network that swings between its two sides would seem to stand still at every second step.

    >>> shown(1_000_000, 400).every % 2, shown(1_000_000, 400).times.size <= 400
    (1, True)
    """
    most = max(most, 8)
    if steps + 1 <= most:
        return Shown(steps, steps, 1)
    dense = most // 2 - 2
    every = -(-(steps - dense) // (most - dense - 3))
    return Shown(steps, dense, every + (every + 1) % 2)


# How much one request may ask for; every refusal names the bound, the value and the remedy.


@final
@dataclass(frozen=True)
class Limits:
    """Bounds on requests, on work and on what is kept; the page shows them, and the server keeps to them.

    ``changes`` counts those of a temporal network, ``rounds`` the agents and neighbours in them that a verdict
    follows, ``work`` agents × steps × replicates, ``exact`` multiplications of an exact law, ``observed`` agents² ×
    steps of an observer and ``observed_agents`` the agents of its network, ``states`` the numbers of one picture,
    ``rows`` and ``numbers`` those of a file, and ``values`` the numbers in a scenario beside its edges.
    """

    agents: int = 50_000
    edges: int = 500_000
    changes: int = 2_000_000
    rounds: int = 1_000_000
    steps: int = 1_000_000
    work: int = 500_000_000
    exact: int = 1_000_000_000
    observed: int = 200_000_000
    observed_agents: int = 4_000
    states: int = 8_000_000
    times: int = 2_000
    rows: int = 2_000_000
    numbers: int = 20_000_000
    values: int = 200_000
    request_bytes: int = 4 * 2**20
    upload_bytes: int = 4 * 2**20
    seconds: float = 20.0
    verdict_seconds: float = 2.0
    workers: int = 4
    waiting: int = 32

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, fit for JSON."""
        return asdict(self)

    def check(self, name: str, got: float, *, what: str, remedy: str, where: str | None = None) -> None:
        """Refuse a value above the bound of this name."""
        most = getattr(self, name)
        if got > most:
            rule = f"{what} must be at most {most:,} here"
            raise RequestError(422, message(rule, got=f"{got:,.0f}", remedy=remedy), where)

    def check_network(self, section: Any, steps: int) -> None:
        """Refuse a network that would be too large, before it is built."""
        size = section.size(steps)
        self.check("agents", size.agents, what="the number of agents", remedy="ask for fewer", where="network")
        self.check("edges", size.edges, what="the number of edges", remedy="ask for a sparser network", where="network")
        what, remedy = "the changes of a temporal network", "let it change less often, or for fewer steps"
        self.check("changes", size.changes, what=what, remedy=remedy, where="network")

    def check_run(self, scenario: Scenario, agents: int) -> None:
        """Refuse a run that would be too long."""
        steps, replicates = scenario.run.steps, scenario.run.replicates
        remedy = "peerpressure run has no such bound"
        self.check("steps", steps, what="the number of steps", remedy=remedy, where="run.steps")
        what, remedy = "agents × steps × replicates", f"take fewer of them; {remedy}"
        self.check("work", agents * steps * replicates, what=what, remedy=remedy, where="run")

    def check_observer(self, agents: int, steps: int) -> None:
        """Refuse an observer who would take too long; the dense matrices of many agents cannot be called off."""
        remedy = "observe a smaller network; peerpressure recover has no such bound"
        what = "the agents of a network that is observed"
        self.check("observed_agents", agents, what=what, remedy=remedy, where="observe")
        what, remedy = "agents² × steps of an observer", f"observe for a shorter time, or {remedy}"
        self.check("observed", agents**2 * steps, what=what, remedy=remedy, where="observe")
