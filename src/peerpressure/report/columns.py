"""What the report shows of each table: which columns, under which headings, to how many digits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from markupsafe import Markup

from peerpressure.report.formula import formula
from peerpressure.report.tables import Column, Form


def _math(latex: str) -> Markup:
    return Markup(formula(latex))


_NOISE: Final = {"noise": _math(r"\sigma_0"), "noise_variance": _math(r"\sigma_0^2")}
_TERMS: Final = {"agents": _math("|V|"), "noise": "noise"}
_METHODS: Final = {"ols": "regression"}
_KINDS: Final = {
    "printed_limit": "printed limit",
    "homoskedastic": "claimed, all errors alike",
    "textbook": "printed by software",
    "exact": "true",
    "empirical": "sampled",
}

_TIES: Final = {
    "slow": "slow turnover",
    "fast": "drawn anew",
    "isolated": "drawn anew, ring included",
}

SHOWN: Final[Mapping[str, Sequence[Column]]] = MappingProxyType(
    {
        "summary": (
            Column("run", "run"),
            Column("pressure", _math(r"\rho_t")),
            Column("consensus_value", _math("v"), 4, Form.FIXED),
            Column("mean", "mean", 4, Form.FIXED),
            Column("spread", "spread", 2),
            Column("distance", "distance", 2),
            Column("swing", "swing", 2),
            Column("predicted", "predicted"),
        ),
        "two_agents_covariances": (
            Column("method", "method", names=_METHODS),
            Column("kind", "covariance", names=_KINDS),
            Column("variance_1", "variance", 4, Form.FIXED),
            Column("covariance", "with the other", 4, Form.FIXED),
            Column("smallest_eigenvalue", "smallest eigenvalue", 4, Form.FIXED),
            Column("uncertainty", "uncertainty", 4, Form.FIXED, zero_is_none=True),
        ),
        "residual_normality": (
            Column("sample", "sample"),
            Column("size", "size"),
            Column("mean", "mean", 4, Form.FIXED),
            Column("std", "deviation", 4, Form.FIXED),
            Column("exact_std", "exact", 4, Form.FIXED),
            Column("skewness", "skewness", 2, Form.FIXED),
            Column("excess_kurtosis", "excess kurtosis", 2, Form.FIXED),
            Column("shapiro_p", Markup("Shapiro–Wilk {}").format(_math("p")), 3, Form.FIXED),
            Column("anderson_p", Markup("Anderson–Darling {}").format(_math("p")), 3, Form.FIXED),
        ),
        "regression_comparison": (
            Column("edges", "edges per step"),
            Column("regressor", "regressor", names=_NOISE),
            Column("term", "term", names=_TERMS),
            Column("printed", "printed", 4, Form.FIXED),
            Column("printed_error", "error", 4, Form.FIXED),
            Column("measured", "measured", 4, Form.FIXED),
            Column("measured_error", "error", 4, Form.FIXED),
            Column("exact", "exact", 4, Form.FIXED),
            Column("z", _math("z"), 2, Form.FIXED),
            Column("p", _math("p"), 2),
        ),
        "turnover_networks": (
            Column("network", "ties", names=_TIES),
            Column("pairs", "pairs"),
            Column("edges", "edges", 1, Form.FIXED),
            Column("changes", "changes", 1, Form.FIXED),
            Column("alone", "alone", 3, Form.FIXED, zero_is_none=True),
            Column("outcome", "predicted"),
        ),
        "noise_exponents": (
            Column("noise", _math(r"\sigma_0"), form=Form.PLAIN),
            Column("quantity", "quantity"),
            Column("exponent", "power", 3, Form.FIXED),
            Column("constant", "constant"),
        ),
    }
)
