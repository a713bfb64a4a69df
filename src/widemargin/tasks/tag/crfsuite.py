"""Taggers from and to CRFsuite's model files.

Both are first-order chains over named features: CRFsuite's attributes are the features of a `RecordExtractor`. Its
files have no weights for first and last labels, and none that depend on features of a transition.
"""

import os
from functools import partial
from typing import Any

import numpy as np

from widemargin.errors import UnsupportedError
from widemargin.files.lcrf import ChainFile, Weights, read_lcrf
from widemargin.tasks.tag.model import Tagger
from widemargin.tasks.tag.weights import ChainWeights, joined
from widemargin.text.records import RecordExtractor

SUMMARY: dict[str, Any] = {"trained_by": "CRFsuite", "objective": "likelihood", "parameters": {}}
"""The file does not tell how it was trained; CRFsuite gives probabilities whatever the training was."""


def read_tagger(source: "str | os.PathLike[str] | bytes") -> Tagger:
    """The tagger in a file of CRFsuite's, given by its path or its bytes."""
    name = "in memory" if isinstance(source, bytes) else os.fspath(source)
    return tagger_of(read_lcrf(source), name)


def tagger_of(file: ChainFile, name: str) -> Tagger:
    """The tagger that a file with this name describes."""
    extractor = RecordExtractor.of_alphabet(file.alphabet(name), partial(list, file.attributes))
    n = len(file.labels)
    shared = joined(file.table(), np.zeros(n), np.zeros(n))
    weights = ChainWeights(np.empty((0, n)), shared, np.empty((0, n, n)), thin_emission=file.rows())
    return Tagger(list(file.labels), extractor, weights, summary={**SUMMARY})


def chain_file(tagger: Tagger) -> ChainFile:
    """The tagger as the contents of a CRFsuite file; an error if it has more than such a file can hold."""
    weights = tagger.weights if len(tagger.weights.emission) == 0 else tagger.weights.thinned()
    if not isinstance(tagger.extractor, RecordExtractor) or tagger.extractor.hash_bits is not None:
        raise UnsupportedError(
            "only taggers of ready-made features can be written as CRFsuite's files; "
            f"this one has {'templates' if tagger.templates else 'features without names'}"
        )
    for part, what in (("begin", "first labels"), ("end", "last labels"), ("conditional", "features on transitions")):
        if getattr(weights, part).any():
            raise UnsupportedError(f"the tagger has weights for {what}, which CRFsuite's files cannot hold")
    rows, (source, target) = weights.thin_emission, np.nonzero(weights.transition)
    states = Weights(
        np.repeat(np.arange(len(rows.indptr) - 1, dtype=np.int32), np.diff(rows.indptr)), rows.indices, rows.values
    )
    transitions = Weights(source.astype(np.int32), target.astype(np.int32), weights.transition[source, target])
    return ChainFile(tagger.code_names, tagger.extractor.names(), states, transitions)
