"""What tests of all folders share; the other modules here serve one kind of structure or file each."""

from helpers.chains import PlainChain, random_chain
from helpers.custom import ListedMatching, MaskedMatching, Matching, Sign
from helpers.data import Small, as_dicts, corpus, rows
from helpers.optima import all_blocks, all_cuts, optimum, primal, programme, quadratic_programme, weights_in
from helpers.problems import PROBLEMS, SOLVERS, SUBLINEAR, Exposed, problem, taken_by
from helpers.structures import (
    BRACKETED,
    STRUCTURES,
    brackets,
    chain,
    classes,
    dependencies,
    examples_of,
    label_sets,
    matching,
    offering,
    selected,
)
