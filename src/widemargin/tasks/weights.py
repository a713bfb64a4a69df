"""The smallest kind of model: a vector of weights, used from Python. Tasks that read files need more (`tasks.base`)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from widemargin._types import AnyArray, FloatVector
from widemargin.core.header import Fields, whole
from widemargin.core.stored import Stored
from widemargin.report.evaluation import Evaluation
from widemargin.report.text import share
from widemargin.tasks.base import VectorModel
from widemargin.tasks.files import Reporter, time_call
from widemargin.tasks.strongest import Part, strongest


@dataclass
class WeightsModel(VectorModel):
    """A vector of weights, and whatever the `fields` of its header name: attributes that JSON can hold."""

    fields: ClassVar[Fields] = {}
    names: ClassVar[Sequence[str]] = ()
    """The names of the weights, if they have any."""

    weights: FloatVector

    @property
    def sizes(self) -> dict[str, int]:
        """The number of weights."""
        return {"labels": len(self.labels), "features": 0, "weights": len(self.weights)}

    def _description(self) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        # Nothing else in the file tells the number of weights, so the header states it for a check of the array.
        own = {name: getattr(self, name) for name in self.fields}
        return {**own, "n_weights": len(self.weights)}, {"weights": self.weights}

    @classmethod
    def _restore(cls, stored: Stored) -> Self:
        n_weights = stored.checked({}, {"n_weights": whole(at_least=0)}).get("n_weights")
        own = {"labels": [], **{name: stored.header[name] for name in cls.fields}}
        return cls(weights=stored.vector("weights", np.float64, n_weights), summary=stored.header["summary"], **own)


class WeightsReporter(Reporter):
    """Reports on models that are used from Python: they read no files."""

    model: WeightsModel

    def evaluate(self, X: Any, y: Any, n_threads: int = 1, **options: Any) -> Evaluation:
        """The share of outputs that equal the gold ones."""
        outputs, seconds = time_call("decoding", self.model.predict, X, n_threads)
        right = float(np.mean([output == gold for output, gold in zip(outputs, y, strict=True)]))
        return Evaluation({"accuracy": right}, "accuracy", [("accuracy", share(right))], [], seconds)

    def strongest(self, chosen: Sequence[int], top: int) -> dict[str, Part]:
        """The strongest weights, by their names or else by their numbers."""
        name = self.model.names.__getitem__ if self.model.names else "weight {}".format
        return {"weights": Part("Weights", strongest(self.model.weights, top, name))}
