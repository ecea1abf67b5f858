"""The page of one run: what was asked, what becomes of the agents, what was seen, and how to run it again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from peerpressure.figures import privacy, run as drawn, run_network
from peerpressure.figures.style import styled
from peerpressure.measures import Experiment
from peerpressure.report.images import Image, image
from peerpressure.report.run_summary import model_rows, observer_rows, outcome_rows, privacy_rows
from peerpressure.report.tables import Column, table
from peerpressure.report.typeset import typeset
from peerpressure.theory.render import heading, rows as verdict_rows
from peerpressure.version import __version__

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

MOST_PLACED = 120  # agents for whom places in a drawing are found within a second or two
MOST_JOINED = 8  # edges for each agent, beyond which a drawing shows nothing but edges
LISTED = 12  # agents named on the page; the table beside it has all of them


@final
@dataclass(frozen=True)
class Picture:
    """A figure on the page with its name, its caption and its picture."""

    name: str
    caption: str
    image: Image


CAPTIONS: Mapping[str, str] = {
    "opinions": "Left, the highest and the lowest public opinion (mean over replicates), the mean over agents of "
    "every replicate, and the consensus value v (dotted). Right, spread max − min and distance to v: median and middle "
    "half of the replicates.",
    "held": "Left, the highest and the lowest opinion that agents hold after they have spoken (mean over replicates), "
    "the mean over agents of every replicate, and the consensus value v (dotted). Right, the spread of what they hold "
    "and of what they show: median and middle half of the replicates.",
    "network": "The number of edges in every step, and of the agents without a neighbour, who show what they think.",
    "estimates": "What the observer makes of each hidden opinion in the first replicate, with 95 % intervals; a "
    "perfect estimate lies on the dotted line.",
    "exposure": "Bits that the observer learns about each agent beyond what it believed before.",
    "exposure_map": "What is left of the observer's uncertainty about each agent, drawn on the network.",
    "budget": "The ε of differential privacy that holds for every agent against an observer of all agents in one run, "
    "from step 1 on; y₀ is not observed, and one opinion moves by at most Δ.",
    "frontier": "Left, how far from v agents end by each way of hiding, when its noise is just enough for a budget μ. "
    "Right, what noise of deviation 1 tells about an agent and costs in accuracy as time goes on, from small dots to "
    "large ones. No unbiased way is below the dotted limit.",
}


def figures(experiment: Experiment, tables: Mapping[str, pd.DataFrame]) -> dict[str, Figure]:
    """Return the figures of a run, by name."""
    made, v = {}, experiment.model.consensus_value
    if "summaries" in tables:
        made["opinions"] = drawn.opinions(tables["summaries"], v)
        if "held_mean" in tables["summaries"]:
            made["held"] = drawn.held(tables["summaries"], v)
    if "network" in tables:
        made["network"] = run_network.changing(tables["network"])
    if "estimates" in tables:
        made["estimates"] = drawn.estimates(tables["estimates"], experiment.target)
    return made | _privacy_figures(experiment, tables)


@styled
def settled(figure: Figure) -> Figure:
    """Return the figure with its layout worked out once, and not again for each kind of file."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    return figure


def _privacy_figures(experiment: Experiment, tables: Mapping[str, pd.DataFrame]) -> dict[str, Figure]:
    if experiment.scenario.privacy is None:
        return {}
    made = {"exposure": drawn.exposed(tables["agents"])}
    network = experiment.model.network
    if network.n <= MOST_PLACED and network.edge_count <= MOST_JOINED * network.n:
        told = experiment.exposure
        made["exposure_map"] = privacy.exposure(told.table, told.edges())
    if "budget" in tables and np.isfinite(tables["budget"]["epsilon"]).any():
        made["budget"] = drawn.spent(tables["budget"])
    compared = experiment.frontier
    if compared is not None:
        made["frontier"] = privacy.frontier(compared.table, compared.units, compared.limit)
    return made


def run_page(
    experiment: Experiment, tables: Mapping[str, pd.DataFrame], pictures: Mapping[str, Figure], title: str
) -> str:
    """Return the page as HTML that is complete in itself."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("peerpressure.report", "templates")
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["typeset"] = typeset
    return environment.get_template("run.html").render(
        title=title,
        version=__version__,
        heading=heading(experiment.verdict),
        reason=experiment.verdict.reason,
        facts=verdict_rows(experiment.verdict),
        model=model_rows(experiment),
        outcome=outcome_rows(experiment),
        observer=observer_rows(experiment),
        privacy=privacy_rows(experiment),
        agents=_agents(tables["agents"]),
        pictures=[Picture(name, CAPTIONS[name], image(figure)) for name, figure in pictures.items()],
        files=[f"{name}.csv" for name in (*tables, *(["states"] if experiment.lists_states else []))],
        scenario=experiment.scenario.to_toml().strip(),
    )


def _agents(agents: pd.DataFrame) -> object:
    columns = [
        Column("agent", "agent"),
        Column("degree", "degree"),
        Column("stubbornness", "stubbornness"),
        Column("hidden", "hidden"),
        Column("final_mean", "shown at the end"),
        Column("final_std", "± over replicates", digits=2),
    ]
    if "held_mean" in agents:
        columns.append(Column("held_mean", "held at the end"))
    if "bits" in agents:
        columns.append(Column("bits", "bits exposed"))
    names = agents.assign(agent=agents["agent"].map(str))
    return table(names, columns, most=LISTED)
