"""One step of the model: the affine map of the public opinions, and the layout of the state z = (y, x, u).

The state has the public opinions, the hidden opinions if they adapt, and the memory of the noise if it is
correlated in time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import _sparsetools

from peerpressure.errors import ModelError, message
from peerpressure.model.affine import adapted

Array: TypeAlias = NDArray[np.float64]


def product(matrix: Any, columns: Array) -> Array:
    """Return the product of a sparse matrix with a vector or with columns, as ``matrix @ columns``, bit for bit."""
    rows, inner = matrix.shape
    if not (isinstance(matrix, sparse.csr_array) and matrix.dtype == columns.dtype == np.float64):
        return np.asarray(matrix @ columns)
    if columns.shape[0] != inner:
        raise ValueError(f"{columns.shape[0]} rows do not fit a matrix of {inner} columns")
    # What SciPy's operator calls after checks that take three times as long as a product of few agents.
    out, parts = np.zeros((rows, *columns.shape[1:])), (matrix.indptr, matrix.indices, matrix.data)
    if columns.ndim == 1:
        _sparsetools.csr_matvec(rows, inner, *parts, columns, out)
    else:
        _sparsetools.csr_matvecs(rows, inner, columns.shape[1], *parts, columns.ravel(), out.ravel())
    return out


# SciPy multiplies a sparse matrix with few columns more slowly than column by column.
FEW_COLUMNS = 8


def column_product(matrix: Any, columns: Array) -> Array:
    """Return the product of a sparse matrix with columns, one by one where these are few and contiguous in memory."""
    if columns.ndim == 2 and columns.shape[1] == 1:
        return product(matrix, columns[:, 0])[:, None]
    if columns.ndim == 2 and columns.shape[1] <= FEW_COLUMNS and columns.strides[0] == columns.itemsize:
        # Contiguous columns, as in the input, let later steps take this branch again.
        out = np.empty((matrix.shape[0], columns.shape[1]), order="F")
        for column in range(columns.shape[1]):
            out[:, column] = product(matrix, columns[:, column])
        return out
    return product(matrix, columns)


def in_columns(values: Array, columns: Array) -> Array:
    """Return one value for each agent in the shape that multiplies a vector, or columns."""
    return values[:, None] if columns.ndim == 2 else values


def known_hidden(hidden: Array | None) -> Array:
    """Return hidden opinions as they are; raise an error if they are unknown."""
    if hidden is None:
        remedy = "pass hidden=..., for instance those that recover estimates from data"
        raise ModelError(message("hidden opinions must be known for this", got="a Model without them", remedy=remedy))
    return hidden


@final
@dataclass(frozen=True, eq=False)
class Update:
    """One step of the model as an affine map, y = gain ∘ (x + ε) + coupling_scale ∘ (A y_before) + kept ∘ y_before.

    Attributes
    ----------
    gain : array of shape (agents,)
        Weight s/(s + ρd) of an agent's own opinion.
    coupling_scale : array of shape (agents,)
        Weight ρ/(s + ρd) of a neighbour with an edge of weight 1.
    hidden : array of shape (agents,) or None
        Hidden opinions x, if they are constant; None if they are unknown.
    adjacency : sparse array of shape (agents, agents)
        The network A of this step.
    transposed : sparse array of shape (agents, agents)
        The transpose of A; A itself where it is symmetric.
    adaptation_rate : array of shape (agents,) or None
        Where hidden opinions adapt, the rate η of each agent: x is then part of the state, and becomes x + η ∘ (y − x).
    kept : array of shape (agents,) or None
        1 for agents who keep their public opinion, whose gain and coupling scale are 0, and 0 for all others, or a
        share between if the map is a mean over who does; None if nobody does.
    """

    gain: Array
    coupling_scale: Array
    hidden: Array | None
    adjacency: sparse.csr_array
    transposed: sparse.csr_array
    adaptation_rate: Array | None = None
    kept: Array | None = None

    @property
    def preferred(self) -> Array:
        """The hidden opinions x; an error if they are unknown."""
        return known_hidden(self.hidden)

    @property
    def coupling(self) -> sparse.csr_array:
        """The matrix C of the weights of y_before, (S + ρD)⁻¹ρA and 1 for those who keep their own.

        The moduli of a row sum to 1 − gain.
        """
        heard = sparse.csr_array(sparse.diags_array(self.coupling_scale) @ self.adjacency)
        return heard if self.kept is None else sparse.csr_array(heard + sparse.diags_array(self.kept))

    @property
    def absolute(self) -> Update:
        """The same map with the moduli of all weights; the map itself where none is negative."""
        A = self.adjacency
        return replace(self, adjacency=abs(A), transposed=abs(self.transposed)) if A.nnz and A.data.min() < 0 else self

    def __call__(self, public: Array, noise: Array | float = 0.0, hidden: Array | None = None) -> Array:
        """Return the next public opinions, for states of shape (agents,) or (agents, batch).

        ``hidden`` has the hidden opinions of this step in the same shape, if they adapt.
        """
        preferred = in_columns(self.preferred, public) if hidden is None else hidden
        return in_columns(self.gain, public) * (preferred + noise) + self.couple(public)

    def adapt(self, hidden: Array, public: Array) -> Array:
        """Return the hidden opinions after a step with these public ones."""
        return (
            hidden
            if self.adaptation_rate is None
            else adapted(hidden, public, in_columns(self.adaptation_rate, public))
        )

    def couple(self, public: Array) -> Array:
        """Return C y for y of shape (agents,) or (agents, batch)."""
        # C is never formed: scaling the product costs n operations, scaling the matrix one per edge and step.
        out = column_product(self.adjacency, public)
        out *= in_columns(self.coupling_scale, public)
        return self.keep(out, public)

    def couple_adjoint(self, vector: Array) -> Array:
        """Return Cᵀ v = Aᵀ(coupling_scale ∘ v) + kept ∘ v."""
        # The scale is applied before the product here, after it in ``couple``: diag(c) A transposed is Aᵀdiag(c).
        heard = column_product(self.transposed, in_columns(self.coupling_scale, vector) * vector)
        return self.keep(heard, vector)

    def lazy(self, share: Array) -> Update:
        """Return the map of which each agent takes this share, in (0, 1], and of its old public opinion the rest."""
        kept = 1 - share if self.kept is None else 1 - share + share * self.kept
        return replace(self, gain=share * self.gain, coupling_scale=share * self.coupling_scale, kept=kept)

    def keep(self, out: Array, before: Array) -> Array:
        """Add kept ∘ before to ``out``, in place, for either of shape (agents,) or (agents, batch).

        The diagonal part of C, which is its own transpose: the same for a step and for its adjoint.
        """
        if self.kept is not None:
            out += in_columns(self.kept, before) * before
        return np.asarray(out)

    def __repr__(self) -> str:
        return f"Update({self.gain.size:,} agents, gain {self.gain.min():.4g}–{self.gain.max():.4g})"


@final
@dataclass(frozen=True)
class StateLayout:
    """Which entries of the state z are public opinions, hidden opinions and noise memory.

    Parameters
    ----------
    agents : int
        Number n of agents; public opinions are the first n entries.
    has_hidden : bool, default False
        Whether n hidden opinions follow.
    has_memory : bool, default False
        Whether n numbers of noise memory come last.

    See Also
    --------
    Model.layout, SDE.layout : The layout of a system.

    Examples
    --------
    >>> from peerpressure.model.statespace import StateLayout
    >>> layout = StateLayout(3, has_hidden=True)
    >>> layout.states, layout.public, layout.hidden
    (6, slice(0, 3, None), slice(3, 6, None))
    """

    agents: int
    has_hidden: bool = False
    has_memory: bool = False

    @cached_property
    def with_hidden(self) -> StateLayout:
        """The layout that has hidden opinions even if they are constant."""
        return replace(self, has_hidden=True)

    @cached_property
    def states(self) -> int:
        """The number of entries of z."""
        return self.agents * (1 + self.has_hidden + self.has_memory)

    @cached_property
    def public(self) -> slice:
        """The entries of y_t."""
        return slice(0, self.agents)

    @cached_property
    def hidden(self) -> slice:
        """The entries of x_{t+1}; empty where hidden opinions are no part of the state."""
        return slice(self.agents, self.agents * (1 + self.has_hidden))

    @cached_property
    def memory(self) -> slice:
        """The entries of u_t; empty if noise is white."""
        return slice(self.hidden.stop, self.states)
