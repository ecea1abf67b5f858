from ._adaptation import (
    ForgettingResult as ForgettingResult,
    TwoTimescalesResult as TwoTimescalesResult,
    forgetting as forgetting,
    two_timescales as two_timescales,
)
from ._beyond import (
    BeyondResult as BeyondResult,
    beyond as beyond,
    network_defence as network_defence,
    network_leak as network_leak,
)
from ._continuous import continuous_time as continuous_time
from ._convergence import (
    ConvergenceResult as ConvergenceResult,
    NoiseLevelsResult as NoiseLevelsResult,
    convergence as convergence,
    noise_levels as noise_levels,
)
from ._experiments import paper_tables as paper_tables
from ._regression import (
    ResidualsResult as ResidualsResult,
    TwoAgentsResult as TwoAgentsResult,
    residuals as residuals,
    two_agents_recovery as two_agents_recovery,
)
from ._sweep import (
    SweepComparison as SweepComparison,
    SweepResult as SweepResult,
    size_effect as size_effect,
    sweep_ba as sweep_ba,
)
from ._temporal import temporal_networks as temporal_networks
from .claims import Evidence as Evidence, Finding as Finding, audit as audit
