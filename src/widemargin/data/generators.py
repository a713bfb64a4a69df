"""Generated examples: postal addresses to label and bipartite graphs to match.

The demo, the examples and the tests use them: there is nothing to download, any number can be drawn, and a seed gives
the same data on every platform. Both are hard enough to tell methods apart. An address is drawn from the grammar of
`_address_words`, whose words mean different things in different places, and then disturbed as if typed carelessly. A
matching is optimal for hidden weights only up to noise, so that no weights reproduce all matchings.
"""

import re
from collections.abc import Callable
from random import Random
from string import ascii_uppercase
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from widemargin.data._address_words import GRAMMAR, LAYOUTS
from widemargin.errors import WidemarginError

COMMAS = 0.4  # share of addresses written with a comma after each line
OPTIONAL = 0.4  # share of addresses in which a given optional field is filled in
CASES: tuple[Callable[[str], str], ...] = (str, str, str, str.upper, str.lower, str.capitalize)
SHORTEST_MISTYPED = 4  # a typo in a shorter word would turn one abbreviation into another
PLACEHOLDER = re.compile(r"\{(\w+)\}|[01@]")


class Field(NamedTuple):
    """Words of an address that belong together, such as those of its street."""

    label: str
    words: list[str]


def addresses(n: int, seed: int = 0, noise: float = 0.15) -> tuple[list[list[str]], list[list[str]]]:
    """Postal addresses as lists of tokens, and the BIO label of each token.

    American, British, German and French addresses, with recipients, companies, flats and post-office boxes, with and
    without commas, in upper and lower case. The fields are name, company, unit, building, house, street, box, city,
    region, postcode and country; commas and words such as "c/o" are labelled O.

    Parameters
    ----------
    n : how many addresses
    seed : the same seed gives the same addresses
    noise : chance that an address lacks one of its fields, that two of its lines have changed places, and that a given
        comma is forgotten. A quarter of it is the chance that a given word is mistyped.

    >>> tokens, labels = addresses(7)
    >>> print(*map("/".join, zip(tokens[6], labels[6])))
    Berlinerstraße/B-street 647/B-house ,/O 63812/B-postcode Berlin/B-city
    """
    _check_not_negative("n", n)
    if not 0 <= noise <= 1:
        raise WidemarginError(f"noise is a probability, but {noise} was given; choose it between 0 and 1")
    rng = Random(seed)
    drawn = [_address(rng, noise) for _ in range(n)]
    return [tokens for tokens, _ in drawn], [labels for _, labels in drawn]


def _address(rng: Random, noise: float) -> tuple[list[str], list[str]]:
    """One address: draw its fields, disturb them, write them down."""
    lines = _lines(rng, rng.choice(LAYOUTS))
    if rng.random() < noise:
        line = rng.choice(lines)
        line.remove(rng.choice(line))
        lines = [line for line in lines if line]
    if rng.random() < noise:
        upper = rng.randrange(len(lines) - 1)
        lines[upper], lines[upper + 1] = lines[upper + 1], lines[upper]
    comma = (1 - noise) if rng.random() < COMMAS else 0.0
    case = rng.choice(CASES)

    tokens: list[str] = []
    labels: list[str] = []
    for number, line in enumerate(lines):
        if number > 0 and rng.random() < comma:
            tokens.append(",")
            labels.append("O")
        for label, words in line:
            for position, word in enumerate(words):
                tokens.append(case(mistyped(rng, word) if rng.random() < noise / 4 else word))
                labels.append(label if label == "O" else f"{'I' if position else 'B'}-{label}")
    return tokens, labels


def _lines(rng: Random, layout: str) -> list[list[Field]]:
    """The fields of one address line by line, as `layout` of `_address_words` has them."""
    lines = []
    for row in layout.split("/"):
        fields = [field.partition(":") for field in row.split() if field[-1] != "?" or rng.random() < OPTIONAL]
        if fields:
            lines.append([Field(label, _expand(rng, symbol.rstrip("?")).split()) for label, _, symbol in fields])
    return lines


def _expand(rng: Random, symbol: str) -> str:
    """One of the strings that `symbol` of the grammar stands for."""

    def fill(placeholder: re.Match[str]) -> str:
        match placeholder[0]:
            case "0":
                return str(rng.randrange(10))
            case "1":
                return str(rng.randrange(1, 10))
            case "@":
                return rng.choice(ascii_uppercase)
            case _:
                return _expand(rng, placeholder[1])

    return PLACEHOLDER.sub(fill, rng.choice(GRAMMAR[symbol]))


def mistyped(rng: Random, word: str) -> str:
    """`word` with an inner letter dropped, doubled or swapped with the next."""
    if len(word) < SHORTEST_MISTYPED or not word.isalpha():
        return word
    at = rng.randrange(1, len(word) - 1)
    before, letter, after = word[:at], word[at], word[at + 1 :]
    return rng.choice((before + after, before + 2 * letter + after, before + after[0] + letter + after[1:]))


def matchings(
    n: int, seed: int = 0, *, size: tuple[int, int] = (3, 8), n_features: int = 12, noise: float = 0.1
) -> tuple[list[NDArray[np.float64]], list[tuple[int, ...]]]:
    """Bipartite graphs with a feature vector on every edge, and the perfect matching to be learned for each.

    The matching y sends node i of one side to node y[i] of the other and maximises the sum over i of
    ⟨w, x[i, y[i]]⟩ + noise · ε[i, y[i]], with standard normal x and ε. The hidden w has length 1 and depends on
    `n_features` alone: examples drawn with different seeds are training and test data of one task.

    Parameters
    ----------
    n : how many graphs
    seed : the same seed gives the same graphs
    size : fewest and most nodes k on each side
    n_features : length of the feature vectors; x has the shape (k, k, n_features)
    noise : standard deviation of the part of an edge's score that its features do not explain; the explained part has 1

    >>> x, y = matchings(3, size=(4, 4))
    >>> x[1].shape, y[1]
    ((4, 4, 12), (1, 2, 0, 3))
    """
    _check_not_negative("n", n)
    _check_not_negative("noise", noise)
    from scipy.optimize import linear_sum_assignment  # slow to import, and only needed here

    smallest, largest = size
    if not 1 <= smallest <= largest:
        raise WidemarginError(f"size is the fewest and the most nodes on a side, at least 1, but {size} was given")
    if n_features < 1:
        raise WidemarginError(f"an edge needs at least one feature, but n_features={n_features} was given")
    w = np.cos(np.arange(n_features))
    w /= np.linalg.norm(w)
    rng = np.random.default_rng(seed)
    graphs, gold = [], []
    for k in rng.integers(smallest, largest, size=n, endpoint=True).tolist():
        x = rng.standard_normal((k, k, n_features))
        scores = x @ w + noise * rng.standard_normal((k, k))
        _, partners = linear_sum_assignment(scores, maximize=True)
        graphs.append(x)
        gold.append(tuple(partners.tolist()))
    return graphs, gold


def _check_not_negative(name: str, value: float) -> None:
    if not value >= 0:
        raise WidemarginError(f"{name} must not be negative, but {value} was given")
