from ._model import Model as Model, require_synchronous as require_synchronous
from .adaptation import Adaptation as Adaptation
