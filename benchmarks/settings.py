"""How much is measured: the full run of some minutes, or a quick look."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import final


@final
@dataclass(frozen=True)
class Settings:
    """Sizes and patience of a run.

    ``seconds`` is how long one contender is asked to work in one round, ``jobs`` the number of processes that share the
    records of a study, ``records`` how many it has of each setting, None for its own number, and ``kept`` a file of
    their results, by which an interrupted study is continued.
    """

    sizes: tuple[int, ...] = (100, 10_000, 1_000_000)
    replicates: tuple[int, ...] = (1, 32)
    rounds: int = 5
    seconds: float = 0.5
    scaling_sizes: tuple[int, ...] = (10_000, 100_000, 1_000_000, 10_000_000)
    large: int = 1_000_000
    memory_steps: int = 1_000
    latency_calls: int = 300
    processes: int = 3
    quick: bool = False
    jobs: int = 1
    records: int | None = None
    kept: Path | None = None

    def records_or(self, usual: int) -> int:
        """Return the records of a setting of a study."""
        return self.records or usual

    def rounds_for(self, work: int) -> int:
        """Return how many rounds to run where one step makes ``work`` agent-steps; large ones vary less."""
        return self.rounds if work < 10_000_000 else min(self.rounds, 3)

    def steps_for(self, nanoseconds: float, work: int, *, least: int = 2) -> int:
        """Return the steps that fill a round at about ``nanoseconds`` per agent-step."""
        wished = int(self.seconds * 1e9 / (nanoseconds * work))
        return min(max(wished, least), 20_000)


FULL = Settings()
QUICK = Settings(
    sizes=(100, 10_000),
    rounds=2,
    seconds=0.05,
    scaling_sizes=(10_000, 100_000),
    large=100_000,
    memory_steps=20,
    latency_calls=50,
    processes=1,
    quick=True,
)
