from .adaptation import (
    Adaptation as Adaptation,
)
from .errors import (
    AdaptationError as AdaptationError,
    FileFormatError as FileFormatError,
    FormulaError as FormulaError,
    InvalidInputError as InvalidInputError,
    ModelError as ModelError,
    NetworkError as NetworkError,
    NoiseError as NoiseError,
    PeerPressureError as PeerPressureError,
    ScheduleError as ScheduleError,
    TooLargeError as TooLargeError,
)
from .model import (
    Model as Model,
    Update as Update,
)
from .networks import (
    Network as Network,
    TemporalNetwork as TemporalNetwork,
    activity_driven as activity_driven,
    barabasi_albert as barabasi_albert,
    complete as complete,
    cycle as cycle,
    edge_markovian as edge_markovian,
    erdos_renyi as erdos_renyi,
    failing_edges as failing_edges,
    grid as grid,
    growing as growing,
    joint_connectivity as joint_connectivity,
    k2 as k2,
    named as named,
    path as path,
    random_regular as random_regular,
    read_contacts as read_contacts,
    read_events as read_events,
    read_network as read_network,
    recorded_contacts as recorded_contacts,
    rewiring as rewiring,
    shortest_window as shortest_window,
    star as star,
    watts_strogatz as watts_strogatz,
    write_events as write_events,
    write_network as write_network,
)
from .noise import (
    AR1 as AR1,
    Custom as Custom,
    Frozen as Frozen,
    Gaussian as Gaussian,
    Laplace as Laplace,
    Noise as Noise,
    NoNoise as NoNoise,
    Rademacher as Rademacher,
    StudentT as StudentT,
    Uniform as Uniform,
    White as White,
)
from .privacy import (
    budget as budget,
    calibrate as calibrate,
    exposure as exposure,
    frontier as frontier,
)
from .recovery import (
    Estimate as Estimate,
    Observation as Observation,
    Prior as Prior,
    information as information,
    recover as recover,
)
from .scenario import (
    Scenario as Scenario,
    load_scenario as load_scenario,
)
from .schedules import (
    Constant as Constant,
    Formula as Formula,
    Growth as Growth,
    Linear as Linear,
    Logarithmic as Logarithmic,
    Power as Power,
    Schedule as Schedule,
    StretchedExponential as StretchedExponential,
    Table as Table,
)
from .sde import (
    SDE as SDE,
    exact_density as exact_density,
    solve_density as solve_density,
)
from .simulation import (
    Record as Record,
    simulate as simulate,
)
from .theory import (
    Moments as Moments,
    Outcome as Outcome,
    Verdict as Verdict,
    consensus_limit as consensus_limit,
    consensus_limit_curve as consensus_limit_curve,
    consensus_mode as consensus_mode,
    contraction as contraction,
    contraction_product as contraction_product,
    diagnose as diagnose,
    fixed_point as fixed_point,
    moments as moments,
    replicates_needed as replicates_needed,
    retention as retention,
    steps_needed as steps_needed,
)
from .trajectory import (
    State as State,
    Trajectory as Trajectory,
)
from .version import (
    __version__ as __version__,
)
