"""Noun-phrase coreference by latent forests against correlation clustering, as in Table 2 of Yu & Joachims (2009).

    python benchmarks/latent_cluster.py [--data DIR] [--quick]

Documents and gold mentions are those of gum-open (84 to train on, 12 to choose by, 12 to test), not the paper's MUC-6.
All mentions are items, singletons included, as the paper's noun phrases are: they have no links, so MITRE's recall does
not ask for them, but links to them are wrong. Features see borders of mentions and the columns of the treebank.

Every method learns from the same features. Of its settings, the one with the least MITRE loss on the development
documents is kept, and the test documents are read once, at the end. Losses are means over documents. The last lines
time one loss-augmented oracle, decoding and feature difference, on 200 mentions.
"""

import argparse
import os
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import ttest_rel, wilcoxon

from widemargin import Problem, Stop, fit
from widemargin.clusterings import clustering_scores, mitre_loss, pair_loss
from widemargin.core.latent import fit_latent
from widemargin.core.rounds import Rounds
from widemargin.solvers import SOLVERS
from widemargin.structures.pairs import Documents
from widemargin.tasks.cluster.compile import cluster_numbers
from widemargin.tasks.cluster.features import PairExtractor
from widemargin.tasks.cluster.files import read_documents
from widemargin.tasks.cluster.model import DECODERS, predicted
from widemargin.text.mentions import Mentions

HERE = Path(__file__).resolve()
GAP, ROUNDS = 0.05, 8
EPOCHS = {"forest": 40, "correlation": 80}
"""The most in each round; correlation clustering has one, and its greedy decoding proves no gap."""
N_TIMED = 200


class Method(NamedTuple):
    """A row of the table: its name, the paper's figures, the decoder, and the settings (C, r) to choose from."""

    name: str
    paper: tuple[float, float]
    decoder: str
    settings: Sequence[tuple[float, float]]


METHODS = [
    Method(
        "correlation clustering",
        (41.3, 2.89),
        "correlation",
        [*((C, 1.0) for C in (1e-4, 1e-3, 1e-2, 1e-1)), *((C, 0.1) for C in (1e-3, 1e-2))],
    ),
    Method("latent forest, r = 1", (44.1, 2.66), "forest", [(C, 1.0) for C in (1e-5, 1e-4, 1e-3)]),
    Method("latent forest, r = 0.01", (35.6, 4.11), "forest", [(C, 0.01) for C in (1e-5, 1e-4, 1e-3)]),
]


class Part(NamedTuple):
    """Documents as arrays, and their clusters as numbers and as lists."""

    documents: Documents
    clusters: Any
    y: list[list[Any]]


class Trained(NamedTuple):
    """What a setting has brought: weights, rounds, oracle calls, seconds, and the mean losses on dev."""

    C: float
    r: float
    w: Any
    rounds: int
    calls: int
    seconds: float
    mitre: float
    pair: float


def folder() -> Path:
    return Path(os.environ.get("WIDEMARGIN_DATA") or HERE.parents[2] / "shared" / "data")


def read(data: Path, quick: bool) -> tuple[PairExtractor, dict[str, Part], list[Mentions]]:
    """The three parts of the corpus; if it shall be quick, only a few documents of each."""
    corpora = {part: read_documents(str(data / "gum-open" / f"{part}.conllu")) for part in ("train", "dev", "test")}
    most = {"train": 12, "dev": 4, "test": 4} if quick else {}
    X = {part: corpus.X[: most.get(part)] for part, corpus in corpora.items()}
    extractor = PairExtractor.choose(X["train"], None, None)
    parts = {}
    for part, corpus in corpora.items():
        documents = (extractor.fit if part == "train" else extractor.transform)(X[part])
        y = [list(labels) for labels in corpus.y[: most.get(part)]]
        parts[part] = Part(documents, cluster_numbers(documents, y), y)
    return extractor, parts, X["test"]


def losses(decoder: str, n_features: int, part: Part, w: Any) -> tuple[list[float], list[float], list[list[int]]]:
    """MITRE and pair loss of every document in percent, and the predicted clusters."""
    found = predicted(DECODERS[decoder](part.documents, n_features), w)
    pairs = list(zip(part.y, found, strict=True))
    return [100 * mitre_loss([g], [p]) for g, p in pairs], [100 * pair_loss([g], [p]) for g, p in pairs], found


def train(method: Method, C: float, r: float, n_features: int, parts: dict[str, Part]) -> Trained:
    begin = perf_counter()
    examples = DECODERS[method.decoder](parts["train"].documents, n_features, parts["train"].clusters, penalty=r)
    problem, stop = Problem(examples, C=C), Stop(epochs=EPOCHS[method.decoder], gap=GAP)
    if method.decoder == "forest":
        solution = fit_latent(problem, SOLVERS["bundle"], stop=stop, rounds=Rounds(most=ROUNDS))
    else:
        solution = fit(problem, SOLVERS["bundle"], stop=stop)
    mitre, pair, _ = losses(method.decoder, n_features, parts["dev"], solution.w)
    n_rounds = max(len(solution.rounds), 1)
    seconds = perf_counter() - begin
    return Trained(C, r, solution.w, n_rounds, solution.oracle_calls, seconds, np.mean(mitre), np.mean(pair))


def oracle(extractor: PairExtractor, documents: Sequence[Mentions], w: Any, n: int) -> Iterator[tuple[str, float]]:
    """Milliseconds of the loss-augmented oracle on n mentions, in the processor's time."""
    mentions = next(each for each in documents if len(each) >= n)
    first = extractor.transform([Mentions(mentions.columns, mentions.sentence, mentions.spans[:n])])
    assert len(first.first) == len(list(combinations(range(n), 2)))
    clusters, batch = np.arange(n, dtype=np.int32) // 2, np.zeros(1, dtype=np.int32)
    for decoder, kind in DECODERS.items():
        examples, times = kind(first, extractor.n_features, clusters), []
        for _ in range(51):
            begin = process_time()
            examples.difference(batch, examples.decode(w, batch, error_scale=1.0))
            times.append(process_time() - begin)
        yield decoder, 1000 * float(np.median(times[1:]))


def run(data: Path, *, quick: bool = False) -> list[dict[str, Any]]:
    """Train all, choose, test; prints as it goes and returns the rows of the table."""
    begin = perf_counter()
    extractor, parts, documents = read(data, quick)
    sizes = [
        f"{part} {e.documents.n_documents} documents, {e.documents.items[-1]:,} mentions" for part, e in parts.items()
    ]
    seconds = perf_counter() - begin
    print(f"{'; '.join(sizes)}; {extractor.n_features:,} features; read and compared in {seconds:.0f} s\n", flush=True)
    print("settings               C      r     rounds   calls  seconds   dev MITRE   dev pair")
    rows, by_document, chosen = [], {}, {}
    for method in METHODS:
        tried = []
        for C, r in method.settings[::3] if quick else method.settings:
            t = train(method, C, r, extractor.n_features, parts)
            tried.append(t)
            line = f"{t.C:<8g} {t.r:<5g} {t.rounds:6} {t.calls:8,} {t.seconds:8.1f} {t.mitre:11.2f} {t.pair:10.3f}"
            print(f"{method.name:<22} {line}", flush=True)
        best = min(tried, key=lambda each: each.mitre)
        chosen[method.name] = best
        rows += [{"method": method.name, "part": "dev", **each._replace(w=None)._asdict()} for each in tried]
    heading = "C       r     MITRE loss  pair loss    MUC P   MUC R      B³    CEAF   paper: MITRE, pair"
    print(f"\n{'on the test documents':<26} {heading}")
    for method in METHODS:
        best = chosen[method.name]
        mitre, pair, found = losses(method.decoder, extractor.n_features, parts["test"], best.w)
        scores = clustering_scores(parts["test"].y, found)
        by_document[method.name] = mitre
        row = {"method": method.name, "part": "test", "C": best.C, "r": best.r}
        row |= {"mitre": np.mean(mitre), "pair": np.mean(pair), "paper": method.paper}
        row |= {f"{name}_f1": score.f1 for name, score in scores.items()}
        rows.append(row)
        four = (scores["muc"].precision, scores["muc"].recall, scores["b3"].f1, scores["ceaf_e"].f1)
        shares = " ".join(f"{100 * each:7.1f}" for each in four)
        figures = f"{best.C:<7g} {best.r:<5g} {np.mean(mitre):10.2f} {np.mean(pair):10.3f}  {shares}"
        print(f"{method.name:<26} {figures} {method.paper[0]:13} {method.paper[1]:6}", flush=True)
    rows += list(_tests(by_document))
    w = chosen["latent forest, r = 0.01"].w
    for decoder, milliseconds in oracle(extractor, documents, w, N_TIMED):
        print(f"oracle, {N_TIMED} mentions, {decoder}: {milliseconds:.2f} ms")
        rows.append({"method": decoder, "part": "oracle", "mentions": N_TIMED, "milliseconds": milliseconds})
    print(f"all in {perf_counter() - begin:.0f} s")
    return rows


def _tests(by_document: dict[str, list[float]]) -> Iterator[dict[str, Any]]:
    """MITRE losses of the forests against those of correlation clustering, document by document."""
    base = by_document[METHODS[0].name]
    for method in METHODS[1:]:
        other = by_document[method.name]
        better = sum(a < b for a, b in zip(other, base, strict=True))
        p, p_t = float(wilcoxon(other, base).pvalue), float(ttest_rel(other, base).pvalue)
        print(
            f"{method.name} against {METHODS[0].name}: lower MITRE loss on {better} of {len(base)} documents, "
            f"p = {p:.2g} (Wilcoxon), {p_t:.2g} (paired t)"
        )
        yield {"method": method.name, "part": "paired test", "better": better, "wilcoxon": p, "t": p_t}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, default=folder(), help="the folder of the corpora")
    parser.add_argument("--quick", action="store_true", help="a few documents and settings only")
    given = parser.parse_args()
    run(given.data, quick=given.quick)
