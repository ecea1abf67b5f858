"""How much the tests catch: ``python -m tests.mutations --count 60 --seed 1``.

Small mistakes are made in a copy of the package, one at a time, and the tests nearest to each are run: those named for
the module, its own examples, those that import it, and those that mention what it defines. A mistake that no test
notices is printed. The same seed makes the same mistakes in the same sources, so states of the tests can be compared.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Mapping
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
NEAR = 8  # files of tests for a mistake
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
    folder = f"tests/{path.parts[2]}/"

    def score(test: str, text: str) -> float:
        named = 100 * (re.sub(r"^test_(server_)?", "", Path(test).stem) == stem) + 20 * (stem in Path(test).stem)
        imports = 50 * bool(re.search(rf"\b{re.escape(dotted)}\b", text))
        mentions = min(len(set(mention.findall(text))), 8) * (4 if test.startswith(folder) else 1)
        return named + imports + mentions + test.startswith(folder)

    texts = {path.relative_to(root).as_posix(): path.read_text("utf-8") for path in (root / "tests").rglob("test_*.py")}
    scores = {test: score(test, text) for test, text in sorted(texts.items()) if not test.startswith(TOO_FAR)}
    best = sorted(filter(scores.__getitem__, scores), key=lambda test: -scores[test])
    # The quickest first: most mistakes are noticed by any of them.
    known = durations.recorded()
    return [file, *sorted(best[:NEAR], key=lambda test: durations.seconds_of(test, known))]


def copy_tree(place: Path) -> None:
    """Copy what tests read: every file that git knows."""
    known = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, known.split("\0")):
        if (ROOT / name).is_file():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, place / name)


def run_tests(tree: Path, tests: list[str], cache: Path, limit: int) -> str:
    """Run tests up to the first failure, and return what happened."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--tb=line", *tests]
    given = os.environ | {"PYTHONPATH": str(tree / "src"), "NUMBA_CACHE_DIR": str(cache), "OMP_NUM_THREADS": "1"}
    # Seconds of the processor, which do not depend on what else a machine does.
    bounded = ["bash", "-c", f'ulimit -t {limit}; exec "$@"', "bash", *command]
    ended = subprocess.run(bounded, cwd=tree, env=given, capture_output=True, text=True, check=False)
    if ended.returncode in (0, -signal.SIGXCPU, -signal.SIGKILL):
        return "survived" if ended.returncode == 0 else f"no end within {limit} s"
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", ended.stdout, re.MULTILINE)
    return f"killed by {failed[1]}" if failed else f"no test could be run: {ended.stdout[-300:]}{ended.stderr[-300:]}"


def judge(mutation: Mutation, tree: Path, cache: Path, limit: int) -> str:
    """Make one mistake in the copy, run the tests near it, and take it back."""
    place = tree / mutation.file
    source, times = place.read_bytes(), place.stat()
    tests = [test for test in near_tests(mutation.file, tree) if (tree / test).exists()]
    place.write_bytes(mutation.applied(source))
    try:
        if mutation.file not in compiled():
            return run_tests(tree, tests, cache, limit)
        with tempfile.TemporaryDirectory() as fresh:  # callers in other files would keep the old code
            return run_tests(tree, tests, Path(fresh), 2 * limit)
    finally:
        place.write_bytes(source)
        os.utime(place, ns=(times.st_atime_ns, times.st_mtime_ns))


def judged(mutations: list[Mutation], place: Path, limit: int) -> Iterator[tuple[Mutation, str, float]]:
    """Judge one mistake after the other in one copy of the tree."""
    tree, cache = place / "tree", place / "kernels"
    copy_tree(tree)
    for one in mutations:
        begun = time.perf_counter()
        answer = judge(one, tree, cache, limit)
        yield one, answer, time.perf_counter() - begun


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutations", description=__doc__)
    parser.add_argument("--count", type=int, default=60, help="number of mistakes")
    parser.add_argument("--seed", type=int, default=1, help="seed that they are drawn with")
    parser.add_argument("--limit", type=int, default=60, help="seconds of the processor for the tests of a mistake")
    parser.add_argument("--out", type=Path, default=ROOT / "build/mutations.jsonl", help="file for the results")
    chosen = parser.parse_args()
    chosen.out.parent.mkdir(parents=True, exist_ok=True)
    survived = 0
    with tempfile.TemporaryDirectory() as place, chosen.out.open("w", encoding="utf-8") as results:
        for one, answer, took in judged(drawn(chosen.count, chosen.seed), Path(place), chosen.limit):
            print(json.dumps(asdict(one) | {"answer": answer, "seconds": round(took, 1)}), file=results, flush=True)
            survived += answer == "survived"
            print(f"{one.file}:{one.line} {one.before!r} -> {one.after!r}: {answer} ({took:.0f} s)", flush=True)
    print(f"{chosen.count} mistakes, of which no test noticed {survived}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
