from ._diagnostics import FitDiagnostics as FitDiagnostics, Score as Score, ScoreTests as ScoreTests
from ._estimators import (
    AUTO as AUTO,
    METHODS as METHODS,
    Estimator as Estimator,
    Method as Method,
    recover as recover,
)
from ._information import Information as Information, information as information
from ._kalman import kalman_filter as kalman_filter, kalman_smoother as kalman_smoother
from ._network_estimate import NetworkEstimate as NetworkEstimate, average_precision as average_precision
from ._network_inference import infer_network as infer_network
from ._prior import Prior as Prior
from ._residuals import diagnose_fit as diagnose_fit
from .data import observations_of as observations_of, read_observations as read_observations
from .estimate import Covariance as Covariance, Estimate as Estimate, Target as Target
from .observation import (
    Answers as Answers,
    Observation as Observation,
    ResolvedObservation as ResolvedObservation,
    answers_of as answers_of,
    who_updated as who_updated,
)
