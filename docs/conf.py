"""Sphinx settings of the documentation."""

import re
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from peerpressure.explorer import story
from peerpressure.version import __version__

sys.path.insert(0, str(Path(__file__).parent))
import pages

project = "Peer Pressure"
copyright = "2026, the Peer Pressure developers"
release = __version__
extensions = [
    "dark",
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinxcontrib.katex",
]
# KaTeX's scripts come with the extension; its style sheet and letters lie here, so pages need no network.
html_static_path = ["_static"]
katex_css_path = "katex/katex.min.css"
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
html_theme = "furo"
# The site opens with the story, which is written as its index.html; this is the first of the other pages.
root_doc = "contents"
html_title = f"Peer Pressure {release}"
html_css_files = ["custom.css"]
# Prompts and outputs of examples are not copied.
copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True
copybutton_exclude = ".linenos, .gp, .go"
templates_path = ["_templates"]
# Written here and not in an event, because files are searched for before the first event.
pages.write(Path(__file__).parent)
autosummary_generate = [str(path) for path in Path(__file__).parent.glob("reference/api/*.rst")]
autosummary_context = {"enumerations": pages.enumerations()}
autodoc_typehints = "none"  # types stand in the sections of the docstrings
numpydoc_show_class_members = False
python_use_unqualified_type_names = True
# `name` in a docstring is a link where it names something that is documented, and plain code elsewhere.
default_role = "py:obj"
toc_object_entries = False


def _by_last_name(app: Sphinx, env: Any, node: Any, contnode: nodes.Element) -> nodes.Element | None:
    """Resolve a bare name, such as `Network`, to the public object that has it."""
    target = node.get("reftarget", "").removeprefix("~").removesuffix("()")
    domain = env.get_domain("py")
    found = [name for name in domain.objects if name == f"peerpressure.{target}"] or [
        name for name in domain.objects if name.endswith(f".{target}") and name.startswith("peerpressure.")
    ]
    # A name of several objects, such as a method of many classes, is no link.
    if node.get("refdomain") != "py" or len(found) != 1:
        return None
    return domain.resolve_xref(env, node["refdoc"], app.builder, "obj", found[0], node, contnode)


def _bars(app: Sphinx, what: str, name: str, value: object, options: object, lines: list[str]) -> None:
    """Keep |x| from being read as a substitution."""
    lines[:] = [line if ">>>" in line or "``" in line else line.replace("|", "\\|") for line in lines]


def _prepare(app: Sphinx, name: str, source: list[str]) -> None:
    """Read directives that are comments elsewhere, and let links to files of the repository lead to their copies."""
    source[0] = re.sub(r"^<!-- (\{\w+\}.*?)\s*-->$", r"```\1\n```", source[0], flags=re.DOTALL | re.MULTILINE)
    if "/" in name:
        source[0] = pages.relinked(source[0])


def _open_with_story(app: Sphinx, error: Exception | None) -> None:
    """Write the story as the page that opens the site."""
    if error is None and app.builder.format == "html":
        Path(app.outdir, "index.html").write_text(str(story.page(f"{root_doc}.html")), "utf-8")


def setup(app: Sphinx) -> None:
    """Connect what Sphinx calls."""
    app.connect("build-finished", _open_with_story)
    app.connect("autodoc-process-docstring", _bars, priority=100)
    app.connect("source-read", _prepare)
    app.connect("missing-reference", _by_last_name)
