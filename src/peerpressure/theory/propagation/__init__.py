"""Exact mean and covariance of opinions, propagated step by step without sampling.

``moments`` propagates mean and covariance forwards for all agents. For functionals, which are weighted sums of agents,
it runs the adjoint of the state-space operator backwards, for any number of agents. An ``SDE`` solves the differential
equations of the same moments. Users find these names in ``theory``; packages below it need no more than this one.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
