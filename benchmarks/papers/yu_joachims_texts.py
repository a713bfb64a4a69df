"""Table 2 of Yu & Joachims (2009), noun-phrase coreference: latent forests against correlation clustering.

All mentions are items, singletons included, as the paper's noun phrases are: they have no links, so MITRE's recall does
not ask for them, but links to them are wrong. Features see borders of mentions and the columns of the treebank.

Every method learns from the same features. Of its settings, the one with the least MITRE loss on the development
documents is kept, and the test documents are read once, at the end. Losses are means over documents.
"""

from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from experiment import Bench

from widemargin import Problem, Stop, fit
from widemargin.clusterings import clustering_scores, mitre_loss, pair_loss
from widemargin.core.latent import fit_latent
from widemargin.core.rounds import Rounds
from widemargin.solvers import SOLVERS
from widemargin.structures.forest import Documents
from widemargin.tasks.cluster.estimator import cluster_numbers
from widemargin.tasks.cluster.features import PairExtractor
from widemargin.tasks.cluster.files import read_documents
from widemargin.tasks.cluster.model import DECODERS
from widemargin.tasks.clusters import predict_clusters

GAP, ROUNDS = 0.05, 8
EPOCHS = {"forest": 40, "correlation": 80}
"""The most in each round; correlation clustering has one, and its greedy decoding proves no gap."""
SIZES = {"train": 40, "dev": 12, "test": 12}


class Method(NamedTuple):
    """The decoder, and the settings (C, r) to choose from."""

    decoder: str
    settings: Sequence[tuple[float, float]]


CORRELATION, FOREST, LENIENT = "correlation clustering", "latent forest, r = 1", "latent forest, r = 0.01"
METHODS = {
    CORRELATION: Method("correlation", [(1e-3, 1.0), (1e-2, 1.0), (1e-1, 1.0), (1e-2, 0.1)]),
    FOREST: Method("forest", [(C, 1.0) for C in (1e-5, 1e-4, 1e-3)]),
    LENIENT: Method("forest", [(C, 0.01) for C in (1e-5, 1e-4, 1e-3)]),
}


class Part(NamedTuple):
    """Documents as arrays, and their clusters as numbers and as lists."""

    documents: Documents
    clusters: Any
    y: list[list[Any]]


def read(data: Path, sizes: dict[str, int]) -> tuple[PairExtractor, dict[str, Part]]:
    """The first documents of the three parts of the corpus."""
    corpora = {part: read_documents(str(data / "gum-open" / f"{part}.conllu")) for part in sizes}
    X = {part: corpora[part].X[:most] for part, most in sizes.items()}
    extractor = PairExtractor.choose(X["train"], None, None)
    parts = {}
    for part, most in sizes.items():
        documents = (extractor.fit if part == "train" else extractor.transform)(X[part])
        y = [list(labels) for labels in corpora[part].y[:most]]
        parts[part] = Part(documents, cluster_numbers(documents, y), y)
    return extractor, parts


class Losses(NamedTuple):
    """MITRE and pair loss of every document in per cent, and the predicted clusters."""

    mitre: list[float]
    pair: list[float]
    clusters: list[list[int]]


def losses(decoder: str, n_features: int, part: Part, w: Any) -> Losses:
    found = predict_clusters(DECODERS[decoder](part.documents, n_features), w)
    pairs = list(zip(part.y, found, strict=True))
    return Losses([100 * mitre_loss([g], [p]) for g, p in pairs], [100 * pair_loss([g], [p]) for g, p in pairs], found)


def texts(method: str, bench: Bench) -> dict[str, Any]:
    """Train with every setting, choose, test."""
    extractor, parts = read(bench.data, bench.size(SIZES, {"train": 8, "dev": 4, "test": 6}))
    decoder, settings = METHODS[method]
    tried, weights = [], []
    for C, r in bench.size(settings, settings[:1]):
        begin = perf_counter()
        train = parts["train"]
        examples = DECODERS[decoder](train.documents, extractor.n_features, train.clusters, penalty=r)
        problem, stop = Problem(examples, C=C, n_threads=1), Stop(epochs=EPOCHS[decoder], gap=GAP)
        if decoder == "forest":
            solution = fit_latent(problem, SOLVERS["bundle"], stop=stop, rounds=Rounds(most=ROUNDS))
        else:
            solution = fit(problem, SOLVERS["bundle"], stop=stop)
        seconds = perf_counter() - begin
        dev = losses(decoder, extractor.n_features, parts["dev"], solution.w)
        facts = {"rounds": max(len(solution.rounds), 1), "calls": solution.oracle_calls, "seconds": seconds}
        tried.append({"C": C, "r": r, **facts, "mitre": float(np.mean(dev.mitre))})
        weights.append(solution.w)
        bench.tell(f"C {C:g}, r {r:g}: MITRE loss {tried[-1]['mitre']:.2f} on dev, {seconds:.0f} s")
    best = min(range(len(tried)), key=lambda k: tried[k]["mitre"])
    test = losses(decoder, extractor.n_features, parts["test"], weights[best])
    scores = clustering_scores(parts["test"].y, test.clusters)
    return {
        "tried": tried,
        "chosen": tried[best],
        "mitre": test.mitre,
        "pair": test.pair,
        "muc": [scores["muc"].precision, scores["muc"].recall],
        "b3": scores["b3"].f1,
    }
