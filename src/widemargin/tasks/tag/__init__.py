"""Label the tokens of sequences: a first-order chain."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from widemargin.tasks import Kind, Task
from widemargin.tasks.parameters import LatentParameters, Parameters, TokenParameters, parameter, with_default


@dataclass(kw_only=True, repr=False, eq=False)
class TaggerParameters(LatentParameters, TokenParameters):
    """Parameters of sequence taggers; without `templates`, sequences may also be ready-made features.

    On development data of five corpora, scores had stopped moving at a gap of 5 %; the default leaves a margin
    (docs/tagging.md).
    """

    hidden: ClassVar[str] = "unknown labels"
    usual_smooth_C: ClassVar[float] = 2.0

    tol: float | None = with_default(Parameters, "tol", 0.03)
    costs: "Mapping[Any, float] | None" = parameter(
        None,
        "The cost of predicting one label for another; 1 unless named.",
        in_python="{(gold, predicted): cost}, or {gold: cost} for every error on a label.",
        on_command_line='A JSON file: {"gold": 2, "other": {"predicted": 0.5}}.',
        given_as="costs",
        metavar="FILE",
    )
    class_weight: "Mapping[Any, float] | str | None" = parameter(
        None,
        'How much an error counts where a label is right: {label: weight}, 1 unless named; or "balanced", which gives '
        "all labels the same total weight, however rare. It multiplies `costs`.",
        option=None,
    )
    scheme: Literal["given", "bioes"] = parameter(
        "given",
        "The labels that the chain learns: those given, or if they are BIO, labels that also tell where spans end. "
        "Predictions are BIO either way.",
    )
    passes: int = parameter(
        1,
        "2: a second tagger reads the labels that a first one finds. It learns from those of taggers that have not "
        "learnt from the sequence at hand. Training takes six to eight times as long, prediction twice.",
        metavar="1|2",
        least=1,
        most=2,
    )
    nearby: int = parameter(
        0,
        "With two passes: how many sequences before and after its own tell which label a word has there. For text in "
        "its order.",
        metavar="N",
        least=0,
    )
    dev_metric: Literal["auto", "accuracy", "f1", "sequence_accuracy"] = parameter(
        "auto", "The development score; 'auto' is F1 of spans if labels are BIO, else accuracy."
    )


def _model() -> type[Any]:
    from widemargin.tasks.tag.model import Tagger

    return Tagger


def _estimator() -> type[Any]:
    from widemargin.tasks.tag.estimator import SequenceTagger

    return SequenceTagger


def _arrays() -> type[Any]:
    from widemargin.tasks.tag.out_of_core import TagArrays

    return TagArrays


def _read_crfsuite(source: Any) -> Any:
    from widemargin.tasks.tag.crfsuite import read_tagger

    return read_tagger(source)


def _files() -> Any:
    from widemargin.tasks.tag.files import TagFiles

    return TagFiles()


TASK = Task(
    {
        "chain": Kind(
            "SequenceTagger", TaggerParameters, _model, _estimator, arrays=_arrays, foreign={b"lCRF": _read_crfsuite}
        ),
    },
    does="Learn to label the tokens of sequences.",
    example="--train train.conllu --dev dev.conllu --label upos --out upos.wm",
    files=_files,
    reads=("label", "format", "columns", "unknown", "alternatives"),
)
