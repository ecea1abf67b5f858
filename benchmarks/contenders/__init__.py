"""Ways to run the model. Each file holds ``run(network, hidden, stubbornness, std, steps, replicates, seed)``.

All return the final states, (replicates, agents), under ρ_t = t and white Gaussian noise, but for NDlib, whose file
says what it computes instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Protocol, final

import numpy as np
from numpy.typing import NDArray

from peerpressure import Network

Vector = NDArray[np.float64]


class Run(Protocol):
    """What every contender is."""

    def __call__(
        self,
        network: Network,
        hidden: Vector,
        stubbornness: Vector,
        std: float,
        steps: int,
        replicates: int,
        seed: int,
    ) -> NDArray[np.floating]:
        """Return the states after ``steps`` steps, (replicates, agents)."""
        ...


@final
@dataclass(frozen=True)
class Contender:
    """A way to run the model: its file, what it imports, how large a model is worth the wait.

    Where replicates run ``one_by_one``, one of them tells the cost per agent-step of any number.
    ``nanoseconds``, about what an agent-step costs, only sets how many steps a round makes.
    """

    file: str
    nanoseconds: float
    most_agents: int = 10**9
    one_by_one: bool = False
    imports: tuple[str, ...] = ()

    def takes(self, agents: int) -> bool:
        """Whether such a model is within reach, and the contender installed in working order."""
        return agents <= self.most_agents and self.is_installed

    @cached_property
    def is_installed(self) -> bool:
        """Whether all that it imports is there."""
        try:
            for name in self.imports:
                import_module(name)
        except ImportError:
            return False
        return True

    @property
    def run(self) -> Run:
        """The function itself; what it needs is imported now."""
        found: Run = import_module(f"{__name__}.{self.file}").run
        return found


CONTENDERS: Mapping[str, Contender] = {
    "scipy.sparse": Contender("scipy_plain", nanoseconds=50),
    "scipy in place": Contender("scipy_in_place", nanoseconds=40),
    "NetworkX loop": Contender("networkx_loop", nanoseconds=3_000, most_agents=10_000, one_by_one=True),
    "NDlib FJModel": Contender(
        "ndlib_friedkin_johnsen",
        nanoseconds=10_000,
        most_agents=10_000,
        one_by_one=True,
        imports=("ndlib.models.opinions",),
    ),
    "Mesa": Contender("mesa_agents", nanoseconds=4_000, most_agents=10_000, one_by_one=True, imports=("mesa",)),
}
