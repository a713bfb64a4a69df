"""widemargin: large-margin structured prediction with a certificate of optimality.

Structures decode, objectives turn decoded outputs into cuts, solvers consume cuts. Names are imported when first used,
so that `import widemargin` and the command line start at once.
"""

from typing import TYPE_CHECKING

from widemargin._lazy import lazy_names
from widemargin._version import __version__ as __version__

if TYPE_CHECKING:
    from widemargin.answers.constraints import Constraints as Constraints
    from widemargin.estimators import ConstituencyParser as ConstituencyParser
    from widemargin.estimators import DependencyParser as DependencyParser
    from widemargin.estimators import LinearClassifier as LinearClassifier
    from widemargin.estimators import MultilabelClassifier as MultilabelClassifier
    from widemargin.estimators import Segmenter as Segmenter
    from widemargin.estimators import SequenceTagger as SequenceTagger
    from widemargin.estimators import StructuredPredictor as StructuredPredictor
    from widemargin.loading import load as load
    from widemargin.loop import Callback as Callback
    from widemargin.loop import Stop as Stop
    from widemargin.loop import fit as fit
    from widemargin.path import fit_path as fit_path
    from widemargin.problem import Problem as Problem
    from widemargin.solution import Epoch as Epoch
    from widemargin.solution import Solution as Solution

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "_version": ["__version__"],
        "answers.constraints": ["Constraints"],
        "estimators": [
            "ConstituencyParser",
            "DependencyParser",
            "LinearClassifier",
            "MultilabelClassifier",
            "Segmenter",
            "SequenceTagger",
            "StructuredPredictor",
        ],
        "loading": ["load"],
        "loop": ["Callback", "Stop", "fit"],
        "path": ["fit_path"],
        "problem": ["Problem"],
        "solution": ["Epoch", "Solution"],
    },
)
