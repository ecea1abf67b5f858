"""The first question should not be the slow one: compiled loops and libraries are loaded while the browser opens."""

from __future__ import annotations

import threading


def warm_up() -> threading.Thread:
    """Load in a thread of its own what the first questions will need."""
    thread = threading.Thread(target=_touch_everything, name="warming", daemon=True)
    thread.start()
    return thread


def _touch_everything() -> None:
    from peerpressure.explorer.layout import drawing
    from peerpressure.model import Model
    from peerpressure.networks import barabasi_albert
    from peerpressure.noises import Gaussian
    from peerpressure.privacy import budget, exposure
    from peerpressure.recovery import recover
    from peerpressure.simulation import simulate
    from peerpressure.theory import diagnose

    model = Model(barabasi_albert(20, 2, seed=1), hidden=[0.0, 1.0] * 10, noise=Gaussian(1.0))
    drawing(model.network)
    # One replicate and many take different loops.
    for replicates in (20, 1):
        run = simulate(model, 2, replicates)
    diagnose(model, 2)
    recover(model, run, "ols")
    exposure(model, 2)
    budget(model, 2)
