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
    """The address of the explorer, started as a person would start it."""
    command = [sys.executable, "-m", "peerpressure", "explore", "--port", "0", "--no-browser"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONUNBUFFERED": "1"}
    ) as at_work:
        assert at_work.stdout is not None
        address = re.search(r"http://127\.0\.0\.1:\d+/", at_work.stdout.readline())
        assert address is not None
        yield address[0]
        at_work.send_signal(signal.SIGINT)
        at_work.wait(timeout=30)


@pytest.fixture(scope="module")
def layout(request: pytest.FixtureRequest) -> Layout:
    """The window and the fonts; a module whose tests could depend on them asks for more than one."""
    given: Layout = getattr(request, "param", PLAIN)
    return given


@pytest.fixture
def open_page(browser: Browser, explorer: str, layout: Layout) -> Iterator[Callable[..., Driver]]:
    """Open the explorer, as often as a test likes; each page is held to silence when the test is over."""
    drivers: list[Driver] = []

    def opened(fragment: str = "", expected: Collection[str] = (), **options: Any) -> Driver:
        context = browser.new_context(**(layout.options | options))
        drivers.append(Driver(context.new_page(), explorer, expected))
        layout.dress(drivers[-1].page)
        drivers[-1].open(fragment)
        return drivers[-1]

    yield opened
    for driver in drivers:
        driver.page.context.close()
    for driver in drivers:
        driver.check()


@pytest.fixture(scope="module")
def one_page(browser: Browser, explorer: str, layout: Layout) -> Iterator[Driver]:
    """A page that the tests of a module use one after the other, for opening one takes longer than most of them."""
    context = browser.new_context(**layout.options)
    driver = Driver(context.new_page(), explorer)
    layout.dress(driver.page)
    yield driver
    context.close()


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
    from peerpressure.explorer.requests import Limits

    return dict(catalogue(Limits(), None))
