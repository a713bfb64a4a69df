"""Kummerfeld et al. (2015): margin, mistakes and likelihood on seven tasks."""

from experiment import Paper

PAPER = Paper(
    "kummerfeld",
    "Kummerfeld et al. 2015",
    "Jonathan K. Kummerfeld, Taylor Berg-Kirkpatrick and Dan Klein: An Empirical Analysis of "
    "Optimization for Max-Margin NLP. EMNLP 2015.",
    "",
    (),
    (),
)
