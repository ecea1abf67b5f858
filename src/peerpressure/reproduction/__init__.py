"""The paper's experiments and those beyond it: parameters in, tidy tables out; each function documents its tables."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
