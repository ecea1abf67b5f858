"""The model and one step of it: start reading here.

``Model`` is what users build; ``affine`` has its equation, ``step`` the map of one step, ``adaptation`` and
``activation`` say how hidden opinions adapt and who updates, and ``statespace`` offers a step as a linear operator.
"""

from peerpressure.support.namespaces import attach

# For other packages.
_INTERNAL = ("require_synchronous",)
__getattr__, __dir__, __all__ = attach(__name__, __file__, _INTERNAL)
