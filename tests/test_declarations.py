"""A new member of a family is one class or function and one entry in its table; everything else is derived.

New members are those of the guide for contributors, in a copy of the package, and a generator that is added in a
process of its own before anything reads the tables.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

import pytest

import peerpressure as pp
from peerpressure.errors import InvalidInputError
from peerpressure.networks import DYNAMICS, GENERATORS, TEMPORAL
from peerpressure.noise import LAWS
from peerpressure.schedules import SCHEDULES
from peerpressure.support.parameters import Parameter, summary, with_defaults
from tests import waiting

PACKAGE = Path(pp.__file__).parent
ROOT = Path(__file__).parents[1]
GUIDE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")

GENERATOR = """
import numpy as np

from peerpressure import networks
from peerpressure.networks import Generator, Network
from peerpressure.support.parameters import Parameter, Slider


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
from peerpressure import noise

scenario = read(noise="law = 'logistic'\\nstd = 0.5\\ntemporal = { ar1 = 0.5 }")
assert scenario.model().noise == noise.Logistic(0.5, temporal=noise.AR1(0.5))
assert parse_scenario(scenario.to_toml()) == scenario
assert "did you mean 'std'?" in problem(noise="law = 'logistic'\\nstdd = 1")["noise.stdd"]
assert "logistic" in schema_text()
assert "logistic" in starter_text()
assert command("--network", "k2", "--noise", "logistic:1")[0] == 0
assert "logistic:STD" in command("--network", "k2", "--noise", "logistic:1:1")[1]
title, blurb, sliders = offered("noises", "logistic")
assert (title, [*sliders]) == ("Logistic", ["std"]) and "tails" in blurb
"""

GUIDE_CHECKS = """
import pandas as pd
from peerpressure.plotting import draw

model = pp.Model(pp.networks.cycle(6), range(6), pressure=Saturating(5), noise=noise.Logistic(0.5))
assert pp.diagnose(model).outcome.name == "DISAGREEMENT"
# A table in place of a simulation, whose kernels would have to be loaded.
seen = pp.Trajectory.from_dataframe(pd.DataFrame({"time": range(1, 9)} | {i: 0.5 for i in range(6)}), model)
assert pp.recover(seen, model, "recent").method == "recent"
draw("spreads", {"paths": pd.DataFrame({"run": "one", "time": [1, 2], "minimum": [0, 0.4], "maximum": [1, 0.6]})})
"""

SCHEDULE_CHECKS = """
from peerpressure import schedules
from peerpressure.schedules import Saturating

scenario = read(pressure="kind = 'saturating'\\nlimit = 4.0")
assert scenario.model().pressure == Saturating(4.0)
assert parse_scenario(scenario.to_toml()) == scenario
assert schedules.schedule_from_dict(Saturating(4.0).to_dict()) == Saturating(4.0)
assert "must be above 0" in problem(pressure="kind = 'saturating'\\nlimit = 0")["pressure.limit"]
assert "missing" in problem(pressure="kind = 'saturating'")["pressure.limit"]
assert "half-time (steps)" in schema_text()
assert "saturating" in starter_text()
status, text = command("--network", "k2", "--pressure", "saturating:4:20")
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
assert command("--network", "w:5")[0] == 0
assert "wheel:SPOKES" in command("--network", "wheel")[1]
title, blurb, sliders = offered("generators", "wheel")
assert (title, sliders) == ("Wheel", {"spokes": 12}) and "ring" in blurb
try:
    Limits(agents=100).check_network(read("generator = 'wheel'\\nspokes = 100").network, 5)
except RequestError as error:
    assert "101" in str(error)
else:
    raise AssertionError("the limit on agents should apply")
"""


def test_new_members_are_known_everywhere(tmp_path: Path) -> None:
    # With compiled modules, but not kernels.
    shutil.copytree(PACKAGE, tmp_path / "src" / "peerpressure", ignore=shutil.ignore_patterns("*.nbi", "*.nbc"))
    changes = re.findall(r"\]\((.*\.diff)\)", GUIDE)
    assert len(changes) == 4
    for change in changes:
        applied = waiting.run(["git", "apply", str(ROOT / change)], cwd=tmp_path)
        assert applied.returncode == 0, f"{applied.stderr}\n{change}"
    checks = LAW_CHECKS + SCHEDULE_CHECKS + GENERATOR_CHECKS + GUIDE_CHECKS
    code, environment = GENERATOR + READERS + checks, os.environ | {"PYTHONPATH": str(tmp_path / "src")}
    done = waiting.run([sys.executable, "-c", code], env=environment)
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
