"""An opened model, from one of CRFsuite's files or one of our own.

CRFsuite's files become a `SingleSequences` without a detour: our own models can do much more, and import all that is
needed for it.
"""

import os
from typing import Any, NamedTuple

import numpy as np

from widemargin.crfsuite.chain import SingleSequences
from widemargin.errors import UnsupportedError
from widemargin.files.lcrf import HEADER, ChainFile, Layout, read_lcrf


class Opened(NamedTuple):
    """The chain of a model, and what the model consists of: the file's header and contents, or a model of our own."""

    chain: SingleSequences
    layout: Layout | None = None
    file: ChainFile | None = None
    model: Any = None

    def described(self) -> tuple[ChainFile, Layout]:
        """The model as the contents of a CRFsuite file, and the header of that file."""
        if self.file is not None and self.layout is not None:
            return self.file, self.layout
        return self.model.chain_file(), _layout(self.model.exported(".crfsuite"))

    def check_probable(self) -> None:
        """Raise unless the model has probabilities; those of CRFsuite always have."""
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


def _layout(content: bytes) -> Layout:
    return Layout(*HEADER.unpack(content[: HEADER.size]))
