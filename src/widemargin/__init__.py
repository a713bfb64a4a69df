"""widemargin: large-margin structured prediction with a certificate of optimality.

Structures decode, objectives turn decoded outputs into cuts, solvers consume cuts. Names are imported when first used,
so that `import widemargin` and the command line start at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from widemargin._version import __version__

if TYPE_CHECKING:
    from widemargin.answers.constraints import Constraints
    from widemargin.estimators import (
        LinearClassifier,
        MultilabelClassifier,
        Segmenter,
        SequenceTagger,
        StructuredPredictor,
    )
    from widemargin.loading import load
    from widemargin.loop import Callback, Stop, fit
    from widemargin.path import fit_path
    from widemargin.problem import Problem
    from widemargin.solution import Epoch, Solution

_HOME = {
    "Callback": "loop",
    "Constraints": "answers.constraints",
    "Epoch": "solution",
    "LinearClassifier": "estimators",
    "MultilabelClassifier": "estimators",
    "Problem": "problem",
    "Segmenter": "estimators",
    "SequenceTagger": "estimators",
    "Solution": "solution",
    "Stop": "loop",
    "StructuredPredictor": "estimators",
    "fit": "loop",
    "fit_path": "path",
    "load": "loading",
}

__all__ = [
    "Callback",
    "Constraints",
    "Epoch",
    "LinearClassifier",
    "MultilabelClassifier",
    "Problem",
    "Segmenter",
    "SequenceTagger",
    "Solution",
    "Stop",
    "StructuredPredictor",
    "__version__",
    "fit",
    "fit_path",
    "load",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'widemargin' has no attribute {name!r}")
    return getattr(import_module(f"widemargin.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
