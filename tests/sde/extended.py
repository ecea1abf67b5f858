"""Equations with adaptation, temporal networks and correlated noise, and their laws by dense integration."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

import peerpressure as pp
from peerpressure.sde import SDE

Array = NDArray[np.float64]

N = 5
RING = np.roll(np.eye(N), 1, axis=1)
CHORDS = np.diag([0.7, 0.0, 1.3], 2) + np.diag([0.4, 0.0], 3)
PLAIN = RING + RING.T + CHORDS + CHORDS.T
DIRECTED = RING + CHORDS
SIGNED = PLAIN * np.where(np.add.outer(np.arange(N), np.arange(N)) % 4 == 3, -1.0, 1.0)
# Two agents meet nobody in the second; 1.2 periods of 3 steps are seen.
CHANGING = (PLAIN, np.diag([1.0, 0.5, 0.0, 0.0], 1) + np.diag([1.0, 0.5, 0.0, 0.0], -1), RING + RING.T)
X0 = np.array([0.1, 0.9, -0.4, 0.5, 0.2])
S = np.array([1.0, 0.6, 2.0, 0.8, 1.5])
STD = np.array([0.5, 0.3, 0.7, 0.4, 0.2])


@dataclass(frozen=True, eq=False)
class Case:
    """What an equation is made of, as plain functions of time."""

    networks: tuple[Array, ...] = (PLAIN,)
    phi: float = 0.0
    rate: float = 0.0
    zealot: bool = False
    start: bool = False
    keep: bool = False

    @property
    def sde(self) -> SDE:
        parts: dict[str, Any] = {"start": 0.3} if self.start else {}
        kind = {0.0: "white", 1.0: "frozen"}.get(self.phi) or pp.AR1(self.phi)
        weights = np.linspace(0.5, 1.0, N)
        adaptation = pp.Adaptation(f"{self.rate}/(1 + 0.2*t)", weights) if self.rate else None
        directed = not all(np.array_equal(A, A.T) for A in self.networks)
        network: Any = pp.Network(self.networks[0], directed=directed, signed=bool((self.networks[0] < 0).any()))
        if len(self.networks) > 1:
            network = pp.TemporalNetwork.from_snapshots(self.networks, period=len(self.networks))
        model = pp.Model(
            network,
            hidden=X0,
            stubbornness=np.where(np.arange(N) == 1, np.inf, S) if self.zealot else S,
            pressure="0.5 + t",
            noise=pp.Gaussian(STD, time_scale="1 + 0.1*t", temporal=kind),
            adaptation=adaptation,
            isolated="keep" if self.keep else None,
            **parts,
        )
        return SDE(model, step=0.25, scaling="model")

    def coefficients(self, t: float, k: int) -> tuple[Array, Array]:
        """Return H and N of dz = H z dt + N dw at a time within step k, for z = (y, x, u)."""
        A, s = self.networks[(k - 1) % len(self.networks)].copy(), S.copy()
        if self.zealot:
            A[1], s[1] = 0.0, 1.0
        rho, scale = 0.5 + t, 1 + 0.1 * t
        M = s + rho * np.abs(A).sum(axis=1)
        g, C = s / M, rho * A / M[:, None]
        if self.keep:
            silent = np.abs(A).sum(axis=1) == 0
            g, C = np.where(silent, 0.0, g), C + np.diag(silent.astype(float))
        eta = self.rate / (1 + 0.2 * t) * np.linspace(0.5, 1.0, N)
        weight, theta = g * STD * scale, -np.log(self.phi) if self.phi else 0.0
        H, noise = np.zeros((3 * N, 3 * N)), np.zeros((3 * N, N))
        y, x, u = (np.arange(part * N, (part + 1) * N) for part in range(3))
        H[:N, :N] = C
        H[y, y] -= 1.0
        H[y, x], H[x, y], H[x, x], H[u, u] = g, eta, -eta, -theta
        if self.phi:
            H[y, u] = weight
            noise[u, y] = np.sqrt(2 * theta)
        else:
            noise[y, y] = weight
        return H, noise

    @property
    def start_state(self) -> Array:
        return np.full(N, 0.3) if self.start else X0


@cache
def transition(case: Case, begin: float, end: float) -> tuple[Array, Array]:
    """Return Φ and Q of z = (y, x, u) from one time to another, by a dense solver between whole times."""
    size = 3 * N
    state = np.concatenate([np.eye(size).ravel(), np.zeros(size * size)])
    whole = [float(k) for k in range(int(np.floor(begin)) + 1, int(np.ceil(end)))]
    for a, b in itertools.pairwise([begin, *whole, end]):
        k = int(np.floor((a + b) / 2)) + 1

        def rate(t: float, flat: Array, k: int = k) -> Array:
            H, noise = case.coefficients(t, k)
            moved = H @ flat.reshape(2, size, size)
            # P is symmetric.
            moved[1] += moved[1].T + noise @ noise.T
            return moved.ravel()

        state = solve_ivp(rate, (a, b), state, method="DOP853", rtol=1e-11, atol=1e-13).y[:, -1]
    F, Q = state.reshape(2, size, size)
    return F, Q


def law(case: Case, t: float) -> tuple[Array, Array]:
    """Return mean and covariance of z = (y, x, u) at a time."""
    mean = np.concatenate([case.start_state, X0, np.zeros(N)])
    covariance = np.diag(np.concatenate([np.zeros(2 * N), np.full(N, float(case.phi > 0))]))
    # In stretches that tests share.
    for a, b in itertools.pairwise([*(cut for cut in (0.0, 0.5, 2.0) if cut < t), t]):
        F, Q = transition(case, a, b)
        mean, covariance = F @ mean, F @ covariance @ F.T + Q
    return mean, covariance


CASES = {
    "adaptation": Case(rate=0.4),
    "coloured": Case(phi=0.6),
    "frozen": Case(phi=1.0),
    "temporal": Case(CHANGING),
    "adaptation, coloured": Case(rate=0.4, phi=0.3, start=True),
    "adaptation, temporal": Case(CHANGING, rate=0.4),
    "all": Case(CHANGING, phi=0.6, rate=0.4),
    "directed": Case((DIRECTED,), phi=0.6, rate=0.4),
    "signed": Case((SIGNED,), phi=0.6, rate=0.4),
    "keep": Case(CHANGING, phi=0.6, rate=0.4, keep=True),
    "zealot": Case(phi=0.6, rate=0.4, zealot=True),
}


def facts(case: Case, steps: int, agents: list[int], times: list[int]) -> tuple[Array, Array, Array, Array]:
    """Return Q, q and the covariance V of what is seen, Y = Q x₀ + q + noise, and the rows of x after the last step."""
    size = 3 * N
    slope, mean = np.zeros((size, N)), np.zeros(size)
    slope[: 2 * N] = np.concatenate([np.eye(N) * (not case.start), np.eye(N)])
    mean[:N] = case.start_state * case.start
    root = np.zeros((size, N + size * steps))
    root[2 * N :, :N] = np.eye(N) * (case.phi > 0)
    rows = [(slope, mean, root)]
    h = case.sde.step
    for k in range(steps):
        F, covariance = transition(case, k * h, (k + 1) * h)
        values, vectors = np.linalg.eigh(covariance)
        slope, mean, root = F @ slope, F @ mean, F @ root
        root[:, N + size * k : N + size * (k + 1)] += vectors * np.sqrt(np.maximum(values, 0.0))
        rows.append((slope, mean, root))
    seen = [np.concatenate([rows[t][part][agents] for t in times]) for part in range(3)]
    last = np.concatenate([rows[-1][0], rows[-1][2]], axis=1)[N : 2 * N]
    return seen[0], seen[1], seen[2], last
