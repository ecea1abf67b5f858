"""Sphinx settings of the documentation."""

from peerpressure.version import __version__

project = "Peer Pressure"
copyright = "2026, the Peer Pressure developers"
release = __version__
extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_design",
    "sphinxcontrib.katex",
]
# KaTeX's scripts come with the extension; its style sheet and letters lie here, so that pages need no network.
html_static_path = ["_static"]
katex_css_path = "katex/katex.min.css"
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
# Pages with code cells are run once and again when their code changes; an error in a cell fails the build.
nb_execution_mode = "cache"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_merge_streams = True
html_theme = "furo"
html_title = "Peer Pressure"
