"""One self-contained page: the explorer's own modules, styles and fonts in one file, with a recording in it.

esbuild makes one script of the modules: ``python -m tools bundles`` writes it. The function `fetch` of ``recorded.js``
stands in for that of the browser, so all other modules are used as they are.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, final

from peerpressure.explorer.protocol import json_bytes
from peerpressure.support.text import HtmlPage

STATIC = Path(__file__).parent / "static"
INDEX = STATIC / "index.html"
TITLE = "Peer Pressure: a recorded run"


@final
@dataclass(frozen=True)
class RecordedRun:
    """What a page without a server knows.

    Parameters
    ----------
    catalogue : bytes
        What can be chosen and the state that the page opens in, as JSON.
    scenarios : tuple of mapping
        Sections of the scenarios that answers are about: the run, and the other one of a comparison.
    answers : mapping of str to bytes
        Answers by the number of the scenario and the name of the question, such as "0/run".
    refusals : mapping of str to mapping
        Errors in the place of answers, as the server would send them.
    provenance : mapping
        Who made it, from what and by which command, in plain values.
    """

    catalogue: bytes
    scenarios: tuple[Mapping[str, Any], ...]
    answers: Mapping[str, bytes]
    refusals: Mapping[str, Mapping[str, Any]]
    provenance: Mapping[str, Any]


def page(recording: RecordedRun) -> HtmlPage:
    """Return the page of a recording."""
    style, script = style_of(INDEX), script_of("recorded")
    head, body = frame_of(INDEX, style, script)
    head = re.sub(r"<title>.*</title>", f"<title>{TITLE}</title>", head)
    data = base64.b64encode(_deflated(_tape(recording))).decode()
    # Data blocks are not run; "<" is escaped, which would end them.
    provenance = json.dumps(recording.provenance, ensure_ascii=False, indent=1, sort_keys=True).replace("<", "\\u003c")
    return HtmlPage(
        head
        + body
        + f'<script type="application/json" id="provenance">\n{provenance}\n</script>\n'
        + f'<script type="text/plain" id="tape">{data}</script>\n<script>{script}</script>\n</body>\n</html>\n'
    )


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _deflated(data: bytes) -> bytes:
    packer = zlib.compressobj(9, wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


def _tape(recording: RecordedRun) -> bytes:
    """Return an index in JSON, and behind it all answers, each at a multiple of 8 bytes."""
    answers = {"catalogue": recording.catalogue} | dict(recording.answers)
    places, offset = {}, 0
    for name, content in answers.items():
        places[name] = [offset, len(content)]
        offset += len(_padded(content))
    index = json_bytes({"scenarios": recording.scenarios, "refusals": recording.refusals, "places": places})
    return b"".join([_padded(len(index).to_bytes(4, "little") + index), *map(_padded, answers.values())])


def _padded(body: bytes) -> bytes:
    return body + bytes(-len(body) % 8)


@cache
def frame_of(index: Path, style: str, script: str) -> tuple[str, str]:
    """Return a page's markup up to its body, with a style and the policy that allows one script, and its body."""
    policy = (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; "
        "font-src data:; img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    icon = base64.b64encode((STATIC / "icon.svg").read_bytes()).decode()
    first = (
        f'<meta charset="utf-8">\n  <meta http-equiv="Content-Security-Policy" content="{html.escape(policy)}">\n'
        f'  <link rel="icon" href="data:image/svg+xml;base64,{icon}">'
    )
    text = re.sub(r"  <link [^>]*>\n|  <script [^>]*></script>\n", "", index.read_text("utf-8"))
    head, _, rest = text.replace('<meta charset="utf-8">', first).partition("</head>\n")
    return f"{head}<style>{style}</style>\n</head>\n", rest.partition("</body>")[0]


@cache
def style_of(index: Path) -> str:
    """Return all style sheets in the order of a page, with their fonts."""
    sheets = re.findall(r'rel="stylesheet" href="/static/([^"]+)"', index.read_text("utf-8"))
    text = "".join((STATIC / sheet).read_text("utf-8") for sheet in sheets)
    return re.sub(r'url\("/static/([^"]+)"\)', lambda match: _data_url(STATIC / match[1]), text)


def _data_url(file: Path) -> str:
    return f'url("data:font/{file.suffix[1:]};base64,{base64.b64encode(file.read_bytes()).decode()}")'


@cache
def script_of(name: str) -> str:
    """Return the modules of a page in one script."""
    script = (STATIC / "bundles" / f"{name}.js").read_text("utf-8")
    assert "</script" not in script.lower(), "a script cannot hold the tag that ends it"
    return script
