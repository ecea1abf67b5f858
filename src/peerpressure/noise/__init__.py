"""Noise of public opinions: ε_t = std_i · scale_t · u_t, with u_t of mean zero and unit variance.

A noise is a law for u (its class), a standard deviation for all agents or one for each, a scale over time, and a
correlation in time: drawn at each step (white, as in the paper), drawn once (frozen), or autoregressive (AR(1)). A
new law is one class with its declared parameters in `_laws.py` and one line in `LAWS`.
"""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from peerpressure.errors import NoiseError, did_you_mean, message
from peerpressure.noise._base import AR1, Deviation, Frozen, Noise, Temporal, White
from peerpressure.noise._laws import Custom, Gaussian, Laplace, NoNoise, Rademacher, StudentT, Uniform
from peerpressure.schedules import schedule_from_dict
from peerpressure.support.parameters import needs_only_numbers, numbers_in_words

LAWS: Mapping[str, type[Noise]] = {
    member.law: member for member in (Gaussian, Laplace, Uniform, StudentT, Rademacher, NoNoise, Custom)
}

__all__ = [
    "AR1",
    "LAWS",
    "Custom",
    "Frozen",
    "Gaussian",
    "Laplace",
    "NoNoise",
    "Noise",
    "Rademacher",
    "StudentT",
    "Temporal",
    "Uniform",
    "White",
]


def __dir__() -> list[str]:
    return __all__


def as_noise(value: object) -> Noise:
    """Return a noise unchanged, numbers as standard deviations of `Gaussian`, a law in words, None as `NoNoise`.

    >>> from peerpressure.noise import as_noise
    >>> print(as_noise(0.3), as_noise("laplace:0.3"), as_noise(None), sep="; ")
    Gaussian, standard deviation 0.3; Laplace, standard deviation 0.3; no noise
    """
    if isinstance(value, Noise):
        return value
    if value is None:
        return NoNoise()
    if isinstance(value, str):
        fields = noise_in_words(value)
        return LAWS[fields.pop("law")](**fields)
    # bool is a number as well, and no standard deviation.
    number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if number or isinstance(value, np.ndarray | Sequence):
        return Gaussian(cast(Deviation, value))
    rule = "noise must be a Noise, a standard deviation, a law in words or None"
    remedy = "for instance Gaussian(0.3), 0.3 or 'laplace:0.3'; wrap a SciPy distribution as Custom(distribution)"
    raise NoiseError(message(rule, got=repr(value)[:80], remedy=remedy))


def noise_in_words(words: str) -> dict[str, Any]:
    """Return a law and its parameters, of which the first is the standard deviation; a number alone is Gaussian's.

    >>> noise_in_words("laplace:0.5"), noise_in_words("0.3")
    ({'law': 'laplace', 'std': 0.5}, {'law': 'gaussian', 'std': 0.3})
    """
    law, *given = words.split(":")
    names = [name for name, member in LAWS.items() if needs_only_numbers(member, member.parameters)]
    if law in names:
        return {"law": law, **numbers_in_words(law, given, LAWS[law], LAWS[law].parameters, NoiseError)}
    try:
        return {"law": Gaussian.law, "std": float(words)}
    except ValueError:
        rule = f"noise must be a law ({', '.join(names)}) and a standard deviation"
        raise NoiseError(message(rule, got=repr(words), remedy="for instance gaussian:1")) from None


def noise_from_dict(values: Mapping[str, Any]) -> Noise:
    """Return the noise that `Noise.to_dict` describes.

    >>> from peerpressure import Laplace
    >>> from peerpressure.noise import noise_from_dict
    >>> noise_from_dict(Laplace(2.0, temporal="frozen").to_dict()) == Laplace(2.0, temporal="frozen")
    True
    """
    rest = dict(values)
    name = rest.pop("law", None)
    if name not in LAWS:
        raise NoiseError(
            message(f"the law must be one of {', '.join(LAWS)}", got=repr(name), remedy="check the spelling")
        )
    # It takes no arguments, while its dictionary has the fields of all laws.
    if name == NoNoise.law:
        return NoNoise()
    kind = dict(rest.pop("temporal"))
    word = kind.pop("kind")
    # The other kinds have no parameters; their word is enough.
    rest["temporal"] = AR1(**kind) if word == "ar1" else word
    rest["time_scale"] = schedule_from_dict(rest["time_scale"])
    if name == "custom":
        rest["distribution"] = _scipy_distribution(rest.pop("distribution"), rest.pop("args"), rest.pop("kwds"))
    return LAWS[name](**rest)


def _scipy_distribution(name: str, args: Sequence[float], kwds: Mapping[str, float]) -> Any:
    from scipy import stats

    family = getattr(stats, name, None)
    # A file is data from elsewhere: only distributions of SciPy may be looked up by name, and no other attribute.
    if not isinstance(family, (stats.rv_continuous, stats.rv_discrete)):
        rule = "a custom noise must name a distribution of scipy.stats"
        known = [
            one for one, value in vars(stats).items() if isinstance(value, (stats.rv_continuous, stats.rv_discrete))
        ]
        raise NoiseError(message(rule, got=repr(name), remedy=f"for instance 'logistic'{did_you_mean(name, known)}"))
    return family(*args, **kwds)
