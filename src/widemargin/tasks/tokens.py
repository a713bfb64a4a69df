"""Models whose outputs are a code per token: taggers and segmenters."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar, Generic, Literal

import numpy as np

from widemargin._threads import run, share_ends
from widemargin._types import FloatMatrix, FloatVector, IntVector, LongVector
from widemargin.core.problem import in_shares
from widemargin.core.sparse import Rows, boundaries
from widemargin.tasks.answers import (
    Answers,
    Probable,
    Ranked,
    SureSpan,
    checked_k,
    rank_outputs,
    together,
    weights_at,
)
from widemargin.tasks.calibration import Ahead, Tempered
from widemargin.tasks.constraints import Constraints, check_possible
from widemargin.tasks.strongest import by_name_and_label
from widemargin.tasks.token_examples import Constrained, E
from widemargin.text.columns import split
from widemargin.text.labels import as_sequences
from widemargin.text.partial import labels_in, spell_labels
from widemargin.text.spans import Span


@dataclass
class TokenModel(Answers, Probable, Generic[E]):
    """A trained model that turns inputs into `examples` and decodes them to codes with its `weights`.

    Unless a kind says otherwise, codes are the numbers of the labels of tokens, and outputs are these labels.
    """

    outputs_are: ClassVar[Literal["labels", "spans"]]
    """The parts of an output."""
    sizes_of: ClassVar[tuple[str, ...]]
    """The names of the sizes that `shape` counts."""

    extractor: Any
    weights: Any

    @property
    def code_names(self) -> list[str]:
        """The name of each code in a column of labels."""
        return [str(label) for label in self.labels]

    @property
    def decoded_with(self) -> Any:
        """The weights for decoding; some are −∞ if the model rules out outputs."""
        return self.weights

    @property
    def names_given(self) -> list[str]:
        """The names of labels as users give them; a model may learn other labels."""
        return self.code_names

    @property
    def labels_given(self) -> list[Any]:
        """The labels as users give them."""
        return self.labels

    @property
    @abstractmethod
    def shape(self) -> Any:
        """The layout of the weights."""

    @property
    def sizes(self) -> dict[str, int]:
        """The numbers of labels, features and weights."""
        shape = self.shape
        return {name: getattr(shape, f"n_{name}") for name in self.sizes_of}

    @property
    @abstractmethod
    def columns_read(self) -> list[str]:
        """The columns of tokens that the features look at."""

    @abstractmethod
    def examples(self, X: Any) -> E:
        """Inputs as examples to be decoded."""

    @abstractmethod
    def constrain(self, examples: E, constraints: Constraints) -> Constrained[E]:
        """The examples under constraints."""

    @abstractmethod
    def outputs(self, codes: IntVector, indptr: LongVector) -> list[list[Any]]:
        """The outputs that codes stand for; sequence i has `codes[indptr[i]:indptr[i + 1]]`."""

    def confident(self, X: Any, n_threads: int = 1, constraints: Constraints | None = None) -> list[dict[str, Any]]:
        """The spans of the best output for every sequence with the confidence in each, as JSON can hold it."""
        found = self.sure_spans(X, n_threads, constraints)
        return [{"spans": [span._asdict() for span in each]} for each in found]

    @abstractmethod
    def margins(self, X: Any, n_threads: int = 1, constraints: Constraints | None = None) -> list[Any]:
        """The best output for every sequence, with the scores that the margins of its parts follow from."""

    @abstractmethod
    def ahead(self, margins: Any, kind: Literal["labels", "spans"]) -> Ahead:
        """The labels or the spans of an output, and their margins."""

    def confidence(self, X: Any, n_threads: int = 1, constraints: Constraints | None = None) -> list[FloatVector]:
        """For each predicted label, or span, of every sequence, the probability that it is right."""
        kind, curve = self.outputs_are, self.curve(self.outputs_are)
        return [curve(self.ahead(each, kind).margins) for each in self.margins(X, n_threads, constraints)]

    def sure_spans(self, X: Any, n_threads: int = 1, constraints: Constraints | None = None) -> list[list[SureSpan]]:
        """The predicted spans of every sequence, each with the probability that it is right."""
        return [self.sure(each) for each in self.margins(X, n_threads, constraints)]

    def sure(self, margins: Any) -> list[SureSpan]:
        """The spans of one output, each with the probability that it is right."""
        found, ahead = self.ahead(margins, "spans")
        sure = self.curve("spans")(ahead).tolist()
        return [SureSpan(span.start, span.end, span.type, p) for span, p in zip(found, sure, strict=True)]

    @abstractmethod
    def spans_in(self, outputs: list[list[Any]]) -> list[list[Span]]:
        """The spans of outputs."""

    def predict_spans(self, X: Any, n_threads: int = 1, constraints: Constraints | None = None) -> list[list[SureSpan]]:
        """The predicted spans of every sequence, each with the probability that it is right.

        The probability is None unless the model is calibrated for spans.
        """
        if self.calibration is not None and "spans" in self.calibration.curves:
            return self.sure_spans(X, n_threads, constraints)
        found = self.spans_in(self.predict(X, n_threads, constraints))
        return [[SureSpan(*span, None) for span in each] for each in found]

    @property
    @abstractmethod
    def predictor(self) -> Any:
        """Finds the outputs of new sequences; prepared once, on first use.

        `looked_up(X)` looks up the strings of sequences, which begin at its `indptr`. `label(found, first, last)`
        returns the codes of the best outputs of the sequences first:last, end to end. A token takes about `token_work`
        microseconds.
        """

    def predict_codes(self, X: Any, n_threads: int = 1, constraints: Constraints | None = None) -> IntVector:
        """The codes of all positions, sequences end to end."""
        return self._best(X, n_threads, constraints)[0]

    def predict(self, X: Any, n_threads: int = 1, constraints: Constraints | None = None) -> list[list[Any]]:
        """The best output for every sequence."""
        return self.outputs(*self._best(X, n_threads, constraints))

    def _best(self, X: Any, n_threads: int, constraints: Constraints | None) -> tuple[IntVector, LongVector]:
        """The codes of all positions, and where each sequence begins.

        Strings are looked up under the interpreter lock. The rest runs in kernels, shared among threads.
        """
        if constraints is not None:
            examples = self.examples(X)
            return self.constrain(examples, constraints).decode(n_threads), boundaries(examples.lengths)
        predictor = self.predictor
        found = predictor.looked_up(X)
        ends = share_ends(found.indptr, predictor.token_work, n_threads)
        parts = run([partial(predictor.label, found, *share) for share in pairwise(ends)])
        return np.concatenate(parts), found.indptr

    def predict_best(
        self, X: Any, k: int, n_threads: int = 1, constraints: Constraints | None = None
    ) -> list[list[Ranked]]:
        """The `k` best outputs for every sequence, best first; fewer if fewer exist."""
        k = checked_k(k)
        examples, weights = self.with_constraints(X, constraints, "alternatives")
        parts = in_shares(examples, lambda batch: examples.decode_best(weights, batch, k), n_threads)
        batch, codes = (np.concatenate(each) for each in zip(*parts, strict=True))
        scores = examples.scores(weights, batch, codes)
        check_possible(batch, scores)
        outputs = self.outputs(codes, boundaries(examples.lengths[batch]))
        return rank_outputs(batch, scores, outputs, examples.n_examples)

    def answers(
        self, X: Any, n_threads: int = 1, constraints: Constraints | None = None, *, best: int | None, confidence: bool
    ) -> list[dict[str, Any]]:
        """One dict per sequence: tokens, output and, if wanted, `best` alternatives and confidence."""
        parts: list[list[dict[str, Any]]] = [[{"tokens": tokens} for tokens in X.sequences("word")]]
        name: str = self.outputs_are
        if best is not None:
            parts.append(
                [
                    {name: each[0].output, "alternatives": [{"score": s, name: output} for s, output in each]}
                    for each in self.predict_best(X, best, n_threads, constraints)
                ]
            )
        if confidence:
            parts.append(self.confident(X, n_threads, constraints))
        return together(*parts)

    def with_constraints(self, X: Any, constraints: Constraints | None, what: str) -> tuple[E, Any]:
        """Examples and weights that contain the constraints; raise if `what` cannot be found under them."""
        examples = self.examples(X)
        if constraints is None:
            return examples, self.decoded_with
        constrained = self.constrain(examples, constraints)
        constrained.check_by_parts(what)
        return constrained.examples, constrained.weights

    def best_with_marginals(
        self, X: Any, n_threads: int = 1, constraints: Constraints | None = None
    ) -> tuple[E, IntVector, FloatMatrix]:
        """The constrained examples, their best codes, and their max-marginals."""
        examples, weights = self.with_constraints(X, constraints, "margins")

        def decode(batch: IntVector) -> tuple[IntVector, FloatMatrix]:
            codes = examples.decode(weights, batch)
            check_possible(batch, examples.scores(weights, batch, codes))
            return codes, examples.max_marginals(weights, batch)

        parts = in_shares(examples, decode, n_threads)
        codes, best = (np.concatenate(each) for each in zip(*parts, strict=True))
        return examples, codes, best

    def max_marginals(self, X: Any, n_threads: int = 1) -> list[FloatMatrix]:
        """For each position of every sequence, or for each candidate span, the best score with each of the `labels`."""
        examples, _, best = self.best_with_marginals(X, n_threads)
        return np.split(best, examples.part_boundaries[1:-1])

    def probabilities(
        self, X: Any, n_threads: int = 1, constraints: Constraints | None = None
    ) -> tuple[E, list[FloatMatrix]]:
        """The constrained examples, and the probabilities of the parts of each, a row per part."""
        beta = self.beta
        examples, weights = self.with_constraints(X, constraints, "probabilities")
        return examples, self._probabilities(examples, weights_at(weights, beta), n_threads)

    def _probabilities(self, examples: E, weights: Any, n_threads: int) -> list[FloatMatrix]:
        def ask(batch: IntVector) -> FloatMatrix:
            rows, log_z = examples.probabilities(weights, batch)
            check_possible(batch, log_z)
            return rows

        rows = np.concatenate(in_shares(examples, ask, n_threads))
        return np.split(rows, examples.part_boundaries[1:-1])

    def predict_proba(self, X: Any, n_threads: int = 1, constraints: Constraints | None = None) -> list[FloatMatrix]:
        """For each token of every sequence, the probability of each of the `labels`."""
        return self.of_tokens(*self.probabilities(X, n_threads, constraints))

    def expected_counts(self, X: Any, n_threads: int = 1) -> FloatMatrix:
        """The expected number of tokens, or segments, of every sequence with each of the `labels`."""
        return np.array([each.sum(axis=0) for each in self.probabilities(X, n_threads)[1]])

    def predict_minimum_risk(self, X: Any, n_threads: int = 1) -> list[list[Any]]:
        """The outputs with the fewest wrong labels, or the fewest wrong plus missed segments, on average."""
        examples, found = self.probabilities(X, n_threads)
        return self.outputs(self.least_risk(examples, found), boundaries(examples.lengths))

    def least_risk(self, examples: E, probabilities: list[FloatMatrix]) -> IntVector:
        """The codes of the outputs with the least expected error, end to end: the most probable code of each token."""
        return np.concatenate([*probabilities, np.empty((0, len(self.labels)))]).argmax(axis=1).astype(np.int32)

    def temper(self, X: Any, y: Any, n_threads: int = 1) -> Tempered:
        """The probabilities of the labels of all tokens, and which are right."""
        examples, number = self.examples(X), self.label_numbers
        right = np.zeros((int(examples.lengths.sum()), len(self.labels)), dtype=bool)
        cells = (cell for cells in self.learnt_labels(X, y) for cell in spell_labels(cells))
        for row, cell in zip(right, cells, strict=True):
            row[[number[name] for name in labels_in(cell) if name in number]] = True

        def probabilities(beta: float) -> FloatMatrix:
            parts = self._probabilities(examples, weights_at(self.decoded_with, beta), n_threads)
            return np.concatenate(self.of_tokens(examples, parts))

        return Tempered(probabilities, right)

    @property
    def w(self) -> FloatVector:
        """All weights as one vector."""
        w: FloatVector = self.weights.flat()
        return w

    @abstractmethod
    def named_rows(self) -> list[tuple[Rows, list[str]]]:
        """Rows of the weights of features, and the names of these features."""

    def state_features(self) -> dict[tuple[str, Any], float]:
        """The weights other than zero, by feature and label."""
        found: dict[tuple[str, Any], float] = {}
        for rows, names in self.named_rows():
            found |= by_name_and_label(rows, names, self.labels)
        return found

    def transition_features(self) -> dict[tuple[Any, Any], float]:
        """The weights other than zero, by pair of neighbouring labels."""
        pairs = zip(*(each.tolist() for each in np.nonzero(self.weights.transition)), strict=True)
        return {(self.labels[i], self.labels[j]): float(self.weights.transition[i, j]) for i, j in pairs}

    @property
    def label_numbers(self) -> dict[str, int]:
        """The number among the `labels`, by the name of a token's label."""
        return {name: number for number, name in enumerate(self.code_names)}

    def of_tokens(self, examples: E, probabilities: list[FloatMatrix]) -> list[FloatMatrix]:
        """The probabilities of the `labels` of tokens, from those of parts; the same if every token is a part."""
        return probabilities

    def gold_and_predicted(self, X: Any, y: Any, n_threads: int = 1) -> tuple[list[list[Any]], list[list[str]]]:
        """The right labels of tokens, and the predicted ones, as strings."""
        named = self.names_of(*self._best(X, n_threads, None))
        return self.gold_names(X, y), named

    def gold_names(self, X: Any, y: Any) -> list[list[Any]]:
        """The right labels of tokens, as strings; None where they are unknown."""
        return [spell_labels(labels) for labels in self.gold_labels(X, y)]

    def names_of(self, codes: IntVector, indptr: LongVector) -> list[list[str]]:
        """The labels of tokens that codes stand for, as strings."""
        names = self.code_names
        return split([names[code] for code in codes.tolist()], indptr)

    def gold_labels(self, X: Any, y: Any) -> Sequence[Sequence[Any]]:
        """Gold outputs as labels of tokens."""
        return as_sequences(X, y)

    def learnt_labels(self, X: Any, y: Any) -> Sequence[Sequence[Any]]:
        """Gold outputs as learnt `labels` of tokens; the given labels unless the model has learnt others."""
        return self.gold_labels(X, y)
