"""Sarawagi & Gupta (2008): slack scaling and PosLearn."""

from experiment import Paper

PAPER = Paper(
    "sarawagi-gupta",
    "Sarawagi & Gupta 2008",
    "Sunita Sarawagi and Rahul Gupta: Accurate Max-Margin Training for Structured Output Spaces. ICML 2008.",
    "",
    (),
    (),
)
