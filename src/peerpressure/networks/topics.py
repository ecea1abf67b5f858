"""Topics: values of agents and topics, and the network of all pairs of both, on which k topics are an ordinary model.

With opinions X of shape (agents, topics) and a topic matrix Θ, a step is Y_t = g_t ∘ (X + E_t) + C_t Y_{t−1} Θᵀ. Where
the moduli of each row of Θ sum to 1, that is the model on the Kronecker product A ⊗ Θ: a pair (i, p) listens to
(j, q) with the weight a_ij Θ_pq, its degree is that of agent i, and no pair listens to itself. Engine, moments,
verdicts and estimators need not know of topics.

References
----------
.. [1] S. E. Parsegov, A. V. Proskurnikov, R. Tempo, N. E. Friedkin, "Novel multidimensional models of opinion dynamics
   in social networks", IEEE Trans. Autom. Control 62 (2017).
.. [2] M. Ye, J. Liu, L. Wang, B. D. O. Anderson, M. Cao, "Consensus and disagreement of heterogeneous belief systems in
   influence networks", IEEE Trans. Autom. Control 65 (2020).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, kron

from peerpressure.errors import InvalidInputError, ModelError, NetworkError, contrast, message
from peerpressure.networks.validation import (
    Label,
    check_integer,
    check_memory,
    is_frame,
    validate_labels,
)
from peerpressure.support.parameters import find_labels, is_labelled, values_in_order

# Rows such as three times 1/3 sum to 1 up to rounding; larger differences are mistakes.
ROUNDING = 1e-9
REST = (
    "divide the row by its sum; to draw opinions towards 0, add a topic of hidden opinions 0 without noise that takes "
    "the rest"
)


def topic_names(topics: int | Iterable[Label]) -> tuple[Label, ...]:
    """Return the names of the topics, 0..k-1 if only their number is given."""
    if isinstance(topics, int | np.integer):
        return tuple(range(check_integer("topics", topics, least=1, remedy="give their number or their names")))
    if isinstance(topics, str):
        raise NetworkError("topics must be a number or a list of names", got=repr(topics), remedy=f"use [{topics!r}]")
    given = tuple(topics)
    if not given:
        raise NetworkError("there must be at least one topic", got="none", remedy="name them")
    return tuple(validate_labels(given, len(given)))


def topic_matrix(matrix: Any, names: tuple[Label, ...]) -> NDArray[np.float64]:
    """Return the weights T_pq with which topic p follows from topic q, the identity if None is given."""
    k = len(names)
    if matrix is None:
        return np.eye(k)
    if is_frame(matrix):
        rows, columns = (find_labels(names, axis.tolist()) for axis in (matrix.index, matrix.columns))
        if None in rows or None in columns or matrix.shape != (k, k):
            got = f"rows {matrix.index.tolist()} and columns {matrix.columns.tolist()}"
            raise NetworkError(f"a topic matrix must have the topics {list(names)}", got=got, remedy="name them alike")
        matrix = matrix.to_numpy()[np.ix_(rows, columns)]  # type: ignore[arg-type]  # no None is left
    try:
        T = np.array(matrix.toarray() if hasattr(matrix, "toarray") else matrix)
    except ValueError:  # rows of unequal length
        T = np.empty(0)
    if T.dtype.kind not in "biuf" or T.shape != (k, k) or not np.isfinite(T).all():
        got = f"{T.dtype} of shape {T.shape}" if T.shape != (k, k) or T.dtype.kind not in "biuf" else "nan or inf in it"
        rule = f"a topic matrix must have one finite number for each pair of the {k} topics"
        raise NetworkError(rule, got=got, remedy=f"give {k} rows of {k} numbers")
    T = T.astype(np.float64)
    sums = np.abs(T).sum(axis=1)
    bad = np.flatnonzero(np.abs(sums - 1) > ROUNDING)
    if bad.size:
        rule = "the moduli of each row of a topic matrix must sum to 1"
        got = contrast(1.0, float(sums[bad[0]]), digits=6)[1]
        raise NetworkError(rule, got=f"{got} for topic {names[bad[0]]!r}", remedy=REST)
    return T


def product(adjacency: csr_array, T: NDArray[np.float64]) -> csr_array:
    """Return A ⊗ T, with the topics of an agent next to each other."""
    check_memory(adjacency.nnz * np.count_nonzero(T) / 2)
    matrix = csr_array(kron(adjacency, csr_array(T), format="csr"))
    matrix.sum_duplicates()
    return matrix


def per_agent(
    name: str,
    value: Any,
    agents: Sequence[Label],
    topics: tuple[Label, ...],
    labels: Sequence[Label],
    *,
    one_for_all: bool,
    infinite: bool = False,
) -> NDArray[np.float64]:
    """Return one finite number for each agent, or each pair of an agent and a topic, in the order of ``labels``."""
    n = len(labels)
    try:
        if topics:
            value = _over_topics(value, agents, topics, labels, shared=one_for_all)
        if is_labelled(value):
            value = values_in_order(value, labels)
    except InvalidInputError as error:
        raise ModelError(f"{name}: {error}") from None
    try:
        # A copy, made read-only below: a model is immutable, and its results refer to these arrays.
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        rule = f"{name} must hold one number for each agent"
        raise ModelError(message(rule, got=repr(value)[:80], remedy=f"give {n} numbers")) from None
    # A number may be Python's, a NumPy scalar or an array without axes; NumPy makes numbers of text and None, too.
    if one_for_all and array.ndim == 0 and not isinstance(value, str | None):
        array = np.full(n, array)
    if array.shape != (n,):
        got = f"{array.size} number{'s' * (array.size != 1)}" if array.ndim == 1 else f"shape {array.shape}"
        raise ModelError(_wrong_shape(name, len(agents), len(topics), got, several=array.ndim == 2 and len(array) == n))
    bad = np.flatnonzero(~(np.isfinite(array) | (infinite & (array == np.inf))))
    if bad.size:
        got = f"{array[bad[0]]} at agent {labels[bad[0]]!r} ({bad.size} such in all)"
        raise ModelError(message(f"{name} must be finite", got=got, remedy="drop or repair these agents"))
    array.flags.writeable = False
    return array


def _wrong_shape(name: str, agents: int, topics: int, got: str, *, several: bool) -> str:
    """Return the message for values that are not one for each agent; ``several`` are one row for each."""
    if topics:
        rule = f"{name} must hold one number for each of the {agents} agents and {topics} topic{'s' * (topics != 1)}"
        return message(rule, got=got, remedy=f"give {agents} rows of {topics} number{'s' * (topics != 1)}")
    rule = f"{name} must hold one number for each of the {agents} agents"
    declare = ", or declare the topics of the columns, by network.with_topics or [topics]" * several
    return message(rule, got=got, remedy=f"give {agents} numbers, one for each agent{declare}")


def _over_topics(
    values: Any, agents: Sequence[Label], topics: tuple[Label, ...], labels: Sequence[Label], *, shared: bool
) -> Any:
    """Return values by agent and topic in the order of the pairs; anything else as it is, for the checks of the model.

    A data frame has agents as rows and topics as columns, and an array the shape (agents, topics). A mapping or series
    is by pair or by agent. If values may be ``shared``, one for each agent holds for all of its topics.
    """
    if is_frame(values):
        values = _framed(values, agents, topics)
    elif is_labelled(values):
        names = [*values] if isinstance(values, Mapping) else values.index.tolist()
        # A name that is no pair is that of an agent.
        if find_labels(names[:1], labels) != [None]:
            return values
        values = values_in_order(values, agents)
    try:
        array = np.asarray(values)
    except ValueError:
        return values
    if array.shape == (len(agents), len(topics)):
        return array.ravel()
    return np.repeat(array, len(topics)) if shared and array.shape == (len(agents),) else values


def _framed(frame: Any, agents: Sequence[Label], topics: tuple[Label, ...]) -> NDArray[Any]:
    columns = find_labels(topics, frame.columns.tolist())
    if None in columns:
        missing = [topic for topic, column in zip(topics, columns, strict=True) if column is None]
        got = f"none for {missing[0]!r} among {frame.columns.tolist()[:6]}"
        raise NetworkError("a data frame must have one column for each topic", got=got, remedy="name them alike")
    return np.column_stack([values_in_order(frame.iloc[:, column], agents) for column in columns])
