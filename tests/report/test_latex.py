"""Tables as LaTeX: plain ASCII, balanced, and with the numbers of the table."""

from __future__ import annotations

import shutil
from pathlib import Path

import pandas as pd
import pytest

from peerpressure.report.latex import escaped, to_latex
from tests import waiting


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        (0.25, "0.25"),
        (-1.5, "$-1.5$"),
        (3e-9, r"$3 \times 10^{-9}$"),
        (None, "--"),
        (True, "yes"),
        (7, "7"),
        ("a_b", r"a\_b"),
    ],
)
def test_cells(value: object, cell: str) -> None:
    assert f"\n{cell} \\\\\n" in to_latex(pd.DataFrame({"x": [value]}, dtype=object), "")


def test_accents_and_quotation_marks() -> None:
    assert escaped("“Σ̂” – Barabási") == r"``\ensuremath{\hat{\ensuremath{\Sigma}}}'' -- Barabasi"
    assert escaped("x̂₀ ≈ ½") == r"\ensuremath{\hat{x}}\textsubscript{0} \ensuremath{\approx} 1/2"
    assert escaped("ŷ") == r"\ensuremath{\hat{y}}"


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no LaTeX on this machine")
def test_latex_accepts_it(tmp_path: Path) -> None:
    table = to_latex(pd.DataFrame({"claim": ["σ̂²(QQᵀ)⁻¹ ≤ 50 % of ⟨σ²⟩ for w: E → ℝ"], "value": [-1e-7]}), "A_b")
    document = r"\documentclass{article}\usepackage{booktabs,amssymb}\begin{document}" + table + r"\end{document}"
    (tmp_path / "a.tex").write_text(document)
    done = waiting.run(["pdflatex", "-halt-on-error", "a.tex"], cwd=tmp_path)
    assert done.returncode == 0, done.stdout
