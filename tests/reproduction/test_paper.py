"""Everything at once: all tables are there, as documented, and the same bytes each time."""

from __future__ import annotations

import ast
import inspect
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from docs.pages import claims_page

from peerpressure import reproduction
from peerpressure.errors import InvalidInputError
from peerpressure.networks import path
from peerpressure.plotting import FIGURES
from peerpressure.report.html import Image
from peerpressure.reproduction._beyond import beyond
from peerpressure.reproduction._convergence import approach, biased_consensus, convergence, noise_levels
from peerpressure.reproduction._experiments import small_evidence
from peerpressure.reproduction._page import SHARED, Provenance, _entries, about, columns_of, page
from peerpressure.reproduction._regression import residuals, two_agents_recovery
from peerpressure.reproduction._sweep import size_effect, sweep_ba
from peerpressure.reproduction.claims import CLAIMS, verdicts
from peerpressure.reproduction.design import scale_free_model
from tests.reproduction.small_paper import small_paper, tables_read

HEADING = re.compile(r"\nTables\n-+\n(.*)", re.DOTALL)
ENTRY = re.compile(r"^(\w+)\n((?: {4}.*\n?)+)", re.MULTILINE)
SINGLE = re.compile(r"The table ``(\w+)`` with columns (.*?)\n\n", re.DOTALL)


@pytest.fixture(scope="module")
def tables() -> dict[str, pd.DataFrame]:
    return small_paper().tables


def documented() -> dict[str, str]:
    """Return what the docstrings of functions and methods say of each table."""
    trees = [ast.parse(path.read_text()) for path in Path(reproduction.__file__).parent.rglob("*.py")]
    functions = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    texts = [inspect.cleandoc(ast.get_docstring(node) or "") for node in functions]
    sections = [match[1] for text in texts if (match := HEADING.search(text))]
    entries = [entry for section in sections for entry in ENTRY.findall(section)]
    return dict(entries + [entry for text in texts for entry in SINGLE.findall(text)])


def test_every_table_and_every_column_is_documented(tables: dict[str, pd.DataFrame]) -> None:
    words = documented()
    assert set(words) == set(tables)
    for name, text in words.items():
        missing = [column for column in tables[name].columns if not re.search(rf"\b{column}\b", text)]
        assert not missing, f"{name} does not document {missing}"


def test_the_dictionary_has_every_column_and_nothing_else(tables: dict[str, pd.DataFrame]) -> None:
    for name, table in tables.items():
        assert about(name)
        assert [entry.name for entry in columns_of(name, table.columns)] == table.columns.tolist()
        assert all(entry.meaning and entry.unit for entry in columns_of(name, table.columns))
    there = {(name, column) for name, table in tables.items() for column in table.columns}
    for name, column in _entries():
        if column and name != SHARED:
            assert (name, column) in there
        elif column:
            assert column in {known for _, known in there}
        else:
            assert name in tables


def test_spread_and_distances_have_one_definition_in_all_tables() -> None:
    names = ("spread", "max_distance", "weighted_distance")
    assert {table for table, column in _entries() if column in names} == {SHARED}


def test_a_column_that_is_not_in_the_dictionary_is_an_error() -> None:
    with pytest.raises(InvalidInputError, match=r"summary\.nonsense"):
        columns_of("summary", ["nonsense"])


def test_the_page_on_claims_is_current(tables: dict[str, pd.DataFrame]) -> None:
    # Otherwise: python docs/pages.py. Numbers of corrections depend on the size of samples, which is smaller here.
    page = (Path(__file__).parents[2] / "docs" / "reference" / "claims.md").read_text(encoding="utf-8")
    assert re.sub(r"\d+", "0", page) == re.sub(r"\d+", "0", claims_page(tables["audit"]))


def test_a_further_seed_has_a_verdict_on_every_claim_with_random_evidence() -> None:
    judged = verdicts(small_evidence(15), 15)
    assert len(judged) == sum(claim.random for claim in CLAIMS)
    assert set(judged["verdict"]) == {"confirmed", "corrected", "ambiguous", "refuted"}


def test_tables_are_filled_and_finite_where_they_are_numbers(tables: dict[str, pd.DataFrame]) -> None:
    for name, table in tables.items():
        assert len(table), name
        assert not table.isna().any(axis=None), name


def test_exact_and_sampled_numbers_agree(tables: dict[str, pd.DataFrame]) -> None:
    pairs = tables["exact_vs_sampled"]
    assert pairs["z"].abs().max() < 5


def test_stages_are_reported() -> None:
    told = small_paper().stages
    assert told[-1] == "claims against findings"
    assert len(told) == len(set(told))


def test_processes_side_by_side_do_linear_algebra_on_one_thread_each() -> None:
    assert small_paper().threads <= {1}  # none where the threads of this library cannot be told


def small_tables(seed: int) -> dict[str, pd.DataFrame]:
    """Return tables of every experiment that draws random numbers, at the least sizes."""
    model = scale_free_model(seed)
    small = replace(model, network=path(8), hidden=model.x0[:8], stubbornness=np.ones(8))
    return {
        **convergence(seed, 100, agents=20).tables(),
        **approach(small, 20, seed=seed),
        **biased_consensus(small, replicates=4, steps=20, seed=seed),
        "sweep": sweep_ba(seed, 3, sizes=[20], noises=[6.0]).cells,
        "size": size_effect(seed, 60, sizes=[20], families=[1]),
        "pair": two_agents_recovery(seed, 10).tables()["two_agents_estimates"],
        **residuals(seed, 5, agents=20).tables(),
        "noise": noise_levels(seed, 4, steps=100, levels=[1.0]).exponents,
        **beyond(seed, 3, agents=8, steps=20).tables(),
    }


def test_the_same_seed_gives_the_same_bytes_and_another_gives_others() -> None:
    first, again = ({name: table.to_csv(index=False) for name, table in small_tables(3).items()} for _ in range(2))
    assert first == again
    for name, table in (
        ("agents", convergence(4, 100, agents=20).tables()["agents"]),
        ("sweep", sweep_ba(4, 3, sizes=[20], noises=[6.0]).cells),
    ):
        assert table.to_csv(index=False) != first[name]


def test_the_page_has_every_claim_of_the_audit() -> None:
    dot, tables = Image("data:,", 10, 10), tables_read()
    text = page(tables, dict.fromkeys(FIGURES, dot), Provenance("1", 3, "", []))
    assert len(tables["audit"]) > 20
    for claim in tables["audit"]["id"]:
        assert f'id="claim-{claim}"' in text
