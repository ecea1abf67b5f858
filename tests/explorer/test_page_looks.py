"""The page can be read in light and dark, on a queue and a phone, by eye, by ear and by keyboard."""

from __future__ import annotations

from typing import Any

from tests.explorer.driving import PHONE, SMALL, STEPS, Driver, fragment_of, layouts
from tests.explorer.test_page_stage import agents_on


def luminance(colour: tuple[float, ...]) -> float:
    r, g, b = ((part / 255 + 0.055) / 1.055 for part in colour[:3])
    return float(0.2126 * r**2.4 + 0.7152 * g**2.4 + 0.0722 * b**2.4)


def parsed(colour: str) -> tuple[float, ...]:
    return tuple(float(part) for part in colour[colour.index("(") + 1 : -1].replace("/", " ").replace(",", " ").split())


# Every text that is seen, with its colour and the first painted ground behind it.
TEXTS = """() => { const found = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const holder = walker.currentNode.parentElement;
        if (!walker.currentNode.data.trim()) continue;
        if (!holder.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
        if (holder.closest('.unseen, .skip, option, [data-state=pending]')) continue;
        let ground = holder;
        while (ground && getComputedStyle(ground).backgroundColor === 'rgba(0, 0, 0, 0)') ground = ground.parentElement;
        found.push([walker.currentNode.data.trim().slice(0, 40), getComputedStyle(holder).color,
                    getComputedStyle(ground ?? document.body).backgroundColor]) }
    return found }"""


def test_all_text_stands_out_from_its_ground_in_light_and_dark(driver: Driver) -> None:
    with driver.answering("observations"):
        driver.page.click("#tab-observer")
    for scheme in ("light", "dark"):
        driver.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        texts = []
        for tab in ("#tab-observer", "#tab-curves"):
            driver.page.click(tab)
            texts += driver.page.evaluate(TEXTS)
        assert len(texts) > 100
        ground = driver.page.evaluate("() => getComputedStyle(document.body).backgroundColor")
        assert (luminance(parsed(ground)) < 0.05) == (scheme == "dark")
        for text, colour, behind in texts:
            light, dark = sorted((luminance(parsed(colour)), luminance(parsed(behind))), reverse=True)
            assert (light + 0.05) / (dark + 0.05) >= 4.5, (scheme, text, colour, behind)


def test_the_button_turns_light_to_dark_and_the_choice_is_kept(driver: Driver) -> None:
    driver.page.emulate_media(color_scheme="light", reduced_motion="reduce")
    ground = "() => getComputedStyle(document.body).backgroundColor"
    before, curve = driver.page.evaluate(ground), driver.ink("#plot-spread canvas")
    driver.page.click("#theme")
    driver.frame()
    assert luminance(parsed(driver.page.evaluate(ground))) < 0.05
    assert driver.page.get_attribute("#theme", "aria-pressed") == "true"
    driver.wait_for_other_ink("#plot-spread canvas", curve)
    driver.page.reload()
    driver.page.wait_for_selector("html[data-runs]")
    assert luminance(parsed(driver.page.evaluate(ground))) < 0.05
    driver.page.click("#theme")
    assert driver.page.evaluate(ground) == before
    driver.page.evaluate("() => localStorage.clear()")
    driver.leave()


@layouts
def test_no_width_needs_sideways_scrolling(driver: Driver) -> None:
    driver.page.click("#draw")
    with driver.answering("observations"):
        driver.page.click("#tab-observer")
    for width in (320, 400, 760, 1024, 1200, 1920):
        driver.page.set_viewport_size({"width": width, "height": 800})
        for tab in ("#tab-observer", "#tab-curves"):
            driver.page.click(tab)
            driver.frame()
            assert driver.page.evaluate("() => document.documentElement.scrollWidth") == width


def test_the_page_brings_its_fonts(driver: Driver) -> None:
    faces = driver.page.evaluate("() => [...document.fonts].map(face => [face.family, face.status])")
    assert {status for _, status in faces} == {"loaded"}
    assert sorted(family.strip('"') for family, _ in faces) == ["Inter", "STIX Two Text", "STIX Two Text"]


def test_the_page_does_without_fonts_that_cannot_be_had(driver: Driver) -> None:
    driver.page.route("**/*.woff2", lambda route: route.abort())
    driver.expected.add("Failed to load resource")
    driver.open()
    assert driver.page.inner_text("#verdict-heading") != ""
    driver.page.unroute("**/*.woff2")
    driver.leave()


@layouts
def test_the_wheel_over_the_network_does_not_scroll_the_page_away(driver: Driver) -> None:
    with driver.answering("observations"):
        driver.page.click("#tab-observer")
    for width, height in ((1280, 720), (1440, 900), (1920, 1080)):
        driver.page.set_viewport_size({"width": width, "height": height})
        for tab in ("#tab-observer", "#tab-curves"):
            driver.page.click(tab)
            driver.frame()
            assert driver.page.evaluate("() => document.documentElement.scrollHeight") == height
        driver.page.hover("#network")
        driver.page.mouse.wheel(0, 2_000)
        driver.frame()
        assert driver.page.evaluate("() => window.scrollY") == 0


# Where things are in the window.
BOXES = """selectors => Object.fromEntries(selectors.map(selector => {
    const { top, bottom, left, right } = document.querySelector(selector).getBoundingClientRect();
    return [selector, { top, bottom, left, right }] }))"""


@layouts
def test_the_network_has_the_stage(driver: Driver) -> None:
    driver.page.set_viewport_size({"width": 1280, "height": 720})
    driver.frame()
    before = driver.page.evaluate(BOXES, ["#network", "#play", "#verdict-heading"])
    network = before["#network"]
    assert network["bottom"] - network["top"] > 0.7 * 720
    assert before["#play"]["bottom"] < 720
    # Tools lie over the network and do not move it.
    with driver.answering():
        driver.page.click("#draw")
    driver.frame()
    assert driver.page.evaluate(BOXES, ["#network"])["#network"] == network
    driver.page.set_viewport_size({"width": 390, "height": 844})
    driver.frame()
    boxes = driver.page.evaluate(BOXES, ["#verdict-heading", "#verdict-sentence", "#network", "#play"])
    assert all(0 < box["top"] < box["bottom"] < 844 for box in boxes.values()), boxes
    assert boxes["#network"]["bottom"] - boxes["#network"]["top"] > 0.4 * 844


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
# The last is the first one at 150 %.
SIZES = {"1280": (1280, 720), "1440": (1440, 900), "phone": (390, 844), "150 %": (853, 480)}


@layouts
def test_nothing_lies_over_anything_else_and_the_story_is_in_the_first_view(driver: Driver) -> None:
    page = driver.page
    driver.wait_for_exact()
    driver.go_to(STEPS)
    for size, (width, height) in SIZES.items():
        page.set_viewport_size({"width": width, "height": height})
        driver.frame()
        assert page.evaluate(COLLISIONS) == [[], []], size
        boxes = page.evaluate(BOXES, ["#key", "#network", "#strip-canvas"])
        lowest = boxes["#network"]["top"] + agents_on(driver)[:, 1].max()
        assert lowest + 10 < boxes["#key"]["top"], size
        if width > 1000 or size == "phone":
            assert boxes["#strip-canvas"]["bottom"] < height, size
        if width > 1000:
            assert page.evaluate(BOXES, ["#plot-recovered"])["#plot-recovered"]["bottom"] < height, size
    # Compared on a phone, the brush has a place of its own.
    page.set_viewport_size({"width": 390, "height": 844})
    with driver.answering("comparisons"):
        page.click("#compare")
    page.click("#draw")
    driver.frame()
    boxes = page.evaluate(BOXES, ["#brush", "#picture-a"])
    assert boxes["#brush"]["bottom"] <= boxes["#picture-a"]["top"]
    page.click("#draw")
    page.click("#comparison-end")
    driver.settle()


def test_examples_open_and_close_by_keyboard(driver: Driver) -> None:
    page = driver.page
    page.focus("#examples-open")
    page.keyboard.press("Enter")
    assert page.is_visible("#examples")
    inside = "() => document.activeElement.closest('#examples') !== null"
    assert page.evaluate(inside)
    page.keyboard.press("Escape")
    assert page.is_hidden("#examples")
    assert page.evaluate("() => document.activeElement.id") == "examples-open"
    page.keyboard.press("Enter")
    # A click beside the drawer closes it, too.
    page.mouse.click(1_300, 500)
    assert page.is_hidden("#examples")


@layouts
def test_everything_can_be_used_on_a_phone(one_page: Driver) -> None:
    driver, page = one_page, one_page.page
    driver.be_open()
    page.set_viewport_size({"width": PHONE["width"], "height": PHONE["height"]})
    driver.open(fragment_of({"scenario": SMALL}))
    wide = page.evaluate(
        """() => [...document.querySelectorAll('button, input, select, canvas, summary')]
            .filter(e => e.checkVisibility() && e.getBoundingClientRect().right > 400.5)
            .map(e => e.id)"""
    )
    assert wide == []
    page.locator("summary", has_text="Noise").click()
    with driver.answering():
        driver.type("noise.std", 0.25)
    assert driver.scenario()["noise"]["std"] == 0.25
    # What is changed and what shows the change are near each other: controls come before the curves.
    tops = page.evaluate(
        "() => ['.stage', '.controls', '#plot-spread'].map(s => document.querySelector(s).getBoundingClientRect().top)"
    )
    assert tops == sorted(tops)
    driver.check()
    # On a phone, groups of controls are closed.
    driver.leave()


# Whatever takes input, with the name by which it is announced; the browser itself computes names of labelled fields.
NAMES = """() => [...document.querySelectorAll(
    'button, input, select, canvas[tabindex], [role=img], [role=tab], summary')].map(e =>
    [e.outerHTML.slice(0, 90), (e.getAttribute('aria-label') || [...(e.labels ?? [])].map(l => l.textContent).join(' ')
        || e.textContent).trim()])"""


def test_every_control_has_a_name(driver: Driver) -> None:
    with driver.answering("observations"):
        driver.page.click("#tab-observer")
    named = driver.page.evaluate(NAMES)
    assert len(named) > 60
    assert [html for html, name in named if not name] == []


def test_ids_are_unique_and_references_lead_somewhere(driver: Driver) -> None:
    ids = driver.page.evaluate("() => [...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))
    wanted = driver.page.evaluate(
        """() => [...document.querySelectorAll('[for], [aria-controls], [aria-labelledby], use')].flatMap(e =>
            ['for', 'aria-controls', 'aria-labelledby', 'href'].map(n => e.getAttribute(n)).filter(Boolean))"""
    )
    assert {name.removeprefix("#") for name in wanted} <= set(ids)


def test_a_newcomer_is_offered_the_tour_first(one_page: Driver) -> None:
    page = one_page.page
    one_page.be_open()
    page.evaluate("() => localStorage.clear()")
    one_page.open(fragment_of({"scenario": SMALL}))
    first = page.locator("header button").first
    assert first.get_attribute("id") == "tour-open"
    assert "primary" in (first.get_attribute("class") or "")
    first.click()
    page.wait_for_selector("html[data-tour]")
    page.keyboard.press("Escape")
    page.reload()
    page.wait_for_selector("html[data-runs]")
    assert "primary" not in (first.get_attribute("class") or "")
    one_page.check()


def test_verdict_refusals_and_agents_that_are_followed_are_announced(driver: Driver) -> None:
    driver.page.focus("#network")
    driver.page.keyboard.press("ArrowRight")
    name = driver.page.inner_text("#agent-card b").lower()
    for words in ("is followed", "is no longer followed"):
        driver.page.keyboard.press("Enter")
        assert driver.page.inner_text("#said").lower() == f"{name} {words}"
    live = {"#verdict-heading", "#message", "#said"}
    assert {name for name in live if driver.page.get_attribute(name, "aria-live") == "polite"} == live


# Where the focus is, and how the place that shows it is outlined.
FOCUS = """() => { const e = document.activeElement;
    const shown = e.matches('.segment input, .tick input') ? e.nextElementSibling
        : e.id === 'network' ? e.parentElement : e;
    const style = getComputedStyle(shown), width = parseFloat(style.outlineWidth);
    return [e.id || e.className || e.tagName, style.outlineStyle, width, e.checkVisibility()] }"""


def test_a_walk_by_keyboard_alone_reaches_everything_and_is_seen(driver: Driver) -> None:
    # A page that was just loaded has its focus at its beginning.
    driver.page.reload()
    driver.page.wait_for_selector("html[data-runs]")
    page = driver.page
    seen: list[Any] = []
    for _ in range(140):
        page.keyboard.press("Tab")
        name, style, width, visible = page.evaluate(FOCUS)
        if name == "BODY":
            break
        assert (style, visible) == ("solid", True), name
        assert width >= 2, name
        seen.append(name)
    assert {
        "skip",
        "share",
        "theme",
        "help",
        "examples-open",
        "network",
        "play",
        "time",
        "speed",
        "draw",
        "tab-curves",
        "log-time",
    } <= set(seen)
    assert "range" in seen
    assert any(name.startswith("parameter-") for name in seen)


def test_keys_drive_time_and_question_mark_tells_them(driver: Driver) -> None:
    page = driver.page
    page.evaluate("() => document.activeElement.blur()")
    for key, time in (("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1), ("End", STEPS), ("Home", 0)):
        page.keyboard.press(key)
        assert driver.number("#time-shown") == time
    page.keyboard.press("Space")
    page.wait_for_selector("#play[data-playing=true]")
    page.keyboard.press("Space")
    page.wait_for_selector("#play[data-playing=false]")
    page.keyboard.press("?")
    assert page.is_visible("#keys")
    page.keyboard.press("Escape")
    assert page.is_hidden("#keys")


def test_keys_that_a_field_needs_are_left_to_it(driver: Driver) -> None:
    driver.row("run.seed").locator("> input[type=number]").focus()
    driver.page.keyboard.press("End")
    driver.page.keyboard.press("Home")
    assert driver.number("#time-shown") == 0
    driver.page.focus("#step-on")
    driver.page.keyboard.press("Space")
    assert driver.number("#time-shown") == 1
    assert driver.page.get_attribute("#play", "data-playing") == "false"


def test_the_space_bar_plays_after_a_slider_was_moved(driver: Driver) -> None:
    driver.row("noise.std").locator("input[type=range]").focus()
    with driver.answering():
        driver.page.keyboard.press("ArrowRight")
    driver.page.keyboard.press("Space")
    driver.page.wait_for_selector("#play[data-playing=true]")
    driver.page.keyboard.press("Space")
    driver.page.wait_for_selector("#play[data-playing=false]")


def test_the_menu_opens_walks_and_closes_by_keyboard(driver: Driver) -> None:
    page = driver.page
    page.focus("#share")
    page.keyboard.press("Enter")
    assert page.get_attribute("#share", "aria-expanded") == "true"
    page.keyboard.press("ArrowDown")
    assert page.evaluate("() => document.activeElement.dataset.take") == "page"
    page.keyboard.press("Escape")
    assert page.is_hidden("#share-menu")
    assert page.evaluate("() => document.activeElement.id") == "share"


def test_the_policy_lets_no_injected_script_or_style_work(driver: Driver) -> None:
    driver.expected.update({"Content Security Policy", "violates the following"})
    ran = driver.page.evaluate(
        """() => { const script = document.createElement('script'); script.textContent = 'window.ran = 1';
            const styled = document.createElement('p'); styled.setAttribute('style', 'color: rgb(1, 2, 3)');
            document.body.append(script, styled);
            return [window.ran ?? 0, getComputedStyle(styled).color] }"""
    )
    assert ran[0] == 0
    assert ran[1] != "rgb(1, 2, 3)"


def test_names_from_a_file_are_text_and_never_markup(driver: Driver) -> None:
    network: dict[str, Any] = {"edges": [[0, 1], [1, 2]], "labels": ["<img src=x onerror=alert(1)>", "b", "c"]}
    fragment = driver.module(
        "address",
        "await module.encodeState(given)",
        {"scenario": {"network": network, "run": {"steps": 9}}, "view": {"agents": network["labels"]}},
    )
    driver.open(fragment)
    driver.page.wait_for_selector("#followed li")
    assert driver.page.locator("#followed li").first.get_attribute("data-agent") == network["labels"][0]
    assert driver.page.locator("img").count() == 0
