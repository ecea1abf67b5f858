"""Docstrings of the public interface, validated by numpydoc."""

from __future__ import annotations

import ast
import builtins
import doctest
import functools
import importlib
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator
from typing import Any

import pytest
from numpydoc.docscrape import get_doc_object
from numpydoc.validate import Validator, validate

import peerpressure
from peerpressure.networks import DYNAMICS, GENERATORS, TEMPORAL
from peerpressure.noise import LAWS
from peerpressure.schedules import SCHEDULES

NAMESPACES = (
    "",
    "errors",
    "fitting",
    "networks",
    "noise",
    "simulation.partition",
    "plotting",
    "privacy",
    "recovery",
    "scenario",
    "schedules",
    "sde",
    "model.statespace",
    "sweep",
    "theory",
    "theory.two_agents",
)
# Checks that no docstring is held to, and why.
NOWHERE = {"ES01": "one sentence is often all there is to say, and a second one for its own sake says nothing"}
# Functions and classes link to what belongs to them and show how they are called; what is listed on the page of its
# class has both there, and an exception is met, not looked up.
ONLY_OF_FUNCTIONS_AND_CLASSES = {"SA01", "EX01"}
# A method that overrides another one takes and returns what that one documents.
NOT_OF_OVERRIDES = {"PR01", "RT01"}
DESCRIPTORS = (staticmethod, classmethod, property, functools.cached_property)


class PublicValidator(Validator):  # type: ignore[misc]
    """Validator that also accepts the parameters of a class as its attributes.

    A result is constructed by the package and read by the user: its fields are attributes first.
    """

    def __init__(self, found: object) -> None:
        super().__init__(get_doc_object(found))

    # Comments that excuse a docstring are not looked for, which also spares reading every source file.
    source_file_def_line = source_file_name = None

    @property
    def doc_all_parameters(self) -> Any:
        found = super().doc_all_parameters
        if found or not inspect.isclass(self.obj):
            return found
        taken = self.signature_parameters
        return {name: text for name, text in self._doc_parameters(["Attributes"]).items() if name in taken}

    @property
    def signature_parameters(self) -> tuple[str, ...]:
        # An exception takes a message and an enumeration a value, as all of them do; a protocol is never constructed.
        usual = inspect.isclass(self.obj) and (issubclass(self.obj, Exception) or hasattr(self.obj, "__members__"))
        if usual or getattr(self.obj, "_is_protocol", False):
            return ()
        return tuple(super().signature_parameters)


def _overrides(member: Any) -> bool:
    """Return whether a method has the name of one of a base of its class."""
    home, _, name = getattr(member, "__qualname__", "").rpartition(".")
    cls = getattr(sys.modules[member.__module__], home, None) if home else None
    return inspect.isclass(cls) and any(name in vars(base) for base in cls.__mro__[1:])


def _members(cls: type) -> Iterator[tuple[str, Any]]:
    """Yield the public methods and properties of a class and its bases, each with the place of its definition."""
    for base in cls.__mro__:
        if not base.__module__.startswith("peerpressure"):
            continue
        for name, found in vars(base).items():
            # The default of a field may be a function.
            field = name in getattr(base, "__dataclass_fields__", ())
            if name.startswith("_") or field or not (inspect.isfunction(found) or isinstance(found, DESCRIPTORS)):
                continue
            # What is overridden without words of its own has those of its base.
            if found.__doc__ or not any(getattr(other, name, None) for other in base.__mro__[1:]):
                yield f"{base.__module__}.{base.__qualname__}.{name}", getattr(found, "__func__", found)


@functools.cache
def public() -> dict[str, Any]:
    """Return all public functions, classes, methods and properties, each under the first name that it is found by."""
    objects: dict[str, Any] = {}
    names: set[str] = set()
    for namespace in NAMESPACES:
        module = importlib.import_module(f"peerpressure.{namespace}".rstrip("."))
        # A module without a list of its names has those that it defines.
        own = [name for name, one in vars(module).items() if getattr(one, "__module__", "") == module.__name__]
        listed = getattr(module, "__all__", [name for name in own if not name.startswith("_")])
        # Results that users read have docstrings, too, where they are not listed; other internal names have a sentence.
        results = [name for name in getattr(module, "_INTERNAL", ()) if inspect.isclass(getattr(module, name))]
        for name in (*listed, *results):
            found = getattr(module, name)
            if not (inspect.isclass(found) or inspect.isfunction(found)):
                continue
            home = f"{found.__module__}.{found.__qualname__}"
            if home in names or not found.__module__.startswith("peerpressure"):
                continue
            names.add(home)
            objects[f"{namespace}.{name}".strip(".")] = found
            if inspect.isclass(found) and name in listed:
                for home, member in _members(found):
                    if home not in names:
                        names.add(home)
                        objects[f"{namespace}.{'.'.join(home.split('.')[-2:])}".strip(".")] = member
    return objects


@functools.cache
def documented(obj_name: str) -> PublicValidator:
    """Return the docstring of a public object, in sections."""
    return PublicValidator(public()[obj_name])


def errors(name: str) -> list[tuple[str, str]]:
    """Return the codes and texts of what numpydoc finds in the docstring of a public object."""
    found = public()[name]
    skipped = set(NOWHERE)
    member = not inspect.isclass(found) and "." in getattr(found, "__qualname__", ".")
    if member or (inspect.isclass(found) and issubclass(found, Exception)):
        skipped |= ONLY_OF_FUNCTIONS_AND_CLASSES
    if member and _overrides(found):
        skipped |= NOT_OF_OVERRIDES
    return [error for error in validate(name, documented)["errors"] if error[0] not in skipped]


@pytest.mark.parametrize("namespace", NAMESPACES)
def test_docstrings_follow_numpydoc(namespace: str) -> None:
    here = [name for name in public() if _namespace(name) == namespace]
    assert here
    assert {name: found for name in here if (found := errors(name))} == {}


@pytest.mark.parametrize("namespace", NAMESPACES)
def test_links_lead_somewhere(namespace: str) -> None:
    links = {name: list(documented(name).see_also) for name in public() if _namespace(name) == namespace}
    missing = {name: [link for link in found if not _exists(link, name)] for name, found in links.items()}
    assert {name: found for name, found in missing.items() if found} == {}


def test_examples_import_what_they_use() -> None:
    unbound = {name: found for name, each in public().items() if (found := _unbound(inspect.getdoc(each) or ""))}
    assert unbound == {}


def test_errors_that_are_raised_are_documented() -> None:
    silent = {name: missing for name, each in public().items() if (missing := _raised(each) - _documented(name))}
    assert silent == {}


def _raised(found: Any) -> set[str]:
    """Return the errors that a function, or the constructor of a class, raises itself and does not catch."""
    constructor = [vars(found).get(name) for name in ("__init__", "__post_init__")] if inspect.isclass(found) else []
    # What dataclasses generate has no source.
    written = [one for one in constructor if inspect.isfunction(one) and one.__module__ == found.__module__]
    sources = [(one, inspect.unwrap(one).__code__.co_filename) for one in written]
    functions = [found] if inspect.isfunction(found) else [one for one, source in sources if "<" not in source]
    trees = [ast.parse(textwrap.dedent(inspect.getsource(function))) for function in functions]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    caught = {node for one in nodes if isinstance(one, ast.Try) for part in one.body for node in ast.walk(part)}
    raised = [node.exc for node in nodes if isinstance(node, ast.Raise) and node not in caught]
    names = {one.func.id for one in raised if isinstance(one, ast.Call) and isinstance(one.func, ast.Name)}
    return {name for name in names if name.endswith("Error")}


def _documented(name: str) -> set[str]:
    return {error.type or error.name for error in documented(name).doc["Raises"]}


def test_declared_ranges_stand_in_the_docstrings() -> None:
    generators = [one for table in (GENERATORS, TEMPORAL, DYNAMICS) for one in table.values()]
    members: list[tuple[Any, Any]] = [(one, one.parameters) for family in (SCHEDULES, LAWS) for one in family.values()]
    for member, parameters in [*members, *((one.build, one.parameters) for one in generators)]:
        texts = {name: " ".join(text) for name, (_, text) in PublicValidator(member).doc_all_parameters.items()}
        # A generator may take a number of agents or a network by another name.
        bounds = {one.name: {f"{bound:g}" for bound in one.bounds.values()} for one in parameters if one.name in texts}
        assert {name: texts[name] for name in bounds if not bounds[name] <= set(re.findall(r"\w+", texts[name]))} == {}


def _exists(link: str, name: str) -> bool:
    """Return whether a link of a public object is a name of its namespace, of the package, or a full one."""
    home = public()[name].__module__.split(".")[1] if hasattr(public()[name], "__module__") else ""
    places = [f"{namespace}.{link}".strip(".") for namespace in (_namespace(name), home, "")]
    return any(_resolves(place) for place in (*places, link.removeprefix("peerpressure.")))


def _resolves(path: str) -> bool:
    found: Any = peerpressure
    for part in path.split("."):
        # The fields of a class are its names as well, with or without a default.
        found = True if part in getattr(found, "__annotations__", {}) else getattr(found, part, None)
    return found is not None


def _unbound(text: str) -> set[str]:
    """Return the names in the examples of a docstring that these neither import nor define."""
    tree = ast.parse("".join(example.source for example in doctest.DocTestParser().get_examples(text)))
    bound: set[str] = set(dir(builtins)) | {"_"}
    used: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            bound |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
        elif isinstance(node, ast.Name):
            (used if isinstance(node.ctx, ast.Load) else bound).add(node.id)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
    return used - bound


def _namespace(name: str) -> str:
    return max((one for one in NAMESPACES if f"{name}.".startswith(f"{one}.") or not one), key=len)
