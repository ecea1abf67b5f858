"""The page can be read in any window and on a phone, and reached by keyboard alone."""

from __future__ import annotations

from typing import Any

from tests.explorer.driving import PHONE, SMALL, STEPS, STILL, Driver, fragment_of
from tests.explorer.test_page_stage import agents_on

# Where things are in the window.
BOXES = """selectors => Object.fromEntries(selectors.map(selector => {
    const { top, bottom, left, right } = document.querySelector(selector).getBoundingClientRect();
    return [selector, { top, bottom, left, right }] }))"""
# Texts that lie over each other, and those that are cut, of all that is seen in the window.
COLLISIONS = """() => {
    const texts = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const holder = walker.currentNode.parentElement;
        if (!walker.currentNode.data.trim() || holder.closest('.unseen, .skip, option, .agent-card')) continue;
        if (!holder.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
        const range = document.createRange();
        range.selectNodeContents(walker.currentNode);
        for (const { left, right, top, bottom } of range.getClientRects()) {
            // What is scrolled out of sight lies under nothing.
            const seen = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
            const inSight = seen && (holder.contains(seen) || seen.contains(holder));
            if (right - left > 1 && (inSight || holder.closest('.stage')))
                texts.push({ text: walker.currentNode.data.trim().slice(0, 30), holder, left, right, top, bottom }) } }
    const over = (a, b) => a.holder !== b.holder && Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1
        && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3;
    const pairs = texts.flatMap((a, k) => texts.slice(k + 1).filter(b => over(a, b)).map(b => [a.text, b.text]));
    const cut = [...document.querySelectorAll('.lead, figcaption, .strip p, .legend, .tabs, .key')].filter(one =>
        one.checkVisibility() && one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).overflow !== 'visible');
    return [pairs, cut.map(one => one.className || one.tagName)] }"""
DESKS = [(1280, 720), (1440, 900)]
# 853 is the first of them at 150 %.
WINDOWS = [*DESKS, (390, 844), (853, 480), (320, 800), (1024, 768)]
PAGE = "() => [document.documentElement.scrollWidth, document.documentElement.scrollHeight]"


def check_story(driver: Driver, width: int, height: int) -> None:
    """Nothing lies over anything else, and the network and the first plots are in the first view."""
    page, desk = driver.page, (width, height) in DESKS
    assert page.evaluate(COLLISIONS) == [[], []], width
    names = ["#key", "#network", "#strip-canvas", "#plot-recovered", "#play", "#verdict-heading", "#verdict-sentence"]
    boxes = page.evaluate(BOXES, names)
    network = boxes["#network"]
    assert network["top"] + agents_on(driver)[:, 1].max() + 10 < boxes["#key"]["top"], width
    if desk or width == 390:
        assert boxes["#strip-canvas"]["bottom"] < height, width
        assert boxes["#play"]["bottom"] < height
        assert network["bottom"] - network["top"] > (0.7 if desk else 0.4) * height
    if desk:
        assert boxes["#plot-recovered"]["bottom"] < height, width
    if width == 390:
        for name in ("#network", "#verdict-heading", "#verdict-sentence"):
            assert 0 < boxes[name]["top"] < boxes[name]["bottom"] < height, name


def check_width(driver: Driver, width: int, height: int) -> None:
    """No window is scrolled sideways, whatever is open, and tools lie over the network without moving it."""
    page = driver.page
    network = page.evaluate(BOXES, ["#network"])
    page.click("#draw")
    driver.frame()
    assert page.evaluate(BOXES, ["#network"]) == network or width < 1200
    for tab in ("#tab-observer", "#tab-curves"):
        page.click(tab)
        driver.frame()
        across, down = page.evaluate(PAGE)
        assert across == width
        assert down == height or width < 1280
    page.click("#draw")


def check_phone(driver: Driver) -> None:
    """What is changed and what shows the change are near each other, and everything is within reach."""
    page = driver.page
    wide = page.evaluate(
        """() => [...document.querySelectorAll('button, input, select, canvas, summary')]
            .filter(e => e.checkVisibility() && e.getBoundingClientRect().right > 400.5)
            .map(e => e.id)"""
    )
    assert wide == []
    tops = [box["top"] for box in page.evaluate(BOXES, [".stage", ".controls", "#plot-spread"]).values()]
    assert tops == sorted(tops)
    # Two scenarios are one above the other, and the brush has a place of its own.
    with driver.answering("comparisons"):
        page.click("#compare")
    driver.frame()
    a, b, play = page.evaluate(BOXES, ["#network-a", "#network", "#play"]).values()
    assert a["left"] == b["left"]
    assert a["bottom"] <= b["top"]
    assert play["bottom"] <= PHONE["height"]
    page.click("#draw")
    driver.frame()
    brush, above = page.evaluate(BOXES, ["#brush", "#picture-a"]).values()
    assert brush["bottom"] <= above["top"]
    assert page.evaluate(PAGE)[0] == PHONE["width"]


def test_any_window_shows_the_story_without_scrolling_sideways(one_page: Driver) -> None:
    """With wide fonts, which leave the least room."""
    driver, page = one_page, one_page.page
    driver.dress()
    driver.open(fragment_of({"scenario": SMALL}))
    driver.observe()
    page.click("#tab-curves")
    driver.go_to(STEPS)
    for width, height in WINDOWS:
        driver.resize(width, height)
        if (width, height) in WINDOWS[:4]:
            check_story(driver, width, height)
        check_width(driver, width, height)
    faces = page.evaluate("() => [...document.fonts].map(face => [face.family, face.status])")
    assert {status for _, status in faces} == {"loaded"}
    assert sorted(family.strip('"') for family, _ in faces) == ["Inter", "STIX Two Text", "STIX Two Text"]
    driver.resize(PHONE["width"], PHONE["height"])
    check_phone(driver)
    driver.check()
    driver.leave()


# Where the focus is, and how the place that shows it is outlined.
FOCUS = """() => { const e = document.activeElement;
    const shown = e.matches('.segment input, .tick input') ? e.nextElementSibling
        : e.id === 'network' ? e.parentElement : e;
    const style = getComputedStyle(shown), width = parseFloat(style.outlineWidth);
    return [e.id || e.className || e.tagName, style.outlineStyle, width, e.checkVisibility()] }"""
STOPS = {"share", "theme", "help", "examples-open", "network", "play", "time", "speed", "draw", "tab-curves"}


def check_walk(driver: Driver) -> None:
    """All that can be reached by the keyboard is seen where it is."""
    page, seen = driver.page, list[Any]()
    page.focus(".skip")
    while "BODY" not in seen and len(seen) < 140:
        name, style, width, visible = page.evaluate(FOCUS)
        seen.append(name)
        assert name == "BODY" or ((style, visible) == ("solid", True) and width >= 2), name
        driver.press("Tab")
    assert STOPS | {"log-time", "range"} <= set(seen)
    assert any(name.startswith("parameter-") for name in seen)


def test_the_first_screen_has_one_sentence_and_one_control(driver: Driver) -> None:
    page, windows = driver.page, ((1440, 900), (1024, 768), (390, 844))
    said = {
        "0": ("not at all", "never agree"),
        "1": ("steadily", "everybody says 0.45, the weighted average"),
        "2": ("too fast", "left over from the first steps"),
    }
    places: dict[int, set[tuple[float, ...]]] = {}
    driver.go({"scenario": SMALL, "view": {"simple": True}}, "recoveries")
    for power, (words, sentence) in said.items():
        with driver.answering("recoveries"):
            page.locator("#growth").fill(power)
        assert page.inner_text("#one-control output") == words
        assert page.get_attribute("#growth", "aria-valuetext") == words
        assert sentence in page.inner_text("#verdict-plain")
        assert page.is_hidden("#verdict-sentence")
        # The rows stay where they are, whatever number stands beside them.
        driver.go_to(STEPS)
        for width, height in windows:
            driver.resize(width, height)
            places.setdefault(width, set()).add(
                tuple(page.evaluate(BOXES, ["#strip-canvas"])["#strip-canvas"].values())[2:]
            )
            assert page.evaluate(COLLISIONS) == [[], []], width
            assert page.evaluate(BOXES, ["#play"])["#play"]["bottom"] < height
    assert {len(one) for one in places.values()} == {1}
    seen = page.locator(":is(button, input, select, summary):visible")
    assert seen.count() <= 7
    driver.resize(**STILL["viewport"])
    page.focus("#laboratory")
    driver.press("Enter")
    assert page.is_hidden("#one-control")
    assert page.is_visible("#step-on")


def check_playing(driver: Driver, key: str) -> None:
    for playing in ("true", "false"):
        driver.press(key)
        driver.exist(f"#play[data-playing={playing}]")


def test_keys_reach_everything_drive_time_menus_and_agents_and_are_left_to_the_fields_that_need_them(
    driver: Driver,
) -> None:
    page = driver.page
    check_walk(driver)
    page.evaluate("() => document.activeElement.blur()")
    for key, time in (("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1), ("End", STEPS), ("Home", 0)):
        driver.press(key)
        assert driver.number("#time-shown") == time
    check_playing(driver, "Space")
    driver.press("?")
    assert page.is_visible("#keys")
    driver.press("Escape")
    assert page.is_hidden("#keys")
    # Fields and buttons have the keys that they need.
    driver.go_to(0)
    driver.row("run.seed").locator("> input[type=number]").focus()
    driver.press("End", "Home")
    assert driver.number("#time-shown") == 0
    page.focus("#step-on")
    driver.press("Space")
    assert driver.number("#time-shown") == 1
    assert page.get_attribute("#play", "data-playing") == "false"
    # The space bar plays after a slider was moved.
    driver.row("noise.std").locator("input[type=range]").focus()
    with driver.answering():
        driver.press("ArrowRight")
    check_playing(driver, "Space")
    page.focus("#share")
    driver.press("Enter", "ArrowDown")
    assert page.evaluate("() => document.activeElement.dataset.take") == "page"
    driver.press("Escape")
    assert page.is_hidden("#share-menu")
    assert driver.focused() == "share"
    page.focus("#examples-open")
    driver.press("Enter")
    assert page.evaluate("() => document.activeElement.closest('#examples') !== null")
    driver.press("Escape")
    assert page.is_hidden("#examples")
    assert driver.focused() == "examples-open"
    # Whoever is followed is announced, as verdicts and refusals are.
    page.focus("#network")
    driver.press("ArrowRight")
    name = page.inner_text("#agent-card b").lower()
    for words in ("is followed", "is no longer followed"):
        driver.press("Enter")
        assert page.inner_text("#said").lower() == f"{name} {words}"
    for live in ("#verdict-heading", "#message", "#said"):
        assert page.get_attribute(live, "aria-live") == "polite"
