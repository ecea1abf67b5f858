"""The questions that a page may ask, in two tables; each is one function from a request to an answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, final

from peerpressure.errors import message
from peerpressure.explorer.answers import exact_answer, network_answer, pressure_answer, run_answer
from peerpressure.explorer.encoding import MEDIA_TYPE, json_bytes
from peerpressure.explorer.exports import csv_file, netcdf_file, toml_file
from peerpressure.explorer.jobs import CancellationToken
from peerpressure.explorer.models import ModelCache
from peerpressure.explorer.observer import observe_answer
from peerpressure.explorer.requests import RequestError
from peerpressure.explorer.script import script
from peerpressure.explorer.upload import upload_answer

Body: TypeAlias = Mapping[str, Any]
_JSON = "application/json"
# Sections that do not matter to a question do not stand in its way while they are being written.
_LOOKING_ON = ("observe", "privacy")
_MOVING = ("pressure", "noise", "time", *_LOOKING_ON)


@final
@dataclass(frozen=True)
class Answer:
    """Bytes of some media type; a name makes them a file to keep."""

    body: bytes
    media_type: str = MEDIA_TYPE
    name: str | None = None


@final
@dataclass(frozen=True)
class Question:
    """What makes the answer, and whether the request brings bytes as they are instead of JSON."""

    answer: Callable[[ModelCache, Body, CancellationToken], Answer]
    raw: bool = False


def _network(cache: ModelCache, body: Body, token: CancellationToken) -> Answer:
    model = cache.prepare(body, token, _MOVING).model
    return Answer(network_answer(model, cache.drawing(model.network)))


def _run(cache: ModelCache, body: Body, token: CancellationToken) -> Answer:
    return Answer(run_answer(cache.prepare(body, token, _LOOKING_ON), cache.limits))


def _exact(cache: ModelCache, body: Body, token: CancellationToken) -> Answer:
    return Answer(exact_answer(cache.prepare(body, token, _LOOKING_ON), body, cache.limits))


def _pressure(cache: ModelCache, body: Body, token: CancellationToken) -> Answer:
    return Answer(json_bytes(pressure_answer(cache.prepare(body, token, _LOOKING_ON), cache.limits)), _JSON)


def _observe(cache: ModelCache, body: Body, token: CancellationToken) -> Answer:
    return Answer(observe_answer(cache.prepare(body, token), cache.limits))


def _upload(cache: ModelCache, body: Body, token: CancellationToken) -> Answer:
    return Answer(json_bytes(upload_answer(body["name"], body["data"], cache.limits)), _JSON)


def _toml(cache: ModelCache, body: Body, token: CancellationToken) -> Answer:
    asked = cache.prepare(body, token)
    return Answer(toml_file(asked), "application/toml", "peerpressure.toml")


def _csv(cache: ModelCache, body: Body, token: CancellationToken) -> Answer:
    asked = cache.prepare(body, token, _LOOKING_ON)
    return Answer(csv_file(asked, cache.limits), "text/csv", "peerpressure.csv")


def _netcdf(cache: ModelCache, body: Body, token: CancellationToken) -> Answer:
    asked = cache.prepare(body, token, _LOOKING_ON)
    return Answer(netcdf_file(asked, cache.limits), "application/x-netcdf", "peerpressure.nc")


def _python(cache: ModelCache, body: Body, token: CancellationToken) -> Answer:
    asked = cache.prepare(body, token)
    return Answer(script(asked.scenario).encode(), "text/x-python", "peerpressure_run.py")


def _figure(cache: ModelCache, body: Body, token: CancellationToken) -> Answer:
    # Matplotlib takes a second to load, and many a user never draws.
    from peerpressure.explorer.exports import KINDS, SUBJECTS, picture

    what, kind, time = str(body.get("what")), str(body.get("format")), body.get("time", 0)
    if what not in SUBJECTS or kind not in KINDS or isinstance(time, bool) or not isinstance(time, int | float):
        rule = f"a picture must be of {', '.join(SUBJECTS)} at a time, as {' or '.join(KINDS)}"
        raise RequestError(422, message(rule, got=ascii([what, time, kind])[:80], remedy="name one of each"))
    asked = cache.prepare(body, token)
    return Answer(picture(asked, what, time, kind, cache), KINDS[kind], f"peerpressure-{what}.{kind}")


QUESTIONS: Mapping[str, Question] = {
    "network": Question(_network),
    "run": Question(_run),
    "exact": Question(_exact),
    "pressure": Question(_pressure),
    "observe": Question(_observe),
    "upload": Question(_upload, raw=True),
}
EXPORTS: Mapping[str, Question] = {
    "toml": Question(_toml),
    "csv": Question(_csv),
    "netcdf": Question(_netcdf),
    "python": Question(_python),
    "figure": Question(_figure),
}
