"""A neural tagger: convolutions score the tags of words, and the library finds the best sequence.

    python examples/neural_tagger.py --data train.conllu dev.conllu --label xpos --objective margin

Words, endings and shapes have vectors, trained from scratch. Two convolutions over five words each turn them into
scores of tags, and scores of transitions between tags are learnt with them.
"""

import argparse
from collections import Counter
from time import perf_counter
from typing import NamedTuple

import numpy as np
import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence

from widemargin.data.treebanks import treebank
from widemargin.files.formats import read
from widemargin.torch import Likelihood, LinearChain, Perceptron, SlackScaling, SoftmaxMargin, StructuredHinge

OBJECTIVES = {
    "margin": StructuredHinge,
    "slack": SlackScaling,
    "likelihood": Likelihood,
    "perceptron": Perceptron,
    "softmax-margin": SoftmaxMargin,
}
OPTIMISERS = {
    "adagrad": lambda weights, rate: torch.optim.Adagrad(weights, lr=rate or 0.03),
    "adadelta": lambda weights, rate: torch.optim.Adadelta(weights, lr=rate or 1.0, rho=0.95),
}


class Epoch(NamedTuple):
    """Accuracy on the development data, the seconds of training so far, and how many of them went into decoding."""

    accuracy: float
    seconds: float
    decoding: float


def observed(word):
    """What the tagger sees of a word: the word, its ending, and whether it has capitals, digits and hyphens."""
    return word.lower(), word[-3:].lower(), (word[:1].isupper(), any(map(str.isdigit, word)), "-" in word)


class Convolutions(nn.Module):
    """Emission scores, (B, T, L)."""

    def __init__(self, sizes, n_labels, widths=(64, 32, 8), hidden=128, dropout=0.3):
        super().__init__()
        self.vectors = nn.ModuleList(nn.Embedding(size, width) for size, width in zip(sizes, widths, strict=True))
        self.first = nn.Conv1d(sum(widths), hidden, 5, padding=2)
        self.second = nn.Conv1d(hidden, hidden, 5, padding=2)
        self.label = nn.Linear(hidden, n_labels)
        self.dropout = nn.Dropout(dropout)

    def forward(self, rows):
        """Scores of the rows of numbers of words, (B, T, 3)."""
        x = torch.cat([table(rows[..., k]) for k, table in enumerate(self.vectors)], dim=-1)
        x = self.first(self.dropout(x).transpose(1, 2)).relu()
        x = x + self.second(self.dropout(x)).relu()
        return self.label(self.dropout(x).transpose(1, 2))


class NeuralTagger:
    """A tagger that learns from sequences of words and of tags."""

    def __init__(self, words, tags, *, objective="margin", optimiser="adagrad", rate=None, seed=0, batch_size=32):
        torch.manual_seed(seed)
        self.rng, self.batch_size = np.random.default_rng(seed), batch_size
        counts = [Counter(values) for values in zip(*(observed(w) for each in words for w in each), strict=True)]
        # 0 is the number of what has been seen less than twice.
        self.numbers = [
            {value: k for k, value in enumerate((v for v, n in count.items() if n > 1), start=1)} for count in counts
        ]
        self.labels = sorted({tag for each in tags for tag in each})
        codes = {label: k for k, label in enumerate(self.labels)}
        self.scorer = Convolutions([len(table) + 1 for table in self.numbers], len(self.labels))
        self.chain = LinearChain(len(self.labels), batch_first=True, loss=OBJECTIVES[objective])
        self.weights = [*self.scorer.parameters(), *self.chain.parameters()]
        self.optimiser = OPTIMISERS[optimiser](self.weights, rate)
        self.rows = self._rows(words)
        self.gold = [torch.tensor([codes[tag] for tag in each]) for each in tags]
        # A first tag, so that compiling does not count as training.
        self.chain(torch.zeros(1, 1, len(self.labels)), torch.zeros(1, 1, dtype=torch.int64))

    def _rows(self, words):
        return [
            torch.tensor([[table.get(v, 0) for table, v in zip(self.numbers, observed(w), strict=True)] for w in each])
            for each in words
        ]

    def _batches(self, rows):
        """Numbers of sentences of about the same length, in random order; their rows, padded; and how long they are."""
        order = np.argsort([len(each) + self.rng.random() for each in rows])
        cut = [order[k : k + self.batch_size] for k in range(0, len(order), self.batch_size)]
        for k in self.rng.permutation(len(cut)):
            some = [rows[number] for number in cut[k]]
            lengths = torch.tensor(list(map(len, some)))
            yield cut[k], pad_sequence(some, batch_first=True), torch.arange(lengths.max()) < lengths[:, None]

    def epochs(self, n_epochs, words, tags):
        """Train, and yield an `Epoch` after each pass, with the accuracy on these words and tags."""
        seconds = decoding = 0.0
        for _ in range(n_epochs):
            begin, self.chain.chain.seconds = perf_counter(), 0.0
            self.scorer.train()
            for numbers, rows, mask in self._batches(self.rows):
                gold = pad_sequence([self.gold[k] for k in numbers], batch_first=True)
                self.optimiser.zero_grad()
                (-self.chain(self.scorer(rows), gold, mask, reduction="mean")).backward()
                nn.utils.clip_grad_norm_(self.weights, 5.0)
                self.optimiser.step()
            seconds, decoding = seconds + perf_counter() - begin, decoding + self.chain.chain.seconds
            pairs = zip(tags, self.predict(words), strict=True)
            right = [one == other for gold, found in pairs for one, other in zip(gold, found, strict=True)]
            yield Epoch(sum(right) / len(right), seconds, decoding)

    @torch.no_grad()
    def predict(self, words):
        """The tags of sentences."""
        self.scorer.eval()
        found = [[]] * len(words)
        for numbers, rows, mask in self._batches(self._rows(words)):
            for k, labels in zip(numbers, self.chain.decode(self.scorer(rows), mask), strict=True):
                found[k] = [self.labels[label] for label in labels]
        return found


def main(arguments=()):
    """Train on a file, or on generated sentences, and print a line for each epoch; return the last."""
    parser = argparse.ArgumentParser(description="Train a neural tagger.")
    parser.add_argument("--data", nargs=2, metavar=("TRAIN", "DEV"), help="files that the library reads")
    parser.add_argument("--label", default="xpos", help="the column of tags")
    parser.add_argument("--objective", choices=OBJECTIVES, default="margin")
    parser.add_argument("--optimiser", choices=OPTIMISERS, default="adagrad")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--rate", type=float)
    parser.add_argument("--sentences", type=int, help="train on the first so many")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    columns = (
        [read(path).columns for path in options.data] if options.data else [treebank(150, 1)[0], treebank(60, 2)[0]]
    )
    (words, tags), dev = ([each.sequences(name) for name in ("word", options.label)] for each in columns)
    some = slice(options.sentences)
    settings = {name: getattr(options, name) for name in ("objective", "optimiser", "rate", "seed")}
    tagger = NeuralTagger(words[some], tags[some], **settings)
    for number, epoch in enumerate(tagger.epochs(options.epochs, *dev), start=1):
        share = epoch.decoding / epoch.seconds
        print(f"epoch {number}: accuracy {epoch.accuracy:.1%}, {epoch.seconds:.1f} s, of which decoding {share:.0%}")
    return epoch


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
