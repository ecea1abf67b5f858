"""``peerpressure info``: what a results folder or a file has in it, in about ten lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from peerpressure.cli.terminal import FAILURE, AsJson, facts, listing_problems, print_json, show
from peerpressure.errors import FileFormatError, InvalidInputError, PeerPressureError, first_few, message
from peerpressure.support.resources import amount

if TYPE_CHECKING:
    from peerpressure.report.folder import Change
    from peerpressure.support.tables import TextTable

Facts: TypeAlias = dict[str, str]


def info(
    place: Annotated[Path, typer.Argument(metavar="FOLDER|FILE", help="A results folder, or one of its files.")],
    as_json: AsJson = False,
) -> None:
    """Describe a results folder or a file.

    For a folder: the command, date, inputs and versions, the answer, and whether its files are unchanged (exit status
    1 if not). For a file: its content, be it a run (.nc, .npz, .zarr), a scenario or sweep (.toml), a network, a table
    or JSON.

    Example: peerpressure info study-results
    """
    if not place.exists():
        rule = "a results folder or a file must exist"
        raise InvalidInputError(message(rule, got=place, remedy="check the path"))
    wrong: list[Change] = []
    with listing_problems():
        if place.is_dir() and place.suffix.lower() != ".zarr":
            contents, wrong = _folder(place)
        else:
            contents = _file(place)
    if as_json:
        print_json({"place": place, **contents, "changed": {one.name: one.what for one in wrong}})
    else:
        title = contents.pop("study", None)
        show(f"{place}: {title}" if title else str(place), facts(list(contents.items())))
    if wrong:
        raise typer.Exit(FAILURE)


def _folder(folder: Path) -> tuple[Facts, list[Change]]:
    """Return the facts of a results folder, and its files that are not as they were written."""
    from peerpressure.report.folder import Change, changes, read_provenance
    from peerpressure.support.provenance import version_changes, versions

    if not (folder / "provenance.json").exists():
        names = sorted(path.name for path in folder.iterdir())
        rule, remedy = "a results folder has a provenance.json", "name such a folder, or one of its files"
        got = f"{folder} with {first_few(names, len(names)) or 'no files'}"
        raise FileFormatError(message(rule, got=got, remedy=remedy))
    provenance = read_provenance(folder)
    wrong, facts = changes(provenance), provenance.facts
    # The ledger goes on changing while a sweep grows, so it has no hash, but a sweep without it is not complete.
    if provenance.command == "sweep" and not (folder / "ledger.sqlite").exists():
        wrong = [*wrong, Change("ledger.sqlite", "missing")]
    outputs, inputs = provenance.outputs, [name.removeprefix("inputs/") for name in provenance.inputs]
    updates = version_changes(provenance.versions, versions())
    size = sum(int(one.get("bytes", 0)) for one in outputs.values())
    # What simulate writes is repeated by run, and so stored as its results.
    typed = [str(word) for word in facts.get("command_line", [])]
    command = "simulate" if "simulate" in typed[1:2] else provenance.command
    return {
        "study": f"{provenance.name}, results of peerpressure {command}",
        "made": f"{facts.get('date', 'unknown')} in {facts.get('wall_seconds', 0):.3g} s "
        f"({facts.get('processor_seconds', 0):.3g} s of processor time)",
        "by": " ".join(typed),
        "with": f"peerpressure {provenance.versions.get('peerpressure')}, Python {provenance.versions.get('python')}"
        + (f"; {len(updates)} other versions here: {first_few(updates, len(updates))}" if updates else ""),
        **_run_of(folder, facts.get("seed")),
        "inputs": first_few(inputs, len(inputs)) or "none",
        "files": f"{first_few(outputs, len(outputs))}, {amount(size)}; README.txt explains them",
        "state": "all files are as they were written" if not wrong else _words(wrong),
    }, wrong


def _words(wrong: list[Change]) -> str:
    return first_few((f"{one.name} {one.what}" for one in wrong), len(wrong))


def _run_of(folder: Path, seed: object) -> Facts:
    """Return the seed and the answer, and the network and the size of a run, if the folder has one."""
    from peerpressure.report.estimates import ESTIMATES

    known: Facts = {} if seed is None else {"size": f"seed {seed}"}
    try:
        if (folder / ESTIMATES).exists():
            return {"answer": str(json.loads((folder / ESTIMATES).read_bytes())["sentences"][0]), **known}
        verdict = json.loads((folder / "verdict.json").read_bytes())
        known["answer"] = str(verdict["words"])
        run = _netcdf(folder / "run.nc")
        known |= {**run, "size": f"{run['size']}, seed {seed}"}
    # A damaged file is reported as such with the others.
    except (OSError, ValueError, KeyError, IndexError, TypeError, PeerPressureError):
        pass
    return {name: known[name] for name in ("answer", "network", "noise", "size") if name in known}


def _file(file: Path) -> Facts:
    """Return the facts of a file, by its suffix."""
    match file.suffix.lower():
        case ".nc":
            return _netcdf(file)
        case ".toml":
            return _scenario(file)
        case ".json":
            return _json(file)
        case ".npz":
            return _archive(file)
        case ".zarr":
            return _store(file)
        case _:
            return _network_or_table(file)


def _netcdf(file: Path) -> Facts:
    from peerpressure.simulation.files import read_netcdf

    arrays, attributes = read_netcdf(file)
    sizes = {name: arrays[name].size for name in ("replicate", "time", "agent", "topic", "member") if name in arrays}
    words = ", ".join(
        f"{size:,} {'agent' if name == 'member' else name}{'s' * (size != 1)}" for name, size in sizes.items()
    )
    known = ("network", "pressure", "noise", "adaptation", "equation", "seed", "software", "contents")
    variables = ", ".join(name for name in arrays if name not in sizes)
    return {
        "size": words,
        "variables": variables,
        **{name: str(attributes[name]) for name in known if name in attributes},
    }


def _scenario(file: Path) -> Facts:
    from peerpressure.scenario import load_scenario, load_sweep
    from peerpressure.scenario.loading import parse_toml
    from peerpressure.scenario.section import read_text

    if isinstance(parse_toml(read_text(file, "a scenario"), str(file)).get("scenario"), str):
        plan = load_sweep(file).plan
        return {"sweep": f"{len(plan):,} units", "axes": ", ".join(plan.axes) or "none", "seed": str(plan.seed)}
    scenario = load_scenario(file, needs_run=False)
    return {
        "scenario": repr(scenario.system()),
        "run": scenario.run.words,
        **({} if scenario.observe is None else {"observer": ", ".join(scenario.observe.methods)}),
    }


def _json(file: Path) -> Facts:
    try:
        content: Any = json.loads(file.read_bytes())
    except (OSError, ValueError) as error:
        raise FileFormatError(
            message(f"{file} must be readable as JSON", got=error, remedy="check its content")
        ) from None
    keys = list(content) if isinstance(content, dict) else []
    version = content.get("schema_version") if isinstance(content, dict) else None
    return {
        "JSON": f"{len(keys)} keys: {first_few(keys, len(keys))}" if keys else f"a {type(content).__name__}",
        **({} if version is None else {"schema version": str(version)}),
        **({"answer": str(content["words"])} if "words" in keys else {}),
    }


def _archive(file: Path) -> Facts:
    from peerpressure.simulation.trajectory import Trajectory

    try:
        run = Trajectory.load(file)
    except FileFormatError:
        return _network_or_table(file)
    return {"run": repr(run), **{name: str(value) for name, value in run.provenance().items()}}


def _store(file: Path) -> Facts:
    from peerpressure.simulation.trajectory import Trajectory

    run = Trajectory.load(file)
    return {"run": repr(run), **{name: str(value) for name, value in run.provenance().items()}}


def _network_or_table(file: Path) -> Facts:
    from peerpressure.networks import describe_network_file, read_network
    from peerpressure.networks.formats import FORMATS

    # Lists separated by spaces are mostly edges.
    tables = [suffix for suffix, each in FORMATS.items() if each.separator not in (None, " ")]
    table = _table(file) if file.suffix.lower() in (*tables, ".gz") else None
    if table is not None and not _has_edges(table):
        columns = list(table.heading or ())
        return {"table": f"{len(table):,} rows", "columns": ", ".join(columns)}
    network, how = read_network(file), describe_network_file(file)
    return {"network": repr(network), **({} if how is None else {"read as": how})}


def _table(file: Path) -> TextTable | None:
    """Return a table with its heading; None if the file is no table."""
    from peerpressure.support.table_files import read_table

    try:
        return read_table(file).headed()
    except (PeerPressureError, OSError):
        # The reader of networks says what is wrong with it.
        return None


def _has_edges(table: TextTable) -> bool:
    """Return whether a table is one of edges: by its heading, or because it has two or three columns without one."""
    from peerpressure.support.tables import is_number

    names = table.heading or ()
    return table.places(("source", "target")).keys() == {"source", "target"} or (
        table.width <= 3 and any(map(is_number, names))
    )
