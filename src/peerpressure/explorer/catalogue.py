"""The tables of all that can be chosen on the page, with titles, ranges and a sentence on each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal, final

from peerpressure.explorer.limits import Limits
from peerpressure.explorer.presets import DEFAULT, PRESETS
from peerpressure.networks import NAMED, named
from peerpressure.version import __version__

Kind = Literal["int", "float"]


@final
@dataclass(frozen=True)
class Parameter:
    """A number that a slider sets: its key in the scenario, its range, and whether the slider runs in proportions."""

    name: str
    title: str
    kind: Kind
    min: float
    max: float
    default: float
    step: float
    log: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, fit for JSON."""
        names = ("name", "title", "kind", "min", "max", "default", "step")
        return {name: getattr(self, name) for name in names} | ({"scale": "log"} if self.log else {})


@final
@dataclass(frozen=True)
class Choice:
    """One of several: its name in a scenario, what it is called, what it is, and its parameters.

    ``fixed`` holds keys that its section always has, and ``examples`` texts to begin from.
    """

    id: str
    title: str
    blurb: str
    parameters: tuple[Parameter, ...] = ()
    fixed: Mapping[str, Any] | None = None
    examples: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, fit for JSON."""
        plain: dict[str, Any] = {"id": self.id, "title": self.title, "blurb": self.blurb}
        plain["parameters"] = [parameter.to_dict() for parameter in self.parameters]
        plain |= {"fixed": dict(self.fixed)} if self.fixed else {}
        return plain | ({"examples": list(self.examples)} if self.examples else {})


def _whole(name: str, title: str, low: int, high: int, default: int, *, log: bool = False) -> Parameter:
    return Parameter(name, title, "int", low, high, default, 1, log)


def _real(
    name: str, title: str, low: float, high: float, default: float, step: float, *, log: bool = False
) -> Parameter:
    return Parameter(name, title, "float", low, high, default, step, log)


def _agents(least: int, most: int = 50_000, default: int = 100) -> Parameter:
    return _whole("n", "agents", least, most, default, log=True)


GENERATORS: tuple[Choice, ...] = (
    Choice(
        "barabasi_albert",
        "Scale-free (Barabási–Albert)",
        "Newcomers join others in proportion to their degrees: a few hubs, many leaves. With one edge each, a tree.",
        (_agents(3), _whole("m", "edges per newcomer", 1, 20, 2)),
    ),
    Choice(
        "watts_strogatz",
        "Small world (Watts–Strogatz)",
        "A ring of near neighbours in which some edges are rewired to anywhere.",
        (
            _agents(5),
            _whole("k", "neighbours (even)", 2, 20, 4),
            _real("p", "share rewired", 0.0, 1.0, 0.1, 0.01),
        ),
    ),
    Choice(
        "erdos_renyi",
        "Random (Erdős–Rényi)",
        "Each pair is joined by the throw of a coin; the largest piece is taken.",
        (_agents(3, 5_000), _real("p", "chance of an edge", 0.001, 1.0, 0.05, 0.001, log=True)),
        fixed={"connected": False},
    ),
    Choice(
        "random_regular",
        "Regular at random",
        "Everyone has the same number of neighbours, otherwise at random.",
        (_agents(4), _whole("degree", "neighbours", 3, 20, 4)),
    ),
    Choice(
        "grid",
        "Lattice",
        "Rows and columns; each agent listens to the four beside it. It has two sides.",
        (_whole("rows", "rows", 1, 220, 10, log=True), _whole("columns", "columns", 2, 220, 10, log=True)),
    ),
    Choice("cycle", "Ring", "Everyone has two neighbours. An even ring has two sides.", (_agents(3),)),
    Choice("path", "Line", "Agents in a row.", (_agents(2),)),
    Choice("star", "Star", "One agent in the middle, whom all others listen to.", (_agents(3),)),
    Choice("complete", "Everyone with everyone", "All listen to all.", (_agents(3, 900, 30),)),
    Choice("k2", "Two agents", "The smallest network, for which the paper works everything out."),
)

HIDDEN_LAWS: tuple[Choice, ...] = (
    Choice(
        "uniform",
        "Spread evenly",
        "Drawn evenly between two values.",
        (_real("low", "lowest", -10.0, 10.0, 0.0, 0.05), _real("high", "highest", -10.0, 10.0, 1.0, 0.05)),
    ),
    Choice(
        "normal",
        "Around a middle",
        "Drawn from a normal law.",
        (_real("mean", "middle", -10.0, 10.0, 0.0, 0.05), _real("std", "standard deviation", 0.0, 10.0, 1.0, 0.05)),
    ),
    Choice(
        "two_camps",
        "Two camps",
        "A share of agents, picked at random, around the higher value, and the others around the lower.",
        (
            _real("low", "lower camp", -10.0, 10.0, 0.0, 0.05),
            _real("high", "higher camp", -10.0, 10.0, 1.0, 0.05),
            _real("share", "share of the higher camp", 0.0, 1.0, 0.5, 0.01),
            _real("std", "scatter within", 0.0, 2.0, 0.05, 0.01),
        ),
    ),
)

STUBBORNNESS: tuple[Choice, ...] = (
    Choice(
        "number",
        "The same for all",
        "How much weight each agent gives its own opinion.",
        (_real("value", "stubbornness", 0.01, 100.0, 1.0, 0.01, log=True),),
    ),
    Choice(
        "uniform",
        "Different",
        "Drawn evenly between two values; the paper's lie between ½ and 1.",
        (
            _real("low", "least", 0.01, 100.0, 0.5, 0.01, log=True),
            _real("high", "most", 0.01, 100.0, 1.0, 0.01, log=True),
        ),
    ),
)

SCHEDULES: tuple[Choice, ...] = (
    Choice(
        "linear",
        "Linear",
        "ρ_t = slope·t + offset, the paper's for slope 1.",
        (
            _real("slope", "slope", 0.001, 100.0, 1.0, 0.001, log=True),
            _real("offset", "offset", 0.0, 100.0, 0.0, 0.1),
        ),
    ),
    Choice("tuned", "Tuned to this network", "ρ_t = κt with κ = Σs/Σd: every opinion ever said counts the same."),
    Choice(
        "power",
        "Power",
        "ρ_t = scale·t^exponent; too fast above 1.",
        (
            _real("exponent", "exponent", -1.0, 3.0, 1.5, 0.05),
            _real("scale", "scale", 0.001, 100.0, 1.0, 0.001, log=True),
        ),
    ),
    Choice(
        "logarithmic",
        "Logarithmic",
        "ρ_t = scale·log(1 + t), slower than every power.",
        (_real("scale", "scale", 0.01, 100.0, 1.0, 0.01, log=True),),
    ),
    Choice(
        "stretched_exponential",
        "Stretched exponential",
        "ρ_t = base^(t^exponent), faster than every power: the paper's failure has 2^√t.",
        (
            _real("base", "base", 1.01, 10.0, 2.0, 0.01, log=True),
            _real("exponent", "exponent", 0.1, 1.0, 0.5, 0.05),
        ),
    ),
    Choice(
        "constant",
        "Constant",
        "The same at all times: agents keep a spread for ever.",
        (_real("value", "pressure", 0.0, 1_000.0, 2.0, 0.1),),
    ),
    Choice(
        "formula",
        "A formula in t",
        "Arithmetic with + − * / ^, sqrt, log, exp, min and max.",
        examples=("t", "t*log(1 + t)", "2^sqrt(t)", "t^1.5", "min(t, 20)", "sqrt(t)"),
    ),
)

_STD = _real("std", "standard deviation σ₀", 0.001, 100.0, 0.5, 0.001, log=True)
NOISES: tuple[Choice, ...] = (
    Choice("gaussian", "Normal", "The paper's.", (_STD,)),
    Choice("laplace", "Laplace", "Double-exponential, as differential privacy uses it.", (_STD,)),
    Choice("uniform", "Uniform", "Bounded: it rules opinions out.", (_STD,)),
    Choice(
        "student",
        "Student's t",
        "Heavy-tailed: now and then a wild outburst.",
        (_STD, _real("df", "degrees of freedom", 2.1, 50.0, 5.0, 0.1, log=True)),
    ),
    Choice("rademacher", "A coin", "One standard deviation up or down.", (_STD,)),
    Choice("none", "None", "Everyone says what it means."),
)
TEMPORALS: tuple[Choice, ...] = (
    Choice("white", "Fresh at every step", "Drawn anew each time, as in the paper."),
    Choice(
        "ar1",
        "Carried over in part",
        "A share of the last draw stays in the next.",
        (_real("ar1", "share carried over", -0.99, 0.99, 0.8, 0.01),),
    ),
    Choice("frozen", "A mask, held for ever", "Drawn once for each agent: nobody can average it away."),
)

RUN = (
    _whole("steps", "steps", 1, 100_000, 200, log=True),
    _whole("replicates", "replicates", 1, 10_000, 20, log=True),
    _whole("seed", "seed", 0, 9_999, 1),
)
PRIVACY = (
    _real("sensitivity", "opinions this far apart must look alike", 0.01, 10.0, 1.0, 0.01, log=True),
    _real("delta", "chance δ that the promise fails", 1e-9, 0.1, 1e-5, 1e-9, log=True),
)

METHODS: tuple[Choice, ...] = (
    Choice(
        "ols", "The paper's regression", "Ordinary least squares on all that was shown, as if errors were independent."
    ),
    Choice(
        "innovations",
        "The best estimator",
        "Undoes the update, so that each step shows the opinion under fresh noise, and averages. It must see everyone.",
    ),
    Choice(
        "kalman",
        "The best for a partial view",
        "The exact filter: as good as can be for whatever is seen, some agents or some steps.",
    ),
    Choice("wls", "Weighted regression", "Least squares with each error's own variance, still taken as independent."),
    Choice("gls", "Generalised regression", "Least squares with the full covariance of the errors."),
    Choice(
        "likelihood",
        "Maximum likelihood",
        "Reads the law of the noise: the median for Laplace, the midrange for uniform.",
    ),
    Choice("snapshot", "The last state only", "What can be told from one look at the end."),
)
PAPERS = "ols"


# Everything that can be chosen on the page, as it is sent there; the page knows no titles or ranges of its own.


def catalogue(limits: Limits, default: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return all tables as plain values; the page begins with the ``default`` state."""
    return {
        "version": __version__,
        "limits": limits.to_dict(),
        "generators": [_bounded(choice, limits).to_dict() for choice in GENERATORS],
        "named": [dict(row) for row in _real_networks()],
        "schedules": _plain(SCHEDULES),
        "noises": _plain(NOISES),
        "temporals": _plain(TEMPORALS),
        "hidden_laws": _plain(HIDDEN_LAWS),
        "stubbornness": _plain(STUBBORNNESS),
        "run": [parameter.to_dict() for parameter in RUN],
        "privacy": [parameter.to_dict() for parameter in PRIVACY],
        "methods": [choice.to_dict() | {"paper": choice.id == PAPERS} for choice in METHODS],
        "presets": [preset.to_dict() for preset in PRESETS],
        "default": dict(default) if default else DEFAULT,
    }


def _plain(choices: Sequence[Choice]) -> list[dict[str, Any]]:
    return [choice.to_dict() for choice in choices]


def _bounded(choice: Choice, limits: Limits) -> Choice:
    """Return a generator that offers no more agents than are allowed."""
    parameters = (replace(p, max=min(p.max, limits.agents)) if p.name == "n" else p for p in choice.parameters)
    return replace(choice, parameters=tuple(parameters))


@cache
def _real_networks() -> tuple[tuple[tuple[str, Any], ...], ...]:
    rows = []
    for name, real in NAMED.items():
        title = name.replace("_", " ").capitalize()
        rows.append((("id", name), ("title", title), ("blurb", real.about), ("n", named(name).n)))
    return tuple(rows)
