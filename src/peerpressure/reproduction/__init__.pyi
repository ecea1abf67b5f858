from ._beyond import BeyondResult as BeyondResult, beyond as beyond
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
from .claims import Evidence as Evidence, Finding as Finding, audit as audit
