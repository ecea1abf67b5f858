"""Opening the door: an address that is free, the names that it answers to, and a server until Ctrl-C."""

from __future__ import annotations

import contextlib
import ipaddress
import socket
from collections.abc import Callable, Collection, Mapping
from typing import Any

from peerpressure.errors import PeerPressureError, complain
from peerpressure.explorer.guard import LOOPBACK

PORT = 8321
TRIED = 50  # ports from the wanted one on, for others may be taken by other explorers


def open_socket(host: str, port: int | None = None) -> socket.socket:
    """Return a socket that listens: on this port, or on the first free one from the usual one on; 0 takes any."""
    ports = range(PORT, PORT + TRIED) if port is None else [port]
    problem = "no port"
    for one in ports:
        try:
            listening = socket.create_server((host, one), family=_family(host), backlog=128)
        except OSError as error:
            problem = f"{host}:{one} ({error.strerror or error})"
            continue
        # Connections inherit this; without it the end of a short answer waits 40 ms for the beginning to arrive.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listening
    rule, remedy = "the explorer needs an address to listen at", "name another --port, or an address of this machine"
    raise PeerPressureError(complain(rule, got=problem, remedy=remedy))


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def address_of(host: str, port: int) -> str:
    """Return what to type into a browser on this machine.

    >>> address_of("0.0.0.0", 8321), address_of("::1", 8321)
    ('http://127.0.0.1:8321/', 'http://[::1]:8321/')
    """
    name = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{name}]:{port}/" if ":" in name else f"http://{name}:{port}/"


def is_loopback(host: str) -> bool:
    """Say whether only this machine can reach the address."""
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"


def names_for(host: str) -> frozenset[str]:
    """Return the names by which requests may call the server: this machine's own where it listens to everyone."""
    if is_loopback(host):
        return LOOPBACK | {host.lower()}
    if host not in ("0.0.0.0", "::"):
        return LOOPBACK | {host.lower()}
    import psutil

    every = (address.address for addresses in psutil.net_if_addrs().values() for address in addresses)
    # Link-local addresses carry the name of an interface behind a %.
    own = {address.partition("%")[0].lower() for address in every if "." in address or ":" in address}
    return LOOPBACK | own | {socket.gethostname().lower(), socket.getfqdn().lower()}


def serve(
    listening: socket.socket,
    *,
    hosts: Collection[str] = LOOPBACK,
    default: Mapping[str, Any] | None = None,
    when_ready: Callable[[], None] = lambda: None,
) -> None:
    """Answer requests at an open socket until Ctrl-C."""
    import uvicorn

    from peerpressure.explorer.app import create_app

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            when_ready()

    app = create_app(hosts=hosts, default=default)
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False, ws="none", timeout_graceful_shutdown=2
    )
    with contextlib.suppress(KeyboardInterrupt):
        Server(config).run(sockets=[listening])
