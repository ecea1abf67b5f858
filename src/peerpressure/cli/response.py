"""``peerpressure response``: whether people respond to what they see of others, from a few rounds of answers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import typer

from peerpressure.cli.estimates import (
    Answers,
    Directed,
    check_out,
    check_report,
    is_folder,
    study_of_tables,
    write_estimates,
)
from peerpressure.cli.terminal import AsJson, columns, listing_problems, print_json, progress_line, show

First: TypeAlias = Literal["before", "after"]
_CONTENTS = "contains answers of people: for study, not for release"
_MEANINGS = {
    "rounds.csv": "weight of what was seen by round, and share of others in the answers since the first one",
    "people.csv": "weights of single people, those who respond least first, where people are known to differ",
}
_ROUNDS = ("weight", "low", "high", "unmoved")


def response(
    context: typer.Context,
    answers: Answers,
    first: Annotated[
        First,
        typer.Option(help="Whether the first row was answered before people had seen anything of others, or after."),
    ],
    network: Annotated[
        Path | None,
        typer.Option(help="Who sees whom: edges, for each group or wave if a column says so. Not with a column seen."),
    ] = None,
    directed: Directed = False,
    group: Annotated[str | None, typer.Option(help="Name of the column of groups, if it is unusual.")] = None,
    question: Annotated[str | None, typer.Option(help="Name of the column of questions, if it is unusual.")] = None,
    seen: Annotated[
        str | None, typer.Option(help="Name of the column of what was seen before an answer, if it is unusual.")
    ] = None,
    matter: Annotated[float, typer.Option(help="Smallest weight that would matter.")] = 0.1,
    equal_groups: Annotated[bool, typer.Option("--equal-groups", help="Give all groups equal weight.")] = False,
    permutations: Annotated[int, typer.Option(help="Shuffles of who sat where.")] = 999,
    seed: Annotated[int, typer.Option(help="Seed of the shuffles.")] = 0,
    report: Annotated[Path | None, typer.Option(help="Also write a page with figures to this .html file.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Also write weights by round to this .csv or .parquet file; or, if the name has no suffix, a results "
            "folder."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Tell whether people respond to what they see of others, and how much.

    For two to ten rounds, in one group or in many: a table with columns time, agent and public, and optionally group
    (people who could see one another), question (answers that measure the same) and seen (what the person had seen
    before, empty for nothing).

    People are said to respond only if two tests agree: an interval of the weight of what they saw, and shuffles of who
    sat where. Otherwise the response is below a bound, or the data cannot tell.

    Example: peerpressure response answers.csv --first before --report report.html
    """
    check_out(out, "response")
    check_report(report)
    with progress_line() as show_stage, listing_problems():
        from peerpressure.fitting import response as respond
        from peerpressure.fitting.group_reading import graphs_of

        show_stage("reading")
        graphs = None if network is None else graphs_of(network, directed=directed or None)
        show_stage("shuffling seats")
        found = respond(
            answers,
            graphs,
            first=first,
            group=group,
            question=question,
            seen=seen,
            matter=matter,
            equal_groups=equal_groups,
            permutations=permutations,
            seed=seed,
        )
        # Everything is computed and written before anything is printed: a closed pipe loses no file.
        estimates = found.estimates(drawn=out is not None and is_folder(out))
        if out is not None:
            study = replace(study_of_tables(context, None), contents=_CONTENTS, meanings=_MEANINGS)
            write_estimates(estimates, out, study, {})
        if report is not None:
            show_stage("drawing")
            found.report(report)
    if as_json:
        print_json(estimates.answer)
        return
    show(*estimates.sentences, "")
    known = found.by_round[found.by_round["weight"].notna()]
    if len(known):
        rows = [(str(row["round"]), *(f"{row[name]:.3g}" for name in _ROUNDS)) for row in known.to_dict("records")]
        show(columns(None, ("round", "weight", "from", "to", "unmoved"), rows))
    show(*estimates.notes)
    for written in filter(None, (out, report)):
        show(f"written to {written}")
