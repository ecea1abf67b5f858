"""Results folders: inputs, provenance and a README beside the results, all of it written at once and verified later.

Every command that writes a folder goes through `seal`, or through `write_folder` if it has all files at hand.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shlex
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Final, NamedTuple, final

from peerpressure.errors import FileFormatError, message
from peerpressure.report.store import Content, publish
from peerpressure.scenario import no_place
from peerpressure.support.files import declare_output, new_folder, relative_path, replacing, umask
from peerpressure.support.provenance import (
    MAX_COPY,
    SCHEMA_VERSION,
    current_invocation,
    json_text,
    machine,
    sha256_of,
    versions,
)
from peerpressure.version import __version__

PROVENANCE: Final = "provenance.json"
README: Final = "README.txt"
SCENARIO: Final = "scenario.toml"
INPUTS: Final = "inputs"
FOLDER: Final = "{folder}"  # stands for the folder in the command line that repeats its results
# Dates and times differ between two runs of the same bits.
UNREPEATED: Final = (PROVENANCE,)

FIGURES: Final = (".png", ".pdf", ".svg")
# What the files of all commands are, by name; a folder is listed with a slash.
MEANINGS: Final[Mapping[str, str]] = {
    SCENARIO: "the scenario with every default written out; peerpressure run scenario.toml repeats the run",
    "report.html": "all results and figures on one page, for a browser",
    "run.nc": "the run: opinions and summaries by replicate, time and agent (netCDF-4)",
    "verdict.json": "what the theory says about the long run, and the state after the last step",
    "agents.csv": "the agents as they were used: degree, stubbornness, hidden opinion, and results for each",
    "edges.csv": "the network as it was used: each edge with its weight",
    "edges.parquet": "the network as it was used: each edge with its weight",
    "summaries.csv": "minimum, maximum, mean, spread and largest distance over agents, by replicate and time",
    "network.csv": "the number of edges and of isolated agents in each step",
    "states.csv": "public opinions by replicate, time and agent",
    "estimates.csv": "estimates of the hidden opinions, with their standard deviations",
    "parameters.csv": "estimates of parameters, averaged over models, with 95 % intervals",
    "opinions.csv": "hidden opinions after the last answer, averaged over models, with 95 % intervals",
    "models.csv": "the models, the best first, with their weights",
    "inferred_network.csv": "the network that the observer infers",
    "budget.csv": "information and privacy budget over time",
    "frontier.csv": "the cost of other noise designs at the same privacy",
    "estimates.json": "the answer in words and all of its numbers, machine-readable",
    "manifest.json": "SHA-256 of tables and figures, by which they are reused",
    "references.bib": "the references, as BibTeX",
    "figures/": "figures",
    "tables/": "tables; tables/dictionary.csv says what each column is",
    **dict.fromkeys(("*.png", "*.pdf", "*.svg"), "figures, as in report.html"),
    "units/": "the results of each unit, with a checksum; peerpressure sweep collect joins them in one table",
    "ledger.sqlite": "which units are done",
    f"{INPUTS}/": "copies of the files that the results were made from, or links to those above 100 MB",
    PROVENANCE: "command line, versions, machine, date, time taken, and SHA-256 of every input and output",
    README: "this text",
}


@final
@dataclass(frozen=True)
class Study:
    """What the results in a folder were made from, and how to make them again.

    Parameters
    ----------
    command : str
        Name of the command, such as "run".
    name : str
        Name of the study, the title of its report.
    repeat : sequence of str
        Command line without --out that repeats the results; ``{folder}`` stands for the folder.
    seed : int, optional
        Seed of everything random.
    source : Path, optional
        File that the command was given.
    original : Path, optional
        The one of ``inputs`` that the user wrote, if ``source`` is a scenario among results.
    inputs : mapping of str to Path, optional
        Files that the results were made from, by their names in the folder; `keep_as` gives the names.
    meanings : mapping of str to str, optional
        What those files are that `MEANINGS` does not know.
    contents : str, optional
        Warning about what the folder contains.
    """

    command: str
    name: str
    repeat: Sequence[str]
    seed: int | None = None
    source: Path | None = None
    original: Path | None = None
    inputs: Mapping[str, Path] = field(default_factory=dict)
    meanings: Mapping[str, str] = field(default_factory=dict)
    contents: str = ""


def keep_as(paths: Iterable[Path]) -> dict[Path, str]:
    """Return names below ``inputs`` for files, by their absolute paths; relative paths between them are preserved.

    >>> keep_as([Path("/q/study.toml"), Path("/q/data/people.csv")])[Path("/q/data/people.csv")]
    'inputs/data/people.csv'
    """
    given = list(dict.fromkeys(Path(os.path.abspath(path)) for path in paths))
    # Links to folders are followed, as by relative_path; a link to a file has the name that the file was read by.
    real = {path: Path(os.path.realpath(path.parent), path.name) for path in given}
    try:
        base = os.path.commonpath([path.parent for path in real.values()]) if real else ""
    except ValueError:
        # On different drives of Windows.
        return {path: f"{INPUTS}/{k}/{path.name}" for k, path in enumerate(given)}
    return {path: f"{INPUTS}/{place.relative_to(base).as_posix()}" for path, place in real.items()}


def made_by(repeat: Iterable[str]) -> str:
    """Return the command line that repeats results, as it is typed in their folder.

    >>> made_by(["fit", "{folder}/inputs/answers.csv", "--scale=1:5"])
    'peerpressure fit inputs/answers.csv --scale=1:5'
    """
    return shlex.join(["peerpressure", *(word.replace(f"{FOLDER}/", "") for word in repeat)])


# Writing


def write_folder(files: Mapping[str, Content], out: Path, study: Study, stale: Iterable[str] = ()) -> list[Path]:
    """Write the files, all or none: the folder appears or changes once everything is on the disk.

    Files of an earlier study in the folder, and those that ``stale`` names, are removed. If writing fails, the results
    go to a temporary folder, which the error names.
    """
    declare_output(out)
    try:
        return _write_all(files, out, study, stale)
    except OSError as error:
        kept = _rescued(files, out.name, study)
        remedy = (
            f"all of it is kept in {kept}, move it from there"
            if kept
            else "nothing could be kept; make room or name another folder with --out, and run it again: its seed gives "
            "the same numbers"
        )
        rule = "the results must be written"
        raise FileFormatError(message(rule, got=f"{error.strerror or error} for {out}", remedy=remedy)) from error


def _write_all(files: Mapping[str, Content], out: Path, study: Study, stale: Iterable[str]) -> list[Path]:
    with contextlib.ExitStack() as stack:
        try:
            out.parent.mkdir(parents=True, exist_ok=True)
            # Beside the target, hence on the same file system, where a rename is atomic.
            part = stack.enter_context(new_folder(out))
        except OSError as error:
            raise no_place(out, error) from error
        return _moved(part, files, out, study, stale)


def _moved(part: Path, files: Mapping[str, Content], out: Path, study: Study, stale: Iterable[str]) -> list[Path]:
    """Write the files to a part, and move that to where it belongs."""
    try:
        publish(part, files)
        names = [*files, *seal(part, study, files, place=out)]
        if out.exists():
            # An existing folder may contain files of the user, so it is updated file by file and not replaced.
            earlier = {*stale, *_listed(out)}
            for name in names:
                (out / name).parent.mkdir(parents=True, exist_ok=True)
                (part / name).replace(out / name)
            # Files of an earlier run would be mistaken for results of this one.
            for name in earlier - set(names):
                _remove(out, name)
            shutil.rmtree(part)
        else:
            # A temporary folder is private; results get the usual permissions.
            part.chmod(0o777 & ~umask())
            part.rename(out)
    # Also on Ctrl-C: a partial folder must not remain.
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
    return [out / name for name in names]


def _rescued(files: Mapping[str, Content], name: str, study: Study) -> Path | None:
    """Write the files to a temporary folder; None if that fails too."""
    place = None
    try:
        # The system's temporary folder is often on another disk, which may have room.
        place = Path(tempfile.mkdtemp(prefix="peerpressure-"))
        publish(place / name, files)
        seal(place / name, study, files)
    except OSError:
        if place is not None:
            shutil.rmtree(place, ignore_errors=True)
        return None
    return place / name


def seal(folder: Path, study: Study, outputs: Iterable[str], *, place: Path | None = None) -> list[str]:
    """Add inputs, README and provenance to the outputs in a folder, and return the names of what was added.

    Parameters
    ----------
    folder : Path
        Folder that has the outputs.
    study : Study
        What they were made from.
    outputs : iterable of str
        Files below the folder; a name that ends in a slash is a folder, which is hashed as a whole.
    place : Path, optional
        Where the folder will be moved to, if that is somewhere else.

    Returns
    -------
    list of str
        Names of inputs, README and provenance.
    """
    made = list(outputs)
    inputs = {name: _keep(path, folder / name, (place or folder) / name) for name, path in study.inputs.items()}
    # Files that have a meaning but no hash, such as a ledger, are there too.
    others = [name for name in study.meanings if (folder / name).exists()]
    publish(folder, {README: readme(study, [*made, *inputs, *others]).encode()})
    for name in _listed(folder):
        # Copies of inputs that are none any more; outputs belong to the command.
        if name.startswith(f"{INPUTS}/") and name not in inputs:
            _remove(folder, name)
    hashed = {name: fingerprint(folder, name) for name in [*made, README]}
    if not _is_sealed(folder, inputs, hashed):
        facts = _facts(study, place or folder) | {"inputs": inputs, "outputs": hashed}
        publish(folder, {PROVENANCE: json_text(facts).encode()})
    return [*inputs, README, PROVENANCE]


def _facts(study: Study, folder: Path) -> dict[str, Any]:
    source = None if study.source is None else relative_path(study.source, folder)
    copy = next((name for name, path in study.inputs.items() if path == study.original), None)
    about = {"command": study.command, "name": study.name, "source": source, "source_copy": copy, "seed": study.seed}
    return {
        **about,
        "repeat": list(study.repeat),
        **current_invocation().facts(),
        "versions": versions(),
        "machine": machine(),
    }


def _is_sealed(folder: Path, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> bool:
    """Return whether a folder has the provenance of just these files, which then tells when they were really made."""
    with contextlib.suppress(FileFormatError):
        provenance = read_provenance(folder)
        return [provenance.inputs, provenance.outputs, provenance.versions] == [inputs, outputs, versions()]
    return False


def _keep(source: Path, target: Path, final: Path) -> dict[str, Any]:
    """Copy an input, or link to it if it is large, and return its facts; ``final`` is where the copy will be."""
    size = source.stat().st_size
    facts = {"sha256": sha256_of(source), "bytes": size, "from": os.path.abspath(source)}
    target.parent.mkdir(parents=True, exist_ok=True)
    if size > MAX_COPY and _linked(source, target, final):
        return facts | {"kept": "link"}
    if not (target.is_file() and not target.is_symlink() and sha256_of(target) == facts["sha256"]):
        with open(source, "rb") as file, replacing(target) as copy:
            shutil.copyfileobj(file, copy)
    return facts | {"kept": "copy"}


def _linked(source: Path, target: Path, final: Path) -> bool:
    """Link to a file by its path from the folder; return False where the system has no links."""
    # A link to a link would break when the first folder is deleted.
    real = os.path.realpath(source)
    if os.path.realpath(target) == real:
        return True
    try:
        target.unlink(missing_ok=True)
        target.symlink_to(relative_path(real, final.parent))
    except (OSError, NotImplementedError):
        return False
    return True


def fingerprint(folder: Path, name: str) -> dict[str, Any]:
    """Return SHA-256 and size of a file below a folder, or of all files of a folder if the name ends in a slash."""
    path = folder / name
    if not name.endswith("/"):
        return {"sha256": sha256_of(path), "bytes": path.stat().st_size}
    digest, size, count = hashlib.sha256(), 0, 0
    for file in sorted(one for one in path.rglob("*") if one.is_file()):
        digest.update(f"{sha256_of(file)}  {file.relative_to(path).as_posix()}\n".encode())
        size, count = size + file.stat().st_size, count + 1
    return {"sha256": digest.hexdigest(), "bytes": size, "files": count}


def readme(study: Study, names: Iterable[str]) -> str:
    """Return what each file of a folder is, and how to read it."""
    tops = dict.fromkeys(_top(name) for name in names)
    known = {**MEANINGS, **study.meanings}
    listed = [name for name in known if name in {*tops, PROVENANCE, README}]
    listed += [name for name in tops if name not in known]
    width = max(map(len, listed))
    lines = [f"  {name:{width}}  {known.get(name, 'a file of results')}" for name in listed]
    warning = [f"It {study.contents}."] if study.contents else []
    parts = [
        [f"{study.name}: results of peerpressure {__version__}.", *warning],
        ["Files", *lines],
        ["To read them in Python", *(f"  {line}" for line in _reading(tops))],
        [
            "To check them",
            "  peerpressure info .      what is here, and whether all files are as they were written",
            "  peerpressure rerun .     makes all of it again in a new folder, and compares every file:",
            f"  {made_by(study.repeat)}",
        ],
    ]
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def _top(name: str) -> str:
    """Return the name by which a file is listed: that of its folder, or of all figures of its format."""
    first, slash, _ = name.partition("/")
    suffix = PurePosixPath(name).suffix
    return f"{first}/" if slash else f"*{suffix}" if suffix in FIGURES else name


def _reading(names: Iterable[str]) -> Iterator[str]:
    """Yield the lines of Python that read the files."""
    given = list(names)
    tables = [name for name in given if name.endswith(".csv")]
    yield "import pandas"
    if "run.nc" in given:
        yield "import xarray"
        yield 'run = xarray.open_dataset("run.nc")    # run lists its variables, and run.attrs where they come from'
    for name in tables[:3]:
        yield f'{PurePosixPath(name).stem} = pandas.read_csv("{name}")'
    if "edges.parquet" in given:
        yield 'edges = pandas.read_parquet("edges.parquet")'
    if "tables/" in given:
        yield 'columns = pandas.read_csv("tables/dictionary.csv")'
    if "units/" in given:
        yield "from peerpressure.sweep import collect"
        yield 'table = collect(".")    # one row for each unit, measure and replicate, a pandas.DataFrame'


# Reading


@final
@dataclass(frozen=True)
class FolderProvenance:
    """The provenance of a folder, as its file has it."""

    folder: Path
    facts: Mapping[str, Any]

    @property
    def command(self) -> str:
        """Name of the command."""
        return str(self.facts["command"])

    @property
    def name(self) -> str:
        """Name of the study."""
        return str(self.facts["name"])

    @property
    def inputs(self) -> dict[str, dict[str, Any]]:
        """Facts of the inputs by name."""
        return dict(self.facts["inputs"])

    @property
    def outputs(self) -> dict[str, dict[str, Any]]:
        """Facts of the outputs by name."""
        return dict(self.facts["outputs"])

    @property
    def versions(self) -> dict[str, str]:
        """Versions that the results were made with."""
        return dict(self.facts["versions"])

    @property
    def source(self) -> Path | None:
        """The file that the command was given, where it was when the folder was written."""
        named = self.facts.get("source")
        return None if named is None else Path(os.path.normpath(self.folder / str(named)))

    @property
    def kept_source(self) -> Path | None:
        """The copy of the user's own file in the folder, if there is one."""
        named = self.facts.get("source_copy")
        return self.folder / named if named in self.inputs and (self.folder / named).is_file() else None


class Change(NamedTuple):
    """A file that is not as it was written, and how."""

    name: str
    what: str


_KEYS: Final = {"command": str, "name": str, "repeat": list, "inputs": dict, "outputs": dict, "versions": dict}


def read_provenance(folder: Path) -> FolderProvenance:
    """Return the provenance of a results folder; raise FileFormatError if there is none, or it is damaged."""
    path = folder / PROVENANCE
    rule, remedy = f"a results folder has a {PROVENANCE}", "name a folder that peerpressure has written"
    try:
        facts = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise FileFormatError(message(rule, got=f"none in {folder}", remedy=remedy)) from None
    except (OSError, ValueError) as error:
        raise FileFormatError(message(f"{path} must be readable as JSON", got=error, remedy=remedy)) from error
    if not isinstance(facts, dict) or facts.get("schema_version") != SCHEMA_VERSION:
        got = facts.get("schema_version") if isinstance(facts, dict) else type(facts).__name__
        remedy = "use the version of peerpressure that wrote it"
        raise FileFormatError(message(f"{path} must have schema_version {SCHEMA_VERSION}", got=got, remedy=remedy))
    for key, kind in _KEYS.items():
        if not isinstance(facts.get(key), kind):
            raise FileFormatError(message(f"{path} must have {key}", got=repr(facts.get(key)), remedy=remedy))
    for name in (*facts["inputs"], *facts["outputs"]):
        # The folder may come from somebody else, and only files in it are compared or removed.
        if not _is_inside(name):
            raise FileFormatError(message(f"{path} must name files of its folder", got=repr(name), remedy=remedy))
    return FolderProvenance(folder, facts)


def has_results_of(command: str, folder: Path) -> bool:
    """Return whether a folder is new, empty or contains results of a command, so no other files are at risk."""
    if not folder.exists() or not any(folder.iterdir()):
        return True
    with contextlib.suppress(FileFormatError):
        return read_provenance(folder).command == command
    return False


def _is_inside(name: str) -> bool:
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts and ":" not in name and "\\" not in name


def changes(provenance: FolderProvenance, names: Iterable[str] | None = None) -> list[Change]:
    """Return the files of a folder that are missing, or not as they were written."""
    recorded = provenance.inputs | provenance.outputs
    listed = []
    for name in recorded if names is None else names:
        if not (provenance.folder / name).exists():
            was = recorded[name].get("from")
            listed.append(Change(name, "missing" + (f"; it was {was}" if was else "")))
        elif fingerprint(provenance.folder, name)["sha256"] != recorded[name].get("sha256"):
            listed.append(Change(name, "changed since it was written"))
    return listed


def _listed(folder: Path) -> list[str]:
    """Return the files that the provenance of a folder lists; none if there is none."""
    with contextlib.suppress(FileFormatError):
        provenance = read_provenance(folder)
        return [*provenance.inputs, *provenance.outputs]
    return []


def _remove(folder: Path, name: str) -> None:
    if name.endswith("/"):
        return  # a whole folder, which its own command clears
    (folder / name).unlink(missing_ok=True)
    # A subfolder of inputs that is empty now; others are not empty, and stay.
    for parent in PurePosixPath(name).parents:
        if str(parent) != ".":
            with contextlib.suppress(OSError):
                (folder / parent).rmdir()
