from ._functionals import (
    Functional as Functional,
    Functionals as Functionals,
    Times as Times,
    agent_opinion as agent_opinion,
    consensus_mode as consensus_mode,
    mean_opinion as mean_opinion,
    opinion_difference as opinion_difference,
    step_count as step_count,
    whole_times as whole_times,
)
from ._moments import LARGEST_COVARIANCE as LARGEST_COVARIANCE, Moments as Moments, moments as moments
from ._recursions import (
    Sums as Sums,
    adjoint_moments as adjoint_moments,
    forward_moments as forward_moments,
    mean_after as mean_after,
    moments_of_sums as moments_of_sums,
)
