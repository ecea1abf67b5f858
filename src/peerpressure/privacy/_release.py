"""Releases: public opinions with a guarantee that holds for the numbers as published, and nothing besides."""

from __future__ import annotations

import math
import shutil
import tempfile
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import InvalidInputError, message
from peerpressure.model import Model
from peerpressure.model.statespace import discrete_model
from peerpressure.model.statespace.systems import shows_start
from peerpressure.model.step import Array
from peerpressure.networks import Network, TemporalNetwork, write_events, write_network
from peerpressure.privacy._accounting import checked_delta, checked_epsilon, positive
from peerpressure.privacy._budget import Budget, budget_of, calibration_of
from peerpressure.privacy._definition import Definition, Granularity, Unit, as_lines
from peerpressure.privacy._grid import LAWS, NoiseGrid, grid_of, on_grid
from peerpressure.privacy._shifts import leaks_at_first_step, require_public_start, require_unrelated_start
from peerpressure.simulation import Progress, simulate_preferred
from peerpressure.simulation.recording import Record, as_record
from peerpressure.simulation.trajectory import Trajectory
from peerpressure.support.files import check_output, expanded, require_new_folder, umask
from peerpressure.support.progress import ShouldStop
from peerpressure.support.provenance import json_text
from peerpressure.support.results import read_only
from peerpressure.theory.propagation import step_count
from peerpressure.version import __version__

if TYPE_CHECKING:
    import pandas as pd

PublicStart: TypeAlias = bool | Literal["published"]
# Parts of δ that are set aside for the finite number of random bits; the first that suffices is taken.
_RESERVES = (1e-6, 1e-4, 1e-2, 0.5)
OPINIONS, STATEMENT, FACTS = "opinions.csv", "statement.txt", "release.json"


@final
@read_only
@dataclass(frozen=True, eq=False, repr=False)
class Release:
    """Public opinions that may be published, with the statement of their guarantee; neither hidden opinions nor seeds.

    Attributes
    ----------
    opinions : array of shape (runs, times, agents)
        Public opinions.
    times : array of shape (times,)
        Steps, from 1 on.
    names : mapping of str to list
        Labels of the agents by column: ``agent``, and ``topic`` if there are topics.
    epsilon, delta : float
        The (ε, δ) that holds for every person, ε rounded up.
    statement : mapping of str to str
        The guarantee, the definition of privacy and the mechanism, in sentences.
    network : Network or TemporalNetwork, optional
        The network, if it is public.

    See Also
    --------
    release : Makes one.

    Examples
    --------
    >>> from peerpressure import Gaussian, Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.privacy import release
    >>> released = release(Model(k2(), hidden=[0.0, 1.0], start=0.5, noise=Gaussian(5.0)), 10)
    >>> released.opinions.shape, released.times[0].item(), released.epsilon
    ((1, 10, 2), 1, 2.5944)
    """

    opinions: Array
    times: NDArray[np.int64]
    names: Mapping[str, Sequence[Hashable]]
    epsilon: float
    delta: float
    statement: Mapping[str, str]
    network: Network | TemporalNetwork | None = None

    def to_dataframe(self) -> pd.DataFrame:
        """Return tidy rows: one for each run, time and agent.

        Returns
        -------
        pandas.DataFrame
            Columns ``run``, ``time``, ``agent``, ``topic`` on a network with topics, and ``public``.
        """
        import pandas as pd

        runs, times, rows = self.opinions.shape
        columns: dict[str, Any] = {"run": np.repeat(np.arange(runs), times * rows)}
        columns["time"] = np.tile(np.repeat(self.times, rows), runs)
        columns |= {name: list(labels) * (runs * times) for name, labels in self.names.items()}
        return pd.DataFrame(columns | {"public": self.opinions.ravel()})

    def write(self, folder: str | PathLike[str]) -> list[Path]:
        """Write the release to a new folder, all of it or nothing.

        Parameters
        ----------
        folder : str or path
            A folder that is new or empty: ``opinions.csv``, ``statement.txt`` and ``release.json``, and
            ``network.graphml``, or ``network.csv`` with the events of a temporal network, if it is public.

        Returns
        -------
        list of Path
            The files.

        Raises
        ------
        InvalidInputError
            If the folder holds files already.
        """
        out = expanded(folder)
        require_new_folder(out, "a release")
        check_output(out)
        out.parent.mkdir(parents=True, exist_ok=True)
        part = Path(tempfile.mkdtemp(dir=out.parent, prefix=f".{out.name}.", suffix=".part"))
        try:
            names = self._write_to(part)
            part.chmod(0o777 & ~umask())
            if out.exists():
                out.rmdir()
            part.rename(out)
        except BaseException:
            shutil.rmtree(part, ignore_errors=True)
            raise
        return [out / name for name in names]

    def _write_to(self, folder: Path) -> list[str]:
        self.to_dataframe().to_csv(folder / OPINIONS, index=False)
        (folder / STATEMENT).write_text(f"{self}\n", encoding="utf-8")
        facts = {"epsilon": self.epsilon, "delta": self.delta, "statement": dict(self.statement)}
        (folder / FACTS).write_text(json_text(facts), encoding="utf-8")
        if isinstance(self.network, Network):
            write_network(self.network, folder / "network.graphml")
        elif self.network is not None:
            write_events(self.network, folder / "network.csv")
        return sorted(path.name for path in folder.iterdir())

    def __str__(self) -> str:
        return "\n".join(as_lines(self.statement))


def release(
    model: Model,
    steps: int,
    *,
    epsilon: float | None = None,
    delta: float = 1e-5,
    sensitivity: float = 1.0,
    runs: int = 1,
    insiders: Sequence[Hashable] = (),
    unit: Unit = "person",
    public_start: PublicStart = False,
    public_network: bool = False,
    record: Record | str = "all",
    seed: object = None,
    threads: int | None = None,
    progress: Progress = False,
    should_stop: ShouldStop | None = None,
) -> Release:
    """Simulate a model with noise that cannot be reproduced, and return only what may be published, with its guarantee.

    What is released is simulated: a model computes it from the hidden opinions. Answers of a survey are not protected
    by it.

    Noise comes from the operating system's cryptographic generator. Noise and hidden opinions are rounded to a grid on
    which their sums are exact, so (ε, δ) holds for the floating-point numbers that are returned.

    Parameters
    ----------
    model : Model
        The model. Its noise must be Gaussian or Laplace noise, white or frozen.
    steps : int
        The number of steps, at least 1.
    epsilon : float, optional
        Budget ε > 0 to which the noise is scaled, as by `calibrate`; by default the noise is that of the model.
    delta : float, default 1e-5
        The δ at which ε holds, strictly between 0 and 1.
    sensitivity : float, default 1.0
        Largest distance Δ between two hidden opinions that are to be indistinguishable. It is rounded up to a multiple
        of the grid, by less than 0.1 %.
    runs, insiders, unit : optional
        What is released, who knows more, and who is protected: as for `Definition`.
    public_start : bool or "published", default False
        Declare that a start which differs between agents is public, and was not computed from hidden opinions. One that
        resembles them is refused all the same, unless it is "published": everybody knew it before the hidden opinions.
    public_network : bool, default False
        Whether the network is part of the release.
    record : Record or {"all", "final"}, default "all"
        Which agents and steps are released. The guarantee is that of all of them.
    seed : None, optional
        Must be left out. A seed or a generator is refused: whoever knows it can subtract the noise.
    threads : int, optional
        The number of threads, by default the cores that this process may use.
    progress : bool or callable, default False
        True displays a bar on a terminal; a function is called with (steps done, steps).
    should_stop : callable, optional
        Called between blocks of steps; the run is cancelled if it returns True.

    Returns
    -------
    Release
        Public opinions from step 1 on, and the statement.

    Raises
    ------
    InvalidInputError
        If a seed is given; if the guarantee would not be finite; or for a model whose numbers it would not hold for:
        an SDE, hidden opinions that adapt, AR(1) noise, other noise distributions, y₀ = x₀ to which agents respond, or
        a start that resembles x₀.

    See Also
    --------
    budget : The account of a model, for real numbers.
    peerpressure.simulate : Runs with a seed, for study.

    Notes
    -----
    Let h be a power of two, at most 2⁻¹⁰ of the noise and of Δ. The released numbers are computed from h·(a + k) alone,
    where a is the hidden opinion and k the noise in steps of h, both whole. Every k has the law of a rounded real draw,
    up to a total variation of less than (32 σ/h + 3)·2⁻⁶⁴, of which (1 + e^ε) times the sum over all draws of a person
    is counted in δ.

    References
    ----------
    .. [1] I. Mironov (2012), "On significance of the least significant bits for differential privacy", ACM Conference
       on Computer and Communications Security, 650–661.

    Examples
    --------
    >>> from peerpressure import Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.privacy import release
    >>> released = release(Model(k2(), hidden=[0.0, 1.0], start=0.5), 10, epsilon=1.0)
    >>> released.epsilon, released.statement["seed"]
    (1.0, "All noise is drawn from the operating system's cryptographic generator, and no seed is stored.")
    """
    if seed is not None:
        rule, remedy = "a release draws its noise from the operating system", "leave seed out, or use simulate to study"
        raise InvalidInputError(message(rule, got=f"seed {seed!r}", remedy=remedy))
    discrete_model(model, "a release")
    T, kept = step_count(steps), as_record(record)
    _require_opinions(kept)
    # Checked with the hidden opinions, and then accounted for without them: nothing in the statement depends on them.
    if public_start not in (True, False, "published"):
        rule = "public_start must be True, False or 'published'"
        raise InvalidInputError(message(rule, got=repr(public_start), remedy="leave it out if the start is one number"))
    require_public_start(model, declared=bool(public_start))
    if public_start != "published":
        require_unrelated_start(model)
    blank = replace(model, hidden=np.zeros(model.n))
    _require_exact_sums(blank)
    sensitivity = on_grid(positive(sensitivity, "sensitivity"))
    definition = Definition(
        blank, T, sensitivity, runs=runs, insiders=insiders, unit=unit, public_start=True, seed="secret"
    )
    account, grid = _account(definition, epsilon, checked_delta(delta))
    every = kept.every if kept.states else T
    chosen = Record(summaries=False, every=every, agents=kept.agents)
    how: dict[str, Any] = {"threads": threads, "progress": progress, "should_stop": should_stop}
    run = simulate_on_grid(replace(account.model, hidden=model.x0), grid, T, definition.runs, record=chosen, **how)
    assert run.states is not None
    times = run.times[1:].astype(np.int64)
    network = (model.temporal_network or model.network) if public_network else None
    return Release(
        opinions=run.states[:, 1:],
        times=times,
        names=model.network.name_columns(run.agents.tolist()),
        epsilon=_printed(account.epsilon),
        delta=account.delta,
        statement=_statement(account, times, run.agents.size),
        network=network,
    )


def simulate_on_grid(model: Model, grid: NoiseGrid, steps: int, runs: int, *, record: Record, **how: Any) -> Trajectory:
    """Run a model with noise of the operating system on a grid; the engine is given sums of opinions and noise only."""
    whole, held = grid.opinions(model.x0), None
    if model.noise.is_frozen:
        held = whole + grid.noise(0, runs)

    def preferred(step: int, rows: slice) -> Array:
        drawn = whole + grid.noise(step - 1, rows.stop - rows.start) if held is None else held[rows]
        return np.asarray(drawn * grid.step)

    return simulate_preferred(model, steps, runs, preferred, record=record, **how)


def _require_opinions(record: Record) -> None:
    if record.summaries and not record.states:
        rule, remedy = "a release publishes the opinions of agents", "record all steps, the last one, or every so many"
        raise InvalidInputError(message(rule, got="a record of summaries only", remedy=remedy))


def _require_exact_sums(model: Model) -> None:
    """Raise an error for a model in which something else than x + ε depends on a hidden opinion."""
    rule, got, remedy = "", "", ""
    if model.layout.has_hidden:
        rule, got = "a release needs constant hidden opinions", str(model.adaptation)
        remedy = "leave adaptation out: what is left of x₀ after a step is not on the grid"
    elif 0 < abs(model.noise.autocorrelation) < 1:
        rule, got, remedy = "a release needs white or frozen noise", str(model.noise), "leave temporal out"
    elif leaks_at_first_step(model) or shows_start(model).any():
        rule = "a release needs a start that does not show hidden opinions"
        remedy = "give a public start, such as 0.0, or delay the peer pressure"
        raise InvalidInputError(message(rule, got="a hidden start", remedy=remedy), argument="start")
    elif not model.noise.is_zero and type(model.noise) not in LAWS:
        rule, got, remedy = "a release needs Gaussian or Laplace noise", str(model.noise), "use one of these laws"
    if rule:
        raise InvalidInputError(message(rule, got=got, remedy=remedy))


def _account(definition: Definition, epsilon: float | None, delta: float) -> tuple[Budget, NoiseGrid]:
    """Return the account of a release, with a part of δ set aside for the random bits, and its grid."""
    target = None if epsilon is None else checked_epsilon(epsilon)
    for reserve in _RESERVES:
        ideal = (1 - reserve) * delta
        account = (
            budget_of(definition, ideal)
            if target is None
            else calibration_of(definition, ideal, "epsilon", target).budget
        )
        seen = account.definition
        if not math.isfinite(account.epsilon):
            rule, remedy = "a release needs noise with a finite ε", "give every agent noise, or name an epsilon"
            raise InvalidInputError(message(rule, got=str(seen.model.noise), remedy=remedy))
        grid = grid_of(seen.model.noise, seen.model.n, seen.steps, seen.sensitivity)
        added = _added_delta(account.epsilon, seen.runs * grid.variation(seen.rows_per_unit))
        if added <= reserve * delta:
            size = Granularity(float(grid.step.min()), float(grid.step.max()), added)
            released = replace(seen, granularity=size)
            return replace(account, definition=released, delta=delta), grid
    rule = f"the random bits of a release must add less than half of δ = {delta:g}"
    got, remedy = f"{added:.2g} at ε = {account.epsilon:.4g}", "use more noise, fewer steps or runs, or a larger delta"
    raise InvalidInputError(message(rule, got=got, remedy=remedy))


def _added_delta(epsilon: float, variation: float) -> float:
    """Return what draws that are this far from their ideal laws add to δ: P ≤ P* + τ ≤ e^ε (Q + τ) + δ + τ."""
    return (1 + math.exp(epsilon)) * variation if epsilon < 700 else math.inf


def _printed(epsilon: float) -> float:
    """Return ε rounded up to four decimals, which can only promise less."""
    # Calibrated noise meets its ε up to rounding.
    return math.ceil(round(epsilon * 1e4, 8)) / 1e4


def _statement(account: Budget, times: NDArray[np.int64], rows: int) -> dict[str, str]:
    d, model = account.definition, account.model
    count = len(model.network.topics)
    unit = "one topic of a person" if count and d.unit == "topic" else "each person"
    opinions = f"{rows:,} {'pairs of an agent and a topic' if count else 'agents'}"
    steps = f"step {times[0]:,}" if times.size == 1 else f"{times.size:,} steps from {times[0]:,} to {times[-1]:,}"
    return {
        "release": f"Simulated public opinions, computed by a model from given hidden opinions, and no answers of a "
        f"survey: {opinions} at {steps}, {d.runs:,} run{'s' * (d.runs != 1)}, peerpressure {__version__}.",
        "guarantee": f"(ε, δ)-differential privacy for {unit}, with ε = {_printed(account.epsilon):.10g} and "
        f"δ = {account.delta:g}.",
        **d.terms,
        "mechanism": f"{model.noise}; peer pressure {model.pressure}. All that is released is computed from the "
        "sums of hidden opinions and noise, and from what is public.",
        "further releases": "Every further release about the same opinions adds its ε and δ to these.",
    }
