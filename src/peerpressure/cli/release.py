"""``peerpressure release``: public opinions that may be published, with a guarantee."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from peerpressure.cli.terminal import AsJson, check_folder, open_scenario, print_json, progress_line, show
from peerpressure.support.files import declare_output

if TYPE_CHECKING:
    from peerpressure.scenario import Scenario


def release(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The scenario, with hidden opinions of its own and without a seed.")
    ],
    out: Annotated[Path, typer.Option(help="Folder for the release, new or empty.")],
    epsilon: Annotated[
        float | None, typer.Option(help="Scale the noise to this budget; by default it is that of the scenario.")
    ] = None,
    with_network: Annotated[
        bool, typer.Option("--with-network", help="The network is public: publish it too.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Simulate with noise that cannot be reproduced, and write only what may be published, with its guarantee.

    This releases simulated opinions, not a survey. Writes public opinions from step 1 on to opinions.csv, and the
    guarantee with its definition to statement.txt and, machine-readable, to release.json. Hidden opinions and seeds
    are neither written nor printed. Delta, sensitivity, insiders and unit come from [privacy].

    The operating system draws the noise, so the scenario must have no seed. Noise must be Gaussian or Laplace, white
    or frozen, and the start public. A second release of the same opinions adds its epsilon and delta to the first.

    Example: peerpressure release scenario.toml --out published --epsilon 1
    """
    scenario = open_scenario(file)
    check_folder(out)
    _require_secrets(scenario)
    from peerpressure.privacy import release as made
    from peerpressure.scenario.scenario import Privacy
    from peerpressure.scenario.section import as_labels
    from peerpressure.support.files import require_new_folder

    require_new_folder(out, "a release")
    declare_output(out)
    asked, run = scenario.privacy or Privacy(), scenario.run
    with progress_line() as show_stage:
        show_stage("simulating")
        released = made(
            # An SDE is refused there, with its reason.
            scenario.system(),  # type: ignore[arg-type]
            run.steps,
            epsilon=epsilon,
            delta=asked.delta,
            sensitivity=asked.sensitivity,
            runs=run.replicates,
            insiders=as_labels(asked.insiders),
            unit=asked.unit,
            public_start="published" if asked.public_start == "published" else scenario.public_start,
            public_network=with_network,
            record=run.recording(),
        )
    written = released.write(out)
    if as_json:
        facts = {"epsilon": released.epsilon, "delta": released.delta, "statement": dict(released.statement)}
        print_json(facts | {"folder": out, "files": written})
        return
    show(str(released), f"{len(written)} files in {out}, which may be published")


def _require_secrets(scenario: Scenario) -> None:
    """Raise an error for a scenario from which anybody can compute what a release is to hide."""
    from peerpressure.errors import InvalidInputError, message

    if "seed" in scenario.run.model_fields_set:
        rule, remedy = "a release draws its noise from the operating system", "delete seed from [run]"
        raise InvalidInputError(message(rule, got=f"run.seed = {scenario.run.seed}", remedy=remedy))
    if scenario.drawn_hidden is not None:
        rule, remedy = "a release needs hidden opinions of its own", "give them in [agents] as a list or a file"
        raise InvalidInputError(message(rule, got=scenario.drawn_hidden, remedy=remedy))
