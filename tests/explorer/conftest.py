"""The real server on a port of its own, and a page in a real browser that may report nothing and reach nobody else."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from tests.explorer.driving import PLAIN, Driver, Layout

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="session")
def explorer() -> Iterator[str]:
    """The address of the explorer, started as a person would start it, with a memory for answers."""
    command = [sys.executable, "-m", "tests.explorer.serving", "--port", "0", "--no-browser"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONUNBUFFERED": "1"}
    ) as at_work:
        assert at_work.stdout is not None
        address = re.search(r"http://127\.0\.0\.1:\d+/", at_work.stdout.readline())
        assert address is not None
        yield address[0]
        at_work.send_signal(signal.SIGINT if os.name == "posix" else signal.SIGTERM)
        at_work.wait(timeout=30)


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
def pages(browser: Browser, explorer: str) -> Iterator[Callable[[Layout], Driver]]:
    """One page for each layout, which tests use one after the other: opening one takes longer than most of them."""
    drivers: dict[str, Driver] = {}

    def page_of(layout: Layout) -> Driver:
        if layout.name not in drivers:
            context = browser.new_context(**layout.options)
            drivers[layout.name] = Driver(context.new_page(), explorer)
            layout.dress(drivers[layout.name].page)
        return drivers[layout.name]

    yield page_of
    for driver in drivers.values():
        driver.page.context.close()


@pytest.fixture
def one_page(pages: Callable[[Layout], Driver], layout: Layout) -> Driver:
    """The page of a layout, which shows what the test before has left."""
    driver = pages(layout)
    driver.forget()
    if driver.page.viewport_size != layout.options["viewport"]:
        driver.page.set_viewport_size(layout.options["viewport"])
    return driver


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
