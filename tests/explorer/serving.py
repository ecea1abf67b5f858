"""The explorer as ``peerpressure explore`` starts it, with less work for tests of its page.

``python -m tests.explorer.serving --port 0 --no-browser``. An answer is computed once for all tests that ask, curves of
what an observer achieves and of inferred networks have fewer points, no clock cuts an answer short, and a browser may
keep the files of the page. Questions still pass the guard, the queue and the bounds on sizes, and are still cancelled.
What the server answers, and that it does so anew, is tested without a browser. It ends with its standard input, so not
even a test run that was killed leaves it behind.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from starlette.responses import Response

from peerpressure.cli import main
from peerpressure.explorer import answers, app
from peerpressure.explorer.app import Answer, ApiRoute, Body
from peerpressure.explorer.models import ModelCache
from peerpressure.explorer.protocol import Limits

# What a page asks for whenever a scenario changes; files are asked for by hand.
REPEATED = [name for name in app.API if name != "upload" and not name.startswith("export/")]


# Points of curves, in the place of several times as many.
COARSE: Mapping[str, Any] = {"MAX_RECOVERIES": 6, "NOISE_SCALES": (1.0, 4.0), "HORIZONS": 6, "MAX_TIMES": 3}
# A slow machine answers late, and the same.
PATIENT: Mapping[str, Any] = {"seconds": 3_600.0}


def remembering(compute: Callable[[ModelCache, Body], Answer]) -> Callable[[ModelCache, Body], Answer]:
    """Return a function that computes each answer once; a refusal, or one that was cancelled, is not remembered."""
    known: dict[str, Answer] = {}

    def answer(cache: ModelCache, body: Body) -> Answer:
        question = json.dumps(body, sort_keys=True)
        if question not in known:
            known[question] = compute(cache, body)
        return known[question]

    return answer


def routes() -> Mapping[str, ApiRoute]:
    """Return the routes of the application, with those that remember."""
    remembered = {name: replace(app.API[name], answer=remembering(app.API[name].answer)) for name in REPEATED}
    return {**app.API, **remembered}


class KeptFiles(app.PageFiles):
    """The files of the page, which do not change while tests run: a browser asks once for each."""

    def file_response(self, *given: Any, **more: Any) -> Response:
        """Return a file that a browser may keep."""
        response = super().file_response(*given, **more)
        response.headers["cache-control"] = "max-age=3600"
        return response


def end_with_input() -> None:
    """Wait for the end of what this process reads, which is the end of whoever started it, and end."""
    sys.stdin.read()
    os._exit(1)


if __name__ == "__main__":
    threading.Thread(target=end_with_input, daemon=True).start()
    app.API = routes()
    for name, value in COARSE.items():
        assert hasattr(answers, name)
        setattr(answers, name, value)
    vars(app)["Limits"] = partial(Limits, **PATIENT)
    app.PageFiles = KeptFiles  # type: ignore[misc]  # the same files, with another header
    sys.argv[1:] = ["explore", *sys.argv[1:]]
    main()
