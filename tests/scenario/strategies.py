"""Scenarios as Hypothesis makes them: every section, every alternative of it."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from peerpressure.networks import NAMED
from peerpressure.recovery import METHODS

N = 12
numbers = st.floats(-1e6, 1e6)
positive = st.floats(1e-3, 1e3)
chances = st.floats(0, 1)
seeds = st.integers(0, 2**63 - 1)


def table(needed: dict[str, Any], maybe: dict[str, Any] | None = None) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(needed, optional=maybe or {})


def per_agent(values: st.SearchStrategy[float]) -> st.SearchStrategy[list[float]]:
    return st.lists(values, min_size=N, max_size=N)


networks = st.one_of(
    table({"generator": st.sampled_from(["path", "cycle", "star", "complete"]), "n": st.just(N)}),
    table({"generator": st.just("grid"), "rows": st.just(3), "columns": st.just(4)}),
    table({"generator": st.just("barabasi_albert"), "n": st.just(N), "m": st.integers(1, 4)}, {"seed": seeds}),
    table({"generator": st.just("watts_strogatz"), "n": st.just(N), "k": st.just(4), "p": chances, "seed": st.just(1)}),
    table({"generator": st.just("random_regular"), "n": st.just(N), "degree": st.just(3)}, {"seed": seeds}),
)
LASTING = 40  # steps in which every edge of these small networks is there at least once
lasting = {"steps": st.just(LASTING)}
dynamics_sections = st.one_of(
    table({"kind": st.just("failing_edges"), "probability": st.floats(0, 0.3), **lasting}, {"seed": seeds}),
    table(
        {"kind": st.just("edge_markovian"), "birth": st.floats(0.3, 1), "death": st.floats(0, 0.3), **lasting},
        {"repeat": st.booleans()},
    ),
    table({"kind": st.just("rewiring"), "rate": chances}, {"steps": st.integers(1, LASTING), "seed": seeds}),
)
changing_networks = st.one_of(
    st.builds(lambda network, dynamics: network | {"dynamics": dynamics}, networks, dynamics_sections),
    table(
        {"temporal": st.just("activity_driven"), "n": st.just(N), "floor": st.floats(0.4, 0.9), **lasting},
        {"contacts": st.integers(1, 3), "exponent": st.floats(0, 4), "seed": st.integers(0, 99)},
    ),
    table(
        {"temporal": st.just("edge_markovian"), "n": st.just(N), "birth": st.floats(0.3, 1), "death": st.floats(0, 0.3)}
        | lasting,
        {"seed": seeds},
    ),
    table({"temporal": st.just("growing"), "n": st.just(N), "m": st.integers(1, 4), **lasting}, {"seed": seeds}),
)
draws = st.one_of(
    table({"law": st.just("uniform"), "low": st.floats(-1e3, 0), "high": st.floats(0, 1e3)}, {"seed": seeds}),
    table({"law": st.just("normal")}, {"mean": numbers, "std": positive}),
    table({"law": st.just("two_camps")}, {"low": numbers, "high": numbers, "share": chances, "std": positive}),
    per_agent(numbers),
)
spreads = st.one_of(
    table({"law": st.just("uniform"), "low": positive, "high": st.just(1e3)}), per_agent(positive), positive
)
agents = table({}, {"hidden": draws, "stubbornness": spreads, "start": st.one_of(st.just("hidden"), draws)}).filter(
    # Two lists are often the same one, which privacy accounts refuse.
    lambda drawn: not (isinstance(drawn.get("hidden"), list) and isinstance(drawn.get("start"), list))
)
rates = st.one_of(
    chances,
    st.sampled_from(["0.1/t", "1/(1 + t)", "exp(-t)"]),
    table({"kind": st.just("power"), "exponent": st.floats(-2, 0)}, {"scale": st.floats(0.01, 1)}),
    table({"kind": st.just("table"), "values": st.lists(chances, min_size=50, max_size=50)}),
)
adaptation_weights = st.one_of(
    chances,
    per_agent(chances),
    table({"law": st.just("two_camps")}, {"low": chances, "high": chances, "share": chances}),
    table({"law": st.just("uniform"), "low": st.just(0.0), "high": chances}),
)
adaptations = st.one_of(
    chances, st.sampled_from(["0.1/t", "0.01"]), table({"rate": rates}, {"adaptation_weight": adaptation_weights})
)
adapting_agents = st.builds(lambda one, two: one | {"adaptation": two}, agents, adaptations)
scales = st.one_of(
    table({"kind": st.just("constant"), "value": st.floats(0, 1e3)}),
    table({"kind": st.just("linear")}, {"slope": positive, "offset": st.floats(0, 1e3)}),
    table({"kind": st.just("power"), "exponent": st.floats(-3, 3)}, {"scale": positive}),
    table({"kind": st.just("logarithmic")}, {"scale": positive}),
    table({"kind": st.just("stretched_exponential")}, {"base": st.floats(1.1, 3), "exponent": st.floats(0.1, 1)}),
    table({"kind": st.just("table"), "values": st.lists(st.floats(0, 1e3), min_size=50, max_size=50)}),
    table({"formula": st.sampled_from(["t", "2^sqrt(t)", "t*log(1 + t)", "1 + t/3"])}),
)
pressures = st.one_of(scales, table({"kind": st.just("tuned")}))
kinds = st.one_of(st.sampled_from(["white", "frozen"]), table({"ar1": st.floats(-0.99, 0.99)}))
drawn = {"std": st.one_of(st.floats(0, 1e3), per_agent(st.floats(0, 1e3))), "temporal": kinds, "time_scale": scales}
noises = st.one_of(
    table({"law": st.sampled_from(["gaussian", "laplace", "uniform", "rademacher"])}, drawn),
    table({"law": st.just("student")}, drawn | {"df": st.floats(2.1, 50)}),
    table({"law": st.just("custom"), "distribution": st.just("logistic")}, {"temporal": kinds}),
    table({"law": st.just("none")}),
)
runs = table({"steps": st.integers(1, 50)}, {"replicates": st.integers(1, 9), "seed": seeds})
priors = st.one_of(
    table({"mean": numbers, "variance": positive}), table({"low": st.floats(-9, 0), "high": st.floats(0.1, 9)})
)
observers = table(
    {},
    {
        "agents": st.lists(st.integers(0, N - 1), min_size=1, unique=True),
        "rounding": st.floats(0, 1),
        "methods": st.lists(st.sampled_from([*METHODS]), min_size=1, unique=True),
        "prior": priors,
    },
)
more = {
    "observe": observers,
    "privacy": table({"public_start": st.just(True)}, {"sensitivity": positive, "delta": st.floats(1e-9, 0.5)}),
    "output": table({}, {"folder": st.text(min_size=1), "figures": st.booleans()}),
}
in_rounds = table(
    {"network": st.one_of(networks, changing_networks), "run": runs},
    {
        "agents": st.one_of(agents, adapting_agents),
        "pressure": pressures,
        "noise": noises,
        **more,
    },
)
times = table(
    {},
    {
        "continuous": st.booleans(),
        "step": st.floats(0.01, 1),
        "scaling": st.sampled_from(["printed", "model"]),
        "method": st.sampled_from(["auto", "exact", "taylor", "euler"]),
    },
)
flowing_noise = table({"law": st.just("gaussian")}, {"std": drawn["std"]})
in_flowing_time = table(
    {"network": networks, "run": runs, "time": times},
    {
        "agents": agents,
        "pressure": pressures,
        "noise": st.one_of(flowing_noise, table({"law": st.just("none")})),
        **more,
        "observe": table({}, {"methods": st.just(["kalman"]), "prior": priors}),
    },
)
scenarios = st.one_of(in_rounds, in_flowing_time)
named = st.builds(lambda name: {"named": name}, st.sampled_from([*NAMED]))
