"""Scenarios carried out: their results, their measures, and sweeps of both over a grid of parameters."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
