"""The real server on a port of its own, and a page in a real browser that may report nothing and reach nobody else."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Collection, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.explorer.driving import PLAIN, Driver, Layout
from tests.waiting import started

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
    with started(command, **pipes, env=os.environ | {"PYTHONUNBUFFERED": "1"}) as process:
        yield process


@pytest.fixture(scope="session")
def explorer(server: subprocess.Popen[str]) -> str:
    """The address of the explorer."""
    assert server.stdout is not None
    address = re.search(r"http://127\.0\.0\.1:\d+/", server.stdout.readline())
    assert address is not None
    return address[0]


@pytest.fixture
def layout(request: pytest.FixtureRequest) -> Layout:
    """The window and the fonts; a test whose outcome could depend on them asks for more than one."""
    given: Layout = getattr(request, "param", PLAIN)
    return given


@pytest.fixture
def open_page(browser: Browser, explorer: str, layout: Layout) -> Iterator[Callable[..., Driver]]:
    """Open the explorer, as often as a test likes; each page is held to silence when the test is over."""
    drivers: list[Driver] = []

    def opened(
        fragment: str = "", expected: Collection[str] = (), *, address: str = explorer, **options: Any
    ) -> Driver:
        context = browser.new_context(**(layout.options | options))
        drivers.append(Driver(context.new_page(), address, expected))
        layout.dress(drivers[-1].page)
        drivers[-1].open(fragment)
        return drivers[-1]

    yield opened
    for driver in drivers:
        driver.page.context.close()
    for driver in drivers:
        driver.check()


@pytest.fixture(scope="session")
def drivers() -> Iterator[dict[str, Driver]]:
    """The pages that are open, by the names of their layouts."""
    found: dict[str, Driver] = {}
    yield found
    for driver in found.values():
        driver.page.context.close()


@pytest.fixture(scope="session")
def pages(
    browser: Browser, explorer: str, server: subprocess.Popen[str], drivers: dict[str, Driver]
) -> Callable[[Layout], Driver]:
    """One page for each layout, which tests use one after the other: opening one takes longer than most of them."""

    def page_of(layout: Layout) -> Driver:
        if layout.name not in drivers:
            context = browser.new_context(**layout.options)
            drivers[layout.name] = Driver(context.new_page(), explorer)
            drivers[layout.name].server = server.pid
            layout.dress(drivers[layout.name].page)
        return drivers[layout.name]

    return page_of


@pytest.fixture
def one_page(
    pages: Callable[[Layout], Driver],
    layout: Layout,
    drivers: dict[str, Driver],
    request: pytest.FixtureRequest,
    tmp_path: Path,
) -> Iterator[Driver]:
    """The page of a layout, which shows what the test before has left; after a failure there is a new one."""
    driver = pages(layout)
    driver.pictures = tmp_path
    driver.forget()
    if driver.page.viewport_size != layout.options["viewport"]:
        driver.page.set_viewport_size(layout.options["viewport"])
    yield driver
    if driver.said or request.node.stash.get(FAILED, False):
        drivers.pop(layout.name).page.context.close()
    else:
        driver.reset()
        layout.dress(driver.page)


@pytest.fixture
def opened_page(one_page: Driver) -> Iterator[Driver]:
    """A page whose modules can be called, whatever it shows."""
    one_page.be_open()
    yield one_page
    one_page.check()


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
