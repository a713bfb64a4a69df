"""Kummerfeld et al. (2015): margin, mistakes and likelihood on seven tasks.

There is an experiment for each method of each panel. It runs every setting of the grid for five epochs; the one with
the best development score goes on (§3.1).
"""

from functools import partial
from typing import Any

from experiment import Bench, Experiment, Paper
from kummerfeld_methods import BATCHES, METHODS, Epoch, Method, Setting
from kummerfeld_panels import PANELS
from kummerfeld_report import SECTIONS, Run, name_of

SCALE, TUNING = 0.7, 5


def tune(panel: str, method: str, bench: Bench) -> dict[str, Any]:
    """Tune a method on a panel, and run it with the best setting."""
    about = PANELS[panel]
    data = about.load(bench.data, bench.size(SCALE, 0.1))
    n_tuning, n_epochs = bench.size(TUNING, 1), bench.size(about.epochs, 2)

    def course(how: Method, setting: Setting) -> tuple[Run, Any]:
        return Run(spelt(setting), []), about.epochs_of(data, how, setting)

    courses = []
    for setting in about.settings(method):
        courses.append(course(METHODS[method], setting))
        reach(*courses[-1], n_tuning, bench)
    best = max(range(len(courses)), key=lambda k: courses[k][0].best)
    reach(*courses[best], n_epochs, bench)
    found = {"tuned": [run.stored() for run, _ in courses], "best": best, "n_tuning": n_tuning, "batched": None}
    if method == "adagrad-l2" and about.run is None:
        batched = course(BATCHES, about.settings(method)[best])
        reach(*batched, n_epochs, bench)
        found["batched"] = batched[0].stored()
    return found


def reach(run: Run, epochs: Any, length: int, bench: Bench) -> None:
    """Go on with a run until it has this many epochs, and tell how it went."""
    while len(run.epochs) < length:
        run.epochs.append(Epoch(*next(epochs)))
    bench.tell(
        f"{run.setting}: {100 * run.best:.2f} within {length} epochs of {run.seconds:.2f} s, "
        f"{run.decoding:.0%} of it decoding"
    )


def spelt(setting: Setting) -> str:
    """A setting in a few words."""
    symbols = {"C": "C", "eta": "η"}
    return ", ".join(f"{symbols[name]} {value:g}" for name, value in setting.items()).replace("inf", "∞")


PAPER = Paper(
    "kummerfeld",
    "Kummerfeld et al. 2015",
    "Jonathan K. Kummerfeld, Taylor Berg-Kirkpatrick and Dan Klein: An Empirical Analysis of "
    "Optimization for Max-Margin NLP. EMNLP 2015.",
    "The paper has CoNLL 2012, the Penn Treebank, UD 1.1 and TAC, none of which is open or at hand. The panels here "
    "are smaller and open: entities of ncbi-disease (1,400 + 350 sentences to train on and to score), links of "
    "gum-open (21 + 12 documents, gold mentions, the 50 before each, all errors cost 1), constituents of "
    "genia-treebank (350 + 105 sentences of up to 20 words, gold tags), the same with a BiLSTM, arcs of "
    "ud-english-ewt (840 + 210 sentences of up to 25 words, gold tags and lemmas) and summaries of opinosis (21 + 11 "
    "topics, those with the fewest sentences, integer programmes of at most 2,000 nodes). So curves are comparable in "
    "shape, not in height. Epochs end after 15, 10 for the neural parser and for summaries; the paper has 18 to 20. "
    "Test data are not read, as in the paper. One seed: differences below half a point mean little.",
    tuple(
        Experiment(name_of(panel, method), partial(tune, panel, method))
        for panel, about in PANELS.items()
        for method in about.methods
    ),
    SECTIONS,
)
