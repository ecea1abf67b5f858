"""How many replicates an experiment needs to say how sure it is."""

from __future__ import annotations

from peerpressure.errors import InvalidInputError, complain


def enough(replications: int, experiment: str) -> int:
    """Return the number of replications, refusing fewer than two.

    >>> enough(20, "residuals")
    20
    """
    if isinstance(replications, bool) or not isinstance(replications, int) or replications < 2:
        rule = f"the experiment on {experiment} needs a whole number of replications, 2 or more"
        raise InvalidInputError(complain(rule, got=repr(replications), remedy="one run shows no variance"))
    return replications
