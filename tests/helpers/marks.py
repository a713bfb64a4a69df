"""Sets of labels that mark spans."""

BIO = ["O", "B-X", "I-X", "B-Y", "I-Y"]


BIOES = ["S-X", "O", "E-X", "B-X", "I-X"]
