"""Chang & Yih (2013): dual coordinate descent for structural SVMs."""

from experiment import Paper

PAPER = Paper(
    "chang-yih",
    "Chang & Yih 2013",
    "Ming-Wei Chang and Wen-tau Yih: Dual Coordinate Descent Algorithms for Efficient Large "
    "Margin Structured Prediction. TACL 1, 2013.",
    "",
    (),
    (),
)
