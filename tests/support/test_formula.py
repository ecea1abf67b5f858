"""Formulas: what is arithmetic is computed as Python would, and nothing else gets in."""

from __future__ import annotations

import math
import pickle
from dataclasses import FrozenInstanceError
from functools import reduce
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from peerpressure.errors import FormulaError
from peerpressure.support.formula import CHOICES, CONSTANTS, FUNCTIONS, MAX_LENGTH, MAX_NESTING, MAX_NODES, parse
from tests.builders import examples

TIMES = np.array([1.0, 2.0, 3.0, 7.5, 100.0, 1e6])


class Value(np.lib.mixins.NDArrayOperatorsMixin):
    """A number on which Python's operators are NumPy's functions, so equality can be exact.

    What is tested against Python is the reading: precedence, association, signs and names.
    """

    def __init__(self, value: Any) -> None:
        self.value = value

    def __array_ufunc__(self, function: Any, method: str, *inputs: Any) -> Value:
        return Value(function(*(value.value for value in inputs)))


NAMESPACE: dict[str, Any] = {
    "__builtins__": {},
    "F": lambda number: Value(np.float64(number)),
    "t": Value(TIMES),
    **CONSTANTS,
    **FUNCTIONS,
    "min": lambda *values: reduce(np.minimum, values),
    "max": lambda *values: reduce(np.maximum, values),
}


OPERATORS = ["+", "-", "*", "/", "^", "**"]


def _join(children: st.SearchStrategy[tuple[str, str]]) -> st.SearchStrategy[tuple[str, str]]:
    """Pairs of a formula as a user writes it, and as Python does."""

    def binary(left: tuple[str, str], symbol: str, right: tuple[str, str], gap: str) -> tuple[str, str]:
        python = "**" if symbol == "^" else symbol
        return f"{left[0]}{gap}{symbol}{gap}{right[0]}", f"{left[1]}{python}{right[1]}"

    def call(name: str, arguments: list[tuple[str, str]]) -> tuple[str, str]:
        user, python = zip(*arguments, strict=True)
        return f"{name}({', '.join(user)})", f"{name}({', '.join(python)})"

    return st.one_of(
        st.builds(binary, children, st.sampled_from(OPERATORS), children, st.sampled_from(["", " "])),
        children.map(lambda pair: (f"({pair[0]})", f"({pair[1]})")),
        st.tuples(st.sampled_from("+-"), children).map(lambda pair: (pair[0] + pair[1][0], pair[0] + pair[1][1])),
        st.builds(call, st.sampled_from(sorted(FUNCTIONS)), st.lists(children, min_size=1, max_size=1)),
        st.builds(call, st.sampled_from(sorted(CHOICES)), st.lists(children, min_size=2, max_size=3)),
    )


LEAVES = st.one_of(
    st.just(("t", "t")),
    st.sampled_from(sorted(CONSTANTS)).map(lambda name: (name, f"F({name})")),
    st.integers(0, 20).map(lambda number: (str(number), f"F({number})")),
    st.floats(0.0, 1e6, allow_subnormal=False).map(lambda number: (repr(number), f"F({number!r})")),
)
FORMULAS = st.recursive(LEAVES, _join, max_leaves=12)


@given(FORMULAS)
@examples(3)
def test_it_computes_what_python_computes(pair: tuple[str, str]) -> None:
    user, python = pair
    with np.errstate(all="ignore"):
        expected = np.broadcast_to(eval(python, NAMESPACE).value, TIMES.shape)
    refused = ""
    try:
        expression = parse(user)
    except FormulaError as error:
        refused = str(error)
    if refused:
        # A constant part may overflow or be undefined, and a formula may be too long: nothing else is wrong.
        assert any(words in refused for words in ("a constant part", "more than", "at most"))
        return
    np.testing.assert_array_equal(expression(TIMES), expected)


@given(FORMULAS)
@examples(2)
def test_the_canonical_text_reads_back_as_the_same_tree(pair: tuple[str, str]) -> None:
    try:
        expression = parse(pair[0])
    except FormulaError:
        return
    again = parse(expression.text)
    assert again == expression
    assert hash(again) == hash(expression)
    assert again.text == expression.text == str(expression)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("t", 4.0),
        ("-t^2", -16.0),
        ("2^-t", 0.0625),
        ("2**3**2", 512.0),
        ("(2^3)^2", 64.0),
        ("8/4/2", 1.0),
        ("8-4-2", 2.0),
        ("1+2*t^2", 33.0),
        ("--t", 4.0),
        ("+t", 4.0),
        (".5*t", 2.0),
        ("1e2", 100.0),
        ("2 ^ sqrt( t )", 4.0),
        ("  \t t\n+ 1 ", 5.0),
        ("log(e)*pi", math.pi),
        ("min(t, 3, 5) + max(t, 3, 5)", 8.0),
        ("log2(t)+log10(100)+log1p(0)+expm1(0)+exp(0)", 5.0),
        ("floor(t/3) + ceil(t/3) + abs(-t)", 7.0),
        ("3·t² − 2×t ÷ 4", 46.0),
        ("−t⁻¹ + 2^t²", 65535.75),
        ("10·2¹⁰", 10240.0),
    ],
)
def test_known_values(text: str, value: float) -> None:
    assert parse(text)(4) == pytest.approx(value, rel=1e-15)


def test_the_longest_canonical_text_is_still_accepted() -> None:
    # 23 characters is as long as a positive double prints.
    number = "2.2250738585072014e-308"
    text = f"min({','.join([number] * (MAX_NODES - 1))})"
    expression = parse(text)
    assert len(expression.text) <= MAX_LENGTH
    assert parse(expression.text) == expression
    with pytest.raises(FormulaError, match=f"more than {MAX_NODES}"):
        parse(text.replace(")", ",1)"))


def test_the_shape_follows_t_and_the_input_is_not_aliased() -> None:
    times = np.ones((2, 3))
    same = parse("t")(times)
    same[:] = 7
    assert times.max() == 1
    assert parse("5")(times).shape == (2, 3)
    assert parse("5")(1).shape == ()
    assert parse("t")([1, 2]).dtype == np.float64


def test_overflow_and_undefined_values_are_left_to_the_caller() -> None:
    assert np.isposinf(parse("exp(t)")(1e4))
    assert np.isnan(parse("sqrt(-t)")(1.0))
    assert np.isposinf(parse("1/(t-1)")(1.0))


def test_expressions_are_frozen_and_pickle() -> None:
    expression = parse("t*log(t)")
    with pytest.raises(FrozenInstanceError):
        expression.tree = parse("t").tree  # type: ignore[misc]
    assert pickle.loads(pickle.dumps(expression)) == expression
    assert len({parse("t + 1"), parse("t+1"), parse("(t)+(1.0)")}) == 1
    assert parse("t+1") != parse("1+t")


HOSTILE = [
    ("", "nothing at all"),
    ("t.__class__.__mro__", "attribute access"),
    ("__import__('os').system('true')", "text in quotes"),
    ("open(t)", "unknown name 'open'"),
    ("sqr(t)", "did you mean sqrt"),
    ("T", "did you mean t"),
    ("t[0]", "a subscript"),
    ("t < 1", "a comparison"),
    ("lambda t: t", "a lambda"),
    ("t if t else 1", "an 'if'"),
    ("t and 1", "a logical"),
    ("not t", "operator not"),
    ("t // 2", r"write floor\(a/b\)"),
    ("t % 2", "operator %"),
    ("t << 2", "operator LShift"),
    ("(t := 1)", "an assignment"),
    ("t = 1", "column 3"),
    ("t, t", "a comma"),
    ("[t]", "a list"),
    ("{t}", "a set"),
    ("{t: t}", "a dictionary"),
    ("[t for t in t]", "ListComp"),
    ("(yield t)", "Yield"),
    ("await t", "Await"),
    ("'t'", "text in quotes"),
    ('f"{t}"', "text in quotes"),
    ("'\\d'", "text in quotes"),
    ("t # t", "a comment"),
    ("t \\\n + 1", "a backslash"),
    ("1j", "a number run into a word"),
    ("2t", r"2\*t"),
    ("0or 1", "a number run into a word"),
    ("1.5.2or 1", "column 4"),
    ("True", "the word True"),
    ("...", "the word Ellipsis"),
    ("log", "without its argument"),
    ("log()", "0 arguments"),
    ("log(t, 2)", "2 arguments"),
    ("log(t, base=2)", "a named argument"),
    ("max(t)", "1 argument"),
    ("max(*t, 1)", "a starred argument"),
    ("max(^t)", "a named argument"),
    ("t(2)", "which is no function"),
    ("log(t)(t)", "no function"),
    ("t t", "column 3"),
    ("(t", "never closed"),
    ("t)", "column 2"),
    ("t ^^ 2", "unreadable"),
    ("007", "unreadable"),
    ("$", "unreadable"),
    ("ｔ", "the character"),
    ("t\u200b+1", "column 2"),
    ("2²t", "a number run into a word"),
    ("t⁻", "unreadable"),
    ("\ud800", "the character"),
    ("t\0", "a null byte"),
    ("10**10**10", "a constant part whose value is infinite"),
    ("1/0", "infinite"),
    ("0/0 + t", "undefined"),
    ("1e400", "too large for a double"),
    ("9" * 400, "too large for a double"),
    ("9" * (MAX_LENGTH + 1), "at most"),
    ("t" * 10_000_000, "at most"),
    ("(" * (MAX_NESTING + 1) + "t" + ")" * (MAX_NESTING + 1), "nested parentheses"),
    ("(" * (MAX_LENGTH - 1), "nested parentheses"),
    ("-" * (MAX_LENGTH - 1) + "1", "more than|nesting"),
    ("1" + "**1" * ((MAX_LENGTH - 1) // 3), "more than"),
    ("t" + "^t" * ((MAX_LENGTH - 1) // 2), "more than"),
    ("log(" * MAX_NESTING + "t" + ")" * MAX_NESTING + "+t" * 10, "more than"),
    ("abs(" * 200 + "t" + ")" * 200, "nested parentheses"),
    ("not " * 300 + "t", "operator not"),
    ("x" * MAX_LENGTH, "unknown name"),
]


@pytest.mark.parametrize(("text", "found"), HOSTILE, ids=[ascii(text[:20]) for text, _ in HOSTILE])
def test_everything_else_is_one_clear_error(text: str, found: str) -> None:
    with pytest.raises(FormulaError, match=found) as caught:
        parse(text)
    assert len(str(caught.value)) < 400
    assert ";" in str(caught.value)


@pytest.mark.parametrize("value", [None, 3, 2.5, b"t", ["t"], object()])
def test_only_text_is_read(value: Any) -> None:
    with pytest.raises(FormulaError, match="must be text"):
        parse(value)


def test_the_column_is_that_of_the_text_as_typed() -> None:
    with pytest.raises(FormulaError, match="'foo' at column 9"):
        parse("  t^2^3+foo")
    with pytest.raises(FormulaError, match="'foo' at column 9 of '  t²·3³−foo'"):
        parse("  t²·3³−foo")


def test_parentheses_up_to_the_cap_are_read() -> None:
    assert parse("(" * MAX_NESTING + "t" + ")" * MAX_NESTING) == parse("t")


ALPHABET = "t0123456789.eE+-*/^()[]{}, _logsqrtminaxp'\"\\#:=<>!~@%&|;\n\t\0\r\fjJxob²ｔ"


BYTES = st.binary(max_size=60).map(lambda data: data.decode("latin-1"))


@given(st.one_of(st.text(max_size=60), st.text(alphabet=ALPHABET, max_size=60), BYTES))
@examples(4)
def test_random_text_is_read_or_refused(text: str) -> None:
    try:
        expression = parse(text)
    except FormulaError:
        return
    assert parse(expression.text) == expression
    assert expression(TIMES).shape == TIMES.shape


TOKENS = [*["t", "1", "2.5", "e", "log", "max", "(", ")", ",", "+", "-", "*", "**", "^", "/", ".", "if", "else"], " "]


@given(st.lists(st.sampled_from(TOKENS), max_size=40))
@examples(4)
def test_random_tokens_are_read_or_refused(tokens: list[str]) -> None:
    try:
        expression = parse("".join(tokens))
    except FormulaError:
        return
    assert parse(expression.text) == expression
