"""What is saved is what is seen: the network and the plots with more pixels, and the animation."""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from tests.explorer.driving import SMALL, STEPS, Driver, fragment_of
from tests.explorer.test_page_sharing import taken


def pixels(file: Path) -> NDArray[np.float64]:
    with Image.open(file) as picture:
        return np.asarray(picture.convert("RGB"), dtype=float)


def screen(driver: Driver, selector: str, ground: str) -> NDArray[np.float64]:
    """A canvas of the page as it is seen, on its ground."""
    paint = """(canvas, ground) => { const copy = document.createElement('canvas');
        [copy.width, copy.height] = [canvas.width, canvas.height]; const ctx = copy.getContext('2d');
        ctx.fillStyle = getComputedStyle(document.querySelector(ground)).backgroundColor;
        ctx.fillRect(0, 0, copy.width, copy.height); ctx.drawImage(canvas, 0, 0);
        return copy.toDataURL('image/png') }"""
    address = str(driver.page.locator(selector).evaluate(paint, ground))
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(address.partition(",")[2]))).convert("RGB"), dtype=float)


def apart(picture: NDArray[np.float64], seen: NDArray[np.float64], x: float, y: float) -> NDArray[np.float64]:
    """How far a picture, made half as large, is from what is seen at a place in it."""
    small, (left, top) = halved(picture), (round(x), round(y))
    height, width = seen.shape[0], min(seen.shape[1], small.shape[1] - left)
    away = np.abs(small[top : top + height, left : left + width] - seen[:height, :width])
    return np.asarray(away.max(axis=2))


def halved(picture: NDArray[np.float64]) -> NDArray[np.float64]:
    height, width = (side // 2 for side in picture.shape[:2])
    return np.asarray(picture[: 2 * height, : 2 * width].reshape(height, 2, width, 2, 3).mean(axis=(1, 3)))


DIRECTED: dict[str, Any] = SMALL | {
    "network": {
        "edges": [[0, 1], [1, 0], [1, 2], [2, 3], [3, 1]],
        "weights": [1.0, 1.0, -1.0, 1.0, 1.0],
        "directed": True,
        "signed": True,
    },
    "agents": {"zealots": [3]},
}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_picture_of_the_network_is_the_screen_with_twice_the_pixels(
    scheme: Any, driver: Driver, tmp_path: Path
) -> None:
    driver.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    driver.page.set_viewport_size({"width": 800, "height": 640})
    view = {"time": 9, "agents": [1], "zoomColours": True}
    scenario = DIRECTED if scheme == "dark" else SMALL
    with driver.answering():
        fragment = fragment_of({"scenario": scenario, "view": view})
        driver.page.evaluate("given => { location.hash = given }", fragment)
    picture = pixels(taken(driver, "network", tmp_path))
    driver.frame()
    seen = screen(driver, "#network", ".canvas-holder")
    # Between the keys at the top, where the time is written as well, and the one at the bottom.
    differs = apart(picture, seen[80:-95], 1, 81)
    assert differs.mean() < 1.5
    assert (differs > 60).mean() < 0.004
    assert (np.abs(seen[80:-95] - seen[0, -1]).max(axis=2) > 60).mean() > 0.01
    # The key at the bottom, with its colours and its numbers, is part of it.
    key = np.abs(picture[-180:, :500] - picture[-1, -1]).max(axis=2)
    assert (key > 60).mean() > 0.03
    driver.page.emulate_media(color_scheme="light", reduced_motion="reduce")


def test_the_picture_of_the_plots_is_the_screen_with_twice_the_pixels(driver: Driver, tmp_path: Path) -> None:
    driver.page.click("#log-size")
    driver.go_to(7)
    picture = pixels(taken(driver, "plots", tmp_path))
    seen = screen(driver, "#plot-opinions canvas", "body")
    place = driver.page.locator("#plot-opinions canvas").bounding_box()
    figure = driver.page.locator("#panel-curves > figure").first.bounding_box()
    assert place is not None
    assert figure is not None
    differs = apart(picture, seen, 12 + place["x"] - figure["x"], 12 + place["y"] - figure["y"])
    # Lines are as wide, and axes at the same places; numbers on them are cut in other ways by other rasters.
    assert differs.mean() < 6
    assert (differs > 90).mean() < 0.02


def test_the_animation_goes_from_the_start_to_the_end(driver: Driver, tmp_path: Path) -> None:
    driver.page.set_viewport_size({"width": 420, "height": 500})
    driver.page.locator("#speed").select_option("100")
    driver.go_to(9)
    file = taken(driver, "animation", tmp_path)
    assert driver.page.inner_text("#time-shown") == "9"
    driver.go_to(STEPS)
    end = pixels(taken(driver, "network", tmp_path))
    with Image.open(file) as animation:
        count = getattr(animation, "n_frames", 1)
        assert count == 12
        first = np.asarray(animation.convert("RGB"), dtype=float)
        animation.seek(count - 1)
        last = np.asarray(animation.convert("RGB"), dtype=float)
    assert last.shape == end.shape
    # But for the fewer colours of a GIF.
    assert np.abs(first - end).mean() > 2 * np.abs(last - end).mean()
    assert np.abs(last - end).max(axis=2).mean() < 3


def test_a_recording_can_be_cancelled(driver: Driver) -> None:
    driver.page.evaluate("() => { window.saved = 0; HTMLAnchorElement.prototype.click = () => { window.saved += 1 } }")
    driver.go_to(9)
    driver.page.click("#share")
    driver.page.click("[data-take=animation]")
    driver.page.wait_for_function("() => document.getElementById('recording-bar').value > 0")
    driver.page.keyboard.press("Escape")
    driver.page.wait_for_function("() => document.getElementById('time-shown').textContent === '9'")
    assert driver.page.is_hidden("#recording")
    assert driver.page.evaluate("() => window.saved") == 0
    driver.page.evaluate("() => { delete HTMLAnchorElement.prototype.click }")


def test_frames_show_both_sides_of_an_oscillation(opened_page: Driver) -> None:
    code = """(async () => { const { Clock } = await import('/static/js/playback.js');
        const clock = new Clock(); clock.times = Float64Array.from({ length: given + 1 }, (_, t) => t);
        clock.speed = given / 4; return module.framePositions(clock) })()"""
    many = opened_page.module("recording", f"await {code}", 1_000)
    assert len(many) == 50
    assert [position % 2 for position in many[:-1]] == [k % 2 for k in range(49)]
    assert np.all(np.diff(many) > 0)
    few = opened_page.module("recording", f"await {code}", 20)
    assert few == pytest.approx(np.linspace(0, 20, 50), abs=1e-9)


GIF = """(() => { const { Gif, Palette } = module; const [width, height, frames] = given;
    const palette = new Palette(); const all = frames.map(one => Uint32Array.from(one));
    for (const one of all) for (let k = 0; k < 7; k += 1) palette.count(one.subarray(k)); palette.choose();
    const gif = new Gif(width, height, palette); for (const one of all) gif.add(one, 8);
    return gif.finish().arrayBuffer().then(data => btoa(Array.from(new Uint8Array(data),
        byte => String.fromCharCode(byte)).join(''))) })()"""


def test_a_gif_holds_every_pixel(opened_page: Driver) -> None:
    """Random pixels need every length of code, and more than one table of them."""
    rng = np.random.default_rng(1)
    # Colours in buckets of their own, so none is replaced by another.
    colours = rng.choice(32**3, 200, replace=False)
    channels = np.stack([colours % 32, colours // 32 % 32, colours // 1024], axis=1) * 8
    first = rng.integers(0, 200, (60, 90))
    second = first.copy()
    second[20:30, 40:70] = rng.integers(0, 200, (10, 30))
    frames = [first, second, second]
    packed = [(channels[one] @ [1, 256, 65536] + 255 * 2**24).ravel().tolist() for one in frames]
    data = base64.b64decode(opened_page.module("gif", f"await {GIF}", [90, 60, packed]))
    with Image.open(io.BytesIO(data)) as animation:
        assert animation.size == (90, 60)
        for k, frame in enumerate(frames):
            animation.seek(k)
            assert np.array_equal(np.asarray(animation.convert("RGB")), channels[frame])


def test_the_page_opens_exactly_with_the_link_that_the_server_was_started_with(
    driver: Driver, catalogue: dict[str, Any]
) -> None:
    state = {"scenario": SMALL, "view": {"time": 7, "agents": [2]}, "other": SMALL | {"noise": {"law": "none"}}}
    driver.page.route("**/api/catalogue", lambda route: route.fulfill(json=catalogue | {"default": state}))
    driver.page.emulate_media(reduced_motion="no-preference")
    driver.open()
    driver.page.wait_for_selector("#name-a:not(:empty)")
    assert driver.scenario() == SMALL
    # It shows its time, and does not play by itself.
    assert driver.page.inner_text("#time-shown") == "7"
    assert driver.page.locator("#followed li").count() == 1
    assert driver.page.inner_text("#differences tr").startswith("Noise")
    driver.page.unroute("**/api/catalogue")
    driver.page.emulate_media(reduced_motion="reduce")
    driver.leave()
