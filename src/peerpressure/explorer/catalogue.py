"""Everything that can be chosen on the page, with titles, ranges and a sentence on each.

Schedules, noise laws, generators and estimators are read from their declarations; the page has no titles or ranges of
its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, final

from peerpressure.explorer.presets import default as first_state, presets
from peerpressure.explorer.protocol import Limits
from peerpressure.networks import DYNAMICS, GENERATORS, NAMED, TEMPORAL, named
from peerpressure.noise import LAWS
from peerpressure.recovery import AUTO, METHODS
from peerpressure.schedules import SCHEDULES
from peerpressure.support.parameters import REQUIRED, Parameter, Slider, summary, with_defaults
from peerpressure.version import __version__


@final
@dataclass(frozen=True)
class Choice:
    """One of several alternatives.

    Parameters
    ----------
    id : str
        Name in a scenario.
    title, help : str
        Label, and a sentence.
    parameters : tuple of Parameter
        What the user sets; numbers with a slider, or a text with examples.
    fixed : mapping, optional
        Keys that its section always has.
    """

    id: str
    title: str
    help: str
    parameters: tuple[Parameter, ...] = ()
    fixed: Mapping[str, Any] | None = None

    @property
    def sliders(self) -> tuple[Parameter, ...]:
        """Parameters that a slider sets."""
        return tuple(one for one in self.parameters if one.slider is not None)

    @property
    def examples(self) -> tuple[str, ...]:
        """Texts to start from."""
        return tuple(text for one in self.parameters for text in one.examples)

    def to_dict(self, max_agents: int | None = None) -> dict[str, Any]:
        """Return plain values for JSON, offering at most ``max_agents`` agents."""
        rows = [control(one, max_agents if one.name == "n" else None) for one in self.sliders]
        plain: dict[str, Any] = {"id": self.id, "title": self.title, "blurb": self.help, "parameters": rows}
        plain |= {"fixed": dict(self.fixed)} if self.fixed else {}
        return plain | ({"examples": list(self.examples)} if self.examples else {})


def control(one: Parameter, maximum: int | None = None) -> dict[str, Any]:
    """Return the slider of a parameter as plain values, ending at ``maximum`` at the latest."""
    slider = one.slider
    assert slider is not None, "only parameters with a slider are offered"
    row: dict[str, Any] = {"name": one.name, "title": one.title, "kind": "int" if one.kind == "whole" else "float"}
    # A slider must not offer a number of agents that the limits reject.
    top = slider.maximum if maximum is None else min(slider.maximum, maximum)
    start = one.default if slider.start is None else slider.start
    row |= {"min": slider.minimum, "max": top, "default": start, "step": slider.step}
    return row | ({"scale": "log"} if slider.log else {})


def _offered(
    name: str, title: str, help: str, member: Callable[..., Any], parameters: Iterable[Parameter]
) -> Choice | None:
    """Return the choice of a member of a family; None if it needs what the page has no control for."""
    declared = with_defaults(member, parameters)
    # A required parameter without slider and examples, such as a list per agent, has no control on the page.
    if any(one.default is REQUIRED and one.slider is None and not one.examples for one in declared):
        return None
    return Choice(name, title, help, declared, fixed=FIXED.get(name))


# Keys that the page sets by itself: a random network is reduced to its largest component.
FIXED: Mapping[str, Mapping[str, Any]] = {"erdos_renyi": {"connected": False}}


def generators() -> list[Choice]:
    """Return the generators of networks."""
    choices = (_offered(name, one.title, one.help, one.build, one.parameters) for name, one in GENERATORS.items())
    return [choice for choice in choices if choice is not None]


def schedules() -> list[Choice]:
    """Return the schedules, and those that depend on the model after the first."""
    choices = (_offered(kind, one.title, summary(one), one, one.parameters) for kind, one in SCHEDULES.items())
    # The tuned schedule is derived from the linear one and stands beside it.
    first, *others = (choice for choice in choices if choice is not None)
    return [first, TUNED, OPTIMAL, *others]


def methods() -> list[Choice]:
    """Return the estimators, and before them the choice of the best one."""
    return [BEST_METHOD, *(Choice(name, one.title, one.help) for name, one in METHODS.items())]


def noises() -> list[Choice]:
    """Return the noise laws."""
    choices = (_offered(law, one.title, summary(one), one, one.parameters) for law, one in LAWS.items())
    return [choice for choice in choices if choice is not None]


def _real(name: str, title: str, low: float, high: float, start: float, step: float, *, log: bool = False) -> Parameter:
    return Parameter(name, "real", title, slider=Slider(low, high, step, start, log))


def _whole(name: str, title: str, low: int, high: int, start: int, *, log: bool = False) -> Parameter:
    return Parameter(name, "whole", title, slider=Slider(low, high, 1, start, log))


TUNED = Choice(
    "tuned", "Tuned to this network", "ρ_t = κt with κ = Σs/Σd: all past public opinions have the same weight."
)
OPTIMAL = Choice(
    "optimal", "Optimal for this run", "Agents are closest to v at the end of the run: slow growth, then averaging."
)

BEST_METHOD = Choice(
    AUTO, "Best for what is seen", "Innovations where all agents and steps are seen, and else the Kalman filter."
)

HIDDEN_LAWS: tuple[Choice, ...] = (
    Choice(
        "uniform",
        "Uniform",
        "Drawn uniformly between two values.",
        (_real("low", "lowest", -10.0, 10.0, 0.0, 0.05), _real("high", "highest", -10.0, 10.0, 1.0, 0.05)),
    ),
    Choice(
        "normal",
        "Normal",
        "Drawn from a normal distribution.",
        (_real("mean", "mean", -10.0, 10.0, 0.0, 0.05), _real("std", "standard deviation", 0.0, 10.0, 1.0, 0.05)),
    ),
    Choice(
        "two_camps",
        "Two camps",
        "A share of the agents, chosen at random, around the higher value, and the others around the lower.",
        (
            _real("low", "lower camp", -10.0, 10.0, 0.0, 0.05),
            _real("high", "higher camp", -10.0, 10.0, 1.0, 0.05),
            _real("share", "share of the higher camp", 0.0, 1.0, 0.5, 0.01),
            _real("std", "standard deviation within", 0.0, 2.0, 0.05, 0.01),
        ),
    ),
)

STUBBORNNESS: tuple[Choice, ...] = (
    Choice(
        "number",
        "The same for all",
        "Weight that each agent gives to its own hidden opinion.",
        (_real("value", "stubbornness", 0.01, 100.0, 1.0, 0.01, log=True),),
    ),
    Choice(
        "uniform",
        "Different",
        "Drawn uniformly between two values; those of the paper lie between ½ and 1.",
        (
            _real("low", "lowest", 0.01, 100.0, 0.5, 0.01, log=True),
            _real("high", "highest", 0.01, 100.0, 1.0, 0.01, log=True),
        ),
    ),
)

TEMPORALS: tuple[Choice, ...] = (
    Choice("white", "White", "Drawn anew at every step, as in the paper."),
    Choice(
        "ar1",
        "AR(1)",
        "A share φ of the last draw stays in the next.",
        (_real("ar1", "coefficient φ", -0.99, 0.99, 0.8, 0.01),),
    ),
    Choice("frozen", "Frozen", "Drawn once for each agent: it never averages out."),
)

RUN = (
    _whole("steps", "steps", 1, 100_000, 200, log=True),
    _whole("replicates", "replicates", 1, 10_000, 20, log=True),
    _whole("seed", "seed", 0, 9_999, 1),
)
PRIVACY = (
    _real("sensitivity", "distance Δ of opinions", 0.01, 10.0, 1.0, 0.01, log=True),
    _real("delta", "failure probability δ", 1e-9, 0.1, 1e-5, 1e-9, log=True),
    _whole("runs", "runs that are seen", 1, 1_000, 1, log=True),
)

# Features that a scenario has only if they are added


@final
@dataclass(frozen=True)
class Feature:
    """A part of a scenario that is left out unless it is wanted.

    Parameters
    ----------
    path : str
        Its key, such as "agents.adaptation".
    title, help : str
        Label, and a sentence on what it adds.
    options : tuple of Choice
        Its kinds, of which the first is added. A kind is a number, if its only parameter is ``value``; a word, its own
        name, without parameters and fixed keys; or else a table of both.
    """

    path: str
    title: str
    help: str
    options: tuple[Choice, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        options = [choice.to_dict() for choice in self.options]
        return {"path": self.path, "title": self.title, "blurb": self.help, "options": options}


def _share(name: str, title: str, start: float) -> Parameter:
    return _real(name, title, 0.0, 1.0, start, 0.01)


def _chance(name: str, title: str, start: float) -> Parameter:
    return _real(name, title, 0.01, 1.0, start, 0.01)


_TIME_STEP = (_real("step", "time between records", 0.01, 1.0, 0.1, 0.01, log=True),)
ADAPTATION = Feature(
    "agents.adaptation",
    "Adaptation",
    "Hidden opinions follow the public ones: at every step each agent moves its own by a share towards what it shows.",
    (
        Choice("number", "All agents", "The share of the way in one step.", (_share("value", "rate", 0.05),)),
        Choice(
            "some",
            "Some agents",
            "A share of the agents, chosen at random, adapts; the others never do.",
            (_share("rate", "rate", 0.05), _share("adaptation_weight.share", "share of agents who adapt", 0.5)),
            fixed={"adaptation_weight": {"law": "two_camps"}},
        ),
    ),
)
SUSCEPTIBILITY = Feature(
    "agents.susceptibility",
    "Susceptibility",
    "How much an agent feels the pressure: a factor of it, 0 for agents who ignore all others.",
    (
        Choice(
            "uniform",
            "Different",
            "Drawn uniformly between two values.",
            (_real("low", "lowest", 0.0, 5.0, 0.5, 0.05), _real("high", "highest", 0.0, 5.0, 1.5, 0.05)),
            fixed={"law": "uniform"},
        ),
        Choice(
            "two_camps",
            "Some ignore it",
            "A share of the agents, chosen at random, feels it in full; the others ignore it.",
            (_share("share", "share of agents who feel it", 0.9),),
            fixed={"law": "two_camps"},
        ),
        Choice("number", "The same for all", "", (_real("value", "factor", 0.0, 5.0, 1.0, 0.05),)),
    ),
)
ACTIVATION = Feature(
    "agents.activation",
    "Who updates",
    "Not everybody at every step: the others keep their public opinions.",
    (
        Choice("number", "By chance", "Each agent with this probability.", (_chance("value", "probability", 0.5),)),
        Choice("single", "One at a time", "One agent of all, chosen at random, at each step."),
        Choice(
            "uniform",
            "Some more often",
            "Each agent with a probability of its own.",
            (_chance("low", "lowest", 0.1), _chance("high", "highest", 1.0)),
            fixed={"law": "uniform"},
        ),
    ),
)
START = Feature(
    "agents.start",
    "Start",
    "Public opinions at the start; without this, agents begin by showing what they think.",
    (
        Choice("number", "The same for all", "", (_real("value", "public opinion", -10.0, 10.0, 0.0, 0.05),)),
        Choice(
            "uniform",
            "Uniform",
            "Drawn uniformly between two values.",
            (_real("low", "lowest", -10.0, 10.0, 0.0, 0.05), _real("high", "highest", -10.0, 10.0, 1.0, 0.05)),
            fixed={"law": "uniform"},
        ),
    ),
)
ISOLATED = Feature(
    "agents.isolated",
    "Isolated agents",
    "What agents show at steps in which a changing network leaves them without neighbours.",
    (
        Choice("keep", "Their last opinion", "They keep the public opinion of the step before."),
        Choice("own", "Their own", "They show their hidden opinion, with noise."),
    ),
)
ZEALOTS = Feature(
    "agents.zealots",
    "Zealots",
    "Agents who listen to nobody. Others can be chosen below the network: follow an agent and press zealot.",
    (),
)
DISTRUST = Feature(
    "network.signed",
    "Distrust",
    "Click an edge of the network, or two agents one after the other, and trust becomes distrust; once more, trust.",
    (),
)
_TOPIC_NAMES = ["first", "second"]
TOPICS = Feature(
    "topics",
    "Two topics",
    "Opinions on two topics, of which one is shown at a time.",
    (
        Choice(
            "follows",
            "The second follows",
            "Opinions on the first topic enter those on the second.",
            fixed={"names": _TOPIC_NAMES, "matrix": [[1.0, 0.0], [0.5, 0.5]]},
        ),
        Choice(
            "mutual",
            "Each follows the other",
            "Opinions on each topic enter those on the other.",
            fixed={"names": _TOPIC_NAMES, "matrix": [[0.75, 0.25], [0.25, 0.75]]},
        ),
        Choice(
            "opposed",
            "The second contradicts",
            "Who is for the first is drawn against the second.",
            fixed={"names": _TOPIC_NAMES, "matrix": [[1.0, 0.0], [-0.5, 0.5]]},
        ),
        Choice(
            "independent",
            "Independent",
            "Opinions on one topic have nothing to do with those on the other.",
            fixed={"names": _TOPIC_NAMES, "matrix": [[1.0, 0.0], [0.0, 1.0]]},
        ),
    ),
)
TIME = Feature(
    "time",
    "Continuous time",
    "A stochastic differential equation in the place of steps.",
    (
        Choice(
            "printed",
            "As printed",
            "Noise is that of the paper's equation: divided by stubbornness.",
            _TIME_STEP,
            fixed={"continuous": True, "scaling": "printed"},
        ),
        Choice(
            "model",
            "As in steps",
            "Noise has the size that it has in the discrete model.",
            _TIME_STEP,
            fixed={"continuous": True, "scaling": "model"},
        ),
    ),
)


def features() -> tuple[Feature, ...]:
    """Return what can be added to a scenario, in the order of its sections."""
    changes = (
        replace(choice, fixed={"kind": choice.id})
        for name, one in DYNAMICS.items()
        if (choice := _offered(name, one.title, one.help, one.build, one.parameters)) is not None
    )
    about = "Edges come and go from step to step: they fail, move, or take turns."
    dynamics = Feature("network.dynamics", "Changing edges", about, tuple(changes))
    return (dynamics, DISTRUST, TOPICS, ADAPTATION, SUSCEPTIBILITY, ZEALOTS, ACTIVATION, ISOLATED, START, TIME)


def temporal_networks() -> list[Choice]:
    """Return the generators of networks that change by themselves."""
    choices = (_offered(name, one.title, one.help, one.build, one.parameters) for name, one in TEMPORAL.items())
    return [choice for choice in choices if choice is not None]


PAPERS = "ols"


def catalogue(limits: Limits, default: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return all tables as plain values; the page opens with the ``default`` state."""
    return {
        "version": __version__,
        "limits": limits.to_dict(),
        "generators": [choice.to_dict(limits.agents) for choice in generators()],
        "temporal_networks": [choice.to_dict(limits.agents) for choice in temporal_networks()],
        "named": [dict(row) for row in _real_networks()],
        "schedules": [choice.to_dict() for choice in schedules()],
        "noises": [choice.to_dict() for choice in noises()],
        "temporals": [choice.to_dict() for choice in TEMPORALS],
        "hidden_laws": [choice.to_dict() for choice in HIDDEN_LAWS],
        "stubbornness": [choice.to_dict() for choice in STUBBORNNESS],
        "run": [control(one) for one in RUN],
        "features": [feature.to_dict() for feature in features()],
        "privacy": [control(one) for one in PRIVACY],
        "methods": [
            choice.to_dict()
            | {"paper": choice.id == PAPERS, "continuous": choice.id == AUTO or METHODS[choice.id].continuous}
            for choice in methods()
        ],
        "presets": [preset.to_dict() for preset in presets()],
        "default": dict(default) if default else first_state(),
    }


# Loading the data sets imports NetworkX, which is slow and needed once.
@cache
def _real_networks() -> tuple[tuple[tuple[str, Any], ...], ...]:
    rows = []
    for name, real in NAMED.items():
        title = name.replace("_", " ").capitalize()
        rows.append((("id", name), ("title", title), ("blurb", real.about), ("n", named(name).n)))
    return tuple(rows)
