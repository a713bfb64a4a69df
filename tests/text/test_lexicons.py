"""Lexicons of spans."""

import numpy as np

from widemargin.text import lexicons
from widemargin.text.hashing import combine, hash_strings, roll_keys
from widemargin.text.lexicons import Lexicon


def test_an_entry_of_many_words_takes_a_step_a_word(monkeypatch):
    combined = []
    monkeypatch.setattr(lexicons, "combine", lambda keys, others: combined.append(len(keys)) or combine(keys, others))
    entries = ["a b", "c", " ".join(map(str, range(500))), "b c d", ""]
    lexicon = Lexicon(entries)
    assert sum(combined) == 1 + 499 + 2
    for entry in filter(None, entries):
        words = entry.split()
        *_, (starts, runs) = roll_keys(hash_strings(words), np.array([0, len(words)]), len(words))
        assert starts.tolist() == [0]
        assert lexicon.holds(runs).all()
