"""The public names of packages that load them when they are first used.

A package lists all names in its ``__init__.pyi``, of which some are for other packages and for annotations: classes of
results that users read and never construct, and helpers. These can be imported, but are not listed by ``dir`` or on the
pages of the documentation.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from importlib import import_module
from typing import Any

import lazy_loader  # type: ignore[import-untyped]


def attach(package: str, file: str, internal: Collection[str]) -> tuple[Callable[[str], Any], Any, list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package; internal names are in the first alone."""
    load, _, names = lazy_loader.attach_stub(package, file)
    public = sorted(set(names) - set(internal))
    return load, lambda: list(public), public


def from_above(module: str, name: str) -> Any:
    """Return a name of a module in a layer above, for a result whose method is made of what stands there.

    Imports go down the layers; these few references go up when they are first used, and a test lists them.
    """
    return getattr(import_module(f"peerpressure.{module}"), name)
