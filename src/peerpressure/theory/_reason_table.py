"""The table of reasons for an outcome: one row for each, with its sentence, when it is told, and its numbers.

Rows are evaluated in order: what is given (signs, pressure, network, updates, adaptation), then what follows from it.
To add a reason, add its row.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from peerpressure.model import Model
from peerpressure.schedules import Table
from peerpressure.support.text import shown_digit
from peerpressure.theory._analysis import NAMED, Analysis, Source
from peerpressure.theory._class_limits import too_many_classes
from peerpressure.theory._classification import LongRun, Outcome
from peerpressure.theory._conserved import late_scale
from peerpressure.theory._limit_law import LimitKind, LimitLaw
from peerpressure.theory._limit_operator import obstacle
from peerpressure.theory._rates import start_weight
from peerpressure.theory._reasons import Reason, ReasonRow, Value, Values, span
from peerpressure.theory._regime import LATE_TIME, NoiseEffect, Regime, converges_almost_surely, noise_adds_up
from peerpressure.theory._structure import Component, NoiselessLimit, Structure, has_single_closed_class, period_of
from peerpressure.theory._text import CHANCES, chance_words

Told: TypeAlias = dict[str, Value]


def explain(analysis: Analysis, horizon: int | None = None, weight: float | None = None) -> tuple[Reason, ...]:
    """Return the reasons for the outcome of a model.

    For an unknown outcome, ``horizon`` is a number of steps to look at instead, and ``weight`` that of the start by
    then, where it is known.
    """
    facts = Facts(analysis, horizon, weight)
    return tuple(reason for row in TABLE for reason in row.reasons(facts))


@final
@dataclass(frozen=True, eq=False)
class Facts:
    """What the rows ask of an analysis."""

    analysis: Analysis
    horizon: int | None
    weight: float | None

    @property
    def run(self) -> LongRun:
        """The long run."""
        return self.analysis.long_run

    @property
    def model(self) -> Model:
        """The model, in which opinions have the sign of their camp."""
        return self.run.model

    @property
    def structure(self) -> Structure:
        """The components of the networks that recur."""
        return self.run.structure

    @property
    def law(self) -> LimitLaw:
        """The limit law of each agent."""
        return self.run.law

    @property
    def v(self) -> float:
        """The consensus value."""
        return self.model.consensus_value

    @property
    def fast(self) -> bool:
        """Whether Σ 1/ρ_t converges."""
        return self.run.regime is Regime.FAST

    @property
    def constant(self) -> bool:
        """Whether hidden opinions are constant."""
        return self.structure.constant_opinions

    @property
    def condition(self) -> str:
        """The sum that decides whether the start is forgotten, in words."""
        return "∫ dt/ρ" if self.run.continuous else "Σ 1/ρ_t"

    @cached_property
    def part(self) -> str:
        """Which part of the table explains the outcome: the name of the outcome, or of what was found before it."""
        run, outcome, decided = self.run, self.run.outcome, self.analysis.decided
        if run.stays_equal:
            return "settled"
        if self.analysis.source is not Source.COMPONENTS:
            return "classes" if self.analysis.source is Source.CLASSES else "law"
        if outcome is Outcome.UNKNOWN:
            return "unresolved" if decided else "unknown"
        if outcome is Outcome.CONSENSUS and (run.stays_on_v or decided):
            return "balanced" if run.stays_on_v else "on v"
        # Signs cancel by coincidence.
        return "law" if run.regime is Regime.BOUNDED and self.constant and outcome.agrees else outcome.name

    @property
    def given(self) -> bool:
        """Whether what is given counts."""
        return self.part != "settled"

    # The network.

    @property
    def network(self) -> str:
        """What is known of a temporal network: that it repeats, that it was recorded, or its random process."""
        network, structure = self.model.temporal_network, self.structure
        if network is None or not self.given or (structure.law is None and structure.networks is None):
            return ""
        return "random" if structure.law is not None else "recorded" if network.period is None else "repeats"

    def temporal(self, *names: str) -> Told:
        """Return some of the numbers of a temporal network."""
        network, law = self.model.temporal_network, self.structure.law
        assert network is not None
        sizes = [part.agents.size for part in self.structure.components]
        told: Told = {"components": len(sizes), "single": sizes.count(1), "steps": self.beyond or 0}
        told |= {"t": network.last_change, "period": network.period or 0}
        told |= {"process": "" if law is None else law.generator.replace("_", " ")}
        return {name: told[name] for name in names}

    @property
    def share_alone(self) -> float:
        """The share of steps without a neighbour, of the agents who have one at other times."""
        network, law, networks = self.model.temporal_network, self.structure.law, self.structure.networks
        if network is None or networks is None or law is not None:
            return law.isolation if law is not None and law.is_ergodic else 0.0
        who = np.any(networks.silent, axis=0)
        # Over the agents concerned only; over all agents a few isolated ones would round to 0 %.
        return float(networks.silent[:, who].mean()) if np.any(who & ~np.all(networks.silent, axis=0)) else 0.0

    def alone(self) -> Told:
        """Return who is isolated at times, and what they show."""
        law, networks = self.structure.law, self.structure.networks
        agents = self.model.n if networks is None or law is not None else np.count_nonzero(networks.silent.any(axis=0))
        shows = "keeps its last public opinion" if self.structure.keeps else "shows its own opinion"
        return {"agents": int(agents), "share": self.share_alone, "shows": shows}

    @property
    def beyond(self) -> int | None:
        """The step of the network that is asked for, where a record of a random process ends before."""
        network = self.model.temporal_network
        if self.horizon is None or network is None or network.law is None:
            return None
        step = self.run.network_step(self.horizon)
        return step if step > network.last_change else None

    def never_adapting(self) -> Told:
        """Return how many hidden opinions never adapt."""
        still = int(np.count_nonzero(~self.structure.opinions.movable))
        who = "one agent" if still == 1 else f"{still:,} agents"
        return {
            "agents": still,
            "but": f"except those of {who}" if still else "and none holds the common value in place",
        }

    @property
    def at_chance(self) -> bool:
        """Whether it is random who updates, and the rate at which the common value moves is known."""
        run, model = self.run, self.model
        grows = run.regime not in (Regime.BOUNDED, Regime.UNKNOWN) and run.noise is not NoiseEffect.SCATTERS
        random = model.activation is not None and model.activation.is_random
        return random and grows and model.is_constant and has_single_closed_class(model)

    # Values of classes and components.

    def groups(self) -> list[Told]:
        """Return what the largest classes or components come to."""
        if self.part == "classes":
            single = self.single_classes > NAMED
            # What is worth naming is the classes of several agents.
            listed = [part for part in self.run.classes if part.agents.size > 1 or not single]
            return [_group("class", part, part.value, part.std) for part in listed[:NAMED]]
        known = [part for part in self.structure.components if part.value is not None][:NAMED]
        return [_group("component", part, part.value, _settled_deviation(self.law, part)) for part in known]

    def unnamed(self) -> Told:
        """Return how many components have no value here."""
        left = len(self.structure.components) - len(self.groups())
        return {"v": self.v, "unnamed": left, "others": f"; components not named here: {left:,}" * (left > 0)}

    def counted(self) -> Told:
        """Return the number of closed classes, and how many of them are of one agent."""
        alone = f", {self.single_classes:,} of them single agents, who keep their opinions" * (self.single_classes > 0)
        return {"classes": len(self.run.classes), "single": self.single_classes, "alone": alone}

    @property
    def single_classes(self) -> int:
        """How many classes are of one agent."""
        return sum(part.agents.size == 1 for part in self.run.classes)

    @property
    def silent_noise(self) -> bool:
        """Whether agents who listen to nobody keep showing noise that others follow."""
        kinds = self.law.kinds
        return (
            bool(kinds & {LimitKind.FLUCTUATES, LimitKind.WALKS})
            and LimitKind.PERIODIC not in kinds
            and self.single_classes > 0
        )

    @cached_property
    def transient(self) -> NDArray[np.int64]:
        """The agents outside of the classes, where all come to rest."""
        if self.part != "classes" or not self.run.classes or LimitKind.PERIODIC in self.law.kinds or self.silent_noise:
            return np.zeros(0, np.int64)
        return np.setdiff1d(np.arange(self.model.n), np.concatenate([part.agents for part in self.run.classes]))

    def outside(self) -> Told:
        """Return what agents outside of the classes come to."""
        means = self.law.mean[0, self.transient]
        return {"agents": int(means.size), "low": float(means.min()), "high": float(means.max())}

    # The common value.

    def start(self) -> Told:
        """Return the sum that decides whether the start is forgotten, and v."""
        return {"condition": self.condition, "v": self.v}

    @property
    def at_known_rate(self) -> bool:
        """Whether agents come to v at the rate of one absolute probability sequence."""
        return (
            self.part == "CONSENSUS"
            and not self.run.lazy
            and self.constant
            and self.run.absolute_probability is not None
        )

    @property
    def averages(self) -> bool:
        """Whether noise averages out in v."""
        return self.at_known_rate and self.run.noise is not NoiseEffect.NONE

    def sigma(self) -> Told:
        """Return the deviation that the noise of one step has in the common value."""
        run, sequence = self.run, self.run.absolute_probability
        assert sequence is not None
        # As for white noise; the factor of the memory is a reason of its own.
        white, memory = sequence.noise(run.deviations, 0.0), sequence.noise(run.deviations, run.phi)
        slowly = ", slowly, with a variance of about κσ̄²/(2ρ_t)" if run.regime is Regime.SLOW else ""
        factor = (memory / white) ** 2 if white else 1.0
        return {"sigma": white, "slowly": slowly, "scale": _times_scale(self.model), "factor": factor}

    def convergence(self) -> Told:
        """Return in which sense noisy agents converge."""
        mode, rest = _CONVERGENCE[converges_almost_surely(self.model)]
        return {"mode": mode, "rest": rest}

    @property
    def isolated_sources(self) -> int:
        """To how many agents isolated at times all public opinions can be traced back; 0 where they cannot."""
        sources = self.structure.components[0].sources if self.structure.components else None
        return 0 if sources is None or not self.constant else int(sources.size)

    @property
    def remembers(self) -> bool:
        """Whether the start is never forgotten."""
        rotates = self.part == "PERIODIC" and self.model.network.directed
        agree = self.part in ("unresolved", "on v", "BIASED_CONSENSUS", "OSCILLATION")
        return self.fast and (agree or rotates) and not self.isolated_sources

    @property
    def phases_agree(self) -> str:
        """Why the parts of the network come to one value although the start is never forgotten; empty elsewhere."""
        run, model = self.run, self.model
        if not self.remembers or self.part == "PERIODIC" or run.lazy or not self.constant:
            return ""
        if run.continuous and model.network.is_bipartite:
            return "In continuous time the swing between the two sides of the network fades like e^(−2t)"
        if not model.is_plain:
            return ""
        if not (run.continuous or self.structure.components[0].periodic):
            cycles = "The lengths of the cycles of the network have no common divisor, which"
            return f"{cycles if model.network.directed else 'An odd cycle in the network'} lets all agents agree"
        agree = run.outcome not in (Outcome.OSCILLATION, Outcome.UNKNOWN)
        return "The network is bipartite, but its two sides come to the same value" if agree else ""

    def bound(self) -> Told:
        """Return how far the limit may be from v."""
        distance = self.analysis.distance
        assert distance is not None
        largest = max(distance.bias, distance.std, distance.swing) + distance.resolution
        return {"v": self.v, "bound": largest}

    @property
    def driven(self) -> bool:
        """Whether only noise keeps parts of the network apart, whose opinions would agree without it."""
        agree, bounded = self.structure.limit is not NoiselessLimit.PERIODIC, self.run.regime is Regime.BOUNDED
        return agree and not bounded and self.part in ("OSCILLATION", "PERIODIC")

    def driving(self) -> Told:
        """Return how noise keeps parts of the network apart, and about which value."""
        (first, *others), frozen = self.structure.components, self.run.phi == 1
        # Several components have no common value, and one that adapting opinions move has no closed form.
        mean = first.value if self.constant and not others and first.value is not None else math.nan
        once = "Each agent draws its noise once, and public opinions circulate in several closed classes that weigh it"
        grows = "Noise grows too fast to be averaged out, σ_t²/ρ_t does not go to 0, and the network is periodic: its"
        how = f"{once} differently: agents pass through a cycle of values"
        return {"mean": mean, "how": how if frozen else f"{grows} parts keep oscillating against each other"}

    @property
    def common(self) -> tuple[float, float, float] | None:
        """Mean, deviation and error of the value that all agents come to; None where there is none, or not known."""
        limit, law, agree = self.analysis.limit, self.law, (Outcome.CONSENSUS, Outcome.BIASED_CONSENSUS)
        if self.part == "law" and self.run.outcome in (*agree, Outcome.BIPARTITE):
            mean = float(law.mean[0, 0] * law.camp[0])
            return mean, float(law.std[0]), 1e-4 * max(abs(mean), abs(self.v), 1e-300)
        return None if limit is None or self.part == "law" else (limit.mean, limit.std, limit.residual)

    @property
    def noise_in_value(self) -> bool:
        """Whether it is noise that keeps the common value from v."""
        never = self.run.noise in (NoiseEffect.WANDERS, NoiseEffect.STAYS)
        return self.part == "BIASED_CONSENSUS" and self.constant and not (self.fast or self.isolated_sources) and never

    @property
    def has_value(self) -> bool:
        """Whether there is a common value, known or not."""
        biased = self.part == "BIASED_CONSENSUS" and not self.noise_in_value
        unnamed = self.part == "OSCILLATION" and self.fast and self.phases is None
        noisy = unnamed and self.run.noise is not NoiseEffect.NONE and self.model.is_plain
        return biased or noisy or (self.part == "law" and self.common is not None)

    def value(self) -> Told:
        """Return the common value, and what it depends on where it differs between runs."""
        assert self.common is not None
        mean, std, error = self.common
        each, chance = self.run.lazy and std != 0, chance_words(chance_of(self.run))
        come = f"In each run all agents come to one value, which depends on {chance}: "
        on = "" if std == 0 else f"a value that depends on {chance}: "
        told: Told = {"mean": mean, "std": std, "v": self.v, "digit": shown_digit([mean, self.v], error)}
        return told | {"come": come if each else f"All agents converge to {on}", "over": " over the runs" * each}

    def unnamed_value(self) -> Told:
        """Return what a common value depends on that is not computed."""
        run = self.run
        # Frozen noise whose shares Σ σ_t/ρ_t diverge moves the value without bound, too.
        unbounded = run.noise is NoiseEffect.STAYS and self.fast and noise_adds_up(self.model) is False
        on = "the start and on the noise"
        if run.lazy and run.noise is not NoiseEffect.WANDERS:
            on = "the start and on who updates when"
        elif unbounded or run.noise is NoiseEffect.WANDERS:
            on = "noise that adds up without bound"
        elif self.structure.law is not None:
            # Another record of the same process would have another limit.
            on = "which edges are present"
        return {"on": on, "v": self.v}

    def noisy_value(self) -> Told:
        """Return the common value of agents whose noise stays in it."""
        mean, std, _ = self.common or (math.nan, math.nan, 0.0)
        error = f" that no waiting removes{f', of standard deviation {std:.3g}' if math.isfinite(std) else ''}"
        if self.run.noise_grows:
            error, std = " that grows with the noise and has no bound", math.inf
        return {"mean": mean, "v": self.v, "std": std, "plus": error}

    @property
    def moved(self) -> str:
        """How hidden opinions that adapt have moved the common value."""
        adapts, fixed = self.structure.adapting is not None, self.structure.has_fixed_opinion
        if self.part != "BIASED_CONSENSUS" or self.constant:
            return ""
        if adapts and self.run.noise is NoiseEffect.STAYS and not fixed:
            return "Hidden opinions adapt to early noise, which stays in the common value forever"
        if not (self.run.regime.reaches_value and fixed):
            return ""
        attract = "The opinions that never adapt attract all others"
        return attract if adapts else "Hidden opinions have moved before they come to rest"

    # Two sides, cycles, and agents who stay apart.

    @cached_property
    def phases(self) -> Told | None:
        """The two values that the sides of a bipartite network exchange; None where these are not known."""
        limit, law = self.analysis.limit, self.law
        turns = None if self.part != "OSCILLATION" or limit is None else law.turns
        if turns is None:
            return None
        first, second = turns
        camps = ", agents of the second camp the opposites of these" if self.run.has_camps else ""
        digit = shown_digit([first, second], 0.0 if limit is None else limit.residual)
        told: Told = {"first": first, "second": second, "std": float(law.std[0]), "digit": digit}
        return told | {"camps": camps, "v": self.v}

    def sides(self) -> Told:
        """Return how many components exchange two values."""
        parts = self.structure.components
        return {"periodic": sum(p.limit is NoiselessLimit.PERIODIC for p in parts), "components": len(parts)}

    @property
    def turns(self) -> bool:
        """Whether opinions pass through groups that never mix, under pressure that grows."""
        grows = self.run.regime is not Regime.BOUNDED
        return self.part == "PERIODIC" and grows and self.structure.limit is NoiselessLimit.PERIODIC

    @property
    def spans(self) -> bool:
        """Whether agents come to several values, computed from limits of products of steps."""
        mean, walks = self.law.mean, self.run.outcome is _WALK
        return (
            self.part == "law"
            and self.common is None
            and not walks
            and len(mean) == 1
            and bool(np.isfinite(mean).all())
        )

    @property
    def cycle(self) -> bool:
        """Whether opinions repeat a cycle whose means are known."""
        repeats = self.part == "PERIODIC" or (self.part == "law" and self.common is None)
        return repeats and len(self.law.mean) > 1 and bool(np.all(np.isfinite(self.law.mean)))

    @cached_property
    def apart(self) -> str:
        """What keeps agents apart: growing noise, isolation, noise of their own, or their opinions."""
        run, structure = self.run, self.structure
        if self.part != "DISAGREEMENT":
            return ""
        # Under bounded pressure with a common mode, the mean states are still known, and only their scatter grows.
        known = run.regime is Regime.BOUNDED and run.absolute_probability is not None
        if run.noise is NoiseEffect.SCATTERS and not known:
            return "scatter"
        if structure.all_isolated or structure.opinions.detached:
            kept = structure.all_isolated and structure.keeps
            return "walks" if self.drifting and not kept else "isolation" if structure.all_isolated else "opinions"
        return "opinions" if structure.limit is NoiselessLimit.DISAGREEMENT else "noise"

    @property
    def walking_alone(self) -> bool:
        """Whether agents without neighbours, beside components that agree, adapt to their own noise forever."""
        structure = self.structure
        noisy = structure.adapting is not None and self.run.noise is not NoiseEffect.NONE
        return self.part == "CLUSTERS" and noisy and structure.components[-1].agents.size == 1 and not structure.keeps

    @property
    def drifting(self) -> bool:
        """Whether agents that nobody influences adapt to their own noise forever."""
        return not self.constant and bool(self.structure.opinions.random_walk)

    def own(self) -> Told:
        """Return what agents without neighbours show."""
        noise = self.model.noise
        lasts = not noise.is_zero and noise.time_scale.growth.limit != 0
        shows = f"shows its own opinion{' and its own noise' * lasts}"
        return {"shows": "keeps its last public opinion" if self.structure.keeps else shows}

    def span(self) -> Told:
        """Return the range of the means of the agents, as far as it is known."""
        returns = self.structure.law is not None and self.structure.intermittent
        why = "However high the pressure, they return to it again and again"
        told: Told = {"why": why if returns else "Bounded pressure leaves agents apart", "means": ""}
        means = self.law.mean
        told |= {"period": len(means)}
        if not np.all(np.isfinite(means)):
            return told
        low, high = float(means.min()), float(means.max())
        return told | {"low": low, "high": high, "means": f": their mean public opinions {span(low, high, 'span .4g')}"}

    @property
    def follows(self) -> bool:
        """Whether agents apart may move with the pressure forever."""
        return self.apart == "opinions" and self.run.follows_pressure and LimitKind.UNKNOWN in self.law.kinds

    @property
    def still(self) -> bool:
        """Whether agents apart are on a network where it is known what noise does to them."""
        return self.apart == "opinions" and (self.run.absolute_probability is not None or self.model.is_constant)

    @property
    def shaken(self) -> str:
        """How noise moves agents who stay apart: it grows, fades, or lasts."""
        noise = self.run.noise
        if self.apart == "noise":
            return "lasts" if self.constant else "own"
        if not self.still or noise is NoiseEffect.NONE:
            return ""
        fades = self.model.noise.time_scale.growth.limit == 0
        return "grows" if noise is NoiseEffect.SCATTERS else "fades" if fades else "lasts"

    def fluctuation(self) -> Told:
        """Return how far noise moves agents, as far as it is known."""
        found, frozen = self.run.fluctuation, self.apart == "opinions" and self.run.noise is NoiseEffect.STAYS
        how = "Frozen noise, drawn once, shifts them" if frozen else "Noise keeps them moving"
        if found is None or self.apart == "noise":
            return {"how": how, "deviations": ""}
        mode = f"their mean weighted by {'influence' if self.model.network.directed else 'degree'}"
        told: Told = {"std": found.mode}
        if found.agents is not None:
            low, high = float(found.agents.min()), float(found.agents.max())
            told |= {"low": low, "high": high}
            by = f"of {span(low, high, '.3g')}, and of {found.mode:.3g} for the consensus mode, {mode}"
        else:
            by = f"of {found.mode:.3g} for the consensus mode, {mode}"
        return told | {"how": how, "deviations": f", with a standard deviation {by}"}

    def own_noise(self) -> Told:
        """Return who shows noise of their own, and what hidden opinions that adapt do about it."""
        mean, std, _ = self.common or (math.nan, math.nan, 0.0)
        # Under high pressure only agents without neighbours show their own noise.
        who = "all agents" if self.run.regime is Regime.BOUNDED else "agents who are isolated at times"
        agree = "hidden opinions come to a common value" if self.run.hidden_agrees else "hidden opinions follow it"
        return {"who": who, "hidden": agree, "mean": mean, "std": std if self.run.hidden_agrees else math.nan}

    def moving(self) -> list[Told]:
        """Return how many agents move in each of several ways."""
        rest = self.part == "law" and self.common is None
        told = _MOVING if rest else {kind: _MOVING[kind] for kind in (LimitKind.WALKS, LimitKind.DRIFTS)}
        out: list[Told] = []
        for kind, how in told.items() if (rest or self.part == "CLUSTERS") and self.run.outcome is not _WALK else ():
            which = self.law.kind == kind
            if np.any(which):
                high = float(self.law.std[which].max())
                up_to = f", with standard deviations up to {high:.3g}" if math.isfinite(high) else ""
                out.append({"agents": int(np.count_nonzero(which)), "high": high, "how": how, "up_to": up_to})
        return out

    def walk(self) -> Told:
        """Return how a common opinion that nothing holds in place moves."""
        mean = float(self.law.mean[0, 0]) if self.part == "law" else (self.common or (math.nan,))[0]
        drifts, rate = LimitKind.DRIFTS in self.law.kinds, None if self.part == "law" else _variance_per_step(self.run)
        grows = "without bound" if rate is None else f"by {rate:.2g} per step"
        told: Told = {"noise": "noise", "moves": "wanders", "further": f", and its variance grows {grows}"}
        if drifts:
            told = {"noise": "frozen noise", "moves": "starts", "further": " and drifts ever further"}
        return told | {"mean": mean} | ({} if rate is None or drifts else {"rate": rate})

    # What is not known.

    @cached_property
    def cause(self) -> str:
        """Why the outcome is unknown, as a key of the causes."""
        run, model, structure = self.run, self.model, self.structure
        if self.part != "unknown":
            return ""
        if model.temporal_network is not None and structure.law is None and structure.networks is None:
            return "long period"
        if run.regime is Regime.UNKNOWN:
            return "growth"
        one = has_single_closed_class(model)
        if not one and too_many_classes(model.network) is not None:
            return "many classes"
        return self._lost_limit(one=one) if self.needs_products else self._open_question()

    @property
    def needs_products(self) -> bool:
        """Whether the long run is that of limits of products of steps, which no number of steps tells."""
        run, one = self.run, has_single_closed_class(self.model)
        products = run.lazy or not one or (run.continuous and not self.model.is_constant)
        return products and run.regime is not Regime.UNKNOWN

    def _lost_limit(self, *, one: bool) -> str:
        cause = obstacle(self.run) or "modes"
        if self.run.lazy and cause in ("noise limit", "modes"):
            return "updates"
        return "network" if cause in ("noise limit", "pressure limit") and not one else cause

    def _open_question(self) -> str:
        """Return why the outcome is open although the growth of pressure is known."""
        run, structure = self.run, self.structure
        if structure.opinions.lasting is None:
            return "adaptation"
        if structure.law is not None:
            return obstacle(run) or "process"
        if run.noise is NoiseEffect.UNKNOWN or not any(p.limit is NoiselessLimit.UNKNOWN for p in structure.components):
            return "noise"
        return "turns" if not run.growth.is_regular else "swing" if self.fast else "fixed opinions"

    def size(self) -> Told:
        """Return what is too large to be analysed, and what is not."""
        many = too_many_classes(self.model.network)
        if self.cause == "many classes" and many is not None:
            most = f"up to {many[1]:,} closed classes of several agents"
            return {"most": most, "what": f"the network has {many[0]:,}", "classes": many[0]}
        if self.cause == "long period":
            period = self.temporal("period")
            return {"most": "short periods", "what": f"the network repeats after {period['period']:,} steps", **period}
        return {"most": "small networks", "what": f"this one has {self.model.n:,} agents", "agents": self.model.n}

    def seen(self) -> Told:
        """Return what there is to see over a number of steps."""
        run, horizon = self.run, self.steps
        assert horizon is not None
        weight = start_weight(run.system, horizon) if self.weight is None else self.weight
        pressure = self.model.pressure
        rho = pressure(pressure.reading_times(np.array([1, horizon]) * run.system.step))
        return {"steps": horizon, "first": float(rho[0]), "last": float(rho[1]), "weight": weight}

    @property
    def steps(self) -> int | None:
        """The number of steps to look at: that asked for, or that of a table of pressures."""
        pressure = self.model.pressure
        if self.horizon is None and isinstance(pressure, Table) and self.model.is_plain and not self.run.continuous:
            return pressure.values.size
        return self.horizon

    def unresolved(self) -> Told:
        """Return what numbers do not tell."""
        distance = self.analysis.distance
        if distance is None:
            return {"what": "The modes of the long run could not be told apart numerically"}
        sizes = f"by {distance.bias:.2g} and its phases by {distance.swing:.2g}"
        told = f"is not told from 0, with an error of the computation of {distance.resolution:.2g}"
        what = f"The limit differs from v = {self.v:.6g} {sizes}, which {told}"
        return {"what": what, "v": self.v, **asdict(distance)}


def chance_of(run: LongRun) -> tuple[str, ...]:
    """Return what random limits depend on."""
    model = run.model
    # Where starts are forgotten and hidden opinions constant, who updates and which edges are present average out.
    lasts = run.regime is Regime.FAST or model.adaptation is not None
    counts = {
        "noise": run.noise is not NoiseEffect.NONE,
        "updates": lasts and model.activation is not None and model.activation.is_random,
        "network": lasts and run.structure.law is not None,
    }
    return tuple(name for name, does in counts.items() if does)


def _group(name: str, part: Component, value: float | None, std: float) -> Told:
    told: Told = {"group": name, "agents": int(part.agents.size)}
    if value is None:
        return told | {
            "period": part.period,
            "does": f"has period {part.period:,}, and passes different values on forever",
        }
    if part.neutral:
        return told | {"does": "is not structurally balanced: distrust cancels opinions, and it converges to 0"}
    error, chance = f" ± {std:.2g}" if 0 < std < math.inf else "", f"a value that depends on {CHANCES['noise']}: "
    to = f"{chance * bool(std)}{value:.4g}{error}"
    does = f"converges to {to}"
    if not np.all(part.camp == 1):
        does = f"has two camps, which converge to {to} and its opposite"
    if math.isinf(std):
        does = f"has a common value of mean {value:.4g}, whose standard deviation grows without bound"
    elif math.isnan(std):
        does = f"has the mean limit {value:.4g}, from which noise moves it"
    return told | {"does": does, "mean": value, "std": std}


def _settled_deviation(law: LimitLaw, part: Component) -> float:
    """Return the deviation of the value of a component; nan where noise keeps moving it, or it is not known."""
    kind, std = law.kind[part.agents[0]], float(law.std[part.agents[0]])
    return std if kind in (LimitKind.CONVERGES, LimitKind.RANDOM_LIMIT) or math.isinf(std) else math.nan


def _times_scale(model: Model) -> str:
    """Return what the deviation of one step is to be multiplied by, in words, where noise changes over time."""
    constant = not np.ptp(model.noise.time_scale.pressure(np.geomspace(1.0, LATE_TIME, 8)))
    return "" if constant else " times the scale of the noise at t"


def _variance_per_step(run: LongRun) -> float | None:
    """Return by how much the variance of the common value grows in a step where pressure and rate have limits."""
    model, sequence, adaptation = run.model, run.absolute_probability, run.model.adaptation
    if adaptation is None or sequence is None:
        return None
    # Otherwise the variance does not grow by a constant amount per step.
    scale = model.noise.time_scale.growth.limit
    if not model.pressure.growth.exponent == adaptation.rate.growth.exponent == 0 or not scale:
        return None
    # The common value moves by Σ w ε/ρ, over the weights 1 + Σ w/(ρη) of the conserved sum.
    rho, eta = float(model.pressure(LATE_TIME)), adaptation.at(LATE_TIME, model.n)
    step = sequence.noise(run.deviations, run.phi) * sequence.kappa / (rho + float(np.sum(sequence.influence / eta)))
    return (step * late_scale(run)) ** 2 if math.isfinite(step) else None


_WALK = Outcome.RANDOM_WALK
_MOVING: Mapping[LimitKind, str] = {
    LimitKind.RANDOM_LIMIT: "Coming to rest in each run, at values that differ between runs",
    LimitKind.FLUCTUATES: "Moving at random forever",
    LimitKind.WALKS: "Walking at random without bound, as noise is never averaged out",
    LimitKind.DRIFTS: "Drifting ever further in the direction of frozen noise",
}
_CONVERGENCE: Mapping[bool | None, tuple[str, str]] = {
    True: ("almost surely", ""),
    False: (
        "in mean square",
        " but not almost surely: fluctuations of a given size recur forever, ever more rarely",
    ),
    None: ("in mean square", "; whether they do almost surely is not known"),
}
# What no result is known for.
_NOT_COVERED: Mapping[str, str] = {
    "process": "this random process",
    "updates": "asynchronous updates, unless it is random who updates and noise is bounded",
    "network": "noise that grows, or pressure that varies in step with the network, on a network with negative weights "
    "or several closed classes of agents",
    "noise limit": "noise whose scale has no limit here",
    "pressure limit": "pressure without a limit, or with one of 0, where the outcome depends on how it varies",
    "two clocks": "hidden opinions that adapt ever more slowly while pressure grows, where the outcome depends on how "
    "the one compares with the other",
    "fixed opinions": "agents who never adapt and whose share in the common value shrinks as pressure grows",
    "swing": "pressure under which Σ 1/ρ_t converges so slowly that the sides of the network hardly differ",
    "turns": "pressure that keeps rising and falling on a network through which opinions pass in turns, which it may "
    "weigh differently",
}
_LATE: Mapping[str, str] = {"noise": "the noise grows over time", "adaptation": "hidden opinions adapt at late times"}


def _basis(facts: Facts) -> Values:
    basis = facts.run.growth.basis
    # A sentence may begin with ρ, whose capital is another letter.
    basis = basis if basis.startswith(("ρ", "log ρ")) else basis[0].upper() + basis[1:]
    return {"basis": basis, "regime": facts.run.regime.name.lower()}


TABLE: tuple[ReasonRow[Facts], ...] = (
    # What is given.
    ReasonRow(
        "camps",
        "Negative weights divide the agents into two camps, of {first:,} and {second:,}, which hold opposite opinions. "
        "In what follows, opinions of the second camp are taken with the opposite sign.",
        lambda f: f.run.camps is not None,
        lambda f: {"first": int(np.sum(f.run.camps == 1)), "second": int(np.sum(f.run.camps == -1))},
    ),
    ReasonRow(
        "settled",
        "All agents hold the same opinion and no noise lasts, so they agree on it.",
        lambda f: f.part == "settled",
    ),
    ReasonRow("pressure_growth", "{basis}.", lambda f: f.given, _basis),
    ReasonRow(
        "network_recorded",
        "The network is a record up to t = {t:,}; what follows supposes that it stays as it is from then on.",
        lambda f: f.network == "recorded",
        lambda f: f.temporal("t"),
    ),
    ReasonRow(
        "network_repeats",
        "The network repeats every {period:,} steps.",
        lambda f: f.network == "repeats",
        lambda f: f.temporal("period"),
    ),
    ReasonRow(
        "random_network",
        "The network is a record of a random process ({process}); what follows describes the process as it goes on.",
        lambda f: f.network == "random",
        lambda f: f.temporal("process"),
    ),
    ReasonRow(
        "components",
        "It falls into {components:,} components; isolated agents among them: {single:,}.",
        lambda f: f.network in ("recorded", "repeats") and len(f.structure.components) > 1,
        lambda f: f.temporal("components", "single"),
    ),
    ReasonRow(
        "isolated_at_times",
        "Isolated at times: {agents:agents}, without a neighbour in {share:.0%} of the steps. "
        "An isolated agent {shows}.",
        lambda f: f.given and f.share_alone > 0,
        Facts.alone,
    ),
    ReasonRow(
        "beyond_record",
        "Of {steps:,} steps asked for, those after t = {t:,} are not recorded: the last network stays.",
        lambda f: f.given and f.beyond is not None,
        lambda f: f.temporal("steps", "t"),
    ),
    ReasonRow(
        "activation",
        "Updates are asynchronous: {activation}, and the others keep their public opinions.",
        lambda f: f.given and f.run.lazy,
        lambda f: {"activation": str(f.model.activation)},
    ),
    ReasonRow(
        "activation_rate",
        "The common value moves at the rate κ = {kappa:.4g}, which would be {synchronous:.4g} if everybody updated. "
        "No oscillation lasts.",
        lambda f: f.given and f.at_chance,
        lambda f: {"kappa": f.model.kappa, "synchronous": f.model.synchronous.kappa},
    ),
    ReasonRow(
        "closed_classes",
        "Closed classes, whose agents listen to each other and to nobody else: {classes:,}{alone}. "
        "Pressure makes all other agents follow these.",
        lambda f: f.part == "classes" and bool(f.run.classes),
        Facts.counted,
    ),
    ReasonRow(
        "adaptation_fades",
        "Hidden opinions adapt to others ever less, so a part of each stays forever.",
        lambda f: f.part not in ("settled", "classes") and f.structure.opinions.fades,
    ),
    ReasonRow(
        "adaptation_lasts",
        "Hidden opinions adapt forever, {but}.",
        lambda f: f.part not in ("settled", "classes") and bool(f.structure.opinions.lasting),
        Facts.never_adapting,
    ),
    # Consensus, on v or on another value.
    ReasonRow(
        "balanced",
        "Without noise, start and hidden opinions are balanced: their average, weighted by degree, stays at "
        "v = {v:.6g} under any pressure.",
        lambda f: f.part == "balanced",
        lambda f: {"v": f.v},
    ),
    ReasonRow(
        "start_forgotten",
        "Pressure grows without bound and {condition} diverges: the start is forgotten, "
        "and all agents converge to v = {v:.6g}.",
        lambda f: f.part == "CONSENSUS",
        Facts.start,
    ),
    ReasonRow(
        "activation_averages",
        "Chance in who updates moves the common value ever less, as noise does, and averages out in mean square.",
        lambda f: f.part == "CONSENSUS" and f.run.lazy,
    ),
    ReasonRow(
        "marginal_rate",
        "The start fades like exp(−κ {condition}), for which no power of t is claimed.",
        lambda f: f.at_known_rate and f.run.regime is Regime.MARGINAL,
        lambda f: {"condition": f.condition},
    ),
    ReasonRow(
        "follows_fixed_point",
        "The common value follows its fixed point, with a bias of order 1/ρ_t.",
        lambda f: f.at_known_rate and f.run.regime is Regime.SLOW,
    ),
    ReasonRow(
        "noise_fades",
        "Each agent draws its noise once, and it fades, so none is left in the common value.",
        lambda f: f.averages and f.run.phi == 1,
    ),
    ReasonRow(
        "noise_averages",
        "Noise averages out in the common value{slowly}: one step has σ̄ = {sigma:.3g}{scale}.",
        lambda f: f.averages and f.run.phi != 1,
        Facts.sigma,
    ),
    ReasonRow(
        "noise_memory",
        "AR(1) memory multiplies the variance by {factor:.3g}.",
        lambda f: f.averages and 0 < abs(f.run.phi) < 1,
        Facts.sigma,
    ),
    ReasonRow(
        "convergence",
        "Agents converge {mode}{rest}.",
        lambda f: f.averages,
        Facts.convergence,
    ),
    ReasonRow(
        "start_remembered",
        "{condition} is finite, so the start and early noise are never forgotten.",
        lambda f: f.remembers,
        lambda f: {"condition": f.condition},
    ),
    ReasonRow("phases_agree", "{why}.", lambda f: bool(f.phases_agree), lambda f: {"why": f.phases_agree}),
    ReasonRow(
        "limit_is_v",
        "Nevertheless, all agents converge to v = {v:.6g}: the limit differs from it by at most {bound:.1g}.",
        lambda f: f.part == "on v",
        Facts.bound,
    ),
    ReasonRow(
        "noise_wanders",
        "Noise grows too fast to be averaged out, σ_t²/ρ_t does not go to 0: agents agree, but on a value that "
        "keeps wandering{mean:about .6g}, while v = {v:.6g}.",
        lambda f: f.noise_in_value and f.run.noise is NoiseEffect.WANDERS,
        Facts.noisy_value,
    ),
    ReasonRow(
        "frozen_noise",
        "Each agent draws its noise once, so all agents agree on the mean of the noisy opinions: {mean:.6g} plus "
        "an error{plus}, while v = {v:.6g}.",
        lambda f: f.noise_in_value and f.run.noise is NoiseEffect.STAYS,
        Facts.noisy_value,
    ),
    ReasonRow(
        "bipartite_components",
        "{periodic:,} of {components:,} components are bipartite, and their sides keep exchanging different values.",
        lambda f: f.part == "OSCILLATION" and f.fast and f.phases is None,
        Facts.sides,
    ),
    ReasonRow(
        "limit",
        "{come}{mean:to {digit}}{std:±.2g}{over}, while v = {v:to {digit}}.",
        lambda f: f.has_value and f.common is not None,
        Facts.value,
    ),
    ReasonRow(
        "limit_depends",
        "The common value depends on {on}, and not on v = {v:.6g} alone.",
        lambda f: f.has_value and f.common is None,
        Facts.unnamed_value,
    ),
    ReasonRow("opinions_moved", "{how}.", lambda f: bool(f.moved), lambda f: {"how": f.moved}),
    ReasonRow(
        "isolated_sources",
        "However high the pressure, all public opinions can be traced back to {agents:agents} isolated at times.",
        lambda f: f.part in ("BIASED_CONSENSUS", "PERIODIC") and f.isolated_sources > 0,
        lambda f: {"agents": f.isolated_sources},
    ),
    ReasonRow(
        "degrees_change",
        "Where degrees change from step to step, opinions are not weighted by stubbornness alone.",
        lambda f: f.part == "BIASED_CONSENSUS" and f.constant and f.has_value and not (f.fast or f.isolated_sources),
    ),
    # Cycles.
    ReasonRow(
        "two_phases",
        "The network is bipartite: its two sides keep exchanging {first:to {digit}}{std:±.2g} and "
        "{second:to {digit}}{std:±.2g}{camps}, while v = {v:to {digit}}.",
        lambda f: f.phases is not None,
        lambda f: f.phases or {},
    ),
    ReasonRow(
        "phases_driven_by_noise",
        "{how}{mean:about .6g}.",
        lambda f: f.driven,
        Facts.driving,
    ),
    ReasonRow(
        "rotating_phases",
        "The network has period {period:,}: that many groups of agents listen to each other in turn, and pass "
        "different values on forever.",
        lambda f: f.turns and f.model.network.directed,
        lambda f: {"period": period_of(f.model)},
    ),
    ReasonRow(
        "several_closed_classes",
        "Public opinions circulate in several closed classes that never mix, and keep different values.",
        lambda f: f.turns and not (f.model.network.directed or f.isolated_sources),
    ),
    ReasonRow(
        "cycle",
        "Public opinions repeat a cycle of {period:,} steps; on average it runs from {low:.4g} to {high:.4g}.",
        lambda f: f.cycle,
        Facts.span,
    ),
    # Agents who stay apart, or agree within groups.
    ReasonRow(
        "noise_outgrows_pressure",
        "Noise grows at least as fast as pressure, so agents never agree.",
        lambda f: f.apart == "scatter" or (f.part == "classes" and not f.run.classes),
    ),
    ReasonRow(
        "own_opinions",
        "Every agent {shows}. Ask for a number of steps to see the public opinions before.",
        lambda f: f.apart == "isolation",
        Facts.own,
    ),
    ReasonRow("apart", "{why}{means}.", lambda f: f.apart == "opinions", Facts.span),
    ReasonRow(
        "limits_span",
        "In the long run the means of public opinions {range:span .4g}.",
        lambda f: f.spans,
        Facts.span,
    ),
    ReasonRow("fluctuation_grows", "Their scatter grows as the noise does.", lambda f: f.shaken == "grows"),
    ReasonRow("fluctuation_fades", "The noise fades, and with it their fluctuation.", lambda f: f.shaken == "fades"),
    ReasonRow("fluctuation", "{how}{deviations}.", lambda f: f.shaken == "lasts", Facts.fluctuation),
    ReasonRow(
        "own_noise",
        "Noise does not average out: {who} keep showing noise of their own, and {hidden}{mean:about .4g}{std:±.2g}.",
        lambda f: f.shaken == "own",
        Facts.own_noise,
    ),
    ReasonRow("no_fluctuation", "There is no noise to move them.", lambda f: f.still and not (f.shaken or f.follows)),
    ReasonRow(
        "follows_pressure",
        "They move with the pressure, which is not known to have a limit.",
        lambda f: f.follows,
    ),
    ReasonRow(
        "components_differ",
        "Each component has a value of its own, while v = {v:.6g}{others}.",
        lambda f: f.part == "CLUSTERS",
        Facts.unnamed,
    ),
    ReasonRow(
        "group",
        "A {group} of {agents:agents} {does}.",
        lambda f: f.part == "CLUSTERS" or (f.part == "classes" and bool(f.run.classes)),
        Facts.groups,
    ),
    ReasonRow(
        "silent_noise",
        "Listening to nobody: {agents:agents}, whose noise never averages out, so opinions keep moving about "
        "these values.",
        lambda f: f.part == "classes" and f.silent_noise,
        lambda f: {"agents": f.single_classes},
    ),
    ReasonRow(
        "transient_agents",
        "Outside of the classes: {agents:agents}, whose own opinions do not count in the long run; their mean limits, "
        "mixtures of the values of the classes, {range:span .4g}.",
        lambda f: f.transient.size > 0,
        Facts.outside,
    ),
    ReasonRow("agents_move", "{how}{up_to}: {agents:agents}.", values=Facts.moving),
    ReasonRow(
        "isolated_random_walks",
        "Agents that nobody influences adapt to their own noise forever, and drift apart.",
        lambda f: f.apart == "walks" or f.walking_alone,
    ),
    ReasonRow(
        "random_walk",
        "Hidden opinions adapt to {noise} forever: the common opinion {moves}{mean:about .4g}{further}.",
        lambda f: f.run.outcome is _WALK and f.given,
        Facts.walk,
    ),
    # What is not known.
    ReasonRow("unknown_growth", "The behaviour as t → ∞ is therefore not known.", lambda f: f.cause == "growth"),
    ReasonRow(
        "unknown_late",
        "How {what} is not known, so neither is the outcome.",
        lambda f: f.cause in _LATE,
        lambda f: {"what": _LATE[f.cause]},
    ),
    ReasonRow(
        "not_covered",
        "No result is known for {what}.",
        lambda f: f.cause in _NOT_COVERED,
        lambda f: {"what": _NOT_COVERED[f.cause]},
    ),
    ReasonRow(
        "too_large",
        "The long run is analysed for {most} only, and {what}.",
        lambda f: f.cause in ("size", "many classes", "long period"),
        Facts.size,
    ),
    ReasonRow(
        "unresolved",
        "{what}, and so the outcome is not known.",
        lambda f: f.part == "unresolved" or f.cause == "modes",
        Facts.unresolved,
    ),
    ReasonRow(
        "finite_horizon",
        "Over {steps:,} steps ρ_t goes from {first:.4g} to {last:.4g}, and the start keeps a weight of {weight:.2g} in "
        "the common value.",
        lambda f: f.part == "unknown" and not f.needs_products and f.steps is not None,
        Facts.seen,
    ),
    ReasonRow(
        "no_horizon",
        "Ask for a number of steps to see where agents are by then.",
        lambda f: f.part == "unknown" and not f.needs_products and f.steps is None,
    ),
)
