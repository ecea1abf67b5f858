"""Commands that run alike draw their figures once."""

from __future__ import annotations

import pytest

from tests.in_process import drawn_once, worker_here

__all__ = ["drawn_once", "worker_here"]


@pytest.fixture(autouse=True)
def _drawn_once(drawn_once: None) -> None:
    """Applies to all tests here."""
