"""The peer: python-crfsuite as its users drive it, with features built as Python strings, token by token."""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

RUNS = re.compile(r"([a-z])+|([A-Z])+|([0-9])+")
SETTINGS: dict[str, dict[str, Any]] = {
    "ap": {"max_iterations": 8},
    "lbfgs": {"max_iterations": 60},
}


def read(path: Path) -> tuple[list[list[str]], list[list[str]]]:
    """Words and XPOS tags of a CoNLL-U file."""
    words: list[list[str]] = [[]]
    tags: list[list[str]] = [[]]
    with path.open(encoding="utf-8") as stream:
        for line in stream:
            if line == "\n":
                if words[-1]:
                    words.append([])
                    tags.append([])
            elif not line.startswith("#"):
                fields = line.split("\t")
                if fields[0].isdigit():
                    words[-1].append(fields[1])
                    tags[-1].append(fields[4])
    return [each for each in words if each], [each for each in tags if each]


def shape(word: str) -> str:
    if not word.isascii():
        word = "".join("A" if c.isupper() else "a" if c.isalpha() else "0" if c.isdigit() else c for c in word)
    return RUNS.sub(lambda run: "a" if run[1] else "A" if run[2] else "0", word)


def features(words: Sequence[str]) -> Iterator[list[str]]:
    """The 20 default templates of widemargin, as strings equal to the names it gives them."""
    lower = [word.lower() for word in words]
    n = len(words)

    def at(values: Sequence[str], t: int) -> str:
        return "<s>" if t < 0 else "</s>" if t >= n else values[t]

    def suffix3(t: int) -> str:
        return at(lower, t)[-3:] if 0 <= t < n else at(lower, t)

    for t, (word, low) in enumerate(zip(words, lower, strict=True)):
        yield [
            "bias",
            "word=" + word,
            "lower=" + low,
            "shape=" + shape(word),
            "prefix1=" + low[:1],
            "prefix2=" + low[:2],
            "prefix3=" + low[:3],
            "prefix4=" + low[:4],
            "suffix1=" + low[-1:],
            "suffix2=" + low[-2:],
            "suffix3=" + low[-3:],
            "suffix4=" + low[-4:],
            "lower[-2]=" + at(lower, t - 2),
            "lower[-1]=" + at(lower, t - 1),
            "lower[1]=" + at(lower, t + 1),
            "lower[2]=" + at(lower, t + 2),
            "word[-1]|word=" + at(words, t - 1) + "|" + word,
            "word|word[1]=" + word + "|" + at(words, t + 1),
            "suffix3[-1]=" + suffix3(t - 1),
            "suffix3[1]=" + suffix3(t + 1),
        ]


def train(
    algorithm: str,
    X: Iterable[Sequence[Any]],
    y: Sequence[Sequence[str]],
    path: Path,
    settings: dict[str, Any] | None = None,
) -> dict[str, float]:
    """Append and train; the seconds of both. The settings are those of the speed rows, unless given."""
    from time import perf_counter

    import pycrfsuite

    trainer = pycrfsuite.Trainer(algorithm=algorithm, verbose=False)
    trainer.set_params(SETTINGS[algorithm] if settings is None else settings)
    begin = perf_counter()
    for sequence, labels in zip(X, y, strict=True):
        trainer.append(sequence, labels)
    appended = perf_counter()
    trainer.train(str(path))
    return {"append": appended - begin, "train": perf_counter() - appended}
