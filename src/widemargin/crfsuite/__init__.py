"""python-crfsuite's and sklearn-crfsuite's classes on top of this library: models and programs work as they are.

    import widemargin.crfsuite as pycrfsuite          # Trainer, Tagger, ItemSequence
    import widemargin.crfsuite as sklearn_crfsuite    # CRF; the modules metrics, scorers and utils

`load` and `save` turn CRFsuite's model files into our own fitted estimators and back.
"""

from typing import TYPE_CHECKING

from widemargin._lazy import lazy_names

if TYPE_CHECKING:
    from widemargin.crfsuite.estimator import CRF as CRF
    from widemargin.crfsuite.items import CRFSUITE_VERSION as CRFSUITE_VERSION
    from widemargin.crfsuite.items import CRFSuiteError as CRFSuiteError
    from widemargin.crfsuite.items import ItemSequence as ItemSequence
    from widemargin.crfsuite.models import load as load
    from widemargin.crfsuite.models import save as save
    from widemargin.crfsuite.tagger import ParsedDump as ParsedDump
    from widemargin.crfsuite.tagger import Tagger as Tagger
    from widemargin.crfsuite.trainer import BaseTrainer as BaseTrainer
    from widemargin.crfsuite.trainer import LinePerIterationTrainer as LinePerIterationTrainer
    from widemargin.crfsuite.trainer import Trainer as Trainer

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "estimator": ["CRF"],
        "items": ["CRFSUITE_VERSION", "CRFSuiteError", "ItemSequence"],
        "models": ["load", "save"],
        "tagger": ["ParsedDump", "Tagger"],
        "trainer": ["BaseTrainer", "LinePerIterationTrainer", "Trainer"],
    },
)
