"""Temporal networks: undirected weighted graphs whose edges change from step to step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, TypeVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from peerpressure.networks._events import (
    COLUMNS,
    Binning,
    Cursor,
    EdgeIntervals,
    Events,
    StepNetwork,
    Times,
    are_mirrored,
    arrays_from_events,
    canonical_events,
    event_table,
    events_from_arrays,
    events_from_contacts,
    events_from_snapshots,
    validate_names,
    validate_period,
)
from peerpressure.networks._network import Network, check_unsigned
from peerpressure.networks._network_process import NetworkProcess
from peerpressure.networks.classes import components
from peerpressure.networks.validation import Isolated, Label, check_integer, checked_isolated, chosen_labels
from peerpressure.support.text import curve, html_sketch, html_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Scalar = TypeVar("Scalar", bound=np.generic)

_ALONE: Mapping[Isolated, str] = {"own": "show their own opinions", "keep": "keep their last public opinions"}
_SKETCHED = 160  # steps in the sketch of a notebook


@final
@dataclass(frozen=True, eq=False, init=False, repr=False)
class TemporalNetwork:
    """Graph of agents whose edge weights change at integer steps t = 1, 2, ….

    The network is stored as its changes (events) and is immutable.  An event at step t applies when y_t is computed;
    the events at step 1 are the initial network.  Without a period, the network stays as its last event left it.
    Temporal networks are reviewed in [1]_; control theory calls them switching topologies.

    Parameters
    ----------
    event_times : array_like of int, shape (events,)
        Steps at which weights change, in increasing order.
    sources, targets : array_like of int, shape (events,)
        Positions of the two agents.
    weights : array_like, shape (events,), optional
        Weight from that step on, by default 1; 0 removes the edge.
    n : int, optional
        Number of agents; by default the number of labels, or the largest position plus 1.
    labels : iterable of hashable, optional
        One distinct label per agent; by default 0..n-1.
    period : int, optional
        Length P of a sequence that repeats, A_{t+P} = A_t.
    law : NetworkProcess, optional
        Law of the random process that the network is a record of; generators set it.
    isolated : {"own", "keep"}, default "own"
        What agents without neighbours show at a step, unless a model says otherwise: their own preferred opinions, or
        their last public ones. It is "keep" for recorded contacts, and for gossip.
    directed : bool, default False
        Whether an edge goes from its source to its target only: the source listens to the target. The attribute is a
        fact, as that of a `Network`: False if every edge has its reverse.

    Raises
    ------
    NetworkError
        If events are not in order, an agent is unknown or linked with itself, a weight is negative or not finite, or an
        event comes after the period.

    See Also
    --------
    Network : A network that does not change.
    read_events, read_contacts : Read a temporal network from a file.
    joint_connectivity : Connectivity over windows of steps.

    References
    ----------
    .. [1] Holme & Saramäki (2012), Temporal networks, Phys. Rep. 519, 97.

    Examples
    --------
    >>> from peerpressure import TemporalNetwork
    >>> TemporalNetwork([1, 1, 4], [0, 1, 0], [1, 2, 1], [1, 1, 0])
    TemporalNetwork(3 agents, 2 pairs, 1 change over 1…4, on average 1.75 edges)
    """

    labels: Sequence[Label]
    event_times: Times
    sources: NDArray[np.int32]
    targets: NDArray[np.int32]
    weights: NDArray[np.float64]
    period: int | None
    law: NetworkProcess | None
    isolated: Isolated
    directed: bool = False

    def __init__(
        self,
        event_times: ArrayLike,
        sources: ArrayLike,
        targets: ArrayLike,
        weights: ArrayLike | None = None,
        *,
        n: int | None = None,
        labels: Iterable[Label] | None = None,
        period: int | None = None,
        law: NetworkProcess | None = None,
        isolated: Isolated = "own",
        directed: bool = False,
    ) -> None:
        # Labels come first, because messages about events name agents by them.
        names = validate_names(n, labels, sources, targets)
        events = canonical_events(event_times, sources, targets, weights, names, directed=directed)
        if directed and are_mirrored(events):
            directed, events = False, events.taken(np.flatnonzero(events.sources < events.targets))
        # The dataclass is frozen, so fields are set past its own __setattr__.
        set_field = object.__setattr__
        set_field(self, "labels", names)
        for name, column in zip(COLUMNS, events.columns, strict=True):
            set_field(self, name, _frozen(column))
        set_field(self, "period", validate_period(period, self.last_change))
        # A sequence that repeats is no random process any more.
        set_field(self, "law", law if period is None else None)
        set_field(self, "isolated", checked_isolated(isolated))
        set_field(self, "directed", directed)

    @classmethod
    def from_events(
        cls,
        events: Any,
        labels: Iterable[Label] | None = None,
        n: int | None = None,
        period: int | None = None,
        *,
        directed: bool = False,
    ) -> Self:
        """Return the network of events (time, source, target) or (time, source, target, weight).

        Parameters
        ----------
        events : iterable of tuples, data frame, array, or tuple of columns
            In order of time.  From its time on, a pair has the given weight, by default 1; the weight 0 removes the
            edge.  Agents in integer arrays are positions; all others are labels.
        labels : iterable of hashable, optional
            Labels in the order of the agents, also of those who never have an edge.
        n : int, optional
            Number of agents, for agents by position.
        period : int, optional
            Number of steps after which the sequence repeats.
        directed : bool, default False
            Whether an edge goes from its source, who listens, to its target only.

        Returns
        -------
        TemporalNetwork
            The network of these events.

        Raises
        ------
        NetworkError
            If times are not in order, or an agent, a weight or the period is not valid.

        Examples
        --------
        >>> from peerpressure import TemporalNetwork
        >>> friends = TemporalNetwork.from_events([(1, "ann", "bob"), (3, "bob", "cat"), (5, "ann", "bob", 0)])
        >>> friends.at(2).toarray()
        array([[0., 1., 0.],
               [1., 0., 0.],
               [0., 0., 0.]])
        """
        table = event_table(events, labels, n)
        rows = (table.times, table.sources, table.targets, table.weights)
        return cls(*rows, labels=table.labels, period=period, directed=directed)

    @classmethod
    def from_contacts(
        cls,
        contacts: Any,
        resolution: float = 1.0,
        *,
        origin: float | None = None,
        duration: float | None = None,
        weighted: bool = True,
        skip_quiet: int | None = None,
        labels: Iterable[Label] | None = None,
        n: int | None = None,
        period: int | None = None,
        repeat: bool = False,
        directed: bool = False,
    ) -> Self:
        """Return the network of time-stamped contacts (time, source, target) or (time, source, target, weight).

        Time is divided into steps of length ``resolution``.  An edge exists in the step of its time stamp, or in all
        steps that the contact overlaps if contacts have a ``duration``.  An agent without a contact in a step keeps its
        public opinion, unless a model says otherwise: ``isolated`` is "keep".

        Parameters
        ----------
        contacts : iterable of tuples, data frame, array, or tuple of columns
            In any order; dates are converted to seconds.
        resolution : float, default 1.0
            Length of a step in the units of the time stamps, above 0.
        origin : float, optional
            Time at which step 1 begins; by default the first time stamp.
        duration : float, optional
            Duration of every contact; by default contacts are instantaneous.
        weighted : bool, default True
            Whether contacts of a pair within one step add up to its weight; otherwise the weight is 1.
        skip_quiet : int, optional
            Remove gaps of more than this many steps without contacts, such as nights.
        labels : iterable of hashable, optional
            Labels in the order of the agents.
        n : int, optional
            Number of agents, for agents by position.
        period : int, optional
            Number of steps after which the sequence repeats.
        repeat : bool, default False
            Whether to repeat after the last contact if no period is given; otherwise all agents are isolated then.
        directed : bool, default False
            Whether an edge goes from its source, who listens, to its target only.

        Returns
        -------
        TemporalNetwork
            The network of these contacts.

        Raises
        ------
        NetworkError
            If an agent, a time, a weight or a setting is not valid.

        Examples
        --------
        >>> from peerpressure import TemporalNetwork
        >>> TemporalNetwork.from_contacts([(0, "ann", "bob"), (20, "ann", "bob"), (70, "bob", "cat")], 60)
        TemporalNetwork(3 agents, 2 pairs, 3 changes over 1…3, on average 0.6667 edges)
        """
        binning = Binning(resolution, origin, duration, skip_quiet)
        table = event_table(contacts, labels, n)
        events = events_from_contacts(table, binning, weighted, directed=directed)
        # A repeated sequence ends with its last contact, not with the step after it, in which the edge ends.
        length = validate_period(events.last_start if repeat and period is None else period, events.last_start)
        # A record of contacts is silent about people without a contact, and says nothing of their own opinions.
        return cls(*events.within(length), labels=table.labels, period=length, isolated="keep", directed=directed)

    @classmethod
    def from_snapshots(
        cls,
        graphs: Iterable[Any],
        times: ArrayLike | None = None,
        period: int | None = None,
        *,
        directed: bool = False,
    ) -> Self:
        """Return the network of a sequence of graphs.

        Parameters
        ----------
        graphs : iterable of Network, networkx.Graph, or matrix
            Agents are identified by their labels; an agent that a graph lacks is isolated there.
        times : array_like of int, optional
            First step of each graph; by default 1, 2, ….
        period : int, optional
            Number of steps after which the sequence repeats.
        directed : bool, default False
            Whether matrices may be asymmetric, row i being whom agent i listens to. A `Network` or a graph of NetworkX
            that is directed says so itself.

        Returns
        -------
        TemporalNetwork
            The network that is each of these graphs in turn.

        Raises
        ------
        NetworkError
            If a graph is not valid, or times are not in order.

        Examples
        --------
        >>> from peerpressure import TemporalNetwork
        >>> from peerpressure.networks import path, star
        >>> TemporalNetwork.from_snapshots([path(4), star(4)], period=2)
        TemporalNetwork(4 agents, 5 pairs, 4 changes over 1…2, repeated, on average 3 edges)
        """
        events, labels, one_way = events_from_snapshots(graphs, times, directed=directed)
        return cls(*events, labels=labels, period=period, directed=one_way)

    @classmethod
    def constant(cls, network: Network) -> Self:
        """Return a static network as a temporal network without changes.

        Parameters
        ----------
        network : Network
            The static network.

        Returns
        -------
        TemporalNetwork
            The same edges at all steps.
        """
        i, j, weights = check_unsigned(network).edges()
        # The initial network is its edges as events at step 1.
        return cls(np.ones(i.size, np.int64), i, j, weights, labels=network.labels, directed=network.directed)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> Self:
        """Return the network stored in the arrays that `arrays` returns.

        Parameters
        ----------
        arrays : mapping of str to array
            What `arrays` returned.

        Returns
        -------
        TemporalNetwork
            An equal network.

        Raises
        ------
        NetworkError
            If an array is missing or not valid.
        """
        events, n, labels, period = events_from_arrays(arrays)
        rule = checked_isolated(str(np.asarray(arrays.get("isolated", "own"))))
        law, directed = NetworkProcess.from_arrays(arrays, n), bool(np.asarray(arrays.get("directed", False)))
        return cls(*events, n=n, labels=labels, period=period, law=law, isolated=rule, directed=directed)

    @property
    def edge_rows(self) -> int:
        """The number of rows of ``edge_columns``."""
        return int(self.event_times.size)

    def edge_columns(self) -> dict[str, Any]:
        """Return the edge events as the columns of a table.

        Returns
        -------
        dict of str to list or array
            ``time``, ``source``, ``target`` and ``weight``: from this step on the edge has this weight, and 0 ends it.

        Examples
        --------
        >>> from peerpressure import TemporalNetwork
        >>> TemporalNetwork([1, 4], [0, 0], [1, 1], [1, 0]).edge_columns()["time"].tolist()
        [1, 4]
        """
        ends = {"source": self.sources, "target": self.targets}
        names = {end: chosen_labels(self.labels, places) for end, places in ends.items()}
        return {"time": self.event_times, **names, "weight": self.weights}

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the network as plain arrays that ``np.savez`` stores without pickle.

        Returns
        -------
        dict of str to array
            The events in columns, the number of agents, their labels as JSON text, the period, the rule for isolated
            agents, whether edges are directed if they are, and the law if there is one.
        """
        law = {} if self.law is None else self.law.arrays()
        rule = {"isolated": np.array(self.isolated)} | ({"directed": np.array(True)} if self.directed else {})
        return arrays_from_events(self.events, self.labels, self.period) | rule | law

    @property
    def n(self) -> int:
        """Number of agents."""
        return len(self.labels)

    @property
    def last_change(self) -> int:
        """Step of the last event, or 1 if there is none."""
        return int(self.event_times[-1]) if self.event_times.size else 1

    @property
    def span(self) -> int:
        """Number of steps after which nothing new happens: the period, or the last change."""
        return self.last_change if self.period is None else self.period

    @property
    def is_constant(self) -> bool:
        """Whether the network never changes, also not beyond its record."""
        return self.last_change == 1 and self.law is None

    @property
    def pair_count(self) -> int:
        """Number of pairs of agents that are ever linked."""
        return int(self.intervals.i.size)

    @property
    def mean_edges(self) -> float:
        """Mean number of edges over the steps 1…span."""
        # The last interval of a pair never ends, so it is cut at the span.
        steps = np.minimum(self.intervals.last, self.span) - self.event_times + 1
        return float(steps[self.weights > 0].sum() / self.span)

    @cached_property
    def change_times(self) -> Times:
        """Steps with at least one event, in increasing order."""
        return _frozen(np.unique(self.event_times))

    def at(self, t: int) -> csr_array:
        """Return the adjacency A_t at step t ≥ 1, shape (n, n); fast for consecutive steps in either direction.

        Parameters
        ----------
        t : int
            Step, t ≥ 1.

        Returns
        -------
        scipy.sparse.csr_array of shape (n, n)
            Weights of the edges of this step, symmetric unless the network is directed.

        Raises
        ------
        NetworkError
            If t is not a whole number of at least 1.
        """
        return self._step(t).adjacency

    def transposed_at(self, t: int) -> csr_array:
        """Return the transposed adjacency A_tᵀ at step t ≥ 1, shape (n, n).

        Parameters
        ----------
        t : int
            Step, t ≥ 1.

        Returns
        -------
        scipy.sparse.csr_array of shape (n, n)
            Row j has the weights of those who listen to agent j; the adjacency itself unless the network is directed.
        """
        A = self.at(t)
        return csr_array(A.T) if self.directed else A

    def degrees_at(self, t: int) -> NDArray[np.float64]:
        """Return the weighted degrees at step t, shape (n,).

        Parameters
        ----------
        t : int
            Step, t ≥ 1.

        Returns
        -------
        array of float, shape (n,)
            Sum of the weights of each agent's edges; 0 for an agent that is isolated at this step.
        """
        return self._step(t).degrees

    def snapshot(self, t: int) -> Network:
        """Return the network at step t, which may have several connected components.

        Parameters
        ----------
        t : int
            Step, t ≥ 1.

        Returns
        -------
        Network
            All agents, with the edges of this step.
        """
        return Network(self.at(t), self.labels, directed=self.directed)

    def _step(self, t: int) -> StepNetwork:
        # Steps count from 1, so step P + 1 of a periodic network is step 1 again.
        step = check_integer("t", t, least=1, remedy="steps count from 1")
        return self._cursor.at(step if self.period is None else (step - 1) % self.period + 1)

    @cached_property
    def intervals(self) -> EdgeIntervals:
        """How long the weight of each event applies."""
        return EdgeIntervals.of(self.events, self.n)

    @cached_property
    def _cursor(self) -> Cursor:
        return Cursor(self.events, self.intervals, self.n, directed=self.directed)

    @property
    def events(self) -> Events:
        """All events as four columns."""
        return Events(self.event_times, self.sources, self.targets, self.weights)

    @cached_property
    def aggregate(self) -> Network:
        """Static network of all pairs that are ever linked, weighted by their mean weights over the steps 1…span."""
        intervals = self.intervals
        # The share of the steps 1…span in which the weight of each event applies.
        share = (np.minimum(intervals.last, self.span) - self.event_times + 1) / self.span
        means = np.bincount(intervals.pair, self.weights * share, minlength=intervals.i.size)
        # A mean that underflows to 0 would remove the edge.
        means = np.maximum(means, np.nextafter(0, 1))
        ends = (intervals.i, intervals.j)
        return Network.from_edges(ends, means, labels=self.labels, n=self.n, directed=self.directed)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the number of edges over time; ``aggregate.plot`` draws who is ever linked.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; new axes of pyplot by default.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.
        """
        from peerpressure.plotting.results import counts

        steps = np.arange(1, self.span + 1)
        present = self.weights != 0
        begun = np.bincount(self.event_times[present], minlength=self.span + 2)
        ended = np.minimum(self.intervals.last[present], self.span) + 1
        edges = np.cumsum(begun[: self.span + 2] - np.bincount(ended, minlength=self.span + 2)[: self.span + 2])
        return counts(ax, steps, edges[1 : self.span + 1], "edges")

    def index(self, label: Label) -> int:
        """Return the position of the agent with this label.

        Parameters
        ----------
        label : hashable
            One of ``labels``.

        Returns
        -------
        int
            Position, from 0 to n − 1.

        Raises
        ------
        NetworkError
            If no agent has the label.
        """
        return self.aggregate.index(label)

    def indices(self, labels: Iterable[Label]) -> NDArray[np.int64]:
        """Return the positions of the agents with these labels, in the order of the labels.

        Parameters
        ----------
        labels : iterable of hashable
            Any of ``labels``, in any order.

        Returns
        -------
        array of int
            Positions, from 0 to n − 1.

        Raises
        ------
        NetworkError
            If no agent has one of the labels.
        """
        return self.aggregate.indices(labels)

    def largest_component(self) -> TemporalNetwork:
        """Return the network on the largest connected component of the aggregate, with its labels.

        Returns
        -------
        TemporalNetwork
            The agents of the component and their events; the network itself if its aggregate is connected.
        """
        if self.aggregate.is_connected:
            return self
        # Agents of one component never have edges to another, so events can be split by either end.
        _, member = components(self.aggregate.adjacency)
        inside = member == np.argmax(np.bincount(member))
        agents = np.flatnonzero(inside)
        # New positions of the agents that stay.
        place = np.cumsum(inside) - 1
        times, i, j, weights = self.events.taken(np.flatnonzero(inside[self.sources]))
        names = [self.labels[k] for k in agents.tolist()]
        law = None if self.law is None else self.law.within(agents)
        return TemporalNetwork(
            times,
            place[i],
            place[j],
            weights,
            labels=names,
            period=self.period,
            law=law,
            isolated=self.isolated,
            directed=self.directed,
        )

    def __getstate__(self) -> dict[str, Any]:
        # Cached values, the cursor among them, are cheaper to recompute than to send to another process.
        return {name: self.__dict__[name] for name in self.__dataclass_fields__}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        # Pickle does not keep the read-only flag of arrays.
        self.__dict__.update(state)
        for column in self.events.columns:
            _frozen(column)

    def __repr__(self) -> str:
        kind = "directed pair" if self.directed else "pair"
        pairs = f"{self.pair_count:,} {kind}{'s' * (self.pair_count != 1)}"
        if self.is_constant:
            return f"TemporalNetwork({self.n:,} agents, {pairs}, constant)"
        count = int(np.count_nonzero(self.event_times > 1))
        changes = f"{count:,} change{'s' * (count != 1)} over 1…{self.span:,}"
        again = "" if self.period is None else ", repeated"
        return f"TemporalNetwork({self.n:,} agents, {pairs}, {changes}{again}, on average {self.mean_edges:.4g} edges)"

    def _repr_html_(self) -> str:
        kind = "directed pairs" if self.directed else "pairs"
        rows = [
            ("agents", f"{self.n:,}"),
            (f"{kind} ever linked", f"{self.pair_count:,}"),
            ("steps", f"1 to {self.span:,}{'' if self.period is None else ', repeated'}"),
            ("changes", f"{np.count_nonzero(self.event_times > 1):,}"),
            ("edges at a step", f"{self.mean_edges:.4g} on average"),
            ("agents without neighbours", _ALONE[self.isolated]),
        ]
        change = (self.weights > 0).astype(np.int64) - (self.intervals.before > 0)
        steps = np.linspace(1, self.span, min(self.span, _SKETCHED)).astype(np.int64)
        counts = np.append(0, np.cumsum(change))[np.searchsorted(self.event_times, steps, side="right")]
        sketch = html_sketch([curve(steps, counts)], "number of edges over time")
        return f"<div>{html_table(rows, 'Temporal network')}{sketch}</div>"


def _frozen(column: NDArray[Scalar]) -> NDArray[Scalar]:
    column.flags.writeable = False
    return column
