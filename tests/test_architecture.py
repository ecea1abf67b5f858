"""The shape of the package: imports go down only, loading is light, no file evaluates or unpickles."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import peerpressure
from tests import waiting
from tests.sources import FILES, ROOT, nodes, tree
from tests.test_docstrings import NAMESPACES

# From the ground up; a module may import from layers that stand before its own, and from its own folder. Parts of a
# package that others stand on have a layer of their own.
LAYERS = (
    ("version", "errors", "support.namespaces"),
    ("support.resources",),
    ("support",),
    ("plotting.style", "plotting.graphs", "plotting.results"),
    ("networks.chain", "model.affine"),
    ("networks", "schedules"),
    ("noise",),
    ("model",),
    ("simulation.processes",),
    (
        "simulation.engine",
        "simulation.trajectory",
        "simulation.files",
        "simulation.outputs",
        "simulation.zarr_stores",
    ),
    ("sde",),
    ("model.statespace",),
    ("simulation",),
    ("simulation.partition",),
    ("theory.propagation",),
    ("theory",),
    ("recovery",),
    ("privacy",),
    ("sweep",),
    ("scenario",),
    ("plotting",),
    ("report",),
    ("fitting",),
    ("reproduction",),
    ("explorer",),
    ("cli",),
    ("__init__", "__main__"),
)
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}


def _layer(module: str) -> int:
    """Return the layer of a module, or of a name in one: that of the longest beginning which has a layer."""
    parts = module.removeprefix("peerpressure.").split(".")
    return next(RANK[name] for k in range(len(parts), 0, -1) if (name := ".".join(parts[:k])) in RANK)


@cache
def _imported(path: Path) -> set[str]:
    """Return the full names of what a file imports anywhere, types included: modules, or names in modules."""
    return _names_of(path, nodes(path))


def _names_of(path: Path, nodes: Iterable[ast.AST]) -> set[str]:
    package = ("peerpressure", *path.relative_to(ROOT).parts[:-1])
    found = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*base, *([node.module] if node.module else [])])
            found |= {f"{module}.{alias.name}" for alias in node.names}
    return {name for name in found if name.startswith("peerpressure.")}


def _module(path: Path) -> str:
    return ".".join(("peerpressure", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")


MODULES = {_module(path): path for path in FILES}


@cache
def _lazy_names(package: str) -> dict[str, str]:
    """Return the names that a package loads when they are first used, each with its module, from its stub."""
    stub = ROOT.parent.joinpath(*package.split("."), "__init__.pyi")
    if not stub.exists():
        return {}
    imports = [node for node in tree(stub).body if isinstance(node, ast.ImportFrom)]
    return {alias.name: f"{package}.{node.module or alias.name}" for node in imports for alias in node.names}


def _home(name: str) -> str:
    """Return the module that an import of a name loads last."""
    package, _, last = name.rpartition(".")
    if name in MODULES:
        return name
    # Without it, a chain of imports would end at every package whose names are loaded lazily.
    lazy = _lazy_names(package).get(last)
    return package if lazy is None else _home(f"{lazy}.{last}")


def _graph(names: Callable[[Path], set[str]]) -> dict[str, set[str]]:
    return {
        module: ({_home(name) for name in names(path)} & set(MODULES)) - {module} for module, path in MODULES.items()
    }


def test_imports_have_no_cycle() -> None:
    TopologicalSorter(_graph(_imported)).prepare()  # raises CycleError


def _at_import(nodes: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a module that are executed when it is imported."""
    for node in nodes:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            yield from _at_import(node.orelse)
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node
            for part in ("body", "orelse", "finalbody"):
                yield from _at_import(getattr(node, part, ()))


def _imported_at_import(path: Path) -> set[str]:
    return _names_of(path, _at_import(tree(path).body))


def test_the_longest_chain_of_imports_is_below_30() -> None:
    graph = _graph(_imported_at_import)
    chains: dict[str, tuple[str, ...]] = {}
    for module in TopologicalSorter(graph).static_order():
        longest = max((chains[other] for other in graph[module]), key=len, default=())
        chains[module] = (module, *longest)
    longest = max(chains.values(), key=len)
    assert len(longest) < 30, longest


def test_imports_go_down_only() -> None:
    tops = {_module(path).split(".")[1] for path in FILES if path.parent != ROOT or path.stem != "__init__"}
    assert tops <= {name.split(".")[0] for name in RANK}, "every package has a layer"
    up = {
        (module, home)
        for module, homes in _graph(_imported).items()
        for home in homes
        if "peerpressure" not in {module, home} and _layer(home) > _layer(module)
    }
    assert not up


# Methods of results that are made of what stands in a layer above, which they load when they are called.
FROM_ABOVE = {"peerpressure.simulation.trajectory": ("explorer.recorded", "run_page")}


def test_references_to_layers_above_are_listed() -> None:
    calls = {
        _module(path): tuple(part.value for part in node.args if isinstance(part, ast.Constant))
        for path in FILES
        for node in nodes(path)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "from_above"
    }
    assert calls == FROM_ABOVE
    loads = {path for path in FILES if "import_module" in path.read_text("utf-8")}
    # The work of a sweep is named by its caller.
    assert {path.relative_to(ROOT).as_posix() for path in loads} == {"support/namespaces.py", "sweep/_work.py"}


# Each one more is a seam that leaks; each one less lowers this number.
MOST_IMPORTS_OF_PRIVATE_MODULES = 10


def _private_modules_of_others(path: Path) -> set[str]:
    """Return the modules with an underscore that a file imports from a package that it is no part of."""
    own, found = _module(path) + ".", set()
    for name in _imported(path):
        home, underscore, rest = name.partition("._")
        if underscore and not rest.startswith("_") and not own.startswith(home + "."):
            found.add(f"{home}._{rest.partition('.')[0]}")
    return found


def test_few_imports_reach_into_another_package() -> None:
    found = {_module(path): others for path in FILES if (others := _private_modules_of_others(path))}
    assert sum(map(len, found.values())) <= MOST_IMPORTS_OF_PRIVATE_MODULES, found


def test_nothing_evaluates_text_or_unpickles() -> None:
    names = {(_module(path), node.id) for path in FILES for node in nodes(path) if isinstance(node, ast.Name)}
    assert not {one for one in names if one[1] in {"eval", "exec", "compile", "pickle", "__import__"}}


LIGHT = """
import sys, peerpressure as pp
print([name for name in ("numpy", "scipy", "numba", "matplotlib", "pandas", "xarray", "typer") if name in sys.modules])
model = pp.Model(pp.networks.k2(), [1, 2])
import peerpressure.cli
pp.cli.invoke(["check", "k2.toml"])
heavy = ("numba", "matplotlib", "pandas", "xarray", "scipy.integrate", "scipy.optimize")
print([name for name in heavy if name in sys.modules])
"""
# Moments are part of the observer.
OBSERVING = """
import sys, peerpressure.recovery
def analysis():
    theory = [name for name in sys.modules if name.startswith("peerpressure.theory.")]
    return [name for name in theory if not name.startswith("peerpressure.theory.propagation")]
print(analysis())
import peerpressure as pp
model = pp.Model(pp.networks.k2(), hidden=[1.0, 2.0], noise=pp.Gaussian(1.0))
run = pp.simulate(model, 30, seed=1)
estimate = pp.recover(run, model)
print(analysis())
shown = [one._repr_html_() for one in (run, estimate, pp.diagnose(model, 30), pp.privacy.budget(model, 30))]
print([name for name in sys.modules if name == "matplotlib"])
"""


@pytest.mark.parametrize("code", [LIGHT, OBSERVING], ids=["loading, building and checking", "observing and printing"])
def test_nothing_heavy_is_loaded_before_it_is_needed(code: str, tmp_path: Path) -> None:
    (tmp_path / "k2.toml").write_text("[network]\ngenerator = 'k2'\n[run]\nsteps = 3\n")
    done = waiting.run([sys.executable, "-c", code], cwd=tmp_path)
    said = [line for line in done.stdout.splitlines() if line.startswith("[")]
    assert said == ["[]"] * code.count("print("), done.stderr


def test_the_public_names_are_few_and_all_there() -> None:
    names = set(dir(peerpressure))
    assert all(hasattr(peerpressure, name) for name in names)
    assert len(names) <= 46, "what is needed less often belongs in a namespace"
    with pytest.raises(AttributeError, match=r"no attribute 'simulat' .did you mean 'simulate'"):
        peerpressure.simulat  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(AttributeError, match=r"no attribute 'budget'; there is peerpressure\.privacy\.budget$"):
        peerpressure.budget  # type: ignore[attr-defined]  # noqa: B018


# Of a plain module ``dir`` shows what it imports, too.
PUBLIC = [name for name in NAMESPACES if name != "theory.two_agents"]


@pytest.mark.parametrize("name", PUBLIC)
def test_a_namespace_lists_its_public_names_and_no_others(name: str) -> None:
    namespace = importlib.import_module(f"peerpressure.{name}".rstrip("."))
    # ``dir`` of an instance would add what every module has.
    assert sorted(dir(namespace)) == sorted(namespace.__all__)
    assert all(hasattr(namespace, one) for one in namespace.__all__)
    internal = getattr(namespace, "_INTERNAL", ())
    assert not set(internal) & set(namespace.__all__)
    assert all(hasattr(namespace, one) for one in internal)


def test_the_documented_names_are_fewer_than_200() -> None:
    names = {one for name in PUBLIC for one in _public_objects(name)}
    assert len(names) < 200, len(names)


def _public_objects(name: str) -> set[tuple[str, int]]:
    """Return the public names of a namespace with what they stand for, without modules and the version."""
    namespace = importlib.import_module(f"peerpressure.{name}".rstrip("."))
    pairs = [(one, getattr(namespace, one)) for one in namespace.__all__ if one != "__version__"]
    return {(one, id(value)) for one, value in pairs if not inspect.ismodule(value)}


def test_no_module_is_shadowed_by_a_function_of_its_name() -> None:
    packages = {path.parent for path in FILES if path.name == "__init__.py"}
    shadowed = {
        (package.name, module.stem)
        for package in packages
        for module in package.glob("*.py")
        if not module.stem.startswith("_") and any(_defines(face, module.stem) for face in package.glob("__init__.py*"))
    }
    assert not shadowed


def _defines(path: Path, name: str) -> bool:
    """Return whether a file binds a name to something other than the module of that name."""
    for node in tree(path).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name:
            return True
        # "from package import module" binds the module itself; "from package.module import name" does not.
        if isinstance(node, ast.ImportFrom) and name in {alias.asname or alias.name for alias in node.names}:
            return node.module is not None and node.module.split(".")[-1] != path.parent.name
    return False


def test_no_two_classes_have_one_name() -> None:
    homes: dict[str, list[str]] = {}
    for path in FILES:
        for node in tree(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, []).append(str(path.relative_to(ROOT)))
    assert not {name: files for name, files in homes.items() if len(files) > 1}


def test_coverage_leaves_out_what_numba_compiles() -> None:
    """Counters of lines in a function that numba compiles keep it from being compiled."""
    settings = tomllib.loads((ROOT.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["slipcover"]
    compiled = {path for path in FILES if re.search(r"^from numba import .*njit", path.read_text(), re.MULTILINE)}
    assert compiled
    assert {str(path.relative_to(ROOT.parents[1])) for path in compiled} <= set(settings["omit"])
