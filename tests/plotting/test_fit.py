"""The figure of residuals draws every residual, marks what fails, and says where nothing can be tested."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import peerpressure as pp
from peerpressure.plotting import fit_diagnostics, render
from peerpressure.plotting._recovery import MOST_DOTS
from peerpressure.plotting.style import RED
from peerpressure.recovery import diagnose_fit
from tests.builders import random_model

MODEL = random_model(8, noise=pp.Gaussian(1.0))


def test_what_fails_is_marked_and_named() -> None:
    std = np.ones(8)
    std[5] = 2.0
    made = replace(MODEL, noise=pp.Gaussian(std, temporal=pp.AR1(0.6)))
    found = diagnose_fit(pp.simulate(made, 60, 2, seed=1), MODEL)
    figure = fit_diagnostics(found, replicate=1)
    over_time, by_agent, by_lag, by_law = figure.axes
    assert "5" in {text.get_text() for text in by_agent.texts}
    shown = over_time.collections[0].get_offsets()
    assert found.residuals is not None
    assert len(np.asarray(shown)) == np.isfinite(found.residuals[1]).sum()
    bars = by_lag.collections[0].get_colors()  # type: ignore[attr-defined]
    np.testing.assert_allclose(bars[0][:3], [int(RED[k : k + 2], 16) / 255 for k in (1, 3, 5)], atol=1e-6)
    assert len(np.asarray(by_law.collections[-1].get_offsets())) == len(np.asarray(shown))
    assert render(figure, "png")[:4] == b"\x89PNG"


def test_many_residuals_are_thinned_and_none_are_said_to_be_none() -> None:
    large = random_model(60, noise=pp.Gaussian(1.0))
    figure = fit_diagnostics(diagnose_fit(pp.simulate(large, 200, seed=1), large))
    assert len(np.asarray(figure.axes[0].collections[0].get_offsets())) <= 2 * MOST_DOTS
    silent = replace(MODEL, noise=pp.NoNoise())
    (axes,) = fit_diagnostics(diagnose_fit(pp.simulate(silent, 5), silent)).axes
    assert [text.get_text() for text in axes.texts] == ["nothing can be tested"]
