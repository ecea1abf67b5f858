"""Scenarios from a few words of a command line: ``ba:100:2``, ``gaussian:1``, ``t*log(t)``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from peerpressure.errors import InvalidInputError, complain
from peerpressure.networks import GENERATORS, NAMED
from peerpressure.noises import LAWS

# The short names of generators, and the parameters of each in their order.
SHORT: Mapping[str, str] = {
    "ba": "barabasi_albert",
    "er": "erdos_renyi",
    "ws": "watts_strogatz",
    "regular": "random_regular",
}
PARAMETERS: Mapping[str, tuple[str, ...]] = {
    "k2": (),
    "path": ("n",),
    "cycle": ("n",),
    "complete": ("n",),
    "star": ("n",),
    "grid": ("rows", "columns"),
    "erdos_renyi": ("n", "p"),
    "watts_strogatz": ("n", "k", "p"),
    "barabasi_albert": ("n", "m"),
    "random_regular": ("n", "degree"),
}


def network_section(words: str) -> dict[str, Any]:
    """Return the [network] that a name, a file or a generator with its parameters stands for.

    >>> network_section("ba:100:2")
    {'generator': 'barabasi_albert', 'n': 100, 'm': 2}
    >>> network_section("karate")
    {'named': 'karate'}
    """
    if words in NAMED:
        return {"named": words}
    name, *given = words.split(":")
    generator = SHORT.get(name, name)
    if generator not in GENERATORS:
        if Path(words).suffix:
            return {"file": words}
        remedy = f"use {', '.join([*SHORT, *PARAMETERS])} with their parameters, {', '.join(NAMED)}, or a file"
        raise InvalidInputError(complain("a graph must be known by name or be a file", got=repr(words), remedy=remedy))
    names = PARAMETERS[generator]
    if len(given) != len(names):
        example = ":".join([name, *(word.upper() for word in names)])
        rule = f"{generator} takes {len(names)} parameter{'s' * (len(names) != 1)}"
        raise InvalidInputError(complain(rule, got=repr(words), remedy=f"write {example}"))
    return {"generator": generator, **{key: _number(key, text) for key, text in zip(names, given, strict=True)}}


def noise_section(words: str) -> dict[str, Any]:
    """Return the [noise] that a law and its standard deviation stand for.

    >>> noise_section("laplace:0.5")
    {'law': 'laplace', 'std': 0.5}
    """
    law, *given = words.split(":")
    if law not in LAWS or law == "custom" or len(given) > (law != "none"):
        laws = ", ".join(name for name in LAWS if name != "custom")
        rule = f"noise must be a law ({laws}) and a standard deviation"
        raise InvalidInputError(complain(rule, got=repr(words), remedy="for instance gaussian:1"))
    return {"law": law} | ({"std": _number("std", given[0])} if given else {})


def pressure_section(words: str) -> dict[str, Any]:
    """Return the [pressure] that a formula, or the word ``tuned``, stands for."""
    return {"kind": "tuned"} if words == "tuned" else {"kind": "formula", "formula": words}


def _number(name: str, text: str) -> int | float:
    try:
        return float(text) if name in ("p", "std") else int(text)
    except ValueError:
        rule = f"{name} must be a {'number' if name in ('p', 'std') else 'whole number'}"
        raise InvalidInputError(complain(rule, got=repr(text), remedy="check what stands between the colons")) from None
