"""The comparison of rival models: from data in any form and a network, or none, to fits of all rivals."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from peerpressure.errors import FileFormatError, InvalidInputError, message
from peerpressure.fitting._comparison import Comparison
from peerpressure.fitting._integrated import Criterion
from peerpressure.fitting._record import Errors, Panel, answers_on, panel
from peerpressure.fitting._rivals import Rival, fit_given, rivals_of
from peerpressure.model import Model
from peerpressure.model.step import Array
from peerpressure.networks import Network, TemporalNetwork, read_waves
from peerpressure.recovery import Observation, read_observations
from peerpressure.recovery.data import refuse_model
from peerpressure.simulation.trajectory import Trajectory
from peerpressure.support.progress import ShouldStop, announce, cancellable, check_cancelled
from peerpressure.support.resources import few_threads

Graph: TypeAlias = Network | TemporalNetwork
Start: TypeAlias = Literal["hidden", "public"]
Rivals: TypeAlias = Sequence[str | Model] | Mapping[str, Model]
# Rows up to which no default set of rivals is compared.
FEW_ROWS = 5
_STEP_ZERO = (
    "Step 0 was not used: under a hidden start it shows the hidden opinions themselves. If it is an answer like the "
    "others, declare a public start."
)


def compare(
    data: Any,
    network: Network | TemporalNetwork | str | Path | None = None,
    rivals: Rivals | None = None,
    *,
    start: Start = "hidden",
    stubbornness: float | ArrayLike = 1.0,
    observation: Observation | None = None,
    measurement_noise: bool = False,
    step: str | None = None,
    origin: object = None,
    should_stop: ShouldStop | None = None,
) -> Comparison:
    """Compare rival models of observed answers: whether people respond, which model fits, and what they think.

    Every rival is fitted to exactly the same answers: all but the first of each agent, given the first ones. Hidden
    opinions are integrated out, and so they do not count as parameters. Rivals are ranked by Schwarz's criterion (BIC).

    Parameters
    ----------
    data : Trajectory, pandas.DataFrame, xarray.Dataset, array or path
        Public opinions over time, in any form that `recovery.observations_of` takes: for instance the path of a table
        with columns ``time``, ``agent`` and ``public``, or with ``time`` and one column for each agent. Answers may be
        missing.
    network : Network, TemporalNetwork or path, optional
        Who listens to whom, or a file that `read_network` reads. Without one, only rivals that need none are compared.
    rivals : sequence of str and Model, or mapping of str to Model, optional
        Names among "none", "constant", "linear" and "power", each also with "+adaptation", "degroot", "walk",
        "own-return" and "common-return", and those of them without neighbours with "+trend" or "+period"; and models of
        your own. Their network, stubbornness, pressure and adaptation are used as they are; hidden opinions and the
        size of the noise are fitted. By default all names that the data can distinguish; models that are passed as a
        mapping are compared with these as well.
    start : {"hidden", "public"}, default "hidden"
        Whether the first row answers to a start that was not observed, or is itself the public start y₀ of the model.
        Under a hidden start step 0 is not used, since it would show the hidden opinions themselves.
    stubbornness : float or sequence of float, default 1.0
        Weight of an agent's own opinion, one for all or one for each agent. Only its ratio to the pressure counts.
    observation : Observation, optional
        ``Observation(rounding=0.1)`` for rounded answers, and ``Observation(scale=(1, 5))`` for points of a scale,
        which are taken as ordered categories. An observation of some agents or steps is refused.
    measurement_noise : bool, default False
        Whether answers have errors of unknown size, to which nobody responds. With few rows, these and the noise of
        opinions are hard to tell apart.
    step, origin : optional
        Length of a step and time of step 0, if the times of a table are dates, as for `Trajectory.from_dataframe`.
    should_stop : callable, optional
        Called often; the work is cancelled with `CancelledError` if it returns True.

    Returns
    -------
    Comparison
        The answer in sentences, the table of rivals, the best model, and averages over models.

    Raises
    ------
    InvalidInputError
        If there are fewer than three rows, or up to five and no rivals were named; several replicates or topics,
        agents that the network lacks, or answers that never change; or if a rival is unknown or cannot be scored.
    FileFormatError
        If a file cannot be read.

    See Also
    --------
    fitting.response : Whether people respond to what they see, from a few rows of answers, in one group or in many.
    recover : Estimate hidden opinions with a model that is known.
    infer_network : Estimate the network itself.

    References
    ----------
    .. [1] G. Schwarz (1978), Estimating the dimension of a model. Annals of Statistics 6.
    .. [2] J. M. Wooldridge (2005), Simple solutions to the initial conditions problem in dynamic, nonlinear panel data
       models with unobserved heterogeneity. Journal of Applied Econometrics 20.
    .. [3] T. Lancaster (2002), Orthogonal parameters and panel data. Review of Economic Studies 69.

    Examples
    --------
    >>> import numpy as np
    >>> import peerpressure as pp
    >>> graph = pp.networks.barabasi_albert(20, 2, seed=1)
    >>> people = pp.Model(graph, np.linspace(0, 1, 20), pressure=pp.Linear(0.2), noise=pp.Gaussian(0.3))
    >>> answer = pp.compare(pp.simulate(people, 40, seed=1), graph, ["none", "constant", "linear", "walk"])
    >>> answer.best
    'linear'
    >>> answer.sentences[0]
    'People respond to their neighbours.'
    """
    _check_start(start)
    refuse_model(data, "network")
    graph = _network_of(network)
    with cancellable(should_stop):
        panel, notes = _panel_of(
            data,
            graph,
            stubbornness,
            public_start=start == "public",
            errors=_errors_of(observation, measurement_noise),
            step=step,
            origin=origin,
            has_few_rivals=rivals is not None or graph is None,
        )
        if rivals is None and graph is not None:
            _check_rows(panel.length + 1)
        with few_threads(panel.n):
            fits, left_out = _fitted(panel, rivals)
    return Comparison(panel, fits, graph is not None, (*panel.remarks, *notes, *left_out))


def _check_start(start: object) -> None:
    if start not in ("hidden", "public"):
        remedy = "use 'public' where the first row is the start itself"
        raise InvalidInputError(message("start must be 'hidden' or 'public'", got=repr(start), remedy=remedy))


def _check_rows(rows: int) -> None:
    """Raise if there are too few waves to tell courses of pressure apart, and another question can be answered."""
    if rows <= FEW_ROWS:
        rule = f"{FEW_ROWS} waves of answers or fewer tell whether people respond, not how pressure changes"
        remedy = (
            "use peerpressure response ANSWERS --network NETWORK --first before if nobody had seen others' answers "
            "before the first wave, and --first after otherwise (fitting.response in Python); or name the rivals to "
            "compare"
        )
        raise InvalidInputError(message(rule, got=f"{rows}", remedy=remedy))


def _fitted(panel: Panel, rivals: Rivals | None) -> tuple[dict[str, Rival], tuple[str, ...]]:
    """Return the fitted rivals, and why some were left out."""
    known, fits, notes = rivals_of(Criterion(panel)), dict[str, Rival](), list[str]()
    names, given = _named(rivals, tuple(known))
    count = len(names) + len(given)
    for place, name in enumerate([*names, *given], 1):
        announce(f"fitting {name}, model {place} of {count}")
        check_cancelled()
        fits[name] = fit_given(panel, name, given[name]) if name in given else known[name](tuple(fits.values()))
    announce("")
    for name, fit in fits.items():
        if fit.unidentified:
            notes.append(f"{name} has no weight: its {fit.unidentified} is at the end of what a record can tell.")
    return fits, tuple(notes)


def _named(rivals: Rivals | None, known: Sequence[str]) -> tuple[list[str], dict[str, Model]]:
    """Return the names of built-in rivals, and models of the user by name."""
    if rivals is None:
        return list(known), {}
    if isinstance(rivals, Mapping):
        _refuse_taken(rivals, known)
        return list(known), dict(rivals)
    if isinstance(rivals, (str, Model)):
        rivals = [rivals]
    names = [each for each in rivals if isinstance(each, str)]
    models = [each for each in rivals if not isinstance(each, str)]
    wrong = [name for name in names if name not in known]
    if wrong or not rivals:
        rule = f"rivals of this record are {', '.join(known)}, and models"
        got = repr(wrong[0]) if wrong else "none"
        raise InvalidInputError(message(rule, got=got, remedy="leave rivals out to compare all of them"))
    return list(dict.fromkeys(names)), {f"model {place}": model for place, model in enumerate(models, 1)}


def _refuse_taken(rivals: Mapping[str, Model], known: Sequence[str]) -> None:
    taken = [name for name in rivals if name in known]
    if taken:
        remedy = "give your model another name"
        raise InvalidInputError(
            message("names of models must differ from those of rivals", got=taken[0], remedy=remedy)
        )


def _network_of(network: object) -> Graph | None:
    """Return the network itself, or the one in a file."""
    if network is None or isinstance(network, Graph):
        return network
    if isinstance(network, (str, os.PathLike)):
        return read_waves(network)
    remedy = "wrap it: Network.from_networkx(graph), Network.from_edges(edges) or Network(matrix)"
    rule = "the network must be a Network, a TemporalNetwork or the path of a file"
    raise InvalidInputError(message(rule, got=type(network).__name__, remedy=remedy))


def _panel_of(
    data: Any,
    network: Graph | None,
    stubbornness: float | ArrayLike = 1.0,
    *,
    public_start: bool = False,
    errors: Errors | None = None,
    step: str | None = None,
    origin: object = None,
    has_few_rivals: bool = False,
) -> tuple[Panel, tuple[str, ...]]:
    """Return data on a network as a panel, and remarks on how they were read."""
    graph, read = network, None
    if graph is None:
        # Data that name their agents are read once.
        read = read_observations(data, None, step, origin)
        labels = read[0].model.network.labels
        graph = Network(np.zeros((len(labels), len(labels))), labels)
    model = Model(graph, np.zeros(graph.n), _per_agent(stubbornness))
    try:
        run, _ = read or read_observations(data, model, step, origin)
    except (FileFormatError, InvalidInputError):
        # Few rows are a question of another function, whoever has answered.
        if not has_few_rivals:
            _check_rows(read_observations(data, None, step, origin)[0].times.size)
        raise
    times, states = _rows(run, model)
    notes: tuple[str, ...] = ()
    if not public_start and times[0] == 0:
        times, states, notes = times[1:], states[1:], (_STEP_ZERO,)
    if model.keeps:
        if not has_few_rivals:
            _check_rows(len(states))
        rule = "isolated agents of a temporal network must show their own opinions in a comparison"
        remedy = "take the aggregate of the network, or let isolated agents show their own opinions"
        raise InvalidInputError(
            message(rule, got="agents who keep their public ones", remedy=remedy), argument="isolated"
        )
    unsplit = model.network.topics
    if unsplit:
        rule, remedy = "a comparison is about one topic", "compare each topic on its own, with a network without topics"
        raise InvalidInputError(message(rule, got=f"{len(unsplit)} topics", remedy=remedy))
    if errors is not None:
        states = answers_on(states, errors, times)
    return panel(model, times, states, public_start=public_start, errors=errors), notes


def _errors_of(observation: object, measurement_noise: object) -> Errors | None:
    """Return how answers are seen, None for exact ones."""
    if not isinstance(measurement_noise, bool):
        rule, remedy = "measurement_noise must be True or False", "its size is estimated"
        raise InvalidInputError(message(rule, got=repr(measurement_noise), remedy=remedy))
    if observation is None:
        return Errors(is_measured=True) if measurement_noise else None
    if not isinstance(observation, Observation):
        rule, remedy = "an observation must be an Observation", "use Observation(scale=(1, 5))"
        raise InvalidInputError(message(rule, got=type(observation).__name__, remedy=remedy))
    plain = Observation(rounding=observation.rounding, scale=observation.scale)
    if observation != plain:
        rule = "a comparison takes the rounding and the scale of an observation, and all agents at all steps"
        remedy = "leave answers that are not to be used empty in the data"
        raise InvalidInputError(message(rule, got=repr(observation), remedy=remedy))
    if not (observation.rounding or measurement_noise):
        return None
    return Errors(float(observation.rounding), observation.scale, measurement_noise)


def _per_agent(stubbornness: float | ArrayLike) -> Any:
    return stubbornness if isinstance(stubbornness, Mapping) or np.ndim(stubbornness) == 0 else np.asarray(stubbornness)


def _rows(run: Trajectory, model: Model) -> tuple[NDArray[np.int64], Array]:
    """Return the steps and the answers of all agents, (T, n), of the only replicate."""
    if run.states is None:
        remedy = "simulate with all states recorded"
        raise InvalidInputError(
            message("a comparison needs recorded states", got="a run without them", remedy=remedy), argument="record"
        )
    if run.model.network.labels != model.network.labels:
        rule, remedy = "the run must be of the agents of the network", "pass the network of the run"
        raise InvalidInputError(message(rule, got=f"{run.model.n} others", remedy=remedy))
    if run.states.shape[0] != 1:
        rule, remedy = "a comparison explains one record", "simulate one replicate alone"
        raise InvalidInputError(
            message(rule, got=f"{run.states.shape[0]} replicates", remedy=remedy), argument="replicates"
        )
    times = np.asarray(run.times)
    if np.any(times != np.rint(times)):
        rule, remedy = "times must count steps", "number the rows 1, 2, 3 and so on"
        raise InvalidInputError(message(rule, got=f"t = {times[times != np.rint(times)][0]:g}", remedy=remedy))
    states = np.full((times.size, model.n), np.nan)
    states[:, run.agents] = run.states[0]
    return times.astype(np.int64), states
