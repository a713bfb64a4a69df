"""CRFsuite's model files as our own models, our own models as CRFsuite's files, and either opened for tagging.

To tag, CRFsuite's files become a `SingleSequences` without a detour: our own models can do much more, and import all
that is needed for it. It answers about one sequence of ready-made features at a time, with little overhead: one kernel
hashes names, looks them up and adds their weights, in the order of the names, without rows of features in between.

Models that were opened lately are kept: programs that open their model for every sentence do not read it every time.
"""

import os
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import ByteVector, FloatMatrix, FloatVector, IntVector, KeyVector, LongVector
from widemargin.core.atomic import replacing
from widemargin.core.sparse import Rows, add_thin_features
from widemargin.decoders.viterbi import reach_of, viterbi
from widemargin.errors import ModelFileError, UnsupportedError
from widemargin.files.lcrf import HEADER, ChainFile, LcrfHeader, read_lcrf
from widemargin.text.alphabet import FeatureIndex, number_of
from widemargin.text.hashing import hash_pieces


def load(path: str | os.PathLike[str]) -> Any:
    """The fitted `SequenceTagger` in one of CRFsuite's model files, which can do all that our own can.

    It answers to sequences of ready-made features: a list of names or a dict per position.
    """
    from widemargin.tasks.base import foreign_model  # most programs only tag
    from widemargin.tasks.estimator import estimator_of

    name, model = os.fspath(path), foreign_model(path)
    if model is None:
        with open(path, "rb"):
            raise ModelFileError(f"{name} is not a model file of CRFsuite")
    return estimator_of(model, name)


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted `SequenceTagger`, or its model, as a file that CRFsuite reads.

    The tagger must have been trained on ready-made features, and have no weights for first and last labels.
    """
    from widemargin.tasks.base import Model  # most programs only tag

    model = getattr(model, "model_", model)
    if not isinstance(model, Model) or ".crfsuite" not in model.reporter.exports:
        raise UnsupportedError(f"a {type(model).__name__} cannot be written as a model file of CRFsuite; taggers can")
    content = model.reporter.export(".crfsuite")
    with replacing(path, "wb") as stream:
        stream.write(content)


@kernel
def _keys(text: ByteVector, n: int) -> KeyVector:
    """The keys of `n` names, separated by zeros."""
    joined, lengths, i, write = np.empty(len(text), dtype=np.uint8), np.zeros(n, dtype=np.int64), 0, 0
    for byte in text:
        if byte == 0:
            i += 1
        else:
            joined[write] = byte
            lengths[i] += (byte & 0xC0) != 0x80
            write += 1
    return hash_pieces(joined[:write], lengths)


@kernel
def _emission(
    text: ByteVector,
    values: FloatVector,
    counts: LongVector,
    slots: KeyVector,
    numbers: IntVector,
    size: int,
    indptr: LongVector,
    indices: IntVector,
    weights: FloatVector,
    emission: FloatMatrix,
) -> None:
    """Add the weights of all known names to the scores of their positions."""
    n = 0
    for count in counts:
        n += count
    keys, k = _keys(text, n), 0
    # One row of one entry, used again for every name, so that `add_thin_features` serves here without an allocation.
    row = Rows(np.array([0, 1]), np.empty(1, dtype=np.int32), np.ones(1))
    rows = Rows(indptr, indices, weights)
    for t in range(len(counts)):
        for _ in range(counts[t]):
            number = number_of(keys[k], slots, numbers, size)
            if number >= 0:  # names that training never saw have no weights
                row.indices[0] = number
                if len(values) > 0:
                    row.values[0] = values[k]
                add_thin_features(row, 0, rows, emission[t])
            k += 1


@kernel
def _best(
    emission: FloatMatrix, transition: FloatMatrix, begin: FloatVector, end: FloatVector, labels: IntVector
) -> None:
    """Write the best labels."""
    n, n_labels = emission.shape
    prefixes, arrival = np.empty((n, n_labels)), np.empty((n, n_labels))
    shared = transition.reshape(1, n_labels, n_labels)
    viterbi(emission, shared, reach_of(shared), begin, end, prefixes, arrival, labels)


class SingleSequences:
    """A chain over named features, asked about one sequence at a time.

    Parameters
    ----------
    labels : their names
    index : the numbers of features by the keys of their names
    rows : the weights of each feature, a sparse row over labels
    transition, begin, end : the weights of pairs of labels, of first and of last labels
    """

    def __init__(
        self,
        labels: list[str],
        index: FeatureIndex,
        rows: Rows,
        transition: FloatMatrix,
        begin: FloatVector,
        end: FloatVector,
    ) -> None:
        self.labels = labels
        self._features: Any = (*index.table, *rows)
        self._chain = transition, begin, end

    def scores(self, text: ByteVector, values: FloatVector, counts: LongVector) -> FloatMatrix:
        """The score of each label at each position.

        Parameters
        ----------
        text : the UTF-8 bytes of all names, separated by zeros
        values : the value of each name; empty for ones
        counts : the number of names at each position
        """
        emission = np.zeros((len(counts), len(self.labels)))
        _emission(text, values, counts, *self._features, emission)  # type: ignore[call-arg]
        return emission

    def best(self, emission: FloatMatrix) -> IntVector:
        """The numbers of the best labels of a sequence with these scores, which is not empty."""
        labels = np.empty(len(emission), dtype=np.int32)
        _best(emission, *self._chain, labels)
        return labels

    def posteriors(self, emission: FloatMatrix) -> tuple[FloatMatrix, float]:
        """The probability of each label at each position, and log Z."""
        from widemargin.structures.chain_sums import chain_sums  # many programs only tag
        from widemargin.structures.flat import Scores

        transition, begin, end = self._chain
        starts, sizes = np.zeros(1, dtype=np.int64), np.array([len(emission)])
        scores = Scores(starts, sizes, emission.ravel(), np.concatenate([transition.ravel(), begin, end]))
        log_z, found = chain_sums(scores, len(self.labels))
        return found.own.reshape(emission.shape), float(log_z[0])

    def score(self, emission: FloatMatrix, labels: IntVector) -> float:
        """The score of these labels."""
        transition, begin, end = self._chain
        pairs = transition[labels[:-1], labels[1:]].sum()
        return float(emission[np.arange(len(labels)), labels].sum() + pairs + begin[labels[0]] + end[labels[-1]])


class OpenModel(NamedTuple):
    """The chain of a model, and what the model consists of: the file's header and contents, or a model of our own."""

    chain: SingleSequences
    layout: LcrfHeader | None = None
    file: ChainFile | None = None
    model: Any = None

    def contents(self) -> tuple[ChainFile, LcrfHeader]:
        """The model as the contents of a CRFsuite file, and the header of that file."""
        if self.file is not None and self.layout is not None:
            return self.file, self.layout
        from widemargin.tasks.tag.crfsuite import chain_file  # most clients only tag

        return chain_file(self.model), _layout(self.model.reporter.export(".crfsuite"))

    def check_probable(self) -> None:
        """Raise unless the model has probabilities; models of CRFsuite always have."""
        if self.model is not None:
            self.model.check_probable()


def of_crfsuite(source: str | bytes, beginning: bytes) -> OpenModel:
    """The model in a file of CRFsuite's, given by its path or its bytes, and its first bytes."""
    file, name = read_lcrf(source), "in memory" if isinstance(source, bytes) else source
    ends = np.zeros(len(file.labels))
    chain = SingleSequences(file.labels, file.alphabet(name), file.rows(), file.table(), ends, ends)
    return OpenModel(chain, _layout(beginning), file)


def of_our_own(path: str | os.PathLike[str]) -> OpenModel:
    """The tagger of ready-made features in a model file of our own."""
    from widemargin.tasks.base import load_model
    from widemargin.text.records import RecordExtractor

    model = load_model(path)
    extractor = getattr(model, "extractor", None)
    if not isinstance(extractor, RecordExtractor) or ".crfsuite" not in model.reporter.exports:
        raise UnsupportedError(f"the model {os.fspath(path)} is not a tagger of ready-made features")
    weights = model.predictor.weights
    ends = weights.begin, weights.end
    chain = SingleSequences(model.code_names, extractor.index, weights.thin_emission, weights.transition, *ends)
    return OpenModel(chain, model=model)


def _layout(content: bytes) -> LcrfHeader:
    return LcrfHeader(*HEADER.unpack(content[: HEADER.size]))


MOST, LARGEST, LEAST_AGE = 4, 1 << 25, 2 * 10**9
"""The most models to keep, the largest file in bytes, and the least age of a file in nanoseconds."""

_recent: OrderedDict[tuple[int, ...], Any] = OrderedDict()


def recent(about: os.stat_result, read: Callable[[], Any]) -> Any:
    """The model in the file with the status `about`; `read` is called unless the model is kept from an earlier call.

    Models are found again by their file's identity, size and times. Clocks of file systems tick only every few
    milliseconds, so a recent file may change without a visible trace: it is always read. Models of large files are not
    kept; of all others, the latest few are.
    """
    if about.st_size > LARGEST or time.time_ns() - max(about.st_mtime_ns, about.st_ctime_ns) < LEAST_AGE:
        return read()
    key = about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns
    model = _recent.pop(key, None)
    _recent[key] = model = read() if model is None else model
    while len(_recent) > MOST:
        _recent.popitem(last=False)
    return model
