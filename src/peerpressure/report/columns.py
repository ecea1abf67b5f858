"""What the report shows of each table: which columns, under which headings, to how many digits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from markupsafe import Markup

from peerpressure.report.formula import formula
from peerpressure.report.tables import Column


def _math(latex: str) -> Markup:
    return Markup(formula(latex))


SHOWN: Final[Mapping[str, Sequence[Column]]] = MappingProxyType(
    {
        "summary": (
            Column("run", "run"),
            Column("pressure", _math(r"\rho_t")),
            Column("consensus_value", _math("v"), 4, fixed=True),
            Column("mean", "mean", 4, fixed=True),
            Column("spread", "spread", 4, fixed=True),
            Column("distance", _math(r"\text{distance to }v"), 4, fixed=True),
            Column("swing", "swing", 4, fixed=True),
            Column("predicted", "predicted"),
        ),
        "two_agents_covariances": (
            Column("method", "method"),
            Column("kind", "covariance"),
            Column("variance_1", "variance", 4, fixed=True),
            Column("covariance", "with the other", 4, fixed=True),
            Column("smallest_eigenvalue", "smallest eigenvalue", 4, fixed=True),
            Column("uncertainty", "uncertainty", 4, fixed=True),
        ),
        "residual_normality": (
            Column("sample", "sample"),
            Column("size", "size"),
            Column("mean", "mean", 4, fixed=True),
            Column("std", "deviation", 4, fixed=True),
            Column("exact_std", "exact deviation", 4, fixed=True),
            Column("skewness", "skewness", 2, fixed=True),
            Column("excess_kurtosis", "excess kurtosis", 2, fixed=True),
            Column("shapiro_p", Markup("Shapiro–Wilk {}").format(_math("p")), 3, fixed=True),
            Column("anderson_p", Markup("Anderson–Darling {}").format(_math("p")), 3, fixed=True),
        ),
        "regression_comparison": (
            Column("edges", "edges per round"),
            Column("regressor", "regressor"),
            Column("term", "term"),
            Column("printed", "printed", 4, fixed=True),
            Column("printed_error", "error", 4, fixed=True),
            Column("measured", "measured", 4, fixed=True),
            Column("measured_error", "error", 4, fixed=True),
            Column("exact", "exact", 4, fixed=True),
            Column("z", _math("z"), 2, fixed=True),
            Column("p", _math("p"), 2),
        ),
        "noise_exponents": (
            Column("noise", _math(r"\sigma_0")),
            Column("quantity", "quantity"),
            Column("exponent", "power", 3, fixed=True),
            Column("low", "from", 3, fixed=True),
            Column("high", "to", 3, fixed=True),
            Column("constant", "constant", 3),
        ),
    }
)
