"""One network over several processes none of which holds all of it: networks, models and runs by part.

A network that fits into one machine needs none of this: ``simulate(model, ..., comm=comm)`` divides it.
"""

from peerpressure.support.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__, ())
