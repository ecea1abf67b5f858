"""One random model, said twice: as plain numbers for the naive recursion, and as the package's own ``Model``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

import peerpressure as pp

Array = NDArray[np.float64]

# Every period that is drawn divides this number of steps.
CYCLE = 12
_NAMES: dict[str, Any] = {
    "sqrt": np.sqrt, "log": np.log, "exp": np.exp, "sin": np.sin, "cos": np.cos, "floor": np.floor, "log2": np.log2
}  # fmt: skip


@cache
def curve(text: str) -> Callable[[Array], Array]:
    """Return a formula in t as a function, by Python's own arithmetic and not by the package's parser."""
    code = compile(text.replace("^", "**"), "<formula>", "eval")

    def evaluated(t: Array) -> Array:
        with np.errstate(all="ignore"):
            values = np.asarray(eval(code, {"__builtins__": {}}, _NAMES | {"t": t}), float)
        return values if values.shape == t.shape else np.full(t.shape, values)

    return evaluated


@dataclass(frozen=True, eq=False)
class Case:
    """A model in plain numbers.

    ``cycle`` has the networks that repeat, shape (period, agents, agents), and ``prefix`` those of the steps before;
    ``pressure``, ``scale`` and ``rate`` are formulas in t. ``phi`` is 0 for white and 1 for frozen noise. ``averages``
    is false where pressure oscillates and stays bounded, so late blocks of steps have no common value of it.
    """

    family: str
    pressure: str
    cycle: Array
    hidden: Array
    stubbornness: Array
    start: Array
    std: Array
    prefix: Array | None = None
    scale: str = "1"
    phi: float = 0.0
    rate: str = "0"
    weight: Array | None = None
    averages: bool = True
    continuous: bool = False

    @property
    def n(self) -> int:
        return len(self.hidden)

    @property
    def adapts(self) -> bool:
        return self.rate != "0"

    @property
    def noisy(self) -> bool:
        return bool(np.any(self.std))

    @property
    def temporal(self) -> bool:
        return self.prefix is not None or len(self.cycle) > 1

    @cached_property
    def value(self) -> float:
        """v = Σ s x₀/Σ s."""
        return float(self.stubbornness @ self.hidden / self.stubbornness.sum())

    @cached_property
    def size(self) -> float:
        """The scale of all opinions and noise, to which zero is compared."""
        return float(np.ptp(np.concatenate([self.hidden, self.start])) + self.std.max()) or 1.0

    @cached_property
    def mode(self) -> Array:
        """The weights of the consensus mode: degrees, as means over all steps up to the last change."""
        degrees = self.graphs.sum(axis=(0, 2))
        return np.asarray(degrees / degrees.sum())

    @property
    def graphs(self) -> Array:
        """All networks in a row, from step 1 on."""
        return self.cycle if self.prefix is None else np.concatenate([self.prefix, self.cycle])

    @cached_property
    def components(self) -> NDArray[np.int64]:
        """The component of each agent in the union of the networks that recur."""
        label = np.arange(self.n)
        union = self.cycle.sum(axis=0) > 0
        for _ in range(self.n):
            label = np.array([min(label[i], *label[union[i]], self.n) for i in range(self.n)])
        return label

    @cached_property
    def system(self) -> pp.Model | pp.SDE:
        """The package's model."""
        parts: dict[str, Any] = {"pressure": self.pressure, "hidden": self.hidden, "stubbornness": self.stubbornness}
        if self.noisy:
            temporal = {0.0: "white", 1.0: "frozen"}.get(self.phi) or pp.AR1(self.phi)
            parts["noise"] = pp.Gaussian(self.std, time_scale=self.scale, temporal=temporal)
        if not np.array_equal(self.start, self.hidden):
            parts["start"] = self.start
        if self.adapts:
            parts["adaptation"] = pp.Adaptation(self.rate, 1.0 if self.weight is None else self.weight)
        model = pp.Model(self._network(), **parts)
        return pp.SDE(model, step=0.5, scaling="model") if self.continuous else model

    def _network(self) -> pp.Network | pp.TemporalNetwork:
        if not self.temporal:
            return pp.Network(self.cycle[0])
        graphs = self.graphs
        return pp.TemporalNetwork.from_snapshots(list(graphs), period=None if self.prefix is not None else len(graphs))

    @property
    def code(self) -> str:
        """Return a complete program that builds the model."""
        names = ("pressure", "hidden", "stubbornness", "start")
        parts = [f"{name}={_plain(getattr(self, name))}" for name in names]
        if self.noisy:
            temporal = {0.0: "'white'", 1.0: "'frozen'"}.get(self.phi) or f"AR1({self.phi!r})"
            parts.append(f"noise=Gaussian({_plain(self.std)}, time_scale={self.scale!r}, temporal={temporal})")
        if self.adapts:
            weight = "1.0" if self.weight is None else _plain(self.weight)
            parts.append(f"adaptation=Adaptation({self.rate!r}, {weight})")
        graphs = self.graphs
        network = f"Network(np.array({_plain(graphs[0])}))"
        if self.temporal:
            period = None if self.prefix is not None else len(graphs)
            network = f"TemporalNetwork.from_snapshots(list(np.array({_plain(graphs)})), period={period})"
        model = f"Model({network},\n    " + ",\n    ".join(parts) + ")"
        model = f"SDE({model}, step=0.5, scaling='model')" if self.continuous else model
        return f"import numpy as np\nfrom peerpressure import *\nM = {model}"


def _plain(value: Any) -> str:
    return repr(value.tolist() if isinstance(value, np.ndarray) else value)
