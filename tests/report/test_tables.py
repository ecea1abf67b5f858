"""Numbers, words and formulas as a reader meets them."""

from __future__ import annotations

import math
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from markupsafe import Markup

from peerpressure.report.formulas import formula
from peerpressure.report.html import (
    MISSING,
    Column,
    Form,
    aligned,
    number,
    pick,
    table,
    typeset,
    with_formulas,
)

PAD = re.compile(r'<span class="pad" aria-hidden="true">([.0]*)</span>')


@pytest.mark.parametrize(
    ("value", "options", "text"),
    [
        (0.0, {}, "0.000"),
        (-0.5, {"digits": 2}, "−0.50"),
        (1234567, {}, "1,234,567"),
        (1e-9, {"digits": 2}, "1.0×10^−9"),
        (2.5e7, {}, "2.50×10^7"),
        (1e-9, {"digits": 4, "form": Form.FIXED}, "0.0000"),
        (0.1, {"form": Form.PLAIN}, "0.1"),
        (math.inf, {}, "∞"),
        (-math.inf, {}, "−∞"),
        (math.nan, {}, MISSING),
        (None, {}, MISSING),
        (np.int64(3), {}, "3"),
    ],
)
def test_numbers_are_rounded_for_reading(value: object, options: dict[str, object], text: str) -> None:
    assert number(value, **options) == text  # type: ignore[arg-type]


@given(st.lists(st.floats(0.001, 99_999), min_size=1, max_size=8))
def test_padded_numbers_have_their_points_at_one_distance_from_the_right(values: list[float]) -> None:
    cells = [PAD.sub(r"\1", str(cell)) for cell in aligned([number(value) for value in values])]
    assert len({len(cell) - cell.index(".") if "." in cell else 0 for cell in cells}) == 1


def test_a_table_shows_the_chosen_columns() -> None:
    data = pd.DataFrame({"kind": ["ols", "x_y"], "value": [0.0, 1.5], "left_out": 1})
    made = table(data, [Column("kind", "Kind", names={"ols": "regression"}), Column("value", "V", zero_is_none=True)])
    assert made.headings == ["Kind", "V"]
    assert list(made.numeric) == [False, True]
    assert made.rows == [("regression", Markup(MISSING)), (Markup("x y"), Markup("1.50"))]
    assert table(data, [Column("kind", "Kind")], most=1).rows_left_out == 1


def test_pick_finds_the_row_that_matches() -> None:
    data = pd.DataFrame({"a": [1, 2], "b": ["x", "y"], "c": [3.0, 4.0]})
    assert pick(data, "c", {"a": 2, "b": "y"}) == 4.0
    with pytest.raises(IndexError):
        pick(data, "c", {"a": 9})


@pytest.mark.parametrize(
    ("plain", "printed"),
    [
        ("g_t falls to 1.6e-17", "g<sub>t</sub> falls to 1.6×10<sup>−17</sup>"),
        ("like T^-1.00; only", "like T<sup>−1.00</sup>; only"),
        ("2^√t", "2<sup>√t</sup>"),
        ("Σ_{t=1}^T", "Σ<sub>t=1</sub><sup>T</sup>"),
        ("Q_(t−1)", "Q<sub>t−1</sub>"),
        ("z = -0.7, 20-fold", "z = −0.7, 20-fold"),
        ("within 0e+00", "within 0"),
        ("8.57e+03", "8.57×10<sup>3</sup>"),
        ("two_agents", "two_agents"),
    ],
)
def test_text_is_set_as_a_printer_would(plain: str, printed: str) -> None:
    assert str(typeset(plain)) == printed


@given(st.text())
def test_set_text_never_lets_markup_through(text: str) -> None:
    tags = re.sub(r"</?su[bp]>", "", str(typeset(text)))
    assert "<" not in tags
    assert ">" not in tags


def test_formulas_stand_on_the_line_and_take_the_colour_of_the_text() -> None:
    drawn = formula(r"\sigma_0^2")
    assert drawn == formula(r"\sigma_0^2")
    assert 'aria-label="\\sigma_0^2"' in drawn
    assert "fill" not in drawn
    assert float(re.findall(r"vertical-align:(-?[\d.]+)em", drawn)[0]) < 0
    assert with_formulas(r"a \(x\) b \[y\] c").count('class="formula"') == 2
    assert 'class="display"' in with_formulas(r"\[y\]")


def test_a_formula_that_cannot_be_drawn_is_an_error() -> None:
    with pytest.raises(ValueError, match="nosuchcommand"):
        formula(r"\nosuchcommand")
