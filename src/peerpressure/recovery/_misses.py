"""What a model misses, as found by score tests: which agents, signs of ties and missing ties, in numbers and words."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, final

from peerpressure.support.results import read_only

if TYPE_CHECKING:
    import pandas

Kind: TypeAlias = Literal["stubbornness", "sign", "tie"]


class Score(NamedTuple):
    """How much the answers speak for one change of a model.

    Attributes
    ----------
    kind : {"stubbornness", "sign", "tie"}
        What would change.
    agents : tuple of int
        Positions of the one or two agents concerned.
    z : float
        The score in standard errors.
    p_value : float
        Its p-value.
    gain : float
        How much the log-likelihood would grow with the best change in this direction alone.

    See Also
    --------
    ScoreTests : All scores of a model, ranked.

    Examples
    --------
    >>> from peerpressure.recovery import Score
    >>> Score("tie", (0, 4), z=3.9, p_value=1e-4, gain=7.6).agents
    (0, 4)
    """

    kind: Kind
    agents: tuple[int, ...]
    z: float
    p_value: float
    gain: float


@final
@read_only
@dataclass(frozen=True, eq=False)
class ScoreTests:
    """What a model misses: its agents, signs and ties ranked by how much the answers speak for a change.

    Attributes
    ----------
    labels : tuple
        Labels of the agents.
    scores : tuple of Score
        The directions tested: first stubbornness, then signs, then ties; in each of them the clearest first, up to
        1,000.
    missed : tuple of Score
        Those that explain what is missed, at a level of 5 % for each kind, in the same order. An agent with another
        stubbornness also raises the scores of its ties, a wrong sign those of stubbornness, and a large fault those of
        all others. The change that gains most likelihood is therefore named first, its agents are left out, and the
        rest is scored again until nothing is left.
    directed : bool
        Whether a tie has a direction.
    reason : str
        Why nothing is tested; empty where something is.

    See Also
    --------
    diagnose_fit : Returns it as ``misses``.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from peerpressure import Gaussian, Model, simulate
    >>> from peerpressure.networks import cycle
    >>> from peerpressure.recovery import diagnose_fit
    >>> assumed = Model(cycle(8), hidden=range(8), noise=Gaussian(1.0))
    >>> real = replace(assumed, stubbornness=[1, 1, 1, 4, 1, 1, 1, 1])
    >>> print(diagnose_fit(simulate(real, 100, seed=1), assumed).misses.sentences[0])
    Agent 3 is more stubborn than the model says.
    """

    labels: tuple[Hashable, ...]
    scores: tuple[Score, ...] = ()
    missed: tuple[Score, ...] = ()
    directed: bool = False
    reason: str = ""

    @property
    def sentences(self) -> tuple[str, ...]:
        """What is missed at the level of 5 %, in words; empty where nothing is."""
        return tuple(self.sentence(score) for score in self.missed)

    def sentence(self, score: Score) -> str:
        """Return what a direction says if its score is not chance.

        Parameters
        ----------
        score : Score
            One of ``scores``.

        Returns
        -------
        str
            A sentence with the labels of its agents.
        """
        names = [str(self.labels[i]) for i in score.agents]
        if score.kind == "stubbornness":
            return f"Agent {names[0]} is {'more' if score.z > 0 else 'less'} stubborn than the model says."
        which = f"from {names[0]} to {names[1]}" if self.directed else f"between {names[0]} and {names[1]}"
        if score.kind == "sign":
            return f"The tie {which} acts against its sign."
        return f"A {'' if score.z > 0 else 'negative '}tie {which} is missing."

    @property
    def table(self) -> pandas.DataFrame:
        """The scores as rows: kind, agent, neighbour (None for stubbornness), z, p_value and gain."""
        import pandas

        rows = [
            (score.kind, *(self.labels[i] for i in score.agents), *[None] * (2 - len(score.agents)), *score[2:])
            for score in self.scores
        ]
        table = pandas.DataFrame(rows, columns=["kind", "agent", "neighbour", "z", "p_value", "gain"], dtype=object)
        return table.astype({"kind": str, "z": float, "p_value": float, "gain": float})

    def __str__(self) -> str:
        if self.reason:
            return f"not tested: {self.reason}"
        return "\n".join(self.sentences) or "nothing is missed at 5 %"

    def __repr__(self) -> str:
        return f"ScoreTests({len(self.scores)} directions, {len(self.missed)} missed)"
