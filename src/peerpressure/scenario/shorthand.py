"""Sections of a scenario from a few words on the command line: ``ba:100:2``, ``gaussian:1``, ``t*log(t)``.

A name is followed by the member's numeric parameters in the order of their declaration.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from peerpressure.errors import InvalidInputError, message
from peerpressure.networks import DYNAMICS, GENERATORS, NAMED, RECORDED
from peerpressure.scenario.system import DERIVED
from peerpressure.schedules import SCHEDULES
from peerpressure.support.parameters import needs_only_numbers, numbers_in_words


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
    return {"generator": names[name], **numbers_in_words(name, given, one.build, one.parameters)}


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
    return {"kind": names[name], **numbers_in_words(name, given, one.build, one.parameters)}


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


def pressure_section(words: str) -> dict[str, Any]:
    """Return the [pressure] of a formula, of a kind with its parameters, or of the word ``tuned`` or ``optimal``.

    >>> pressure_section("t*log(1 + t)"), pressure_section("power:1.5")
    ({'kind': 'formula', 'formula': 't*log(1 + t)'}, {'kind': 'power', 'exponent': 1.5})
    """
    if words in DERIVED:
        return {"kind": words}
    kind, *given = words.split(":")
    member = SCHEDULES.get(kind)
    # A kind that needs more than numbers, such as a table, cannot be abbreviated; its name is then read as a formula.
    if member is None or not needs_only_numbers(member, member.parameters):
        return {"kind": "formula", "formula": words}
    return {"kind": kind, **numbers_in_words(kind, given, member, member.parameters)}
