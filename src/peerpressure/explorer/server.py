"""The server: a free address, the host names that it answers to, and uvicorn until Ctrl-C."""

from __future__ import annotations

import contextlib
import ipaddress
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from peerpressure.errors import PeerPressureError, message
from peerpressure.explorer.security import LOOPBACK

PORT = 8321
# Longer than uvicorn's own grace period of 1 second.
PATIENCE = 1.5  # seconds that a shutdown may take before it is forced
TRIED = 50  # ports from the usual one on, which other explorers may use


def open_socket(host: str, port: int | None = None) -> socket.socket:
    """Return a listening socket: on this port, or on the first free one from ``PORT`` on; 0 takes any free port."""
    ports = range(PORT, PORT + TRIED) if port is None else [port]
    problem = "no port"
    for one in ports:
        try:
            # Bound before uvicorn starts: a port that was only probed could be taken by another process in between.
            listening = socket.create_server((host, one), family=_family(host), backlog=128)
        except OSError as error:
            problem = f"{host}:{one} ({error.strerror or error})"
            continue
        # Connections inherit this; without it Nagle's algorithm delays the end of a short answer by 40 ms.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listening
    rule, remedy = "the explorer needs an address to listen at", "name another --port, or an address of this machine"
    raise PeerPressureError(message(rule, got=problem, remedy=remedy))


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def address_of(host: str, port: int) -> str:
    """Return the URL for a browser on this machine.

    >>> address_of("0.0.0.0", 8321), address_of("::1", 8321)
    ('http://127.0.0.1:8321/', 'http://[::1]:8321/')
    """
    name = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{name}]:{port}/" if ":" in name else f"http://{name}:{port}/"


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach the address."""
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"


def names_for(host: str) -> frozenset[str]:
    """Return the host names that requests may use: all of this machine's if the server listens at every address."""
    if is_loopback(host):
        return LOOPBACK | {host.lower()}
    if host not in ("0.0.0.0", "::"):
        return LOOPBACK | {host.lower()}
    import psutil

    every = (address.address for addresses in psutil.net_if_addrs().values() for address in addresses)
    # Link-local addresses end in % and the name of an interface.
    own = {address.partition("%")[0].lower() for address in every if "." in address or ":" in address}
    return LOOPBACK | own | {socket.gethostname().lower(), socket.getfqdn().lower()}


# A watchdog in a process of its own: it reads the signals of the server from a pipe, and kills the server if it has
# not ended, which closes the pipe, within the time that it is given.
_WATCHDOG = """
import os, select, signal, sys, time
process, patience = int(sys.argv[1]), float(sys.argv[2])
while (heard := os.read(0, 1)) and heard[0] not in (signal.SIGINT, signal.SIGTERM):
    pass
end = time.monotonic() + patience
while heard and (left := end - time.monotonic()) > 0:
    heard = os.read(0, 1) if select.select([0], [], [], left)[0] else heard
if heard:
    os.kill(process, signal.SIGKILL)
"""


@contextlib.contextmanager
def _with_watchdog() -> Iterator[None]:
    """Let a watchdog end this process where Ctrl-C cannot.

    Some solvers hold Python's global lock for many seconds, during which Python handles no signal; it does write the
    signal to the wake-up pipe at once.
    """
    if os.name != "posix":
        yield
        return
    reading, writing = os.pipe()
    # The signal handler writes into this pipe and must never block.
    os.set_blocking(writing, False)
    # -I and -S: no site packages and no user settings, so that the watchdog starts fast and nothing can interfere.
    command = [sys.executable, "-I", "-S", "-c", _WATCHDOG, str(os.getpid()), str(PATIENCE)]
    nothing = subprocess.DEVNULL
    # A session of its own: Ctrl-C must reach the server only.
    watchdog = subprocess.Popen(command, stdin=reading, stdout=nothing, stderr=nothing, start_new_session=True)
    # Only the watchdog may have the reading end, and the end of the server then closes the pipe.
    os.close(reading)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    yield
    # Threads that still compute may hold the lock again; then the watchdog stays until the process has ended.
    if threading.active_count() == 1:
        signal.set_wakeup_fd(-1)
        os.close(writing)
        watchdog.wait()


def serve(
    listening: socket.socket,
    *,
    hosts: Collection[str] = LOOPBACK,
    default: Mapping[str, Any] | None = None,
    when_ready: Callable[[], None] = lambda: None,
) -> bool:
    """Answer requests at an open socket until Ctrl-C; return whether threads still compute then."""
    import uvicorn

    from peerpressure.explorer.app import create_app

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            when_ready()

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            # Cancelled jobs answer at once, so that open requests do not delay the shutdown.
            app.state.queue.close()
            await super().shutdown(sockets)

    app = create_app(hosts=hosts, default=default)
    config = uvicorn.Config(
        app,
        # Other event loops handle signals in ways that bypass the wake-up pipe.
        loop="asyncio",
        # Requests are not logged: they come many per second while a slider moves.
        log_level="warning",
        access_log=False,
        # The version of the server software is of no use to a page, and of some use to an attacker.
        server_header=False,
        # No websockets are used, and their library need not be installed.
        ws="none",
        timeout_graceful_shutdown=1,
    )
    with _with_watchdog(), contextlib.suppress(KeyboardInterrupt):
        Server(config).run(sockets=[listening])
    return threading.active_count() > 1
