"""Reports in a real browser: what is seen, pointed at, pressed, printed, and never fetched."""

from dataclasses import replace

import pytest

import fepysr_dyn as fd
from fepysr_dyn.expressions import parse
from fepysr_dyn.report.fronts import chosen_index

PHONE = 380


@pytest.fixture(scope="session")
def page(found, tmp_path_factory):
    """The report of every discovery."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    fd.write_report(found, path)
    return path


def middle_of(browser, selector):
    """Scroll to an element and return the place of its middle."""
    return browser.evaluate(f"""(() => {{
        const element = document.querySelector({selector!r});
        element.scrollIntoView({{block: "center", behavior: "instant"}});
        const box = element.getBoundingClientRect();
        return [box.x + box.width / 2, box.y + box.height / 2];
    }})()""")


def picked(browser):
    """Return the formula and the description shown below the first front."""
    return browser.evaluate(
        '["formula", "about"].map((part) => document.querySelector(`.picked .${part}`).textContent)'
    )


def formulas(browser):
    """Return how many formulas the first front has; the tests need two."""
    count = browser.evaluate('document.querySelectorAll(".front-view:first-child tbody tr").length')
    if count == 1:
        pytest.skip("the first equation was found at once: its front is one formula")
    return count


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_opens_without_complaint_and_without_network(browser, page, dark):
    browser.open(page, dark=dark)
    assert browser.complaints() == []
    assert browser.requests() == [page.resolve().as_uri()]


def test_equations_are_visible(browser, page, found):
    browser.open(page)
    boxes = browser.evaluate("""Array.from(document.querySelectorAll("#equations .row:not(.true) .equation"),
        (span) => Array.from(span.querySelectorAll("math"), (math) => {
            const box = math.getBoundingClientRect();
            return [box.width, box.height];
        }))""")
    assert len(boxes) == len(found.system.states)
    for terms in boxes:
        assert len(terms) >= 2
        assert all(width > 4 and height > 4 for width, height in terms)
    assert browser.evaluate('document.querySelectorAll("#equations .row.true math").length') > 0


def test_fractions_and_exponents_are_laid_out(browser, tyson, tmp_path):
    """An engine without MathML would put all of it on one line."""
    fd.write_report(tyson, tmp_path / "report.html")
    browser.open(tmp_path / "report.html")
    above, below, base, raised = browser.evaluate("""(() => {
        const top = (element) => element.getBoundingClientRect().top;
        const fraction = document.querySelector("#equations .true mfrac:has(msup)");
        const power = fraction.querySelector("msup");
        return [fraction.children[0], fraction.children[1], power.children[0], power.children[1]].map(top);
    })()""")
    assert above < below
    assert raised < base


def test_pointing_shows_a_formula_and_a_click_keeps_it(browser, page):
    browser.open(page)
    formulas(browser)
    before = picked(browser)
    assert before[1].startswith("chosen")
    place = middle_of(browser, ".front .point.front")
    browser.hover(*place)
    shown = picked(browser)
    assert shown != before
    browser.hover(2, 2)
    assert picked(browser) == before
    browser.click(*middle_of(browser, ".front .point.front"))
    browser.hover(2, 2)
    assert picked(browser) == shown
    assert (
        browser.evaluate('document.querySelector(".front .point.front").getAttribute("aria-pressed")')
        == "true"
    )


def test_the_front_is_walked_by_keyboard(browser, page):
    browser.open(page)
    count = formulas(browser)
    browser.evaluate('document.querySelector(".front .point[tabindex=\\"0\\"]").focus()')
    browser.press("Home", 36)
    row = "document.activeElement.dataset.row"
    assert browser.evaluate(row) == "front-0-0"
    first = picked(browser)
    for _ in range(count + 1):
        browser.press("ArrowRight", 39)
    assert browser.evaluate(row) == f"front-0-{count - 1}"
    assert picked(browser) != first
    browser.press("ArrowLeft", 37)
    assert browser.evaluate(row) == f"front-0-{count - 2}"
    # One stop of the tabulator for a whole front.
    assert (
        browser.evaluate(
            'document.querySelectorAll(".front-view:first-child .point[tabindex=\\"0\\"]").length'
        )
        == 1
    )


def test_the_tabulator_reaches_the_front(browser, lorenz, tmp_path):
    fd.write_report(lorenz, tmp_path / "report.html")
    browser.open(tmp_path / "report.html")
    reached = set()
    for _ in range(60):
        browser.press("Tab", 9)
        reached.add(browser.evaluate("document.activeElement.dataset.row || document.activeElement.tagName"))
    points = {name for name in reached if name.startswith("front-")}
    assert {name.split("-")[1] for name in points} == {"0", "1", "2"}
    assert len(points) == 3
    assert {"A", "SUMMARY"} <= reached


@pytest.mark.parametrize("width", [PHONE, 768])
def test_no_page_is_wider_than_its_window(browser, page, width):
    browser.open(page, width=width)
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    wide = browser.evaluate(f"""Array.from(document.querySelectorAll("svg.chart, figure, .card, section"))
        .filter((element) => element.getBoundingClientRect().right > {width} + 0.5).length""")
    assert wide == 0


def test_text_of_charts_is_readable_on_a_phone(browser, page):
    browser.open(page, width=PHONE)
    heights = browser.evaluate("""Array.from(document.querySelectorAll("details[open] svg.chart .tick"),
        (tick) => tick.getBoundingClientRect().height)""")
    assert min(heights) >= 9


CONTRASTS = """(() => {
    const channel = (c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    const luminance = (c) => 0.2126 * channel(c[0]) + 0.7152 * channel(c[1]) + 0.0722 * channel(c[2]);
    const colour = (text) => text.match(/[\\d.]+/g).map(Number);
    const background = (element) => {
        for (; element; element = element.parentElement) {
            const c = colour(getComputedStyle(element).backgroundColor);
            if (c.length < 4 || c[3] > 0) return c;
        }
        return [255, 255, 255];
    };
    const ratio = (a, b) => {
        const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
        return (high + 0.05) / (low + 0.05);
    };
    const seen = {text: 21, line: 21};
    for (const element of document.querySelectorAll("body *")) {
        if (!element.getClientRects().length) continue;
        const style = getComputedStyle(element);
        const drawn = ["path", "circle", "rect"].includes(element.tagName);
        const faint = /frame|beyond|halo|grid/.test(element.getAttribute("class") || "");
        if (drawn && !faint && !element.closest("clipPath")) {
            const best = Math.max(...[style.fill, style.stroke].filter((p) => p !== "none")
                .map((p) => ratio(colour(p), background(element.closest("svg")))));
            seen.line = Math.min(seen.line, best);
        }
        const own = Array.from(element.childNodes).some((n) => n.nodeType === 3 && n.textContent.trim());
        if (own && !["SCRIPT", "STYLE"].includes(element.tagName)) {
            const ink = element.closest("svg") ? style.fill : style.color;
            seen.text = Math.min(seen.text, ratio(colour(ink), background(element)));
        }
    }
    return seen;
})()"""


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_contrast(browser, page, dark):
    """WCAG AA: 4.5 for text, 3 for what is drawn."""
    browser.open(page, dark=dark)
    paper = browser.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (paper != "rgb(255, 255, 255)") == dark
    seen = browser.evaluate(CONTRASTS)
    assert seen["text"] >= 4.5
    assert seen["line"] >= 3


def test_printed_in_light_colours_and_unfolded(browser, tyson, tmp_path):
    fd.write_report(tyson, tmp_path / "report.html")
    browser.open(tmp_path / "report.html", dark=True)
    document = browser.pdf()
    assert document.startswith(b"%PDF")
    browser.send("Emulation.setEmulatedMedia", media="print", features=[])
    try:
        assert browser.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert browser.evaluate("getComputedStyle(document.querySelector('nav')).display") == "none"
    finally:
        browser.send("Emulation.setEmulatedMedia", media="", features=[])


def test_hostile_names_stay_text(browser, growth, tmp_path):
    """Whatever comes from data is shown, never run, and fetches nothing."""
    evil = (
        '"><img src=x onerror="document.title=1"><script>document.title=2</script>'
        "<style>*{display:none}</style>{{ 7 * 7 }}"
    )
    runs = tuple(
        replace(run, experiment=evil, message=evil + "https://example.org/x.png")
        for run in growth.validation.runs
    )
    hostile = replace(
        growth,
        validation=replace(growth.validation, runs=runs, notes=(evil,)),
        warnings=(evil,),
        provenance={
            **growth.provenance,
            "command": evil,
            "derivatives": [evil],
            "versions": {evil: evil},
            "seed": evil,
        },
        truth=replace(growth.truth, title=evil),
        features={"x": (parse("x"), parse("exp(x)/x"))},
    )
    path = tmp_path / "report.html"
    fd.write_report(hostile, path)
    browser.open(path)
    assert browser.complaints() == []
    assert browser.requests() == [path.resolve().as_uri()]
    assert browser.evaluate("document.title") == evil
    assert (
        browser.evaluate(
            "document.images.length + document.querySelectorAll('main style, main script').length"
        )
        == 0
    )
    assert browser.evaluate("document.querySelector('.warnings li').textContent") == evil


def test_the_policy_blocks_what_is_smuggled_in(browser, growth, tmp_path):
    """Were an escape ever forgotten, the policy would still keep it from running and fetching."""
    path = tmp_path / "report.html"
    fd.write_report(growth, path)
    text = path.read_text(encoding="utf-8")
    smuggled = (
        '<script>document.title="run"</script>'
        '<img src="https://example.org/x.png" onerror="document.title=1">'
    )
    path.write_text(text.replace("<main>", f"{smuggled}<main>"), encoding="utf-8")
    browser.open(path)
    assert browser.evaluate("document.title") == "growth"
    blocked = [event for event in browser.complaints() if "Content Security Policy" in str(event)]
    assert len(blocked) >= 2
    assert not [
        event
        for event in browser.events
        if event.get("method") == "Network.responseReceived" and "example.org" in str(event)
    ]


def test_the_chosen_point_is_the_chosen_formula(found):
    for state, rate in found.system.rates.items():
        index = chosen_index(found.fronts[state], rate)
        assert (
            index is None
            or found.fronts[state].candidates[index].expression.free_symbols == rate.free_symbols
        )
