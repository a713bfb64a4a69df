"""sklearn-crfsuite's estimator, trained and applied by this library.

It is a trainer, a model file and a tagger behind `fit` and `predict`. Where it is not a matter of habit, prefer
`widemargin.SequenceTagger`: it has templates, certificates, constraints and confidence.
"""

import os
import tempfile
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from widemargin._types import AnyArray
from widemargin.crfsuite._logparser import TrainLogParser
from widemargin.crfsuite.metrics import flat_accuracy_score
from widemargin.crfsuite.tagger import ParsedDump, Tagger
from widemargin.crfsuite.trainer import LinePerIterationTrainer
from widemargin.tasks.scikit_learn import Conforming

RENAMED = {
    "min_freq": "feature.minfreq",
    "all_possible_states": "feature.possible_states",
    "all_possible_transitions": "feature.possible_transitions",
    "pa_type": "type",
    **{f"calibration_{name}": f"calibration.{name}" for name in ("eta", "rate", "samples", "candidates", "max_trials")},
}
"""The trainer's names of parameters that have another name here."""

OWN = ("algorithm", "verbose", "model_filename", "keep_tempfiles", "trainer_cls")
"""Parameters that are none of the trainer's."""


@dataclass(repr=False, eq=False)
class CRF(Conforming):
    """A linear-chain conditional random field with the parameters and methods of ``sklearn_crfsuite.CRF``.

    None stands for the default of the algorithm, which ``Trainer(algorithm).help(name)`` explains.

    Parameters
    ----------
    algorithm : str, optional
        "lbfgs" (the default), "l2sgd", "ap", "pa", "arow", or a solver of this library by name.
    min_freq : float, optional
        Leave out features that occur less often than this.
    all_possible_states, all_possible_transitions : bool, optional
        Also learn weights for pairs of attribute and label, or of two labels, that the training data do not have.
    c1, c2 : float, optional
        Weights of the penalties ‖w‖₁ (lbfgs) and ‖w‖² (lbfgs, l2sgd).
    max_iterations : int, optional
        Stop after this many iterations.
    num_memories : int, optional
        How many steps the estimate of the curvature remembers (lbfgs).
    epsilon : float, optional
        Stop at this relative length of the gradient (lbfgs), or loss per item (ap, pa, arow).
    period, delta : int, float, optional
        Stop if the objective has improved by less than the share `delta` over `period` iterations (lbfgs, l2sgd).
    linesearch, max_linesearch : str, int, optional
        The search along a direction, and how many trials it may make (lbfgs).
    calibration_eta, calibration_rate, calibration_samples, calibration_candidates, calibration_max_trials : optional
        How the learning rate is found (l2sgd).
    pa_type : {0, 1, 2}, optional
        Without slack, with slack, or with squared slack (pa).
    c : float, optional
        The price of the slack (pa).
    error_sensitive : bool, optional
        Ask for a larger margin where more labels are wrong (pa).
    averaging : bool, optional
        Return the average of the weights over all steps (pa).
    variance, gamma : float, optional
        The variance of the weights at first, and the trade-off between loss and change (arow).
    verbose : bool, default=False
        Print a line per iteration.
    model_filename : str, optional
        A model file: `fit` writes it, and other methods read it if it is there already. Otherwise the model is kept
        in a temporary file, which goes away with the estimator; pickling keeps its contents.
    keep_tempfiles : bool, default=False
        Leave temporary files where they are.
    trainer_cls : type, optional
        A subclass of `Trainer` that trains instead.

    Attributes
    ----------
    training_log_ : TrainLogParser
        The log of the last training run.

    Examples
    --------
    >>> X = [[{"word": "the"}, {"word": "dog"}], [{"word": "a"}, {"word": "cat"}]] * 3
    >>> y = [["DET", "NOUN"], ["DET", "NOUN"]] * 3
    >>> crf = CRF(algorithm="lbfgs", c1=0.1, c2=0.1, max_iterations=100).fit(X, y)
    >>> crf.predict_single([{"word": "the"}, {"word": "cat"}])
    ['DET', 'NOUN']
    """

    algorithm: str | None = None
    min_freq: float | None = None
    all_possible_states: bool | None = None
    all_possible_transitions: bool | None = None
    c1: float | None = None
    c2: float | None = None
    max_iterations: int | None = None
    num_memories: int | None = None
    epsilon: float | None = None
    period: int | None = None
    delta: float | None = None
    linesearch: str | None = None
    max_linesearch: int | None = None
    calibration_eta: float | None = None
    calibration_rate: float | None = None
    calibration_samples: int | None = None
    calibration_candidates: int | None = None
    calibration_max_trials: int | None = None
    pa_type: int | None = None
    c: float | None = None
    error_sensitive: bool | None = None
    averaging: bool | None = None
    variance: float | None = None
    gamma: float | None = None
    verbose: bool = False
    model_filename: str | None = None
    keep_tempfiles: bool = False
    trainer_cls: type | None = None

    def __post_init__(self) -> None:
        self.modelfile = OwnedFile(self.model_filename, keep=self.keep_tempfiles)
        self.training_log_: TrainLogParser | None = None
        self._tagger: Tagger | None = None
        self._dump: ParsedDump | None = None

    def fit(self, X: Any, y: Any, X_dev: Any = None, y_dev: Any = None) -> Self:
        """Train on sequences `X` of feature dicts and their labels `y`; `X_dev` and `y_dev` are scored on the way."""
        if (X_dev is None) != (y_dev is None):
            raise ValueError("X_dev and y_dev must be given together")
        trainer = self._trainer()
        for group, sequences, labels in ((0, X, y), (1, X_dev, y_dev)):
            if sequences is not None:
                for xseq, yseq in self._with_progress(zip(sequences, labels, strict=False), group, sequences):
                    trainer.append(xseq, yseq, group)
        with self.modelfile.replacing() as name:
            trainer.train(name, holdout=-1 if X_dev is None else 1)
        self._forget()
        self.training_log_ = trainer.logparser
        return self

    def predict(self, X: Sequence[Any]) -> AnyArray:
        """The labels of all sequences: an array of lists, or a matrix if all sequences have the same length."""
        tagger = self._ready
        return np.array([tagger.tag(xseq) for xseq in X], dtype=object)

    def predict_single(self, xseq: Any) -> list[str]:
        """The labels of one sequence."""
        return self._ready.tag(xseq)

    def predict_marginals(self, X: Sequence[Any]) -> AnyArray:
        """For each sequence a list of dicts, one for each position: the probability of each label."""
        return np.array([self.predict_marginals_single(xseq) for xseq in X], dtype=object)

    def predict_marginals_single(self, xseq: Any) -> list[dict[str, float]]:
        """For each position of one sequence, the probability of each label."""
        tagger = self._ready
        tagger.set(xseq)
        return tagger.marginals()

    def score(self, X: Sequence[Any], y: Sequence[Any]) -> float:
        """The share of positions whose label is right."""
        return flat_accuracy_score(y, self.predict(X))

    @property
    def tagger_(self) -> Tagger | None:
        """The tagger of the model; None before training."""
        if self._tagger is None and self.modelfile.name is not None:
            self._tagger, self._dump = Tagger(), None
            self._tagger.open(self.modelfile.name)
        return self._tagger

    @property
    def classes_(self) -> list[str] | None:
        """The labels; None before training."""
        return None if self.tagger_ is None else self.tagger_.labels()

    @property
    def size_(self) -> int | None:
        """The size of the model file in bytes; None before training."""
        return None if self._info is None else int(self._info.header["size"])

    @property
    def num_attributes_(self) -> int | None:
        """How many attributes have weights; None before training."""
        return None if self._info is None else int(self._info.header["num_attrs"])

    @property
    def attributes_(self) -> list[str] | None:
        """The attributes in the order of their numbers; None before training."""
        if self._info is None:
            return None
        numbers = {int(number): name for name, number in self._info.attributes.items()}
        return [numbers[k] for k in range(len(numbers))]

    @property
    def state_features_(self) -> dict[tuple[str, str], float] | None:
        """The weight of each pair of attribute and label; None before training."""
        return None if self._info is None else self._info.state_features

    @property
    def transition_features_(self) -> dict[tuple[str, str], float] | None:
        """The weight of each pair of labels; None before training."""
        return None if self._info is None else self._info.transitions

    @property
    def _ready(self) -> Tagger:
        """The tagger, or an error before training."""
        if self.tagger_ is None:
            from sklearn.exceptions import NotFittedError  # slow to import

            raise NotFittedError("this CRF is not fitted yet; call fit first, or give a model_filename")
        return self.tagger_

    @property
    def _info(self) -> ParsedDump | None:
        if self._dump is None and self.tagger_ is not None:
            self._dump = self.tagger_.info()
        return self._dump

    def _trainer(self) -> Any:
        given = self.get_params(deep=False)
        settings = {RENAMED.get(name, name): value for name, value in given.items() if name not in OWN}
        return (self.trainer_cls or LinePerIterationTrainer)(
            algorithm=self.algorithm,
            params={name: value for name, value in settings.items() if value is not None},
            verbose=self.verbose,
        )

    def _with_progress(self, pairs: Iterable[Any], group: int, sequences: Any) -> Iterable[Any]:
        """The pairs, with a progress bar if `verbose`."""
        if not self.verbose:
            return pairs
        from rich.console import Console
        from rich.progress import track

        what = f"loading {'dev' if group else 'training'} data"
        size = len(sequences) if hasattr(sequences, "__len__") else None
        return track(pairs, what, size, console=Console(stderr=True))

    def _forget(self) -> None:
        """Close the model that there was."""
        if self._tagger is not None:
            self._tagger.close()
        self._tagger = self._dump = None

    def __getstate__(self) -> dict[str, Any]:
        """Without the tagger, which is opened again when needed."""
        return {**self.__dict__, "_tagger": None, "_dump": None}

    def __sklearn_is_fitted__(self) -> bool:
        return self.modelfile.name is not None


class OwnedFile:
    """A model file that belongs to an estimator; `name` is None as long as a temporary one has not been needed.

    Either it has a name and stays, or it is temporary and goes when its owner goes; pickling then keeps its contents.
    """

    def __init__(self, name: str | None = None, *, keep: bool = False) -> None:
        self.name, self.keep = name, keep
        self.is_temporary = name is None
        self._removal: Any = None

    @contextmanager
    def replacing(self) -> Iterator[str]:
        """The name to write the next contents to; unless an error occurs, they are then those of the file."""
        if not self.is_temporary:
            assert self.name is not None
            yield self.name
            return
        stream, name = tempfile.mkstemp(".crfsuite", "model")
        os.close(stream)
        try:
            yield name
        except BaseException:
            _remove(name)
            raise
        if self._removal is not None:
            self._removal()
        self.name = name
        if not self.keep:
            self._removal = weakref.finalize(self, _remove, name)

    def __getstate__(self) -> dict[str, Any]:
        contents = None
        if self.is_temporary and self.name is not None:
            with suppress(OSError):
                contents = Path(self.name).read_bytes()
        return {"name": None if self.is_temporary else self.name, "keep": self.keep, "contents": contents}

    def __setstate__(self, state: dict[str, Any]) -> None:
        OwnedFile.__init__(self, state["name"], keep=state["keep"])
        if state["contents"] is not None:
            with self.replacing() as name:
                Path(name).write_bytes(state["contents"])


def _remove(name: str) -> None:
    with suppress(OSError):
        Path(name).unlink()
