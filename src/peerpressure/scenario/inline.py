"""A network written out in the scenario itself, edge by edge, so that one file or one address holds it all."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np
from pydantic import Field

from peerpressure.networks import Network
from peerpressure.scenario.dynamics import Standing
from peerpressure.scenario.section import Label, Positive

# 32 bits number more agents than any file lists edges for.
Position: TypeAlias = Annotated[int, Field(ge=0, lt=2**31)]
# Of a long list the first mistake is told; the others are as a rule the same one.
Pair: TypeAlias = Annotated[list[Position], Field(min_length=2, max_length=2)]
Pairs: TypeAlias = Annotated[list[Pair], Field(min_length=1, fail_fast=True)]
Weights: TypeAlias = Annotated[list[Positive], Field(min_length=1, fail_fast=True)]


class Inline(Standing):
    """Edges between agents counted from 0, with one weight for each edge and one label for each agent if wanted."""

    edges: Pairs
    weights: Weights | None = None
    labels: Annotated[list[Label], Field(min_length=1, fail_fast=True)] | None = None

    def build(self, seed: int) -> Network:
        """Return the network with these edges."""
        return Network.from_edges(np.array(self.edges), self.weights, self.labels)
