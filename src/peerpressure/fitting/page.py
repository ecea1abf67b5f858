"""What is told of a comparison: sentences, tables and figures, for its page and its results folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from peerpressure.fitting._compared import Compared
from peerpressure.report.estimates import REPORT, Estimates, Picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_PLACED = 120  # agents whose layout takes a second or two


def page(comparison: Compared) -> bytes:
    """Return the page as HTML that needs nothing but a browser."""
    return estimates_of(comparison, drawn=True).files()[REPORT]


def estimates_of(comparison: Compared, *, drawn: bool) -> Estimates:
    """Return what is told of a comparison; figures only if they are to be ``drawn``."""
    return Estimates(
        title="Comparison of models",
        sentences=[*comparison.sentences, _record(comparison)],
        facts={
            "best": comparison.best,
            "verdict": comparison.verdict,
            "weight": comparison.weight._asdict(),
            "p_value": comparison.p_value,
            "p_value_placebo": comparison.p_value_placebo,
            "answers": comparison.scored,
            "models": comparison.table.to_dict(orient="records"),
            "parameters": comparison.parameters.to_dict(orient="records"),
            "opinions": comparison.opinions.to_dict(orient="records"),
        },
        tables={"opinions": comparison.opinions, "models": comparison.table, "parameters": comparison.parameters},
        pictures=_pictures(comparison) if drawn else (),
        notes=comparison.notes,
    )


def _record(comparison: Compared) -> str:
    panel, answers = comparison.panel, comparison.scored
    first, last = int(panel.steps[0]), int(panel.steps[-1])
    return f"{panel.n:,} agents, steps {first} to {last}; all models explain the same {answers:,} answers."


def _pictures(comparison: Compared) -> list[Picture]:
    from peerpressure.plotting import comparison as draw

    pictures = [
        _picture(
            "Which model explains the answers",
            "The difference in BIC of every model from the best one. A difference of 10 is strong evidence.",
            draw.weights(comparison.table),
        )
    ]
    if np.isfinite(comparison.pressure["best"]).any():
        pictures.append(
            _picture(
                "Peer pressure over time",
                "By the best model, with 95 % intervals: only as right as the form of its curve. An arrow marks "
                "intervals that reach further than the axis.",
                draw.pressure(comparison.pressure, comparison.best),
            )
        )
    if np.isfinite(comparison.opinions["value"]).any():
        pictures.append(
            _picture(
                "What people think and what they said last",
                "Hidden opinions with 95 % intervals, averaged over models. On the dotted line, people say what they "
                "think; red intervals do not contain the last answer.",
                draw.opinions(comparison.opinions),
            )
        )
    pictures += _missed(comparison)
    return [
        *pictures,
        _picture(
            "Error of the next answer",
            "Root mean square over agents of the difference between answers and their predictions from earlier ones.",
            draw.errors(comparison.errors),
        ),
    ]


def _missed(comparison: Compared) -> list[Picture]:
    from peerpressure.plotting import comparison as draw

    graph, misses = comparison.network, comparison.misses
    if misses is None or not misses.missed or graph.n > _MOST_PLACED:
        return []
    caption = " ".join(misses.sentences)
    names = [str(label) for label in graph.labels]
    return [_picture("What the best model misses", caption, draw.missed(names, comparison.edges, comparison.missed))]


def _picture(heading: str, caption: str, figure: Figure) -> Picture:
    from peerpressure.report.pictures import image, settled

    return Picture(heading, caption, image(settled(figure)))
