"""The report of a comparison: one page, the answer first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from peerpressure.comparison._compared import Compared
from peerpressure.report.html import Column, Form, HtmlTable, table, templates
from peerpressure.report.run import Picture
from peerpressure.version import __version__

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

# Agents whose layout takes a second or two, and those that are listed on the page.
_MOST_PLACED, _LISTED = 120, 60


def page(found: Compared) -> str:
    """Return the page as HTML that needs nothing but a browser."""
    return (
        templates()
        .get_template("comparison.html")
        .render(
            title="Comparison of models",
            version=__version__,
            lead=found.sentences[0],
            sentences=found.sentences[1:],
            record=_record(found),
            models=_models(found.table),
            parameters=_parameters(found.parameters),
            opinions=_opinions(found.opinions),
            pictures=_pictures(found),
            notes=found.notes,
        )
    )


def _record(found: Compared) -> str:
    first, last = int(found.panel.steps[0]), int(found.panel.steps[-1])
    return f"{found.panel.n:,} agents, steps {first} to {last}; all models explain the same {found.scored:,} answers."


def _models(frame: pd.DataFrame) -> HtmlTable:
    columns = [
        Column("model", "model"),
        Column("log_likelihood", "log likelihood", 1, Form.FIXED),
        Column("k", "parameters"),
        Column("bic_difference", "BIC − min", 1, Form.FIXED),
        Column("weight", "weight", 3, Form.FIXED),
    ]
    return table(frame, columns)


def _parameters(frame: pd.DataFrame) -> HtmlTable:
    names = [("parameter", "average over models"), ("value", "value"), ("low", "from"), ("high", "to")]
    return table(frame, [Column(name, heading) for name, heading in names])


def _opinions(frame: pd.DataFrame) -> HtmlTable:
    names = [("agent", "agent"), ("last_answer", "last answer"), ("value", "hidden opinion")]
    columns = [Column(name, heading) for name, heading in (*names, ("low", "from"), ("high", "to"))]
    # Labels may be numbers, which the table would round and align as such.
    return table(frame.assign(agent=frame["agent"].map(str)), columns, most=_LISTED)


def _pictures(found: Compared) -> list[Picture]:
    from peerpressure.plotting import comparison as draw

    pictures = [
        _picture(
            "Which model explains the answers",
            "The difference in BIC of every model from the best one. A difference of 10 is strong evidence.",
            draw.weights(found.table),
        )
    ]
    if np.isfinite(found.pressure[["best", "value"]].to_numpy()).any():
        pictures.append(
            _picture(
                "Peer pressure over time",
                "Blue, the best model. Grey, levels that are free on pieces of time, with 95 % intervals: where the "
                "curve leaves them, its form is wrong.",
                draw.pressure(found.pressure, found.best),
            )
        )
    if np.isfinite(found.opinions["value"]).any():
        pictures.append(
            _picture(
                "What people think and what they said last",
                "Hidden opinions with 95 % intervals, averaged over models. On the dotted line, people say what they "
                "think; red intervals do not contain the last answer.",
                draw.opinions(found.opinions),
            )
        )
    pictures += _missed(found)
    return [
        *pictures,
        _picture(
            "Error of the next answer",
            "Root mean square over agents of the difference between answers and their predictions from earlier ones.",
            draw.errors(found.errors),
        ),
    ]


def _missed(found: Compared) -> list[Picture]:
    from peerpressure.plotting import comparison as draw

    graph, misses = found.network, found.misses
    if misses is None or not misses.missed or graph.n > _MOST_PLACED:
        return []
    caption = " ".join(misses.sentences)
    names = [str(label) for label in graph.labels]
    return [_picture("What the best model misses", caption, draw.missed(names, found.edges, found.missed))]


def _picture(heading: str, caption: str, figure: Figure) -> Picture:
    from peerpressure.report.pictures import image, settled

    return Picture(heading, caption, image(settled(figure)))
