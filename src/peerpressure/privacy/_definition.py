"""What ε means here: what it is about, what it assumes, and what it does not cover.

``DEFINITION`` is the definition in general and ``Definition.terms`` that of one account, with its numbers. Every place
that prints an ε prints these sentences, and none appears without its assumptions. A new line of the definition is one
entry of ``DEFINITION`` and one of ``Definition.terms``.
"""

from __future__ import annotations

import textwrap
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Literal, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import InvalidInputError, ModelError, message
from peerpressure.model import Model
from peerpressure.model.statespace import System, checked_system, initial_state
from peerpressure.model.statespace.systems import shows_start
from peerpressure.noise import Gaussian
from peerpressure.privacy._accounting import positive
from peerpressure.privacy._shifts import leaks_at_first_step, require_public_start
from peerpressure.recovery import Observation
from peerpressure.support.results import read_only
from peerpressure.theory.propagation import step_count

# Columns of texts for a terminal.
WIDTH = 88

Observed: TypeAlias = Sequence[Hashable] | Observation | None

Unit: TypeAlias = Literal["person", "topic"]
SeedStatus: TypeAlias = Literal["unspecified", "known", "secret"]

_INPUTS = "The hidden opinion of one agent changes by at most Δ; all other inputs are fixed and known to the observer."

DEFINITION: Mapping[str, str] = MappingProxyType(
    {
        "neighbouring inputs": f"{_INPUTS} Where there are several topics, each of its opinions changes by at most Δ.",
        "observer": "The observer sees the public opinions of all agents, or of some, at steps 1 to T. Insiders are "
        "agents who tell it their own hidden opinions and noise, and what their neighbours express.",
        "public": "The model is known to the observer: network, stubbornness, pressure, adaptation and the noise "
        "distribution. Hidden opinions, noise and the seed are not.",
        "runs": "One run is released, or R runs with the same hidden opinions and independent noise.",
        "start": "y₀ is not observed unless it is stated. An observer of y₀ = x₀ knows every hidden opinion. A start "
        "is public where it is declared to be: as one number, or with public_start=True. Every other start is refused.",
        "person": "The privacy unit is a person: one agent with its opinions on all topics, or, where it is stated, "
        "one topic of it. A person represented by several agents is not covered.",
        "seed": "Whoever knows or guesses the seed can subtract the noise and obtain the hidden opinions. A release "
        "draws its noise from the operating system and stores no seed. A run with a seed is for study; without one of "
        "its own it has seed 0, which anybody can try.",
        "arithmetic": "ε is that of real numbers unless it is stated. A release has noise and opinions on a grid, and "
        "its ε holds for the floating-point numbers that it publishes. The last digits of other runs may reveal more.",
    }
)


@final
@dataclass(frozen=True)
class Granularity:
    """The grid of a release: its least and largest step, in opinions and relative to the noise, and the δ it adds.

    Attributes
    ----------
    least, most : float
        Smallest and largest step of the grid over all agents, powers of two.
    delta : float
        What the finite randomness of all draws about one person adds to δ.

    See Also
    --------
    release : Publishes opinions on a grid.

    Examples
    --------
    >>> from peerpressure.privacy import Granularity
    >>> str(Granularity(0.25, 0.25, 1e-12))
    'a grid of step 0.25'
    """

    least: float
    most: float
    delta: float

    def __str__(self) -> str:
        if self.least == self.most:
            return f"a grid of step {self.least:g}"
        return f"grids of steps {self.least:g} to {self.most:g} by agent"


@final
@read_only
@dataclass(frozen=True, eq=False)
class Definition:
    """Assumptions of a privacy budget: `terms` are its sentences and `warnings` what it does not cover.

    Parameters
    ----------
    system : Model or SDE
        The mechanism.
    steps : int
        The number T of steps, at least 1.
    sensitivity : float, default 1.0
        Largest distance Δ > 0 between two hidden opinions that are to be indistinguishable.
    sees_start : bool, default False
        Whether y₀ is observed, too, which reveals everything if y₀ = x₀.
    runs : int, default 1
        Runs with independent noise that are released, at least 1; information adds up over them.
    observed : sequence of labels or Observation, optional
        The observed agents, or an Observation for certain steps, too; by default everyone at every step. Rounding is
        not counted, as it can only hide more.
    insiders : sequence of labels, default ()
        Agents who tell the observer their own hidden opinions and noise, and what their neighbours express. An account
        has no row of them.
    unit : {"person", "topic"}, default "person"
        Who is protected on a network with topics: a person with all of them, or one topic of a person.
    public_start : bool, default False
        Declare that a start which differs between agents is public, and was not computed from hidden opinions.
    seed : {"unspecified", "known", "secret"}, default "unspecified"
        Whether the noise comes from a known seed, or from the operating system.
    granularity : Granularity, optional
        The grid of noise and opinions, of a release.

    Raises
    ------
    InvalidInputError
        If the start is not public, if all agents are insiders or one is for some of its topics only, or if an argument
        is invalid.

    See Also
    --------
    peerpressure.privacy.DEFINITION : The terms in general.
    budget : The account under a definition.

    Examples
    --------
    >>> from peerpressure import Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.privacy import Definition
    >>> Definition(Model(k2(), hidden=[0.0, 1.0]), 10).terms["runs"]
    'One run is released.'
    """

    system: System
    steps: int
    sensitivity: float = 1.0
    sees_start: bool = False
    runs: int = 1
    observed: Observed = None
    insiders: Sequence[Hashable] = ()
    unit: Unit = "person"
    public_start: bool = False
    seed: SeedStatus = "unspecified"
    granularity: Granularity | None = None

    def __post_init__(self) -> None:
        require_public_start(checked_system(self.system), declared=self.public_start)
        _require_unit(self.unit)
        _require_known_updates(self.system.model)
        inside = _labels(self.insiders, "insiders")
        look = as_observation(self.observed)
        # The checks of labels are those of an observation.
        for agents in (inside, () if look is None or look.agents is None else look.agents):
            self.system.model.network.indices(agents)
        object.__setattr__(self, "steps", step_count(self.steps))
        object.__setattr__(self, "sensitivity", positive(self.sensitivity, "sensitivity"))
        object.__setattr__(self, "runs", step_count(self.runs, "runs"))
        object.__setattr__(self, "insiders", inside)
        # Rounding is left out: it can only hide more, and is no noise on which a guarantee could rest.
        object.__setattr__(self, "observed", () if look is None else replace(look, rounding=0.0, scale=None))
        object.__setattr__(self, "sees_start", bool(self.sees_start) or (look is not None and look.sees_start))
        self._check_insiders(look)

    def _check_insiders(self, look: Observation | None) -> None:
        if not self.insiders:
            return
        if self.system.is_continuous:
            rule = "insiders are accounted for in discrete time"
            raise InvalidInputError(message(rule, got="an SDE", remedy="use the model that the SDE was made from"))
        self._check_topics()
        if self.is_insider.all():
            rule, got = "some agent must not be an insider", f"all {len(self.model.network.agents):,}"
            raise InvalidInputError(message(rule, got=got, remedy="leave out who is protected"))
        # What insiders hear at each step is part of what they know, whatever the observer outside looks at.
        if look is not None and (look.times is not None or look.first_step > 1):
            rule = "insiders observe every step"
            raise InvalidInputError(message(rule, got="certain steps only", remedy="leave out times and first_step"))

    def _check_topics(self) -> None:
        # Opinions are by agent and topic; an insider is a person, who knows all of its own.
        network = self.model.network
        informed = network.by_topic(self.is_insider)
        for agent in np.flatnonzero(informed.any(axis=1) & ~informed.all(axis=1)).tolist():
            rule, label = "an insider tells its opinions on all topics", network.agents[agent]
            got = f"{int(informed[agent].sum())} of the {len(network.topics)} topics of {label!r}"
            raise InvalidInputError(message(rule, got=got, remedy=f"name the agent, {label!r}, among the insiders"))

    @property
    def model(self) -> Model:
        """The model, also of an SDE."""
        return self.system.model

    @cached_property
    def is_insider(self) -> NDArray[np.bool_]:
        """Which agents are insiders, (agents,)."""
        inside = np.zeros(self.model.n, dtype=bool)
        inside[self.model.network.indices(self.insiders)] = True
        return inside

    @cached_property
    def is_observed(self) -> NDArray[np.bool_]:
        """Which agents are observed: those named, the insiders, and all who are ever their neighbours; (agents,)."""
        seen = observed_agents(self.model, as_observation(self.observed))
        # An insider hears each of those to whom it listens.
        heard = abs(self.model.network.transposed) @ self.is_insider.astype(float) > 0
        return np.asarray(seen | self.is_insider | heard)

    @property
    def rows_per_unit(self) -> int:
        """How many opinions the privacy unit has: those on all topics, or one."""
        return max(1, len(self.model.network.topics)) if self.unit == "person" else 1

    @property
    def is_protected(self) -> NDArray[np.bool_]:
        """Which persons, or topics of a person, are no insiders."""
        return ~self.is_insider[:: self.rows_per_unit]

    @property
    def unit_labels(self) -> Sequence[Hashable]:
        """The label of each privacy unit."""
        network = self.model.network
        return network.agents if self.rows_per_unit > 1 else network.labels

    @property
    def observation(self) -> Observation | None:
        """The observation of all that is seen, and None if nothing is."""
        if not self.is_observed.any():
            return None
        look = as_observation(self.observed) or Observation()
        # Later steps are not released.
        times = look.times if look.times is not None else range(look.first_step, self.steps + 1)
        times = [t for t in times if max(look.first_step, 1) <= t <= self.steps]
        # Who sees y₀ sees it besides the steps that are named; a public start says nothing.
        if self.sees_start and isinstance(self.model.start, str):
            times, look = sorted({0, *times}), replace(look, first_step=0, sees_start=True)
        if not times:
            return None
        if look.times is not None or len(times) < self.steps:
            look = replace(look, times=times)
        seen = np.flatnonzero(self.is_observed).tolist()
        # None and not all labels: methods for complete outputs are chosen by it.
        agents = None if self.is_observed.all() else [self.model.network.labels[i] for i in seen]
        return replace(look, agents=agents, sees_start=self.sees_start)

    @property
    def is_complete(self) -> bool:
        """Whether all agents are observed at every step from 1 to T."""
        look = self.observation
        if look is None or look.agents is not None or look.first_step > 1:
            return False
        return look.times is None or set(look.times) >= set(range(1, self.steps + 1))

    @property
    def terms(self) -> dict[str, str]:
        """The sentences of the definition by name, with the numbers of this account."""
        one = "One run is released."
        many = f"{self.runs:,} runs with the same hidden opinions and independent noise are released."
        sentences = {
            "neighbouring inputs": self._inputs(),
            "observer": self._observer(),
            "public": DEFINITION["public"],
            "runs": one if self.runs == 1 else many,
            "start": self._start(),
            "person": self._person(),
            "seed": _SEEDS[self.seed],
            "arithmetic": self._arithmetic(),
        }
        return sentences | ({"grid": self._grid()} if has_grid(self.system) else {})

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the account does not cover although a reader may expect it."""
        extent, texts = float(np.ptp(self.model.x0)), []
        if self.sensitivity < extent:
            # A guarantee for small changes is easily mistaken for one about the whole range.
            texts.append(
                f"The hidden opinions range over {extent:.4g}: a change across that range is more than "
                f"Δ = {self.sensitivity:g} and is not covered."
            )
        return tuple(texts)

    @property
    def text(self) -> str:
        """The terms and warnings as one paragraph."""
        terms = [f"{name.capitalize()}: {sentence}" for name, sentence in self.terms.items()]
        return " ".join([*terms, *(f"Warning: {sentence}" for sentence in self.warnings)])

    def _inputs(self) -> str:
        said = _INPUTS.replace("Δ", f"Δ = {self.sensitivity:g}")
        count = len(self.model.network.topics)
        if not count:
            return said
        if self.unit == "topic":
            return said.replace("one agent", "one agent on one topic")
        return said.replace(
            "opinion of one agent changes", f"opinions of one agent on all {count:,} topics change each"
        )

    def _person(self) -> str:
        count, other = len(self.model.network.topics), "A person represented by several agents is not covered."
        if not count:
            return f"The privacy unit is one agent. {other}"
        if self.unit == "person":
            return f"The privacy unit is a person with all {count:,} topics. {other}"
        # Group privacy (Dong, Roth and Su, 2022): k changes at once have at most k times the loss of one.
        return (
            f"The privacy unit is one topic of a person. A person with all {count:,} topics has up to {count:,} times "
            f"the μ, or the pure ε. {other}"
        )

    def _arithmetic(self) -> str:
        if self.granularity is None:
            return "ε is that of real numbers. The last digits of floating-point numbers may reveal more."
        return (
            f"ε holds for the floating-point numbers as released: noise and opinions are on {self.granularity}, and "
            "all that is computed from their sums is post-processing. The finite number of random bits adds "
            f"{self.granularity.delta:.1e} to δ, which is counted."
        )

    def _observer(self) -> str:
        look, n, first = self.observation, self.model.n, 0 if self.sees_start else 1
        network = self.model.network
        if look is None:
            return "The observer sees no agent."
        rows = "pairs of an agent and a topic" if network.topics else "agents"
        who = "all agents" if look.agents is None else f"{len(look.agents):,} of {n:,} {rows}"
        when = f"steps {max(first, look.first_step)} to {self.steps:,}"
        if look.times is not None:
            when = f"{len(look.times):,} of the steps {first} to {self.steps:,}"
        said = f"The observer sees the public opinions of {who} at {when}."
        if count := int(self.is_insider.sum()) // max(1, len(network.topics)):
            who = "One of them is an insider and tells" if count == 1 else f"{count:,} of them are insiders and tell"
            said += f" {who} it their own hidden opinions and noise, and what their neighbours express."
        if not self.is_complete and not isinstance(self.model.noise, Gaussian):
            # What an observer of a part sees is a function of what an observer of everyone sees.
            said += " As the noise is not Gaussian, it is accounted for as an observer of everyone, which is safe."
        return said

    def _start(self) -> str:
        said = start_term(self.system, sees_start=self.sees_start)
        if self.insiders and leaks_at_first_step(self.model):
            said += " Insiders hear it from their neighbours, whose hidden opinions they know."
        return said

    def _grid(self) -> str:
        return (
            f"The path is observed at intervals of {self.system.step:g}. "
            "A finer observer learns more; the limit (ε, all times) holds for an observer of all agents at all times."
        )


_SEEDS: Mapping[SeedStatus, str] = MappingProxyType(
    {
        "unspecified": "The seed must be secret: whoever knows or guesses it has the hidden opinions. Without a seed "
        "of its own, a run has seed 0, which anybody can try, and its generator is not cryptographic.",
        "known": "The seed is known: there is no protection, and ε is for study. privacy.release draws noise that "
        "cannot be reproduced.",
        "secret": "All noise is drawn from the operating system's cryptographic generator, and no seed is stored.",
    }
)


def _require_unit(unit: str) -> None:
    if unit not in ("person", "topic"):
        rule, remedy = "unit must be 'person' or 'topic'", "leave it out to protect persons"
        raise InvalidInputError(message(rule, got=repr(unit), remedy=remedy))


def has_grid(system: System) -> bool:
    """Return whether there is a path between the observed times: in continuous time, unless drawn by Euler steps."""
    return system.path_method not in (None, "euler")


def _require_known_updates(model: Model) -> None:
    if model.activation is not None and model.activation.is_random:
        rule = "a privacy budget needs synchronous updates, or a table of who updates"
        # Given the masks, which do not depend on opinions, fewer preferred opinions are released than by everybody.
        remedy = "pass model.synchronous, which bounds it from above where the start is public, or give a table"
        raise ModelError(message(rule, got=str(model.activation), remedy=remedy))


def start_term(system: System, *, sees_start: bool = False) -> str:
    """Return what an account assumes about y₀, in words."""
    if not initial_state(system).starts_from_hidden:
        return (
            "The start is declared to be public and chosen without the hidden opinions, which its numbers cannot prove."
        )
    if sees_start:
        return "y₀ = x₀ is observed, which reveals the hidden opinion of every observed agent."
    if system.is_continuous:
        return (
            "y₀ = x₀ is not observed, but the public opinions a short time later are close to it and reveal most of it."
        )
    shown = int(np.count_nonzero(shows_start(system.model)))
    if shown:
        return (
            f"y₀ = x₀ is not observed, but kept at step 1 by {shown:,} agents, which reveals their hidden opinions; a "
            "public start avoids that."
        )
    if not leaks_at_first_step(system.model):
        return "y₀ = x₀ is not observed, and no agent responds to it at step 1."
    return (
        "y₀ = x₀ is not observed; an observer of y₀ knows every hidden opinion. Neighbours respond to it at step 1, "
        "which reveals part of it; a public start, or no pressure at the first step, avoids that."
    )


def refuse_seen_start(definition: Definition) -> None:
    """Raise an error for an observer who sees a start that shows the hidden opinions, however large the noise is."""
    if definition.sees_start and isinstance(definition.model.start, str):
        rule = "no noise hides an opinion from an observer of y₀ = x₀"
        got, remedy = "an observer who sees the start", "give the model a public start"
        raise InvalidInputError(message(rule, got=got, remedy=remedy))


def as_lines(sentences: Mapping[str, str]) -> list[str]:
    """Return named sentences as lines of a text, the further lines of each indented."""
    said = (f"{name.capitalize()}: {sentence}" for name, sentence in sentences.items())
    return [line for one in said for line in textwrap.wrap(one, WIDTH, subsequent_indent="  ")]


def as_observation(observed: Observed) -> Observation | None:
    """Return the observation that is meant, None if no agent is observed."""
    if observed is None or isinstance(observed, Observation):
        return observed or Observation()
    return Observation(agents=observed) if isinstance(observed, str) or len(observed) else None


def observed_agents(model: Model, look: Observation | None) -> NDArray[np.bool_]:
    """Return which agents an observation names, (agents,)."""
    seen = np.zeros(model.n, dtype=bool)
    if look is not None:
        seen[slice(None) if look.agents is None else model.network.indices(look.agents)] = True
    return seen


def _labels(given: Iterable[Hashable], what: str) -> tuple[Hashable, ...]:
    if isinstance(given, (str, bytes)) or not hasattr(given, "__iter__"):
        rule = f"{what} must be a sequence of labels"
        raise InvalidInputError(message(rule, got=repr(given), remedy=f"for one agent use [{given!r}]"))
    return tuple(given)
