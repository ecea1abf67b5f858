from . import two_agents as two_agents
from ._advice import (
    Advice as Advice,
    Suggestion as Suggestion,
    replicates_needed as replicates_needed,
    steps_needed as steps_needed,
)
from ._classification import Outcome as Outcome
from ._consensus_limit import (
    ConsensusLimitCurve as ConsensusLimitCurve,
    consensus_limit as consensus_limit,
    consensus_limit_curve as consensus_limit_curve,
)
from ._diagnosis import diagnose as diagnose
from ._forecast import (
    Forecast as Forecast,
    Settling as Settling,
    consensus_error as consensus_error,
    forecast as forecast,
)
from ._forgetting import (
    Retention as Retention,
    contraction as contraction,
    contraction_product as contraction_product,
    retention as retention,
)
from ._limit_law import LimitKind as LimitKind, LimitLaw as LimitLaw
from ._limits import ConsensusLimit as ConsensusLimit
from ._rates import (
    PowerLaw as PowerLaw,
    Rate as Rate,
    consensus_rate as consensus_rate,
    ideal_deviation as ideal_deviation,
    influence as influence,
    mode_noise as mode_noise,
    start_weight as start_weight,
)
from ._reasons import Reason as Reason
from ._regime import Regime as Regime, regime_of as regime_of
from ._stationary import fixed_point as fixed_point
from ._structure import Component as Component
from ._verdict import Connectivity as Connectivity, HiddenOutcome as HiddenOutcome, Verdict as Verdict
from .propagation import (
    Functional as Functional,
    Moments as Moments,
    agent_opinion as agent_opinion,
    consensus_mode as consensus_mode,
    mean_opinion as mean_opinion,
    moments as moments,
    opinion_difference as opinion_difference,
)
from .tuning import Alternative as Alternative, OptimalSchedule as OptimalSchedule, optimal_schedule as optimal_schedule
