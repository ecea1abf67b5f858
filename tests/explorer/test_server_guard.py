"""Who may ask, what may be sent, and what a browser is told about the answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

import httpx
import pytest
from pydantic import AfterValidator
from starlette.requests import Request

from peerpressure.explorer.app import API
from peerpressure.explorer.bundle import STATIC
from peerpressure.explorer.models import upload_answer
from peerpressure.explorer.protocol import Limits, RequestError, parse_json, read_bytes
from peerpressure.explorer.server import LOOPBACK
from peerpressure.scenario import Scenario
from peerpressure.scenario.section import InputFile, OutputFolder, Section
from tests.explorer.asking import SMALL, Asker, in_a_loop

FONT = "/static/vendor/inter/Inter.woff2"
PATHS = ["/", "/static/vendor/uplot/uPlot.esm.js", FONT, "/api/catalogue", "/api/run", "/nothing", "/static/nothing"]


@pytest.fixture(scope="module")
def asker(explorer: str) -> Iterator[Asker]:
    with Asker(explorer) as one:
        yield one


@pytest.mark.parametrize("path", PATHS)
def test_every_answer_is_sealed(asker: Asker, path: str) -> None:
    headers = asker.http.get(path).headers
    policy = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'self'"
    assert "unsafe" not in headers["content-security-policy"]
    assert not {"script-src", "style-src", "connect-src"} & set(policy)
    assert policy["frame-ancestors"] == policy["object-src"] == policy["base-uri"] == "'none'"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-resource-policy"] == headers["cross-origin-opener-policy"] == "same-origin"
    assert "access-control-allow-origin" not in headers
    assert "server" not in headers or "uvicorn" in headers["server"]


@pytest.mark.parametrize(
    "host", ["evil.com", "evil.com:80", "127.0.0.1.evil.com", "localhost.", "[::1", "127.0.0.1:x", "", "a b", "::1"]
)
def test_a_request_to_another_name_is_refused(asker: Asker, host: str) -> None:
    answer = asker.http.get("api/catalogue", headers={"host": host})
    # A Host that is no host at all does not even get past the HTTP parser.
    assert answer.status_code in (400, 403)
    assert "named" not in answer.text


@pytest.mark.parametrize("name", sorted(LOOPBACK))
def test_this_machines_own_names_are_known(asker: Asker, name: str) -> None:
    host = f"[{name}]:1234" if ":" in name else f"{name.upper()}:1234"
    assert asker.http.get("api/catalogue", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "origin", ["null", "http://evil.com", "https://127.0.0.1", "http://127.0.0.1", "http://localhost:1", "file://"]
)
def test_a_request_from_another_page_is_refused(asker: Asker, origin: str) -> None:
    answer = asker.http.post("api/run", json={"scenario": SMALL}, headers={"origin": origin})
    assert answer.status_code == 403


def test_a_request_from_the_page_itself_is_answered(asker: Asker, explorer: str) -> None:
    headers = {"origin": explorer.rstrip("/"), "sec-fetch-site": "same-origin", "sec-fetch-mode": "cors"}
    assert asker.http.post("api/run", json={"scenario": SMALL}, headers=headers).status_code == 200


def test_a_browser_that_says_another_site_asks_is_believed(asker: Asker) -> None:
    headers = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}
    assert asker.http.post("api/run", json={"scenario": SMALL}, headers=headers).status_code == 403
    # A link from elsewhere may open the page.
    headers = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    assert asker.http.get("/", headers=headers).status_code in (200, 404)


@pytest.mark.parametrize("name", [*API])
def test_questions_are_posted(asker: Asker, name: str) -> None:
    for method in ("GET", "PUT", "DELETE", "OPTIONS", "PATCH"):
        assert asker.http.request(method, f"api/{name}").status_code == 405


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_questions_are_json(asker: Asker, kind: str) -> None:
    answer = asker.http.post("api/run", content=json.dumps({"scenario": SMALL}), headers={"content-type": kind})
    assert answer.status_code == 415


def test_a_body_is_refused_as_soon_as_it_is_too_large() -> None:
    sent = 0

    async def endless() -> dict[str, Any]:
        nonlocal sent
        sent += 1
        return {"type": "http.request", "body": b" " * 10_000, "more_body": True}

    request = Request({"type": "http", "method": "POST", "headers": []}, endless)
    with pytest.raises(RequestError) as told:
        in_a_loop(read_bytes(request, 55_000))
    assert (told.value.status, sent) == (413, 6)


@pytest.mark.parametrize("declared", [b"55001", b"9" * 30, b"-1", b"x", b"1_0"])
def test_a_body_that_declares_itself_too_large_is_not_read(declared: bytes) -> None:
    async def never() -> dict[str, Any]:
        raise AssertionError("it was read")

    request = Request({"type": "http", "method": "POST", "headers": [(b"content-length", declared)]}, never)
    with pytest.raises(RequestError) as told:
        in_a_loop(read_bytes(request, 55_000))
    assert told.value.status == 413


def test_bodies_that_are_too_large_are_refused_over_http(asker: Asker) -> None:
    scenario = SMALL | {"agents": {"hidden": [0.5] * 2**20}}
    assert asker.post("run", scenario).status_code == 413
    assert asker.http.post("api/upload?name=a.csv", content=b"a,b\n" * 2**21).status_code == 413


def test_a_compressed_body_is_refused(asker: Asker) -> None:
    headers = {"content-type": "application/json", "content-encoding": "gzip"}
    assert asker.http.post("api/run", content=b"\x1f\x8b", headers=headers).status_code == 415


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "1",
        "null",
        "{",
        '{"a": ' + "9" * 5_000 + "}",
        '{"a":' + "[" * 100_000 + "]" * 100_000 + "}",
        '{"a":' + "[" * 20 + "]" * 20 + "}",
        '{"a":' * 50 + "1" + "}" * 50,
    ],
)
def test_what_is_not_plain_json_is_refused(text: str) -> None:
    with pytest.raises(RequestError) as told:
        parse_json(text.encode())
    assert told.value.status == 400
    assert len(str(told.value)) < 300


def test_a_body_that_is_no_text_is_refused() -> None:
    with pytest.raises(RequestError, match="JSON"):
        parse_json(b'{"a": "\xff"}')


@pytest.mark.parametrize("tab", ["", "x" * 65, "a b", "ü".encode("latin-1"), "../x"])
def test_a_tab_is_a_plain_name(asker: Asker, tab: Any) -> None:
    answer = asker.http.post("api/run", json={"scenario": SMALL}, headers={"x-tab": tab})
    assert answer.status_code == 400


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/..%2fapp.py",
        "/static/%2e%2e/app.py",
        "/static//etc/passwd",
        "/static/..\\app.py",
        "/static/%00",
        "/static/vendor",
        "/app.py",
    ],
)
def test_nothing_but_the_pages_own_files_is_served(explorer: str, path: str) -> None:
    with httpx.Client(base_url=explorer) as client:
        # Built by hand, for the client would tidy the path.
        request = client.build_request("GET", "/")
        request.url = request.url.copy_with(raw_path=path.encode())
        answer = client.send(request)
    assert answer.status_code in (400, 404, 405)
    assert b"import" not in answer.content
    assert STATIC.is_dir()


MARKS = [mark for path in (InputFile, OutputFolder) for mark in get_args(path) if isinstance(mark, AfterValidator)]


def path_keys(section: type[Section], seen: set[type[Section]]) -> Iterator[tuple[type[Section], str]]:
    """Give every key of a scenario that holds a path, with the section that it belongs to."""
    seen.add(section)
    for name, field in section.model_fields.items():
        parts = [*parts_of(field.annotation), *field.metadata]
        if any(part == mark for part in parts for mark in MARKS):
            yield section, name
        for part in parts:
            if isinstance(part, type) and issubclass(part, Section) and part not in seen:
                yield from path_keys(part, seen)


def parts_of(annotation: Any) -> Iterator[Any]:
    yield annotation
    if get_origin(annotation) is not None:
        inner = annotation.__metadata__ if get_origin(annotation) is Annotated else ()
        for part in (*get_args(annotation), *inner):
            yield from parts_of(part)


REACHING: dict[str, dict[str, Any]] = {
    "NetworkFileSection.file": {"network": {"file": "PATH"}},
    "EventsSection.events": {"network": {"events": "PATH"}},
    "ContactsSection.contacts": {"network": {"contacts": "PATH"}},
    "FromColumn.file": {"agents": {"hidden": {"file": "PATH", "column": "x"}}},
    "Output.folder": {"output": {"folder": "PATH"}},
}


def test_every_key_that_leads_to_the_disk_is_tried_below() -> None:
    assert {f"{section.__name__}.{name}" for section, name in path_keys(Scenario, set())} == set(REACHING)


@pytest.mark.parametrize("sections", REACHING.values(), ids=[*REACHING])
@pytest.mark.parametrize("question", ["run", "exact", "export/toml", "observe"])
def test_no_path_from_a_page_reaches_the_disk(
    asker: Asker, question: str, sections: dict[str, Any], tmp_path: Path
) -> None:
    there = tmp_path / "there.csv"
    there.write_text("a,b\n")
    told = []
    for path in (there, tmp_path / "nowhere.csv"):
        text = json.dumps(SMALL | sections).replace("PATH", str(path))
        error = asker.refused(question, json.loads(text))
        assert "must not name files" in error["text"]
        told.append(error["text"].replace(str(path), ""))
    # The answer is the same whether the file exists or not.
    assert told[0] == told[1]


def test_laws_that_could_not_be_called_off_are_refused(asker: Asker) -> None:
    noise = {"law": "custom", "distribution": "levy_stable", "parameters": {"alpha": 1.9, "beta": 0.0}}
    assert asker.refused("run", SMALL | {"noise": noise})["where"] == "noise.law"


def test_text_in_a_scenario_comes_back_as_data_and_never_as_a_page(asker: Asker) -> None:
    nasty = "<script>alert(1)</script>"
    answer = asker.post("run", SMALL | {"pressure": {"formula": nasty}})
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/json"


@pytest.mark.parametrize(
    "name", ["x.npz", "x.npy", "x.mtx", "x.mtx.gz", "x.py", "x", "", "x.csv\0.py", "../../etc/passwd", "x.zip"]
)
def test_only_texts_are_taken_as_networks(asker: Asker, name: str) -> None:
    assert asker.http.post("api/upload", params={"name": name}, content=b"a,b\n").status_code == 415


@pytest.mark.parametrize("data", [b"\n" * 2**22, b"a\r\n" * 1_200_000, b'"a",b\n' + b"\n" * 2**21])
def test_lines_without_end_are_refused_before_they_are_read(data: bytes) -> None:
    with pytest.raises(RequestError, match="at most 1,000,000 lines"):
        upload_answer("a.csv", data, Limits())


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.csv", b""),
        ("a.csv", b"\xff\xfe\x00"),
        ("a.csv", b"a,b,c,d\n"),
        ("a.csv", b"a,a\n"),
        ("a.csv", b"a,b,nan\n"),
        ("a.csv", b'"a\n'),
        ("a.graphml", b"<graphml>"),
        ("a.graphml", b'<!DOCTYPE x [<!ENTITY e "x">]><graphml>&e;</graphml>'),
        ("a.graphml", b"<html/>"),
        ("/tmp/../a.txt", b"0 1 x\n"),
    ],
)
def test_a_damaged_network_is_refused_by_its_own_name(asker: Asker, name: str, data: bytes) -> None:
    answer = asker.http.post("api/upload", params={"name": name}, content=data)
    assert answer.status_code == 422
    assert "peerpressure-" not in answer.text
    assert name.rsplit("/", 1)[-1] in answer.text
