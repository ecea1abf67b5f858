from ._simulate import (
    Progress as Progress,
    carried_out as carried_out,
    plan_of as plan_of,
    require_finite as require_finite,
    run_size as run_size,
    simulate as simulate,
    simulate_preferred as simulate_preferred,
    starting_state as starting_state,
)
from .recording import Record as Record
from .trajectory import Trajectory as Trajectory
