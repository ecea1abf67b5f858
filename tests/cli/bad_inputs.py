"""Bad inputs and the answers to them: one table of cases, whose answers stand beside it in bad_inputs.md.

``python -m tests.cli.bad_inputs`` writes that file.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from peerpressure import cli
from peerpressure.sweep._ledger import LEDGER, LOCK

PAGE = Path(__file__).with_suffix(".md")
# A valid scenario by section; a case replaces some of them.
SECTIONS = {"network": 'generator = "cycle"\nn = 6', "run": "steps = 5"}
FRIENDS = "source,target\nann,bob\nbob,cem\ncem,ann\n"
NAMED = {"network": 'file = "friends.csv"'}
OBSERVED = "time,agent,public\n" + "".join(f"{t},{i},{0.1 * i + 0.01 * t:g}\n" for t in range(1, 4) for i in range(6))
SWEEP = 'scenario = "a.toml"\n[measure]\nnames = ["spread"]\n'
INTRODUCTION = """# Bad inputs

What the command line answers to wrong files and options: one line for each problem, with the rule, the value and the
remedy. The exit status is 2 for a wrong argument or file, and 1 for what fails for another reason. Nothing is computed
or written. In braces are the lines of a scenario `a.toml` whose other sections are valid, and `/` is a line break. This
page is generated from the cases that are tested, with `python -m tests.cli.bad_inputs`.
"""
# Texts of libraries, which differ between versions and systems.
LIBRARIES = re.compile(
    r"(?<=got )\w+(Error|File): .*?(?=; check)|(?<=not TOML: ).*?(?=; correct)|\((No such|Is a) .*?\)"
)


class Case(NamedTuple):
    """A bad input: how it is shown, the command line, and the files that it needs."""

    input: str
    command: str
    files: Mapping[str, str | bytes] = {}
    status: int = 2


class Answer(NamedTuple):
    """The exit status, the lines that were printed, and the files that the case did not have like this."""

    status: int
    lines: list[str]
    written: list[str]


def scenario(
    text: str = "", *, files: Mapping[str, str | bytes] = {}, command: str = "run a.toml", **sections: str
) -> Case:
    """Return the case of a scenario with some sections; a text replaces the whole file."""
    parts = SECTIONS | sections
    content = text or "".join(f"[{name}]\n{lines}\n" for name, lines in parts.items())
    changed = " ".join(f"[{name}] {' / '.join(lines.splitlines())}" for name, lines in sections.items())
    shown = "; ".join([f"{{{changed or ' / '.join(text.splitlines())}}}", *_tables(files)])
    return Case(shown, command, {"a.toml": content, **files})


def network_file(name: str, content: str | bytes, more: str = "") -> Case:
    """Return the case of a file of a network."""
    return scenario(network=f'file = "{name}"' + more, files={name: content})


def agents(lines: str, **files: str) -> Case:
    """Return the case of values of agents; ``people`` is the table people.csv of a network with names."""
    if "people" in files:
        return scenario(**NAMED, agents=lines, files={"friends.csv": FRIENDS, "people.csv": files["people"]})
    return scenario(agents=lines)


def outputs(content: str | bytes, options: str = "", sections: Mapping[str, str] = {}) -> Case:
    """Return the case of a table of observed outputs."""
    noisy = {"noise": 'law = "gaussian"', **sections}
    case = scenario(**noisy, command=f"recover o.csv --scenario a.toml {options}".strip(), files={"o.csv": content})
    return case._replace(input="; ".join(_tables({"o.csv": content})) or "valid outputs")


def sweep(content: str, command: str = "sweep s.toml") -> Case:
    """Return the case of a sweep file."""
    base = "".join(f"[{name}]\n{lines}\n" for name, lines in SECTIONS.items())
    return Case(f"s.toml: {' / '.join(content.splitlines())}", command, {"a.toml": base, "s.toml": content})


def option(command: str, files: Mapping[str, str | bytes] = {}, status: int = 2) -> Case:
    """Return the case of an option."""
    valid = any("/" not in name for name in files)
    return Case("files that are valid" if valid else "no file", command, files, status)


def _tables(files: Mapping[str, str | bytes]) -> Iterator[str]:
    for name, content in files.items():
        if isinstance(content, bytes):
            yield f"{name}: {content[:24]!r}"
        elif len(content) < 160:
            yield f"{name}: {' / '.join(content.splitlines()) or 'empty'}"


VALID = {"a.toml": "".join(f"[{name}]\n{lines}\n" for name, lines in SECTIONS.items())}
SWEPT = VALID | {"s.toml": SWEEP}
AXIS = '[[axis]]\nfield = "{}"\nvalues = {}\n'
GRAPHML = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="undirected">{}</graph></graphml>'

LISTED = {"edges.csv": "source,target,weight\nann,bob,2\nbob,cat,1\n"}
ROUNDS = {"answers.csv": "person,group,question,before,after\nann,1,1,2,3\nbob,1,1,4,3\ncat,1,1,3,3\n"}

CASES: Mapping[str, list[Case]] = {
    "The file itself": [
        scenario("[network\n"),
        scenario("[network]\nn = 6\nn = 7\n"),
        scenario("steps = 5 apples\n"),
        scenario("# nothing\n"),
        scenario('[network]\ngenerator = "cycle"\nn = 6\n'),
        scenario("[run]\nsteps = 5\n"),
        scenario("network = 3\n[run]\nsteps = 5\n"),
        scenario(netwrk='generator = "cycle"'),
        Case("a.toml: text in Latin-1", "run a.toml", {"a.toml": b"# caf\xe9\n"}),
        Case("a.toml: binary data", "run a.toml", {"a.toml": b"\x00\xff\xfe\x01"}),
        Case("no file", "run none.toml"),
        Case("a folder", "run folder", {"folder/x.txt": ""}),
        Case("a sweep, not a scenario", "run s.toml", SWEPT),
        Case("a sweep, not a scenario", "diagnose s.toml", SWEPT),
        Case("a sweep, not a scenario", "recover o.csv --scenario s.toml", SWEPT),
        Case("no file", "check none.toml"),
        Case("no file", "diagnose none.toml"),
        Case("no file", "recover o.csv --scenario none.toml"),
        Case("a folder", "check folder", {"folder/x.txt": ""}),
        *(
            Case("a.toml: text in Latin-1", f"{command} a.toml", {"a.toml": b"# caf\xe9\n"})
            for command in ("check", "diagnose", "recover o.csv --scenario", "sweep")
        ),
    ],
    "[network]": [
        scenario(network='generator = "ring"\nn = 6'),
        scenario(network='generator = "BA"\nn = 6'),
        scenario(network='generator = "torus"\nn = 6'),
        scenario(network="n = 6"),
        scenario(network='generator = "cycle"'),
        scenario(network='generator = "cycle"\nn = 0'),
        scenario(network='generator = "cycle"\nn = -3'),
        scenario(network='generator = "cycle"\nn = 2.5'),
        scenario(network='generator = "cycle"\nn = "ten"'),
        scenario(network='generator = "cycle"\nn = true'),
        scenario(network='generator = "cycle"\nn = 6\nm = 2'),
        scenario(network='generator = "barabasi_albert"\nn = 5\nm = 9'),
        scenario(network='generator = "barabasi_albert"\nn = 5\nm = 0'),
        scenario(network='generator = "erdos_renyi"\nn = 9\np = 1.5'),
        scenario(network='generator = "erdos_renyi"\nn = 30\np = 0.01'),
        scenario(network='generator = "watts_strogatz"\nn = 9\nk = 3\np = 0.1'),
        scenario(network='generator = "watts_strogatz"\nn = 9\nk = 20\np = 0.1'),
        scenario(network='generator = "random_regular"\nn = 7\ndegree = 3'),
        scenario(network='generator = "cycle"\nn = 6\nseed = -1'),
        scenario(network='generator = "cycle"\nn = 6\nfile = "friends.csv"'),
        scenario(network='named = "karat"'),
        scenario(network="edges = [[0, 0], [0, 1]]"),
        scenario(network="edges = [[0, 1, -2]]"),
        scenario(network="edges = [[0]]"),
        scenario(network="edges = []"),
        scenario(network='edges = [[0, 1], [1, 2]]\nlabels = ["a", "b"]'),
        scenario(network='edges = [[0, 1], [1, 2]]\nlabels = ["a", "b", "a"]'),
        scenario(network='generator = "cycle"\nn = 6\ndynamics = { kind = "failing" }'),
        scenario(network='generator = "cycle"\nn = 6\ndynamics = { kind = "failing_edges", probability = 1.5 }'),
        scenario(network='temporal = "growth"\nn = 6'),
    ],
    "Files of networks": [
        scenario(network='file = "none.csv"'),
        network_file("friends.csv", ""),
        network_file("friends.csv", "source,target\n"),
        network_file("friends.csv", "name\nann\nbob\n"),
        network_file("friends.csv", "source,target,weight\nann,bob,heavy\n"),
        network_file("friends.csv", "source,target,weight\nann,bob,-1\n"),
        network_file("friends.csv", "source,target,weight\nann,bob,nan\n"),
        network_file("friends.csv", "source,target,weight\nann,bob,inf\n"),
        network_file("friends.csv", "source,target,weight\nann,bob,\n"),
        network_file("friends.csv", "source;target;weight\nann;bob;1.234\nbob;cem;2.345\n"),
        network_file("friends.csv", "source,target,closeness\nann,bob,3\nbob,cem,2\n"),
        network_file("friends.csv", "person_a,person_b,age\nann,bob,31\nbob,cem,42\n"),
        network_file("friends.csv", "source,target\nann,bob\nsource,target\nbob,cem\n"),
        network_file("friends.csv", "source,target\nann,ann\nann,bob\n"),
        network_file("friends.csv", "source,target,weight\nann,bob,1\nbob,ann,2\n"),
        network_file("friends.csv", "source,target\nann,bob,cem,dan\n"),
        network_file("friends.csv", b"\x89PNG\r\n\x1a\n\x00\x00"),
        network_file("friends.csv.gz", "no archive"),
        network_file("friends.graphml", "<graphml><node"),
        network_file("friends.graphml", "<html></html>"),
        network_file("friends.graphml", GRAPHML.format('<node id="a"/><node id="b"/>')),
        network_file("friends.gexf", "<gexf/>"),
        network_file("friends.gml", "graph [ node [ id 0 ]"),
        network_file("friends.net", "*Vertices 2\n*Edges\n1 7\n"),
        network_file("friends.mtx", "%%MatrixMarket\n1 2\n"),
        network_file("friends.npy", b"\x93NUMPY\x01\x00"),
        network_file("friends.npz", b"PK\x03\x04"),
        network_file("friends.docx", "ann bob\n"),
        scenario(network='contacts = "c.csv"', files={"c.csv": "source,target\nann,bob\n"}),
        scenario(network='contacts = "c.csv"', files={"c.csv": "time,source,target\nsoon,ann,bob\n"}),
        scenario(network='contacts = "c.csv"\ncolumns = ["time"]', files={"c.csv": "1 2 3\n2 3 1\n"}),
        scenario(network='contacts = "c.csv"', files={"c.csv": "time,source,target\n1,ann,bob\n2,cem,dan\n"}),
        scenario(network='contacts = "c.csv"\nresolution = 0', files={"c.csv": "time,source,target\n1,ann,bob\n"}),
        scenario(network='events = "e.csv"', files={"e.csv": "time,source,target,weight\n0,ann,bob,1\n"}),
    ],
    "[agents]": [
        agents("hidden = [0.1, 0.2]"),
        agents("hidden = [0, 1, 2, 3, 4, nan]"),
        agents('hidden = "high"'),
        agents('hidden = { law = "unifrm" }'),
        agents('hidden = { law = "gaussian" }'),
        agents('hidden = { law = "uniform", low = 1, high = 0 }'),
        agents('hidden = { law = "normal", std = -1 }'),
        agents('hidden = { law = "two_camps", share = 2 }'),
        agents('hidden = { file = "none.csv", column = "opinion" }'),
        agents('hidden = { file = "people.csv" }', people="name,opinion\nann,1\nbob,2\ncem,3\n"),
        agents('hidden = { file = "people.csv", column = "age" }', people="name,opinion\nann,1\nbob,2\ncem,3\n"),
        agents('hidden = { file = "people.csv", column = "opinion" }', people="name,opinion\nann,1\nbob,2\n"),
        agents(
            'hidden = { file = "people.csv", column = "opinion" }', people="name,opinion\nann,1\nbob,2\ncem,3\nann,4\n"
        ),
        agents('hidden = { file = "people.csv", column = "opinion" }', people="name,opinion\nann,1\nbob,2\ncem,yes\n"),
        agents('hidden = { file = "people.csv", column = "opinion" }', people="name,opinion\nann,1\nbob,2\ncem,\n"),
        agents('hidden = { file = "people.csv", column = "opinion" }', people="opinion\n1\n2\n3\n"),
        agents(
            'hidden = { file = "people.csv", column = "opinion", by = "id" }', people="name,opinion\nann,1\nbob,2\n"
        ),
        agents('hidden = { attribute = "opinion" }'),
        agents("stubbornness = 0"),
        agents("stubbornness = -1"),
        agents("stubbornness = [1, 2]"),
        agents("adaptation = 2"),
        agents("adaptation = -0.1"),
        agents('adaptation = "0.1/"'),
        agents("hidden = [[0, 1], [0, 1]]"),
        scenario(topics="matrix = [[0.5, 0.6], [0.0, 1.0]]"),
        scenario(topics='names = ["tax"]', agents="hidden = [[0, 1]]"),
        agents('start = "public"'),
        agents("opinions = [1]"),
    ],
    "[pressure], [noise] and [time]": [
        scenario(pressure='kind = "liner"'),
        scenario(pressure='kind = "linear"\nslope = -1'),
        scenario(pressure='kind = "linear"\nslope = "steep"'),
        scenario(pressure='formula = "t +"'),
        scenario(pressure="formula = \"__import__('os')\""),
        scenario(pressure='formula = "x"'),
        scenario(pressure='formula = "1 - t"'),
        scenario(pressure='formula = "log(t - 2)"'),
        scenario(pressure='kind = "table"\nvalues = [1, 2]'),
        scenario(pressure='kind = "table"\nvalues = []'),
        scenario(noise='law = "gausian"'),
        scenario(noise='law = "normal"'),
        scenario(noise='law = "gaussian"\nstd = -1'),
        scenario(noise='law = "gaussian"\nstd = inf'),
        scenario(noise='law = "gaussian"\nstd = [1, 2]'),
        scenario(noise='law = "student"\ndf = 1'),
        scenario(noise='law = "gaussian"\ntemporal = "pink"'),
        scenario(noise='law = "gaussian"\ntemporal = { ar1 = 1 }'),
        scenario(noise='law = "custom"\ndistribution = "nrom"'),
        scenario(noise='law = "laplace"', time="continuous = true"),
        scenario(time="continuous = true\nstep = 0"),
        scenario(time='continuous = true\nscaling = "other"'),
    ],
    "[run], [observe], [privacy] and [output]": [
        scenario(run="steps = 0"),
        scenario(run="steps = 1.5"),
        scenario(run='steps = "many"'),
        scenario(run="steps = 5\nreplicates = 0"),
        scenario(run="steps = 5\nseed = -1"),
        scenario(run='steps = 5\nrecord = "some"'),
        scenario(run="steps = 5\nrecord = { every = 0 }"),
        scenario(run="step = 5"),
        scenario(observe='methods = ["olz"]'),
        scenario(observe="agents = [99]"),
        scenario(observe="first_step = 9"),
        scenario(observe="prior = { low = 1.0, high = 0.0 }"),
        scenario(observe="rounding = -1"),
        scenario(observe='target = "final"'),
        scenario(observe="", run='steps = 5\nrecord = "final"'),
        scenario(privacy="delta = 2"),
        scenario(privacy="sensitivity = 0"),
        scenario(output='figures = "yes"'),
        scenario(output='formats = ["jpg"]'),
        scenario(output="folder = 3"),
    ],
    "Observed outputs": [
        Case("no table", "recover --scenario a.toml", VALID),
        Case("no model", "recover o.csv --network k2", VALID),
        Case("no file", "recover none.csv --scenario a.toml", VALID),
        outputs(""),
        outputs("time,agent\n1,0\n"),
        outputs("when,agent,public\n1,0,0.5\n"),
        outputs("time,agent,public\n1,99,0.5\n"),
        outputs("time,agent,public\n1,zoe,0.5\n"),
        outputs("time,agent,public\n1,0,high\n"),
        outputs("time,agent,public\n1,0,0.5\n1,0,0.6\n"),
        outputs("time,agent,public\n-1,0,0.5\n"),
        outputs("time,agent,public\n1.5,0,0.5\n"),
        outputs("time,agent,public\n2024-03-04,0,0.5\n2024-03-05,1,0.4\n"),
        outputs("time,agent,public\n2024-03-04,0,0.5\n2024-03-05,1,0.4\n", "--step '1 fortnight'"),
        outputs("time,agent,public\n2024-03-04,0,0.5\n2024-03-05,1,0.4\n", "--step '7 days'"),
        outputs("time,agent,public\n1709510400,0,0.5\n1709596800,1,0.4\n"),
        outputs(OBSERVED, "--method olz"),
        outputs(OBSERVED, "--target final"),
        outputs(OBSERVED, "--figure fit.docx"),
        outputs(OBSERVED, "--unknown-network --method ols"),
        outputs(OBSERVED, sections={"noise": 'law = "none"'}),
    ],
    "Sweeps": [
        Case("no file", "sweep none.toml"),
        *(
            Case("a scenario, not a sweep", f"sweep{name} a.toml", VALID)
            for name in ("", " status", " collect", " plot")
        ),
        sweep('scenario = "a.toml"\n'),
        sweep('[measure]\nnames = ["spread"]\n'),
        sweep('scenario = "none.toml"\n[measure]\nnames = ["spread"]\n'),
        sweep('scenario = "a.toml"\n[measure]\nnames = ["spred"]\n'),
        sweep('scenario = "a.toml"\n[measure]\nnames = []\n'),
        sweep(SWEEP + AXIS.format("noise.stdd", "[1, 2]")),
        sweep(SWEEP + AXIS.format("run.steps", "[]")),
        sweep(SWEEP + AXIS.format("run.steps", "[5, 5]")),
        sweep(SWEEP + AXIS.format("run.steps", "[5, 0]")),
        sweep(SWEEP + AXIS.format("run.steps", "[5, 5.0]")),
        sweep(SWEEP + AXIS.format("Run Steps", "[5, 6]")),
        sweep(SWEEP + 2 * AXIS.format("run.steps", "[5, 6]")),
        sweep(SWEEP + '[[axis]]\nfield = "run.steps"\n'),
        sweep(SWEEP + '[[axis]]\nfield = "run.steps"\nrange = { start = 1, stop = 9, count = 0 }\n'),
        sweep(SWEEP + '[[axis]]\nfield = "run.steps"\nrange = { start = "one", stop = 9, count = 2 }\n'),
        sweep('scenario = "a.toml"\n[measure]\nnames = ["spread", "verdict", "spread"]\n'),
        sweep(SWEEP + AXIS.format("run.steps", '"many"')),
        sweep(SWEEP + AXIS.format("run.seed", "{ start = 0, stop = 1, count = 1000000000 }")),
        sweep("replications = 0\n" + SWEEP),
        Case("a valid sweep", "sweep s.toml --workers 0", SWEPT),
        Case("a valid sweep", "sweep s.toml --dask nowhere", SWEPT, 1),
        Case("no sweep in the folder", "sweep status folder", {"folder/x.txt": ""}),
        Case("a sweep that has not run", "sweep collect s.toml", SWEPT),
        Case("a sweep that has not run", "sweep plot s.toml --kind pie", SWEPT),
    ],
    "Options": [
        option("fly"),
        option("digagnose"),
        option("sweep statsu x"),
        option("simulate"),
        option("simulate --network k2 --replicates 0"),
        option("diagnose"),
        option("diagnose --netwrok ba:9:2"),
        option("diagnose --network ba:9"),
        option("diagnose --network ba:9:x"),
        option("diagnose --network bb:9:2"),
        option("diagnose --network er:9:2"),
        option("diagnose --network none.csv"),
        option("diagnose --network nowhere"),
        option("diagnose --network cycle:2"),
        option("diagnose --network karate --signed"),
        option("diagnose --network karate --direction listens"),
        option("diagnose --network karate --zealots 77"),
        option("diagnose --network karate --hidden missing.csv"),
        option("diagnose --network karate --hidden people.csv:age", {"people.csv": "name,opinion\nann,1\n"}),
        option("diagnose --network edges.csv --hidden edges.csv:target", LISTED),
        option("diagnose --network k2 --pressure 't +'"),
        option("diagnose --network k2 --pressure power:x"),
        option("diagnose --network k2 --pressure optimal"),
        option("diagnose --network k2 --noise gaussian:x"),
        option("diagnose --network k2 --noise gaussian:-1"),
        option("diagnose --network k2 --noise pink:1"),
        option("diagnose --network k2 --noise loud"),
        option("diagnose --network k2 --adaptation 2"),
        option("diagnose --network k2 --adaptation nan"),
        option("diagnose --network k2 --adaptation 'a lot'"),
        option("diagnose --network k2 --continuous --noise laplace:1"),
        option("diagnose --network k2 --continuous --adaptation 0.1/t"),
        option("diagnose --network k2 --dynamics failing:0.5"),
        option("diagnose --network cycle:6 --dynamics failing:2 --steps 5"),
        option("diagnose --network cycle:6 --dynamics fading --steps 5"),
        option("diagnose --network cycle:6 --dynamics failing:0.3:1 --steps 5"),
        option("diagnose --network k2 --steps 0"),
        option("diagnose --network k2 --steps soon"),
        option("diagnose --network k2 --seed -1"),
        option("diagnose --network k2 --seed 1 --seed 2"),
        option("diagnose --network k2 --steps 5 --within 0"),
        option("run"),
        option("run a.toml --out a.toml", VALID),
        option("run a.toml --out folder", VALID | {"folder/x.txt": ""}),
        option("run a.toml b.toml", VALID),
        option("run a.toml --out=x --out y", VALID),
        option("run a.toml --out '~nobody-of-this-name/x'", VALID),
        scenario(output='folder = "a.toml"'),
        option("new folder", {"folder/scenario.toml": ""}),
        option("new folder --example karat"),
        option("new a.toml", VALID),
        option("new a.toml/folder", VALID),
        option("paper --replications 1"),
        option("paper --steps 0"),
        option("paper --steps many"),
        option("paper --steps 99999999999"),
        option("paper --seed -1"),
        option(f"paper --seed {2**70} --steps 100"),
        option("paper --colour"),
        option("paper more"),
        option("paper --out a.toml", VALID),
        option("paper --out a.toml/below", VALID),
        option("paper --out folder", {"folder/report.html": ""}),
        option("paper --only contraction --out folder", {"folder/report.html": ""}),
        option("paper --only failur"),
        option("paper --only failure --set agent=3"),
        option("paper --only failure --set noise"),
        option("paper --only failure --set noise=-1"),
        option("paper --only failure --set noise=much"),
        option("paper --only failure --set graph=karate,agents=60"),
        option("paper --only failure --set graph=hospital"),
        option("paper --only failure --set graph=karat"),
        option("paper --only failure --set pressure=t^"),
        option("paper --only failure --replications 3"),
        option("paper --only exact_vs_sampled"),
        option("paper --set noise=1"),
        option("explore --port 99999999"),
        *(option(f"convert edges.csv edges.{name}", LISTED) for name in ("xlsx", "npy", "adjlist", "csv")),
        option("response none.csv --first before"),
        *(
            option(f"response answers.csv --first before {wrong}", ROUNDS)
            for wrong in ("--network none.csv", "--group room", "--matter 2", "--report page.pdf")
        ),
    ],
}


def answer(case: Case) -> Answer:
    """Run a case in a folder of its own."""
    out, error = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        files = {name: text if isinstance(text, bytes) else text.encode() for name, text in case.files.items()}
        for name, content in files.items():
            Path(name).parent.mkdir(exist_ok=True)
            Path(name).write_bytes(content)
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
            status = cli.invoke(shlex.split(case.command))
        there = {path.as_posix(): path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    printed = [stream.buffer.getvalue().decode() for stream in (error, out)]
    # ``check`` prints the problems, and has nothing to add to them; nothing else prints anything but an error.
    text = "".join(printed).replace(f"{folder}/", "")
    lines = [line.removeprefix("peerpressure: ").strip() for line in text.splitlines()]
    # The plan of a sweep, which the next run continues, is no result.
    written = sorted(
        name for name, content in there.items() if content != files.get(name) and Path(name).name not in (LEDGER, LOCK)
    )
    return Answer(status, lines, written)


@cache
def answers() -> dict[str, list[Answer]]:
    """Return the answers to all cases, by the titles of the page."""
    return {title: [answer(case) for case in cases] for title, cases in CASES.items()}


def page() -> str:
    """Return the page of all cases and answers."""
    parts = [INTRODUCTION]
    for title, cases in CASES.items():
        parts += [f"## {title}\n", "| input | command | message | exit status |", "|---|---|---|---|"]
        for case, (status, lines, _) in zip(cases, answers()[title], strict=True):
            cells = (_code(case.input), _code(case.command), "<br>".join(map(_text, lines)), str(status))
            parts.append(f"| {' | '.join(cells)} |")
        parts.append("")
    return "\n".join(parts)


def without_libraries(text: str) -> str:
    """Return the text without what libraries and the system say, which depends on their versions."""
    return LIBRARIES.sub("…", text)


def _code(text: str) -> str:
    """Return what a user wrote as code, and a description as text."""
    first = text.partition(" ")[0]
    is_code = any(sign in text for sign in "[={:/`.") or first in (*cli.COMMANDS, "sweep", "fly")
    return f"`{text.strip('`')}`".replace("|", "\\|") if is_code else text


def _text(line: str) -> str:
    """Return a message as Markdown shows it, character by character."""
    return re.sub(r"([\\`*_{}\[\]<>#|$])", r"\\\1", line)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"{sum(map(len, CASES.values()))} cases in {PAGE}")
