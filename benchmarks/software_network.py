"""A real network: who uses which names in the source code of five packages that are installed anyway.

Agents are the functions, classes and modules of the packages, and the names (of functions, classes, attributes,
modules) that their compiled code refers to; an edge joins each to each name that it uses. It is a dependency network
as software engineering studies them, with hubs (``append``, ``shape``) and communities (packages, modules). The
packages are BSD-licensed, or PSF-like for Matplotlib; their sources are read where they are installed.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from types import CodeType

from peerpressure import Network

PACKAGES = ("numpy", "scipy", "pandas", "matplotlib", "networkx")


@lru_cache(maxsize=2)
def software_network(packages: Sequence[str] = PACKAGES) -> Network:
    """Return the network; agents are numbered as they occur in the sources, each before the names that are new."""
    edges: list[tuple[int, int]] = []
    names: dict[str, int] = {}
    agents = 0
    for code in (code for package in packages for source in _sources(package) for code in _codes(source)):
        if not code.co_names:
            continue
        user, agents = agents, agents + 1
        for name in dict.fromkeys(code.co_names):
            if name not in names:
                names[name], agents = agents, agents + 1
            edges.append((user, names[name]))
    return Network.from_edges(edges, n=agents)


def _sources(package: str) -> Iterator[Path]:
    """Give the files of a package but for its tests, in the order of their names."""
    spec = find_spec(package)
    assert spec is not None
    assert spec.origin is not None
    root = Path(spec.origin).parent
    yield from (path for path in sorted(root.rglob("*.py")) if "tests" not in path.relative_to(root).parts)


def _codes(source: Path) -> Iterator[CodeType]:
    """Give the code of a file and, recursively, of all that is defined in it; nothing is executed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # invalid escapes in the docstrings of others
        try:
            waiting = [compile(source.read_bytes(), str(source), "exec", dont_inherit=True)]
        except SyntaxError:  # a template, or syntax of a later Python
            return
    while waiting:
        code = waiting.pop()
        yield code
        waiting += [inner for inner in reversed(code.co_consts) if isinstance(inner, CodeType)]
