"""``peerpressure explore``: the explorer, a web page on this machine."""

from __future__ import annotations

import os
import shlex
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from peerpressure.cli.terminal import open_scenario, show
from peerpressure.support.files import declare_input, declare_output, expanded, replacing


def explore(
    start: Annotated[
        str | None,
        typer.Argument(metavar="FILE|LINK", help="A scenario file or a link copied from the page, to start with."),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            min=0, max=65535, help="The port; 0 takes any that is free.  [default: 8321 or the next free one]"
        ),
    ] = None,
    host: Annotated[
        str, typer.Option(help="Address to listen on; any but the default lets other machines reach it.")
    ] = "127.0.0.1",
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")] = True,
    export: Annotated[
        Path | None,
        typer.Option(
            metavar="PAGE.html",
            dir_okay=False,
            help="Write the page with its run to a file that needs no server, and exit.",
        ),
    ] = None,
) -> None:
    """Open a web page for trying out networks, agents, pressure and noise.

    Everything runs on this machine, offline. Ctrl-C stops the server.

    Example: peerpressure explore scenario.toml --export page.html
    """
    # Before any import that loads NumPy.
    _limit_blas_threads()
    from peerpressure.explorer.server import address_of, is_loopback, names_for, open_socket, serve

    if export is not None:
        _export(start, expanded(export))
        return
    # Validated before a port is opened, so errors are reported like those of other commands.
    default = None if start is None else _state(start)
    with open_socket(host, port) as listening:
        # The port is read from the socket, since 0 stands for any free one.
        address, names = address_of(host, listening.getsockname()[1]), names_for(host)
        if not is_loopback(host):
            typer.echo(_warning(host, sorted(names)))
        typer.echo(f"Explorer at {address} (Ctrl-C ends it)")
        ready = partial(_open, address) if browser else lambda: None
        # Its import takes a while, and the address is printed first.
        from peerpressure.explorer.app import create_app

        serve(create_app(hosts=names, default=default), listening, ready)
    # The terminal may be gone by now, and the process must still end.
    try:
        typer.echo("Explorer ended")
    finally:
        _end_process()


def _export(start: str | None, file: Path) -> None:
    """Write the page of a scenario, or of the page's own start, to a file."""
    from peerpressure.explorer.bundle import page
    from peerpressure.explorer.catalogue import first_state
    from peerpressure.explorer.links import is_link
    from peerpressure.explorer.protocol import Limits
    from peerpressure.explorer.recorded import record
    from peerpressure.simulation.trajectory import contents

    declare_output(file)
    # A link is the whole state, which the page holds anyway.
    named = [] if start is None else ["LINK" if is_link(start) else start]
    if start is not None and not is_link(start):
        declare_input(expanded(start))
    state = first_state() if start is None else _state(start)
    # The file is opened first: a place that cannot be written to is known before anything is computed.
    with replacing(file) as out:
        # Its name is left out, because the same run makes the same page under any name.
        made_by = shlex.join(["peerpressure", "explore", *named, "--export", "page.html"])
        out.write(str(page(record(state, Limits(), made_by))).encode())
    show(f"{file}: {file.stat().st_size:,} bytes; it {contents(hidden=True)}")


def _state(start: str) -> dict[str, Any]:
    """Return the state of the page for a link or a scenario file."""
    from peerpressure.explorer.links import is_link, state_of
    from peerpressure.explorer.models import page_state
    from peerpressure.explorer.protocol import Limits

    return state_of(start, Limits()) if is_link(start) else page_state(open_scenario(expanded(start)), Limits())


def _end_process() -> None:
    # Python would wait for threads, which may be in solvers that cannot be cancelled, and then take apart every
    # module, which takes seconds on a busy machine. Nothing is left to be written.
    os._exit(0)


def _limit_blas_threads() -> None:
    """Give linear algebra one thread for each request, for on a busy machine more of them wait for one another.

    Libraries read these variables when they are loaded, which has not happened yet; the user's own settings stay.
    """
    for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ.setdefault(name, "1")


def _warning(host: str, names: list[str]) -> str:
    return (
        f"Whoever can reach {host} can use this explorer: have it compute, within its bounds, and see the scenario it "
        "was opened with. There is no password, and nothing is encrypted; do not open it to a network you do not "
        f"trust. It answers to the names {', '.join(names)} and to no others."
    )


def _open(address: str) -> None:
    """Open a browser in a thread of its own, because some browsers block until they are closed."""
    import threading
    import webbrowser

    threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
