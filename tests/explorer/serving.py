"""The explorer as ``peerpressure explore`` starts it, except that an answer is computed once for all tests that ask.

``python -m tests.explorer.serving --port 0 --no-browser``. Questions still pass the guard, the queue and the bounds on
time, and are still cancelled. What the server answers, and that it does so anew, is tested without a browser.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace

from peerpressure.cli import main
from peerpressure.explorer import app
from peerpressure.explorer.app import Answer, ApiRoute, Body
from peerpressure.explorer.models import ModelCache

# What a page asks for whenever a scenario changes; files are asked for by hand.
REPEATED = [name for name in app.API if name != "upload" and not name.startswith("export/")]


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


if __name__ == "__main__":
    app.API = routes()
    sys.argv[1:] = ["explore", *sys.argv[1:]]
    main()
