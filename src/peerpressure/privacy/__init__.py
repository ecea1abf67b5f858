"""Privacy: what an observer learns about each agent, the guarantee that holds, and the accuracy that it costs.

``exposure`` is what one observer learns on average, ``budget`` what it learns at worst, ``calibrate`` how much noise a
budget requires, and ``frontier`` how accurate a network can be under it; ``release`` publishes opinions.
``DEFINITION`` states what privacy means in all of them, and a ``Definition`` the same with the numbers of one account.
A new mechanism is one class beside ``Noisy`` in ``_mechanisms``; the guarantee of a noise law is one row of
``PROMISES`` in ``_accounting``.
"""

from peerpressure.support.namespaces import attach

# For other packages and for annotations.
_INTERNAL = (
    "Calibration",
    "Design",
    "Frontier",
    "Granularity",
    "Trade",
)
__getattr__, __dir__, __all__ = attach(__name__, __file__, _INTERNAL)
