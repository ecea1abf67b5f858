"""The model as a linear state-space model, for discrete and continuous time alike.

The state z = (y, x, u) has the public opinions y, the hidden opinions x if they adapt, and the memory u of the
noise if it is correlated in time. With n agents it has n, 2n or 3n entries, in this order, and moves by

    z_t = F_t z_{t−1} + B_t x₀ + G_t w_t,   z_0 = a + B_0 x₀ + G_0 w_0,   w_t independent, mean 0, variance I.

A step of the discrete `Model` with noise std σ_t and autocorrelation φ (0 if white, 1 if frozen) is

    u_t = φ u_{t−1} + √(1−φ²) w_t,
    y_t = C_t y_{t−1} + g_t ∘ x_t + g_t σ_t ∘ u_t,
    x_{t+1} = x_t + η_t ∘ (y_t − x_t),

where z_t contains x_{t+1}, the hidden opinions after step t. If opinions are constant, x_t = x₀ enters through B_t;
if noise is white, u_t = w_t is not part of the state. A step of the `SDE` has dense F, B and G.

`initial_state` gives z_0 and `transitions` the steps; readers of either need not ask which kind of model it is.
"""

from peerpressure.support.namespaces import attach

# For other packages and for annotations.
_INTERNAL = (
    "DenseTransition",
    "InitialState",
    "LARGEST_SDE",
    "ModelTransition",
    "checked_system",
    "discrete_model",
    "initial_state",
    "is_system",
    "model_transitions",
    "retained",
    "transition_table",
)
__getattr__, __dir__, __all__ = attach(__name__, __file__, _INTERNAL)
