"""``peerpressure story``: the page that explains the model by eight toys."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from peerpressure.cli.terminal import show
from peerpressure.support.files import declare_output, replacing


def story(
    out: Annotated[
        Path | None,
        typer.Option(metavar="PAGE.html", dir_okay=False, help="Write the page to this file, and open nothing."),
    ] = None,
) -> None:
    """Open the story: why everybody agrees and nobody has changed their mind, in twenty minutes and eight toys.

    It is for readers without mathematics or Python: a single page that computes in the browser, needs neither a server
    nor a network, and can be sent to anybody.

    Example: peerpressure story --out story.html
    """
    from peerpressure.explorer.story import page

    # A folder of its own, in which no other file can be replaced.
    file = Path(tempfile.mkdtemp(prefix="peerpressure-"), "story.html") if out is None else out
    declare_output(file)
    with replacing(file) as target:
        target.write(str(page()).encode())
    if out is not None:
        show(f"{file}: {file.stat().st_size:,} bytes")
        return
    import webbrowser

    opened = webbrowser.open(file.as_uri())
    show(f"{file} {'is open in the browser' if opened else 'has to be opened by hand, as no browser was found'}")
