"""Limits on requests, checked before anything large is built, and the thinning of long runs for display."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import message
from peerpressure.explorer.requests import RequestError
from peerpressure.scenario import Scenario


@final
@dataclass(frozen=True)
class Thinning:
    """The steps of a run that are shown: 0 to ``dense`` one by one, then every ``every``-th, and the last."""

    steps: int
    dense: int
    every: int

    @property
    def times(self) -> NDArray[np.int64]:
        """The steps that are shown."""
        early = np.arange(self.dense + 1)
        # Multiples of the stride, which is what a run with ``every`` records.
        late = np.arange(self.dense - self.dense % self.every + self.every, self.steps, self.every)
        # The last step is always shown, because the verdict is about it.
        return np.unique(np.concatenate([early, late, [self.steps]]))


def thinned(steps: int, most: int) -> Thinning:
    """Return a thinning to at most ``most`` steps.

    The first steps are all kept, because they fill most of a logarithmic axis. The stride of the others is odd, because
    a bipartite network that oscillates would look constant at every second step.

    >>> thinned(1_000_000, 400).every % 2, thinned(1_000_000, 400).times.size <= 400
    (1, True)
    """
    # Below 8 the formulas leave no room for the late times.
    most = max(most, 8)
    if steps + 1 <= most:
        return Thinning(steps, steps, 1)
    # Half of the times for the early steps; 2 and the 3 below leave room for the ends of both ranges.
    dense = most // 2 - 2
    every = -(-(steps - dense) // (most - dense - 3))
    # An even stride is increased by 1, which shows fewer times, never more.
    return Thinning(steps, dense, every + (every + 1) % 2)


@final
@dataclass(frozen=True)
class Limits:
    """Largest sizes of a request and of its answer; the page shows them, and the server enforces them.

    ``changes`` counts those of a temporal network, ``rounds`` agents and neighbours in the steps of it that a diagnosis
    follows, ``work`` agents × steps × replicates, ``exact`` multiplications for exact moments, ``optimum`` those of one
    pass in the search for an optimal schedule, ``observed`` agents² × steps of an observer and ``observed_agents`` the
    agents of its network, ``states`` the numbers of one picture, ``rows`` and ``numbers`` those of a file, and
    ``values`` the numbers in a scenario beside its edges.
    """

    # Sizes that a page can draw, and that are computed within ``seconds``.
    agents: int = 50_000
    edges: int = 500_000
    changes: int = 2_000_000
    rounds: int = 1_000_000
    steps: int = 1_000_000
    work: int = 500_000_000
    exact: int = 1_000_000_000
    optimum: int = 10_000_000
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
    # Each tab waits for a handful of answers; more than this is a page that asks in a loop.
    waiting: int = 32

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, fit for JSON."""
        return asdict(self)

    def check(self, name: str, got: float, *, what: str, remedy: str, where: str | None = None) -> None:
        """Raise a ``RequestError`` if a value is above the limit of this name."""
        most = getattr(self, name)
        if got > most:
            # "here", because the command line has no such limits.
            rule = f"{what} must be at most {most:,} here"
            raise RequestError(422, message(rule, got=f"{got:,.0f}", remedy=remedy), where)

    def check_network(self, section: Any, steps: int) -> None:
        """Check the size of a network before it is built."""
        # From the declared sizes of generators: building the network to measure it is what the limit prevents.
        size = section.size(steps)
        self.check("agents", size.agents, what="the number of agents", remedy="ask for fewer", where="network")
        self.check("edges", size.edges, what="the number of edges", remedy="ask for a sparser network", where="network")
        what, remedy = "the changes of a temporal network", "let it change less often, or for fewer steps"
        self.check("changes", size.changes, what=what, remedy=remedy, where="network")

    def check_run(self, scenario: Scenario, agents: int) -> None:
        """Check the length and the work of a run."""
        steps, replicates = scenario.run.steps, scenario.run.replicates
        remedy = "peerpressure run has no such limit"
        self.check("steps", steps, what="the number of steps", remedy=remedy, where="run.steps")
        what, remedy = "agents × steps × replicates", f"take fewer of them; {remedy}"
        self.check("work", agents * steps * replicates, what=what, remedy=remedy, where="run")

    def check_observer(self, agents: int, steps: int) -> None:
        """Check the work of an observer; factorising the dense matrices of many agents cannot be cancelled."""
        remedy = "observe a smaller network; peerpressure recover has no such limit"
        what = "the agents of an observed network"
        self.check("observed_agents", agents, what=what, remedy=remedy, where="observe")
        what, remedy = "agents² × steps of an observer", f"observe for a shorter time, or {remedy}"
        self.check("observed", agents**2 * steps, what=what, remedy=remedy, where="observe")
