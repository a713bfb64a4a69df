"""Yu & Joachims (2009): structural SVMs with latent variables."""

from functools import partial

from experiment import Experiment, Paper, Section
from yu_joachims_motifs import SETS, motifs
from yu_joachims_oracles import oracles
from yu_joachims_partial import SHARES, partial_labels
from yu_joachims_rankings import METHODS, rankings
from yu_joachims_report import (
    LENGTHS,
    listwise,
    motif_table,
    oracle_table,
    partial_table,
    ranking_table,
    rebasing,
    rounds_figure,
    text_name,
    text_table,
)
from yu_joachims_rounds import NAMES, rounds
from yu_joachims_texts import METHODS as CLUSTERERS
from yu_joachims_texts import texts

MOTIFS = {f"motifs-{name}-{length}": partial(motifs, name, length) for name in SETS for length in LENGTHS}
TEXTS = {text_name(method): partial(texts, method) for method in CLUSTERERS}
RANKINGS = {f"rankings-{name}": partial(rankings, name) for name in METHODS}
ROUNDS = {f"rounds-{name}": partial(rounds, name) for name in NAMES}
PARTIAL = {f"partial-{100 * share:.0f}": partial(partial_labels, share) for share in SHARES}
ALL = {**MOTIFS, **TEXTS, **RANKINGS, **ROUNDS, **PARTIAL, "oracles": oracles}
LISTWISE = "rankings-lambdarank"

PAPER = Paper(
    "yu-joachims",
    "Yu & Joachims 2009",
    "Chun-Nam John Yu and Thorsten Joachims: Learning Structural SVMs with Latent Variables. ICML 2009.",
    "The data are open ones. Motifs: 704 sequences of yeast-ars (the paper has 199 others) and 106 of dna-promoters; "
    "expectation maximisation as in MEME instead of the Gibbs sampler; 400 background sequences, weighed as the "
    "paper's 6,460 are; 3 seeds (5 on promoters) instead of 10; C of 0.1 or 1; 50 starts of EM. The folds of yeast-"
    "ars include the sequences on which the library's defaults were chosen. Coreference: gum-open, 40 + 12 + 12 "
    "documents, instead of MUC-6; C is chosen on development documents, not by cross-validation; at most 8 rounds. "
    "Rankings: LightGBM's ranking set instead of OHSUMED, 201 queries to learn from and one test set instead of five "
    "folds. Rounds are those of the hinge. Labels known in part (2,000 sentences), beginnings and times of oracles "
    "are not in the paper.",
    tuple(Experiment(name, run) for name, run in ALL.items()),
    (
        Section("Table 1: motifs", tuple(MOTIFS), motif_table),
        Section("Table 2: coreference", tuple(TEXTS), text_table),
        Section("Table 3: precision@k", tuple(name for name in RANKINGS if name != LISTWISE), ranking_table),
        Section("Table 3: a list-wise ranker", ("rankings-precision", LISTWISE), listwise),
        Section("Figure 3: rounds against C", tuple(ROUNDS), rounds_figure),
        Section("What rebased and loose rounds are worth, and beginnings", tuple(ROUNDS), rebasing),
        Section("Labels known in part", tuple(PARTIAL), partial_table),
        Section("Oracles", ("oracles",), oracle_table),
    ),
)
