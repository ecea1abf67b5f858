"""Protection against other web pages: which hosts and origins are accepted, and the headers of every response."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import final

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from peerpressure.errors import message
from peerpressure.explorer.encoding import json_bytes
from peerpressure.explorer.requests import error_body

# The only names by which a browser reaches a server on the loopback interface.
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})

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

        # Checked before the body is read, so that a rejected request costs nothing.
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
        # Without a closing bracket the port is set to something illegal, so that the name is rejected.
        port = port.removeprefix(":") if closed else "?"
    else:
        name, _, port = host.partition(":")
    return name.lower() if not port or port.isdecimal() else ""
