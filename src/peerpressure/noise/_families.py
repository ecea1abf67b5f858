"""All laws by their names, and noise from plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from peerpressure.errors import NoiseError, message
from peerpressure.noise._base import Noise
from peerpressure.noise._correlation import AR1
from peerpressure.noise._laws import Custom, Gaussian, Laplace, NoNoise, Rademacher, StudentT, Uniform
from peerpressure.schedules import schedule_from_dict

LAWS: Mapping[str, type[Noise]] = {
    law.law: law for law in (Gaussian, Laplace, Uniform, StudentT, Rademacher, NoNoise, Custom)
}


def noise_from_dict(values: Mapping[str, Any]) -> Noise:
    """Return the noise that ``to_dict`` described.

    >>> noise_from_dict(Laplace(2.0, temporal="frozen").to_dict()) == Laplace(2.0, temporal="frozen")
    True
    """
    rest = dict(values)
    name = rest.pop("law", None)
    if name not in LAWS:
        raise NoiseError(
            message(f"the law must be one of {', '.join(LAWS)}", got=repr(name), remedy="check the spelling")
        )
    if name == NoNoise.law:
        return NoNoise()
    kind = dict(rest.pop("temporal"))
    word = kind.pop("kind")
    rest["temporal"] = AR1(**kind) if word == "ar1" else word
    rest["time_scale"] = schedule_from_dict(rest["time_scale"])
    if name == "custom":
        rest["distribution"] = _scipy_distribution(rest.pop("distribution"), rest.pop("args"), rest.pop("kwds"))
    return LAWS[name](**rest)


def _scipy_distribution(name: str, args: Sequence[float], kwds: Mapping[str, float]) -> Any:
    from scipy import stats

    family = getattr(stats, name, None)
    if not isinstance(family, (stats.rv_continuous, stats.rv_discrete)):
        rule = "a saved custom noise must name a distribution of scipy.stats"
        raise NoiseError(message(rule, got=repr(name), remedy="distributions defined elsewhere cannot be loaded"))
    return family(*args, **kwds)
