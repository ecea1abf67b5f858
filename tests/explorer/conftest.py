"""The real server on a port of its own, and a page in a real browser that may report nothing and reach nobody else."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.explorer.driving import ROOT, STILL, Driver
from tests.waiting import line_of, started

if TYPE_CHECKING:
    from playwright.sync_api import Browser

FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Note which tests have failed: who knows what they have left on their page."""
    report = yield
    item.stash[FAILED] = item.stash.get(FAILED, False) or report.failed
    return report


@pytest.fixture(scope="session")
def server() -> Iterator[subprocess.Popen[str]]:
    """The explorer, started as a person would start it, with a memory for answers."""
    command = [sys.executable, "-m", "tests.explorer.serving", "--port", "0", "--no-browser"]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with started(command, **pipes, cwd=ROOT, env=os.environ | {"PYTHONUNBUFFERED": "1"}) as process:
        yield process


@pytest.fixture(scope="session")
def explorer(server: subprocess.Popen[str]) -> str:
    """The address of the explorer."""
    address = re.search(r"http://127\.0\.0\.1:\d+/", line_of(server))
    assert address is not None
    return address[0]


@pytest.fixture(scope="session")
def open_pages() -> Iterator[list[Driver]]:
    """The page that is open, or nothing."""
    found: list[Driver] = []
    yield found
    for driver in found:
        driver.page.context.close()


@pytest.fixture
def one_page(
    browser: Browser,
    explorer: str,
    server: subprocess.Popen[str],
    open_pages: list[Driver],
    request: pytest.FixtureRequest,
    tmp_path: Path,
) -> Iterator[Driver]:
    """One page for all tests, which shows what the test before has left: opening one takes longer than most of them.

    After a failure there is a new one.
    """
    if not open_pages:
        open_pages.append(Driver(browser.new_context(**STILL).new_page(), explorer))
    (driver,) = open_pages
    driver.server, driver.pictures = server.pid, tmp_path
    driver.forget()
    if driver.page.viewport_size != STILL["viewport"]:
        driver.resize(**STILL["viewport"])
    yield driver
    if driver.said or request.node.stash.get(FAILED, False):
        open_pages.remove(driver)
        with contextlib.closing(driver.page.context):
            print(driver.show())
    else:
        driver.reset()


@pytest.fixture
def driver(one_page: Driver) -> Iterator[Driver]:
    """A page that shows a small scenario, and has done nothing else yet."""
    one_page.start_again()
    yield one_page
    one_page.check()


@pytest.fixture(scope="session")
def catalogue() -> dict[str, Any]:
    """All that the page offers, as the server lists it."""
    from peerpressure.explorer.catalogue import catalogue
    from peerpressure.explorer.protocol import Limits

    return dict(catalogue(Limits(), None))
