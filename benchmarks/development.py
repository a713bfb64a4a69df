"""Which epoch to keep when there are development data: rules compared by the test scores that they lead to.

    python benchmarks/development.py [--solver auto] [--seeds 0 1 2] [--patience 5] [--corpora bc2gm …] [--data DIR]

Taggers are trained on random parts of five corpora, with default settings, until the gap is 1 %. After every epoch the
weights and their average over the epochs so far are scored on development and test data. Every rule then chooses from
the same record. The table shows how much better than the weights at the end the chosen ones are on the test data, in
points of F1 of spans (accuracy for parts of speech): per corpus, on average and in the worst run, and on average and in
the worst run when patience ends training early.
"""

import argparse
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

import numpy as np

from widemargin.core.solution import relative_gap
from widemargin.files.formats import read
from widemargin.tasks.plan import Plan
from widemargin.tasks.tag import TaggerParameters
from widemargin.tasks.tag.estimator import compile_tags
from widemargin.tasks.training import Data

HERE = Path(__file__).resolve()
SIZES = {"train": 1500, "dev": 500, "test": 2000}
MOST_EPOCHS = 100


class Corpus(NamedTuple):
    """The files of a corpus and the column to learn; without development data, a part of the training data is it."""

    train: str
    dev: str | None
    test: str
    label: str


CORPORA = {
    "bc2gm": Corpus("train.tsv", "dev.tsv", "test.tsv", "label"),
    "ncbi-disease": Corpus("train.tsv", "dev.tsv", "test.tsv", "label"),
    "wnut17": Corpus("train.conll", "dev.conll", "test.conll", "label"),
    "ud-english-ewt": Corpus("train.conllu", "dev.conllu", "test.conllu", "upos"),
    "anystyle-citations": Corpus("core.xml", None, "gold.xml", "label"),
}


class Scores(NamedTuple):
    """How good weights are."""

    dev: float
    test: float


class Epoch(NamedTuple):
    """The gap after an epoch, and the scores of the weights and of their average over the epochs so far."""

    gap: float
    own: Scores
    average: Scores


Record = list[Epoch]
Candidate = Callable[[Epoch], Scores | None]
"""The scores that an epoch takes part with, if it does."""


class Rule(NamedTuple):
    """Keeps the best candidate, of equals the first or the last; patience counts epochs with gaps up to `patient`."""

    candidate: Candidate
    last: bool = True
    patient: float = 1.0

    def kept(self, record: Record, patience: float = np.inf) -> float:
        """The test score of what is kept: the weights at the end if there was no candidate."""
        best, test, waited = -np.inf, record[-1].own.test, 0
        for epoch in record:
            scores = self.candidate(epoch)
            if scores is None:
                continue
            waited = 0 if scores.dev > best or epoch.gap > self.patient else waited + 1
            if scores.dev > best or (self.last and scores.dev == best):
                best, test = scores
            if waited >= patience:
                break
        return test


def own(epoch: Epoch) -> Scores:
    return epoch.own


def below(gap: float) -> Candidate:
    return lambda epoch: epoch.own if epoch.gap <= gap else None


def averaged(gap: float) -> Candidate:
    return lambda epoch: epoch.own if epoch.gap <= gap else epoch.average


RULES = {
    "the first best": Rule(own, last=False),
    "the last best": Rule(own),
    **{f"the best below a gap of {gap:.0%}": Rule(below(gap)) for gap in (0.5, 0.2, 0.1, 0.05)},
    "the best average": Rule(lambda epoch: epoch.average),
    **{f"the best, averages above {gap:.0%}": Rule(averaged(gap), patient=gap) for gap in (0.5, 0.2, 0.1, 0.05)},
}


def load(path: Path, label: str) -> list[tuple[list[str], list[str]]]:
    columns = read(path).columns
    labels = columns.sequences(label if label in columns else columns.names[-1])
    return list(zip(columns.sequences("word"), labels, strict=True))


def parts(folder: Path, corpus: Corpus, seed: int) -> Iterator[tuple[list[Any], list[Any]]]:
    """Random sequences to train on, to choose by and to test on."""
    rng = np.random.default_rng(seed)
    sequences = {
        part: load(folder / name, corpus.label)
        for part, name in (("train", corpus.train), ("dev", corpus.dev), ("test", corpus.test))
        if name is not None
    }
    shuffled = {part: [each[i] for i in rng.permutation(len(each))] for part, each in sequences.items()}
    if corpus.dev is None:
        held = min(SIZES["dev"], len(shuffled["train"]) // 4)
        shuffled["dev"], shuffled["train"] = shuffled["train"][:held], shuffled["train"][held:]
    for part, size in SIZES.items():
        X, y = zip(*shuffled[part][:size], strict=True)
        yield list(X), list(y)


def record(folder: Path, corpus: Corpus, solver: str, seed: int) -> Record:
    """Train until the gap is small enough, scoring after every epoch."""
    train, dev, test = parts(folder, corpus, seed)
    parameters = TaggerParameters(solver=solver, random_state=seed)
    on_dev, on_test = (compile_tags(parameters, Data(*train, dev=part)) for part in (dev, test))
    assert on_dev.score is not None
    assert on_test.score is not None
    plan = Plan.of(parameters)
    solver_, problem = plan.solver, plan.problem(on_dev.examples)
    state, rng, average = solver_.start(problem), np.random.default_rng(seed), np.zeros(problem.n_weights)
    epochs: Record = []
    while len(epochs) < MOST_EPOCHS and not (epochs and epochs[-1].gap <= (parameters.tol or 0.0)):
        solver_.epoch(problem, state, rng)
        w = solver_.weights(state)
        average += 2.0 / (len(epochs) + 2.0) * (w - average)
        gap = relative_gap(problem.primal_estimate(w), solver_.dual(problem, state))
        assert gap is not None, f"{solver} has no dual, and its gaps are unknown"
        scores = (Scores(on_dev.score(each), on_test.score(each)) for each in (w, average))
        epochs.append(Epoch(gap, *scores))
    return epochs


def table(records: dict[str, list[Record]], patience: int) -> Iterator[str]:
    """How much each rule gains."""
    titles = ["kept", *records, "mean", "worst", f"patience {patience}: mean", "worst"]
    yield "| " + " | ".join(titles) + " |"
    yield "| --- |" + " ---: |" * (len(titles) - 1)
    for name, rule in RULES.items():
        plain, hurried = (gains(records, rule, each) for each in (np.inf, patience))
        means = [mean(each) for each in plain.values()]
        cells = [*means, mean(means), least(plain), mean(map(mean, hurried.values())), least(hurried)]
        yield f"| {name} | " + " | ".join(f"{cell:+.2f}" for cell in cells) + " |"


def gains(records: dict[str, list[Record]], rule: Rule, patience: float) -> dict[str, list[float]]:
    return {
        name: [100.0 * (rule.kept(each, patience) - each[-1].own.test) for each in runs]
        for name, runs in records.items()
    }


def least(gained: dict[str, Sequence[float]]) -> float:
    return min(map(min, gained.values()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=HERE.parents[2] / "shared" / "data")
    parser.add_argument("--corpora", nargs="+", choices=CORPORA, default=list(CORPORA))
    parser.add_argument("--solver", default="auto", help="any with a dual")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--patience", type=int, default=5)
    options = parser.parse_args()
    data = Path(os.environ.get("WIDEMARGIN_DATA", options.data))
    records: dict[str, list[Record]] = {}
    for name in options.corpora:
        if not (data / name).is_dir():
            raise SystemExit(f"the corpus {name} is not at {data}; set WIDEMARGIN_DATA")
        records[name] = []
        for seed in options.seeds:
            run = record(data / name, CORPORA[name], options.solver, seed)
            records[name].append(run)
            print(f"  {name}, seed {seed}: {len(run)} epochs, at the end {run[-1].own.test:.4f} on test", flush=True)
    print("\n" + "\n".join(table(records, options.patience)))


if __name__ == "__main__":
    main()
