"""Fitting: what the observer does not know is estimated, and models are compared.

``fit`` estimates parameters together with hidden opinions; ``compare`` tells which of several models explains a record
best, whether people respond to their neighbours, and what they think; ``response`` tells whether people respond to what
they saw, and how much, from a few rounds of answers in one group or in many.
"""

from peerpressure.support.namespaces import attach

# For other packages and for annotations.
_INTERNAL = ("LikelihoodFit", "Weight")
__getattr__, __dir__, __all__ = attach(__name__, __file__, _INTERNAL)
