"""Structures that tasks share: those that users write in plain Python, and linear scores of labels."""

from typing import TYPE_CHECKING

from widemargin._lazy import lazy_names

if TYPE_CHECKING:
    from widemargin.structures.custom import CustomExamples as CustomExamples
    from widemargin.structures.custom import CustomStructure as CustomStructure
    from widemargin.structures.custom import custom_examples as custom_examples

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "custom": ["CustomExamples", "CustomStructure", "custom_examples"],
    },
)
