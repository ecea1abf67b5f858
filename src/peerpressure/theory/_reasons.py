"""Reasons for an outcome as codes with numbers, and the one table of their sentences."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from string import Formatter
from typing import Any, TypeAlias, final

from peerpressure.support.immutable import one_line
from peerpressure.support.text import rounded


class ReasonCode(StrEnum):
    """Facts that an outcome rests on; each has one sentence, into which its numbers go.

    See Also
    --------
    Reason : A code with its numbers.

    Examples
    --------
    >>> from peerpressure.theory import ReasonCode
    >>> ReasonCode.NOISE_AVERAGES
    <ReasonCode.NOISE_AVERAGES: 'noise_averages'>
    """

    # What is given.
    PRESSURE_GROWTH = "pressure_growth"
    PERIOD_TOO_LONG = "period_too_long"
    NETWORK_RECORDED = "network_recorded"
    RANDOM_NETWORK = "random_network"
    BEYOND_RECORD = "beyond_record"
    NETWORK_REPEATS = "network_repeats"
    COMPONENTS = "components"
    ALL_ISOLATED = "all_isolated"
    INTERMITTENTLY_ISOLATED = "intermittently_isolated"
    INTERMITTENTLY_SILENT = "intermittently_silent"
    ACTIVATION = "activation"
    ACTIVATION_RATE = "activation_rate"
    ACTIVATION_TABLE = "activation_table"
    ADAPTATION_FADES = "adaptation_fades"
    DETACHED = "detached"
    ADAPTATION_LASTS = "adaptation_lasts"
    ADAPTATION_ANCHORED = "adaptation_anchored"
    # Consensus.
    SETTLED = "settled"
    BALANCED = "balanced"
    START_FORGOTTEN = "start_forgotten"
    MARGINAL_RATE = "marginal_rate"
    FOLLOWS_FIXED_POINT = "follows_fixed_point"
    NOISE_AVERAGES = "noise_averages"
    NOISE_AVERAGES_SLOWLY = "noise_averages_slowly"
    NOISE_FADES = "noise_fades"
    NOISE_MEMORY = "noise_memory"
    ACTIVATION_AVERAGES = "activation_averages"
    ALMOST_SURELY = "almost_surely"
    MEAN_SQUARE_ONLY = "mean_square_only"
    MEAN_SQUARE = "mean_square"
    # Biased consensus and oscillation.
    START_REMEMBERED = "start_remembered"
    APERIODIC = "aperiodic"
    APERIODIC_DIRECTED = "aperiodic_directed"
    ROTATING_PHASES = "rotating_phases"
    CAMPS = "camps"
    CLOSED_CLASSES = "closed_classes"
    SINGLE_CLASSES = "single_classes"
    CLASS_LIMIT = "class_limit"
    CLASS_CAMPS = "class_camps"
    CLASS_NEUTRAL = "class_neutral"
    CLASS_ROTATES = "class_rotates"
    CLASS_UNBOUNDED = "class_unbounded"
    TRANSIENT_AGENTS = "transient_agents"
    TRANSIENT_FOLLOW = "transient_follow"
    SILENT_NOISE = "silent_noise"
    CONTINUOUS_DAMPING = "continuous_damping"
    LIMIT = "limit"
    RANDOM_LIMIT = "random_limit"
    LIMIT_IS_V = "limit_is_v"
    LIMIT_UNRESOLVED = "limit_unresolved"
    SIDES_AGREE = "sides_agree"
    LIMIT_DEPENDS_ON_NOISE = "limit_depends_on_noise"
    LIMIT_DEPENDS_ON_NETWORK = "limit_depends_on_network"
    LIMIT_DEPENDS_ON_UPDATES = "limit_depends_on_updates"
    LIMIT_UNBOUNDED = "limit_unbounded"
    NOISE_WANDERS = "noise_wanders"
    FROZEN_NOISE = "frozen_noise"
    FROZEN_NOISE_GROWS = "frozen_noise_grows"
    ISOLATED_SOURCE = "isolated_source"
    DEGREES_CHANGE = "degrees_change"
    EARLY_NOISE_KEPT = "early_noise_kept"
    ANCHORS_ATTRACT = "anchors_attract"
    OPINIONS_MOVED = "opinions_moved"
    TWO_PHASES = "two_phases"
    TWO_PHASES_OF_CAMPS = "two_phases_of_camps"
    BIPARTITE_COMPONENTS = "bipartite_components"
    PARITY_OF_PRESSURE = "parity_of_pressure"
    PHASES_DRIVEN_BY_NOISE = "phases_driven_by_noise"
    CLASSES_DRIVEN_BY_NOISE = "classes_driven_by_noise"
    # Disagreement.
    NOISE_OUTGROWS_PRESSURE = "noise_outgrows_pressure"
    OWN_OPINIONS = "own_opinions"
    KEPT_OPINIONS = "kept_opinions"
    OWN_NOISE = "own_noise"
    OWN_NOISE_KEPT = "own_noise_kept"
    BOUNDED_PRESSURE = "bounded_pressure"
    STATIONARY_MEAN = "stationary_mean"
    RANDOM_MEAN = "random_mean"
    RETURN_TO_OPINIONS = "return_to_opinions"
    NO_FLUCTUATION = "no_fluctuation"
    FOLLOWS_PRESSURE = "follows_pressure"
    FLUCTUATION = "fluctuation"
    FLUCTUATION_FADES = "fluctuation_fades"
    FLUCTUATION_UNKNOWN = "fluctuation_unknown"
    MODE_FLUCTUATION = "mode_fluctuation"
    FLUCTUATION_GROWS = "fluctuation_grows"
    FROZEN_SHIFT = "frozen_shift"
    FROZEN_DEVIATION = "frozen_deviation"
    FROZEN_MODE_DEVIATION = "frozen_mode_deviation"
    # Clusters, periodic limits and random walks.
    COMPONENT_LIMIT = "component_limit"
    COMPONENT_MEAN = "component_mean"
    COMPONENT_LIMITS_DIFFER = "component_limits_differ"
    COMPONENTS_NOT_NAMED = "components_not_named"
    ISOLATED_RANDOM_WALKS = "isolated_random_walks"
    COMPONENTS_WANDER = "components_wander"
    ISOLATED_SOURCES = "isolated_sources"
    SEVERAL_CLOSED_CLASSES = "several_closed_classes"
    CYCLE_RANGE = "cycle_range"
    PERIODIC_LAW = "periodic_law"
    LIMITS_SPAN = "limits_span"
    RANDOM_LIMITS = "random_limits"
    MOVING_LIMITS = "moving_limits"
    SOME_WALK = "some_walk"
    SOME_DRIFT = "some_drift"
    RANDOM_WALK = "random_walk"
    RANDOM_WALK_UNBOUNDED = "random_walk_unbounded"
    FROZEN_DRIFT = "frozen_drift"
    # Unknown.
    UNKNOWN_GROWTH = "unknown_growth"
    UNKNOWN_PHASES = "unknown_phases"
    UNKNOWN_REPETITION = "unknown_repetition"
    UNKNOWN_ANCHORS = "unknown_anchors"
    UNKNOWN_NOISE = "unknown_noise"
    UNKNOWN_ADAPTATION = "unknown_adaptation"
    UNKNOWN_LAW = "unknown_law"
    NETWORK_NOT_COVERED = "network_not_covered"
    ACTIVATION_NOT_COVERED = "activation_not_covered"
    TOO_MANY_CLASSES = "too_many_classes"
    NOISE_WITHOUT_LIMIT = "noise_without_limit"
    PRESSURE_WITHOUT_LIMIT = "pressure_without_limit"
    TWO_CLOCKS = "two_clocks"
    TOO_LARGE = "too_large"
    UNRESOLVED_MODES = "unresolved_modes"
    FINITE_HORIZON = "finite_horizon"
    NO_HORIZON = "no_horizon"
    NOT_COMPUTED = "not_computed"
    # Advice.
    OPTIMUM_CONTINUOUS = "optimum_continuous"
    OPTIMUM_TOO_LARGE = "optimum_too_large"
    SCHEDULES_TOO_LARGE = "schedules_too_large"
    # Settling times.
    SETTLING_TOO_LARGE = "settling_too_large"
    SETTLING_NO_RANGE = "settling_no_range"


Value: TypeAlias = float | int | str


@final
@one_line
@dataclass(frozen=True)
class Reason:
    """One fact that an outcome rests on: a code, and the numbers behind it by name.

    ``str`` gives its sentence.

    Parameters
    ----------
    code : ReasonCode
        Which fact.
    values : mapping of str to float, int, str or None, optional
        The numbers that its sentence names.

    See Also
    --------
    Verdict : Has the facts behind an outcome.

    Examples
    --------
    >>> from peerpressure.theory import Reason, ReasonCode
    >>> print(Reason(ReasonCode.STATIONARY_MEAN, {"low": 0.25, "high": 0.75}))
    Bounded pressure leaves agents apart: their mean public opinions span 0.25 to 0.75.
    """

    code: ReasonCode
    values: Mapping[str, Value] = field(default_factory=dict)

    def __str__(self) -> str:
        return _FORMATTER.vformat(SENTENCES[self.code], (), self.values)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, fit for JSON: code, numbers (None where not finite) and sentence.

        Returns
        -------
        dict
            Keys ``code``, ``values`` and ``text``.
        """
        # JSON has no infinities; numbers are given besides the sentence, so clients need not parse text.
        values = {name: json_number(value) for name, value in self.values.items()}
        return {"code": self.code.value, "values": values, "text": str(self)}


def json_number(value: Value) -> Value | None:
    """Return a value as JSON can represent it: None for an infinite or undefined number."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def paragraph(reasons: Sequence[Reason]) -> str:
    """Return the sentences of several reasons in a row."""
    return " ".join(map(str, reasons))


SENTENCES: Mapping[ReasonCode, str] = {
    ReasonCode.PRESSURE_GROWTH: "{basis}.",
    ReasonCode.PERIOD_TOO_LONG: "The network repeats only after {period:,} steps, too many to analyse as a whole.",
    ReasonCode.NETWORK_RECORDED: (
        "The network is a record up to t = {t:,}; what follows supposes that it stays as it is from then on."
    ),
    ReasonCode.RANDOM_NETWORK: (
        "The network is a record of a random process ({process}); what follows describes the process as it goes on."
    ),
    ReasonCode.NETWORK_REPEATS: "The network repeats every {period:,} steps.",
    ReasonCode.BEYOND_RECORD: (
        "Of {steps:,} steps asked for, those after t = {t:,} are not recorded: the last network stays."
    ),
    ReasonCode.COMPONENTS: "It falls into {components:,} components; isolated agents among them: {single:,}.",
    ReasonCode.ALL_ISOLATED: "No agent has a neighbour.",
    ReasonCode.INTERMITTENTLY_ISOLATED: (
        "Isolated at times: {agents:agents}, without a neighbour in {share:.0%} of the steps. "
        "An isolated agent shows its own opinion."
    ),
    ReasonCode.INTERMITTENTLY_SILENT: (
        "Isolated at times: {agents:agents}, without a neighbour in {share:.0%} of the steps. "
        "An isolated agent keeps its last public opinion."
    ),
    ReasonCode.ACTIVATION: ("Updates are asynchronous: {activation}, and the others keep their public opinions."),
    ReasonCode.ACTIVATION_RATE: (
        "The common value moves at the rate κ = {kappa:.4g}, which would be {synchronous:.4g} if everybody updated. "
        "No oscillation lasts."
    ),
    ReasonCode.ACTIVATION_TABLE: "Who updates is given for {steps:,} steps, and for no later one.",
    ReasonCode.ADAPTATION_FADES: "Hidden opinions adapt ever less, so a part of each stays forever.",
    ReasonCode.DETACHED: (
        "Pressure vanishes so fast that agents adapt to each other by a finite amount, and then each to itself alone."
    ),
    ReasonCode.ADAPTATION_LASTS: "Hidden opinions adapt forever, and none holds the common value in place.",
    ReasonCode.ADAPTATION_ANCHORED: "Hidden opinions adapt forever, except those of {agents:agents}.",
    ReasonCode.SETTLED: "All agents hold the same opinion and no noise lasts, so they agree on it.",
    ReasonCode.BALANCED: (
        "Without noise, start and hidden opinions are balanced: their average, weighted by degree, stays at "
        "v = {v:.6g} under any pressure."
    ),
    ReasonCode.START_FORGOTTEN: (
        "Pressure grows without bound and {condition} diverges: the start is forgotten, "
        "and all agents converge to v = {v:.6g}."
    ),
    ReasonCode.MARGINAL_RATE: "The start fades like exp(−κ {condition}), for which no power of t is claimed.",
    ReasonCode.FOLLOWS_FIXED_POINT: "The common value follows its fixed point, with a bias of order 1/ρ_t.",
    ReasonCode.NOISE_AVERAGES: "Noise averages out in the common value, where one step has σ̄ = {sigma:.3g}{scale}.",
    ReasonCode.NOISE_AVERAGES_SLOWLY: (
        "Noise averages out slowly: its variance in the common value is about κσ̄²/(2ρ_t), "
        "where one step has σ̄ = {sigma:.3g}{scale}."
    ),
    ReasonCode.NOISE_FADES: "Each agent draws its noise once, and it fades, so none is left in the common value.",
    ReasonCode.NOISE_MEMORY: "AR(1) memory multiplies the variance by {factor:.3g}.",
    ReasonCode.ACTIVATION_AVERAGES: (
        "Chance in who updates moves the common value ever less, as noise does, and averages out in mean square."
    ),
    ReasonCode.ALMOST_SURELY: "Agents converge almost surely.",
    ReasonCode.MEAN_SQUARE_ONLY: (
        "Agents converge in mean square but not almost surely: fluctuations of a given size recur forever, "
        "ever more rarely."
    ),
    ReasonCode.MEAN_SQUARE: "Agents converge in mean square; whether they do almost surely is not known.",
    ReasonCode.START_REMEMBERED: "{condition} is finite, so the start and early noise are never forgotten.",
    ReasonCode.APERIODIC: "An odd cycle in the network lets all agents agree.",
    ReasonCode.APERIODIC_DIRECTED: (
        "The lengths of the cycles of the network have no common divisor, which lets all agents agree."
    ),
    ReasonCode.ROTATING_PHASES: (
        "The network has period {period:,}: so many groups of agents listen to each other in turn, and pass different "
        "values on forever."
    ),
    ReasonCode.CAMPS: (
        "Negative weights divide the agents into two camps, of {first:,} and {second:,}, which hold opposite opinions. "
        "In what follows, opinions of the second camp are taken with the opposite sign."
    ),
    ReasonCode.CLOSED_CLASSES: (
        "Closed classes, whose agents listen to each other and to nobody else: {classes:,}. "
        "Pressure makes all other agents follow these."
    ),
    ReasonCode.SINGLE_CLASSES: "{agents:,} of these are single agents, who listen to nobody and keep their opinions.",
    ReasonCode.CLASS_LIMIT: "A class of {agents:agents} converges to {which}{mean:.4g}{std:±.2g}.",
    ReasonCode.CLASS_CAMPS: (
        "A class of {agents:agents} has two camps, which converge to {mean:.4g} and {opposite:.4g}{std:±.2g}."
    ),
    ReasonCode.CLASS_NEUTRAL: (
        "A class of {agents:agents} is not structurally balanced: distrust cancels opinions, and it converges to 0."
    ),
    ReasonCode.CLASS_ROTATES: (
        "A class of {agents:agents} has period {period:,}, and passes different values on forever."
    ),
    ReasonCode.CLASS_UNBOUNDED: (
        "A class of {agents:agents} has a common value of mean {mean:.4g}{camps}; its noise is drawn once and grows, "
        "and the standard deviation of the value grows without bound."
    ),
    ReasonCode.TRANSIENT_FOLLOW: (
        "Outside of the classes: {agents:agents}, whose own opinions do not count in the long run; the mean limit "
        "is {low:.4g}."
    ),
    ReasonCode.TRANSIENT_AGENTS: (
        "Outside of the classes: {agents:agents}, whose own opinions do not count in the long run; their mean limits "
        "are mixtures of the values of the classes, from {low:.4g} to {high:.4g}."
    ),
    ReasonCode.SILENT_NOISE: (
        "Listening to nobody: {agents:agents}, whose noise never averages out, so opinions keep moving about "
        "these values."
    ),
    ReasonCode.CONTINUOUS_DAMPING: (
        "In continuous time the swing between the two sides of the network fades like e^(−2t)."
    ),
    ReasonCode.LIMIT: "All agents converge to {which}{mean:to {digit}}{std:±.2g}, while v = {v:to {digit}}.",
    ReasonCode.RANDOM_LIMIT: (
        "In each run all agents come to one value, which depends on {chance}: {mean:to {digit}}{std:±.2g} over "
        "the runs, while v = {v:to {digit}}."
    ),
    ReasonCode.LIMIT_IS_V: (
        "All the same, all agents converge to v = {v:.6g}: the limit differs from it by at most {bound:.1g}."
    ),
    ReasonCode.LIMIT_UNRESOLVED: (
        "The limit differs from v = {v:.6g} by {bias:.2g} and its phases by {swing:.2g}, which is not told from 0: "
        "the error of the computation is {resolution:.2g}."
    ),
    ReasonCode.SIDES_AGREE: "The network is bipartite, but its two sides come to the same value.",
    ReasonCode.LIMIT_DEPENDS_ON_NOISE: (
        "The limit depends on the start and on the noise, and not on v = {v:.6g} alone."
    ),
    ReasonCode.LIMIT_DEPENDS_ON_UPDATES: (
        "In each run all agents come to one value, which depends on the start and on who updates when, and not on "
        "v = {v:.6g} alone."
    ),
    ReasonCode.LIMIT_DEPENDS_ON_NETWORK: (
        "All agents converge to a value that depends on which edges are present, and not on v = {v:.6g} alone."
    ),
    ReasonCode.LIMIT_UNBOUNDED: (
        "The variance of the common value grows without bound, and it does not settle on v = {v:.6g}."
    ),
    ReasonCode.NOISE_WANDERS: (
        "Noise grows too fast to be averaged out, σ_t²/ρ_t does not go to 0: agents agree, but on a value that "
        "keeps wandering{mean:about .6g}, while v = {v:.6g}."
    ),
    ReasonCode.FROZEN_NOISE: (
        "Each agent draws its noise once, so all agents agree on the mean of the noisy opinions: {mean:.6g} plus "
        "an error{std:of standard deviation .3g} that no waiting removes, while v = {v:.6g}."
    ),
    ReasonCode.FROZEN_NOISE_GROWS: (
        "Each agent draws its noise once, so all agents agree on the mean of the noisy opinions: {mean:.6g} plus "
        "an error that grows with the noise and has no bound, while v = {v:.6g}."
    ),
    ReasonCode.ISOLATED_SOURCE: "All public opinions can be traced back to one agent who is isolated at times.",
    ReasonCode.DEGREES_CHANGE: (
        "Where degrees change from step to step, opinions are not weighted by stubbornness alone."
    ),
    ReasonCode.EARLY_NOISE_KEPT: "Hidden opinions adapt to early noise, which stays in the common value forever.",
    ReasonCode.ANCHORS_ATTRACT: "The opinions that never adapt attract all others.",
    ReasonCode.OPINIONS_MOVED: "Hidden opinions have moved before they come to rest.",
    ReasonCode.TWO_PHASES: (
        "The network is bipartite: its two sides keep exchanging {first:to {digit}}{first_std:±.2g} and "
        "{second:to {digit}}{second_std:±.2g}, while v = {v:to {digit}}."
    ),
    ReasonCode.TWO_PHASES_OF_CAMPS: (
        "The network is bipartite, and its two sides never come together: agents of the first camp keep alternating "
        "between {first:to {digit}}{first_std:±.2g} and {second:to {digit}}{second_std:±.2g}, those of the second "
        "between {opposite_first:to {digit}} and {opposite_second:to {digit}}, while v = {v:to {digit}}."
    ),
    ReasonCode.PARITY_OF_PRESSURE: (
        "The network is bipartite, and pressure depends on the parity of t: each class of public opinions hears the "
        "two sides under different pressures, so the sides keep exchanging different values."
    ),
    ReasonCode.BIPARTITE_COMPONENTS: (
        "{periodic:,} of {components:,} components are bipartite, and their two sides keep exchanging different values."
    ),
    ReasonCode.PHASES_DRIVEN_BY_NOISE: (
        "Noise grows too fast to be averaged out, σ_t²/ρ_t does not go to 0, and the network is periodic: its parts "
        "keep oscillating against each other{mean:about .6g}."
    ),
    ReasonCode.CLASSES_DRIVEN_BY_NOISE: (
        "Each agent draws its noise once, and public opinions circulate in several closed classes that weigh it "
        "differently: agents pass through a cycle of values{mean:about .6g}."
    ),
    ReasonCode.NOISE_OUTGROWS_PRESSURE: "Noise grows at least as fast as pressure, so agents never agree.",
    ReasonCode.OWN_OPINIONS: (
        "Every agent shows its own opinion{noise}. Ask for a number of steps to see the public opinions before."
    ),
    ReasonCode.KEPT_OPINIONS: (
        "Every agent keeps its last public opinion. Ask for a number of steps to see the public opinions before."
    ),
    ReasonCode.OWN_NOISE: (
        "Hidden opinions come to a common value{mean:about .4g}{std:±.2g}, but {who} showing noise of their own."
    ),
    ReasonCode.OWN_NOISE_KEPT: (
        "Noise does not average out: {who} showing noise of their own{mean:about .4g}, and hidden opinions that adapt "
        "follow it."
    ),
    ReasonCode.BOUNDED_PRESSURE: "Bounded pressure leaves agents apart.",
    ReasonCode.STATIONARY_MEAN: ("Bounded pressure leaves agents apart: their mean public opinions {range:span .4g}."),
    ReasonCode.RANDOM_MEAN: (
        "However high the pressure, they return to it again and again: their mean public opinions {range:span .4g}."
    ),
    ReasonCode.RETURN_TO_OPINIONS: "However high the pressure, they return to it again and again.",
    ReasonCode.NO_FLUCTUATION: "There is no noise to move them.",
    ReasonCode.FOLLOWS_PRESSURE: "They move with the pressure, which is not known to have a limit.",
    ReasonCode.FLUCTUATION: (
        "Noise keeps them moving with a standard deviation of {range:.3g}, and the consensus mode, their "
        "mean weighted by {weights}, with {std:.3g}."
    ),
    ReasonCode.MODE_FLUCTUATION: (
        "Noise keeps the consensus mode, their mean weighted by {weights}, moving with a standard deviation of "
        "{std:.3g}."
    ),
    ReasonCode.FLUCTUATION_FADES: "The noise fades, and with it their fluctuation.",
    ReasonCode.FLUCTUATION_UNKNOWN: "Noise keeps them moving.",
    ReasonCode.FLUCTUATION_GROWS: "Their scatter grows as the noise does.",
    ReasonCode.FROZEN_SHIFT: "Frozen noise, which is drawn once, shifts them.",
    ReasonCode.FROZEN_DEVIATION: (
        "Frozen noise shifts them once and for all, by a standard deviation of {range:.3g}, and the "
        "consensus mode, their mean weighted by {weights}, by {std:.3g}."
    ),
    ReasonCode.FROZEN_MODE_DEVIATION: (
        "Frozen noise shifts them once and for all, and the consensus mode, their mean weighted by {weights}, by a "
        "standard deviation of {std:.3g}."
    ),
    ReasonCode.COMPONENT_LIMIT: "A component of {agents:agents} converges to {which}{mean:.4g}{std:±.2g}.",
    ReasonCode.COMPONENT_MEAN: (
        "In a component of {agents:agents} opinions have the mean limit {mean:.4g}, from which noise moves them."
    ),
    ReasonCode.COMPONENTS_NOT_NAMED: "Components not named here: {components:,}.",
    ReasonCode.COMPONENT_LIMITS_DIFFER: "Each component has a value of its own, while v = {v:.6g}.",
    ReasonCode.ISOLATED_RANDOM_WALKS: (
        "Agents that nobody influences adapt to their own noise forever, and drift apart."
    ),
    ReasonCode.COMPONENTS_WANDER: (
        "Hidden opinions adapt to noise forever, so each component's value wanders without bound."
    ),
    ReasonCode.ISOLATED_SOURCES: (
        "However high the pressure, all public opinions can be traced back to {agents:agents} isolated at times: "
        "agents pass through a cycle of their opinions."
    ),
    ReasonCode.SEVERAL_CLOSED_CLASSES: (
        "Public opinions circulate in several closed classes that never mix, and keep different values."
    ),
    ReasonCode.CYCLE_RANGE: "On average the cycle runs from {low:.4g} to {high:.4g}.",
    ReasonCode.PERIODIC_LAW: (
        "Public opinions repeat a cycle of {period:,} steps; on average it runs from {low:.4g} to {high:.4g}."
    ),
    ReasonCode.LIMITS_SPAN: "In the long run the means of public opinions {range:span .4g}.",
    ReasonCode.RANDOM_LIMITS: (
        "In each run {agents:agents} come to rest, at values that differ between runs, with standard deviations up to "
        "{high:.3g}."
    ),
    ReasonCode.MOVING_LIMITS: ("Moving at random forever: {agents:agents}, with standard deviations up to {high:.3g}."),
    ReasonCode.SOME_WALK: "Walking at random without bound, as noise is never averaged out: {agents:agents}.",
    ReasonCode.SOME_DRIFT: "Drifting ever further in the direction of frozen noise: {agents:agents}.",
    ReasonCode.RANDOM_WALK: (
        "Hidden opinions adapt to noise forever: the common opinion wanders{mean:about .4g}, "
        "and its variance grows by {rate:.2g} per step."
    ),
    ReasonCode.RANDOM_WALK_UNBOUNDED: (
        "Hidden opinions adapt to noise forever: the common opinion wanders{mean:about .4g}, "
        "and its variance grows without bound."
    ),
    ReasonCode.FROZEN_DRIFT: (
        "Hidden opinions adapt to frozen noise forever: the common opinion starts{mean:about .4g} "
        "and drifts ever further."
    ),
    ReasonCode.UNKNOWN_GROWTH: "The behaviour as t → ∞ is therefore not known.",
    ReasonCode.UNKNOWN_PHASES: (
        "Opinions pass through the network in turns that never mix, and pressure that keeps rising and falling may "
        "weigh the turns differently: whether they come to one value is not known."
    ),
    ReasonCode.UNKNOWN_REPETITION: (
        "Pressure that keeps rising and falling may weigh the steps of a network that repeats differently, and to "
        "what that leads is not known."
    ),
    ReasonCode.UNKNOWN_ANCHORS: (
        "Agents who never adapt have a share in the common value that shrinks as pressure grows, and whether it is "
        "enough to hold the value in place is not known."
    ),
    ReasonCode.UNKNOWN_NOISE: "How the noise grows over time is not known, and so the outcome is not either.",
    ReasonCode.UNKNOWN_ADAPTATION: (
        "How hidden opinions adapt at late times is not known, and so the outcome is not either."
    ),
    ReasonCode.UNKNOWN_LAW: "For this process no result is known, and so the outcome is not known either.",
    ReasonCode.NETWORK_NOT_COVERED: (
        "On a network with negative weights or several closed classes of agents, here {classes:,}, no result is known "
        "for noise that grows, or pressure that varies in step with the network."
    ),
    ReasonCode.ACTIVATION_NOT_COVERED: (
        "For asynchronous updates the long run is worked out where it is random who updates, and noise is bounded; "
        "here it is not known."
    ),
    ReasonCode.NOISE_WITHOUT_LIMIT: "The scale of the noise has no limit, for which no result is known here.",
    ReasonCode.PRESSURE_WITHOUT_LIMIT: (
        "Pressure has no limit, or one of 0, and the outcome depends on how it varies, for which no result is known."
    ),
    ReasonCode.TWO_CLOCKS: (
        "Hidden opinions adapt ever more slowly, and the outcome depends on how that compares with the growth of "
        "pressure, for which no result is known here."
    ),
    ReasonCode.TOO_LARGE: "The long run of this combination is computed for small networks only, and here it is not.",
    ReasonCode.UNRESOLVED_MODES: (
        "The modes of the long run could not be told apart numerically, and so the outcome is not known."
    ),
    ReasonCode.TOO_MANY_CLASSES: (
        "The network has {classes:,} closed classes of several agents, each of which has a limit of its own; these are "
        "computed for up to {most:,}. Ask for one component at a time."
    ),
    ReasonCode.FINITE_HORIZON: (
        "Over {steps:,} steps ρ_t goes from {first:.4g} to {last:.4g}, and the start keeps a weight of {weight:.2g} in "
        "the common value."
    ),
    ReasonCode.NO_HORIZON: "Ask for a number of steps to see where agents are by then.",
    ReasonCode.NOT_COMPUTED: (
        "The long-run behaviour takes longer to compute than this page may wait; peerpressure diagnose computes it."
    ),
    ReasonCode.OPTIMUM_CONTINUOUS: "Not computed in continuous time.",
    ReasonCode.OPTIMUM_TOO_LARGE: "Not computed here for {agents:agents} and {steps:,} steps.",
    ReasonCode.SCHEDULES_TOO_LARGE: "Not looked for: each takes a forecast of {agents:agents} over {steps:,} steps.",
    ReasonCode.SETTLING_TOO_LARGE: "Not known: of {agents:agents} over {steps:,} steps only the last is computed.",
    ReasonCode.SETTLING_NO_RANGE: "Not known: all opinions are equal, and no distance is given as a tolerance.",
}


@final
class _Sentences(Formatter):
    """Format numbers for sentences, beyond the standard format specs."""

    def format_field(self, value: Any, format_spec: str) -> str:
        """Return a number of agents in words, a deviation after ±, or a phrase left out where there is no number."""
        # Additional format specs, so every sentence stays one template without code around it.
        if isinstance(value, tuple):
            low, high = value
            return _range(low, high, format_spec)
        if format_spec.startswith("to "):
            return rounded(value, float(format_spec[3:]))
        if format_spec == "agents":
            return "one agent" if value == 1 else f"{value:,} agents"
        if format_spec.startswith("±"):
            return f" ± {value:{format_spec[1:]}}" if 0 < value < math.inf else ""
        if format_spec.startswith(("about ", "of ")):
            words, _, digits = format_spec.rpartition(" ")
            return "" if math.isnan(value) else f" {words} {value:{digits}}"
        return format(value, format_spec)

    def get_value(self, key: Any, args: Any, kwargs: Any) -> Any:
        """Return a value by its name; ``range`` is from ``low`` to ``high``."""
        return (kwargs["low"], kwargs["high"]) if key == "range" else super().get_value(key, args, kwargs)


def _range(low: float, high: float, format_spec: str) -> str:
    """Return a range in words, and one number where its ends are printed alike.

    >>> _range(0.1, 0.2, ".3g"), _range(0.1, 0.1, ".3g"), _range(1.0, 1.0, "span .3g")
    ('0.1 to 0.2', '0.1', 'are all 1')
    """
    verb, _, digits = format_spec.rpartition(" ")
    ends = f"{low:{digits}}", f"{high:{digits}}"
    if ends[0] == ends[1]:
        return f"are all {ends[0]}" if verb else ends[0]
    return f"{verb} {' to '.join(ends)}".lstrip()


_FORMATTER = _Sentences()
