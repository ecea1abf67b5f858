"""``peerpressure recover``: estimates of hidden opinions from a table of observed public opinions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypeAlias

import typer

from peerpressure.cli.estimates import (
    HELP,
    NETWORK,
    Answers,
    Directed,
    Origin,
    Step,
    check_out,
    is_folder,
    study_of_tables,
    words,
    write_estimates,
)
from peerpressure.cli.options import NoiseLaw, Pressure, scenario_of
from peerpressure.cli.terminal import (
    AsJson,
    columns,
    listing_problems,
    open_scenario,
    print_json,
    progress_line,
    show,
)
from peerpressure.errors import InvalidInputError, message
from peerpressure.support.files import declare_output, replacing

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table

    from peerpressure.model.step import Array
    from peerpressure.recovery import Estimate, NetworkEstimate
    from peerpressure.report.estimates import Estimates
    from peerpressure.report.store import Content
    from peerpressure.scenario import Scenario


Target: TypeAlias = Literal["initial", "current"]
ALONE = "each topic is inferred on its own: its network uses no outputs of other topics"
SHOWN = 30  # agents in the terminal; --out and --json have all of them


def recover(
    context: typer.Context,
    answers: Answers,
    scenario: Annotated[
        Path | None, typer.Option(help="A scenario with network, stubbornness, pressure and noise.")
    ] = None,
    network: Annotated[Path | None, typer.Option(help=NETWORK)] = None,
    directed: Directed = False,
    pressure: Pressure = None,
    noise: NoiseLaw = None,
    step: Step = None,
    origin: Origin = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            help="auto, innovations, kalman, ols and others, also several; if left out, those of [observe], or auto, "
            "which takes the one that can read the table."
        ),
    ] = None,
    target: Annotated[
        Target | None,
        typer.Option(help="The initial hidden opinions, or the current ones; as in the file's [observe] if left out."),
    ] = None,
    unknown_network: Annotated[
        bool,
        typer.Option(
            "--unknown-network",
            help="Infer the network as well; that of the file is not used.",
        ),
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help=f"Also write the table to this .csv or .parquet file; {HELP}")
    ] = None,
    figure: Annotated[
        Path | None,
        typer.Option(help="Also draw residuals (of the first replicate and topic) to this PNG, PDF or SVG file."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Estimate hidden opinions from observed public ones.

    Give --network, --pressure and --noise, or a scenario, which these override; its hidden opinions are ignored.
    Observed agents, times and the prior come from its [observe]. Leave missing answers empty. If hidden opinions adapt,
    --target chooses initial or current ones. Standard errors are exact under the model, which is tested against the
    data.

    Times count steps; dates and Unix times become steps with --step, or step in [observe]. With a column topic, each
    topic is estimated separately. The first line of the output tells how the table was read.

    If the network is unknown, use peerpressure infer.

    Example: peerpressure recover answers.csv --network friends.csv --pressure 0.5*t --noise gaussian:0.3

    Example: peerpressure recover answers.csv --scenario scenario.toml --method innovations
    """
    if unknown_network and (method or target or figure):
        rule = "--method, --target and --figure belong to a known network; one that is inferred has a single method"
        got = f"--method {method[0]}" if method else f"--target {target}" if target else f"--figure {figure}"
        raise InvalidInputError(message(rule, got=got, remedy="leave it out, or --unknown-network"))
    if figure is not None:
        _kind(figure)
        declare_output(figure)
    check_out(out, "recover")
    given = {"network": network, "direction": "listens" if directed else None, "pressure": pressure, "noise": noise}
    study = _scenario(scenario, {name: str(value) for name, value in given.items() if value is not None})
    with progress_line() as show_stage:
        from peerpressure.recovery import recover as recover_opinions
        from peerpressure.scenario import read_outputs
        from peerpressure.scenario.scenario import Observe

        show_stage("reading")
        system, asked = study.system(), study.observe or Observe()
        # Outputs that cannot be read are a wrong argument, as a scenario is.
        with listing_problems():
            seen = read_outputs(answers, system, step or asked.step, origin or asked.origin)
        if figure is not None and len(seen.runs) > 1:
            rule, got = "a figure shows the fit to one topic", ", ".join(map(repr, seen.runs))
            raise InvalidInputError(message(rule, got=got, remedy="leave out --figure, or pass a table of one topic"))
        show_stage("estimating")
        found: list[TopicAnswer] = []
        look, prior = study.observation(), study.prior()
        for topic, run in seen.runs.items():
            if unknown_network:
                found.append(inferred(topic, study.infer_network(run)))
                continue
            # Options override [observe], which overrides the defaults.
            methods, wanted = method or asked.methods, target or asked.target
            estimates = [recover_opinions(run, system, name, look, prior, wanted) for name in methods]
            show_stage("testing the fit")
            # The fit is that of the model and not of a method, and so it is tested once.
            estimates = [replace(one, diagnostics=estimates[0].diagnostics) for one in estimates]
            estimates[0].goodness_of_fit, estimates[0].log_likelihood
            if figure is not None:
                _draw(estimates[0], figure)
            found.append(_estimated(topic, estimates))
        note = ALONE if unknown_network and len(found) > 1 else ""
        results = estimates_of(found, [note] if note else [])
        # Written before anything is printed, so a closed pipe does not lose the file.
        if out is not None:
            _write(results, out, study, scenario, context)
    if as_json:
        print_json({"outputs": f"{answers}, {seen.description}", **({"note": note} if note else {}), **results.answer})
        return
    show(f"{answers}: {seen.description}", *([note] if note else []))
    _show(found, out)


def _scenario(file: Path | None, given: Mapping[str, str]) -> Scenario:
    """Return the scenario of the file, if any, with what the options give; its length is that of the answers."""
    if file is None and not {"network", "pressure", "noise"} <= given.keys():
        text = "give --scenario, or --network, --pressure and --noise"
        raise typer.BadParameter(text, param_hint="'--scenario'")
    if not given and file is not None:
        return open_scenario(file, needs_run=False)
    with listing_problems():
        return scenario_of(file, given)[0]


def _show(answers: Sequence[TopicAnswer], out: Path | None) -> None:
    for answer in answers:
        if answer.topic:
            show(f"\ntopic {answer.topic}")
        show(*answer.parts)
    if out is not None:
        show(f"written to {out}")


class TopicAnswer(NamedTuple):
    """The answer on one topic: its tables by name, the answer in words, what is printed, and its facts as JSON."""

    topic: str
    tables: dict[str, pd.DataFrame]
    sentences: list[str]
    parts: list[Table | str]
    facts: dict[str, Any]


def estimates_of(answers: Sequence[TopicAnswer], notes: Sequence[str] = ()) -> Estimates:
    """Return the answers on all topics as one."""
    import pandas as pd

    from peerpressure.report.estimates import Estimates

    tables = {
        name: pd.concat(
            [one.tables[name].assign(**({"topic": one.topic} if one.topic else {})) for one in answers],
            ignore_index=True,
        )
        for name in answers[0].tables
    }
    words = [f"{one.topic}: {line}" if one.topic else line for one in answers for line in one.sentences]
    alone = [one.topic for one in answers] == [""]
    facts = answers[0].facts if alone else {"topics": {one.topic: one.facts for one in answers}}
    notes = [*facts.get("notes", ()), *notes]
    return Estimates("Estimates from public opinions", words, facts, tables, notes=notes)


def _estimated(topic: str, estimates: list[Estimate]) -> TopicAnswer:
    import pandas as pd

    parts = [one.to_dataframe().assign(method=one.method) for one in estimates]
    # Columns in a fixed order: scripts read them by position as well.
    names = [*estimates[0].model.network.name_columns([])]
    table = pd.concat(parts, ignore_index=True)[["method", "replicate", *names, "value", "std", "identified"]]
    facts = {"methods": [_facts(one) for one in estimates], "agents": table.to_dict(orient="records")}
    return TopicAnswer(topic, {"estimates": table}, _sentences(estimates), _shown(estimates, table), facts)


def _sentences(estimates: list[Estimate]) -> list[str]:
    from peerpressure.recovery.estimate import heading, rows

    # Agents have a table.
    parts = [[heading(one), *(f"{name}: {text}" for name, text in rows(one) if name[0] != " ")] for one in estimates]
    return [line for lines in parts for line in lines]


def _facts(one: Estimate) -> dict[str, object]:
    diagnostics = one.diagnostics
    tests = {} if diagnostics is None else {name: _numbers(p) for name, p in diagnostics.tests.items()}
    return {
        "method": one.method,
        "target": one.target,
        "identified": int(one.identified.sum()),
        "rank": one.rank,
        "condition": one.condition,
        "goodness_of_fit": _numbers(one.goodness_of_fit),
        "tests": tests,
        "findings": {} if diagnostics is None else dict(diagnostics.findings),
        "log_likelihood": _numbers(one.log_likelihood),
        "aic": _numbers(one.aic),
        "bic": _numbers(one.bic),
        "note": one.note,
    }


def _numbers(values: Array | None) -> list[float] | None:
    return None if values is None else values.tolist()


def _write(estimates: Estimates, out: Path, scenario: Scenario, file: Path | None, context: typer.Context) -> None:
    """Write the first table to a file, or all of it to a folder with what it was made from."""
    from peerpressure.report.folder import SCENARIO
    from peerpressure.report.run import network_files, scenario_file, study_of

    study = (
        study_of_tables(context, scenario.agent_network)
        if file is None
        else study_of(scenario, file, "recover", lambda names: words(context, names))
    )
    meanings = {
        SCENARIO: "the scenario that the estimates assume, with every default written out",
        "agents.csv": "the agents of the network, with their degrees and stubbornness",
    }
    files: dict[str, Content] = {SCENARIO: scenario_file(scenario, study.inputs, _HEADING)}
    # The network of the file is not used where one is inferred.
    if "inferred_network" not in estimates.tables:
        files |= network_files(scenario.agent_network, **_stubbornness(scenario))
    else:
        meanings["agents.csv"] = "the agents, with what is inferred of each"
        study = replace(study, contents=f"{study.contents}. Its network was not used, so there is no edges.csv")
    write_estimates(estimates, out, replace(study, meanings=meanings), files if is_folder(out) else {})


def _stubbornness(scenario: Scenario) -> dict[str, Array]:
    """Return the stubbornness of the agents; with topics, each pair of agent and topic has one, and agents none."""
    return {} if scenario.topics is not None else {"stubbornness": scenario.model().s}


_HEADING = "# The scenario that the estimates assume; its hidden opinions and its run are not used.\n"


def _kind(figure: Path) -> str:
    kind = figure.suffix.removeprefix(".").lower()
    if kind not in ("png", "pdf", "svg"):
        remedy = "use a name that ends in .png, .pdf or .svg"
        raise InvalidInputError(message("a figure must be a PNG, PDF or SVG file", got=figure.name, remedy=remedy))
    return kind


def _draw(one: Estimate, file: Path) -> None:
    from peerpressure.plotting import fit_diagnostics, render

    if one.diagnostics is not None:
        drawn = render(fit_diagnostics(one.diagnostics), _kind(file))
        with replacing(file) as target:
            target.write(drawn)


def _shown(estimates: list[Estimate], table: pd.DataFrame) -> list[Table | str]:
    from peerpressure.recovery.estimate import heading, rows

    parts: list[Table | str] = []
    for one in estimates:
        # The terminal shows one replicate; all of them may be thousands of rows.
        first = table[(table["method"] == one.method) & (table["replicate"] == table["replicate"].min())]
        names = [*one.model.network.name_columns([])]
        lines = [
            (*own, f"{row.value:.4f}", f"{row.std:.4f}") if row.identified else (*own, "open", "")
            for row in first.head(SHOWN).itertuples()
            for own in [[str(getattr(row, name)) for name in names]]
        ]
        facts = [f"  {name}: {value}" for name, value in rows(one) if not name.startswith("  ")]
        parts += [
            "\n".join([heading(one), *facts]),
            columns(None, (*names, "estimate", "standard error"), lines, text=len(names)),
        ]
        if len(first) > SHOWN:
            parts.append(f"and {len(first) - SHOWN:,} more agents; --out FILE or --json has all of them")
    return parts


def _number(value: Any) -> str:
    return f"{value:.4f}" if math.isfinite(value) else "-"


def inferred(topic: str, estimate: NetworkEstimate) -> TopicAnswer:
    """Return the answer on an inferred network."""
    import pandas as pd

    edges = estimate.to_dataframe().sort_values("weight", ascending=False, ignore_index=True, key=abs)
    agents = {
        "agent": list(estimate.labels),
        "hidden": estimate.hidden.tolist(),
        "hidden_std": estimate.hidden_std.tolist(),
        "noise_std": estimate.noise_std.tolist(),
        "scale_std": estimate.scale_std.tolist(),
        "goodness_of_fit": estimate.goodness_of_fit.tolist(),
        "steps": estimate.steps.tolist(),
    }
    rows = [dict(zip(agents, row, strict=True)) for row in zip(*agents.values(), strict=True)]
    facts = {
        "symmetric": estimate.symmetric,
        "signed": estimate.signed,
        "unobserved": estimate.unobserved,
        "log_likelihood": estimate.log_likelihood,
        "distrust_p_value": estimate.distrust_p_value,
        "notes": list(estimate.notes),
    }
    return TopicAnswer(
        topic,
        {"inferred_network": edges, "agents": pd.DataFrame(rows)},
        # Notes are apart, and the columns of the text are for a terminal.
        [" ".join(line.split()) for line in str(estimate).partition("\n  note ")[0].splitlines()],
        _shown_network(estimate, edges),
        facts | {"edges": edges.to_dict(orient="records"), "agents": rows},
    )


def _shown_network(estimate: NetworkEstimate, edges: pd.DataFrame) -> list[Table | str]:
    lines = [
        (str(row.agent), str(row.neighbour), *(_number(x) for x in (row.weight, row.std, row.confidence)))
        for row in edges.head(SHOWN).itertuples()
    ]
    names = ("agent", "listens to", "weight", "standard error", "confidence")
    parts: list[Table | str] = [str(estimate), columns(None, names, lines)]
    if len(edges) > SHOWN:
        parts.append(f"and {len(edges) - SHOWN:,} more edges; --out FILE or --json has all of them")
    return parts
