"""Find the motif that tells positive sequences from negative ones, and where it is."""

from widemargin.tasks import Kind, Task

TASK = Task(
    __name__,
    {
        "motif": Kind(
            __name__,
            "parameters.MotifParameters",
            "estimator.compile_motif",
            "model.MotifModel",
            "estimator.MotifFinder",
        ),
    },
    does="Learn a motif: what positive sequences hold somewhere and negative ones do not.\n\nFiles are FASTA, with "
    "label=… in the headers, or tables of labels and sequences. With --negative or --background, all sequences of "
    "--train without a label are positive.",
    example="--train ars.tsv --background intergenic.fa --length 11,17 --dev dev.tsv --out ars.wm",
    files="files.MotifFiles",
    options="parameters.MotifOptions",
    reads=("label", "format"),
)
