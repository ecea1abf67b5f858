"""The page's own arithmetic, called within the page: numbers as words, scales, places, colours, addresses, requests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.explorer.driving import PLAIN, Driver, Layout


@pytest.fixture(scope="module")
def opened(pages: Callable[[Layout], Driver]) -> Driver:
    driver = pages(PLAIN)
    driver.open()
    return driver


@pytest.fixture
def page(opened: Driver) -> Iterator[Driver]:
    yield opened
    opened.check()


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0, "0"),
        (0.5314062, "0.531"),
        (-0.25, "−0.250"),
        (100, "100"),
        (1234.5678, "1235"),
        (2.5e7, "2.50 × 10⁷"),
        (-3.21e-9, "−3.21 × 10⁻⁹"),
        (None, "–"),
    ],
)
def test_numbers_read_as_people_write_them(value: float | None, words: str, page: Driver) -> None:
    assert page.module("format", "module.formatNumber(given)", value) == words


def test_ticks_have_the_decimals_that_their_spacing_needs(page: Driver) -> None:
    assert page.module("format", "module.formatTicks([0, 0.25, 0.5])") == ["0.00", "0.25", "0.50"]
    assert page.module("format", "module.formatTicks([-20, 0, 20])") == ["−20", "0", "20"]
    assert page.module("format", "module.formatTicks([0, 2500, 5000])") == ["0", "2,500", "5,000"]


def test_an_index_is_set_as_an_index_and_nothing_becomes_markup(page: Driver) -> None:
    shown = page.module(
        "format",
        "(() => { const p = document.createElement('p'); p.append(module.typeset(given)); return p.innerHTML })()",
        "ρ_t = <b>x_{t+1}</b> t^-1.5 my_name 1e-05 2.5e+07 2e",
    )
    assert shown == "ρ<sub>t</sub> = &lt;b&gt;x<sub>t+1</sub>&lt;/b&gt; t<sup>−1.5</sup> my_name 10⁻⁵ 2.5 × 10⁷ 2e"


SPECS = [
    {"name": "n", "title": "n", "kind": "int", "min": 2, "max": 50_000, "default": 100, "step": 1, "scale": "log"},
    {"name": "std", "title": "σ", "kind": "float", "min": 0, "max": 10, "default": 1, "step": 0.01, "scale": "log"},
    {
        "name": "slope",
        "title": "c",
        "kind": "float",
        "min": 0.001,
        "max": 100,
        "default": 1,
        "step": 0.001,
        "scale": "log",
    },
]


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec["name"])
def test_a_logarithmic_slider_reaches_both_ends_and_every_notch_of_it_counts(
    spec: dict[str, Any], page: Driver
) -> None:
    rungs = page.module("fields", "module.sliderStops(given)", spec)
    assert (rungs[0], rungs[-1]) == (spec["min"], spec["max"])
    steps = np.diff(rungs)
    assert (steps > 0).all()
    # No step is much wider than its share of the whole way, but where whole numbers or the way to 0 ask for it.
    ratios = np.array(rungs[2:]) / np.array(rungs[1:-1])
    assert ((ratios < 1.1) | (steps[1:] == 1)).all()
    places = page.module("fields", "given.map(v => module.nearestStop(given, v))", rungs)
    assert places == list(range(len(rungs)))
    if spec["kind"] == "int":
        assert all(float(rung).is_integer() for rung in rungs)


# Draw plots of two values over two times on logarithmic axes, and say what the axes of each are marked with.
PLOTTED = """(async () => { const found = [];
    const write = CanvasRenderingContext2D.prototype.fillText;
    for (const { low, high, from } of given) {
        const marks = [];
        CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
            marks.push(text); return write.call(this, text, ...place) };
        const host = document.body.appendChild(document.createElement('div'));
        host.style.width = '300px';
        const values = [low, high].map(Number), x = [Number(from), 10 * Number(from)];
        new module.Plot(host, { height: 150, label: '' }).show(
            { x, low: values[0], high: values[1], logX: true, logY: true, lines: [{ values, colour: 'black' }] });
        await new Promise(done => setTimeout(done));
        host.remove();
        found.push(marks.filter(Boolean)) }
    CanvasRenderingContext2D.prototype.fillText = write;
    return found })()"""
# Leading digits at which sums of steps miss the next power of ten, among others, at every size that numbers have.
LOWS = [
    float(f"{digits}e{size}") for size in (-300, -44, -17, -8, -3, 0, 5, 30) for digits in (1, 1.01, 1.3, 5.55, 9.99)
]


@pytest.mark.parametrize("decades", [0, 0.5, 3, 30])
def test_a_logarithmic_axis_may_begin_anywhere(decades: float, page: Driver) -> None:
    asked = [{"low": low, "high": low * 10**decades, "from": abs(low)} for low in LOWS]
    for one, marks in zip(asked, page.module("plot", PLOTTED, asked), strict=True):
        # The time axis goes over one decade, so a power of ten is on it, unless it is too small to be marked.
        assert marks or one["low"] < 1e-15, one
    assert page.said == []


@pytest.mark.parametrize("low", ["0", "-0", "-1", "5e-324", "1e-310", "1e308", "1.7e308", "NaN", "Infinity"])
def test_what_no_logarithmic_axis_can_show_does_no_harm(low: str, page: Driver) -> None:
    highs = ("0", "-1", "5e-324", "1", "1.7e308", "NaN", "Infinity")
    asked = [{"low": low, "high": high, "from": start} for high in highs for start in ("1", low)]
    assert len(page.module("plot", PLOTTED, asked)) == len(asked)
    assert page.said == []


def test_the_marks_of_a_logarithmic_axis_are_round_numbers_in_its_range(page: Driver) -> None:
    assert page.module("plot", "module.logSplits(9.99e-4, 0.011)") == [k / 1000 for k in range(1, 10)] + [0.01]
    assert page.module("plot", "module.logSplits(0.2, 0.2)") == [0.2]
    assert page.module("plot", "module.logSplits(8e-25, 2e-24)") == [8e-25, 9e-25, 1e-24, 2e-24]
    wide = page.module("plot", "module.logSplits(5e-324, Number.MAX_VALUE)")
    assert (wide[0], wide[-1], len(wide)) == (1e-323, 1e308, 632)


def oklab(colour: str) -> NDArray[np.float64]:
    rgb = np.array([float(part) for part in colour[4:-1].split()]) / 255
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    to_cone = [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
    to_lab = [
        [0.2104542553, 0.793617785, -0.0040720468],
        [1.9779984951, -2.428592205, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.808675766],
    ]
    return np.asarray(np.array(to_lab) @ np.cbrt(np.array(to_cone) @ linear))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_equal_differences_of_opinion_look_equally_large(theme: str, page: Driver) -> None:
    colours = page.module("colour", "module.opinionScale(given).css", theme)
    labs = np.array([oklab(colour) for colour in colours])
    # Rounding to 8 bits moves single colours, so steps are taken wide enough not to see it.
    steps = np.linalg.norm(labs[16::16] - labs[:-16:16], axis=1)
    assert steps.max() / steps.min() < 1.15
    assert np.abs(labs[64, 1:]).max() < 0.005
    # To eyes without red-green or blue-yellow sense the two ends differ still: by the other of the two axes.
    assert abs(labs[0, 2] - labs[-1, 2]) > 0.15
    assert abs(labs[0, 1] - labs[-1, 1]) > 0.08


def test_a_printed_picture_has_the_colours_of_the_page(page: Driver) -> None:
    from peerpressure.plotting.network import _diverging

    shown = page.module("colour", "module.opinionScale('light').css.map(css => css.match(/[0-9]+/g).map(Number))")
    printed = 255 * _diverging()(np.linspace(0, 1, len(shown)))[:, :3]
    assert np.abs(printed - np.array(shown)).max() < 4


def test_every_colour_stands_out_from_the_stage_and_its_grey_tells_high_from_low(page: Driver) -> None:
    def luminance(rgb: list[float]) -> float:
        parts = np.array(rgb) / 255
        linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        return float(linear @ [0.2126, 0.7152, 0.0722])

    for theme, stage in (("light", [255, 255, 255]), ("dark", [25, 29, 33])):
        scales = page.module("colour", "[module.opinionScale(given).css, module.exposureScale(given).css]", theme)
        for scale in scales:
            greys = [luminance([float(part) for part in colour[4:-1].split()]) for colour in scale]
            for grey, colour in zip(greys, scale, strict=True):
                pair = sorted((grey, luminance(list(stage))))
                assert (pair[1] + 0.05) / (pair[0] + 0.05) >= 3, (theme, colour)
            # Steps of rounding aside, lightness goes one way only, and differs by a factor of 2.5 or more at the ends.
            rises = np.diff(greys) * np.sign(greys[-1] - greys[0])
            assert rises.min() > -0.004, theme
            assert max(greys) > 2.5 * min(greys), theme


SHAPE = """module.shapeOf({ arrays: {
    times: Float64Array.from(given.times), spread_mean: Float32Array.from(given.spread) } })"""


@pytest.mark.parametrize(
    ("spread", "collapses", "early"),
    [
        (lambda t: 1 / (1 + t), True, True),
        (lambda t: np.exp(-t / 30), True, False),
        (lambda t: 0.2 + 0.8 / (1 + t), False, False),
        # It comes back, as opinions on a start that is common to all.
        (lambda t: np.where(t == 0, 0, 1 / (1 + np.abs(t - 5))), True, True),
        (lambda t: np.where(t == 150, 1, 1 / (1 + t)), True, False),
        (lambda t: 0 * t, False, False),
        (lambda t: t, False, False),
    ],
)
def test_a_run_whose_spread_collapses_early_is_told_by_its_shape(
    spread: Callable[[Any], Any], collapses: bool, early: bool, page: Driver
) -> None:
    times = np.arange(201.0)
    found = page.module("run-shape", SHAPE, {"times": times.tolist(), "spread": np.asarray(spread(times)).tolist()})
    assert (found["collapses"], found["early"]) == (collapses, early)


def test_colours_zoomed_to_now_reach_as_far_as_opinions_from_now_on(page: Driver) -> None:
    states = np.random.default_rng(4).normal(0.5, 1, (60, 9)) / np.arange(1, 61)[:, None]
    arguments = {"low": states.min(axis=1).tolist(), "high": states.max(axis=1).tolist()}
    call = "[...module.reachFromNowOn(given.low, given.high, 0.1, 0.8)]"
    far = np.abs(states - 0.1).max(axis=1)
    common = np.where(np.ptp(np.sign(states - 0.1), axis=1) == 0, np.abs(states - 0.1).min(axis=1), 0.0)
    expected = [min(0.8, float(np.maximum(far, 3 * common)[t:].max())) for t in range(60)]
    assert page.module("run-shape", call, arguments) == pytest.approx(expected, rel=1e-6)
    # What rounding alone tells apart has one colour, and what is beyond all numbers does not matter to the others.
    assert page.module("run-shape", "[...module.reachFromNowOn([1, 1], [1, 1], 1, 1)]") == pytest.approx([1e-5] * 2)
    # What agents agree on is no extreme opinion, on whichever side of the centre.
    agreed = page.module("run-shape", "[...module.reachFromNowOn([0, 0.48, 0.1], [1, 0.48, 0.1], 0.29, 1)]")
    assert agreed == pytest.approx([0.71, 0.57, 0.57])
    assert page.module("run-shape", "[...module.reachFromNowOn([NaN, 0], [1, 0.5], 0, 2)]") == [2, 0.5]


# The time shown at each frame of a clock that plays from start to end, at sixty frames a second.
PLAY = """(() => { const clock = new module.Clock();
    Object.assign(clock, given.settings);
    clock.setTimes(Float64Array.from(given.times), 0);
    clock.toggle();
    const shown = [];
    for (let frame = 1; clock.playing && frame < 1e5; frame += 1) {
        clock.tick(frame * 1000 / 60);
        shown.push(clock.time) }
    return shown })()"""


def test_each_decade_of_a_run_plays_equally_long(page: Driver) -> None:
    settings = {"logarithmic": True, "pace": 3}
    for times in (np.arange(10_001), np.r_[np.arange(500), np.arange(500, 10_001, 25)]):
        shown = np.array(page.module("playback", PLAY, {"settings": settings, "times": times.tolist()}))
        seconds = [np.count_nonzero(shown < end) / 60 for end in (10, 100, 1_000, 10_000)]
        assert seconds == pytest.approx([3, 6, 9, 12], abs=0.3)
    # The opinions of the page's first scenario come together by step 12 of 200, which used to take 0.6 seconds.
    shown = np.array(page.module("playback", PLAY, {"settings": settings, "times": list(range(201))}))
    assert np.count_nonzero(shown < 12) / 60 > 3
    shown = np.array(page.module("playback", PLAY, {"settings": {"speed": 20}, "times": list(range(201))}))
    assert np.count_nonzero(shown < 100) / 60 == pytest.approx(5, abs=0.1)


def test_a_scatter_plot_has_room_for_all_error_bars(page: Driver) -> None:
    clouds = [
        {"truth": [0, 1], "estimate": [0.5, 3], "std": [0.25, 2]},
        {"truth": [0, 1], "estimate": [-1, None], "std": [None, 1]},
    ]
    found = page.module(
        "estimates",
        """(() => { const numbers = list => Float64Array.from(list, one => one ?? NaN);
            return module.commonRange(given.map(({ truth, estimate, std }) => (
                { truth: numbers(truth), estimate: numbers(estimate), std: numbers(std) }))) })()""",
        clouds,
    )
    assert found["low"] < -1
    assert found["high"] > 5
    assert found["high"] - found["low"] < 1.1 * 6


def test_whoever_is_nearest_is_found(page: Driver) -> None:
    rng = np.random.default_rng(5)
    positions = rng.uniform(-1, 1, (400, 2)).astype(np.float32)
    points = rng.uniform([0, 0], [600, 400], (60, 2))
    found, x, y = page.module(
        "screen-layout",
        """(() => { const layout = new module.ScreenLayout(Float32Array.from(given.positions), 400);
            layout.fit(600, 400);
            return [given.points.map(([x, y]) => layout.nearest(x, y, 40)), [...layout.x], [...layout.y]] })()""",
        {"positions": positions.ravel().tolist(), "points": points.tolist()},
    )
    far = np.hypot(points[:, :1] - np.array(x), points[:, 1:] - np.array(y))
    expected = np.where(far.min(axis=1) <= 40, far.argmin(axis=1), -1)
    assert np.array_equal(found, expected)
    assert (expected == -1).any() or far.min(axis=1).max() <= 40


def test_arrows_go_where_they_point_and_reach_everyone(page: Driver) -> None:
    rng = np.random.default_rng(7)
    positions = rng.uniform(-1, 1, (60, 2)).astype(np.float32)
    steps, x, y = page.module(
        "screen-layout",
        """(() => { const layout = new module.ScreenLayout(Float32Array.from(given), 60); layout.fit(500, 500);
            const ways = [[1, 0], [-1, 0], [0, 1], [0, -1]];
            const steps = [...Array(60).keys()].map(i => ways.map(([dx, dy]) => layout.towards(i, dx, dy)));
            return [steps, [...layout.x], [...layout.y]] })()""",
        positions.ravel().tolist(),
    )
    for i, (right, left, down, up) in enumerate(steps):
        assert x[right] >= x[i] >= x[left]
        assert y[down] >= y[i] >= y[up]
    reached, edge = {0}, [0]
    while edge:
        new = {j for i in edge for j in steps[i]} - reached
        reached |= new
        edge = list(new)
    assert len(reached) == 60


def test_a_state_comes_back_from_its_address(page: Driver) -> None:
    rng = np.random.default_rng(3)
    for size in (1, 50, 3000):
        state = {
            "scenario": {
                "network": {"edges": rng.integers(0, 99, (size, 2)).tolist()},
                "agents": {"hidden": rng.random(size).tolist()},
                "run": {"steps": size},
                "time": {"continuous": True},
            },
            "view": {
                "tab": "observer",
                "agents": ["ä", 3],
                "logTime": True,
                "logSize": False,
                "colour": "hidden",
                "zoomColours": True,
                "time": 7,
                "speed": 5,
                "pace": 2,
                "topic": 1,
            },
            "other": {"network": {"named": "karate"}, "run": {"steps": 3}} if size > 1 else None,
        }
        fragment = page.module("address", "await module.encodeState(given)", state)
        assert set(fragment[1:]) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
        assert page.module("address", "await module.decodeState(given)", fragment) == state


def test_a_state_too_large_for_an_address_has_none(page: Driver) -> None:
    large = np.random.default_rng(1).random(90_000).tolist()
    assert (
        page.module(
            "address", "await module.encodeState(given)", {"scenario": {"network": {}, "agents": {"hidden": large}}}
        )
        is None
    )


def test_of_many_wishes_the_last_is_served_and_one_runs_at_a_time(page: Driver) -> None:
    order = page.module(
        "api",
        """await (async () => { const channel = new module.Channel(), begun = []; let running = 0, most = 0;
            const work = k => signal => new Promise((done, fail) => {
                begun.push(k); most = Math.max(most, ++running);
                const timer = setTimeout(() => { running -= 1; done(k) }, 20);
                signal.addEventListener('abort', () => {
                    running -= 1; clearTimeout(timer); fail(new Error('aborted')) }) });
            const answers = await Promise.all([0, 1, 2, 3, 4].map(k => channel.latest(work(k))));
            return { begun, most, answers: answers.map(a => a ?? null) } })()""",
    )
    assert order == {"begun": [0, 4], "most": 1, "answers": [0, None, None, None, 4]}


def test_work_that_lasts_is_given_up_for_a_newer_wish(page: Driver) -> None:
    answers = page.module(
        "api",
        """await (async () => { const channel = new module.Channel(30); let aborted = false;
            const endless = channel.latest(signal => new Promise((_, fail) =>
                signal.addEventListener('abort', () => { aborted = true; fail(new Error('aborted')) })));
            const next = await channel.latest(async () => 'next');
            return [await endless ?? null, next, aborted] })()""",
    )
    assert answers == [None, "next", True]


def test_work_of_half_a_second_ends_while_wishes_keep_coming(page: Driver) -> None:
    """So that the picture follows a slider that is being dragged."""
    served = page.module(
        "api",
        """await (async () => { const channel = new module.Channel(), served = [], wishes = [];
            const work = k => signal => new Promise((done, fail) => {
                const timer = setTimeout(() => done(k), 500);
                signal.addEventListener('abort', () => { clearTimeout(timer); fail(new Error('aborted')) }) });
            for (let k = 0; k < 8; k += 1) {
                wishes.push(channel.latest(work(k)).then(answer => answer !== undefined && served.push(answer)));
                await new Promise(done => setTimeout(done, 50)) }
            await Promise.all(wishes);
            return served })()""",
    )
    assert served == [0, 7]


def test_an_error_reaches_whoever_asked_and_the_next_is_served(page: Driver) -> None:
    told = page.module(
        "api",
        """await (async () => { const channel = new module.Channel();
            const refuse = async () => { throw new module.Refusal('no', 'run', 422) };
            const first = await channel.latest(refuse).catch(e => [e.message, e.where]);
            return [first, await channel.latest(async () => 2)] })()""",
    )
    assert told == [["no", "run"], 2]


def test_parts_that_lost_their_meaning_are_taken_out_and_others_stay(page: Driver) -> None:
    before = {
        "network": {"generator": "k2"},
        "agents": {"hidden": [0, 1], "stubbornness": 2},
        "run": {"steps": 9},
        "observe": {"agents": [0], "methods": ["kalman"], "times": [1, 2, 8]},
    }
    changed = page.module(
        "scenario",
        """(() => { const plain = { agents: { hidden: { law: 'uniform' } } };
            const other = module.reconcile({ ...given, network: { named: 'karate' } }, given, plain);
            const shorter = module.reconcile({ ...given, run: { steps: 5 } }, given, plain);
            const whole = { ...given, network: { named: 'karate' }, agents: { hidden: [1] } };
            return [other, shorter, module.reconcile(whole, given, plain).agents] })()""",
        before,
    )
    assert changed[0]["agents"] == {"hidden": {"law": "uniform"}, "stubbornness": 2}
    assert changed[0]["observe"] == {"methods": ["kalman"], "times": [1, 2, 8]}
    assert changed[1]["observe"]["times"] == [1, 2]
    assert changed[2] == {"hidden": [1]}


def test_a_packed_answer_is_read_as_it_was_written(page: Driver) -> None:
    from peerpressure.explorer.protocol import pack

    arrays = {
        "a": np.arange(6, dtype=np.float32).reshape(2, 3),
        "b": np.array([1.5, np.nan]),
        "c": np.array([7], dtype=np.uint32),
    }
    read = page.module(
        "api",
        """(() => { const { header, arrays } = module.unpack(Uint8Array.from(given).buffer);
            const read = Object.entries(arrays).map(([k, v]) => [k, [v.shape, [...v].map(String)]]);
            return [header.note, Object.fromEntries(read)] })()""",
        list(pack({"note": "ρ"}, arrays)),
    )
    assert read == ["ρ", {"a": [[2, 3], ["0", "1", "2", "3", "4", "5"]], "b": [[2], ["1.5", "NaN"]], "c": [[1], ["7"]]}]


NAMES = """(() => {
    const layout = { ...given, x: [60, 70, 300, 395], y: [200, 202, 260, 200], width: 400, height: 400, covered: 40,
        within: (x, y, radius) => [0, 1, 2, 3].filter(i => Math.hypot(layout.x[i] - x, layout.y[i] - y) <= radius) };
    const names = ['a hub', 'hidden beside it', 'a name that is far too long for any drawing', 'at the edge'];
    return module.placedNames(layout, Float32Array.of(9, 4, 4, 4), i => names[i], text => 6 * text.length) })()"""


def test_agents_are_named_where_there_is_room_once_the_network_is_zoomed_in(page: Driver) -> None:
    assert page.module("labels", NAMES, {"zoom": 1}) == []
    placed = page.module("labels", NAMES, {"zoom": 2})
    # The hub's name is left of it, as another dot is to its right; that one's goes to the right, which is free.
    assert [(one["text"], round(one["x"])) for one in placed] == [
        ("a hub", 18),
        ("hidden beside it", 77),
        ("a name that is far to…", 161),
    ]
