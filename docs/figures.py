"""Draw the moving picture of the first page, and those of the explanations: ``python docs/figures.py``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import matplotlib as mpl
import networkx as nx
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

import peerpressure as pp
from peerpressure.plotting.style import in_order, of_opinions

IMAGES = Path(__file__).parent / "images"
STEPS = 1000
THEMES = {
    "light": {"paper": "#ffffff", "ink": "#20262b", "faint": "#8a939b"},
    "dark": {"paper": "#0d1117", "ink": "#dfe4e8", "faint": "#7b858e"},
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
    outputs = pp.recovery.answers_of(run, model)
    return model, run, pp.recovery.kalman_filter(outputs, model, pp.Prior.uniform(0, 1)).hidden.mean


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
    """Give letters and axes the colour of the theme."""
    axes.tick_params(which="both", colors=look["faint"], labelcolor=look["ink"])
    for label in (axes.xaxis.label, axes.yaxis.label):
        label.set_color(look["ink"])
    for spine in axes.spines.values():
        spine.set_color(look["faint"])
    axes.patch.set_alpha(0)


# Steps that the first picture shows, each for as many milliseconds; the last one stays longer.
SHOWN = np.unique(np.geomspace(1, STEPS, 60).round().astype(int))
FRAME_MS, LAST_MS = 100, 5000


def write_landing(path: Path, look: dict, model: pp.Model, run: pp.Trajectory, estimates: np.ndarray) -> None:
    """Write the moving picture of the first page: the network, the public opinions, and what an observer infers."""
    scale = of_opinions(dark=look is THEMES["dark"])
    said, inferred = run.states[0], estimates.reshape(STEPS + 1, -1)
    figure = Figure(figsize=(9, 3.1), dpi=150, layout="constrained")
    canvas = FigureCanvasAgg(figure)
    network, public, observer = figure.subplots(1, 3)
    _draw_network(network, model, scale(model.x0), look)
    dots = network.collections[-1]
    dots.set(linewidth=2.5, edgecolor=scale(model.x0))
    _draw_paths(public, said[1:], scale(model.x0))
    _draw_paths(observer, inferred[1:], scale(model.x0))
    observer.scatter(np.full(model.n, STEPS * 1.2), model.x0, c=scale(model.x0), s=6, clip_on=False)
    titles = ("fill: what they say, ring: what they think", "what they say", "what an observer infers (dots: truth)")
    for axes, title in zip((network, public, observer), titles, strict=True):
        _paint(axes, look)
        axes.set_title(title, color=look["ink"], fontsize=9)
    figure.patch.set(facecolor=look["paper"], alpha=1)
    frames = []
    for step in SHOWN:
        dots.set_facecolor(scale(said[step]))
        for axes, values in ((public, said), (observer, inferred)):
            for agent, line in enumerate(axes.lines):
                line.set_data(np.arange(1, step + 1), values[1 : step + 1, agent])
        canvas.draw()
        frames.append(Image.fromarray(np.asarray(canvas.buffer_rgba()).copy()).convert("RGB"))
    times = [FRAME_MS] * (len(frames) - 1) + [LAST_MS]
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=times, loop=0, quality=60, method=6)


def main() -> None:
    """Compute once and draw everything."""
    results = study()
    with mpl.rc_context({"font.family": "DejaVu Sans", "font.size": 9}):
        for theme, file in (("light", "landing.webp"), ("dark", "landing-dark.webp")):
            write_landing(IMAGES / file, THEMES[theme], *results)
    with mpl.rc_context(fname=IMAGES.parent / "matplotlibrc"):
        for name, figure in EXPLANATIONS.items():
            figure().savefig(IMAGES / f"{name}.png", dpi=140, metadata={"Software": None})


def misfit() -> Figure:
    """Return residuals of Laplace noise with a memory, larger for one agent, that is read as white Gaussian noise."""
    std = np.ones(20)
    std[7] = 1.6
    assumed = pp.Model(pp.networks.barabasi_albert(20, 2, seed=1), np.linspace(0, 1, 20), noise=pp.Gaussian(1.0))
    real = pp.Model(assumed.network, assumed.hidden, noise=pp.Laplace(std, temporal=pp.AR1(0.3)))
    found = pp.recovery.diagnose_fit(pp.simulate(real, steps=100, seed=1), assumed)
    return pp.plotting.fit_diagnostics(found)


def rates() -> Figure:
    """Return the exact distance to v under two lines of pressure, with the predicted slopes."""
    network = pp.networks.barabasi_albert(60, 2, seed=1)
    figure = Figure(figsize=(5.6, 3.2), layout="constrained")
    axes = figure.subplots()
    lines = {"ρ = t": pp.Linear(1.0), "ρ = κt": pp.Linear.tuned(network, np.ones(60))}
    for (name, pressure), colour in zip(lines.items(), ("C0", "C1"), strict=True):
        model = pp.Model(network, np.linspace(0, 1, 60), pressure=pressure, noise=pp.Gaussian(1.0))
        found = pp.moments(model, 3000)
        distance = np.sqrt(((found.mean - model.consensus_value) ** 2 + found.std**2).mean(axis=1))[1:]
        axes.loglog(found.times[1:], distance, color=colour, label=name)
        slope = min(model.kappa / pressure.slope, 0.5)
        late = found.times[300:]
        axes.loglog(late, 0.7 * distance[-1] * (late / late[-1]) ** -slope, ":", color=colour)
        axes.annotate(f"$t^{{-{slope:.2f}}}$", (late[-1], 0.7 * distance[-1]), color=colour, ha="right", va="top")
    axes.set(xlabel="step", ylabel="RMS distance to v")
    axes.legend()
    return figure


def temporal_network() -> Figure:
    """Return two networks in turn, and the opinions that agree on another value than v."""
    star = [(0, k) for k in range(1, 6)]
    ring = [(k, (k + 1) % 6) for k in range(6)] + [(1, 4)]
    hidden = [1.0, 0, 0, 0, 0, 0]
    snapshots = [pp.Network.from_edges(edges, n=6) for edges in (star, ring)]
    model = pp.Model(pp.TemporalNetwork.from_snapshots(snapshots, period=2), hidden)
    figure = Figure(figsize=(6.6, 2.6), layout="constrained")
    panels = figure.subplot_mosaic("abcc")
    places = {k: (np.sin(k * np.pi / 3), np.cos(k * np.pi / 3)) for k in range(6)}
    for key, edges, title in (("a", star, "odd steps"), ("b", ring, "even steps")):
        graph = nx.Graph(edges)
        nx.draw_networkx(graph, places, ax=panels[key], node_size=90, with_labels=False, edge_color="0.6",
                         node_color=["C1" if agent == 0 else "0.75" for agent in graph])  # fmt: skip
        panels[key].set(title=title, aspect="equal")
        panels[key].axis("off")
    run = pp.simulate(model, 300, seed=1)
    panels["c"].semilogx(run.times[1:], run.states[0, 1:, 1:], color="0.75", linewidth=0.8)
    panels["c"].semilogx(run.times[1:], run.states[0, 1:, 0], color="C1")
    for value, name in ((1 / 6, "v = 1/6"), (1 / 3, "v* = 1/3")):
        panels["c"].axhline(value, color="black", linestyle="--", linewidth=1)
        panels["c"].annotate(name, (300, value), xytext=(0, -3), textcoords="offset points", ha="right", va="top")
    panels["c"].set(xlabel="step", ylabel="public opinion", ylim=(0.1, 0.65))
    return figure


def closed_classes() -> Figure:
    """Return a network of two groups of leaders and their followers, coloured by where each ends up."""
    leaders = [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)]
    followers = [(6, 0), (6, 7), (7, 6), (7, 8), (8, 7), (8, 9), (9, 8), (9, 10), (10, 9), (10, 3), (11, 8)]
    network = pp.Network.from_edges(leaders + followers, n=12, directed=True)
    limits = pp.Model(network, [0.0] * 3 + [1.0] * 3 + [0.5] * 6).consensus_state
    places = {0: (-1, 0), 1: (-1.8, 0.6), 2: (-1.8, -0.6), 3: (5, 0), 4: (5.8, 0.6), 5: (5.8, -0.6), 11: (2, 0.9)}
    places |= {agent: (agent - 6.0, 0.0) for agent in range(6, 11)}
    colours = of_opinions()
    figure = Figure(figsize=(6.6, 1.9), layout="constrained")
    axes = figure.subplots()
    nx.draw_networkx_edges(nx.DiGraph(leaders + followers), places, ax=axes, edge_color="0.5",
                           connectionstyle="arc3,rad=0.15", node_size=420)  # fmt: skip
    for agent, (x, y) in places.items():
        shape = "s" if agent < 6 else "o"
        axes.scatter(x, y, s=420, color=colours(limits[agent]), marker=shape, zorder=2)
        axes.annotate(f"{limits[agent]:.2g}", (x, y), color="white", ha="center", va="center", fontsize=8, zorder=3)
    axes.set_title("squares listen to nobody outside their group; arrows point to whom an agent listens", fontsize=8)
    axes.margins(0.1, 0.3)
    axes.axis("off")
    return figure


def exposure() -> Figure:
    """Return the karate club with what an observer of six members learns about each."""
    network = pp.networks.named("karate")
    model = pp.Model(network, np.linspace(0, 1, network.n), noise=pp.Gaussian(0.3))
    seen = [0, 1, 2, 3, 7, 13]
    left = pp.privacy.exposure(model, steps=50, observed=[network.labels[k] for k in seen]).table
    graph = nx.karate_club_graph()
    places = nx.kamada_kawai_layout(graph, weight=None)
    figure = Figure(figsize=(5.6, 3.6), layout="constrained")
    axes = figure.subplots()
    nx.draw_networkx_edges(graph, places, ax=axes, edge_color="0.8")
    shares = left["ratio"].to_numpy()
    dots = nx.draw_networkx_nodes(graph, places, ax=axes, node_size=130, node_color=shares, cmap=in_order(), vmin=0,
                                  vmax=1, edgecolors=["black" if k in seen else "none" for k in graph])  # fmt: skip
    figure.colorbar(dots, ax=axes, label="share of the prior variance that is left")
    axes.axis("off")
    return figure


def contraction() -> Figure:
    """Return the weight that the start keeps under three schedules, and the error of the common value by slope."""
    network = pp.networks.named("karate")
    hidden = np.linspace(0, 1, network.n)
    kappa = pp.Model(network, hidden).kappa
    figure = Figure(figsize=(7.2, 2.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    steps = np.unique(np.geomspace(1, 3000, 25).astype(int))
    for name, pressure in (("ρ = κt", pp.Linear(kappa)), ("ρ = t", pp.Linear()), ("ρ = 2^√t", "2^sqrt(t)")):
        model = pp.Model(network, hidden, pressure=pressure)
        left.semilogx(steps, [pp.theory.start_weight(model, int(t)) for t in steps], label=name)
    left.set(xlabel="step", ylabel="weight of the start", ylim=(0, 1))
    left.legend()
    factors = np.geomspace(0.1, 10, 25)
    lines = [pp.Model(network, hidden, pressure=pp.Linear(f * kappa), noise=pp.Gaussian(0.5)) for f in factors]
    for horizon, colour in zip((100, 1000, 10_000), ("C0", "C1", "C2"), strict=True):
        errors = [pp.theory.consensus_error(model, horizon) for model in lines]
        right.loglog(factors, errors, color=colour)
        right.annotate(f"{horizon:,} steps", (0.12, 1.1 * errors[1]), color=colour)
    right.axvline(1, color="black", linestyle="--", linewidth=1)
    right.annotate("κ", (1, 1), xycoords=("data", "axes fraction"), xytext=(3, -10), textcoords="offset points")
    right.set(xlabel="slope of the pressure / κ", ylabel="RMS error of the common value")
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    return figure


EXPLANATIONS: Mapping[str, Callable[[], Figure]] = {
    "fit-diagnostics": misfit,
    "rates": rates,
    "contraction": contraction,
    "temporal-network": temporal_network,
    "closed-classes": closed_classes,
    "exposure": exposure,
}


if __name__ == "__main__":
    main()
