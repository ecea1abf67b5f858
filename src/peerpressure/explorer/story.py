"""The story: one page that explains the model by eight toys, and needs no server."""

from __future__ import annotations

import json
from functools import cache
from typing import Any
from urllib.parse import urljoin

import numpy as np

from peerpressure.explorer.bundle import STATIC, frame_of, script_of, style_of
from peerpressure.explorer.server import PORT
from peerpressure.networks import named
from peerpressure.support.text import HtmlPage

INDEX = STATIC / "story.html"
# The tutorial on pressure that grows too fast, as a file of the source and as a page of the documentation.
TUTORIAL = "docs/tutorials/too-fast.md"


def club() -> dict[str, Any]:
    """Return who is friends with whom among the members of the story's club, as the page needs it."""
    network = named("karate")
    sources, targets, _ = network.edges()
    return {"n": network.n, "edges": np.stack([sources, targets], axis=1).tolist()}


@cache
def page(documentation: str = "") -> HtmlPage:
    """Return the page of the story, with links into the documentation if the address of its first page is given.

    A single file that is sent on names the tutorial instead, as there is no public address.
    """
    style, script = style_of(INDEX), script_of("story")
    head, body = frame_of(INDEX, style, script)
    head = head.replace("<html", f'<html data-explorer="http://127.0.0.1:{PORT}/"', 1)
    link, tutorial = "", f"<code>{TUTORIAL}</code> in the source of the package"
    if documentation:
        address = urljoin(documentation, TUTORIAL.removeprefix("docs/").replace(".md", ".html"))
        link = f'<a href="{documentation}">Documentation</a>'
        tutorial = f'<a href="{address}">When pressure grows too fast</a>'
    body = body.replace("<!-- documentation -->", link, 1).replace("<!-- tutorial -->", tutorial, 1)
    data = json.dumps(club(), separators=(",", ":"))
    return HtmlPage(
        f'{head}{body}<script type="application/json" id="club">{data}</script>\n'
        f"<script>{script}</script>\n</body>\n</html>\n"
    )
