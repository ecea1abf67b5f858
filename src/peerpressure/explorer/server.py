"""The server: a free address, the host names and origins that it answers to, and uvicorn until Ctrl-C."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, final

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from peerpressure.errors import PeerPressureError, message
from peerpressure.explorer.memory import keep_little
from peerpressure.explorer.protocol import error_body, json_bytes

if TYPE_CHECKING:
    import uvicorn
    from starlette.applications import Starlette

PORT = 8321
# Longer than uvicorn's own grace period of 1 second.
PATIENCE = 1.5  # seconds that a shutdown may take before it is forced
REQUEST_SECONDS = 20.0  # in which a request must arrive
TRIED = 50  # ports from the usual one on, which other explorers may use
# The only names by which a browser reaches a server on the loopback interface.
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


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


# Protection against other web pages: which hosts and origins are accepted, and the headers of every response.

HEADERS: Mapping[str, str] = {
    # Scripts, styles and data come from this server only; nothing inline is allowed.
    "content-security-policy": "default-src 'self'; img-src 'self' data: blob:; object-src 'none'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'",
    "cross-origin-embedder-policy": "require-corp",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


@final
class Guard:
    """Middleware that accepts requests to this server's own names and from its own page, and sets security headers.

    A page elsewhere on the web can make a browser send requests here. It cannot choose their Host header, except by DNS
    rebinding, which the check of the host prevents, and it cannot hide its Origin.
    """

    def __init__(self, app: ASGIApp, hosts: Collection[str]) -> None:
        self.app = app
        self.hosts = frozenset(hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer with status 403."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_secured(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                # Answers depend on the request body, and a scenario may be confidential; nothing is stored by the
                # browser.
                headers.setdefault("cache-control", "no-store")
            await send(message)

        # Checked before the body is read: a rejected request costs nothing.
        problem = self._problem(Headers(scope=scope))
        if problem is not None:
            forbidden = Response(json_bytes(error_body(problem)), 403, media_type="application/json")
            await forbidden(scope, receive, send_secured)
            return
        await self.app(scope, receive, send_secured)

    def _problem(self, headers: Headers) -> str | None:
        """Return what is wrong with the host or the origin of a request, if anything."""
        named = headers.getlist("host")
        # Several Host headers are ambiguous between proxies and servers, hence exactly one.
        if len(named) != 1 or name_of(named[0]) not in self.hosts:
            rule, remedy = "a request must name this server", "open it by the address that it printed"
            return message(rule, got=ascii(", ".join(named))[:80], remedy=remedy)
        origins, remedy = headers.getlist("origin"), "open the page that this server shows"
        # Requests without an Origin are navigations and those of other programs; a page cannot remove its own.
        if origins and origins != [f"http://{named[0]}"]:
            return message("a request must come from the explorer's own page", got=ascii(origins)[:80], remedy=remedy)
        site = headers.get("sec-fetch-site", "none")
        # Navigation from a link elsewhere is legal: it opens the page and reads nothing.
        if site not in ("same-origin", "none") and headers.get("sec-fetch-mode") != "navigate":
            return message("a request must come from the explorer's own page", got=ascii(site)[:80], remedy=remedy)
        return None


def name_of(host: str) -> str:
    """Return the name in a Host header, without port and brackets.

    >>> name_of("localhost:8321"), name_of("[::1]:8321"), name_of("::1")
    ('localhost', '::1', '')
    """
    if host.startswith("["):
        name, closed, port = host[1:].partition("]")
        # Without a closing bracket the port is set to something illegal, and the name is rejected.
        port = port.removeprefix(":") if closed else "?"
    else:
        name, _, port = host.partition(":")
    return name.lower() if not port or port.isdecimal() else ""


# In a process of its own, because no line of Python runs in this one while a library holds the interpreter's lock. It
# reads the first signal, or the end of this process, from a pipe.
_WATCHDOG = """
import os, signal, sys, time
signalled = os.read(0, 1)
time.sleep(float(sys.argv[1]) if signalled else 0)
if signalled and os.getppid() == int(sys.argv[2]):
    os.kill(os.getppid(), signal.SIGKILL)
"""


def _start_watchdog() -> None:
    """Start a process that ends this one if Ctrl-C has not; it ends with this one.

    Some solvers hold Python's lock for many seconds, in which Python handles no signal. It still writes the signal to
    the wake-up pipe at once.
    """
    if os.name != "posix":
        return
    reading, writing = os.pipe()
    # The signal handler writes into this pipe and must never block.
    os.set_blocking(writing, False)
    # Without site packages it starts fast. In a session of its own, Ctrl-C reaches this process only.
    command = [sys.executable, "-I", "-S", "-c", _WATCHDOG, str(PATIENCE), str(os.getpid())]
    nothing = subprocess.DEVNULL
    subprocess.Popen(command, stdin=reading, stdout=nothing, stderr=nothing, start_new_session=True)
    os.close(reading)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)


def configuration(app: Starlette, log_level: str = "warning") -> uvicorn.Config:
    """Return uvicorn's settings for the application."""
    import h11
    import uvicorn
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Protocol(H11Protocol):
        """Closes a connection whose next request does not arrive; uvicorn's time-out begins after a first answer."""

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self.loop.call_later(REQUEST_SECONDS, self._look, None)

        def _look(self, last: object) -> None:
            # The same request as at the last look is either being answered, or has not arrived in full.
            if self.cycle is last and self.conn.their_state in (h11.IDLE, h11.SEND_BODY):
                self.transport.close()
            if not self.transport.is_closing():
                self.loop.call_later(REQUEST_SECONDS, self._look, self.cycle)

    return uvicorn.Config(
        app,
        # Other event loops handle signals in ways that bypass the wake-up pipe.
        loop="asyncio",
        http=Protocol,
        # Requests are not logged: they come many per second while a slider moves.
        log_level=log_level,
        access_log=False,
        # A page does not need the version of the server software; an attacker might use it.
        server_header=False,
        # No websockets are used, and their library need not be installed.
        ws="none",
        timeout_graceful_shutdown=1,
    )


def serve(app: Starlette, listening: socket.socket, when_ready: Callable[[], None] = lambda: None) -> None:
    """Answer requests at an open socket until Ctrl-C; threads may still compute then."""
    import uvicorn

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            when_ready()

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            # Cancelled jobs answer at once, so open requests do not delay the shutdown.
            app.state.queue.close()
            await super().shutdown(sockets)

    keep_little()
    _start_watchdog()
    with contextlib.suppress(KeyboardInterrupt):
        Server(configuration(app)).run(sockets=[listening])
