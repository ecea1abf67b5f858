"""A new member of a family is one class or function and one entry in its table; everything else is derived.

Toy members are added in a process of its own, before anything reads the tables.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from peerpressure.errors import InvalidInputError
from peerpressure.networks import DYNAMICS, GENERATORS, TEMPORAL
from peerpressure.noise import LAWS
from peerpressure.parameters import Parameter, summary, with_defaults
from peerpressure.schedules import SCHEDULES

LAW = '''
from dataclasses import dataclass
from typing import ClassVar

from peerpressure import noise
from peerpressure.errors import NoiseError
from peerpressure.noise import Noise
from peerpressure.noise._laws import STD
from peerpressure.parameters import Parameter, Slider

BETA = Parameter("beta", "real", "shape", "2 is a normal law", above=0, slider=Slider(0.5, 8.0, 0.1))


@dataclass(frozen=True, eq=False, init=False)
class GeneralisedNormal(Noise):
    """Generalised normal noise, with the density ∝ exp(−|u|^beta)."""

    law: ClassVar[str] = "generalised_normal"
    title: ClassVar[str] = "Generalised normal"
    parameters: ClassVar[tuple[Parameter, ...]] = (STD, BETA)
    beta: float

    def __init__(self, std=1.0, *, beta=2.0, time_scale=1.0, temporal="white"):
        Noise.__init__(self, std, time_scale=time_scale, temporal=temporal)
        object.__setattr__(self, "beta", BETA.check(beta, NoiseError))

    def unit(self):
        from scipy import stats

        return stats.gennorm(self.beta, scale=1 / stats.gennorm(self.beta).std())


noise.LAWS = noise.LAWS | {"generalised_normal": GeneralisedNormal}
'''

SCHEDULE = '''
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from peerpressure import schedules
from peerpressure.parameters import Parameter, Slider
from peerpressure.schedules import Growth, Schedule


@dataclass(frozen=True)
class Saturating(Schedule):
    """Pressure that approaches a limit, ρ_t = limit·t/(half + t)."""

    limit: float
    half: float = 10.0
    kind: ClassVar[str] = "saturating"
    title: ClassVar[str] = "Saturating"
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter("limit", "real", "limit", above=0, slider=Slider(0.1, 100.0, 0.1, start=5.0, log=True)),
        Parameter("half", "real", "half-time", above=0, unit="steps", slider=Slider(1.0, 100.0, 1.0)),
    )

    def pressure(self, t):
        return self.limit * t / (self.half + t)

    def log_pressure(self, t):
        return np.log(self.pressure(t))

    @property
    def growth(self):
        return Growth(True, True, True, basis="ρ_t is bounded by its limit")

    @property
    def formula_text(self):
        return f"{self.limit:g} t/({self.half:g} + t)"


schedules.SCHEDULES = schedules.SCHEDULES | {"saturating": Saturating}
'''

GENERATOR = """
import numpy as np

from peerpressure import networks
from peerpressure.networks import Generator, Network
from peerpressure.parameters import Parameter, Slider


def wheel(spokes):
    networks.GENERATORS["wheel"].check(spokes=spokes)
    rim = np.arange(1, spokes + 1)
    ends = np.concatenate([np.zeros(spokes, int), rim]), np.concatenate([rim, rim % spokes + 1])
    return Network.from_edges(ends)


networks.GENERATORS = {
    **networks.GENERATORS,
    "wheel": Generator(
        wheel,
        "Wheel",
        "One agent in the middle of a ring.",
        lambda spokes: 2 * spokes,
        (Parameter("spokes", "whole", "spokes", at_least=3, slider=Slider(3, 1_000, start=12, log=True)),),
        agents=lambda spokes: spokes + 1,
        short="w",
    ),
}
"""

READERS = """
import io
from contextlib import redirect_stderr, redirect_stdout

import peerpressure as pp
from peerpressure import cli
from peerpressure.explorer.catalogue import catalogue
from peerpressure.explorer.protocol import Limits, RequestError
from peerpressure.scenario import ScenarioError, parse_scenario, schema_text, starter_text


def read(network="generator = 'k2'", **sections):
    text = "".join(f"[{name}]\\n{keys}\\n" for name, keys in sections.items())
    return parse_scenario(f"[network]\\n{network}\\n{text}[run]\\nsteps = 5\\n")


def problem(**sections):
    try:
        read(**sections)
    except ScenarioError as error:
        return {one.path: one.message for one in error.problems}
    raise AssertionError("this scenario should not be valid")


def command(*words):
    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(out):
        status = cli.invoke(["diagnose", *words])
    return status, out.getvalue()


def offered(family, name):
    row = next(row for row in catalogue(Limits())[family] if row["id"] == name)
    return row["title"], row["blurb"], {slider["name"]: slider["default"] for slider in row["parameters"]}
"""

LAW_CHECKS = """
scenario = read(noise="law = 'generalised_normal'\\nstd = 0.5\\nbeta = 1.5\\ntemporal = { ar1 = 0.5 }")
assert scenario.model().noise == GeneralisedNormal(0.5, beta=1.5, temporal=noise.AR1(0.5))
assert parse_scenario(scenario.to_toml()) == scenario
assert "must be above 0" in problem(noise="law = 'generalised_normal'\\nbeta = 0")["noise.beta"]
assert "did you mean 'beta'?" in problem(noise="law = 'generalised_normal'\\nbet = 1")["noise.bet"]
assert "2 is a normal law" in schema_text()
assert "generalised_normal" in starter_text()
assert command("--graph", "k2", "--noise", "generalised_normal:1:1.5")[0] == 0
assert "generalised_normal:STD:BETA" in command("--graph", "k2", "--noise", "generalised_normal:1:1:1")[1]
title, blurb, sliders = offered("noises", "generalised_normal")
assert (title, sliders) == ("Generalised normal", {"std": 0.5, "beta": 2.0}) and "density" in blurb
run = pp.simulate(pp.Model(pp.networks.k2(), [0, 1], noise=GeneralisedNormal(beta=8.0)), steps=800, seed=1)
assert abs(run.spread).max() < 10
assert abs(pp.recover(run, run.model, "likelihood").residuals()).max() < 0.2
"""

SCHEDULE_CHECKS = """
scenario = read(pressure="kind = 'saturating'\\nlimit = 4.0")
assert scenario.model().pressure == Saturating(4.0)
assert parse_scenario(scenario.to_toml()) == scenario
assert schedules.schedule_from_dict(Saturating(4.0).to_dict()) == Saturating(4.0)
assert "must be above 0" in problem(pressure="kind = 'saturating'\\nlimit = 0")["pressure.limit"]
assert "needed" in problem(pressure="kind = 'saturating'")["pressure.limit"]
assert "half-time (steps)" in schema_text()
assert "saturating" in starter_text()
status, text = command("--graph", "k2", "--pressure", "saturating:4:20")
assert status == 0 and "4 t/(20 + t)" in text, text
title, blurb, sliders = offered("schedules", "saturating")
assert (title, sliders) == ("Saturating", {"limit": 5.0, "half": 10.0}) and "approaches" in blurb
"""

GENERATOR_CHECKS = """
scenario = read("generator = 'wheel'\\nspokes = 5")
assert (scenario.graph.n, scenario.graph.edge_count) == (6, 10)
assert parse_scenario(scenario.to_toml()) == scenario
assert "at least 3, got 2" in problem(network="generator = 'wheel'\\nspokes = 2")["network.spokes"]
assert "One agent in the middle of a ring." in schema_text()
assert "wheel" in starter_text()
assert command("--graph", "w:5")[0] == 0
assert "wheel:SPOKES" in command("--graph", "wheel")[1]
title, blurb, sliders = offered("generators", "wheel")
assert (title, sliders) == ("Wheel", {"spokes": 12}) and "ring" in blurb
try:
    Limits(agents=100).check_network(read("generator = 'wheel'\\nspokes = 100").network, 5)
except RequestError as error:
    assert "101" in str(error)
else:
    raise AssertionError("the limit on agents should apply")
"""


def test_toy_members_are_known_everywhere() -> None:
    code = LAW + SCHEDULE + GENERATOR + READERS + LAW_CHECKS + SCHEDULE_CHECKS + GENERATOR_CHECKS
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


MEMBERS = [
    *((kind, member, member.parameters, member.title, summary(member)) for kind, member in SCHEDULES.items()),
    *((law, member, member.parameters, member.title, summary(member)) for law, member in LAWS.items()),
    *(
        (name, one.build, one.parameters, one.title, one.help)
        for table in (GENERATORS, DYNAMICS, TEMPORAL)
        for name, one in table.items()
    ),
]


@pytest.mark.parametrize("member", MEMBERS, ids=lambda member: member[0])
def test_every_member_is_described_and_its_sliders_are_legal(member: tuple[object, ...]) -> None:
    _, build, parameters, title, description = member
    assert title
    assert str(description).endswith(".")
    for one in with_defaults(build, parameters):  # type: ignore[arg-type]
        assert one.title
        if one.slider is not None:
            for value in (one.slider.minimum, one.slider.maximum):
                assert one.check(value) == value
            start = one.default if one.slider.start is None else one.slider.start
            assert one.slider.minimum <= start <= one.slider.maximum


@pytest.mark.parametrize(
    ("parameter", "value", "says"),
    [
        (Parameter("n", "whole", "", at_least=2), 1, "n must be a whole number of at least 2, got 1"),
        (Parameter("n", "whole", ""), 2.0, "whole number, got 2.0"),
        (Parameter("n", "whole", ""), True, "whole number, got True"),
        (Parameter("n", "whole", "", at_most=10**18), 10**400, "at most 1e+18, got 1000"),
        (Parameter("x", "real", "", above=0, below=1), 1, "a finite number above 0 and below 1, got 1"),
        (Parameter("x", "real", ""), float("nan"), "finite number, got nan"),
        (Parameter("x", "real", ""), 10**400, "finite number, got 1000"),
        (Parameter("x", "real", ""), "3", "finite number, got '3'"),
        (Parameter("p", "probability", "", above=0), 0, "p must be a probability above 0, got 0; give a number from"),
        (Parameter("p", "probability", "", remedy="toss a coin"), 1.5, "got 1.5; toss a coin"),
    ],
)
def test_an_illegal_value_is_reported_with_rule_value_and_remedy(
    parameter: Parameter, value: object, says: str
) -> None:
    with pytest.raises(InvalidInputError) as caught:
        parameter.check(value)
    assert says in str(caught.value)
