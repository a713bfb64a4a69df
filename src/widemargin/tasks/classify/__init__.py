"""Classify the rows of a matrix: one class, or a set of labels."""

from widemargin.tasks import Kind, Task

TASK = Task(
    __name__,
    {
        "classes": Kind(
            __name__,
            "parameters.ClassifierParameters",
            "compile.compile_classes",
            "model.Classifier",
            "estimator.LinearClassifier",
            survey="compile.survey_classes",
        ),
        "multilabel": Kind(
            __name__,
            "parameters.MultilabelParameters",
            "compile.compile_sets",
            "model.MultilabelModel",
            "estimator.MultilabelClassifier",
            survey="compile.survey_sets",
        ),
    },
    does="Learn to classify the examples of svmlight files.\n\nA line holds labels and index:value pairs. If any line "
    "has several labels, separated by commas, the model predicts sets of labels.",
    example="--train news.svm --dev dev.svm --out news.wm",
    files="files.ClassifyFiles",
    options="parameters.ClassifyOptions",
)
