"""Comparing solvers: the arithmetic on traces made by hand, the files on real runs."""

import csv
import json
import signal
import struct
from html.parser import HTMLParser
from io import StringIO

import numpy as np
import pytest

from helpers import optimum, problem
from widemargin.core.loop import Callback, Stop
from widemargin.core.problem import Problem
from widemargin.core.solution import Epoch
from widemargin.errors import UnsupportedError, WidemarginError
from widemargin.report.comparison import FILES, INTERRUPTED, Comparison, compare
from widemargin.report.curves import distinct
from widemargin.report.verdict import COLUMNS, Function, SolverRun, Spent, cells, conclusions, judge, winners
from widemargin.solvers import Perceptron
from widemargin.structures.custom import CustomExamples

SQUARED = Function("margin", "squared_hinge", "l2", 0.1)
HINGE = Function("margin", "hinge", "l2", 0.1)


def run(name, primals, duals=None, scores=None, function=SQUARED, pace=1.0):
    """A run whose epochs take `pace` seconds and ten oracle calls each."""
    n = len(primals)
    rows = zip(primals, duals or [None] * n, scores or [None] * n, strict=True)
    trace = (Epoch(t, pace * t, 10 * t, p, d, None, s, True) for t, (p, d, s) in enumerate(rows, 1))
    return SolverRun(name, function, tuple(trace), "epochs")


def verdicts(*runs):
    return {verdict.run.name: verdict for verdict in judge(runs)}


def test_all_runs_on_a_function_are_judged_by_its_best_bound():
    found = verdicts(run("strong", [200.0, 102.0], [50.0, 100.0]), run("weak", [150.0, 101.0], [0.0, 10.0]))
    assert found["strong"].bound == found["weak"].bound == 100.0
    assert found["weak"].gaps == pytest.approx((50 / 150, 1 / 101))
    assert found["weak"].certificate == pytest.approx(91 / 101)
    assert found["strong"].certificate == found["strong"].gap == pytest.approx(2 / 102)


def test_runs_on_other_functions_lend_no_bound():
    found = verdicts(run("a", [4.0], [1.0]), run("b", [4.0], [3.0], function=HINGE))
    assert (found["a"].gap, found["b"].gap) == (0.75, 0.25)
    weaker = SQUARED._replace(C=0.01)
    assert verdicts(run("a", [4.0], [1.0]), run("b", [4.0], [3.0], function=weaker))["a"].gap == 0.75


def test_a_gap_is_reached_at_the_end_of_an_epoch_without_interpolation():
    found = verdicts(run("a", [200.0, 112.0, 111.0, 100.5], [0.0, 0.0, 0.0, 100.0], pace=0.5))["a"]
    ten, one, tenth = found.reached
    assert ten == Spent(seconds=1.5, epochs=3, oracle_calls=30)  # 11 / 111 < 10 % < 12 / 112
    assert one == Spent(seconds=2.0, epochs=4, oracle_calls=40)
    assert tenth is None
    assert found.spent == one


def test_what_has_been_reached_stays_reached():
    found = verdicts(run("a", [101.0, 500.0, 100.5], [100.0] * 3))["a"]
    assert found.gaps == pytest.approx((1 / 101, 1 / 101, 0.5 / 100.5))
    assert found.objective == 100.5


def test_without_any_dual_there_is_no_gap():
    found = verdicts(run("a", [3.0, 2.0]))["a"]
    assert found.gaps == (None, None)
    assert found.reached == (None, None, None)
    assert found.certificate is None
    assert found.objective == 2.0


def test_what_is_not_a_number_is_not_known():
    found = verdicts(run("a", [float("inf"), float("nan"), 2.0], [float("nan"), None, 1.0]))["a"]
    assert found.gaps == (None, None, 0.5)
    never = verdicts(run("b", [float("nan")], [1.0]))["b"]
    assert (never.objective, never.gap, never.certificate) == (None, None, None)


def test_rounding_makes_no_negative_gap():
    assert verdicts(run("a", [1.0], [1.0 + 1e-15]))["a"].gap == 0.0
    assert verdicts(run("a", [0.0], [0.0]))["a"].gap == 0.0


def test_the_best_score_is_told_with_its_first_moment():
    found = verdicts(run("a", [1.0] * 4, scores=[0.5, 0.9, 0.9, None]))["a"]
    assert (found.score, found.scored) == (0.9, Spent(2.0, 2, 20))
    assert verdicts(run("a", [1.0], scores=[-2.0]))["a"].score == -2.0
    assert verdicts(run("a", [1.0]))["a"].scored is None


def test_ties_win_together():
    assert winners({"a": 1.0, "b": 1.01, "c": 1.02}) == {"a", "b"}
    assert winners({"a": 0.0, "b": 0.0, "c": 1.0}) == {"a", "b"}
    assert winners({"a": None, "b": 5.0}) == {"b"}
    assert winners({"a": None, "b": None}) == set()
    assert winners({"a": 0.91234, "b": 0.91233, "c": 0.912}, most=True) == {"a", "b"}


def test_efforts_are_won_within_a_function_and_scores_among_all():
    comparison = Comparison(
        (
            run("fast", [100.0], [100.0], [0.8]),
            run("slow", [200.0, 100.0], [0.0, 0.0], [0.7, 0.8]),
            run("other", [90.0], [90.0], [0.9], function=HINGE, pace=0.1),
            SolverRun("unable", failure="it cannot"),
        )
    )
    won = {row["solver"]: set(row["won"]) for row in comparison.table()}
    efforts = {f"{effort}_to_{gap}%" for effort in ("seconds", "epochs", "oracle_calls") for gap in ("10", "1", "0.1")}
    assert won == {"fast": efforts, "slow": set(), "other": {"score"}, "unable": set()}
    assert [row["solver"] for row in comparison.table(HINGE)] == ["other"]
    assert comparison.failures() == [("unable", "it cannot")]
    fast, slow, *_ = (cells(row, COLUMNS) for row in comparison.table())
    assert "★ 1" in {cell.label for cell in fast}
    assert not any(cell.won for cell in slow)


def test_the_remark_says_how_well_the_optimum_is_known():
    loose = Comparison((run("a", [100.0], [90.0]), run("b", [99.0], [50.0])))
    assert "No gap below 9.1 % can be told" in loose.remark(SQUARED)
    assert "No gap below" not in Comparison((run("a", [100.0], [99.99]),)).remark(SQUARED)
    assert "No run has a bound" in Comparison((run("a", [100.0]),)).remark(SQUARED)
    guessed = tuple(row._replace(certified=False) for row in run("a", [100.0], [99.99]).trace)
    assert "not proven" in Comparison((SolverRun("a", SQUARED, guessed, "epochs"),)).remark(SQUARED)


def chains(name):
    """A small problem, whatever the solver."""
    return problem("chain")[0]


STOP = Stop(epochs=40, gap=1e-3)


def test_the_common_bound_is_a_bound_on_the_true_optimum():
    comparison = compare(chains, ["dcd", "dcd(sweeps=1)", "perceptron"], stop=STOP)
    least, _ = optimum(*problem("chain"))
    for verdict in comparison.verdicts:
        assert verdict.bound <= least * (1 + 1e-9)
        assert verdict.objective >= least * (1 - 1e-9)
        assert (verdict.objective - least) / verdict.objective <= verdict.gap
    dcd = comparison.table()[0]
    assert dcd["stopped"] == "gap"
    assert dcd["gap"] <= dcd["certificate"] <= 1e-3
    assert not comparison.interrupted


def test_warming_up_and_measuring_leave_no_trace_in_the_counts():
    examples = chains("").examples
    weight = np.ones(examples.n_examples)
    weight[0] = 0.0
    comparison = compare(
        lambda name: Problem(examples, sample_weight=weight), {"mine": Perceptron()}, stop=Stop(epochs=3)
    )
    assert [row.oracle_calls for row in comparison.runs[0].trace] == [8, 16, 24]
    again = compare(lambda name: Problem(examples, sample_weight=weight), ["perceptron"], stop=Stop(epochs=3))
    assert [row.primal for row in again.runs[0].trace] == [row.primal for row in comparison.runs[0].trace]


def test_a_solver_that_cannot_is_listed_and_the_others_go_on():
    def hinge(name):
        if name == "dcd-light":
            raise UnsupportedError("not even stated")
        return problem("chain", loss="hinge")[0]

    comparison = compare(hinge, ["dcd", "dcd-light", "perceptron"], stop=STOP)
    (first, why), (second, sentence) = comparison.failures()
    assert (first, second, sentence) == ("dcd", "dcd-light", "not even stated")
    assert "not hinge" in why
    assert comparison.functions == [Function("margin", "hinge", "l2", 0.5)]


def test_structures_of_ones_own_can_be_compared():
    comparison = compare(lambda name: problem("custom, matching")[0], ["dcd", "perceptron"], stop=STOP)
    assert len(comparison.functions) == 1


class Approximate:
    exact = False
    n_weights = 2

    def features(self, x, y):
        return {y: x}

    def error(self, y, y_hat):
        return float(y != y_hat)

    def decode(self, x, w, y=None):
        return 0


def test_nothing_is_called_proven_of_an_approximate_decoder():
    examples = CustomExamples(Approximate(), [1.0, 2.0, 3.0], [0, 1, 1])
    comparison = compare(lambda name: Problem(examples), ["dcd"], stop=Stop(epochs=3))
    assert "not proven" in comparison.remark(comparison.functions[0])


def test_bad_input_is_refused_before_any_training():
    def bad(name):
        return problem("chain", C=-1.0 if name == "perceptron" else 1.0)[0]

    class Never(Callback):
        def on_start(self, max_epochs, n_examples):
            raise AssertionError

    with pytest.raises(WidemarginError, match="C must be"):
        compare(bad, ["dcd", "perceptron"], callbacks=[Never()])
    with pytest.raises(WidemarginError, match="no solver 'nonsense'"):
        compare(chains, ["dcd", "nonsense"], callbacks=[Never()])
    with pytest.raises(WidemarginError, match="no solver to compare"):
        compare(chains, [])


class CtrlC(Callback):
    """Presses Ctrl-C at the start of the given run, or in its second epoch."""

    def __init__(self, number, *, at_once=False):
        self.number, self.at_once = number, at_once

    def on_start(self, max_epochs, n_examples):
        self.number -= 1
        if self.at_once and self.number == 0:
            signal.raise_signal(signal.SIGINT)

    def on_epoch(self, epoch):
        if self.number == 0 and epoch.epoch == 2:
            signal.raise_signal(signal.SIGINT)


def test_ctrl_c_keeps_what_has_been_measured(tmp_path):
    solvers = ["perceptron", "dcd-light", "dcd"]
    comparison = compare(chains, solvers, stop=Stop(epochs=4, gap=None), callbacks=[CtrlC(2)])
    assert comparison.interrupted
    assert [len(each.trace) for each in comparison.runs] == [4, 2, 0]
    assert all(row.certified for each in comparison.runs for row in each.trace)
    assert comparison.failures() == [("dcd", INTERRUPTED)]
    comparison.save(tmp_path)
    assert json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))["interrupted"]


def test_without_anything_measured_nothing_is_written(tmp_path):
    comparison = compare(chains, ["dcd"], callbacks=[CtrlC(1, at_once=True)])
    assert comparison.failures() == [("dcd", INTERRUPTED)]
    for nothing in (comparison, compare(chains, ["dcd"], stop=Stop(epochs=0))):
        with pytest.raises(WidemarginError, match="first epoch"):
            nothing.save(tmp_path / "report")
    assert list(tmp_path.iterdir()) == []


def test_conclusions():
    fast, slow = run("fast", [200.0, 100.5], [90.0, 100.0], pace=0.5), run("slow", [150.0, 100.9], pace=1.0)
    far, tied = run("far", [400.0, 300.0], scores=[0.5, 0.25]), run("tied", [100.5], [100.0], [0.5], pace=1.001)
    assert conclusions(judge([fast, slow, far])) == [
        "fast is fastest, within 1 % of the optimum after 1.00 s; next is slow after 2.00 s; "
        "far does not come that close.",
        "far predicts best: 50.00 % on development data.",
    ]
    assert conclusions(judge([fast, tied, far])) == [
        "fast and tied are fastest, within 1 % of the optimum after 1.00 s; far does not come that close.",
        "tied and far predict best: 50.00 % on development data.",
    ]
    assert conclusions(judge([fast])) == ["fast comes within 1 % of the optimum after 1.00 s."]
    hinge, unmeasured = run("hinge", [50.0], [10.0], function=HINGE), SolverRun("not", failure="unable")
    assert conclusions(judge([fast, hinge, unmeasured])) == [
        f"Minimising {SQUARED}: fast comes within 1 % of the optimum after 1.00 s.",
        f"Minimising {HINGE}: No run is known to come close to the optimum; hinge is closest, within 80 %.",
    ]
    assert conclusions(judge([run("a", [4.0])])) == [
        "No run has a bound on the optimum, so none can be called close to it."
    ]


class Page(HTMLParser):
    """Checks that elements are closed in order, and collects what there is."""

    VOID = frozenset({"meta", "img"})

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.sources, self.text = [], [], [], ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.sources += [value for name, value in attrs if name in ("src", "href")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def png_size(content):
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    return struct.unpack(">II", content[16:24])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The report on runs on two functions, with scores, a failure, and names and data that HTML must not swallow."""
    folder = tmp_path_factory.mktemp("reports") / "new" / "folder"
    Comparison(
        (
            run("a<b>", [300.0, 110.0, 100.1], [90.0, 99.0, 100.0], [0.7, 0.8, 0.9]),
            run("slow", [3e6, 2e6, 1e6], [0.0, 0.0, 1.0], [0.1, 0.2, 0.3], pace=100.0),
            run("hinge", [50.0, 40.0], scores=[0.6, 0.7], function=HINGE),
            run("overflown", [float("inf")], [float("nan")], function=HINGE),
            SolverRun("unable", failure="it can't & won't"),
        ),
        {"file": "<train> & dev"},
        {"seed": 0},
    ).save(folder)
    return folder


def test_the_page_is_whole_and_needs_nothing_else(folder):
    assert {path.name for path in folder.iterdir()} == set(FILES)
    text = (folder / "report.html").read_text(encoding="utf-8")
    page = Page(text)
    assert "http" not in text
    assert {"script", "link", "iframe"}.isdisjoint(page.tags)
    assert page.tags.count("img") == 12  # objective and gap, the other's objective, and the scores of all; each thrice
    assert all(source.startswith("data:image/png;base64,") for source in page.sources)
    assert page.tags.count("table") == 3  # two functions, and what was not measured
    for expected in (
        "a<b>",
        "it can't & won't",
        "<train> & dev",
        str(SQUARED),
        str(HINGE),
        "★ 90.00 %",
        "a<b> predicts best",
    ):
        assert expected in page.text


def test_table_and_results_can_be_read_back(folder):
    rows = list(csv.DictReader(StringIO((folder / "table.csv").read_text(encoding="utf-8"))))
    assert [row["solver"] for row in rows] == ["a<b>", "slow", "hinge", "overflown", "unable"]
    assert float(rows[0]["seconds_to_1%"]) == 3.0
    assert rows[1]["seconds_to_1%"] == rows[4]["objective"] == ""
    text = (folder / "results.json").read_text(encoding="utf-8")
    results = json.loads(text, parse_constant=pytest.fail)
    assert results["versions"].keys() >= {"widemargin", "python", "numpy", "numba"}
    first = results["runs"][0]
    assert first["function"] == SQUARED._asdict()
    assert [epoch["judged_gap"] for epoch in first["trace"]] == pytest.approx([2 / 3, 10 / 110, 0.1 / 100.1])
    assert results["runs"][3]["trace"][0]["primal"] is None
    assert (results["data"], results["settings"]) == ({"file": "<train> & dev"}, {"seed": 0})


def test_the_picture_is_a_grid(folder, tmp_path):
    width, height = png_size((folder / "report.png").read_bytes())
    Comparison((run("a", [300.0, 110.0], [90.0, 99.0]),)).save(tmp_path)
    content = (tmp_path / "report.png").read_bytes()
    assert png_size(content)[0] == width
    assert png_size(content)[1] == pytest.approx(height * 2 / 4, abs=2)  # the functions' objectives, a gap, the scores
    assert len(content) > 10_000


@pytest.mark.parametrize("n", [1, 16])
def test_any_number_of_runs_can_be_drawn(n, tmp_path):
    runs = [run(f"solver {k}", [100.0 + k, 100.0], [99.0, 100.0], [0.5, 0.5]) for k in range(n)]
    Comparison(tuple(runs)).save(tmp_path)
    assert png_size((tmp_path / "report.png").read_bytes())
    looks = {(curve.colour, curve.marker, curve.line) for curve in distinct({each.name: each.trace for each in runs})}
    assert len(looks) == n


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path):
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    comparison = Comparison((run("a", [2.0], [1.0]),))
    for target in (tmp_path / "file", tmp_path / "file" / "report"):
        with pytest.raises(WidemarginError, match="cannot be made a folder"):
            comparison.save(target)
    assert (tmp_path / "file").read_text(encoding="utf-8") == "mine"
