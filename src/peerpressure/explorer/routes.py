"""The routes of the page's requests: one function from the body of a request to its answer for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, final

from peerpressure.errors import message
from peerpressure.explorer.answers import exact_answer, network_answer, observe_answer, pressure_answer, run_answer
from peerpressure.explorer.encoding import MEDIA_TYPE, json_bytes
from peerpressure.explorer.exports import KINDS, SUBJECTS, csv_file, netcdf_file, picture, toml_file
from peerpressure.explorer.models import ModelCache, upload_answer
from peerpressure.explorer.requests import RequestError
from peerpressure.explorer.script import script

Body: TypeAlias = Mapping[str, Any]
_JSON = "application/json"
# Sections that an answer does not depend on are left out, so that mistakes in them do not prevent it.
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
    model = cache.build(body, _DYNAMICS).model
    return Answer(network_answer(model, cache.drawing(model.network)))


def _run(cache: ModelCache, body: Body) -> Answer:
    return Answer(run_answer(cache.build(body, _OBSERVER), cache.limits))


def _exact(cache: ModelCache, body: Body) -> Answer:
    return Answer(exact_answer(cache.build(body, _OBSERVER), body, cache.limits))


def _pressure(cache: ModelCache, body: Body) -> Answer:
    return Answer(json_bytes(pressure_answer(cache.build(body, _OBSERVER), cache.limits)), _JSON)


def _observe(cache: ModelCache, body: Body) -> Answer:
    return Answer(observe_answer(cache.build(body), cache.limits))


def _upload(cache: ModelCache, body: Body) -> Answer:
    return Answer(json_bytes(upload_answer(body["name"], body["data"], cache.limits)), _JSON)


def _toml(cache: ModelCache, body: Body) -> Answer:
    return Answer(toml_file(cache.build(body)), "application/toml", "peerpressure.toml")


def _csv(cache: ModelCache, body: Body) -> Answer:
    return Answer(csv_file(cache.build(body, _OBSERVER), cache.limits), "text/csv", "peerpressure.csv")


def _netcdf(cache: ModelCache, body: Body) -> Answer:
    content = netcdf_file(cache.build(body, _OBSERVER), cache.limits)
    return Answer(content, "application/x-netcdf", "peerpressure.nc")


def _python(cache: ModelCache, body: Body) -> Answer:
    return Answer(script(cache.build(body).scenario).encode(), "text/x-python", "peerpressure_run.py")


def _figure(cache: ModelCache, body: Body) -> Answer:
    what, kind, time = str(body.get("what")), str(body.get("format")), body.get("time", 0)
    if what not in SUBJECTS or kind not in KINDS or isinstance(time, bool) or not isinstance(time, int | float):
        rule = f"a picture must be of {', '.join(SUBJECTS)} at a time, as {' or '.join(KINDS)}"
        raise RequestError(422, message(rule, got=ascii([what, time, kind])[:80], remedy="name one of each"))
    content = picture(cache.build(body), what, time, kind, cache)
    return Answer(content, KINDS[kind], f"peerpressure-{what}.{kind}")


API: Mapping[str, ApiRoute] = {
    "network": ApiRoute(_network),
    "run": ApiRoute(_run),
    "exact": ApiRoute(_exact),
    "pressure": ApiRoute(_pressure),
    "observe": ApiRoute(_observe),
    "upload": ApiRoute(_upload, raw=True),
    "export/toml": ApiRoute(_toml),
    "export/csv": ApiRoute(_csv),
    "export/netcdf": ApiRoute(_netcdf),
    "export/python": ApiRoute(_python),
    "export/figure": ApiRoute(_figure),
}
