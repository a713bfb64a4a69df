"""widemargin: large-margin structured prediction with a certificate of optimality.

Structures decode, objectives turn decoded outputs into cuts, solvers consume cuts. Names are imported when first used,
so `import widemargin` and the command line start at once. Estimators come from the tasks (`widemargin.tasks`).
"""

from typing import TYPE_CHECKING, Any

from widemargin._lazy import lazy_names
from widemargin._version import __version__ as __version__

if TYPE_CHECKING:
    from widemargin.core.loop import fit as fit
    from widemargin.core.loop import fit_path as fit_path
    from widemargin.core.problem import Problem as Problem
    from widemargin.core.solution import Epoch as Epoch
    from widemargin.core.solution import Solution as Solution
    from widemargin.core.stop import Callback as Callback
    from widemargin.core.stop import Stop as Stop
    from widemargin.tasks.bracket.estimator import ConstituencyParser as ConstituencyParser
    from widemargin.tasks.classify.estimator import LinearClassifier as LinearClassifier
    from widemargin.tasks.classify.estimator import MultilabelClassifier as MultilabelClassifier
    from widemargin.tasks.cluster.estimator import Clusterer as Clusterer
    from widemargin.tasks.constraints import Constraints as Constraints
    from widemargin.tasks.coreference.estimator import CoreferenceResolver as CoreferenceResolver
    from widemargin.tasks.custom.estimator import StructuredPredictor as StructuredPredictor
    from widemargin.tasks.estimator import load as load
    from widemargin.tasks.estimator import stacked as stacked
    from widemargin.tasks.graph.estimator import GraphLabeler as GraphLabeler
    from widemargin.tasks.motif.estimator import MotifFinder as MotifFinder
    from widemargin.tasks.parse.estimator import DependencyParser as DependencyParser
    from widemargin.tasks.rank.estimator import Ranker as Ranker
    from widemargin.tasks.segment.estimator import Segmenter as Segmenter
    from widemargin.tasks.summarise.estimator import Summariser as Summariser
    from widemargin.tasks.tag.estimator import SequenceTagger as SequenceTagger

_look_up, _, _names = lazy_names(
    __name__,
    {
        "_version": ["__version__"],
        "core.loop": ["fit", "fit_path"],
        "core.problem": ["Problem"],
        "core.solution": ["Epoch", "Solution"],
        "core.stop": ["Callback", "Stop"],
        "tasks.constraints": ["Constraints"],
        "tasks.estimator": ["load", "stacked"],
    },
)


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return __dir__()
    if name[:1].isupper() and name not in _names:
        from widemargin.tasks import estimator_named

        kind = estimator_named(name)
        if kind is not None:
            return kind.estimator()
    return _look_up(name)


def __dir__() -> list[str]:
    from widemargin.tasks import estimators

    return sorted([*_names, *estimators()])
