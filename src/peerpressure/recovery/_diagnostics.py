"""How well a model fits observed outputs: tests by size, agent, lag, step and law, and the log-likelihood."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import InvalidInputError
from peerpressure.recovery._fit_tests import TESTS, agent_probabilities, at_least_one, autocorrelations, holm
from peerpressure.recovery._limits import few_threads
from peerpressure.recovery._observation import Outputs
from peerpressure.statespace import System, model_of, step_length

if TYPE_CHECKING:
    import pandas

Array: TypeAlias = NDArray[np.float64]
# Below the first the fit is doubtful; below the second, chance is ruled out for all practical purposes.
DOUBTFUL, REJECTED = 0.01, 1e-4
# Outputs that are inverted, and multiplications of a filter, within a second or so.
_QUICK, _QUICK_FILTER = 1e6, 1e8
_IMPOSSIBLE = "outputs contradict the model where it leaves no room for noise"


class Likelihood(NamedTuple):
    """The log-likelihood (replicates,) at its maximum in x₀, the directions of x₀ maximised over, and the outputs."""

    height: Array
    parameters: int
    outputs: int


@final
@dataclass(frozen=True, eq=False)
class Residuals:
    """Residuals ``values`` (replicates, T, k) at ``times`` (T,) of ``agents`` (k,), NaN where there is none.

    ``likelihood`` is None where outputs have no density or are not all used.
    """

    times: NDArray[np.int64]
    agents: NDArray[np.int64]
    values: Array
    likelihood: Likelihood | None = None


@final
@dataclass(frozen=True, eq=False)
class FitDiagnostics:
    """Tests of the hypothesis that a model made observed outputs; everything is computed when it is first asked for.

    Each output is predicted from the earlier ones, and the standardised errors of these predictions are tested. They
    are exactly independent and standard normal under the model, also where x₀ is unknown. What cannot be tested is
    None: the law of the noise has no density (random signs), the noise cancels, or no output is left over once x₀ is
    determined.

    Attributes
    ----------
    system : Model or SDE
        The model under test.
    outputs : Outputs
        What was observed.
    residuals_of : callable
        Function of both that returns the standardised errors of prediction, or None where there are none.
    likelihood_of : callable
        Function of both that returns the log-likelihood, or None where there is none.

    See Also
    --------
    diagnose_fit : Returns diagnostics of a run.
    Estimate : Has those of its outputs.

    References
    ----------
    .. [1] J. Durbin and S. J. Koopman (2012), Time Series Analysis by State Space Methods, 2nd edition, Oxford
       University Press.

    Examples
    --------
    >>> from peerpressure import AR1, Gaussian, Model, simulate
    >>> from peerpressure.networks import cycle
    >>> from peerpressure.recovery import diagnose_fit
    >>> model = Model(cycle(6), hidden=range(6), noise=Gaussian(1.0))
    >>> other = Model(cycle(6), hidden=range(6), noise=Gaussian(1.0, temporal=AR1(0.6)))
    >>> found = diagnose_fit(model, simulate(other, 100, seed=1))
    >>> "lags" in found.failing
    True
    """

    system: System
    outputs: Outputs
    # Both need estimators, and estimates contain diagnostics: the functions come in from above.
    residuals_of: Callable[[System, Outputs], Residuals | None] = field(repr=False)
    likelihood_of: Callable[[System, Outputs], Likelihood | None] = field(repr=False)

    @cached_property
    def _found(self) -> Residuals | None:
        try:
            with few_threads(self.outputs.seen.n):
                return self.residuals_of(self.system, self.outputs)
        except InvalidInputError:
            # Exact facts that contradict one another are no error here but the clearest answer that a test can give.
            values = np.full((self.outputs.known.shape[0], 1, 1), np.inf)
            return Residuals(self.outputs.seen.times[:1], np.arange(1), values)

    @cached_property
    def _likelihood(self) -> Likelihood | None:
        found = self._found
        # A large network's own likelihood takes as long as the estimate itself, so that it comes last.
        known = None if found is None else found.likelihood
        return self.likelihood_of(self.system, self.outputs) if known is None else known

    @property
    def is_ready(self) -> bool:
        """Whether the residuals are known already, or found at once."""
        # An inversion reads each output once; a filter updates an n × n matrix with each.
        work = self.outputs.values.size if self.outputs.complete else self.outputs.present.size * self.outputs.seen.n**2
        return "_found" in self.__dict__ or work < (_QUICK if self.outputs.complete else _QUICK_FILTER)

    @cached_property
    def impossible(self) -> bool:
        """Whether outputs contradict the model where it leaves no room for noise."""
        return self._found is not None and bool(np.isinf(self._found.values).any())

    @property
    def times(self) -> Array:
        """The times of the residuals, (T,)."""
        steps = np.arange(0) if self._found is None else self._found.times
        return np.asarray(steps * step_length(self.system), dtype=np.float64)

    @property
    def residuals(self) -> Array | None:
        """The standardised residuals, (replicates, T, agents), NaN where there is none; None if all are missing.

        For noise that is not Gaussian they are normal scores: Φ⁻¹ of the probability of a smaller output.
        """
        found = self._found
        return None if found is None or not np.isfinite(found.values[0]).any() else found.values

    @cached_property
    def tests(self) -> Mapping[str, Array | None]:
        """The p-values (replicates,) of each test, None where it has nothing to test.

        "size" tests the sum of all squares; "agents" whether agents differ in size, and "outlier" whether one of them
        does; "lags" autocorrelation; "drift" the level and trend of each agent's residuals; "steps" whether they are
        larger early or late; "tails" and "law" their distribution.
        """
        w = self.residuals
        return {name: None if w is None else each.test(w) for name, each in TESTS.items()}

    @property
    def p_value(self) -> Array | None:
        """The p-value of all tests together, (replicates,): of the smallest, by Šidák's correction for their number."""
        if self.impossible:
            return np.zeros(self.outputs.known.shape[0])
        found = [p for p in self.tests.values() if p is not None]
        return at_least_one(np.stack(found, axis=1)) if found else None

    @property
    def failing(self) -> tuple[str, ...]:
        """The tests with a p-value below 0.01 in some replicate, corrected for all tests and replicates."""
        found = {name: p for name, p in self.tests.items() if p is not None}
        if not found:
            return ()
        least = np.array([min(1.0, float(p.min()) * p.size) for p in found.values()])
        return tuple(name for name, p in zip(found, holm(least), strict=True) if p < DOUBTFUL)

    @property
    def findings(self) -> Mapping[str, str]:
        """What each failing test says, in words."""
        return {"exact": _IMPOSSIBLE} if self.impossible else {name: TESTS[name].finding for name in self.failing}

    @property
    def agents(self) -> pandas.DataFrame:
        """The agents that have residuals: replicate, agent, count, mean, size (root mean square) and p_value.

        The p-value of an agent's size is adjusted by Holm's method for the number of agents.
        """
        import pandas

        w, positions = self._shown()
        there = np.isfinite(w[0]).any(axis=0)
        below, above = agent_probabilities(w)
        p = holm(np.minimum(2 * np.minimum(below, above), 1.0))
        count, some = np.isfinite(w[0]).sum(axis=0)[there], np.nan_to_num(w[:, :, there])
        return pandas.DataFrame(
            {
                "replicate": np.repeat(self.outputs.replicates[: len(w)], count.size),
                **{name: own * len(w) for name, own in self._names(positions[there]).items()},
                "count": np.tile(count, len(w)),
                "mean": (some.sum(axis=1) / count).ravel(),
                "size": np.sqrt(np.square(some).sum(axis=1) / count).ravel(),
                "p_value": p.ravel(),
            }
        )

    @property
    def lags(self) -> pandas.DataFrame:
        """The autocorrelations, pooled over agents: replicate, lag in observed steps, autocorrelation and p_value."""
        import pandas

        r, p = autocorrelations(self._shown()[0])
        columns = {"autocorrelation": r.ravel(), "p_value": p.ravel()}
        lag = np.tile(np.arange(1, r.shape[1] + 1), len(r))
        replicate = np.repeat(self.outputs.replicates[: len(r)], r.shape[1])
        return pandas.DataFrame({"replicate": replicate, "lag": lag} | columns)

    def to_dataframe(self) -> pandas.DataFrame:
        """Return the residuals as tidy rows.

        Returns
        -------
        pandas.DataFrame
            Columns ``replicate`` (its number in the run), ``time``, ``agent`` and ``residual``.
        """
        import pandas

        w, positions = self._shown()
        replicate, row, agent = np.nonzero(np.isfinite(w))
        numbers = {"replicate": self.outputs.replicates[replicate], "time": self.times[row]}
        return pandas.DataFrame({**numbers, **self._names(positions[agent]), "residual": w[replicate, row, agent]})

    def _shown(self) -> tuple[Array, NDArray[np.int64]]:
        """Return the residuals, an empty array where there are none, and the positions of their agents."""
        w = self.residuals
        if w is None or self._found is None:
            return np.empty((1, 1, 0)), np.empty(0, dtype=np.int64)
        return w, np.asarray(self._found.agents)

    def _names(self, positions: NDArray[np.int64]) -> dict[str, list[Hashable]]:
        return model_of(self.system).network.name_columns(positions.tolist())

    @property
    def log_likelihood(self) -> Array | None:
        """The log-likelihood of the outputs at its maximum in x₀, (replicates,).

        It belongs to the model and not to a method, and a prior of x₀ does not enter. None where the outputs have no
        joint density given x₀ (noise that is frozen or zero), where noise is neither Gaussian nor white, or where the
        network is too large.
        """
        return None if self._likelihood is None else self._likelihood.height

    @property
    def parameters(self) -> int:
        """The number of directions of x₀ that the outputs determine, the parameters of the likelihood."""
        return 0 if self._likelihood is None else self._likelihood.parameters

    @property
    def aic(self) -> Array | None:
        """Akaike's criterion 2k − 2 log L with k ``parameters``, (replicates,).

        Where other parameters were fitted to the same outputs, 2 must be added for each.
        """
        height = self.log_likelihood
        return None if height is None else 2 * self.parameters - 2 * height

    @property
    def bic(self) -> Array | None:
        """Schwarz's criterion k log N − 2 log L with N the number of outputs, (replicates,)."""
        if self._likelihood is None:
            return None
        height, parameters, outputs = self._likelihood
        return float(parameters * np.log(outputs)) - 2 * height

    def summary(self) -> list[tuple[str, str]]:
        """Return the fit and the log-likelihood as names and texts, for a terminal or a notebook.

        Returns
        -------
        list of (str, str)
            Names and texts, one pair for each line.
        """
        if not self.is_ready:
            return [("fit to the model", "computed on demand: estimate.goodness_of_fit")]
        table = [("fit to the model", _verdict(self.p_value))]
        table += [(f"failed test: {name}", finding) for name, finding in self.findings.items()]
        known = "_likelihood" in self.__dict__ or (self._found is not None and self._found.likelihood is not None)
        if known and self.log_likelihood is not None and self.aic is not None and self.bic is not None:
            numbers = [float(part.mean()) for part in (self.log_likelihood, self.aic, self.bic)]
            average = " (means over replicates)" if self.log_likelihood.size > 1 else ""
            text = "{:.6g}, AIC {:.6g}, BIC {:.6g}".format(*numbers)
            table.append(("log-likelihood", text + average))
        return table

    def __repr__(self) -> str:
        return "\n".join(f"{name:<22}{text}" for name, text in self.summary())


def _verdict(p: Array | None) -> str:
    if p is None:
        return "nothing can be tested"
    # The smallest of many p-values is small by chance; multiplying by their number is Bonferroni's correction.
    least = min(1.0, float(p.min()) * p.size)
    words = "another model made these outputs" if least <= REJECTED else "outputs are doubtful under the model"
    return f"{'outputs are as the model expects' if least > DOUBTFUL else words} (p = {least:.2g})"
