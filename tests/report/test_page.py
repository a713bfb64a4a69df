"""The web pages in a browser, from a phone to a wide screen: nothing overflows, and plots are as wide as the page."""

import json
import re
import shutil
import subprocess
from html import escape, unescape

import pytest

from report.test_comparison import HINGE, run
from widemargin.report.comparison import Comparison
from widemargin.report.verdict import SolverRun
from widemargin.tasks.summarise.features import Summary, Topic
from widemargin.tasks.summarise.pictures import summary_page

CHROMIUM = shutil.which("chromium")
WIDTHS = {"wide": 1280, "tablet": 768, "phone": 390}
FLAGS = """--headless --no-sandbox --disable-gpu --disable-dev-shm-usage --disable-background-networking
    --disable-component-update --disable-sync --no-first-run --hide-scrollbars --virtual-time-budget=10000 --dump-dom"""
MEASURE = """
function measured(frame) {
  const page = frame.contentDocument, body = page.body, style = getComputedStyle(body);
  const inner = body.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
  const right = (each) => each.getBoundingClientRect().right;
  const outside = [...page.querySelectorAll("body *")].filter(
    (each) => !each.closest(".wide table") && right(each) > page.documentElement.clientWidth + 0.5);
  const clipped = [...page.querySelectorAll("body *")].filter(
    (each) => getComputedStyle(each).overflowX != "visible" && each.scrollWidth > each.clientWidth);
  const width = (each) => each.getBoundingClientRect().width;
  const first = page.querySelector("h1") && page.querySelector("h1").nextElementSibling;
  return {
    view: page.documentElement.clientWidth, scroll: page.documentElement.scrollWidth, inner: inner,
    outside: outside.map((each) => each.outerHTML.slice(0, 80)), clipped: clipped.map((each) => each.className),
    plots: [...page.querySelectorAll(".plots")].map(width),
    images: [...page.querySelectorAll(".plots img")].map((each) => [width(each), each.naturalWidth]),
    first: first ? first.className : "", bottom: first ? first.getBoundingClientRect().bottom : 0,
  };
}
window.onload = () => {
  const found = [...document.querySelectorAll("iframe")].map((each) => [each.id, measured(each)]);
  document.getElementById("measured").textContent = JSON.stringify(Object.fromEntries(found));
};
"""


def comparison(folder):
    """A report with much in it: two functions, long names, a failure."""
    long = "dcd(sweeps=1,delta=1e-5,some_other_parameter_of_a_solver=1234567890)"
    runs = (
        run("dcd", [300.0, 110.0, 100.1], [90.0, 99.0, 100.0], [0.7, 0.8, 0.9], pace=0.01),
        run(long, [400.0, 120.0, 100.5], [50.0, 60.0, 99.0], [0.6, 0.7, 0.8]),
        run("hinge", [50.0, 40.0], scores=[0.6, 0.7], function=HINGE),
        SolverRun("unable", failure=f"{long} cannot minimise this; choose another solver"),
    )
    Comparison(runs, {"training data": "/data/" + "long" * 40 + ".tsv"}, {"seed": 0}).save(folder)
    return (folder / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What the browser measures on each page; all of them are shown side by side, so that it is started once."""
    folder = tmp_path_factory.mktemp("pages")
    report = comparison(folder)
    topic = Topic([["word" * 60, "It rains."]], "weather")
    pages = {name: (report, width) for name, width in WIDTHS.items()}
    pages["summary"] = summary_page([topic], [Summary(["It rains."], [(0, 1)])]), WIDTHS["phone"]
    frames = "".join(
        f'<iframe id="{name}" width="{width}" height="800" srcdoc="{escape(text)}"></iframe>'
        for name, (text, width) in pages.items()
    )
    wrapper = folder / "wrapper.html"
    wrapper.write_text(f'{frames}<pre id="measured"></pre><script>{MEASURE}</script>', encoding="utf-8")
    done = subprocess.run(
        [CHROMIUM, *FLAGS.split(), f"--user-data-dir={folder / 'profile'}", wrapper.as_uri()],
        capture_output=True,
        encoding="utf-8",
        check=True,
        timeout=600,
    )
    match = re.search(r'<pre id="measured">(.+?)</pre>', done.stdout)
    assert match, done.stderr
    return json.loads(unescape(match[1]))


pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium (`apt-get install chromium`)")


@pytest.mark.parametrize("name", [*WIDTHS, "summary"])
def test_nothing_is_wider_than_the_screen(found, name):
    page = found[name]
    assert page["view"] == WIDTHS.get(name, WIDTHS["phone"])
    assert page["scroll"] <= page["view"]
    assert page["outside"] == []
    assert set(page["clipped"]) <= {"wide"}  # tables scroll in boxes of their own


@pytest.mark.parametrize("name", WIDTHS)
def test_the_verdict_comes_first(found, name):
    assert found[name]["first"] == "verdict"
    assert found[name]["bottom"] < 800  # and can be read without scrolling


@pytest.mark.parametrize(("name", "across"), [("wide", 3), ("tablet", 1), ("phone", 1)])
def test_plots_are_as_wide_as_the_page_and_readable(found, name, across):
    page = found[name]
    assert len(page["plots"]) == 4  # objective and gap, the objective of the other function, scores
    assert page["plots"] == pytest.approx([page["inner"]] * 4, abs=1)
    assert len(page["images"]) == 12
    for width, natural in page["images"]:
        assert across * width == pytest.approx(page["inner"], abs=30)  # less the gaps between them
        assert 0.4 * natural < width < 1.2 * natural  # letters of 11 pixels at least, and no coarse ones
