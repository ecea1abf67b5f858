"""Sphinx settings of the documentation."""

from peerpressure.version import __version__

project = "Peer Pressure"
copyright = "2026, the Peer Pressure developers"
release = __version__
extensions = ["myst_parser", "sphinxcontrib.katex"]
# KaTeX's scripts come with the extension; its style sheet and letters lie here, so that pages need no network.
html_static_path = ["_static"]
katex_css_path = "katex/katex.min.css"
myst_enable_extensions = ["dollarmath"]
html_theme = "furo"
html_title = "Peer Pressure"
