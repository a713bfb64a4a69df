"""Find the motif that tells positive sequences from negative ones, and where it is."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from widemargin.tasks import Kind, Task
from widemargin.tasks.parameters import LatentParameters, parameter


@dataclass(kw_only=True, repr=False, eq=False)
class MotifParameters(LatentParameters):
    """Parameters of motif finders."""

    usual_epochs: ClassVar[int] = 1000

    length: "int | Sequence[int]" = parameter(
        11,
        "How many letters the motif has. With several lengths, each is tried, and the best one is kept: by the "
        "development score, or else by cross-validation.",
        metavar="L[,L…]",
        given_as="whole numbers",
    )
    order: int = parameter(
        1,
        "The order of the background's Markov model: how many letters before it a letter depends on. The paper has 3.",
    )
    alphabet: str = parameter("dna", "'dna', 'rna', 'protein', or the letters themselves; others have no weight.")
    strands: Literal["one", "both"] | None = parameter(
        None, "Whether the motif may be on either strand. By default both for DNA, otherwise one."
    )
    positive: "Any" = parameter(
        None, "The label of sequences with the motif. By default 1, +, yes and the like, or else the last in order."
    )
    background_weight: float = parameter(
        0.02, "How much each background sequence counts, where others count 1; the paper has 1/50.", least=0
    )


@dataclass(kw_only=True)
class MotifOptions:
    """Command-line options that are not training parameters."""

    negative: str | None = parameter(
        None,
        "More sequences, all negative.",
        metavar="FILE",
        given_as="path",
    )
    background: str | None = parameter(
        None,
        "Background sequences: negative, and each counts little (--background-weight).",
        metavar="FILE",
        given_as="path",
    )


def _model() -> type[Any]:
    from widemargin.tasks.motif.model import MotifModel

    return MotifModel


def _estimator() -> type[Any]:
    from widemargin.tasks.motif.estimator import MotifFinder

    return MotifFinder


def _files() -> Any:
    from widemargin.tasks.motif.files import MotifFiles

    return MotifFiles()


TASK = Task(
    {"motif": Kind("MotifFinder", MotifParameters, _model, _estimator)},
    does="Learn a motif: what positive sequences hold somewhere and negative ones do not.\n\nFiles are FASTA, with "
    "label=… in the headers, or tables of labels and sequences. With --negative or --background, all sequences of "
    "--train without a label are positive.",
    example="--train ars.tsv --background intergenic.fa --length 11,17 --dev dev.tsv --out ars.wm",
    files=_files,
    options=MotifOptions,
    reads=("label", "format"),
)
