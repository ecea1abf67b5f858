"""Sphinx settings of the documentation."""

from peerpressure.version import __version__

project = "Peer Pressure"
copyright = "2026, the Peer Pressure developers"
release = __version__
extensions = ["myst_parser", "sphinx.ext.mathjax"]
myst_enable_extensions = ["dollarmath"]
html_theme = "furo"
html_title = "Peer Pressure"
