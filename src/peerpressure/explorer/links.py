"""Links: the state of the page in the fragment of its address, for ``peerpressure explore LINK``."""

from __future__ import annotations

import base64
import os
import re
import zlib
from typing import Any

from peerpressure.errors import InvalidInputError, PeerPressureError, message
from peerpressure.explorer.models import ModelCache
from peerpressure.explorer.protocol import Limits, parse_json

# A short fragment can inflate to gigabytes.
MAX_STATE = 64_000_000  # bytes, as on the page
# No file has such a name by accident; # alone begins a comment in most shells, so it may be left out.
_BARE = re.compile(r"[A-Za-z0-9_-]{40,}")
_ADDRESS = re.compile(r"[a-z]+://", re.IGNORECASE)


def is_link(text: str) -> bool:
    """Return whether an argument is a link to a state rather than the name of a file.

    >>> is_link("http://127.0.0.1:8321/#q1YqTk4tSVSyKkpNzEktUrIy1FHKSy0qyczPU7KKjq0FAA"), is_link("scenario.toml")
    (True, False)
    """
    if _ADDRESS.match(text):
        return True
    # os.path, because Path raises for names that are longer than any file's.
    return not os.path.exists(text) and ("#" in text or _BARE.fullmatch(text) is not None)


def state_of(link: str, limits: Limits) -> dict[str, Any]:
    """Return the state in a link, whose scenarios are validated as if they came from the page."""
    state = _unpacked(link)
    cache = ModelCache(limits)
    try:
        # Only a comparison has another scenario.
        for scenario in (state["scenario"], state.get("other")):
            if scenario is not None:
                cache.load({"scenario": scenario})
    except PeerPressureError as error:
        raise InvalidInputError(f"the scenario of the link: {str(error).splitlines()[0]}") from None
    return {"scenario": state["scenario"], "view": state.get("view") or {}, "other": state.get("other")}


def _unpacked(link: str) -> dict[str, Any]:
    # Some programs that pass links on write # as %23.
    fragment = re.split(r"#|%23", link, maxsplit=1)[-1]
    unpacker = zlib.decompressobj(wbits=-zlib.MAX_WBITS)
    try:
        # Characters outside of the alphabet must not be skipped, or half a link would pass for a whole one.
        packed = base64.b64decode(fragment + "=" * (-len(fragment) % 4), altchars=b"-_", validate=True)
        state = parse_json(unpacker.decompress(packed, MAX_STATE))
    # ValueError covers errors of base64 and characters beyond ASCII.
    except (PeerPressureError, ValueError, zlib.error):
        state = {}
    if not isinstance(state.get("scenario"), dict) or not unpacker.eof:
        rule, remedy = "a link must hold a state of the explorer", "copy it again, with Share and download"
        raise InvalidInputError(message(rule, got=ascii(link if len(link) < 60 else f"{link[:60]}..."), remedy=remedy))
    return state
