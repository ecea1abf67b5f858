"""The web application: the page, its static files, and the routes of its requests."""

from __future__ import annotations

import contextlib
import mimetypes
import re
import sys
import threading
import traceback
from collections.abc import AsyncIterator, Collection, Mapping
from functools import partial
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
from peerpressure.explorer.jobs import JobQueue
from peerpressure.explorer.limits import Limits
from peerpressure.explorer.models import ModelCache
from peerpressure.explorer.requests import RequestError, error_answer, error_body, read_bytes, read_json
from peerpressure.explorer.routes import API, ApiRoute
from peerpressure.explorer.security import LOOPBACK, Guard

STATIC = Path(__file__).parent / "static"
# Python knows this type only on systems that list it.
mimetypes.add_type("font/woff2", ".woff2")
# Tab names become keys of a dictionary, so that their length is bounded.
_TAB = re.compile(r"[A-Za-z0-9_-]{1,64}")


def create_app(
    *, limits: Limits | None = None, hosts: Collection[str] = LOOPBACK, default: Mapping[str, Any] | None = None
) -> Starlette:
    """Return the application; it answers to the host names ``hosts`` only, and its page opens in the ``default`` state.

    ``app.state.queue`` is the job queue, so that a server can cancel all jobs before it waits for open requests.
    """
    limits = limits or Limits()
    queue, cache = JobQueue(limits), ModelCache(limits)
    # Encoded once: it does not change while the server runs.
    choices = json_bytes(catalogue(limits, default))

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        warm_up()
        yield
        queue.close()

    async def page(request: Request) -> Response:
        # The page is revalidated each time, so that an upgrade of the package shows at the next reload.
        return FileResponse(STATIC / "index.html", headers={"cache-control": "no-cache"})

    async def show_catalogue(request: Request) -> Response:
        return Response(choices, media_type="application/json")

    routes = [Route("/", page), Route("/api/catalogue", show_catalogue)]
    routes += [_endpoint(f"/api/{name}", route, queue, cache) for name, route in API.items()]
    app = Starlette(
        routes=[*routes, Mount("/static", StaticFiles(directory=STATIC))],
        middleware=[Middleware(Guard, hosts=hosts)],
        exception_handlers={HTTPException: _http_error},
        lifespan=lifespan,
    )
    app.state.queue = queue
    return app


def _endpoint(path: str, route: ApiRoute, queue: JobQueue, cache: ModelCache) -> Route:
    async def handle(request: Request) -> Response:
        async def disconnected() -> None:
            # The body has been read by now, so that any other message can be dropped.
            while (await request.receive())["type"] != "http.disconnect":
                pass

        try:
            # The route is part of the client, so that a run does not supersede the network beside it.
            client = (_tab(request), path)
            body = await _body(request, route, queue.limits)
            answer = await queue.submit(client, partial(route.answer, cache, body), disconnected)
        except Exception as error:
            # Known errors get their status; all others are bugs, and the server stays up.
            return _error_response(*(error_answer(error) or _fault(error)))
        attached = {} if answer.name is None else {"content-disposition": f'attachment; filename="{answer.name}"'}
        return Response(answer.content, media_type=answer.media_type, headers=attached)

    return Route(path, handle, methods=["POST"])


def _tab(request: Request) -> str:
    """Return the name of the tab; a request without one counts as a tab of its own."""
    # The id is unique among the requests that are open, which is all that is needed.
    tab = request.headers.get("x-tab", f"{id(request):x}")
    if not _TAB.fullmatch(tab):
        rule, remedy = "X-Tab must be up to 64 letters, digits, - and _", "leave it out, or make one up for each page"
        raise RequestError(400, message(rule, got=ascii(tab[:80]), remedy=remedy))
    return tab


async def _body(request: Request, route: ApiRoute, limits: Limits) -> dict[str, Any]:
    if route.raw:
        return {"name": request.query_params.get("name", ""), "data": await read_bytes(request, limits.upload_bytes)}
    return await read_json(request, limits.request_bytes)


def _error_response(status: int, body: Mapping[str, Any]) -> Response:
    return Response(json_bytes(body), status, media_type="application/json")


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    # The texts of the framework begin with a capital; messages here do not.
    return _error_response(error.status_code, error_body(error.detail.lower()))


def _fault(error: Exception) -> tuple[int, dict[str, Any]]:
    """Return the answer for a bug, and print the traceback where the explorer was started."""
    traceback.print_exception(error, file=sys.stderr)
    return 500, error_body("this is a bug of the explorer; its traceback was printed where the explorer was started")


def warm_up() -> None:
    """Load libraries and compiled loops in a thread while the browser opens, so that the first request is fast."""
    # A daemon thread does not delay the end of the server.
    threading.Thread(target=_load_everything, name="warm-up", daemon=True).start()


def _load_everything() -> None:
    from peerpressure.explorer.layout import drawing
    from peerpressure.model import Model
    from peerpressure.networks import barabasi_albert
    from peerpressure.noise import Gaussian
    from peerpressure.privacy import budget, exposure
    from peerpressure.recovery import recover
    from peerpressure.simulation import simulate
    from peerpressure.theory import diagnose

    # As small as possible: the point is to load and compile, not to compute.
    model = Model(barabasi_albert(20, 2, seed=1), hidden=[0.0, 1.0] * 10, noise=Gaussian(1.0))
    drawing(model.network)
    # One replicate and many use different compiled loops.
    for replicates in (20, 1):
        run = simulate(model, 2, replicates)
    diagnose(model, 2)
    recover(model, run, "ols")
    exposure(model, 2)
    budget(model, 2)
