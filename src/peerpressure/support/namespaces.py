"""The public names of packages that load them when they are first used.

A package lists all names in its ``__init__.pyi``, of which some are for other packages and for annotations: classes of
results that users read and never construct, and helpers. These can be imported, but are not listed by ``dir`` or on the
pages of the documentation.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

import lazy_loader  # type: ignore[import-untyped]

from peerpressure.errors import did_you_mean

# Packages whose names are looked for where the whole package is asked for one; those that load quickly.
PLACES: Final = (
    "networks",
    "schedules",
    "noise",
    "sde",
    "theory",
    "recovery",
    "fitting",
    "privacy",
    "scenario",
    "sweep",
)


def attach(package: str, file: str, internal: Collection[str]) -> tuple[Callable[[str], Any], Any, list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package; internal names are in the first alone."""
    load, _, names = lazy_loader.attach_stub(package, file)
    public = sorted(set(names) - set(internal))
    return with_hints(package, load, public), lambda: list(public), public


def with_hints(package: str, load: Callable[[str], Any], public: Collection[str]) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package with an error that offers the nearest name, or the package that has it.

    >>> import peerpressure
    >>> peerpressure.information
    Traceback (most recent call last):
    AttributeError: module 'peerpressure' has no attribute 'information'; there is peerpressure.recovery.information
    """

    def getattr_(name: str) -> Any:
        try:
            return load(name)
        except AttributeError:
            text = f"module {package!r} has no attribute {name!r}"
            # Tools ask for names with underscores, and an import of a module asks for it here first.
            if not name.startswith("_") and find_spec(f"{package}.{name}") is None:
                below = (one for one in PLACES if name in import_module(f"peerpressure.{one}").__all__)
                there = next(below, None) if package == "peerpressure" else None
                text += f"; there is peerpressure.{there}.{name}" if there else did_you_mean(name, public)
            raise AttributeError(text, name=name) from None

    return getattr_


def from_above(module: str, name: str) -> Any:
    """Return a name of a module in a layer above, for a result whose method is made of what stands there.

    Imports go down the layers; these few references go up when they are first used, and a test lists them.
    """
    return getattr(import_module(f"peerpressure.{module}"), name)
