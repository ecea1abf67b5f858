"""The first question should not be the slow one: compiled loops and libraries are loaded while the browser opens."""

from __future__ import annotations

import contextlib
import mimetypes
import re
import sys
import threading
import traceback
from collections.abc import AsyncIterator, Collection, Mapping
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from peerpressure.errors import message
from peerpressure.explorer.catalogue import catalogue
from peerpressure.explorer.encoding import json_bytes
from peerpressure.explorer.jobs import CancellationToken, JobQueue
from peerpressure.explorer.limits import Limits
from peerpressure.explorer.models import ModelCache
from peerpressure.explorer.requests import RequestError, read_bytes, read_json, refusal_of
from peerpressure.explorer.routes import EXPORTS, QUESTIONS, Answer, Question
from peerpressure.explorer.security import LOOPBACK, Guard


def warm_up() -> threading.Thread:
    """Load in a thread of its own what the first questions will need."""
    thread = threading.Thread(target=_touch_everything, name="warming", daemon=True)
    thread.start()
    return thread


def _touch_everything() -> None:
    from peerpressure.explorer.layout import drawing
    from peerpressure.model import Model
    from peerpressure.networks import barabasi_albert
    from peerpressure.noise import Gaussian
    from peerpressure.privacy import budget, exposure
    from peerpressure.recovery import recover
    from peerpressure.simulation import simulate
    from peerpressure.theory import diagnose

    model = Model(barabasi_albert(20, 2, seed=1), hidden=[0.0, 1.0] * 10, noise=Gaussian(1.0))
    drawing(model.network)
    # One replicate and many take different loops.
    for replicates in (20, 1):
        run = simulate(model, 2, replicates)
    diagnose(model, 2)
    recover(model, run, "ols")
    exposure(model, 2)
    budget(model, 2)


# The explorer as a web application: pages, one table of questions, and answers that say what was wrong.

STATIC = Path(__file__).parent / "static"
# Python knows this type only from machines that list it.
mimetypes.add_type("font/woff2", ".woff2")
_TAB = re.compile(r"[A-Za-z0-9_-]{1,64}")


def create_app(
    *, limits: Limits | None = None, hosts: Collection[str] = LOOPBACK, default: Mapping[str, Any] | None = None
) -> Starlette:
    """Return the application; it answers to these names only, and its page begins with the ``default`` state."""
    bounds = limits or Limits()
    queue, cache = JobQueue(bounds), ModelCache(bounds)
    listed = json_bytes(catalogue(bounds, default))

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        warm_up()
        yield
        queue.close()

    async def page(request: Request) -> Response:
        return FileResponse(STATIC / "index.html", headers={"cache-control": "no-cache"})

    async def show_catalogue(request: Request) -> Response:
        return Response(listed, media_type="application/json")

    routes = [Route("/", page), Route("/api/catalogue", show_catalogue)]
    routes += [_route(f"/api/{name}", question, queue, cache) for name, question in QUESTIONS.items()]
    routes += [_route(f"/api/export/{name}", question, queue, cache) for name, question in EXPORTS.items()]
    app = Starlette(
        routes=[*routes, Mount("/static", StaticFiles(directory=STATIC))],
        middleware=[Middleware(Guard, hosts=hosts)],
        exception_handlers={HTTPException: _not_here},
        lifespan=lifespan,
    )
    # Whoever serves the application can call everything off before it waits for answers.
    app.state.queue = queue
    return app


def _route(path: str, question: Question, queue: JobQueue, cache: ModelCache) -> Route:
    async def handle(request: Request) -> Response:
        try:
            place = (_tab(request), path)
            body = await _body(request, question, queue.limits)

            def work(token: CancellationToken) -> Answer:
                return question.answer(cache, body, token)

            async def gone() -> None:
                while (await request.receive())["type"] != "http.disconnect":
                    pass

            found = await queue.do(place, work, gone)
        except Exception as error:
            return _refused(*(refusal_of(error) or _fault(error)))
        attached = {} if found.name is None else {"content-disposition": f'attachment; filename="{found.name}"'}
        return Response(found.body, media_type=found.media_type, headers=attached)

    return Route(path, handle, methods=["POST"])


def _tab(request: Request) -> str:
    """Return the name of the tab that asks; whoever gives none is alone in the world."""
    tab = request.headers.get("x-tab", f"{id(request):x}")
    if not _TAB.fullmatch(tab):
        rule, remedy = "X-Tab must be up to 64 letters, digits, - and _", "leave it out, or make one up for each page"
        raise RequestError(400, message(rule, got=ascii(tab[:80]), remedy=remedy))
    return tab


async def _body(request: Request, question: Question, limits: Limits) -> dict[str, Any]:
    if question.raw:
        return {"name": request.query_params.get("name", ""), "data": await read_bytes(request, limits.upload_bytes)}
    return await read_json(request, limits.request_bytes)


def _refused(status: int, told: Mapping[str, Any]) -> Response:
    return Response(json_bytes(told), status, media_type="application/json")


async def _not_here(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _refused(error.status_code, {"error": {"text": error.detail.lower(), "where": None}})


def _fault(error: Exception) -> tuple[int, dict[str, Any]]:
    """Answer for a fault of our own, and leave the details where they help to mend it."""
    traceback.print_exception(error, file=sys.stderr)
    text = "this is a fault of the explorer; what happened was written where it was started"
    return 500, {"error": {"text": text, "where": None}}
