"""The files of the package as syntax trees, each read and walked once for all tests of a process."""

from __future__ import annotations

import ast
import gc
from functools import cache
from pathlib import Path

import peerpressure

ROOT = Path(peerpressure.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))


@cache
def tree(path: Path) -> ast.Module:
    # Half a million nodes stay, and looking for garbage among them takes longer than to make them.
    gc.disable()
    try:
        return ast.parse(path.read_text(encoding="utf-8"))
    finally:
        gc.enable()


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(tree(path)))
