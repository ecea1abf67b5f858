"""What is told of a comparison: sentences, tables and figures, for its page and its results folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from peerpressure.comparison._compared import Compared
from peerpressure.report.estimates import REPORT, Estimates, Picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_PLACED = 120  # agents whose layout takes a second or two


def page(found: Compared) -> bytes:
    """Return the page as HTML that needs nothing but a browser."""
    return estimates_of(found, drawn=True).files()[REPORT]


def estimates_of(found: Compared, *, drawn: bool) -> Estimates:
    """Return what is told of a comparison; figures only if they are to be ``drawn``."""
    return Estimates(
        title="Comparison of models",
        sentences=[*found.sentences, _record(found)],
        facts={
            "best": found.best,
            "p_value": found.p_value,
            "answers": found.scored,
            "models": found.table.to_dict(orient="records"),
            "parameters": found.parameters.to_dict(orient="records"),
            "opinions": found.opinions.to_dict(orient="records"),
        },
        tables={"opinions": found.opinions, "models": found.table, "parameters": found.parameters},
        pictures=_pictures(found) if drawn else (),
        notes=found.notes,
    )


def _record(found: Compared) -> str:
    first, last = int(found.panel.steps[0]), int(found.panel.steps[-1])
    return f"{found.panel.n:,} agents, steps {first} to {last}; all models explain the same {found.scored:,} answers."


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
