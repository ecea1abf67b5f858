"""Scenarios from a few words of a command line: ``ba:100:2``, ``gaussian:1``, ``t*log(t)``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from peerpressure.errors import InvalidInputError, message
from peerpressure.networks import GENERATORS, NAMED, RECORDED
from peerpressure.noise import LAWS

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
# The short names of ways in which a network changes, and their parameters.
CHANGES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "failing": ("failing_edges", ("probability",)),
    "markov": ("edge_markovian", ("birth", "death")),
    "rewiring": ("rewiring", ("rate",)),
}
WHOLE = ("n", "m", "k", "rows", "columns", "degree")


def network_section(words: str) -> dict[str, Any]:
    """Return the [network] that a name, a file or a generator with its parameters stands for.

    >>> network_section("ba:100:2")
    {'generator': 'barabasi_albert', 'n': 100, 'm': 2}
    >>> network_section("karate")
    {'named': 'karate'}
    """
    if words in NAMED:
        return {"named": words}
    if words in RECORDED:
        # Nights in which nobody meets would only be waited through.
        return {"recorded": words, "skip_quiet": 12, "repeat": True}
    name, *given = words.split(":")
    generator = SHORT.get(name, name)
    if generator not in GENERATORS:
        if Path(words).suffix:
            return {"file": words}
        made, real = ", ".join([*SHORT, *PARAMETERS]), ", ".join([*NAMED, *RECORDED])
        remedy = f"use {made} with their parameters, {real}, or a file"
        raise InvalidInputError(message("a graph must be known by name or be a file", got=repr(words), remedy=remedy))
    return {"generator": generator, **_parameters(name, PARAMETERS[generator], given)}


def dynamics_section(words: str) -> dict[str, Any]:
    """Return the network.dynamics that a way of changing with its parameters stands for.

    >>> dynamics_section("failing:0.2")
    {'kind': 'failing_edges', 'probability': 0.2}
    """
    name, *given = words.split(":")
    if name not in CHANGES:
        rule = f"a network must change in one of these ways: {', '.join(CHANGES)}"
        raise InvalidInputError(message(rule, got=repr(words), remedy="for instance failing:0.2"))
    kind, names = CHANGES[name]
    return {"kind": kind, **_parameters(name, names, given)}


def adaptation_section(words: str) -> float | str:
    """Return the agents.adaptation that a number or a formula stands for.

    >>> adaptation_section("0.01"), adaptation_section("0.1/t")
    (0.01, '0.1/t')
    """
    try:
        return float(words)
    except ValueError:
        return words


def _parameters(name: str, names: Sequence[str], given: Sequence[str]) -> dict[str, int | float]:
    if len(given) != len(names):
        example = ":".join([name, *(word.upper() for word in names)])
        rule = f"{name} takes {len(names)} parameter{'s' * (len(names) != 1)}"
        raise InvalidInputError(message(rule, got=repr(":".join([name, *given])), remedy=f"write {example}"))
    return {key: _number(key, text) for key, text in zip(names, given, strict=True)}


def noise_section(words: str) -> dict[str, Any]:
    """Return the [noise] that a law and its standard deviation stand for.

    >>> noise_section("laplace:0.5")
    {'law': 'laplace', 'std': 0.5}
    """
    law, *given = words.split(":")
    if law not in LAWS or law == "custom" or len(given) > (law != "none"):
        laws = ", ".join(name for name in LAWS if name != "custom")
        rule = f"noise must be a law ({laws}) and a standard deviation"
        raise InvalidInputError(message(rule, got=repr(words), remedy="for instance gaussian:1"))
    return {"law": law} | ({"std": _number("std", given[0])} if given else {})


def pressure_section(words: str) -> dict[str, Any]:
    """Return the [pressure] that a formula, or the word ``tuned``, stands for."""
    return {"kind": "tuned"} if words == "tuned" else {"kind": "formula", "formula": words}


def _number(name: str, text: str) -> int | float:
    try:
        return int(text) if name in WHOLE else float(text)
    except ValueError:
        rule = f"{name} must be a {'whole number' if name in WHOLE else 'number'}"
        raise InvalidInputError(message(rule, got=repr(text), remedy="check what stands between the colons")) from None
