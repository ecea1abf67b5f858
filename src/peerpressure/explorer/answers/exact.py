"""What agents show on average, and how far they scatter, exactly; and the verdict with what lies ahead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from peerpressure.errors import complain
from peerpressure.explorer.answers.verdicts import outlook
from peerpressure.explorer.limits import Limits
from peerpressure.explorer.packing import pack
from peerpressure.explorer.preparing import Prepared
from peerpressure.explorer.refusals import RequestError
from peerpressure.explorer.times import Shown, shown
from peerpressure.sde import SDE
from peerpressure.theory import agent, mean, moments

MOST_NAMED = 20  # agents that are followed one by one
FEWEST = 8  # times below which a curve says nothing
CONTINUOUS = 60  # times at which an equation is solved


def exact_answer(asked: Prepared, body: Mapping[str, Any], limits: Limits) -> bytes:
    """Return mean and standard deviation of the network's mean and of the named agents, (names, times)."""
    named = _agents(body)
    functionals = [mean(asked.system), *(agent(asked.system, label) for label in named)]
    choice = _times(asked, len(functionals), limits)
    step = asked.system.step if isinstance(asked.system, SDE) else 1
    found = moments(asked.system, asked.steps, of=functionals, times=choice.times * step)
    facts = {
        "names": ["network mean", *named],
        "every": choice.every,
        "dense": choice.dense,
        "verdict": outlook(asked, limits),
    }
    return pack(facts, {"times": found.times.astype(np.float64), "mean": found.mean.T, "std": found.std.T})


def _agents(body: Mapping[str, Any]) -> list[int | str]:
    given = body.get("agents", [])
    plain = isinstance(given, list) and all(isinstance(one, int | str) and not isinstance(one, bool) for one in given)
    if not plain or len(given) > MOST_NAMED:
        rule = f"agents must be a list of at most {MOST_NAMED} labels"
        raise RequestError(422, complain(rule, got=ascii(given)[:60], remedy="name fewer"), "agents")
    return list(given)


def _times(asked: Prepared, functionals: int, limits: Limits) -> Shown:
    """Return as many times as can be afforded: each goes back through all steps before it."""
    size = asked.model.network.adjacency.nnz + 10 * asked.model.n
    most = 2 * limits.exact // (functionals * asked.steps * size)
    if most < FEWEST:
        what, remedy = (
            "steps × edges of an exact law",
            "take fewer steps, or a smaller network; curves are still simulated",
        )
        limits.check("exact", FEWEST * functionals * asked.steps * size // 2, what=what, remedy=remedy)
    return shown(asked.steps, min(most, CONTINUOUS if isinstance(asked.system, SDE) else limits.times))
