"""How tests run: the same whoever starts them, in which order, on which worker, and with one browser for all.

Only one Playwright can be at work in a process.
"""

from __future__ import annotations

import contextlib
import gc
import locale
import os
import re
import shutil
import signal
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tests import durations
from tests.browser import chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser


# A test run is the same on every machine: the same examples are drawn, and no clock decides. Others are drawn by
# `python -m tools search`.
settings.register_profile("default", derandomize=True, deadline=None, max_examples=35)
settings.register_profile("search", derandomize=False, deadline=None, max_examples=200, print_blob=True)
settings.load_profile("default")

# What whoever starts the tests may have set, and processes that tests start would inherit: a test says what it needs.
SET_BY_OTHERS = re.compile(
    "MAKE.*|MFLAGS|LANG|LANGUAGE|LC_.*|COLUMNS|LINES|TERM|NO_COLOR|FORCE_COLOR|CLICOLOR.*|TTY_.*|PY_COLORS|"
    "PYTHON(?!PATH$|DONTWRITEBYTECODE$|PYCACHEPREFIX$).*|MPLBACKEND|MPLCONFIGDIR|MATPLOTLIBRC|NODE_.*|"
    "(OMP|OPENBLAS|MKL)_NUM_THREADS|NUMBA_(?!CACHE_DIR$).*|GIT_.*|XDG_.*|EDITOR|PAGER|BROWSER|DISPLAY|"
    "(?i:[A-Z]+_PROXY)|(PMI|PMIX|OMPI|HYDRA|SLURM|DASK|HYPOTHESIS)_.*|SOURCE_DATE_EPOCH"
)
for name in list(filter(SET_BY_OTHERS.fullmatch, os.environ)):
    del os.environ[name]

# Files that tests write and read back are UTF-8, which these may have hidden from Python, too.
with contextlib.suppress(locale.Error):
    locale.setlocale(locale.LC_CTYPE, "C.UTF-8")

# Threads of BLAS wait for each other longer than matrices of tests take, and the last digits depend on their number.
# Set before NumPy is loaded, and inherited by the processes that tests start.
for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ[f"{library}_NUM_THREADS"] = "1"

# A shell starts background jobs with Ctrl-C ignored, and processes inherit that; tests that press it need it to work.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


TAKEN: dict[str, float] = {}  # seconds, by test

# Files that share what takes longer to make than to test, each beginning with one of these: the explorer's server and
# pages in a browser, the report with its figures, and syntax trees of the package.
TOGETHER = (
    (
        "tests/explorer/test_page",
        "tests/explorer/test_features",
        "tests/explorer/test_recorded",
        "tests/explorer/test_server_exports",
        "tests/explorer/test_server_guard",
        "tests/story/test_page",
    ),
    ("tests/report/", "tests/plotting/test_figures", "tests/reproduction/test_paper"),
    ("tests/test_architecture", "tests/test_portability"),
)


def group_of(nodeid: str) -> str:
    """Return what one worker runs as a whole: the tests of a file share what is made for them."""
    file = nodeid.partition("::")[0]
    return next((names[0] for names in TOGETHER if file.startswith(names)), file)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of `make check` and of what records durations."""
    group = parser.getgroup("durations")
    group.addoption("--fast", action="store_true", help="leave out tests that were recorded as slow")
    group.addoption("--fast-first", action="store_true", help="begin with the tests that were not recorded as slow")
    group.addoption("--record-durations", action="store_true", help="record how long these tests take")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Hand out groups of tests in the order of their collection."""
    from xdist.scheduler import LoadFileScheduling

    config.option.loadscopereorder = False
    scheduling = LoadFileScheduling(config, log)
    scheduling._split_scope = group_of
    return scheduling


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is slow if asked for, and begin with the longest group where several workers share the tests."""
    known = durations.recorded()
    if config.getoption("--fast"):
        # What opens a page is slow, also before its time is recorded.
        slow = {
            item
            for item in items
            if durations.is_slow(item.nodeid, known) or "browser" in getattr(item, "fixturenames", ())
        }
        config.hook.pytest_deselected(items=list(slow))
        items[:] = [item for item in items if item not in slow]
    if config.getoption("--fast-first"):
        items.sort(key=lambda item: durations.is_slow(item.nodeid, known))
    if "PYTEST_XDIST_WORKER" in os.environ:
        # A worker that began with a long one last would work alone at the end.
        seconds: dict[str, float] = {}
        for file in {item.nodeid.partition("::")[0] for item in items}:
            seconds[group_of(file)] = seconds.get(group_of(file), 0) + durations.seconds_of(file, known)
        items.sort(key=lambda item: (-seconds[group_of(item.nodeid)], group_of(item.nodeid)))


def pytest_collection(session: pytest.Session) -> None:
    """Look for no garbage while tests are collected: there is none, among half a million objects that stay."""
    gc.disable()


def pytest_collection_finish(session: pytest.Session) -> None:
    """Look for it again, but not among what was collected."""
    gc.freeze()
    gc.enable()


class Reporter:
    """Name each failure as soon as it happens, and note how long tests take; workers tell the process they serve."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Print a failure; add up the duration of a test with what is made and cleared away for it."""
        TAKEN[report.nodeid] = TAKEN.get(report.nodeid, 0) + report.duration
        terminal = self.config.pluginmanager.getplugin("terminalreporter")
        if report.failed and terminal is not None:
            reason = getattr(getattr(report.longrepr, "reprcrash", None), "message", "").partition("\n")[0]
            if self.config.get_terminal_writer().width_of_current_line:
                terminal.line("")
            terminal.write_line(f"FAILED in {report.when} {report.nodeid}: {reason}", red=True)


def pytest_configure(config: pytest.Config) -> None:
    """Report where tests are collected, which is not in a worker."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        config.pluginmanager.register(Reporter(config))


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Record durations where tests have passed; workers have told the process that started them."""
    if session.config.getoption("--record-durations") and not exitstatus and "PYTEST_XDIST_WORKER" not in os.environ:
        durations.record(durations.updated(durations.recorded(), TAKEN))


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The system's Chromium, or Playwright's; elsewhere than in continuous integration one may do without."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        program = chromium() or shutil.which(play.chromium.executable_path)
        if program is None:
            if os.environ.get("CI"):
                pytest.fail("no Chromium was found: pages must be opened in a browser here")
            pytest.skip("no Chromium was found, so no page was opened in a browser")
        # No sandbox, as root has none; no network is used either way. What draws has no process of its own to copy to,
        # and no graphics card, which would only be imitated.
        flags = ["--no-sandbox", "--in-process-gpu", "--disable-gpu"]
        browser = play.chromium.launch(executable_path=program, args=flags)
        yield browser
        browser.close()
