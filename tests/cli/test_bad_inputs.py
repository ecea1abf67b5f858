"""Every bad input is answered by lines that a user can act on, and bad_inputs.md shows them."""

from __future__ import annotations

import tempfile

from tests.cli.bad_inputs import CASES, PAGE, answers, page, without_libraries


def test_bad_inputs_are_answered_in_a_line_for_each_problem() -> None:
    count = 0
    for title, cases in CASES.items():
        for case, found in zip(cases, answers()[title], strict=True):
            assert found.status == case.status, (case, found)
            assert found.lines, case
            assert found.written == [], case
            # Several lines are several problems, each with a remedy after the semicolon.
            told = found.lines[1:] if case.command.startswith("check") else found.lines
            assert all("; " in line or "use peerpressure" in line for line in told), found
            text = " ".join(found.lines)
            assert not any(word in text for word in ("Traceback", "()", tempfile.gettempdir())), text
            count += 1
    assert count >= 100


def test_the_page_of_bad_inputs_is_up_to_date() -> None:
    # Otherwise: python -m tests.cli.bad_inputs
    assert without_libraries(page()) == without_libraries(PAGE.read_text(encoding="utf-8"))
