"""Custom structures: three methods in plain Python, or compiled examples."""

from widemargin.tasks import Kind, Task

TASK = Task(
    __name__,
    {
        "custom": Kind(
            __name__,
            "parameters.CustomParameters",
            "model.compile_custom",
            "model.CustomModel",
            "estimator.StructuredPredictor",
            survey="model.survey_custom",
        )
    },
)
