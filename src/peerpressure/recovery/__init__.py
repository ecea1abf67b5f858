"""Recovery: estimation of hidden opinions from public ones, by an observer that knows the model.

``recover`` estimates the hidden opinions from a run, at its start or at its end; ``information`` is the bound
on any estimate, before a run is observed; ``infer_network`` estimates the network itself. A new method is one function
``method(system, data, prior) -> Estimate`` and one line in ``METHODS``.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
