"""Sections of a scenario from a few words on the command line: ``ba:100:2``, ``gaussian:1``, ``t*log(t)``.

A name is followed by the member's numeric parameters in the order of their declaration.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from peerpressure.errors import InvalidInputError, message
from peerpressure.networks import DYNAMICS, GENERATORS, NAMED, RECORDED
from peerpressure.noise import LAWS
from peerpressure.parameters import REQUIRED, Parameter, with_defaults
from peerpressure.schedules import SCHEDULES

# Kinds that can be written as a number between colons; a per-agent parameter takes one number for all.
_NUMBERS = ("whole", "real", "probability", "per agent")


def network_section(words: str) -> dict[str, Any]:
    """Return the [network] of a name, a file or a generator with its parameters.

    >>> network_section("ba:100:2")
    {'generator': 'barabasi_albert', 'n': 100, 'm': 2}
    >>> network_section("karate")
    {'named': 'karate'}
    """
    # Names come before files, which must have a suffix.
    if words in NAMED:
        return {"named": words}
    if words in RECORDED:
        # Without the nights, which have no contacts.
        # Repeated, because a diagnosis is about t → ∞, when all recorded contacts would have ended.
        return {"recorded": words, "skip_quiet": 12, "repeat": True}
    name, *given = words.split(":")
    # Full names overwrite abbreviations, should they ever coincide.
    names = {one.short: key for key, one in GENERATORS.items() if one.short} | {key: key for key in GENERATORS}
    if name not in names:
        # A word with a suffix is meant as a file even if it does not exist; the loader then reports the missing file.
        if Path(words).suffix:
            return {"file": words}
        remedy = f"use {', '.join(names)} with their parameters, {', '.join([*NAMED, *RECORDED])}, or a file"
        raise InvalidInputError(message("a graph must be known by name or be a file", got=repr(words), remedy=remedy))
    one = GENERATORS[names[name]]
    return {"generator": names[name], **_values(name, given, one.build, one.parameters)}


def dynamics_section(words: str) -> dict[str, Any]:
    """Return the network.dynamics of a kind with its parameters.

    >>> dynamics_section("failing:0.2")
    {'kind': 'failing_edges', 'probability': 0.2}
    """
    name, *given = words.split(":")
    names = {one.short or kind: kind for kind, one in DYNAMICS.items()}
    if name not in names:
        rule = f"a network must change in one of these ways: {', '.join(names)}"
        raise InvalidInputError(message(rule, got=repr(words), remedy="for instance failing:0.2"))
    one = DYNAMICS[names[name]]
    return {"kind": names[name], **_values(name, given, one.build, one.parameters)}


def adaptation_section(words: str) -> float | str:
    """Return the agents.adaptation of a number or a formula.

    >>> adaptation_section("0.01"), adaptation_section("0.1/t")
    (0.01, '0.1/t')
    """
    # The formula is not checked here: the section does, with a better message.
    try:
        return float(words)
    except ValueError:
        return words


def labels(words: str) -> list[int | str]:
    """Return labels of agents from words with commas between them; whole numbers become numbers.

    >>> labels("0,33"), labels("ann, bob")
    ([0, 33], ['ann', 'bob'])
    """
    names = [word.strip() for word in words.split(",") if word.strip()]
    numbers = all(name.isascii() and name.isdigit() for name in names)
    return [int(name) if numbers else name for name in names]


def activation_section(words: str) -> float | str:
    """Return the agents.activation of a probability, or of the word ``single``.

    >>> activation_section("0.5"), activation_section("single")
    (0.5, 'single')
    """
    return adaptation_section(words)


def noise_section(words: str) -> dict[str, Any]:
    """Return the [noise] of a law with its parameters, of which the first is the standard deviation.

    >>> noise_section("laplace:0.5"), noise_section("student:1:3")
    ({'law': 'laplace', 'std': 0.5}, {'law': 'student', 'std': 1.0, 'df': 3.0})
    """
    law, *given = words.split(":")
    names = [name for name, member in LAWS.items() if _is_numeric(member, member.parameters)]
    if law not in names:
        rule = f"noise must be a law ({', '.join(names)}) and a standard deviation"
        raise InvalidInputError(message(rule, got=repr(words), remedy="for instance gaussian:1"))
    return {"law": law, **_values(law, given, LAWS[law], LAWS[law].parameters)}


def pressure_section(words: str) -> dict[str, Any]:
    """Return the [pressure] of a formula, of a kind with its parameters, or of the word ``tuned`` or ``optimal``.

    >>> pressure_section("t*log(1 + t)"), pressure_section("power:1.5")
    ({'kind': 'formula', 'formula': 't*log(1 + t)'}, {'kind': 'power', 'exponent': 1.5})
    """
    if words in ("tuned", "optimal"):
        return {"kind": words}
    kind, *given = words.split(":")
    # A kind that needs more than numbers, such as a table, cannot be abbreviated; its name is then read as a formula.
    if kind in SCHEDULES and _is_numeric(SCHEDULES[kind], SCHEDULES[kind].parameters):
        return {"kind": kind, **_values(kind, given, SCHEDULES[kind], SCHEDULES[kind].parameters)}
    return {"kind": "formula", "formula": words}


def _is_numeric(member: Callable[..., Any], parameters: Iterable[Parameter]) -> bool:
    """Return whether numbers are all that a member needs."""
    return all(one.kind in _NUMBERS for one in with_defaults(member, parameters) if one.default is REQUIRED)


def _values(
    name: str, given: Sequence[str], member: Callable[..., Any], parameters: Iterable[Parameter]
) -> dict[str, int | float]:
    """Return the parameters that the words after a name give, in the order of their declaration."""
    declared = [one for one in with_defaults(member, parameters) if one.kind in _NUMBERS]
    needed = sum(one.default is REQUIRED for one in declared)
    # Optional parameters may be left out from the end only, since words have no names.
    if not needed <= len(given) <= len(declared):
        example = ":".join([name, *(one.name.upper() for one in declared)])
        count = f"{len(declared)}" if needed == len(declared) else f"{needed} to {len(declared)}"
        rule = f"{name} takes {count} parameter{'s' * (count != '1')}"
        raise InvalidInputError(message(rule, got=repr(":".join([name, *given])), remedy=f"write {example}"))
    return {one.name: _number(one, text) for one, text in zip(declared, given, strict=False)}


def _number(one: Parameter, text: str) -> int | float:
    try:
        return int(text) if one.kind == "whole" else float(text)
    except ValueError:
        rule = f"{one.name} must be a {'whole number' if one.kind == 'whole' else 'number'}"
        raise InvalidInputError(message(rule, got=repr(text), remedy="check the words between the colons")) from None
