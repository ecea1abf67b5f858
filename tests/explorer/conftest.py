"""The real server on a port of its own, and a page in a real browser that may report nothing and reach nobody else."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from tests.explorer.driving import DESK, Driver

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="session")
def explorer() -> Iterator[str]:
    """The address of a server that runs in a thread of this process."""
    import uvicorn

    from peerpressure.explorer.app import create_app
    from peerpressure.explorer.serving import open_socket

    socket = open_socket("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(create_app(), log_level="warning"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [socket]}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{socket.getsockname()[1]}/"
    server.should_exit = True
    thread.join(timeout=30)
    socket.close()


@pytest.fixture
def open_page(browser: Browser, explorer: str) -> Iterator[Callable[..., Driver]]:
    """Open the explorer, as often as a test likes; each page is held to silence when the test is over."""
    drivers: list[Driver] = []

    def opened(fragment: str = "", **options: Any) -> Driver:
        context = browser.new_context(**({"viewport": DESK, "reduced_motion": "reduce"} | options))
        drivers.append(Driver(context.new_page(), explorer))
        drivers[-1].open(fragment)
        return drivers[-1]

    yield opened
    for driver in drivers:
        driver.page.context.close()
    for driver in drivers:
        driver.check()


@pytest.fixture
def driver(open_page: Callable[..., Driver]) -> Driver:
    """One page, opened as a newcomer would."""
    return open_page()


@pytest.fixture(scope="session")
def catalogue() -> dict[str, Any]:
    """All that the page offers, as the server lists it."""
    from peerpressure.explorer.catalogue import catalogue
    from peerpressure.explorer.limits import Limits

    return dict(catalogue(Limits(), None))
