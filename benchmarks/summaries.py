"""Summaries of reviews (Opinosis): the learnt programme against the first words and against unlearnt programmes.

Five folds over the 51 topics. What is decided beforehand:

- summaries have at most as many words as the references of the training folds have on average;
- C is chosen within the training folds, by ROUGE-2 recall on each of the four in turn;
- an unlearnt programme (Gillick & Favre 2009) values each pair of words by the number of sentences that have it; the
  usual one values pairs of two stop words at nothing, the other one values all pairs;
- the first words are as many as allowed, even if that cuts a sentence.

p is from Wilcoxon's signed-rank test of ROUGE-2 recall over topics against the learnt programme.

    python benchmarks/summaries.py [--data DIR] [--gum]
"""

import argparse
import os
import warnings
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import numpy as np
from scipy.stats import wilcoxon

from widemargin import Summariser
from widemargin.decoders.coverage import best_items
from widemargin.summaries import rouge, words
from widemargin.tasks.summarise.features import ENGLISH, SummarySettings, Topic, candidates_of, concept_counts
from widemargin.tasks.summarise.files import read_topics

GRID, FOLDS = (0.1, 1.0, 10.0), 5
MEASURES, MAIN = ("rouge1", "rouge2", "rougeL"), "rouge2"
LEARNT, USUAL, ALL, LEAD = "learnt", "content pairs by frequency", "all pairs by frequency", "first words"

Recalls = dict[str, list[float]]


class Data(NamedTuple):
    """Topics and their references."""

    X: list[Topic]
    y: list[list[str]]

    def only(self, numbers: np.ndarray) -> "Data":
        """Some of them."""
        return Data([self.X[i] for i in numbers], [self.y[i] for i in numbers])


def recalls(data: Data, summaries: list[str]) -> Recalls:
    scores = [rouge(texts, summary, MEASURES) for texts, summary in zip(data.y, summaries, strict=True)]
    return {name: [score[name].recall for score in scores] for name in MEASURES}


def first_words(topic: Topic, length: int) -> str:
    return " ".join([word for document in topic.documents for line in document for word in words(line)][:length])


def by_frequency(topic: Topic, length: int, *, content_only: bool) -> str:
    """The sentences whose pairs of words are in the most sentences."""
    settings, stop_words = SummarySettings(length, 2, True, False, ENGLISH), set(ENGLISH)
    counts = concept_counts((line for document in topic.documents for line in document), settings)
    worth = {pair: n for pair, n in counts.items() if not (content_only and stop_words.issuperset(pair))}
    extract, places = candidates_of(topic, settings, worth)
    chosen = best_items(extract.coverage, extract.sentence_recall, extract.concept_recall).chosen
    return "\n".join(topic.documents[d][s] for d, s in sorted(places[k] for k in np.flatnonzero(chosen)))


def learnt(train: Data, folds: list[np.ndarray], solver: str) -> Summariser:
    """A summariser with the C that is best on the training folds."""
    total = np.zeros(len(GRID))
    for held_out in folds:
        rest = np.setdiff1d(np.arange(len(train.X)), held_out)
        path = Summariser(solver=solver).fit_path(*train.only(rest), C=GRID)
        total += [each.score(*train.only(held_out)) for each in path]
    return Summariser(solver=solver, C=GRID[int(total.argmax())]).fit(*train)


def cross_validated(data: Data, solver: str, seed: int = 0) -> dict[str, Recalls]:
    folds = np.array_split(np.random.default_rng(seed).permutation(len(data.X)), FOLDS)
    found: dict[str, Recalls] = {name: {each: [] for each in MEASURES} for name in (LEARNT, USUAL, ALL, LEAD)}
    for k, test in enumerate(folds):
        begin, train = perf_counter(), np.concatenate([*folds[:k], *folds[k + 1 :]])
        places = np.split(np.arange(len(train)), np.cumsum([len(fold) for j, fold in enumerate(folds) if j != k])[:-1])
        model = learnt(data.only(train), places, solver)
        held_out, length = data.only(test), model.length_
        summaries = {
            LEARNT: [summary.text for summary in model.predict(held_out.X)],
            USUAL: [by_frequency(topic, length, content_only=True) for topic in held_out.X],
            ALL: [by_frequency(topic, length, content_only=False) for topic in held_out.X],
            LEAD: [first_words(topic, length) for topic in held_out.X],
        }
        for name, texts in summaries.items():
            for measure, values in recalls(held_out, texts).items():
                found[name][measure] += values
        solution = model.solution_
        print(
            f"fold {k + 1}: C {model.C:g}, {length} words, {solution.oracle_calls} oracle calls, "
            f"gap {solution.gap:.4f}, {perf_counter() - begin:.0f} s",
            flush=True,
        )
    return found


def report(name: str, found: dict[str, Recalls]) -> None:
    print(f"\n{name}: recall in per cent\n{'':28}{'R-1':>8}{'R-2':>8}{'R-L':>8}{'p':>9}")
    for system, measured in found.items():
        means = "".join(f"{100 * np.mean(measured[each]):8.2f}" for each in MEASURES)
        p = ""
        if system != LEARNT:
            p = f"{wilcoxon(found[LEARNT][MAIN], measured[MAIN]).pvalue:9.4f}"
        print(f"{system:28}{means}{p}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=os.environ.get("WIDEMARGIN_DATA") or "../shared/data")
    parser.add_argument("--solver", default="auto")
    parser.add_argument("--gum", action="store_true", help="GUM's documents instead of Opinosis")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    folder = Path(options.data)
    if options.gum:
        corpus = read_topics(str(folder / "gum-open" / "train.conllu"))
    else:
        corpus = read_topics(str(folder / "opinosis"), about={"encoding": "cp1252"})
    report("GUM" if options.gum else "Opinosis", cross_validated(Data(corpus.X, corpus.y), options.solver))


if __name__ == "__main__":
    main()
