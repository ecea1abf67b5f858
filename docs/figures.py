"""Draw the figure of the first page, in light and dark, and that of the tests of fit: ``python docs/figures.py``."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import networkx as nx
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

import peerpressure as pp

IMAGES = Path(__file__).parent / "images"
STEPS = 1000
THEMES = {
    "light": {"ink": "#20262b", "faint": "#8a939b", "map": ("#1f5c99", "#7d8b99", "#c8512b")},
    "dark": {"ink": "#dfe4e8", "faint": "#7b858e", "map": ("#64a8ea", "#9aa4ad", "#f08a5d")},
}


def study() -> tuple[pp.Model, pp.Trajectory, np.ndarray]:
    """Return a model of the karate club, its run, and an observer's estimates at each step from 0 on."""
    network = pp.networks.named("karate")
    model = pp.Model(
        network,
        hidden=np.random.default_rng(3).permutation(np.linspace(0, 1, network.n)),
        pressure=pp.Linear.tuned(network, np.ones(network.n)),
        noise=pp.Gaussian(0.3),
    )
    run = pp.simulate(model, steps=STEPS, seed=1)
    outputs = pp.recovery.outputs_of(run, model)
    return model, run, pp.recovery.kalman_filter(outputs, model, pp.Prior.uniform(0, 1)).hidden.mean


def draw(theme: str, model: pp.Model, run: pp.Trajectory, estimates: np.ndarray) -> dict[str, Figure]:
    """Return three panels: the network, the public opinions, and what an observer makes of them."""
    look = THEMES[theme]
    colours = mpl.colors.LinearSegmentedColormap.from_list("opinions", look["map"])(model.x0)
    panels = {name: Figure(figsize=(2.9, 2.9), layout="constrained") for name in ("network", "public", "observer")}
    axes = {name: figure.subplots() for name, figure in panels.items()}
    _draw_network(axes["network"], model, colours, look)
    _draw_paths(axes["public"], run.states[0, 1:], colours)
    _draw_paths(axes["observer"], estimates.reshape(STEPS + 1, -1)[1:], colours)
    axes["observer"].scatter(np.full(model.n, STEPS * 1.2), model.x0, c=colours, s=6, clip_on=False)
    axes["public"].set_ylabel("public opinion")
    axes["observer"].set_ylabel("estimated hidden opinion")
    for one in axes.values():
        _paint(one, look)
    return panels


def _draw_network(axes: Axes, model: pp.Model, colours: np.ndarray, look: dict) -> None:
    graph = nx.karate_club_graph()
    places = nx.kamada_kawai_layout(graph, weight=None)
    nx.draw_networkx_edges(graph, places, ax=axes, edge_color=look["faint"], width=0.6, alpha=0.7)
    nx.draw_networkx_nodes(graph, places, ax=axes, node_color=colours, node_size=30 + 7 * model.network.degrees)
    axes.axis("off")


def _draw_paths(axes: Axes, values: np.ndarray, colours: np.ndarray) -> None:
    for agent, colour in enumerate(colours):
        axes.plot(np.arange(1, STEPS + 1), values[:, agent], color=colour, linewidth=0.8)
    axes.set(xscale="log", xlim=(1, STEPS), ylim=(-0.15, 1.15), xlabel="step")
    axes.yaxis.set_ticks([0, 0.5, 1], ["0", "½", "1"])
    axes.spines[["top", "right"]].set_visible(False)


def _paint(axes: Axes, look: dict) -> None:
    """Give letters and axes the colour of the theme; the background stays transparent."""
    axes.tick_params(which="both", colors=look["faint"], labelcolor=look["ink"])
    for label in (axes.xaxis.label, axes.yaxis.label):
        label.set_color(look["ink"])
    for spine in axes.spines.values():
        spine.set_color(look["faint"])
    axes.patch.set_alpha(0)
    axes.figure.patch.set_alpha(0)


def main() -> None:
    """Compute once and draw all panels in both themes."""
    results = study()
    with mpl.rc_context({"font.family": "DejaVu Sans", "font.size": 9}):
        for theme in THEMES:
            for name, figure in draw(theme, *results).items():
                figure.savefig(IMAGES / f"landing-{name}-{theme}.png", dpi=240, metadata={"Software": None})
    _join("light", "white", "landing.png")
    _join("dark", "#0d1117", "landing-dark.png")
    misfit().savefig(IMAGES / "fit-diagnostics.png", dpi=140, metadata={"Software": None})


def misfit() -> Figure:
    """Return residuals of Laplace noise with a memory, larger for one agent, that is read as white Gaussian noise."""
    std = np.ones(20)
    std[7] = 1.6
    assumed = pp.Model(pp.networks.barabasi_albert(20, 2, seed=1), np.linspace(0, 1, 20), noise=pp.Gaussian(1.0))
    real = pp.Model(assumed.network, assumed.hidden, noise=pp.Laplace(std, temporal=pp.AR1(0.3)))
    found = pp.recovery.diagnose_fit(pp.simulate(real, steps=100, seed=1), assumed)
    return pp.plotting.fit_diagnostics(found)


def _join(theme: str, paper: str, file: str) -> None:
    """Put the panels of a theme side by side, for pages that cannot lay them out."""
    parts = [Image.open(IMAGES / f"landing-{name}-{theme}.png") for name in ("network", "public", "observer")]
    joined = Image.new("RGB", (sum(part.width for part in parts), parts[0].height), paper)
    for place, part in enumerate(parts):
        joined.paste(part, (place * part.width, 0), part)
    joined.save(IMAGES / file, optimize=True)


if __name__ == "__main__":
    main()
