"""Small motif examples, whose features are also counted one by one as the paper has them, and a file with a motif."""

from itertools import product

import numpy as np

from widemargin.tasks.motif.examples import Reads

MOTIF = "TGACGTCA"


def phi(text, output, letters, length, order, both):
    """φ(x, y, h) as printed, without what φ(x, −1) and φ(x, +1, h) share; a window is read from either strand."""
    counts = np.zeros(length * len(letters) + len(letters) ** (order + 1))
    if output < 0:
        return counts
    start, strand = divmod(output, 2)
    window = text[start : start + length]
    if strand:
        assert both
        window = window.translate(str.maketrans("ACGT", "TGCA"))[::-1]
    for j, letter in enumerate(window):
        if letter in letters:
            counts[j * len(letters) + letters.index(letter)] += 1.0
    for i in range(start, start + length):
        context = text[i - order : i + 1]
        if i >= order and set(context) <= set(letters):
            number = 0
            for letter in context:
                number = number * len(letters) + letters.index(letter)
            counts[length * len(letters) + number] -= 1.0
    return counts


def outputs_of(text, length, both):
    """All outputs of a sequence."""
    starts = range(max(0, len(text) - length + 1))
    return [-1, *(2 * start + strand for start, strand in product(starts, (0, 1) if both else (0,)))]


def motif_examples(texts, positive, letters, length, order, both):
    return Reads(letters, length, order, both).examples(texts, np.array(positive, dtype=bool))


def random_texts(seed, lengths, letters="ACGT"):
    rng = np.random.default_rng(seed)
    return ["".join(rng.choice(list(letters), size=n)) for n in lengths]


def planted(n=24, size=30, seed=0):
    """Random sequences; every other one, from the first on, holds the motif at a random place, perhaps reversed."""
    rng = np.random.default_rng(seed)
    texts, starts = random_texts(seed, [size] * n), []
    for i in range(0, n, 2):
        start = int(rng.integers(size - len(MOTIF) + 1))
        texts[i] = texts[i][:start] + MOTIF + texts[i][start + len(MOTIF) :]
        starts.append(start)
    return texts, [1 - i % 2 for i in range(n)], starts


def planted_table():
    """The sequences as a table, some with their sites."""
    texts, labels, starts = planted()
    sites = [f"{starts[i // 2]}:{starts[i // 2] + len(MOTIF)}:+" if i % 2 == 0 else "." for i in range(len(texts))]
    rows = zip([f"s{i}" for i in range(len(texts))], map(str, labels), sites, texts, strict=True)
    return "#id\tlabel\tsites\tsequence\n" + "".join("\t".join(row) + "\n" for row in rows)
