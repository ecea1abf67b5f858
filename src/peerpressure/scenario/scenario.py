"""The whole scenario: one experiment, with the sections [run], [observe], [privacy] and [output]."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, Field, model_validator

from peerpressure.errors import InvalidInputError, message
from peerpressure.model import Model
from peerpressure.model.statespace import System
from peerpressure.networks import DYNAMICS, GENERATORS, NAMED, RECORDED, TEMPORAL, Network, TemporalNetwork, k2
from peerpressure.noise import LAWS
from peerpressure.recovery import AUTO, METHODS, NetworkEstimate, Observation, Prior, infer_network
from peerpressure.scenario.agents import Agents, adaptation_of, agent_values, draw_words
from peerpressure.scenario.network import NetworkFileSection, NetworkSection, StaticNetworkSection
from peerpressure.scenario.section import (
    AgentLabel,
    Choice,
    Count,
    Feature,
    Label,
    OneOrMany,
    OutputFolder,
    Positive,
    Rows,
    Section,
    Seed,
    alternatives,
    among,
    as_labels,
    key_of,
    tag,
)
from peerpressure.scenario.system import (
    LAW_SECTIONS,
    SCHEDULE_SECTIONS,
    TIME,
    NoiseSection,
    PressureSection,
    ScheduleSection,
    Time,
    derived_schedule,
)
from peerpressure.schedules import SCHEDULES, Linear, Schedule
from peerpressure.simulation.recording import Record, as_record
from peerpressure.simulation.trajectory import Trajectory
from peerpressure.support.dates import is_calendar, origin_seconds, seconds_in
from peerpressure.support.parameters import Slider

# The schema is generated from the sections and shipped as a file, so editors need not run Python.
FILE = "scenario.schema.json"


class RecordTable(Section):
    """What a run records: states and summaries at every ``every``-th step, of all agents or of some."""

    states: bool = Field(default=True, description="record the opinions of agents")
    summaries: bool = Field(default=True, description="record minimum, maximum and mean over agents")
    every: Count = Field(default=1, description="record every so many steps")
    agents: Annotated[
        Annotated[list[AgentLabel], Field(min_length=1)] | None,
        Field(description="agents whose opinions are recorded; all if left out"),
    ] = None


def _choose_record(value: Any) -> str | None:
    return "word" if isinstance(value, str) else "table" if isinstance(value, dict | RecordTable) else None


RecordSection: TypeAlias = Annotated[
    Annotated[Literal["all", "summaries", "final"], tag("word")] | Annotated[RecordTable, tag("table")],
    alternatives(
        _choose_record,
        "record must be 'all', 'summaries', 'final' or { every = 10 }",
        "leave it out to keep everything",
    ),
]


class Run(Section):
    """Length of the run, number of replicates, and the seed of everything random."""

    # The step is a word of 32 bits in the counter of the random numbers.
    steps: Annotated[
        int, Field(ge=1, le=2**32 - 1, description="number of steps"), Slider(1, 100_000, 1, 200, log=True)
    ]
    replicates: Annotated[
        int,
        Field(ge=1, le=2**24, description="number of runs with independent noise"),
        Slider(1, 10_000, 1, 20, log=True),
    ] = 1
    seed: Annotated[
        Seed, Field(description="seed of everything random that has none of its own"), Slider(0, 9_999, 1, 1)
    ] = 0
    record: Annotated[RecordSection, Field(description="what is kept of each step; final keeps the last only")] = "all"

    @property
    def words(self) -> str:
        """The size and the seed of the run in words."""
        counts = ((self.steps, "step"), (self.replicates, "replicate"))
        return ", ".join(f"{count:,} {name}{'s' * (count != 1)}" for count, name in counts) + f", seed {self.seed}"

    def recording(self) -> Record:
        """Return what the run records."""
        if isinstance(self.record, str):
            return as_record(self.record)
        asked = self.record
        agents = None if asked.agents is None else as_labels(asked.agents)
        return Record(asked.states, asked.summaries, asked.every, agents)


FORMATS = ("png", "pdf", "svg")
Format: TypeAlias = Annotated[
    str, AfterValidator(among(FORMATS, "a format")), Field(json_schema_extra={"enum": [*FORMATS]})
]


class Output(Section):
    """Folder and kinds of results; ``states`` adds a table of all public opinions, which can be long."""

    folder: Annotated[OutputFolder | None, Field(description="a folder beside the scenario file if left out")] = None
    figures: bool = Field(default=True, description="whether figures are drawn")
    formats: list[Format] = Field(default=["png"], min_length=1, description="file formats of the figures")
    report: bool = Field(default=True, description="whether report.html is written")
    states: bool = Field(default=False, description="whether a table of all opinions at all steps is written")


Step: TypeAlias = Annotated[int, Field(ge=0)]
Method: TypeAlias = Annotated[
    str, AfterValidator(among((AUTO, *METHODS), "a method")), Field(json_schema_extra={"enum": [AUTO, *METHODS]})
]


class GaussianPrior(Section):
    """Normal prior of the hidden opinions, with one mean and variance for all or one for each agent."""

    mean: Annotated[OneOrMany, Field(description="mean of a hidden opinion before any observation")]
    variance: Annotated[OneOrMany, Field(description="its variance")]

    def prior(self) -> Prior:
        """Return the prior."""
        return Prior(self.mean, self.variance)

    @model_validator(mode="after")
    def _can_be_built(self) -> GaussianPrior:
        self.prior()
        return self


class UniformPrior(Section):
    """Uniform prior of the hidden opinions between two values."""

    low: float = Field(description="smallest possible hidden opinion")
    high: float = Field(description="largest possible hidden opinion")

    def prior(self) -> Prior:
        """Return the prior."""
        return Prior.uniform(self.low, self.high)

    @model_validator(mode="after")
    def _can_be_built(self) -> UniformPrior:
        self.prior()
        return self


def _choose_prior(value: Any) -> str | None:
    # One key of a pair suffices to choose the alternative, so the missing one is reported by name.
    key, _ = key_of(value, "low", "high", "mean", "variance") or (None, None)
    return None if key is None else "uniform" if key in ("low", "high") else "gaussian"


PriorSection: TypeAlias = Annotated[
    Annotated[GaussianPrior, tag("gaussian")] | Annotated[UniformPrior, tag("uniform")],
    alternatives(
        _choose_prior,
        "a prior must be { mean = …, variance = … } or { low = …, high = … }",
        "leave it out for no prior",
    ),
]


class UnknownNetwork(Section):
    """What is assumed where the observer does not know the network and infers it from the public opinions."""

    std: Annotated[
        Literal["common", "agent", "known"],
        Field(description="whether all agents have noise of one unknown size, each its own, or the noise is known"),
    ] = "common"
    symmetric: Annotated[bool, Field(description="agents listen to each other with equal weights")] = False
    signed: Annotated[bool, Field(description="allow negative weights, for distrust")] = False
    partial: Annotated[
        bool, Field(description="infer weights, without standard errors, even if some agents are not observed")
    ] = False


class Observe(Section):
    """Observer: observed agents and steps, rounding, and the methods that estimate the hidden opinions."""

    agents: Annotated[
        Annotated[list[AgentLabel], Field(min_length=1)] | None, Field(description="observed agents; all if left out")
    ] = None
    times: Annotated[
        Annotated[list[Step], Field(min_length=1)] | None, Field(description="observed steps; all if left out")
    ] = None
    first_step: Step = Field(default=0, description="first observed step")
    sees_start: Annotated[bool, Field(description="observe y₀ as well, which may show the hidden opinions")] = False
    rounding: Annotated[float, Field(ge=0, description="spacing of the observed values; 0 for exact ones")] = 0.0
    methods: list[Method] = Field(default=[AUTO], min_length=1, description="estimators; auto chooses one")
    target: Annotated[
        Literal["initial", "current"],
        Field(description="if hidden opinions adapt, whether those at the start or at the end are estimated"),
    ] = "initial"
    prior: Annotated[
        PriorSection | None, Field(description="what is known of hidden opinions before any observation")
    ] = None
    step: Annotated[str | None, Field(description="length of a step, such as '1 day', if answers have dates")] = None
    origin: Annotated[str | None, Field(description="date of step 0; by default the first date is step 1")] = None
    unknown_network: Annotated[
        UnknownNetwork | None, Field(description="the observer does not know the network and infers it")
    ] = None

    def observation(self) -> Observation:
        """Return the observed agents and steps."""
        agents = None if self.agents is None else as_labels(self.agents)
        return Observation(agents, self.times, self.first_step, self.sees_start, self.rounding)

    @model_validator(mode="after")
    def _can_be_built(self) -> Observe:
        self.observation()
        if is_calendar(self.step):
            seconds_in(self.step)
        if self.origin is not None:
            origin_seconds(self.origin)
        # Results are stored by method, so a repeated one would overwrite itself.
        if len(set(self.methods)) < len(self.methods):
            got = ", ".join(self.methods)
            raise InvalidInputError(message("methods must differ", got=got, remedy="name each once"))
        return self


class Privacy(Section):
    """Privacy budget: for opinions up to ``sensitivity`` apart, at the failure probability ``delta``."""

    sensitivity: Annotated[
        Positive,
        Field(title="distance Δ of opinions", description="largest difference of opinions that is hidden, Δ"),
        Slider(0.01, 10.0, 0.01, 1.0, log=True),
    ] = 1.0
    # A customary value: δ should be well below one over the number of agents.
    delta: Annotated[
        float,
        Field(gt=0, lt=1, title="failure probability δ", description="failure probability δ"),
        Slider(1e-9, 0.1, 1e-9, 1e-5, log=True),
    ] = 1e-5
    insiders: list[AgentLabel] = Field(default=[], description="agents who tell the observer their own noise")
    runs: Annotated[
        int,
        Field(
            ge=1,
            title="runs that are seen",
            description="runs with independent noise that the observer of [observe] sees",
        ),
        Slider(1, 1_000, 1, 1, log=True),
    ] = 1
    unit: Annotated[
        Literal["person", "topic"], Field(description="who is protected: a person with all topics, or one topic of it")
    ] = "person"
    public_start: Annotated[
        bool | Literal["published"],
        Field(
            description="declare that the start is public although it differs between agents; 'published' if it also "
            "resembles the hidden opinions"
        ),
    ] = False


class Topics(Section):
    """Several topics: opinions are then of shape (agents, topics), and labels are pairs of an agent and a topic."""

    names: (
        Annotated[list[Label], Field(min_length=1, description="names of the topics; numbered from 0 if left out")]
        | None
    ) = None
    matrix: Annotated[
        Rows | None,
        Field(
            description="row p: weights of all topics in the opinion on topic p, whose moduli sum to 1; independent "
            "topics if left out"
        ),
    ] = None

    def lifted(self, network: Network) -> Network:
        """Return the network of all pairs of an agent and a topic."""
        if self.names is None and self.matrix is None:
            remedy = "for instance names = ['tax', 'rent'] or matrix = [[0.8, 0.2], [0.0, 1.0]]"
            raise InvalidInputError(message("topics must have names or a matrix", got="neither", remedy=remedy))
        return network.with_topics(self.names or len(self.matrix or ()), self.matrix)

    @model_validator(mode="after")
    def _can_be_built(self) -> Topics:
        self.lifted(k2())
        return self


_TOPIC_NAMES = ["first", "second"]
TOPICS = Feature(
    "Two topics",
    "Opinions on two topics, of which one is shown at a time.",
    (
        Choice(
            "follows",
            "The second follows",
            "Opinions on the second topic depend on those on the first.",
            fixed={"names": _TOPIC_NAMES, "matrix": [[1.0, 0.0], [0.5, 0.5]]},
        ),
        Choice(
            "mutual",
            "Each follows the other",
            "Opinions on each topic depend on those on the other.",
            fixed={"names": _TOPIC_NAMES, "matrix": [[0.75, 0.25], [0.25, 0.75]]},
        ),
        Choice(
            "opposed",
            "The second contradicts",
            "Being for the first means being against the second.",
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


class Scenario(Section):
    r"""One experiment: a network, its agents, peer pressure, noise, a run, and optionally an observer.

    The attributes are the sections of a scenario file. Build one with `load_scenario`, `parse_scenario` or
    `scenario_from`, which report all errors of a file at once.

    Attributes
    ----------
    network, topics, agents, pressure, noise, time : Section
        The model; without ``topics`` there is one, and without ``time`` it runs in discrete steps.
    run : Run
        Number of steps and replicates, seed, and what is recorded.
    observe, privacy : Section, optional
        The observer, and the privacy budget.
    output : Output
        Where results are written.

    See Also
    --------
    load_scenario : Read a scenario file.

    Examples
    --------
    >>> from peerpressure.scenario import parse_scenario
    >>> parse_scenario("[network]\ngenerator = 'k2'\n[run]\nsteps = 9").model().n
    2
    """

    network: NetworkSection
    topics: Annotated[Topics | None, Field(description="one topic if left out"), TOPICS] = None
    agents: Agents = Agents()
    pressure: PressureSection = SCHEDULE_SECTIONS["linear"].model_validate({})
    noise: NoiseSection = LAW_SECTIONS["none"].model_validate({})
    time: Annotated[Time | None, Field(description="discrete steps t = 1, 2, … if left out"), TIME] = None
    run: Run
    observe: Observe | None = None
    privacy: Privacy | None = None
    output: Output = Output()

    def __repr__(self) -> str:
        sections = [name for name in type(self).model_fields if getattr(self, name) is not None]
        return f"Scenario({self.run.words}; {', '.join(sections)})"

    __str__ = __repr__

    # Cached: sections are immutable, and drawing a network is expensive.
    @cached_property
    def temporal_network(self) -> TemporalNetwork | None:
        """Temporal network, drawn from its own seed or from that of the run; None if the network is constant."""
        network = self.network.temporal_network(self.run.steps, self.run.seed)
        # An agent without any contact would never be influenced; the consensus value is not defined over several
        # components.
        if network is not None and not network.aggregate.is_connected:
            rule = "all agents must meet over time, directly or through others"
            remedy = "let it change for more steps, or set largest_component = true if it is a file"
            raise InvalidInputError(message(rule, got=repr(network), remedy=remedy))
        return network

    @cached_property
    def graph(self) -> Network:
        """Network, drawn from its own seed or from that of the run; the aggregate of a temporal network.

        With topics it is that of all pairs of an agent and a topic.
        """
        if self.temporal_network is not None:
            if self.topics is not None:
                rule, remedy = "several topics need a network that does not change", "remove [topics], or its changes"
                raise InvalidInputError(message(rule, got=repr(self.temporal_network), remedy=remedy))
            # A static section with dynamics is temporal as well, so this case comes first.
            return self.temporal_network.aggregate
        return self.static_network if self.topics is None else self.topics.lifted(self.static_network)

    @cached_property
    def static_network(self) -> Network:
        """The network of the agents as its section builds it, whether it changes afterwards or has topics."""
        assert isinstance(self.network, StaticNetworkSection), "a network that does not change can be built"
        return self.network.build(self.run.seed)

    @property
    def agent_network(self) -> Network | TemporalNetwork:
        """The network of the agents as it is used, without topics."""
        return self.static_network if self.temporal_network is None else self.temporal_network

    @property
    def network_file(self) -> str | None:
        """File of the network, which may have attributes of the agents; None if it has no file."""
        return self.network.file if isinstance(self.network, NetworkFileSection) else None

    @property
    def drawn_hidden(self) -> str | None:
        """How hidden opinions are drawn at random, in words; None if they are given."""
        return draw_words(self.agents.hidden, self.run.seed)

    @property
    def public_start(self) -> bool:
        """Whether the start is declared to be public: as a number, a law or a file, or in [privacy] for a list."""
        declared = self.privacy is not None and bool(self.privacy.public_start)
        return declared or not isinstance(self.agents.start, list | tuple)

    # Cached, because the optimal schedule takes many passes over the run.
    @cached_property
    def schedule(self) -> Schedule:
        """Peer pressure, which may depend on the other parts of the model."""
        if isinstance(self.pressure, ScheduleSection):
            return self.pressure.schedule()
        return derived_schedule(self.pressure, self._model(Linear()), self.run.steps)

    def model(self) -> Model:
        """Return the model.

        Returns
        -------
        Model
            Network, agents, pressure, noise and adaptation of the file.
        """
        return self.built_model

    # Cached: the checks of a file build it, and so does what is done with the file.
    @cached_property
    def built_model(self) -> Model:
        """The model, built once."""
        return self._model(self.schedule)

    def _model(self, pressure: Schedule) -> Model:
        seed, network = self.run.seed, self.graph
        adaptation = adaptation_of(self.agents.adaptation, network, seed, self.network_file)
        return Model(
            # The model takes the temporal network itself; its aggregate serves for labels.
            self.agent_network if self.topics is None else network,
            pressure=pressure,
            noise=self.noise.noise(),
            adaptation=adaptation,
            isolated=self.agents.isolated,
            **agent_values(self.agents, network, seed, self.network_file),
        )

    def system(self) -> System:
        """Return the model, or its stochastic differential equation where time is continuous.

        Returns
        -------
        Model or SDE
            An ``SDE`` where the file has a [time] section.
        """
        return self.model() if self.time is None else self.time.system(self.model())

    def observation(self) -> Observation:
        """Return the observed agents and steps; all of them by default.

        Returns
        -------
        Observation
            The [observe] section.
        """
        return Observation() if self.observe is None else self.observe.observation()

    def infer_network(self, run: Trajectory) -> NetworkEstimate:
        """Return the network that the observer infers from a run, not knowing it.

        Parameters
        ----------
        run : Trajectory
            A run with recorded states.

        Returns
        -------
        NetworkEstimate
            Estimated weights between the observed agents.

        Raises
        ------
        InvalidInputError
            If time is continuous.
        """
        if self.time is not None and self.time.continuous:
            rule, remedy = "a network is inferred in discrete time", "remove [time]"
            raise InvalidInputError(message(rule, got="a [time] section", remedy=remedy))
        asked = (None if self.observe is None else self.observe.unknown_network) or UnknownNetwork()
        model, look = run.model, self.observation()
        seen = slice(None) if look.agents is None else model.network.indices(look.agents)
        return infer_network(
            run,
            model.pressure,
            std=asked.std,
            symmetric=asked.symmetric,
            signed=asked.signed,
            stubbornness=model.stubbornness[seen],
            observation=look,
            partial=asked.partial,
        )

    def prior(self) -> Prior | None:
        """Return the prior of the observer, if there is one.

        Returns
        -------
        Prior or None
            The prior of the [observe] section.
        """
        return None if self.observe is None or self.observe.prior is None else self.observe.prior.prior()

    def to_toml(self, folder: str | Path | None = None, inputs: Mapping[Path, str] | None = None) -> str:
        """Return the scenario as the text of a file, with every default written out.

        Parameters
        ----------
        folder : str or Path, optional
            Folder of the file, from which paths in it start; by default the current one. A file in the folder of its
            results names no folder for them, because a run of it would replace the file.
        inputs : mapping of Path to str, optional
            Names of copies in the folder, by the absolute paths of the input files.

        Returns
        -------
        str
            TOML that ``parse_scenario`` reads.
        """
        # None has no form in TOML, and a key that is left out has the same meaning.
        left_out = None if folder is None else {"output": {"folder"}}
        context = None if folder is None else {"folder": folder, "inputs": inputs}
        return toml_text(self.model_dump(exclude_none=True, exclude=left_out, context=context))


def schema_text() -> str:
    """Return the JSON schema of scenario files, which the package ships for editors.

    Returns
    -------
    str
        The schema as JSON text.

    See Also
    --------
    shipped_schema : The file, which is equal to it.

    Examples
    --------
    >>> import json
    >>> from peerpressure.scenario import schema_text
    >>> json.loads(schema_text())["title"]
    'Scenario'
    """
    # The dialect is named for editors, which otherwise guess an older one.
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema"} | Scenario.model_json_schema()
    return json.dumps(schema, indent=1, ensure_ascii=False) + "\n"


def shipped_schema() -> str:
    """Return the schema file of the package.

    Returns
    -------
    str
        The schema as JSON text.

    See Also
    --------
    schema_text : The schema from which the file was written.

    Examples
    --------
    >>> from peerpressure.scenario import schema_text, shipped_schema
    >>> shipped_schema() == schema_text()
    True
    """
    return (files("peerpressure.scenario") / FILE).read_text(encoding="utf-8")


def starter_text() -> str:
    """Return a commented scenario to start from, with the names of all members of each family.

    Returns
    -------
    str
        TOML with comments.

    See Also
    --------
    parse_scenario : Reads it.

    Examples
    --------
    >>> from peerpressure.scenario import parse_scenario, starter_text
    >>> parse_scenario(starter_text()).run.steps > 0
    True
    """
    text = (files("peerpressure.scenario") / "starter.toml").read_text(encoding="utf-8")
    tables: dict[str, Iterable[str]] = {
        "generators": GENERATORS,
        "dynamics": DYNAMICS,
        "temporal": TEMPORAL,
        "named": NAMED,
        "recorded": RECORDED,
        "schedules": SCHEDULES,
        "laws": LAWS,
        "methods": (AUTO, *METHODS),
        "formats": FORMATS,
    }
    for family, names in tables.items():
        text = text.replace(f"<{family}>", ", ".join(names))
    return text


# TOML text; the standard library only reads it, and inline tables and short lists keep the file readable.

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def toml_text(tables: Mapping[str, Any]) -> str:
    """Return tables of plain values as TOML, with nested tables inline and last.

    >>> print(toml_text({"run": {"steps": 10, "record": {"every": 2}}}))
    [run]
    steps = 10
    record = { every = 2 }
    <BLANKLINE>
    """
    return "\n".join(_table(name, values) for name, values in tables.items())


def _table(name: str, values: Mapping[str, Any]) -> str:
    # Nested tables last, so plain keys are not hidden behind them.
    ordered = sorted(values.items(), key=lambda item: isinstance(item[1], Mapping))
    lines = [f"{_key(key)} = {_value(value)}" for key, value in ordered]
    return "\n".join([f"[{_key(name)}]", *lines, ""])


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _text(name)


def _value(value: Any) -> str:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(key)} = {_value(inner)}" for key, inner in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    # repr of a float is its shortest exact text, and TOML reads inf and nan as Python writes them.
    return repr(value)


def _text(value: str) -> str:
    # JSON escapes what TOML requires, except for DEL.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
