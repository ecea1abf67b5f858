"""Scenario files: one experiment in TOML, with all of its errors reported at once."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
