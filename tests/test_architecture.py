"""The shape of the package: imports go down only, and loading is light."""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable, Iterable
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
import peerpressure.report.run, peerpressure.report.drawing
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
