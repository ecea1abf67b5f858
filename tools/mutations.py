"""How much the tests catch: ``python -m tools.mutations --count 60 --seed 1``.

Small mistakes are made in a copy of the package, one at a time, and the tests nearest to each are run: those named for
the module or for one that imports it, its own examples, those that import it, those that mention what it defines, and
then all others of the same package. A mistake that no test notices is printed as a difference. The same seed makes the
same mistakes in the same sources, so states of the tests can be compared. With ``--jobs 16``, so many are tried at a
time, each in a copy of its own.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import json
import os
import queue
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path

from tests import durations

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = Path("src/peerpressure")
COMPARED: Mapping[type[ast.cmpop], str] = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.In: "not in", ast.NotIn: "in", ast.Is: "is not", ast.IsNot: "is",
}  # fmt: skip
COMBINED: Mapping[type[ast.operator], str] = {ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*"}
JOINED: Mapping[type[ast.boolop], str] = {ast.And: "or", ast.Or: "and"}
LEFT_OUT = (ast.JoinedStr, ast.AnnAssign)  # texts, and declarations, whose annotations are no code
NEAR = 8  # files of tests for a mistake, before all others of the package
STARTING, COMPILING = 60, 240  # seconds of the processor, in which also a slow machine loads tests, or compiles kernels
SLOWER = 6  # times as long as recorded may tests take before a mistake counts as undecided
OUTCOMES = ("killed", "survived", "undecided")
ELSEWHERE = {"build", "node_modules", "__pycache__"}  # folders that hold nothing which tests read
TOO_FAR = "tests/explorer/test_page"  # pages in a browser take longest, and test scripts


@dataclass(frozen=True)
class Mutation:
    """A mistake: other text between two places of a file."""

    file: str
    line: int
    kind: str
    start: int
    end: int
    before: str
    after: str

    def applied(self, source: bytes) -> bytes:
        """Return the source with the mistake."""
        if source[self.start : self.end].decode() != self.before:
            raise SystemExit(f"{self.file} must be as it was when mistakes were drawn, got another line {self.line}")
        return source[: self.start] + self.after.encode() + source[self.end :]


class Sites(ast.NodeVisitor):
    """All places of a file where a mistake can be made."""

    def __init__(self, file: str, source: bytes) -> None:
        self.file, self.source, self.found = file, source, list[Mutation]()
        self.lines = [0]
        for line in source.splitlines(keepends=True):
            self.lines.append(self.lines[-1] + len(line))
        self.visit(ast.parse(source))

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        """Return where a node begins and ends."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self.lines[node.lineno - 1] + node.col_offset, self.lines[node.end_lineno - 1] + node.end_col_offset

    def text(self, node: ast.expr) -> str:
        """Return the source of a node."""
        start, end = self.span(node)
        return self.source[start:end].decode()

    def put(self, kind: str, node: ast.expr | ast.stmt, after: str) -> None:
        """Note a mistake."""
        start, end = self.span(node)
        self.found.append(Mutation(self.file, node.lineno, kind, start, end, self.source[start:end].decode(), after))

    def generic_visit(self, node: ast.AST) -> None:
        """Go on below a node, unless there is no code."""
        if isinstance(node, LEFT_OUT):
            return
        if isinstance(node, ast.FunctionDef):
            for one in (*node.args.defaults, *filter(None, node.args.kw_defaults), *node.body):
                self.visit(one)
            return
        super().generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        if len(node.ops) == 1:
            operator = COMPARED[type(node.ops[0])]
            self.put("comparison", node, f"{self.text(node.left)} {operator} {self.text(node.comparators[0])}")
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if type(node.op) in COMBINED and not isinstance(node.left, ast.JoinedStr | ast.List | ast.Tuple):
            sides = [f"({self.text(side)})" for side in (node.left, node.right)]
            self.put("arithmetic", node, f" {COMBINED[type(node.op)]} ".join(sides))
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        self.put("and/or", node, f" {JOINED[type(node.op)]} ".join(f"({self.text(one)})" for one in node.values))
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not | ast.USub):
            self.put("sign", node, f"({self.text(node.operand)})")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool):
            self.put("constant", node, str(not node.value))
        elif isinstance(node.value, int | float):
            self.put("constant", node, repr(node.value + 1 if isinstance(node.value, int) else 2 * node.value + 1e-3))

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is not None and not isinstance(node.value, ast.Constant):
            self.put("return", node, "return None")
        self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> None:
        self.put("deletion", node, "pass")

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call):
            self.put("deletion", node, "pass")
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.put("deletion", node, "pass")
        self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        if self.text(node.test) == "TYPE_CHECKING":
            return
        self.put("condition", node.test, f"not ({self.text(node.test)})")
        self.generic_visit(node)


def modules() -> list[str]:
    """Return all files that run here: kernels for accelerators do not."""
    found = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / PACKAGE).rglob("*.py"))
    return [file for file in found if "gpu" not in file]


def compiled() -> set[str]:
    """Return the files whose functions numba compiles, which are not counted in the coverage either."""
    table = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    return set(table["tool"]["slipcover"]["omit"])


def drawn(count: int, seed: int) -> list[Mutation]:
    """Draw mistakes, as many of each kind, from all places."""
    kinds: dict[str, list[Mutation]] = {}
    for file in modules():
        for one in Sites(file, (ROOT / file).read_bytes()).found:
            kinds.setdefault(one.kind, []).append(one)
    chance = random.Random(seed)
    chosen = [chance.choice(kinds[kind]) for kind in (chance.choice(sorted(kinds)) for _ in range(2 * count))]
    return list(dict.fromkeys(chosen))[:count]


def near_tests(file: str, root: Path) -> list[str]:
    """Return the files of tests nearest to a module, and the module itself with its examples."""
    path = Path(file)
    stem = path.parent.name if path.stem == "__init__" else path.stem.strip("_")
    dotted = ".".join(path.with_suffix("").parts[1:])
    tree = ast.parse((root / file).read_text("utf-8"))
    defined = [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    mention = re.compile(rf"\b({'|'.join(map(re.escape, defined)) or '(?!)'})\b")
    folder, users = f"tests/{path.parts[2]}/", importers(dotted, root)

    def score(test: str, text: str) -> float:
        subject = re.sub(r"^test_(server_)?", "", Path(test).stem)
        named = 100 * (subject == stem) + 20 * (stem in Path(test).stem)
        named += {1: 60, 2: 20}.get(users.get(subject, 0), 0)
        imports = 50 * bool(re.search(rf"\b{re.escape(dotted)}\b", text))
        mentions = min(len(set(mention.findall(text))), 8) * (4 if test.startswith(folder) else 1)
        return named + imports + mentions + test.startswith(folder)

    texts = {path.relative_to(root).as_posix(): path.read_text("utf-8") for path in (root / "tests").rglob("test_*.py")}
    scores = {test: score(test, text) for test, text in sorted(texts.items()) if not test.startswith(TOO_FAR)}
    best = sorted(filter(scores.__getitem__, scores), key=lambda test: -scores[test])
    # The quickest first: most mistakes are noticed by any of them.
    known = durations.recorded()
    near = sorted(best[:NEAR], key=lambda test: durations.seconds_of(test, known))
    return [file, *near, *(test for test in best[NEAR:] if test.startswith(folder))]


def importers(dotted: str, root: Path) -> dict[str, int]:
    """Return the modules that import a module, whose tests use it, too, and then those that import these."""
    texts = {path: path.read_text("utf-8") for path in sorted((root / PACKAGE).rglob("*.py"))}
    reached, users = {dotted}, dict[str, int]()
    for distance in (1, 2):
        imported = re.compile(rf"^\s*(from|import) ({'|'.join(map(re.escape, reached))})\b", re.MULTILINE)
        direct = [path for path, text in texts.items() if imported.search(text)]
        reached = {".".join(path.relative_to(root).with_suffix("").parts[1:]) for path in direct}
        users |= {name: distance for path in direct if (name := path.stem.strip("_")) not in users}
    return users


def copy_tree(place: Path) -> None:
    """Copy what tests read, which is every file that git knows where there is git, and the compiled kernels."""
    asked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    known = [ROOT / name for name in asked.stdout.split("\0") if name] if asked.returncode == 0 else list(_visible())
    for file in filter(Path.is_file, known):
        target = place / file.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(file, target)
    copy_kernels(place)


def _visible() -> Iterator[Path]:
    for folder, inner, files in os.walk(ROOT):
        inner[:] = [name for name in inner if not name.startswith(".") and name not in ELSEWHERE]
        yield from (Path(folder) / file for file in files)


def copy_kernels(place: Path) -> None:
    """Copy the kernels that are stored beside the package: numba finds them by their sources, wherever these are."""
    for file in kernels(ROOT):
        target = place / file.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(file, target)


def kernels(root: Path) -> list[Path]:
    """Return the files of all compiled kernels."""
    return sorted((root / PACKAGE).rglob("__pycache__/*.nb[ic]"))


def time_limit(tests: Sequence[str], *, compiles: bool) -> int:
    """Return the seconds of the processor that only tests without an end take."""
    known = durations.recorded()
    return STARTING + compiles * COMPILING + round(SLOWER * sum(durations.seconds_of(test, known) for test in tests))


def run_tests(tree: Path, tests: Sequence[str], limit: int) -> tuple[str, str]:
    """Run tests up to the first failure, and return the outcome and why it is so."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--fast-first", "-p", "no:cacheprovider", "--tb=line"]
    given = os.environ | {"PYTHONPATH": str(tree / "src"), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    given.pop("NUMBA_CACHE_DIR", None)  # each copy has its own kernels
    # Seconds of the processor do not depend on what else a machine does. Who waits uses none, so a clock ends that.
    bounded = ["bash", "-c", f'ulimit -t {limit}; exec "$@"', "bash", *command, *tests]
    with subprocess.Popen(
        bounded,
        cwd=tree,
        env=given,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    ) as started:
        try:
            printed = started.communicate(timeout=10 * limit)[0]
        except subprocess.TimeoutExpired:
            os.killpg(started.pid, signal.SIGKILL)
            return "undecided", f"no end within {10 * limit} s of waiting"
    return outcome(started.returncode, printed, limit)


def outcome(status: int, printed: str, limit: int) -> tuple[str, str]:
    """Return what the end of a run of tests means, and why."""
    if status == 0:
        return "survived", "all passed"
    if status in (-signal.SIGXCPU, -signal.SIGKILL):
        return "undecided", f"no end within {limit} s of the processor"
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", printed, re.MULTILINE)
    # A module that cannot be imported at all ends pytest before any test.
    return ("killed", failed[1]) if failed else ("killed", f"no test could be run: {printed[-300:]}")


def judge(mutation: Mutation, tree: Path) -> tuple[str, str]:
    """Make one mistake in a copy, run the tests near it, and take it back."""
    place = tree / mutation.file
    source, times = place.read_bytes(), place.stat()
    tests = [test for test in near_tests(mutation.file, tree) if (tree / test).exists()]
    compiles = mutation.file in compiled()
    place.write_bytes(mutation.applied(source))
    try:
        for file in kernels(tree) if compiles else ():  # callers in other files would keep the old code
            file.unlink()
        return run_tests(tree, tests, time_limit(tests, compiles=compiles))
    finally:
        place.write_bytes(source)
        os.utime(place, ns=(times.st_atime_ns, times.st_mtime_ns))
        if compiles:
            copy_kernels(tree)


@dataclass(frozen=True)
class Judged:
    """What became of a mistake."""

    mutation: Mutation
    outcome: str
    why: str
    seconds: float

    def line(self) -> str:
        """Return it in a line."""
        one = self.mutation
        return f"{self.outcome:9} {one.file}:{one.line} {one.kind}, {self.seconds:.0f} s: {self.why}"

    def difference(self) -> str:
        """Return the lines that the mistake changes, as before and after."""
        one, source = self.mutation, (ROOT / self.mutation.file).read_bytes()
        before, after = (text.decode().splitlines() for text in (source, one.applied(source)))
        return "\n".join(difflib.unified_diff(before, after, one.file, one.file, lineterm="", n=1))


def judged(mutations: Sequence[Mutation], place: Path, jobs: int) -> Iterator[Judged]:
    """Judge mistakes as they come to an end, several at a time, each in a copy of the tree that no other one uses."""
    trees = queue.SimpleQueue[Path]()
    for tree in (place / str(i) for i in range(jobs)):
        copy_tree(tree)
        trees.put(tree)

    def judge_in_a_copy(one: Mutation) -> Judged:
        tree, begun = trees.get(), time.perf_counter()
        try:
            answer, why = judge(one, tree)
        finally:
            trees.put(tree)
        return Judged(one, answer, why, round(time.perf_counter() - begun, 1))

    with ThreadPoolExecutor(jobs) as pool:
        for future in as_completed([pool.submit(judge_in_a_copy, one) for one in mutations]):
            yield future.result()


def table(results: Sequence[Judged]) -> str:
    """Return how many mistakes of each kind came to which end."""
    counts = Counter((one.mutation.kind, one.outcome) for one in results)
    kinds = sorted({kind for kind, _ in counts})
    rows = [(kind, *(counts[kind, one] for one in OUTCOMES)) for kind in kinds]
    total = ("all", *(sum(counts[kind, one] for kind in kinds) for one in OUTCOMES))
    lines = [("", *OUTCOMES), *rows, total]
    return "\n".join(f"{first:<12}" + "".join(f" {one:>9}" for one in others) for first, *others in lines)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.mutations", description=__doc__)
    parser.add_argument("--count", type=int, default=60, help="number of mistakes")
    parser.add_argument("--seed", type=int, default=1, help="seed that they are drawn with")
    parser.add_argument("--jobs", type=int, default=1, help="mistakes that are tried at a time")
    parser.add_argument("--out", type=Path, default=ROOT / "build/mutations.jsonl", help="file for the results")
    chosen = parser.parse_args()
    chosen.out.parent.mkdir(parents=True, exist_ok=True)
    results = []
    with tempfile.TemporaryDirectory() as place, chosen.out.open("w", encoding="utf-8") as file:
        for one in judged(drawn(chosen.count, chosen.seed), Path(place), chosen.jobs):
            results.append(one)
            print(json.dumps(asdict(one)), file=file, flush=True)
            print(one.line(), flush=True)
    for one in results:
        if one.outcome != "killed":
            print(f"\n{one.outcome}, {one.why}:\n{one.difference()}")
    print(f"\n{table(results)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
