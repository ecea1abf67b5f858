"""Ways to run the model. Each file holds ``run(network, hidden, stubbornness, std, steps, replicates, seed)``.

All return the final states, (replicates, agents), under ρ_t = t and white Gaussian noise, but for NDlib and Seldon,
whose files say what they compute instead.
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
    """A way to run the model: its file, its terms, what it imports, how large a model is worth the wait.

    ``does`` says what it computes and leaves out, ``threads`` how many it uses.
    Where replicates run ``one_by_one``, one of them tells the cost per agent-step of any number.
    ``nanoseconds``, about what an agent-step costs, only sets how many steps a round makes.
    """

    file: str
    nanoseconds: float
    does: str
    threads: str = "one"
    most_agents: int = 10**9
    one_by_one: bool = False
    imports: tuple[str, ...] = ()

    def takes(self, agents: int) -> bool:
        """Whether such a model is within reach, and the contender installed in working order."""
        return agents <= self.most_agents and self.is_installed

    @property
    def is_interpreted(self) -> bool:
        """Whether Python itself steps the agents."""
        return self.nanoseconds >= 1_000

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
    "scipy.sparse": Contender("scipy_plain", 50, "the model, as NumPy and SciPy write it"),
    "scipy in place": Contender("scipy_in_place", 40, "the model, in preallocated buffers"),
    "numba loop": Contender("numba_loop", 25, "the model, compiled; a NumPy Generator in the loop"),
    "numba prange": Contender("numba_prange", 25, "the same, agents shared; a Generator for each thread", "all"),
    "JAX": Contender(
        "jax_segments", 100, "the model, jit-compiled; Threefry normals", "chosen by XLA", imports=("jax",)
    ),
    "Seldon DeGroot": Contender(
        "seldon_degroot",
        10,
        "D⁻¹A y and the largest change; no own opinions, noise or pressure",
        most_agents=80_000,
        one_by_one=True,
        imports=("pyseldonlib",),
    ),
    "NetworkX loop": Contender(
        "networkx_loop", 3_000, "the model, by dictionaries and random.gauss", most_agents=10_000, one_by_one=True
    ),
    "NDlib FJModel": Contender(
        "ndlib_friedkin_johnsen",
        10_000,
        "the model under constant pressure; no noise",
        most_agents=10_000,
        one_by_one=True,
        imports=("ndlib.models.opinions",),
    ),
    "Mesa": Contender(
        "mesa_agents",
        4_000,
        "the model, an object for each agent",
        most_agents=10_000,
        one_by_one=True,
        imports=("mesa",),
    ),
}
