"""What is saved is what is seen: the network and the plots with more pixels, and the animation."""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from tests.explorer.driving import SMALL, STEPS, Driver


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


def check_plots(driver: Driver, folder: Path) -> None:
    driver.page.click("#log-size")
    driver.go_to(7)
    picture = pixels(driver.take("plots", folder))
    seen = screen(driver, "#plot-opinions canvas", "body")
    place = driver.page.locator("#plot-opinions canvas").bounding_box()
    figure = driver.page.locator("#panel-curves > figure").first.bounding_box()
    assert place is not None
    assert figure is not None
    differs = apart(picture, seen, 12 + place["x"] - figure["x"], 12 + place["y"] - figure["y"])
    # Lines are as wide, and axes at the same places; numbers on them are cut in other ways by other rasters.
    assert differs.mean() < 6
    assert (differs > 90).mean() < 0.02


def check_network(driver: Driver, scenario: dict[str, Any], folder: Path) -> None:
    driver.go({"scenario": scenario, "view": {"time": 9, "agents": [1], "zoomColours": True}})
    picture = pixels(driver.take("network", folder))
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


FRAMES = """async (address) => {
    const video = Object.assign(document.createElement('video'), { src: address, muted: true });
    const pixels = async (time) => {
        video.currentTime = time;
        await new Promise(done => { video.onseeked = done });
        const canvas = document.createElement('canvas');
        [canvas.width, canvas.height] = [video.videoWidth, video.videoHeight];
        canvas.getContext('2d').drawImage(video, 0, 0);
        return canvas.toDataURL('image/png');
    };
    await new Promise((done, failed) => { video.onloadeddata = done; video.onerror = failed });
    return [await pixels(0), await pixels(1e6)];
}"""


def frames_of(driver: Driver, file: Path) -> list[NDArray[np.float64]]:
    """The first and the last frame of a video, as the browser plays it."""
    address = f"data:video/webm;base64,{base64.b64encode(file.read_bytes()).decode()}"
    # The policy of the explorer lets no page of its own play one.
    page = driver.page.context.new_page()
    shown = page.evaluate(FRAMES, address)
    page.close()
    pictures = [Image.open(io.BytesIO(base64.b64decode(one.partition(",")[2]))) for one in shown]
    return [np.asarray(one.convert("RGB"), dtype=float) for one in pictures]


def blocks(picture: NDArray[np.float64], size: int = 16) -> NDArray[np.float64]:
    """The mean colours of squares: a video that is recorded on a busy machine loses fine shades and sharp edges."""
    height, width = (side - side % size for side in picture.shape[:2])
    squares = picture[:height, :width].reshape(height // size, size, width // size, size, 3)
    return np.asarray(squares.mean(axis=(1, 3)))


def check_animation(driver: Driver, folder: Path) -> None:
    """It goes from the start to the end, and the page is where it was; nothing is saved if it is cancelled."""
    page = driver.page
    page.select_option("#speed", "100")
    driver.go_to(9)
    file = driver.take("animation", folder)
    assert page.inner_text("#time-shown") == "9"
    ends = []
    for step in (0, STEPS):
        driver.go_to(step)
        ends.append(pixels(driver.take("network", folder)))
    frames = frames_of(driver, file)
    assert [side & ~1 for side in ends[1].shape[:2]] == [*frames[1].shape[:2]]
    start, end = (blocks(one[: frames[1].shape[0], : frames[1].shape[1]]) for one in ends)
    changed = np.abs(end - start).max(axis=2) > 40
    assert np.count_nonzero(changed) > 2
    for frame, near, far in ((frames[0], start, end), (frames[1], end, start)):
        # A recorder that gets little of the processor drops frames next to the ends, but not half of the way.
        shown = blocks(frame)[changed]
        assert np.abs(shown - near[changed]).sum() < np.abs(shown - far[changed]).sum()
    page.evaluate("() => { window.saved = 0; HTMLAnchorElement.prototype.click = () => { window.saved += 1 } }")
    # More frames than are done when the key is pressed.
    page.select_option("#speed", "2")
    driver.go_to(9)
    page.click("#share")
    page.click("[data-take=animation]")
    driver.wait_for("() => document.getElementById('recording-bar').value > 0", "the first frame")
    driver.press("Escape")
    driver.wait_for("() => document.getElementById('time-shown').textContent === '9'", "the time before")
    assert page.is_hidden("#recording")
    assert page.evaluate("() => window.saved") == 0


def test_pictures_are_the_screen_with_twice_the_pixels_and_animations_go_to_the_end(
    driver: Driver, tmp_path: Path
) -> None:
    check_plots(driver, tmp_path)
    driver.resize(420, 500)
    driver.page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    check_network(driver, DIRECTED, tmp_path)
    driver.go({"scenario": SMALL})
    check_animation(driver, tmp_path)
