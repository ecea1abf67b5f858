"""The web application: the page, its static files, and a function from request to answer for each route."""

from __future__ import annotations

import contextlib
import mimetypes
import os
import re
import sys
import threading
import traceback
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from peerpressure.errors import message
from peerpressure.explorer.answers import (
    PANELS,
    PanelAnswer,
    agent_network,
    exact_answer,
    network_answer,
    run_answer,
)
from peerpressure.explorer.bundle import STATIC, page
from peerpressure.explorer.catalogue import catalogue
from peerpressure.explorer.exports import KINDS, SUBJECTS, Look, csv_file, netcdf_file, picture, python_file, toml_file
from peerpressure.explorer.jobs import JobQueue
from peerpressure.explorer.models import ModelCache, upload_answer
from peerpressure.explorer.protocol import (
    MEDIA_TYPE,
    Limits,
    RequestError,
    error_answer,
    error_body,
    json_bytes,
    read_bytes,
    read_json,
)
from peerpressure.explorer.recorded import record
from peerpressure.explorer.server import LOOPBACK, Guard, bracketed

Body: TypeAlias = Mapping[str, Any]
_JSON = "application/json"
# Sections that an answer does not depend on are left out: mistakes in them must not prevent it.
_OBSERVER = ("observe", "privacy")
_DYNAMICS = ("pressure", "noise", "time", *_OBSERVER)


@final
@dataclass(frozen=True)
class Answer:
    """The content of a response; with a ``name`` the browser saves it as a file."""

    content: bytes
    media_type: str = MEDIA_TYPE
    name: str | None = None


@final
@dataclass(frozen=True)
class ApiRoute:
    """A function that computes the answer; ``raw`` requests hold the bytes of a file instead of JSON."""

    answer: Callable[[ModelCache, Body], Answer]
    raw: bool = False


def _network(cache: ModelCache, body: Body) -> Answer:
    built = cache.build(body, _DYNAMICS)
    network = agent_network(built)
    return Answer(network_answer(built.model, cache.drawing(network), network))


def _run(cache: ModelCache, body: Body) -> Answer:
    topic = body.get("topic", 0)
    if isinstance(topic, bool) or not isinstance(topic, int) or topic < 0:
        rule, remedy = "a topic must be a number from 0 on", "leave it out for the first"
        raise RequestError(422, message(rule, got=ascii(topic)[:40], remedy=remedy))
    return Answer(run_answer(cache.build(body, _OBSERVER), cache.limits, topic))


def _exact(cache: ModelCache, body: Body) -> Answer:
    return Answer(exact_answer(cache.build(body, _OBSERVER), body, cache.limits))


def _check(cache: ModelCache, body: Body) -> Answer:
    cache.build(body, _OBSERVER)  # raises if the scenario is not valid
    return Answer(json_bytes({}), _JSON)


def _panel(panel: PanelAnswer, cache: ModelCache, body: Body) -> Answer:
    return Answer(panel.answer(cache.build(body, panel.independent_of), cache.limits))


def _upload(cache: ModelCache, body: Body) -> Answer:
    return Answer(json_bytes(upload_answer(body["name"], body["data"], cache.limits, body["edges"])), _JSON)


def _toml(cache: ModelCache, body: Body) -> Answer:
    return Answer(toml_file(cache.build(body)), "application/toml", "peerpressure.toml")


def _csv(cache: ModelCache, body: Body) -> Answer:
    return Answer(csv_file(cache.build(body, _OBSERVER), cache.limits), "text/csv", "peerpressure.csv")


def _netcdf(cache: ModelCache, body: Body) -> Answer:
    content = netcdf_file(cache.build(body, _OBSERVER), cache.limits)
    return Answer(content, "application/x-netcdf", "peerpressure.nc")


def _python(cache: ModelCache, body: Body) -> Answer:
    return Answer(python_file(cache.build(body).scenario), "text/x-python", "peerpressure_run.py")


def _figure(cache: ModelCache, body: Body) -> Answer:
    what, kind, time = str(body.get("what")), str(body.get("format")), body.get("time", 0)
    if what not in SUBJECTS or kind not in KINDS or isinstance(time, bool) or not isinstance(time, int | float):
        rule = f"a picture must be of {', '.join(SUBJECTS)} at a time, as {' or '.join(KINDS)}"
        raise RequestError(422, message(rule, got=ascii([what, time, kind])[:80], remedy="name one of each"))
    flags = (body.get(name) is True for name in ("log_time", "log_size", "zoom_colours"))
    look = Look(time, str(body.get("colour")), *flags)
    # Other pictures do not depend on the observer.
    content = picture(cache.build(body, () if what in ("observer", "privacy") else _OBSERVER), what, look, kind, cache)
    return Answer(content, KINDS[kind], f"peerpressure-{what}.{kind}")


def _page(cache: ModelCache, body: Body) -> Answer:
    view = body.get("view") or {}
    if not isinstance(view, dict) or not isinstance(view.get("agents", []), list):
        rule, remedy = "the view of a page must be an object, with agents in a list", "send {view: {agents: [0, 1]}}"
        raise RequestError(400, message(rule, got=ascii(view)[:80], remedy=remedy))
    state = {"scenario": body.get("scenario"), "view": view, "other": body.get("other")}
    recording = record(state, cache.limits, "peerpressure explore scenario.toml --export page.html")
    return Answer(str(page(recording)).encode(), "text/html", "peerpressure.html")


API: Mapping[str, ApiRoute] = {
    "network": ApiRoute(_network),
    "run": ApiRoute(_run),
    "exact": ApiRoute(_exact),
    "check": ApiRoute(_check),
    # Each is an answer of its own: one that takes long, or none, does not hold up the others.
    **{name: ApiRoute(partial(_panel, panel)) for name, panel in PANELS.items()},
    "upload": ApiRoute(_upload, raw=True),
    "export/toml": ApiRoute(_toml),
    "export/csv": ApiRoute(_csv),
    "export/netcdf": ApiRoute(_netcdf),
    "export/python": ApiRoute(_python),
    "export/figure": ApiRoute(_figure),
    "export/page": ApiRoute(_page),
}


# Python knows this type only on systems that list it.
mimetypes.add_type("font/woff2", ".woff2")
# Tab names become keys of a dictionary, so their length is bounded.
_TAB = re.compile(r"[A-Za-z0-9_-]{1,64}")


def create_app(
    *, limits: Limits | None = None, hosts: Collection[str] = LOOPBACK, default: Mapping[str, Any] | None = None
) -> Starlette:
    """Return the application; it answers to the host names ``hosts`` only, and its page opens in the ``default`` state.

    ``app.state.queue`` is the job queue. A server uses it to cancel all jobs before it waits for open requests.
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

    async def show_page(request: Request) -> Response:
        # The page is revalidated each time: an upgrade of the package shows at the next reload.
        return FileResponse(STATIC / "index.html", headers={"cache-control": "no-cache"})

    async def show_catalogue(request: Request) -> Response:
        return Response(choices, media_type="application/json")

    routes = [Route("/", show_page), Route("/api/catalogue", show_catalogue)]
    routes += [_endpoint(f"/api/{name}", route, queue, cache) for name, route in API.items()]
    app = Starlette(
        routes=[*routes, Mount("/static", PageFiles(directory=STATIC))],
        # Headers are set on the refusals of hosts as well.
        middleware=[
            Middleware(Guard),
            Middleware(TrustedHostMiddleware, allowed_hosts=[*map(bracketed, hosts)], www_redirect=False),
        ],
        exception_handlers={HTTPException: _http_error},
        lifespan=lifespan,
    )
    app.state.queue = queue
    return app


class PageFiles(StaticFiles):
    """The files of the page."""

    def lookup_path(self, path: str) -> tuple[str, os.stat_result | None]:
        """Return the file of a path and its status, None if there is no such file."""
        # The system refuses such a name, and some versions of Starlette let its error through as status 500.
        return ("", None) if "\0" in path else super().lookup_path(path)


def _endpoint(path: str, route: ApiRoute, queue: JobQueue, cache: ModelCache) -> Route:
    async def handle(request: Request) -> Response:
        async def disconnected() -> None:
            # The body has been read by now, so any other message can be dropped.
            while (await request.receive())["type"] != "http.disconnect":
                pass

        try:
            # The route is part of the client: a run must not supersede the network beside it.
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
        asked = {name: request.query_params.get(name, "") for name in ("name", "edges")}
        return asked | {"data": await read_bytes(request, limits.upload_bytes)}
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
    """Load libraries and compiled loops in a thread while the browser opens, to make the first request fast."""
    # A daemon thread does not delay the end of the server.
    threading.Thread(target=_load_everything, name="warm-up", daemon=True).start()


def _load_everything() -> None:
    from peerpressure.explorer.layout import dot_radii, drawing
    from peerpressure.model import Model
    from peerpressure.networks import barabasi_albert
    from peerpressure.noise import Gaussian
    from peerpressure.privacy import budget, exposure
    from peerpressure.recovery import recover
    from peerpressure.simulation import simulate
    from peerpressure.theory import diagnose

    # As small as possible: the point is to load and compile, not to compute.
    model = Model(barabasi_albert(20, 2, seed=1), hidden=[0.0, 1.0] * 10, noise=Gaussian(1.0))
    dot_radii(drawing(model.network), model.network.degrees)
    # One replicate and many use different compiled loops.
    for replicates in (20, 1):
        run = simulate(model, 2, replicates)
    diagnose(model, 2)
    recover(run, model, "ols")
    exposure(model, 2)
    budget(model, 2)
