"""Everything that draws: a picture of one axes for each main result, and the figures of the reports.

Figures are made of tables and never simulate. Matplotlib is loaded when something is first drawn.
"""

from peerpressure.support.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__, ())
