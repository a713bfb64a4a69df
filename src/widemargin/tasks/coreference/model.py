"""A trained model of coreference: features of links, hashed into one table of weights.

Model files call its structure ``coreference``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np

from widemargin._types import FloatMatrix, FloatVector
from widemargin.core.header import Fields, flag, names, one_of, optional, whole
from widemargin.core.problem import predict
from widemargin.core.stored import Stored
from widemargin.errors import UnsupportedError
from widemargin.structures.forest import ForestExamples
from widemargin.tasks.clusters import ClusteringModel
from widemargin.tasks.coreference.examples import NEW, AntecedentExamples
from widemargin.tasks.coreference.features import LinkExtractor
from widemargin.tasks.trees import HASH_BITS, HashedModel, stored_weights
from widemargin.text.columns import split
from widemargin.text.templates import TEMPLATES

DECODERS = ("antecedents", "forest")
"""The structures by name."""


@dataclass
class CoreferenceModel(HashedModel, ClusteringModel):
    """Links and their weights; `decoder` names the structure.

    `singletons` says whether the training data have entities with one mention; if not, detected mentions that stay
    alone are left out. `probabilistic` says whether scores are logarithms of probabilities.
    """

    kind = "coreference"
    predicts = "entities"
    fields: ClassVar[Fields] = {
        "labels": names(),
        "templates": TEMPLATES,
        "hash_bits": HASH_BITS,
        "max_antecedents": optional(whole(at_least=1)),
        "decoder": one_of(*DECODERS),
        "singletons": flag(),
        "probabilistic": flag(),
    }

    extractor: LinkExtractor
    weights: FloatVector
    decoder: str = "antecedents"
    singletons: bool = field(default=True, kw_only=True)
    probabilistic: bool = field(default=False, kw_only=True)

    @property
    def templates(self) -> Mapping[str, Sequence[str]]:
        """The templates of links."""
        return {"": list(self.extractor.templates)}

    def examples(self, X: Any) -> "AntecedentExamples | ForestExamples":
        """Documents as examples to be decoded."""
        links = self.extractor.links(X)
        return AntecedentExamples(links) if self.decoder == "antecedents" else ForestExamples(links, links.n_weights)

    def predict_antecedents(self, X: Any, n_threads: int = 1) -> list[list[int | None]]:
        """The antecedent of every mention, as its number in the document from 0 on; None if it starts an entity."""
        examples = self._antecedents(X)
        outputs = np.concatenate(predict(examples, self.weights, n_threads))
        documents = examples.keys.documents
        place = np.arange(len(outputs)) - np.repeat(documents[:-1], np.diff(documents)) - outputs
        found = [None if back == NEW else at for at, back in zip(place.tolist(), outputs.tolist(), strict=True)]
        return split(found, documents)

    def antecedent_probabilities(self, X: Any, n_threads: int = 1) -> list[FloatMatrix]:
        """For each document a matrix: at (m, a) the probability that a is the antecedent of m; at (m, m) of none.

        The model must be trained by likelihood or softmax-margin.
        """
        examples = self._antecedents(X)
        if not self.probabilistic:
            raise UnsupportedError("the model was not trained by likelihood, so its scores are no probabilities")
        found = []
        for begin, end in pairwise(examples.keys.documents.tolist()):
            shares, _ = examples.probabilities(self.weights, np.arange(begin, end, dtype=np.int32))
            matrix: FloatMatrix = np.zeros((end - begin, end - begin))
            n_choices = examples.sizes[begin:end]
            row = np.repeat(np.arange(end - begin), n_choices)
            matrix[row, row + 1 - np.repeat(np.cumsum(n_choices), n_choices) + np.arange(len(row))] = shares
            found.append(matrix)
        return found

    def _antecedents(self, X: Any) -> AntecedentExamples:
        examples = self.examples(X)
        if not isinstance(examples, AntecedentExamples):
            raise UnsupportedError("the model links mentions by forests, in which none has an antecedent of its own")
        return examples

    def _header(self) -> dict[str, Any]:
        extractor = self.extractor
        return {
            "templates": list(extractor.templates),
            "hash_bits": extractor.hash_bits,
            "max_antecedents": extractor.max_antecedents,
            "decoder": self.decoder,
            "singletons": self.singletons,
            "probabilistic": self.probabilistic,
        }

    @classmethod
    def _restore(cls, stored: Stored) -> Self:
        header = stored.header
        extractor = LinkExtractor(tuple(header["templates"]), header["hash_bits"], header["max_antecedents"])
        _ = extractor.in_order  # templates that are not understood are an error at once
        weights = stored_weights(stored, 1 << extractor.hash_bits)
        own = {name: header[name] for name in ("singletons", "probabilistic")}
        return cls([], extractor, weights, header["decoder"], **own, summary=header["summary"])
