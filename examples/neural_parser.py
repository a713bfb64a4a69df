"""A neural parser of constituents: a BiLSTM scores labelled spans, and the library finds the best tree.

    python examples/neural_parser.py --data train.ptb dev.ptb --objective margin --optimiser adagrad

Words, tags and word endings have vectors, trained from scratch. A BiLSTM turns them into vectors f_k between the words.
A span i … j has the hidden vector relu(A f_i + B f_j + the vector of its length), from which each label gets its score
(Stern et al. 2017; Durrett & Klein 2015). Trees are binary while they are parsed; their labels are those of the
library's own parser, so both learn from the same trees, words and tags.
"""

import argparse
from collections import Counter
from time import perf_counter
from typing import NamedTuple

import numpy as np
import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from widemargin.data.treebanks import treebank
from widemargin.files.formats import read
from widemargin.tasks.bracket.binary import Bracketing
from widemargin.tasks.bracket.metrics import bracket_scores
from widemargin.torch import Constituents, Likelihood, Perceptron, SoftmaxMargin, StructuredHinge

OBJECTIVES = {
    "margin": StructuredHinge,
    "likelihood": Likelihood,
    "perceptron": Perceptron,
    "softmax-margin": SoftmaxMargin,
}
OPTIMISERS = {
    "adagrad": lambda weights, rate: torch.optim.Adagrad(weights, lr=rate or 0.03),
    "adadelta": lambda weights, rate: torch.optim.Adadelta(weights, lr=rate or 1.0, rho=0.95),
}
LONGEST = 20  # longer spans share the vector of this length


class Epoch(NamedTuple):
    """F1 on the development trees, the seconds of training so far, and how many of them went into decoding."""

    f1: float
    seconds: float
    decoding: float


def observations(tree):
    """What the parser sees of each word: the word, its tag, two endings and its shape."""
    for word, tag in tree.tagged():
        shape = "".join(
            sorted({"A" if c.isupper() else "0" if c.isdigit() else "a" if c.isalpha() else c for c in word})
        )
        yield word.lower(), tag, word[-3:].lower(), word[-2:].lower(), shape


class Vocabulary:
    """Numbers for the values of each observation; 0 is for those seen less than twice in training."""

    def __init__(self, trees):
        counts = [
            Counter(values) for values in zip(*(row for tree in trees for row in observations(tree)), strict=True)
        ]
        self.numbers = [
            {value: k for k, value in enumerate((v for v, n in count.most_common() if n > 1), start=1)}
            for count in counts
        ]
        self.sizes = [len(numbers) + 1 for numbers in self.numbers]

    def __call__(self, tree):
        """A row of numbers for each word."""
        rows = [[table.get(v, 0) for table, v in zip(self.numbers, row, strict=True)] for row in observations(tree)]
        return torch.tensor(rows)


class SpanScorer(nn.Module):
    """Scores of labels for all spans of a batch of sentences."""

    def __init__(self, sizes, n_labels, widths=(64, 32, 32, 16, 8), hidden=128, span=192, dropout=0.33):
        super().__init__()
        self.vectors = nn.ModuleList(nn.Embedding(size, width) for size, width in zip(sizes, widths, strict=True))
        for table in self.vectors:
            nn.init.normal_(table.weight, std=0.3)
        self.lstm = nn.LSTM(sum(widths), hidden, num_layers=2, batch_first=True, bidirectional=True, dropout=dropout)
        width = 2 * (hidden + sum(widths))
        self.begin, self.end = nn.Linear(width, span), nn.Linear(width, span, bias=False)
        self.length = nn.Embedding(LONGEST + 1, span)
        nn.init.zeros_(self.length.weight)
        self.label = nn.Linear(span, n_labels)
        self.rules = nn.Parameter(torch.zeros(2, n_labels, n_labels))
        self.dropout = nn.Dropout(dropout)

    def forward(self, rows):
        """Scores of the spans of sentences of T words, (B, T (T + 1) / 2, L), and of rules, (2, L, L)."""
        x = torch.cat([table(rows[..., k]) for k, table in enumerate(self.vectors)], dim=-1)
        x = self.dropout(x)
        ahead, back = self.dropout(self.lstm(x)[0]).chunk(2, dim=-1)
        # Between two words: what has been read before and after, and the vectors of both.
        before, after = (
            nn.functional.pad(torch.cat(pair, dim=-1), pad)
            for pair, pad in zip(((ahead, x), (back, x)), ((0, 0, 1, 0), (0, 0, 0, 1)), strict=True)
        )
        between = torch.cat([before, after], dim=-1)
        i, j = Constituents.ends(rows.shape[1])
        spans = self.begin(between)[:, i] + self.end(between)[:, j] + self.length((j - i).clamp(max=LONGEST))
        return self.label(spans.relu()), self.rules


class NeuralParser:
    """A parser that learns from trees."""

    def __init__(self, trees, *, objective="margin", optimiser="adagrad", rate=None, seed=0, batch_size=10):
        torch.manual_seed(seed)
        self.rng, self.batch_size = np.random.default_rng(seed), batch_size
        self.bracketing, self.vocabulary = Bracketing.of(trees), Vocabulary(trees)
        self.by_kind = torch.from_numpy(self.bracketing.allowed)
        n_labels, n_chains = self.bracketing.n_labels, len(self.bracketing.chains)
        self.forbidden = torch.zeros(2, n_labels, n_labels, dtype=torch.bool)
        self.forbidden[:, n_chains:] = True
        for label, rest in enumerate(self.bracketing.rests.tolist()):
            if rest >= 0:
                self.forbidden[1, rest, label] = False
        self.scorer = SpanScorer(self.vocabulary.sizes, self.bracketing.n_labels)
        # The parser uses weights averaged over about an epoch, which are better than the last ones.
        self.average = AveragedModel(self.scorer, multi_avg_fn=get_ema_multi_avg_fn(0.995))
        self.structure = Constituents()
        self.loss = OBJECTIVES[objective](self.structure)
        self.optimiser = OPTIMISERS[optimiser](self.scorer.parameters(), rate)
        self.rows = [self.vocabulary(tree) for tree in trees]
        self.gold = [torch.from_numpy(self.bracketing.encode(tree)) for tree in trees]
        # A first tree of one word and no score, so that compiling does not count as training.
        self.loss((torch.zeros(1, 1, 1), torch.zeros(2, 1, 1)), torch.tensor([[[0, 1, 0]]]))

    def scores(self, scorer, rows):
        """What a network scores, −inf where the rest of a constituent is not the right half of that constituent."""
        spans, rules = scorer(rows)
        return spans, rules.masked_fill(self.forbidden, -torch.inf)

    def allowed(self, n):
        """The labels that the spans of a sentence of n words may have."""
        i, j = Constituents.ends(n)
        return self.by_kind[torch.where(j - i == 1, 0, torch.where(j - i == n, 2, 1))]

    def batches(self, rows):
        """Numbers of sentences of the same length, in random order."""
        lengths = np.array([len(each) for each in rows])
        order = self.rng.permutation(len(rows))
        groups = [order[lengths[order] == n] for n in np.unique(lengths)]
        cut = [each[k : k + self.batch_size] for each in groups for k in range(0, len(each), self.batch_size)]
        return [cut[k] for k in self.rng.permutation(len(cut))]

    def epochs(self, n_epochs, dev):
        """Train, and yield an `Epoch` after each pass over the trees."""
        seconds = decoding = 0.0
        for _ in range(n_epochs):
            begin, self.structure.seconds = perf_counter(), 0.0
            self.scorer.train()
            for batch in self.batches(self.rows):
                rows, gold = (torch.stack([each[k] for k in batch]) for each in (self.rows, self.gold))
                self.optimiser.zero_grad()
                self.loss(self.scores(self.scorer, rows), gold, allowed=self.allowed(rows.shape[1])).backward()
                nn.utils.clip_grad_norm_(self.scorer.parameters(), 5.0)
                self.optimiser.step()
                self.average.update_parameters(self.scorer)
            seconds, decoding = seconds + perf_counter() - begin, decoding + self.structure.seconds
            yield Epoch(bracket_scores(dev, self.parse(dev)).micro.f1, seconds, decoding)

    @torch.no_grad()
    def parse(self, trees):
        """Trees over the words and tags of these trees."""
        self.average.eval()
        found = [None] * len(trees)
        rows = [self.vocabulary(tree) for tree in trees]
        for batch in self.batches(rows):
            some = torch.stack([rows[k] for k in batch])
            nodes = self.structure.decode(self.scores(self.average, some), allowed=self.allowed(some.shape[1])).numpy()
            for k, tree in zip(batch, nodes, strict=True):
                found[k] = self.bracketing.decode(tree, trees[k].words(), trees[k].tags())
        return found


def train(trees_train, trees_dev, *, objective="margin", optimiser="adagrad", epochs=10, rate=None, seed=0):
    """Train a parser and yield (development F1, seconds, seconds in decoding) after each epoch."""
    yield from NeuralParser(trees_train, objective=objective, optimiser=optimiser, rate=rate, seed=seed).epochs(
        epochs, trees_dev
    )


def trees_of(path, longest):
    """The trees of a file, without the sentences that are too long."""
    return [tree for tree in read(path).trees if len(tree.words()) <= longest]


def main(arguments=()):
    """Train on a treebank, or on generated sentences, and print a line for each epoch; return the last."""
    parser = argparse.ArgumentParser(description="Train a neural parser of constituents.")
    parser.add_argument("--data", nargs=2, metavar=("TRAIN", "DEV"), help="files of trees in brackets")
    parser.add_argument("--objective", choices=OBJECTIVES, default="margin")
    parser.add_argument("--optimiser", choices=OPTIMISERS, default="adagrad")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--rate", type=float)
    parser.add_argument("--sentences", type=int, help="train on the first so many")
    parser.add_argument("--longest", type=int, default=40, help="leave out sentences of more words")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    if options.data:
        trees, dev = (trees_of(path, options.longest) for path in options.data)
    else:
        trees, dev = treebank(150, seed=1).trees, treebank(60, seed=2).trees
    settings = {name: getattr(options, name) for name in ("objective", "optimiser", "epochs", "rate", "seed")}
    for number, epoch in enumerate(train(trees[: options.sentences], dev, **settings), start=1):
        share = epoch.decoding / epoch.seconds
        print(f"epoch {number}: F1 {epoch.f1:.1%}, {epoch.seconds:.1f} s, of which decoding {share:.0%}", flush=True)
    return epoch


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
