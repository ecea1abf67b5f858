"""The server: a free address, the host names and origins that it answers to, and uvicorn until Ctrl-C."""

from __future__ import annotations

import contextlib
import ipaddress
import socket
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, final

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from peerpressure.errors import PeerPressureError, message
from peerpressure.explorer.jobs import keep_little
from peerpressure.explorer.protocol import error_body, json_bytes

if TYPE_CHECKING:
    import uvicorn
    from starlette.applications import Starlette

PORT = 8321
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
    return f"http://{bracketed(name)}:{port}/"


def bracketed(host: str) -> str:
    """Return a host as URLs and headers name it.

    >>> bracketed("localhost"), bracketed("::1")
    ('localhost', '[::1]')
    """
    return f"[{host}]" if ":" in host else host


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


# Protection against other web pages: which origins are accepted, and the headers of every response.

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
    """Middleware that accepts requests from this server's own page only, and sets security headers.

    A page elsewhere on the web can make a browser send requests here. It cannot choose their Host header, except by DNS
    rebinding, which Starlette's check of the host prevents, and it cannot hide its Origin.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer with status 403."""

        async def send_secured(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
                # Answers depend on the request body, and a scenario may be confidential; nothing is stored by the
                # browser.
                headers.setdefault("cache-control", "no-store")
            await send(message)

        # Checked before the body is read: a rejected request costs nothing.
        foreign = None if scope["type"] != "http" else _foreign_origin(Headers(scope=scope))
        if foreign is None:
            await self.app(scope, receive, send_secured)
            return
        rule, remedy = "a request must come from the explorer's own page", "open the page that this server shows"
        text = message(rule, got=ascii(foreign)[:80], remedy=remedy)
        await Response(json_bytes(error_body(text)), 403, media_type="application/json")(scope, receive, send_secured)


def _foreign_origin(headers: Headers) -> str | None:
    """Return where a request comes from, None if that is the page itself, a link, or another program."""
    # Requests without an Origin are navigations and those of other programs; a page cannot remove its own.
    origin, site = headers.get("origin"), headers.get("sec-fetch-site", "none")
    if origin is not None and origin != f"http://{headers.get('host')}":
        return origin
    # Navigation from a link elsewhere is legal: it opens the page and reads nothing.
    legal = site in ("same-origin", "none") or headers.get("sec-fetch-mode") == "navigate"
    return None if legal else site


def configuration(app: Starlette, log_level: str = "warning") -> uvicorn.Config:
    """Return uvicorn's settings for the application."""
    import uvicorn

    return uvicorn.Config(
        app,
        http="h11",
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
    """Answer requests at an open socket until Ctrl-C; threads may still compute then.

    A second Ctrl-C does not wait for open requests.
    """
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
    with contextlib.suppress(KeyboardInterrupt):
        Server(configuration(app)).run(sockets=[listening])
