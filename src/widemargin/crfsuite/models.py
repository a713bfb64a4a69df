"""CRFsuite's model files as our own models, our own models as CRFsuite's files, and either opened for tagging.

To tag, CRFsuite's files become a `SingleSequences` without a detour: our own models can do much more, and import all
that is needed for it. Models that were opened lately are kept: programs that open their model for every sentence do not
read it every time.
"""

import os
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from widemargin.core.atomic import replacing
from widemargin.crfsuite.chain import SingleSequences
from widemargin.errors import ModelFileError, UnsupportedError
from widemargin.files.lcrf import HEADER, ChainFile, LcrfHeader, read_lcrf


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
    model = getattr(model, "model_", model)
    if ".crfsuite" not in getattr(model, "exports", ()):
        raise UnsupportedError(f"a {type(model).__name__} cannot be written as a model file of CRFsuite; taggers can")
    content = model.exported(".crfsuite")
    with replacing(path, "wb") as stream:
        stream.write(content)


class Opened(NamedTuple):
    """The chain of a model, and what the model consists of: the file's header and contents, or a model of our own."""

    chain: SingleSequences
    layout: LcrfHeader | None = None
    file: ChainFile | None = None
    model: Any = None

    def described(self) -> tuple[ChainFile, LcrfHeader]:
        """The model as the contents of a CRFsuite file, and the header of that file."""
        if self.file is not None and self.layout is not None:
            return self.file, self.layout
        from widemargin.tasks.tag.crfsuite import chain_file  # most clients only tag

        return chain_file(self.model), _layout(self.model.exported(".crfsuite"))

    def check_probable(self) -> None:
        """Raise unless the model has probabilities; models of CRFsuite always have."""
        if self.model is not None:
            self.model.check_probable()


def of_crfsuite(source: str | bytes, beginning: bytes) -> Opened:
    """The model in a file of CRFsuite's, given by its path or its bytes, and its first bytes."""
    file, name = read_lcrf(source), "in memory" if isinstance(source, bytes) else source
    ends = np.zeros(len(file.labels))
    chain = SingleSequences(file.labels, file.alphabet(name), file.rows(), file.table(), ends, ends)
    return Opened(chain, _layout(beginning), file)


def of_our_own(path: str | os.PathLike[str]) -> Opened:
    """The tagger of ready-made features in a model file of our own."""
    from widemargin.tasks.base import load_model
    from widemargin.text.records import RecordExtractor

    model = load_model(path)
    extractor = getattr(model, "extractor", None)
    if not isinstance(extractor, RecordExtractor) or ".crfsuite" not in model.exports:
        raise UnsupportedError(f"the model {os.fspath(path)} is not a tagger of ready-made features")
    weights = model.predictor.weights
    ends = weights.begin, weights.end
    chain = SingleSequences(model.code_names, extractor.index, weights.thin_emission, weights.transition, *ends)
    return Opened(chain, model=model)


def _layout(content: bytes) -> LcrfHeader:
    return LcrfHeader(*HEADER.unpack(content[: HEADER.size]))


MOST, LARGEST, SETTLED = 4, 1 << 25, 2 * 10**9
"""The most models to keep, the largest file in bytes, and the least age of a file in nanoseconds."""

_recent: OrderedDict[tuple[int, ...], Any] = OrderedDict()


def recent(about: os.stat_result, read: Callable[[], Any]) -> Any:
    """The model in the file with the status `about`; `read` is called unless the model is kept from an earlier call.

    Models are found again by their file's identity, size and times. Clocks of file systems tick only every few
    milliseconds, so a recent file may change without a visible trace: it is always read. Models of large files are not
    kept; of all others, the latest few are.
    """
    if about.st_size > LARGEST or time.time_ns() - max(about.st_mtime_ns, about.st_ctime_ns) < SETTLED:
        return read()
    key = about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns
    model = _recent.pop(key, None)
    _recent[key] = model = read() if model is None else model
    while len(_recent) > MOST:
        _recent.popitem(last=False)
    return model
