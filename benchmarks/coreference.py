"""Coreference with gold mentions on gum-open: antecedents against forests and a classifier of mention pairs.

    python benchmarks/coreference.py [--data DIR] [--mentions all|coref] [--quick]

mention pairs            scikit-learn's LinearSVC on pairs as in Soon et al. (2001): each anaphor with its closest
                         antecedent and with the mentions between, and mentions that start an entity with the closest
                         ones before them; the best positive link wins
the cluster task         latent forests with the features of that task (Yu & Joachims 2009)
forest                   latent forests over the same links as antecedents
antecedents, margin      in rounds (CCCP), squared hinge
antecedents, likelihood  summed over right antecedents, by L-BFGS

All but the second have the same features. Every method is trained on the 84 training documents with each of its
settings, the one with the best CoNLL mean (MUC, B³, CEAFφ4) on the 12 development documents is kept, and the 12 test
documents are read once, at the end. Mentions are given: all that are annotated, singletons included, or with
`--mentions coref` those of the `.coref.conll` files, which have none, with the columns of the treebank.
"""

import argparse
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.stats import wilcoxon

from widemargin import Problem, Stop
from widemargin.clusterings import clustering_scores, conll_f1
from widemargin.core.restarts import fit_best
from widemargin.core.rounds import Rounds
from widemargin.objectives import OBJECTIVES
from widemargin.solvers import SOLVERS
from widemargin.structures.forest import ForestExamples
from widemargin.tasks.cluster.estimator import cluster_numbers
from widemargin.tasks.cluster.features import PairExtractor
from widemargin.tasks.clusters import predict_clusters
from widemargin.tasks.coreference.examples import AntecedentExamples, ErrorCosts, Links, link_features
from widemargin.tasks.coreference.features import LinkExtractor
from widemargin.tasks.coreference.files import entity_numbers, read_texts
from widemargin.text.mentions import Mentions

HERE = Path(__file__).resolve()
PARTS = ("train", "dev", "test")
FARTHEST = 10  # how many mentions back the pairs of a mention that starts an entity go


class Part(NamedTuple):
    """Documents, their entities, and their links."""

    X: list[Mentions]
    y: list[list[Any]]
    links: Links


Weights = Any
Predict = Callable[[str], list[list[int]]]


class Method(NamedTuple):
    """A method: its settings, and how to train with one of them, which returns a function that predicts a part."""

    name: str
    settings: Sequence[dict[str, float]]
    train: Callable[..., Predict]


def folder() -> Path:
    return Path(os.environ.get("WIDEMARGIN_DATA") or HERE.parents[2] / "shared" / "data")


def read(data: Path, quick: bool, mentions: str = "all") -> dict[str, Part]:
    extractor, parts = LinkExtractor(), {}
    for name in PARTS:
        corpus = read_texts(str(data / "gum-open" / f"{name}.conllu"))
        n = (10 if name == "train" else 4) if quick else None
        X, y = corpus.X[:n], corpus.y[:n]
        if mentions == "coref":
            other = read_texts(str(data / "gum-open" / f"{name}.coref.conll"))
            marked = {
                document.name: (document.spans, labels) for document, labels in zip(other.X, other.y, strict=True)
            }
            y = [marked[document.name][1] for document in X]
            X = [replace(document, spans=marked[document.name][0]) for document in X]
        parts[name] = Part(X, y, extractor.links(X))
    return parts


def antecedents(parts: dict[str, Part], objective: str, *, C: float, false_new: float = 1.0) -> Predict:
    """Antecedents; false anaphors cost 2 − `false_new`, so that the two kinds of errors trade off."""
    costs = ErrorCosts(2.0 - false_new, false_new, 1.0)
    examples = AntecedentExamples(parts["train"].links, entity_numbers(*parts["train"][:2]), costs=costs)
    smooth = OBJECTIVES[objective].kind == "smooth"
    problem = Problem(examples, OBJECTIVES[objective], C=C, loss="hinge" if smooth else "squared_hinge")
    stop = Stop(epochs=15) if smooth else Stop(epochs=10, gap=0.05)
    solution = fit_best(problem, SOLVERS["lbfgs" if smooth else "dcd"], stop=stop, rounds=Rounds(most=3))
    return lambda part: predict_clusters(AntecedentExamples(parts[part].links), solution.w)


def forest(parts: dict[str, Part], *, C: float, r: float) -> Predict:
    """Forests over the same links."""
    n = parts["train"].links.n_weights
    examples = ForestExamples(parts["train"].links, n, entity_numbers(*parts["train"][:2]), penalty=r)
    solution = fit_best(Problem(examples, C=C), SOLVERS["dcd"], stop=Stop(epochs=12, gap=0.05), rounds=Rounds(most=3))
    return lambda part: predict_clusters(ForestExamples(parts[part].links, n), solution.w)


def cluster_task(parts: dict[str, Part]) -> Callable[..., Predict]:
    """The `cluster` task, whose features are compiled once."""
    extractor = PairExtractor.choose(parts["train"].X, None, None)
    documents = {name: (extractor.fit if name == "train" else extractor.transform)(parts[name].X) for name in PARTS}

    def train(*, C: float, r: float) -> Predict:
        gold = cluster_numbers(documents["train"], parts["train"].y)
        examples = ForestExamples(documents["train"], extractor.n_features, gold, penalty=r)
        stop = Stop(epochs=25, gap=0.05)
        solution = fit_best(Problem(examples, C=C), SOLVERS["bundle"], stop=stop, rounds=Rounds(most=5))
        return lambda part: predict_clusters(ForestExamples(documents[part], extractor.n_features), solution.w)

    return train


def chosen_pairs(examples: AntecedentExamples) -> tuple[Any, Any]:
    """The mentions and antecedents of the training pairs of Soon et al., and whether each is right."""
    keys, closest = examples.keys, examples.first_completions()
    rows, right = [], []
    for m in range(examples.n_examples):
        reach = int(keys.pairs[m + 1] - keys.pairs[m])
        last = int(closest[m]) if examples.anaphoric[m] else min(reach, FARTHEST)
        for back in range(1, last + 1):
            rows.append(link_features(keys, m, int(keys.pairs[m + 1]) - back))
            right.append(examples.is_right(m, back))
    return np.array(rows), np.array(right)


def mention_pairs(parts: dict[str, Part]) -> Callable[..., Predict]:
    """A classifier of pairs with the features of links."""
    from sklearn.svm import LinearSVC

    examples = AntecedentExamples(parts["train"].links, entity_numbers(*parts["train"][:2]))
    rows, right = chosen_pairs(examples)
    indptr = (np.arange(len(rows) + 1) * rows.shape[1]).astype(np.int32)
    X = sparse.csr_array((np.ones(rows.size), rows.ravel(), indptr), shape=(len(rows), examples.n_weights))
    X.sum_duplicates()

    @cache
    def fitted(C: float) -> Any:
        return LinearSVC(C=C, dual=True, max_iter=300, tol=1e-2, random_state=0).fit(X, right)

    def train(*, C: float, threshold: float) -> Predict:
        svm = fitted(C)
        bias = float(svm.intercept_[0]) - threshold

        def predict(part: str) -> list[list[int]]:
            links = parts[part].links
            scores = links.scores_of_all(svm.coef_[0]) + bias
            outputs = np.zeros(len(links.keys.pairs) - 1, dtype=np.int32)
            for m in range(len(outputs)):
                begin, end = links.keys.pairs[m : m + 2]
                if end > begin and scores[begin:end].max() > 0.0:
                    outputs[m] = np.argmax(scores[begin:end][::-1]) + 1  # of equals the closest
            entities = AntecedentExamples(links).trees(outputs)
            return [
                entities[a:b].tolist() for a, b in zip(links.keys.documents, links.keys.documents[1:], strict=False)
            ]

        return predict

    return train


def methods(parts: dict[str, Part], quick: bool) -> list[Method]:
    def margin(**setting: float) -> Predict:
        return antecedents(parts, "margin", **setting)

    def likelihood(**setting: float) -> Predict:
        return antecedents(parts, "likelihood", **setting)

    found = [
        Method(
            "mention pairs",
            [{"C": C, "threshold": t} for C in (0.001, 0.01) for t in (-0.5, 0.0, 0.5)],
            mention_pairs(parts),
        ),
        Method("the cluster task", [{"C": C, "r": r} for C in (1e-4, 1e-3) for r in (1.0, 0.3)], cluster_task(parts)),
        Method("forest", [{"C": C, "r": r} for C in (1e-3,) for r in (1.0, 0.3)], lambda **s: forest(parts, **s)),
        Method("antecedents, margin", [{"C": C, "false_new": f} for C in (0.003, 0.03) for f in (1.0, 1.2)], margin),
        Method("antecedents, likelihood", [{"C": 0.3}, {"C": 1.0}], likelihood),
    ]
    return [each._replace(settings=each.settings[:1]) for each in found] if quick else found


def run(data: Path, *, quick: bool = False, mentions: str = "all") -> list[dict[str, Any]]:
    """Train all, choose, test; prints as it goes and returns the rows of the table."""
    begin, rows, chosen = perf_counter(), [], {}
    parts = read(data, quick, mentions)
    print("; ".join(f"{name} {len(p.X)} documents, {sum(map(len, p.X)):,} mentions" for name, p in parts.items()))
    print(f"\n{'settings':<44} seconds  dev CoNLL", flush=True)
    for method in methods(parts, quick):
        best = -1.0
        for setting in method.settings:
            since = perf_counter()
            predict = method.train(**setting)
            dev = conll_f1(clustering_scores(parts["dev"].y, predict("dev")))
            text = ", ".join(f"{name} {value:g}" for name, value in setting.items())
            print(f"{method.name:<24} {text:<20} {perf_counter() - since:6.0f} {100 * dev:10.2f}", flush=True)
            rows.append({"method": method.name, "part": "dev", **setting, "conll": dev})
            if dev > best:
                best, chosen[method.name] = dev, (setting, predict)
    print(f"\n{'on the test documents':<26} MUC     B³  CEAFφ4   LEA  BLANC  CoNLL")
    by_document = {}
    for name, (setting, predict) in chosen.items():
        found = predict("test")
        scores = clustering_scores(parts["test"].y, found)
        figures = [scores[each].f1 for each in ("muc", "b3", "ceaf_e", "lea", "blanc")] + [conll_f1(scores)]
        print(f"{name:<24} " + " ".join(f"{100 * each:6.2f}" for each in figures), flush=True)
        pairs = zip(parts["test"].y, found, strict=True)
        by_document[name] = [conll_f1(clustering_scores([g], [p])) for g, p in pairs]
        rows.append({"method": name, "part": "test", **setting, "conll": figures[-1]})
    ours = by_document["antecedents, margin"]  # the default objective, not the one that is better on test
    for name, values in by_document.items():
        if not name.startswith("antecedents"):
            better, p = sum(a > b for a, b in zip(ours, values, strict=True)), wilcoxon(ours, values).pvalue
            print(f"margin against {name}: better on {better} of {len(ours)} documents, p = {p:.2g} (Wilcoxon)")
    print(f"all in {perf_counter() - begin:.0f} s")
    return rows


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, default=folder(), help="the folder of the corpora")
    parser.add_argument("--quick", action="store_true", help="a few documents, one setting of each method")
    parser.add_argument("--mentions", choices=["all", "coref"], default="all", help="those of which files")
    given = parser.parse_args()
    run(given.data, quick=given.quick, mentions=given.mentions)
