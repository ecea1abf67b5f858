"""Generated pages of the documentation: the interface in Python, commands, scenario keys, measures, claims.

``python docs/pages.py`` writes those that are read in the repository as well, and tests hold them current. The others,
which are the docstrings and copies of files, are written by ``write(folder)`` when the documentation is built.
"""

from __future__ import annotations

import enum
import importlib
import inspect
import json
import re
import typing
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import typer

import peerpressure
from peerpressure.cli import app
from peerpressure.reproduction import audit
from peerpressure.reproduction._experiments import small_evidence
from peerpressure.reproduction.design import SEED
from peerpressure.scenario import MEASURES, schema_text

# The namespaces of the public interface, in the order in which a study needs them.
NAMESPACES: Mapping[str, str] = {
    "peerpressure": "Model, simulation, diagnosis and estimation",
    "peerpressure.networks": "Networks",
    "peerpressure.schedules": "Peer pressure",
    "peerpressure.noise": "Noise",
    "peerpressure.theory": "Theory",
    "peerpressure.recovery": "The observer",
    "peerpressure.fitting": "Unknown parameters",
    "peerpressure.privacy": "Privacy",
    "peerpressure.sde": "Continuous time",
    "peerpressure.scenario": "Scenario files, their results and measures",
    "peerpressure.sweep": "Sweeps",
    "peerpressure.simulation.partition": "Networks over several processes",
    "peerpressure.plotting": "Figures",
    "peerpressure.model.statespace": "State-space form",
    "peerpressure.errors": "Errors",
}


def public_names(namespace: str) -> list[str]:
    """Return the public names of a namespace, without the namespaces in it."""
    module = importlib.import_module(namespace)
    listed = getattr(module, "__all__", None) or [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == namespace
    ]
    return sorted(name for name in listed if name != "__version__" and not inspect.ismodule(getattr(module, name)))


def documented() -> dict[str, list[str]]:
    """Return the names that each namespace documents; what is in the top level is documented there."""
    top = {name: id(getattr(peerpressure, name)) for name in public_names("peerpressure")}
    found = {"peerpressure": list(top)}
    for namespace in NAMESPACES:
        if namespace != "peerpressure":
            module = importlib.import_module(namespace)
            found[namespace] = [name for name in public_names(namespace) if top.get(name) != id(getattr(module, name))]
    return found


def _kind(namespace: str, name: str) -> str:
    value = getattr(importlib.import_module(namespace), name)
    if inspect.isclass(value):
        return "Exceptions" if issubclass(value, Exception) else "Classes"
    return "Functions" if inspect.isroutine(value) else "Data"


def enumerations() -> list[str]:
    """Return the full names of all enumerations, whose members have no docstrings of their own."""
    return [
        f"{namespace}.{name}"
        for namespace, names in documented().items()
        for name in names
        if isinstance(getattr(importlib.import_module(namespace), name), enum.EnumType)
    ]


def _namespace_page(namespace: str, names: list[str]) -> str:
    lines = [namespace, "=" * len(namespace), "", f".. currentmodule:: {namespace}", ""]
    lines += [(inspect.getdoc(importlib.import_module(namespace)) or "").partition("\n\n")[0], ""]
    shared = sorted(set(public_names(namespace)) & set(public_names("peerpressure")) - set(names))
    if shared:
        lines += ["In the top level: " + ", ".join(f":py:obj:`~peerpressure.{name}`" for name in shared) + ".", ""]
    for kind in ("Classes", "Functions", "Data", "Exceptions"):
        members = [name for name in names if _kind(namespace, name) == kind]
        if members:
            lines += [kind, "-" * len(kind), ""]
        if members and kind != "Data":
            lines += [".. autosummary::", "   :toctree: generated", "", *(f"   {name}" for name in members), ""]
        elif members:
            lines += [line for name in members for line in _data(namespace, name)]
    return "\n".join(lines)


def _data(namespace: str, name: str) -> list[str]:
    """Return the entry of a table or type; autodoc would print the docstring of ``dict`` for it."""
    text = _content(getattr(importlib.import_module(namespace), name)).replace("`", "``")
    return [f".. py:data:: {name}", "", f"   {text}", ""]


_KEYS_SHOWN = 7  # of a table; a longer one is listed where it is described


def _content(value: object) -> str:
    if isinstance(value, Mapping):
        more = f" and {len(value) - _KEYS_SHOWN} more" if len(value) > _KEYS_SHOWN + 1 else ""
        return (
            "Table with the keys "
            + ", ".join(f"`{key}`" for key in [*value][: _KEYS_SHOWN if more else None])
            + f"{more}."
        )
    if isinstance(value, tuple | frozenset | set):
        return "The names " + ", ".join(f"`{getattr(key, 'name', key)}`" for key in value) + "."
    if typing.get_origin(value) is Callable:
        return "Type of functions."
    if choices := typing.get_args(value):
        return "One of " + ", ".join(f"`{getattr(one, '__name__', repr(one))}`" for one in choices) + "."
    return f"`{value!r}`"


def api_pages() -> Iterator[tuple[str, str]]:
    """Yield the path and text of each page on a namespace."""
    for namespace, names in documented().items():
        yield f"api/{namespace}.rst", _namespace_page(namespace, names)


def interface_page() -> str:
    """Return a list of all public names with the first sentence of each."""
    listed = documented()
    lines = ["# Interface in Python", ""]
    lines += [
        f"All {sum(map(len, listed.values()))} public names. The built documentation has their docstrings, and so"
    ]
    lines += ["has `help()`, such as `help(peerpressure.simulate)`.", ""]
    entries = [f"{namespace.removeprefix('peerpressure.')} <api/{namespace}>" for namespace in listed]
    lines += ["<!-- {toctree}", ":hidden:", "", *entries, "-->", ""]
    for namespace, names in listed.items():
        home = importlib.import_module(namespace)
        lines += [f"## `{namespace}`", "", f"{NAMESPACES[namespace]}.", ""]
        lines += [_entry(f"`{name}`", _summary(getattr(home, name))) for name in names]
        lines.append("")
    return "\n".join(lines)


def _entry(name: str, text: str) -> str:
    return f"- {name}: {text}" if text else f"- {name}"


def _summary(value: object) -> str:
    """Return the first sentence of a docstring; of data, whose docstring is that of their type, what they hold."""
    if not (inspect.isclass(value) or inspect.isroutine(value)):
        return _content(value)
    first = " ".join((inspect.getdoc(value) or "").partition("\n\n")[0].split())
    # What is returned and marks of references go without saying in a list.
    first = re.sub(r"^(Return|Yield) | \[\d\]_", "", first)
    return _cell((first[:1].upper() + first[1:]).replace("``", "`"))


# Commands, from the declarations that the command line parses.


def _commands(command: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield path, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from _commands(inner, (*path, name))


def _cell(text: object) -> str:
    return str(text).replace("|", "\\|").replace("\n", " ").replace("<", "&lt;").replace("*", "\\*").strip()


def _options(command: Any, context: Any) -> Iterator[tuple[str, str]]:
    """Yield each argument of a command and the line about it."""
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if parameter.name == "help" or record is None:
            continue
        # The text ends in the default and the range, each in brackets.
        text, *facts = re.split(r"  (?=\[)", record[1])
        limits = "; ".join(fact.strip("[]") for fact in facts)
        # Defaults in words have brackets of their own, and that a count is not negative goes without saying.
        limits = re.sub(r"default: \((.*?)\)(?=$|;)", r"default: \1", limits)
        limits = re.sub(r"(^|[;,] )x>=[01](?=$|;)", "", limits).removeprefix("; ")
        # Of types, only choices tell more than the text.
        name = re.sub(r" <[^|]*>$", "", record[0])
        yield record[0], _entry(f"`{name}`", _cell(text) + (f" ({_cell(limits)})" if limits else ""))


def _described(command: Any, *, whole: bool) -> Iterator[str]:
    """Yield the first sentence and the examples of a command, and the rest of its help as well if ``whole``."""
    for k, paragraph in enumerate(inspect.cleandoc(command.help or "").split("\n\n")):
        words = " ".join(paragraph.split())
        example = re.fullmatch(r"(.*?): (peerpressure .*?)\.?", words)
        if example and example[1] in {"Example", "For a first answer"}:
            yield f"```text\n{example[2]}\n```\n"
        elif whole or k == 0:
            yield _cell(words) + "\n"


def _shared(described: Iterable[Mapping[str, str]]) -> list[str]:
    """Return the lines that several commands or tables have: of each name the most common one."""
    counted = Counter((name, line) for lines in described for name, line in lines.items())
    repeated: dict[str, str] = {}
    for (name, line), count in counted.most_common():
        if count > 1:
            repeated.setdefault(name, line)
    return [line for name, line in counted if repeated.get(name) == line]


def command_page() -> str:
    """Return the page on the command line; arguments that several commands share are described once, at its end."""
    commands = list(_commands(typer.main.get_command(app), ("peerpressure",)))
    taken = {
        path: dict(_options(command, command.context_class(command, info_name=" ".join(path))))
        for path, command in commands
    }
    without = [path[-1] for path, it in commands if not taken[path].pop("--json", "") and not hasattr(it, "commands")]
    lines = [
        "# Command line",
        "",
        "`--help` after a command says more. With `--json` commands print their answer as JSON, except for",
    ]
    lines += [f"`{'`, `'.join(without)}`.", ""]
    shared = _shared(taken.values())
    for path, command in commands:
        lines += [f"## `{' '.join(path)}`", "", *_described(command, whole=len(path) == 1)]
        own = [line for line in taken[path].values() if line not in shared]
        common = [f"`{name.split()[0].rstrip(',')}`" for name, line in taken[path].items() if line in shared]
        if common:
            own.append(f"- [shared options](#shared-options): {', '.join(common)}")
        lines += [*own, ""]
    return "\n".join([*lines, "## Shared options", "", *shared, ""])


# Keys of scenario files, from the schema that is generated from their declarations.

_BOUNDS = {"minimum": "≥ {}", "exclusiveMinimum": "> {}", "maximum": "≤ {}", "exclusiveMaximum": "< {}"}
_NOUNS = {"integer": "whole number", "number": "number", "string": "text", "boolean": "true or false", "array": "list"}
_TECHNICAL = 2**24 - 1  # larger bounds are those of the engine or the machine
_LABEL = ("text", "whole number")


def _slug(heading: str) -> str:
    """Return the anchor of a heading, as GitHub and MyST make it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


def _choice(section: Mapping[str, Any]) -> tuple[str, str]:
    """Return the key that tells a section from the others of its family, and its value there; both may be empty."""
    return next(((key, one["const"]) for key, one in section["properties"].items() if "const" in one), ("", ""))


def _title(name: str, section: Mapping[str, Any]) -> str:
    """Return the heading of a section, of which one of a family shares that of its key."""
    if key := _choice(section)[0]:
        return f"`{key}`"
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name.removesuffix("Section")).lower()
    return words[0].upper() + words[1:]


def _alternatives(value: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [*value.get("anyOf", ()), *value.get("oneOf", ())]


def _members(value: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the sections that a value may be."""
    return tuple(one["$ref"].rpartition("/")[2] for one in (value, *_alternatives(value)) if "$ref" in one)


def _family(members: Sequence[str], schema: Mapping[str, Any]) -> tuple[str, set[str]]:
    """Return a link to a section of the file whose choices a value has, of which some may be missing, and these."""
    for name, top in schema["properties"].items():
        family = _members(top)
        if len(common := set(family) & set(members)) > 1:
            left_out = [_choice(schema["$defs"][one])[1] for one in family if one not in common]
            text = f", but `{'`, `'.join(left_out)}`" if left_out else ""
            return f"as in [`[{name}]`](#{_slug(name)}){text}", common
    return "", set()


def _legal(value: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    text, known = _family(_members(value), schema)
    sections = [schema["$defs"][name] for name in _members(value) if name not in known]
    parts = [text] if text else []
    for key in dict.fromkeys(_choice(section)[0] for section in sections):
        if key:
            names = [choice for found, choice in map(_choice, sections) if found == key]
            parts.append(f"[`{key}`](#{_slug(key)}) `{'`, `'.join(names)}`")
    for name in _members(value):
        if name not in known and not _choice(schema["$defs"][name])[0]:
            title = _title(name, schema["$defs"][name])
            parts.append(f"[{title}](#{_slug(title)})")
    plain = [one for one in _alternatives(value) if "$ref" not in one and one.get("type") != "null"]
    parts += [_legal(one, schema) for one in plain]
    if parts:
        if set(_LABEL) <= set(parts):
            parts = ["label", *(part for part in parts if part not in _LABEL)]
        return " or ".join(parts)
    if "const" in value:
        return f"`{json.dumps(value['const'])}`"
    if "enum" in value:
        return ", ".join(f"`{json.dumps(one)}`" for one in value["enum"])
    bounds = [
        text.format(f"{value[word]:g}") for word, text in _BOUNDS.items() if value.get(word, _TECHNICAL) < _TECHNICAL
    ]
    noun = _NOUNS.get(value.get("type", ""), "table" if value.get("type") == "object" else "value")
    if noun == "list" and isinstance(value.get("items"), dict):
        noun = f"list of {_legal(value['items'], schema)}"
    return " ".join([noun, " and ".join(bounds)]).strip()


def _keys(section: Mapping[str, Any], schema: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the keys of a section but the one in its heading, and the line about each."""
    for key, value in section["properties"].items():
        if "const" in value:
            continue
        default = json.dumps(value.get("default"), ensure_ascii=False)
        legal = _legal(value, schema)
        status = "required"
        if key not in section.get("required", ()):
            status = "" if default == "null" else f"default `{default}`"
            # A default tells the type.
            legal = re.sub(r"^(true or false|(whole )?number) ?(?=[≥>]|$)", "", legal) if status else legal
        text = _cell(value.get("description", ""))
        facts = ", ".join(filter(None, [legal, status]))
        yield key, f"- `{key}` ({facts})" + (f": {text}" if text else "")


def schema_page() -> str:
    """Return the page on the keys of scenario files."""
    schema = json.loads(schema_text())
    lines = ["# Keys of scenario files", ""]
    lines += ["Generated from the declarations that check the files. Editors that read JSON schemas complete and check"]
    lines += ["scenarios with `scenario.schema.json`, which `peerpressure new` writes beside them.", ""]
    done: set[str] = set()
    for name, value in schema["properties"].items():
        members = _members(value)
        lines += [f"## `[{name}]`", ""]
        lines += [f"{_cell(text)[:1].upper()}{_cell(text)[1:]}.", ""] if (text := value.get("description")) else []
        lines += _sections(members, schema)
        done |= set(members)
    rest = [name for name in schema["$defs"] if name not in done]
    return "\n".join([*lines, "## Tables within sections", "", *_inner(rest, schema)])


def _sections(names: Sequence[str], schema: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is said of the choices of one section: tables of them, and each key once; of a single one its keys."""
    sections = [schema["$defs"][name] for name in names]
    if len(sections) == 1:
        yield from (_description(sections[0]), "", *(line for _, line in _keys(sections[0], schema)), "")
        return
    families: dict[str, dict[str, Mapping[str, Any]]] = {}
    for section in sections:
        key, name = _choice(section)
        families.setdefault(key, {})[name or section["required"][0]] = section
    for key, chosen in families.items():
        if len(families) > 1:
            yield from (f"### `{key}`" if key else "### Or one of these keys", "")
        yield from (*_rows(chosen, schema), "")
    every = {name: section for chosen in families.values() for name, section in chosen.items()}
    yield from (*_lines_by_key(every, schema), "")


def _inner(names: Sequence[str], schema: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is said of the tables within sections, those with the same key of choice together."""
    together: dict[str, list[str]] = {}
    for name in names:
        together.setdefault(_title(name, schema["$defs"][name]), []).append(name)
    for title, members in together.items():
        yield from (f"### {title}", "", *_sections(members, schema))


def _description(section: Mapping[str, Any]) -> str:
    return " ".join(_cell(section.get("description", "")).replace("``", "`").split())


def _rows(chosen: Mapping[str, Mapping[str, Any]], schema: Mapping[str, Any]) -> Iterator[str]:
    keys = {name: [key for key, _ in _keys(section, schema)] for name, section in chosen.items()}
    common = set.intersection(*map(set, keys.values()))
    if common:
        yield from (f"All of them take {', '.join(f'`{key}`' for key in sorted(common))}.", "")
    yield from ("| choice | meaning | keys |", "|---|---|---|")
    for name, section in chosen.items():
        own = ", ".join(f"`{key}`" for key in keys[name] if key not in common)
        yield f"| `{name}` | {_description(section)} | {own or '–'} |"


def _lines_by_key(chosen: Mapping[str, Mapping[str, Any]], schema: Mapping[str, Any]) -> Iterator[str]:
    """Yield the line on each key of a family; where choices differ, the less common ones say whose they are."""
    owners: dict[str, dict[str, list[str]]] = {}
    for name, section in chosen.items():
        for key, line in _keys(section, schema):
            owners.setdefault(key, {}).setdefault(line, []).append(name)
    for key, lines in owners.items():
        usual = max(lines, key=lambda line: len(lines[line]))
        for line, names in lines.items():
            plain = line == usual and (len(lines) == 1 or len(names) > 1)
            yield line if plain else line.replace(f"- `{key}`", f"- `{key}` of `{'`, `'.join(names)}`", 1)


def measures_page() -> str:
    """Return the page on the measures of sweeps."""
    rows = [f"| `{name}` | {_cell(measure.help)} |" for name, measure in MEASURES.items()]
    opening = (
        "`[measure]` in a sweep names what is computed at each point; `peerpressure sweep measures` prints this list."
    )
    return "\n".join(["# Measures of sweeps", "", opening, "", "| measure | meaning |", "|---|---|", *rows, ""])


def claims_page(table: pd.DataFrame) -> str:
    """Return the page on the paper's claims, from the table of the report."""
    counted = ", ".join(f"{count} {verdict}" for verdict, count in table["verdict"].value_counts().items())
    holds = table["verdict"] == "confirmed"
    rows = [
        f"| {_cell(row.where)} | {_cell(row.claim)} | {row.verdict} | {_cell(row.correction)} |"
        for row in table[~holds].itertuples()
    ]
    confirmed = [f"- {_cell(row.where)}: {_cell(row.claim)}" for row in table[holds].itertuples()]
    opening = (
        f"{len(table)} claims of the paper: {counted}. The verdicts are computed, by the functions that "
        "make the report's, from shorter runs; the report adds quotations, numbers and rules."
    )
    head = ["| place | claim | verdict | correction |", "|---|---|---|---|"]
    return "\n".join(
        ["# The paper's claims", "", opening, "", *head, *rows, "", "Confirmed as printed:", "", *confirmed, ""]
    )


# Files of the repository that are pages as well, by their names there.
COPIED: Mapping[str, str] = {
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "CODE_OF_CONDUCT.md": "conduct.md",
    "SECURITY.md": "security.md",
    "benchmarks/MACHINES.md": "machines.md",
}


def copied_pages(root: Path) -> Iterator[tuple[str, str]]:
    """Yield the path and text of each file of the repository that is a page, with its links as they are here."""
    for file, name in COPIED.items():
        text = re.sub(r"\]\((\.\./)?docs/", "](../", (root / file).read_text(encoding="utf-8"))
        yield f"../development/{name}", re.sub(r"\]\((\w+\.md)\)", lambda link: f"]({COPIED[link[1]]})", text)


def relinked(text: str) -> str:
    """Return the text of a page in which links to files of the repository are links to the pages that copy them."""
    for file, name in COPIED.items():
        text = re.sub(rf"\]\(\.\./\.\./{re.escape(file)}(#[\w-]+)?\)", rf"](../development/{name}\1)", text)
    return text


def committed_pages() -> dict[str, str]:
    """Return the texts of the pages that are part of the repository, but for the claims, which take a while."""
    return {
        "api.md": interface_page(),
        "cli.md": command_page(),
        "scenario.md": schema_page(),
        "measures.md": measures_page(),
    }


def _save(folder: Path, pages: Mapping[str, str]) -> None:
    """Write pages; one that is the same as before keeps its time, so it is not built again."""
    for name, text in pages.items():
        target = folder / "reference" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists() or target.read_text(encoding="utf-8") != text:
            target.write_text(text, encoding="utf-8")


def write(folder: Path) -> None:
    """Write what the repository does not have: the docstrings, and its own files as pages."""
    _save(folder, {**dict(api_pages()), **dict(copied_pages(folder.parent))})


def main() -> None:
    """Write the pages of the repository."""
    _save(Path(__file__).parent, committed_pages() | {"claims.md": claims_page(audit(small_evidence(SEED)))})


if __name__ == "__main__":
    main()
