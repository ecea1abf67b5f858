from ._operators import (
    DenseTransition as DenseTransition,
    InitialState as InitialState,
    ModelTransition as ModelTransition,
    Transition as Transition,
)
from .systems import (
    LARGEST_SDE as LARGEST_SDE,
    StateLayout as StateLayout,
    System as System,
    checked_system as checked_system,
    discrete_model as discrete_model,
    initial_state as initial_state,
    is_system as is_system,
    model_transitions as model_transitions,
    retained as retained,
    transition as transition,
    transition_table as transition_table,
    transitions as transitions,
)
