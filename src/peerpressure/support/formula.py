"""Safe arithmetic in one variable t, for formulas of users.

A formula is never executed as code: its text is parsed into Python's syntax tree, and the nodes on a whitelist are
copied into a small immutable tree of this module, which NumPy evaluates.
"""

from __future__ import annotations

import ast
import difflib
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, NoReturn, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from peerpressure.errors import FormulaError

__all__ = ["CONSTANTS", "FUNCTIONS", "MAX_LENGTH", "MAX_NESTING", "MAX_NODES", "Expression", "parse"]

Array = NDArray[np.float64]

# This also bounds the depth of every recursion below, since every node recurses once.
MAX_NODES = 60
# No node prints longer than 25 characters (a 23-character number and its comma), so the canonical text of an accepted
# formula is accepted, too.
MAX_LENGTH = 25 * MAX_NODES
# Far below the limits of Python's own parser, which depend on its version.
MAX_NESTING = 50

CONSTANTS: Mapping[str, float] = {"pi": math.pi, "e": math.e}
FUNCTIONS: Mapping[str, Callable[[Any], Any]] = {
    "sqrt": np.sqrt,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "exp": np.exp,
    "expm1": np.expm1,
    "abs": np.abs,
    "floor": np.floor,
    "ceil": np.ceil,
    "sin": np.sin,
    "cos": np.cos,
}
CHOICES: Mapping[str, Callable[[Any, Any], Any]] = {"min": np.minimum, "max": np.maximum}
OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "^": np.power,
}
# Precedence of the operators, as in Python: a power binds more tightly than the sign before it.
BINDING: Mapping[str, int] = {"+": 1, "-": 1, "*": 2, "/": 2, "^": 4}
SIGN_BINDING, ATOM_BINDING = 3, 5

NAMES = ("t", *CONSTANTS, *FUNCTIONS, *CHOICES)
ALLOWED = f"use numbers, + - * / ^, parentheses and the names {', '.join(NAMES)}"


class Node(ABC):
    """Node of the tree: it can be evaluated at t, and printed."""

    @property
    @abstractmethod
    def binding(self) -> int:
        """Precedence of the printed form."""

    @abstractmethod
    def evaluate(self, t: Array) -> Any:
        """Return the value at each t."""

    def inside(self, enough: bool) -> str:
        """Return the printed form, in parentheses if its precedence requires them."""
        return str(self) if enough else f"({self})"


@final
@dataclass(frozen=True)
class Number(Node):
    """A number, always a float, since powers of integers could grow without bound."""

    value: float
    binding = ATOM_BINDING

    def evaluate(self, t: Array) -> Any:
        """Return the number."""
        return np.float64(self.value)

    def __str__(self) -> str:
        # Up to 1e15 an integer prints exactly without an exponent; repr gives the shortest text that reads back the
        # same.
        return f"{self.value:.0f}" if self.value.is_integer() and self.value < 1e15 else repr(self.value)


@final
@dataclass(frozen=True)
class Name(Node):
    """The variable t, or a named constant."""

    name: str
    binding = ATOM_BINDING

    def evaluate(self, t: Array) -> Any:
        """Return t, or the constant."""
        return t if self.name == "t" else np.float64(CONSTANTS[self.name])

    def __str__(self) -> str:
        return self.name


@final
@dataclass(frozen=True)
class Negative(Node):
    """Minus the operand."""

    operand: Node
    binding = SIGN_BINDING

    def evaluate(self, t: Array) -> Any:
        """Return minus the operand."""
        return -self.operand.evaluate(t)

    def __str__(self) -> str:
        # -(-t) and -t^2 need no parentheses; -(a + b) and -(a*b) keep theirs, or the sign would bind to the first
        # operand.
        return f"-{self.operand.inside(self.operand.binding >= SIGN_BINDING)}"


@final
@dataclass(frozen=True)
class Operation(Node):
    """Two operands joined by + - * / or ^."""

    symbol: str
    left: Node
    right: Node

    @property
    def binding(self) -> int:
        """Precedence of the operator."""
        return BINDING[self.symbol]

    def evaluate(self, t: Array) -> Any:
        """Return left (symbol) right."""
        return OPERATORS[self.symbol](self.left.evaluate(t), self.right.evaluate(t))

    def __str__(self) -> str:
        mine = self.binding
        power = self.symbol == "^"
        # Powers group from the right, everything else from the left.
        left = self.left.inside(self.left.binding > mine if power else self.left.binding >= mine)
        right = self.right.inside(self.right.binding >= mine if power else self.right.binding > mine)
        return f"{left} {self.symbol} {right}" if mine == 1 else f"{left}{self.symbol}{right}"


@final
@dataclass(frozen=True)
class Call(Node):
    """A function of one argument, or the least or greatest of several."""

    function: str
    arguments: tuple[Node, ...]
    binding = ATOM_BINDING

    def evaluate(self, t: Array) -> Any:
        """Return function(arguments)."""
        values = [argument.evaluate(t) for argument in self.arguments]
        return reduce(CHOICES[self.function], values) if len(values) > 1 else FUNCTIONS[self.function](values[0])

    def __str__(self) -> str:
        return f"{self.function}({', '.join(map(str, self.arguments))})"


@final
@dataclass(frozen=True)
class Expression:
    """Parsed arithmetic in t; expressions are equal if their trees are.

    >>> double = parse("2**sqrt(t) + 1")
    >>> double([1, 4])
    array([3., 5.])
    >>> print(double)
    2^sqrt(t) + 1
    """

    tree: Node

    @property
    def text(self) -> str:
        """Canonical text, with ``parse(expression.text) == expression``."""
        return str(self.tree)

    @property
    def counts_steps(self) -> bool:
        """Whether the value depends on t in whole numbers, which are lost where t is too large to have a fraction."""
        return any(f"{name}(" in self.text for name in ("floor", "ceil"))

    def __str__(self) -> str:
        return self.text

    def __call__(self, t: ArrayLike) -> Array:
        """Return the value at each t, in the shape of t: inf where it overflows, NaN where it is undefined."""
        times = np.asarray(t, dtype=np.float64)
        values = np.empty(times.shape)
        # Overflow and undefined values are part of the result; schedules check it and name the time.
        with np.errstate(all="ignore"):
            # Assigned, because a constant formula evaluates to a scalar, which this broadcasts to the shape of t.
            values[...] = self.tree.evaluate(times)
        return values


def parse(text: str) -> Expression:
    """Parse arithmetic in t.

    >>> parse("t ** 1.5 / 2")(4.0)
    array(4.)
    >>> parse("2 ^ sqr(t)")
    Traceback (most recent call last):
    peerpressure.errors.FormulaError: ... the unknown name 'sqr' at column 5 of ...; did you mean sqrt?
    """
    if not isinstance(text, str):
        raise FormulaError("a formula must be text", got=type(text).__name__, remedy="write it as 't*log(t)'")
    # Before parsing, whose time and memory grow with the length.
    if len(text) > MAX_LENGTH:
        rule = f"a formula must have at most {MAX_LENGTH} characters"
        raise FormulaError(rule, got=len(text), remedy="give the values as a table instead")
    return Expression(_Reader(text).read())


# Names of syntax that is not arithmetic, for error messages.
_DESCRIPTIONS: Mapping[type[ast.AST], str] = {
    ast.Attribute: "attribute access with a dot",
    ast.Subscript: "a subscript in brackets",
    ast.Compare: "a comparison",
    ast.BoolOp: "a logical 'and' or 'or'",
    ast.IfExp: "an 'if'",
    ast.Lambda: "a lambda",
    ast.NamedExpr: "an assignment",
    ast.Starred: "a starred argument",
    ast.Tuple: "a comma outside a function",
    ast.List: "a list",
    ast.Set: "a set",
    ast.Dict: "a dictionary",
}
# Characters with which Python would start text, a comment or a continued line.
_FORBIDDEN_CHARACTERS: Mapping[str, str] = {
    "'": "text in quotes",
    '"': "text in quotes",
    "\\": "a backslash",
    "#": "a comment",
    "\0": "a null byte",
}
_OPERATOR_SYMBOLS: Mapping[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Pow: "^",
}
_OTHER_OPERATORS: Mapping[type[ast.AST], tuple[str, str]] = {
    ast.FloorDiv: ("//", "write floor(a/b)"),
    ast.Mod: ("%", "write a - b*floor(a/b)"),
    ast.Not: ("not", ALLOWED),
    ast.Invert: ("~", ALLOWED),
    ast.MatMult: ("@", ALLOWED),
}
# Names from other notations, for which the closest spelling would be a wrong suggestion.
_OTHER_NAMES: Mapping[str, str] = {"ln": "log", "x": "t", "n": "t", "T": "t", "power": "^", "pow": "^"}
_WORD_OR_NUMBER = re.compile(r"(?P<word>[A-Za-z_]\w*)|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)


# Signs of typeset formulas, which may be pasted; a run of raised signs is an exponent.
_TYPESET: Mapping[str, str] = {"−": "-", "·": "*", "×": "*", "÷": "/"}
_RAISED: Mapping[str, str] = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-", strict=True))


def _in_ascii(text: str) -> list[tuple[str, int]]:
    """Return the text with its typeset signs spelled in ASCII: each character, and its column in the text."""
    signs: list[tuple[str, int]] = []
    for column, letter in enumerate(text):
        spelled = _RAISED.get(letter) or _TYPESET.get(letter, letter)
        begins = letter in _RAISED and text[column - 1 : column] not in _RAISED
        signs += [(sign, column) for sign in "^" * begins + spelled]
    return signs


class _Reader:
    """Parser of one text, which counts nodes and keeps the column of each."""

    def __init__(self, text: str) -> None:
        self.given = text
        self.nodes = 0
        signs = _in_ascii(text)
        self.text, self.places = "".join(sign for sign, _ in signs), [column for _, column in signs]
        # Users write ^ for a power, which is "xor" in Python; it is replaced by ** before parsing.
        self.columns = [column for sign, column in signs for _ in range(1 + (sign == "^"))]

    def read(self) -> Node:
        """Check the characters, parse, and copy the tree."""
        self.check_characters()
        spelled = re.sub(r"\s", " ", self.text).replace("^", "**")
        bare = spelled.lstrip()
        indent = len(spelled) - len(bare)
        if not bare:
            self.fail("nothing at all", 0, "write something such as t or t*log(t)")
        # Python would read a leading space as indentation; the columns account for what is stripped.
        self.columns = self.columns[indent:]
        try:
            tree = ast.parse(bare, mode="eval").body
        except SyntaxError as error:
            reason = error.msg.split(". ")[0]
            self.fail(f"something unreadable ({reason})", self.column((error.offset or 1) - 1))
        # Deep nesting raises one or the other, depending on the version of Python.
        except (ValueError, MemoryError, RecursionError):
            self.fail("nesting too deep to read", self.column(0), "write it more simply")
        return self.copy(tree)[0]

    def fail(self, problem: str, column: int, remedy: str = ALLOWED) -> NoReturn:
        """Raise a FormulaError that names what was found, and where."""
        # Non-ASCII characters may be invisible or look like others; their escapes do not.
        shown = ascii(self.given if len(self.given) <= 60 else f"{self.given[:57]}...")
        for sign in (*_TYPESET, *_RAISED):
            shown = shown.replace(ascii(sign)[1:-1], sign)
        got = f"{problem} at column {column + 1} of {shown}"
        raise FormulaError("a formula must be arithmetic in t", got=got, remedy=remedy) from None

    def column(self, offset: int) -> int:
        """Return the column in the user's text of an offset in the parsed text."""
        # Python reports some errors one column before or behind the text.
        return self.columns[min(max(offset, 0), len(self.columns) - 1)]

    def check_characters(self) -> None:
        """Reject characters before Python parses them, such as those that would make it warn."""
        nesting = 0
        for column, letter in zip(self.places, self.text, strict=True):
            if letter in _FORBIDDEN_CHARACTERS:
                self.fail(_FORBIDDEN_CHARACTERS[letter], column)
            if not (letter.isascii() and (letter.isprintable() or letter.isspace())):
                self.fail(f"the character {letter!a}", column)
            nesting += (letter == "(") - (letter == ")")
            if nesting > MAX_NESTING:
                self.fail(f"more than {MAX_NESTING} nested parentheses", column, "write it more simply")
        # Python accepts 2if and 0x1f, and warns about others; a missing * is the likely reason for all of them.
        for match in _WORD_OR_NUMBER.finditer(self.text):
            following = self.text[match.end() : match.end() + 1]
            if match["word"] is None and (following.isalpha() or following == "_"):
                problem = f"a number run into a word ('{match[0]}{following}')"
                self.fail(problem, self.places[match.start()], "write * between them, as in 2*t")

    def copy(self, source: ast.expr) -> tuple[Node, float | None]:
        """Return the copy of a node of Python's tree, and its value if it does not depend on t."""
        # Counting during the copy rejects a deep tree before the recursion gets deep.
        self.nodes += 1
        column = self.column(source.col_offset)
        if self.nodes > MAX_NODES:
            self.fail(f"more than {MAX_NODES} numbers, names and operations", column, "write it more simply")
        match source:
            case ast.Constant(value=value):
                return self.number(value, column)
            case ast.Name(id=name):
                return self.name(name, column), CONSTANTS.get(name)
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                # A leading plus changes nothing, and would not survive the canonical text.
                return self.copy(operand)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                inner, value = self.copy(operand)
                return Negative(inner), None if value is None else -value
            case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _OPERATOR_SYMBOLS:
                copies = [self.copy(left), self.copy(right)]
                node: Node = Operation(_OPERATOR_SYMBOLS[type(operator)], copies[0][0], copies[1][0])
            case ast.Call(func=function, args=arguments, keywords=keywords):
                name = self.function(function, len(arguments), bool(keywords))
                copies = [self.copy(argument) for argument in arguments]
                node = Call(name, tuple(copy[0] for copy in copies))
            case ast.BinOp(op=operator) | ast.UnaryOp(op=operator):
                symbol, remedy = _OTHER_OPERATORS.get(type(operator), (type(operator).__name__, ALLOWED))
                self.fail(f"the operator {symbol}", column, remedy)
            case _:
                self.fail(_DESCRIPTIONS.get(type(source), f"a Python {type(source).__name__}"), column)
        # Constant parts are evaluated here to report 1/0 as an error of the formula and not of a later step.
        return node, self.constant(node, column) if all(value is not None for _, value in copies) else None

    def number(self, value: object, column: int) -> tuple[Node, float]:
        """Return a literal as a float."""
        # Excludes bool, which is an int, as well as complex numbers and None.
        if type(value) not in {int, float}:
            self.fail(f"the word {value}", column)
        try:
            number = float(value)  # type: ignore[arg-type]
        except OverflowError:
            # float() raises for an int of more than 308 digits, but returns inf for 1e999.
            number = math.inf
        if math.isinf(number):
            self.fail("a number too large for a double", column, "keep numbers below 1.8e308")
        return Number(number), number

    def name(self, name: str, column: int) -> Node:
        """Return the variable or constant of that name."""
        if name in FUNCTIONS or name in CHOICES:
            self.fail(f"the function {name} without its argument", column, f"write {name}(...)")
        if name not in NAMES:
            self.unknown(name, column)
        return Name(name)

    def function(self, source: ast.expr, count: int, keywords: bool) -> str:
        """Return the name of a function that is called with that many arguments."""
        column = self.column(source.col_offset)
        if not isinstance(source, ast.Name):
            problem = _DESCRIPTIONS.get(type(source), "a call of something that is no function")
            self.fail(problem, column, f"write * between two factors; {ALLOWED}")
        name = source.id
        if name == "t" or name in CONSTANTS:
            self.fail(f"a call of {name}, which is no function", column, f"write * between factors: {name}*(...)")
        if name not in NAMES:
            self.unknown(name, column)
        if keywords or (count != 1 if name in FUNCTIONS else count < 2):
            wants = "one argument" if name in FUNCTIONS else "two or more arguments"
            got = "a named argument" if keywords else f"{count} argument{'s' * (count != 1)}"
            self.fail(f"{name} with {got}", column, f"{name} takes {wants}")
        return name

    def unknown(self, name: str, column: int) -> NoReturn:
        """Reject a name, and suggest the closest known one."""
        near = difflib.get_close_matches(name.lower(), NAMES, 1)
        # Exact knowledge first, similarity of spelling second.
        suggestion = _OTHER_NAMES.get(name) or (near[0] if near else None)
        shown = name if len(name) <= 30 else f"{name[:27]}..."
        self.fail(f"the unknown name '{shown}'", column, f"did you mean {suggestion}?" if suggestion else ALLOWED)

    def constant(self, node: Node, column: int) -> float:
        """Return the value of a part without t, which must be a finite number."""
        with np.errstate(all="ignore"):
            value = float(node.evaluate(np.float64(0.0)))  # type: ignore[arg-type]
        if not math.isfinite(value):
            why = "undefined" if math.isnan(value) else "infinite"
            self.fail(f"a constant part whose value is {why} in doubles", column, "change that part")
        return value
