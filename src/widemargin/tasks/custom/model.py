"""A trained model of a custom structure: weights. The structure itself is code, and stays with the user.

Model files call it ``custom``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, ClassVar, Self

import numpy as np

from widemargin._types import AnyArray, FloatVector
from widemargin.core.examples import Examples, Listed
from widemargin.core.header import Fields, whole
from widemargin.core.problem import predict
from widemargin.core.stored import Stored
from widemargin.errors import DataError, UnsupportedError, WidemarginError
from widemargin.files.raw import Source
from widemargin.report.evaluation import Evaluation
from widemargin.structures.custom import pair
from widemargin.structures.custom_positions import custom_examples
from widemargin.structures.examples import PartExamples
from widemargin.tasks.base import Corpus, Model, Reading
from widemargin.tasks.custom import CustomParameters
from widemargin.tasks.strongest import Part, strongest
from widemargin.tasks.survey import Survey, refuse_latent
from widemargin.tasks.training import Compiled, Data


@dataclass
class CustomModel(Model):
    """Weights, and the user's structure (`tasks.custom`), or None if it is missing."""

    kind = "custom"
    predicts = "outputs of a structure of the user's own"
    counts: ClassVar[str] = "examples"
    fields: ClassVar[Fields] = {}

    weights: FloatVector
    structure: Any = None

    @property
    def w(self) -> FloatVector:
        """All weights."""
        return self.weights

    @property
    def sizes(self) -> dict[str, int]:
        """The number of weights."""
        return {"labels": 0, "features": 0, "weights": len(self.weights)}

    def predict(self, X: Sequence[Any], n_threads: int = 1) -> list[Any]:
        """The best output for every input; for latent structures, the y of each pair (y, h)."""
        structure = self._structure
        if is_latent(structure):
            return [y for y, _ in self.predict_latent(X)]
        if not is_factory(structure):
            return [structure.decode(x, self.weights) for x in X]
        examples = examples_of(structure, X, None, len(self.weights))
        parts = predict(examples, self.weights, n_threads)
        if isinstance(examples, PartExamples):
            return np.split(np.concatenate(parts), np.cumsum(examples.lengths)[:-1]) if len(X) else []
        outputs = [
            output for part in parts for output in (examples.listed(part) if isinstance(examples, Listed) else part)
        ]
        if len(outputs) != examples.n_examples:
            raise WidemarginError(
                f"{type(examples).__name__}.decode gives {len(outputs)} outputs for {examples.n_examples} examples; "
                "give it a method listed(outputs) that makes a list of them, one per example"
            )
        return outputs

    def predict_latent(self, X: Sequence[Any], n_threads: int = 1) -> list[tuple[Any, Any]]:
        """The best pair (y, h) for every input, for latent structures."""
        structure = self._structure
        if not is_latent(structure):
            raise UnsupportedError("nothing is hidden in the outputs of this structure; it has no method complete")
        return [pair(structure.decode(x, self.weights)) for x in X]

    def evaluate(self, X: Any, y: Any, n_threads: int = 1, **options: Any) -> Evaluation:
        """The mean error."""
        begin = perf_counter()
        error = mean_error(self._structure, X, y)(self.weights)
        seconds = {"decoding": perf_counter() - begin}
        return Evaluation({"mean_error": error}, "mean_error", [("mean error", f"{error:.6g}")], [], seconds)

    def read(self, path: Source, reading: Reading, *, gold: bool) -> Corpus:
        """Not supported: only the user knows what inputs and outputs look like."""
        raise UnsupportedError(f"the model predicts {self.predicts}; it is used from Python")

    def write(self, corpus: Corpus, outputs: Any, reading: Reading) -> str:
        """Not supported: only the user knows what inputs and outputs look like."""
        raise UnsupportedError(f"the model predicts {self.predicts}; it is used from Python")

    def strongest(self, chosen: Sequence[int], top: int) -> dict[str, Part]:
        """The strongest weights by their numbers."""
        return {"weights": Part("Weights", strongest(self.weights, top, lambda at: f"weight {at}"))}

    def compacted(self) -> Self:
        """The same model: only the user knows what the weights are for."""
        return self

    def _described(self) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        # Only the user's code knows the number of weights, so the file states it for a check of the array.
        return {"n_weights": len(self.weights)}, {"weights": self.weights}

    @classmethod
    def _restored(cls, stored: Stored) -> Self:
        n_weights = stored.checked({}, {"n_weights": whole(at_least=0)}).get("n_weights")
        weights = stored.vector("weights", np.float64, n_weights)
        return cls([], weights, summary=stored.header["summary"])

    @property
    def _structure(self) -> Any:
        if self.structure is None:
            raise WidemarginError("the model does not hold the structure that it was trained for; pass it on loading")
        return self.structure


def is_factory(structure: Any) -> bool:
    """Whether `structure` is a function that makes compiled examples, not an object with the three methods."""
    return callable(structure) and not all(hasattr(structure, name) for name in ("features", "error", "decode"))


def is_latent(structure: Any) -> bool:
    """Whether outputs of this structure are pairs (y, h) whose h is hidden."""
    return not is_factory(structure) and hasattr(structure, "complete")


def examples_of(structure: Any, X: Any, y: Any, n_weights: int | None = None) -> Any:
    """Inputs and gold outputs (or None) as examples of either kind of structure."""
    if not is_factory(structure):
        return custom_examples(structure, X, y, n_weights)
    examples: Examples = structure(X, y)
    if n_weights is not None and examples.n_weights != n_weights:
        raise DataError(f"these examples have {examples.n_weights} weights, but there were {n_weights} before")
    return examples


def mean_error(structure: Any, X: Sequence[Any], y: Sequence[Any]) -> Callable[[FloatVector], float]:
    """The mean error of the best outputs as a function of the weights; 0 without examples."""
    if len(X) != len(y):
        raise DataError(f"there are {len(X)} inputs, but {len(y)} outputs")
    if not is_factory(structure):

        def of_decoded(w: FloatVector) -> float:
            decoded = (structure.decode(x, w) for x in X)
            parts = (pair(each) if is_latent(structure) else (each,) for each in decoded)
            errors = [structure.error(gold, *each) for gold, each in zip(y, parts, strict=True)]
            return float(np.mean(errors)) if errors else 0.0

        return of_decoded

    def of_compiled(w: FloatVector) -> float:
        examples = examples_of(structure, X, y, len(w))
        batch = np.arange(examples.n_examples, dtype=np.int32)
        return float(np.mean(examples.difference(batch, examples.decode(w, batch)).errors)) if len(batch) else 0.0

    return of_compiled


def survey_custom(parameters: CustomParameters, data: Data) -> Survey:
    """How many weights a piece of the data needs."""
    structure = parameters.structure
    if is_latent(structure):
        refuse_latent("the structure has a method complete")
    _check_outputs(data.y)
    return Survey(facts={"size": {"n_weights": examples_of(structure, data.X, data.y).n_weights}})


def compile_custom(
    parameters: CustomParameters,
    data: Data,
    labels: Sequence[Any] | None = None,
    *,
    piece: bool = False,
    after: CustomModel | None = None,
    survey: Survey | None = None,
) -> Compiled[CustomModel]:
    """Compile inputs and outputs to examples; `after` is the model trained so far, `survey` covers all pieces.

    Outputs need not be listed, so `labels` is ignored.
    """
    _check_outputs(data.y)
    structure = parameters.structure
    n_weights = None if after is None else len(after.weights)
    if survey is not None:
        n_weights = survey.facts["size"]["n_weights"]
    examples = examples_of(structure, data.X, data.y, n_weights)
    error = None if data.dev is None else mean_error(structure, *data.dev)
    return Compiled(
        examples,
        lambda solution, summary: CustomModel([], solution.w, structure, summary=summary),
        score=None if error is None else lambda w: -error(w),
        metric="minus the mean error",
        sample_weight=data.sample_weight,
        piecewise=True,
        completions=lambda given: list(zip(data.y, given, strict=True)),
    )


def _check_outputs(y: Any) -> None:
    if y is None or not len(y):
        raise DataError("there are no gold outputs to learn from")
