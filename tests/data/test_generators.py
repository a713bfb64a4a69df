"""Generated data: deterministic, well formed, varied, ambiguous, and nonsense refused in one sentence."""

import os
import re
import subprocess
import sys
from collections import defaultdict
from functools import cache

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from widemargin.data.generators import GRAMMAR, LAYOUTS, addresses, matchings
from widemargin.errors import WidemarginError


@pytest.fixture(scope="module")
def drawn():
    return addresses(5000)


def fields(tokens, labels):
    """The fields of one address in order, as (label, text)."""
    found = []
    for token, label in zip(tokens, labels, strict=True):
        if label.startswith("B-"):
            found.append((label[2:], token))
        elif label.startswith("I-"):
            found[-1] = (found[-1][0], f"{found[-1][1]} {token}")
    return found


@cache
def pattern(symbol):
    """A regular expression for all that `symbol` of the grammar can write, in folded case."""
    pieces = {"0": r"\d", "1": "[1-9]", "@": "[a-z]"}

    def translate(alternative):
        parts = re.findall(r"\{(\w+)\}|([01@])|([^{01@]+)", alternative)
        return "".join(pattern(inner) if inner else pieces.get(char, re.escape(text)) for inner, char, text in parts)

    return f"(?:{'|'.join(translate(alternative.casefold()) for alternative in GRAMMAR[symbol])})"


def unwritable(tokens, labels):
    """The fields that the grammar has no way to write."""
    symbols = defaultdict(set)
    for field in " ".join(LAYOUTS).replace("/", " ").split():
        label, _, symbol = field.rstrip("?").partition(":")
        symbols[label].add(symbol)
    patterns = {label: re.compile("|".join(map(pattern, sorted(names)))) for label, names in symbols.items()}
    texts = [field for address in zip(tokens, labels, strict=True) for field in fields(*address)]
    return [(label, text) for label, text in texts if not patterns[label].fullmatch(text.casefold())]


def test_same_seed_same_addresses_and_other_seed_others(drawn):
    assert addresses(5000) == drawn
    assert addresses(20, seed=1) != addresses(20, seed=2)
    assert addresses(20)[0] == drawn[0][:20]


def test_addresses_do_not_depend_on_the_hash_seed():
    program = "from widemargin.data.generators import addresses; print(ascii(addresses(50, seed=7)))"
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            encoding="utf-8",
            check=True,
        ).stdout
        for hash_seed in ("1", "2")
    }
    assert outputs == {ascii(addresses(50, seed=7)) + "\n"}


def test_addresses_are_well_formed(drawn):
    assert len(drawn[0]) == len(drawn[1]) == 5000
    for tokens, labels in zip(*drawn, strict=True):
        assert len(tokens) == len(labels) > 0
        assert all(token and not re.search(r"\s", token) for token in tokens)
        previous = "O"
        for label in labels:
            assert re.fullmatch("O|[BI]-[a-z]+", label)
            assert not label.startswith("I-") or previous[2:] == label[2:]
            previous = label


def test_layouts_of_all_kinds_occur(drawn):
    orders = [" ".join(name for name, _ in fields(*address)) for address in zip(*drawn, strict=True)]
    parts = (
        "house street",
        "street house",
        "city region postcode",
        "postcode city",
        "building street",
        "box",
        "country",
    )
    for part in parts:
        assert sum(part in order for order in orders) > 50, part
    texts = [" ".join(tokens) for tokens in drawn[0]]
    assert sum("," in text for text in texts) > 200
    assert sum("," not in text for text in texts) > 200
    assert sum(text.isupper() for text in texts) > 100
    assert sum(text.islower() for text in texts) > 100


@pytest.mark.parametrize(
    ("word", "kinds"),
    [
        ("washington", {"name", "company", "street", "city", "region"}),
        ("lincoln", {"name", "company", "street", "city"}),
        ("paris", {"name", "street", "city"}),
        ("st", {"company", "street", "city"}),
        ("avenue", {"street", "city"}),
        ("house", {"building", "company"}),
    ],
)
def test_words_are_ambiguous(drawn, word, kinds):
    pairs = [pair for address in zip(*drawn, strict=True) for pair in zip(*address, strict=True)]
    assert {label[2:] for token, label in pairs if token.lower() == word} >= kinds


def test_numbers_are_ambiguous(drawn):
    pairs = [pair for address in zip(*drawn, strict=True) for pair in zip(*address, strict=True)]
    assert {label for token, label in pairs if re.fullmatch(r"\d{5}", token)} >= {"B-house", "B-postcode", "I-box"}
    assert {label for token, label in pairs if re.fullmatch(r"\d\d", token)} >= {"B-house", "I-unit", "I-box"}


def test_without_noise_every_field_is_as_the_grammar_writes_it():
    assert unwritable(*addresses(1000, noise=0.0)) == []


def test_noise_brings_typos_and_loses_fields():
    clean, noisy = addresses(1000, noise=0.0), addresses(1000, noise=0.3)
    assert len(unwritable(*noisy)) > 100
    assert sum(len(fields(*address)) for address in zip(*noisy, strict=True)) < sum(
        len(fields(*address)) for address in zip(*clean, strict=True)
    )


def test_utmost_noise_still_yields_addresses():
    tokens, labels = addresses(500, noise=1.0)
    assert all(fields(*address) for address in zip(tokens, labels, strict=True))
    assert "," not in {token for row in tokens for token in row}


@pytest.mark.parametrize("hidden_part", [0.0, 0.1])
def test_matchings_follow_hidden_weights_up_to_noise(hidden_part):
    graphs, gold = matchings(300, seed=3, noise=hidden_part)
    edges = np.concatenate([x[range(len(y)), y] for x, y in zip(graphs, gold, strict=True)])
    w = edges.mean(axis=0)  # chosen edges lean towards the hidden weights
    decoded = [linear_sum_assignment(x @ w, maximize=True)[1] for x in graphs]
    agreement = np.mean(np.concatenate(decoded) == np.concatenate(gold))
    assert 0.8 < agreement < 1.0


def test_matchings_have_the_sizes_asked_for():
    graphs, gold = matchings(200, size=(2, 4), n_features=5)
    assert {x.shape for x in graphs} == {(k, k, 5) for k in (2, 3, 4)}
    assert all(sorted(y) == list(range(len(x))) for x, y in zip(graphs, gold, strict=True))
    assert {type(node) for y in gold for node in y} == {int}


def test_matchings_are_deterministic():
    first, second = matchings(20, seed=5), matchings(20, seed=5)
    assert all(np.array_equal(a, b) for a, b in zip(first[0], second[0], strict=True))
    assert first[1] == second[1] != matchings(20, seed=6)[1]


@pytest.mark.parametrize("generate", [addresses, matchings])
def test_none_asked_for_none_given(generate):
    assert generate(0) == ([], [])


@pytest.mark.parametrize(
    ("generate", "arguments"),
    [
        (addresses, {"n": -1}),
        (addresses, {"n": 1, "noise": -0.1}),
        (addresses, {"n": 1, "noise": 1.5}),
        (addresses, {"n": 1, "noise": float("nan")}),
        (matchings, {"n": -1}),
        (matchings, {"n": 1, "noise": -1.0}),
        (matchings, {"n": 1, "size": (0, 3)}),
        (matchings, {"n": 1, "size": (5, 3)}),
        (matchings, {"n": 1, "n_features": 0}),
    ],
)
def test_nonsense_is_refused_in_one_sentence(generate, arguments):
    with pytest.raises(WidemarginError) as refusal:
        generate(**arguments)
    assert str(refusal.value).startswith(f"{list(arguments)[-1]} ")
    assert "\n" not in str(refusal.value)
