"""Balamurugan et al. (2011): a sequential dual method."""

from experiment import Paper

PAPER = Paper(
    "balamurugan",
    "Balamurugan et al. 2011",
    "P. Balamurugan, Shirish Shevade, S. Sundararajan and S. Sathiya Keerthi: A Sequential Dual Method "
    "for Structural SVMs. SDM 2011.",
    "",
    (),
    (),
)
