"""Which browser opens pages, for tests, benchmarks and the pictures and checks of the documentation."""

from __future__ import annotations

import shutil

# The first has no window to draw and takes a quarter less time for the same pages.
PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


def chromium() -> str | None:
    """Return the path of the system's Chromium, or None if there is none."""
    return next(filter(None, map(shutil.which, PROGRAMS)), None)
