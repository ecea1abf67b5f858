"""Noise of public opinions: ε_t = std_i · scale_t · u_t, with u_t of mean zero and unit variance.

A noise is a law for u (its class), a standard deviation for all agents or one for each, a scale over time, and a
correlation in time: drawn at each step (white, as in the paper), drawn once (frozen), or autoregressive (AR(1)). A
new law is one class with its declared parameters in `_laws.py` and one line in `LAWS`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from peerpressure.errors import NoiseError, did_you_mean, message
from peerpressure.noise._base import AR1, Deviation, Frozen, Noise, Temporal, White
from peerpressure.noise._laws import Custom, Gaussian, Laplace, NoNoise, Rademacher, StudentT, Uniform
from peerpressure.schedules import schedule_from_dict

LAWS: Mapping[str, type[Noise]] = {
    member.law: member for member in (Gaussian, Laplace, Uniform, StudentT, Rademacher, NoNoise, Custom)
}

__all__ = [
    "AR1",
    "LAWS",
    "Custom",
    "Deviation",
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
    "noise_from_dict",
]


def noise_from_dict(values: Mapping[str, Any]) -> Noise:
    """Return the noise that `Noise.to_dict` describes.

    Parameters
    ----------
    values : mapping
        The ``law``, its parameters, and ``time_scale`` and ``temporal`` as plain values.

    Returns
    -------
    Noise
        Member of the family.

    Raises
    ------
    NoiseError
        If the law or a value is not legal.

    See Also
    --------
    Noise.to_dict : The description that this function reads.

    Examples
    --------
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
