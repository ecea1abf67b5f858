from .errors import (
    FileFormatError as FileFormatError,
)
from .errors import (
    FormulaError as FormulaError,
)
from .errors import (
    InvalidInputError as InvalidInputError,
)
from .errors import (
    ModelError as ModelError,
)
from .errors import (
    NetworkError as NetworkError,
)
from .errors import (
    NoiseError as NoiseError,
)
from .errors import (
    PeerPressureError as PeerPressureError,
)
from .errors import (
    ScheduleError as ScheduleError,
)
from .errors import (
    TooLargeError as TooLargeError,
)
from .model import (
    Model as Model,
)
from .model import (
    Update as Update,
)
from .networks import (
    Network as Network,
)
from .networks import (
    barabasi_albert as barabasi_albert,
)
from .networks import (
    complete as complete,
)
from .networks import (
    cycle as cycle,
)
from .networks import (
    erdos_renyi as erdos_renyi,
)
from .networks import (
    grid as grid,
)
from .networks import (
    k2 as k2,
)
from .networks import (
    named as named,
)
from .networks import (
    path as path,
)
from .networks import (
    random_regular as random_regular,
)
from .networks import (
    read_network as read_network,
)
from .networks import (
    star as star,
)
from .networks import (
    watts_strogatz as watts_strogatz,
)
from .networks import (
    write_network as write_network,
)
from .noises import (
    AR1 as AR1,
)
from .noises import (
    Custom as Custom,
)
from .noises import (
    Gaussian as Gaussian,
)
from .noises import (
    Laplace as Laplace,
)
from .noises import (
    Noise as Noise,
)
from .noises import (
    NoNoise as NoNoise,
)
from .noises import (
    Persistent as Persistent,
)
from .noises import (
    Rademacher as Rademacher,
)
from .noises import (
    StudentT as StudentT,
)
from .noises import (
    Uniform as Uniform,
)
from .noises import (
    White as White,
)
from .schedules import (
    Constant as Constant,
)
from .schedules import (
    Formula as Formula,
)
from .schedules import (
    Growth as Growth,
)
from .schedules import (
    Linear as Linear,
)
from .schedules import (
    Logarithmic as Logarithmic,
)
from .schedules import (
    Power as Power,
)
from .schedules import (
    Schedule as Schedule,
)
from .schedules import (
    StretchedExponential as StretchedExponential,
)
from .schedules import (
    Table as Table,
)
from .simulation import (
    Record as Record,
)
from .simulation import (
    simulate as simulate,
)
from .theory import (
    Moments as Moments,
)
from .theory import (
    Outcome as Outcome,
)
from .theory import (
    Verdict as Verdict,
)
from .theory import (
    consensus_mode as consensus_mode,
)
from .theory import (
    contraction as contraction,
)
from .theory import (
    contraction_product as contraction_product,
)
from .theory import (
    diagnose as diagnose,
)
from .theory import (
    fixed_point as fixed_point,
)
from .theory import (
    moments as moments,
)
from .theory import (
    predicted_limit as predicted_limit,
)
from .theory import (
    replicates_needed as replicates_needed,
)
from .theory import (
    steps_needed as steps_needed,
)
from .trajectory import (
    State as State,
)
from .trajectory import (
    Trajectory as Trajectory,
)
from .version import (
    __version__ as __version__,
)
