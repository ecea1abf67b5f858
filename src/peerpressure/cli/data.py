"""Commands that estimate from a table of answers: ``recover``, ``fit``, ``infer``, ``compare`` and ``response``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import typer

from peerpressure.cli.estimates import (
    HELP,
    NETWORK,
    Agents,
    Answers,
    Directed,
    Found,
    MeasurementNoise,
    Origin,
    Page,
    Rounding,
    Scale,
    Step,
    carry_out,
    is_folder,
    kept,
    network_of,
    observation_of,
    study_of_tables,
    words,
)
from peerpressure.cli.options import NoiseLaw, Pressure, scenario_of
from peerpressure.cli.terminal import AsJson, listing_problems, open_scenario
from peerpressure.errors import InvalidInputError, message
from peerpressure.support.files import declare_output, replacing

if TYPE_CHECKING:
    from peerpressure.fitting import LikelihoodFit
    from peerpressure.model import Model
    from peerpressure.model.step import Array
    from peerpressure.networks import Network, TemporalNetwork
    from peerpressure.recovery import Estimate, NetworkEstimate
    from peerpressure.report.estimates import Estimates
    from peerpressure.report.folder import Study
    from peerpressure.report.store import Content
    from peerpressure.scenario import Scenario

Stage: TypeAlias = Callable[[str], None]
Target: TypeAlias = Literal["initial", "current"]
Deviations: TypeAlias = Literal["common", "agent"]
Start: TypeAlias = Literal["hidden", "public"]
First: TypeAlias = Literal["before", "after"]
OPINIONS = "Estimates from public opinions"
ALONE = "each topic is inferred on its own: its network uses no answers of other topics"


# Hidden opinions.


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
            help="auto, innovations, kalman, ols and others; may be repeated. If left out, those of [observe], or "
            "auto, which takes one that can read the table."
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
    Observed agents, times and the prior come from its [observe]. If hidden opinions adapt, --target chooses initial or
    current ones. With a column topic, each topic is estimated separately. Standard errors are exact under the model,
    which is tested against the data. If the network is unknown, use peerpressure infer.

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
    given = {"network": network, "direction": "listens" if directed else None, "pressure": pressure, "noise": noise}
    study = _scenario(scenario, {name: value for name, value in given.items() if value is not None})

    def find(show_stage: Stage) -> Found:
        from peerpressure.recovery import recover as recover_opinions
        from peerpressure.report.estimates import together
        from peerpressure.scenario import read_answers
        from peerpressure.scenario.scenario import Observe

        show_stage("reading")
        system, asked = study.system(), study.observe or Observe()
        seen = read_answers(answers, system, step or asked.step, origin or asked.origin)
        if figure is not None and len(seen.runs) > 1:
            rule, got = "a figure shows the fit to one topic", ", ".join(map(repr, seen.runs))
            raise InvalidInputError(message(rule, got=got, remedy="leave out --figure, or pass a table of one topic"))
        show_stage("estimating")
        found: dict[str, Estimates] = {}
        look, prior = study.observation(), study.prior()
        for topic, run in seen.runs.items():
            if unknown_network:
                found[topic] = _inferred(study.infer_network(run))
                continue
            # Options override [observe], which overrides the defaults.
            methods, wanted = method or asked.methods, target or asked.target
            estimates = [recover_opinions(run, system, name, look, prior, wanted) for name in methods]
            show_stage("testing the fit")
            # The fit is that of the model and not of a method, and so it is tested once.
            estimates = [replace(one, diagnostics=estimates[0].diagnostics) for one in estimates]
            if figure is not None:
                _draw(estimates[0], figure)
            found[topic] = _recovered(estimates)
        notes = [ALONE] if unknown_network and len(found) > 1 else []
        return Found(
            together(found, notes),
            f"{answers}: {seen.description}",
            lambda: _kept(context, study, scenario, inferred=unknown_network),
        )

    carry_out(context, find, as_json=as_json)


def _scenario(file: Path | None, given: Mapping[str, object]) -> Scenario:
    """Return the scenario of the file, if any, with what the options give; its length is that of the answers."""
    if file is None and not {"network", "pressure", "noise"} <= given.keys():
        text = "give --scenario, or --network, --pressure and --noise"
        raise typer.BadParameter(text, param_hint="'--scenario'")
    if not given and file is not None:
        return open_scenario(file, needs_run=False)
    with listing_problems():
        return scenario_of(file, given)[0]


def _recovered(estimates: list[Estimate]) -> Estimates:
    import pandas as pd

    from peerpressure.recovery.estimate import heading, summary_rows
    from peerpressure.report.estimates import Estimates

    parts = [one.to_dataframe().assign(method=one.method) for one in estimates]
    # Columns in a fixed order: scripts read them by position as well.
    names = [*estimates[0].model.network.name_columns([])]
    table = pd.concat(parts, ignore_index=True)[["method", "replicate", *names, "value", "std", "identified"]]
    # Agents have a table.
    rows = [[f"{name}: {text}" for name, text in summary_rows(one) if name[0] != " "] for one in estimates]
    told = [[heading(one), *own] for one, own in zip(estimates, rows, strict=True)]
    facts = {"methods": [_facts(one) for one in estimates], "agents": table.to_dict(orient="records")}
    return Estimates(OPINIONS, [line for lines in told for line in lines], facts, {"estimates": table})


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


def _kept(
    context: typer.Context, scenario: Scenario, file: Path | None, *, inferred: bool
) -> tuple[Study, Mapping[str, Content]]:
    """Return what a folder has of estimates under a scenario: the scenario itself, and its network."""
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
    if not inferred:
        files |= network_files(scenario.agent_network, **_stubbornness(scenario))
    else:
        meanings["agents.csv"] = "the agents, with what is inferred of each"
        study = replace(study, contents=f"{study.contents}. Its network was not used, so there is no edges.csv")
    return replace(study, meanings=meanings), files


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


# Parameters.


def fit(
    context: typer.Context,
    answers: Answers,
    network: Annotated[Path, typer.Option(help=NETWORK)],
    unknown: Annotated[
        list[str] | None,
        typer.Option(
            help="What is unknown: constant, slope, exponent or pressure, and adaptation, autocorrelation, "
            "measurement_noise, std, agent_std, stubbornness; std and constant if none."
        ),
    ] = None,
    pressure: Annotated[
        str | None, typer.Option(help="Peer pressure where it is known, a number or a formula in t: 1.5, 0.5*t.")
    ] = None,
    agents: Agents = None,
    directed: Directed = False,
    rounding: Rounding = 0.0,
    scale: Scale = None,
    measurement_noise: MeasurementNoise = False,
    level: Annotated[float, typer.Option(help="Confidence level of the intervals.")] = 0.95,
    step: Step = None,
    origin: Origin = None,
    out: Annotated[
        Path | None, typer.Option(help=f"Also write all estimates to this .csv or .parquet file; {HELP}")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Estimate unknown parameters together with hidden opinions.

    Every estimate has an interval, infinite if the answers do not bound it. Declare scales, rounding and measurement
    errors with --scale, --rounding or --measurement-noise; otherwise pressure looks too weak.

    Example: peerpressure fit answers.csv --network friends.csv --unknown std --unknown slope
    """

    def find(show_stage: Stage) -> Found:
        from peerpressure.fitting import fit as fit_model
        from peerpressure.scenario import read_answers

        names = (unknown or ["std", "constant"]) + ["measurement_noise"] * measurement_noise
        look = observation_of(rounding, scale)
        show_stage("reading")
        graph = network_of(network, agents, directed=directed)
        model = _model(graph, pressure, names)
        seen = read_answers(answers, model, step, origin)
        if len(seen.runs) > 1:
            rule, got = "parameters are fitted to one topic", ", ".join(map(repr, seen.runs))
            raise InvalidInputError(message(rule, got=got, remedy="pass a table of one topic"))
        show_stage("fitting")
        fitted = fit_model(next(iter(seen.runs.values())), model, names, observation=look, level=level)
        return Found(_fitted(fitted), f"{answers}: {seen.description}", lambda: kept(context, graph))

    carry_out(context, find, as_json=as_json)


def _model(network: Network | TemporalNetwork, pressure: str | None, unknown: list[str]) -> Model:
    """Return the model whose unknown parameters are fitted; its own values of these are not used."""
    from peerpressure.model import Model
    from peerpressure.noise import Gaussian
    from peerpressure.schedules import Linear, Power

    course = Power(1.0, 1.0) if "exponent" in unknown else Linear()
    return Model(network, pressure=course if pressure is None else pressure, noise=Gaussian(1.0))


def _fitted(fitted: LikelihoodFit) -> Estimates:
    from peerpressure.report.estimates import Estimates

    table, tests = fitted.to_dataframe(), fitted.diagnostics
    facts = {
        "estimates": table.to_dict(orient="records"),
        "level": fitted.level,
        "log_likelihood": fitted.log_likelihood.tolist(),
        "aic": fitted.aic.tolist(),
        "bic": fitted.bic.tolist(),
        "number_of_parameters": fitted.number_of_parameters,
        "number_of_outputs": fitted.number_of_outputs,
        "p_value": None if tests is None or tests.p_value is None else tests.p_value.tolist(),
        "findings": {} if tests is None else dict(tests.findings),
        "failures": list(fitted.failures),
    }
    words = [line.strip() for line in fitted.summary().splitlines()]
    words += [] if tests is None else [f"{name}: {text}" for name, text in tests.summary() if name != "log-likelihood"]
    return Estimates("Parameters and hidden opinions", words, facts, {"estimates": table}, notes=fitted.notes)


# The network.


def infer(
    context: typer.Context,
    answers: Answers,
    pressure: Annotated[str, typer.Option(help="Peer pressure, a number or a formula in t: 1.5, 0.5*t.")],
    std: Annotated[
        Deviations, typer.Option(help="Whether all agents have the same noise, or each its own.")
    ] = "common",
    symmetric: Annotated[
        bool, typer.Option("--symmetric", help="Agents listen to each other with equal weights.")
    ] = False,
    signed: Annotated[bool, typer.Option("--signed", help="Weights may be negative, for distrust.")] = False,
    step: Step = None,
    origin: Origin = None,
    out: Annotated[
        Path | None, typer.Option(help=f"Also write the edges to this .csv or .parquet file; {HELP}")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Infer who listens to whom from public opinions alone.

    Peer pressure must be known; network, stubbornness, hidden opinions and noise need not be. Weights have standard
    errors and confidences, and notes list caveats.

    Example: peerpressure infer answers.csv --pressure 1.5 --out edges.csv
    """

    def find(show_stage: Stage) -> Found:
        from peerpressure.recovery import infer_network, read_observations

        show_stage("inferring")
        seen, told = read_observations(answers, step=step, origin=origin)
        estimate = infer_network(seen, pressure, std=std, symmetric=symmetric, signed=signed)
        return Found(_inferred(estimate), f"{answers}: {told}", lambda: kept(context, None))

    carry_out(context, find, as_json=as_json)


def _inferred(estimate: NetworkEstimate) -> Estimates:
    import pandas as pd

    from peerpressure.report.estimates import Estimates

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
    }
    return Estimates(
        OPINIONS,
        # Notes are apart, and the columns of the text are for a terminal.
        [" ".join(line.split()) for line in str(estimate).partition("\n  note ")[0].splitlines()],
        facts | {"edges": edges.to_dict(orient="records"), "agents": rows},
        {"inferred_network": edges, "agents": pd.DataFrame(rows)},
        notes=estimate.notes,
        printed=("inferred_network",),
    )


# Whether people respond to each other.


def compare(
    context: typer.Context,
    answers: Answers,
    network: Annotated[Path | None, typer.Option(help=f"{NETWORK} Without it, only models without neighbours.")] = None,
    rival: Annotated[
        list[str] | None,
        typer.Option(help="A model to compare, such as none, constant or linear; may be repeated; all if left out."),
    ] = None,
    start: Annotated[
        Start, typer.Option(help="Whether the first row follows a hidden start, or is the public start itself.")
    ] = "hidden",
    agents: Agents = None,
    directed: Directed = False,
    rounding: Rounding = 0.0,
    scale: Scale = None,
    measurement_noise: MeasurementNoise = False,
    step: Step = None,
    origin: Origin = None,
    report: Page = None,
    out: Annotated[
        Path | None,
        typer.Option(help=f"Also write hidden opinions of all agents to this .csv or .parquet file; {HELP}"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare models of observed answers, and tell whether people respond to each other.

    Prints the answer in sentences, then the models with their weights. People are said to respond to their neighbours
    only if the best model says so and shuffling people over the network explains less. The answer may be that the data
    cannot tell. A badly fitting model is reported even if it is the best. For five rows or fewer, use peerpressure
    response.

    Declare scales, rounding and measurement errors as in peerpressure fit. On a scale, this takes about 8 seconds for
    60 people in six waves, and minutes for 200.

    Example: peerpressure compare answers.csv --network friends.csv --report report.html
    """
    if agents is not None and network is None:
        rule, remedy = "a table of agents completes a network", "add --network, or leave --agents out"
        raise InvalidInputError(message(rule, got=f"--agents {agents} alone", remedy=remedy))

    def find(show_stage: Stage) -> Found:
        from peerpressure.fitting import compare as compare_models
        from peerpressure.recovery import read_observations

        look = observation_of(rounding, scale)
        show_stage("reading")
        graph = None if network is None else network_of(network, agents, directed=directed)
        show_stage("comparing models")
        compared = compare_models(
            answers,
            graph,
            rival,
            start=start,
            observation=look,
            measurement_noise=measurement_noise,
            step=step,
            origin=origin,
        )
        show_stage("drawing")
        told = read_observations(answers, graph, step, origin)[1]
        return Found(compared.estimates(drawn=_drawn(out, report)), f"{answers}: {told}", lambda: kept(context, graph))

    carry_out(context, find, as_json=as_json)


def _drawn(out: Path | None, report: Path | None) -> bool:
    """Return whether a page is asked for, which has figures."""
    return report is not None or (out is not None and is_folder(out))


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
    permutations: Annotated[int, typer.Option(help="Number of shuffles of who sat where.")] = 999,
    seed: Annotated[int, typer.Option(help="Seed of the shuffles.")] = 0,
    report: Page = None,
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

    def find(show_stage: Stage) -> Found:
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
        return Found(found.estimates(drawn=_drawn(out, report)), "", lambda: (_study(context), {}))

    carry_out(context, find, as_json=as_json)


def _study(context: typer.Context) -> Study:
    meanings = {
        "rounds.csv": "weight of what was seen by round, and share of others in the answers since the first one",
        "people.csv": "weights of single people, those who respond least first, where people are known to differ",
    }
    contents = "contains answers of people: for study, not for release"
    return replace(study_of_tables(context, None), contents=contents, meanings=meanings)
