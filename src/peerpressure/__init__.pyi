from . import (
    errors as errors,
    fitting as fitting,
    networks as networks,
    noise as noise,
    plotting as plotting,
    privacy as privacy,
    recovery as recovery,
    scenario as scenario,
    schedules as schedules,
    sde as sde,
    sweep as sweep,
    theory as theory,
)
from .errors import PeerPressureError as PeerPressureError
from .fitting import compare as compare, fit as fit
from .model import Adaptation as Adaptation, Model as Model
from .networks import (
    Network as Network,
    TemporalNetwork as TemporalNetwork,
    read_network as read_network,
)
from .noise import (
    AR1 as AR1,
    Frozen as Frozen,
    Gaussian as Gaussian,
    Laplace as Laplace,
    NoNoise as NoNoise,
    StudentT as StudentT,
)
from .recovery import (
    Estimate as Estimate,
    Observation as Observation,
    Prior as Prior,
    infer_network as infer_network,
    recover as recover,
)
from .scenario import (
    Scenario as Scenario,
    load_scenario as load_scenario,
)
from .schedules import (
    Constant as Constant,
    Linear as Linear,
    Logarithmic as Logarithmic,
    Power as Power,
    StretchedExponential as StretchedExponential,
)
from .sde import SDE as SDE
from .simulation import Record as Record, Trajectory as Trajectory, simulate as simulate
from .theory import diagnose as diagnose
from .theory.propagation import moments as moments
from .version import __version__ as __version__
