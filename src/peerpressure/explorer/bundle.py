"""One self-contained page: the explorer's own modules, styles and fonts in one file, with a recording in it.

Modules become functions that are called in the order of their imports; the function `fetch` of ``recorded.js`` stands
in for that of the browser, so all other modules are used as they are.
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
ENTRY, STAND_IN = "explorer.js", "recorded.js"
TITLE = "Peer Pressure: a recorded run"

_IMPORT = re.compile(r'^import\s+(\{[^}]*\}|\w+)\s+from\s+"([^"]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:async )?function|class|const|let) (\w+)", re.MULTILINE)
_PASSED_ON = re.compile(r'^export (\{[^}]*\})(?: from "([^"]+)")?;\n', re.MULTILINE)
_DEFAULT = re.compile(r"^export \{ (\w+) as default \};\n", re.MULTILINE)
# Comments on lines of their own tell a developer what the sources tell as well.
_COMMENT = re.compile(r"^[ \t]*(?://.*|/\*\*(?:(?!\*/)[\s\S])*\*/[ \t]*)\n", re.MULTILINE)
_INDENT = re.compile(r"^[ \t]+|^\n", re.MULTILINE)


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
    style, script = style_of(INDEX), _script()
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
def _script() -> str:
    """Return the explorer's modules in one script."""
    return script_of(
        STATIC / "js" / STAND_IN, STATIC / "js" / ENTRY, between=f'const {{ fetch }} = modules["{STAND_IN}"];\n'
    )


@cache
def script_of(*entries: Path, between: str = "") -> str:
    """Return modules and all that they import in one script, with a statement between those of two entries."""
    sources: dict[str, str] = {}
    parts = []
    for entry in entries:
        before = set(sources)
        _collect(entry, sources)
        parts.append("\n".join(_function(name, text) for name, text in sources.items() if name not in before))
    script = "\n".join(['"use strict";', "(() => {", "const modules = {};", f"\n{between}".join(parts), "})();\n"])
    assert "</script" not in script.lower(), "a script cannot hold the tag that ends it"
    return script


def _collect(path: Path, sources: dict[str, str]) -> None:
    """Add a module, after all modules that it imports."""
    text = path.read_text("utf-8")
    for _, place in _IMPORT.findall(text) + _PASSED_ON.findall(text):
        if place and Path(place).name not in sources:
            _collect((path.parent / place).resolve(), sources)
    assert sources.get(path.name, text) == text, f"{path.name}: two modules of one name"
    sources[path.name] = text


def _function(name: str, text: str) -> str:
    """Return a module as a function that returns what it exports."""
    text = _IMPORT.sub(lambda match: _bound(match[1], Path(match[2]).name), text)
    default = _DEFAULT.findall(text)
    # A library exports one thing, and is left as it is, its licence included.
    exported = [f"default: {one}" for one in default] or [one for _, one in _EXPORT.findall(text)]
    if default:
        text = _DEFAULT.sub("", text)
    else:
        for names, place in _PASSED_ON.findall(text):
            source = f'modules["{Path(place).name}"].' if place else ""
            exported += [f"{one}: {source}{one}" for one in re.findall(r"\w+", names)]
        text = _COMMENT.sub("", _EXPORT.sub(r"\1 \2", _PASSED_ON.sub("", text)))
    assert default or not re.search(r"^(?:import|export)\b", text, re.MULTILINE), f"{name}: an import of another form"
    if all(line.count("`") % 2 == 0 for line in text.split("\n")):
        # No text of several lines could lose its spaces.
        text = _INDENT.sub("", text)
    return f'modules["{name}"] = (() => {{\n{text}return {{ {", ".join(exported)} }};\n}})();'


def _bound(names: str, module: str) -> str:
    """Return the statement that binds imported names."""
    pattern = names.replace(" as ", ": ") if names.startswith("{") else f"{{ default: {names} }}"
    return f'const {pattern} = modules["{module}"];\n'
