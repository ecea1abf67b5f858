"""How properties are searched, and one browser for all tests that need one.

Only one Playwright can be at work in a process.
"""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from playwright.sync_api import Browser


# A test run is the same on every machine: the same examples are drawn, and no clock decides. `make search` draws anew.
settings.register_profile("default", derandomize=True, deadline=None, max_examples=50)
settings.register_profile("search", derandomize=False, deadline=None, max_examples=200, print_blob=True)
settings.load_profile("default")

# Beside other workers, further threads of BLAS only wait for each other, which takes a third of the time. Set before
# NumPy is loaded, and inherited by the processes that tests start.
if "PYTEST_XDIST_WORKER" in os.environ:
    for library in ("OMP", "OPENBLAS", "MKL"):
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")

# A shell starts background jobs with Ctrl-C ignored, and processes inherit that; tests that press it need it to work.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


# Folders and files that take longest, in this order: a worker that began one of them last would work alone at the end.
# One worker waits for browsers while the other one computes.
LONGEST = (
    "tests/explorer/test_page",
    "tests/reproduction",
    "tests/report",
    "tests/truth",
    "tests/engine",
    "tests/explorer",
    "tests/test_documentation.py",
    "tests/cli",
    "tests/plotting",
    "tests/",
)

# Files that share what takes longer to make than to test: the report, and pages in a browser.
TOGETHER = ("tests/report/", "tests/explorer/test_page")


def group_of(nodeid: str) -> str:
    """Return what one worker runs as a whole: the tests of a file share what is made for them."""
    file = nodeid.partition("::")[0]
    return next((name for name in TOGETHER if file.startswith(name)), file)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Hand out groups of tests in the order of their collection."""
    from xdist.scheduler import LoadFileScheduling

    config.option.loadscopereorder = False
    scheduling = LoadFileScheduling(config, log)
    scheduling._split_scope = group_of
    return scheduling


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest, where several workers share the tests."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        items.sort(key=lambda item: [not item.nodeid.startswith(name) for name in LONGEST])


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The system's Chromium, or Playwright's; elsewhere than in continuous integration one may do without."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        names = ("chromium", "chromium-browser", "google-chrome", play.chromium.executable_path)
        program = next(filter(None, map(shutil.which, names)), None)
        if program is None:
            if os.environ.get("CI"):
                pytest.fail("no Chromium was found: pages must be opened in a browser here")
            pytest.skip("no Chromium was found, so no page was opened in a browser")
        # No sandbox, as root has none; no network is used either way.
        browser = play.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()
