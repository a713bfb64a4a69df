"""`widemargin evaluate` for parsers: attachment scores of dependency trees, F1 of brackets."""

from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any

import numpy as np

from widemargin._threads import count_threads
from widemargin.cli.output import Printer, print_json
from widemargin.cli.parsed import TreeFile, sentences
from widemargin.columns import Column, Columns
from widemargin.data.brackets import Brackets
from widemargin.data.dependencies import arc_lists, arcs
from widemargin.data.document import Document
from widemargin.errors import DataError
from widemargin.metrics import Score
from widemargin.report.numbers import share
from widemargin.tree_metrics import Attachment, attachment_scores, bracket_scores

Scored = Mapping[str, Mapping[str, Any]]


def evaluate(
    model: Any, name: str, file: TreeFile, no_punctuation: bool, jobs: int, as_json: bool, quiet: bool
) -> None:
    """Compare a model's trees with those in a file."""
    _warm_up(model)
    begin = perf_counter()
    document = file.read(model.summary)
    X = sentences(model, document)
    gold = _gold_trees(document) if model.structure == "brackets" else arc_lists(arcs(document), X.indptr)
    read = perf_counter()
    predicted = model.predict_trees(X, count_threads(jobs))
    seconds = {"reading": read - begin, "parsing": perf_counter() - read}
    if model.structure == "brackets":
        scores = _brackets(gold, predicted)
    else:
        scores = _attachment(gold, predicted, X.sequences("word") if no_punctuation else None)
    results = {
        "model": name,
        "data": file.path,
        "sentences": X.n_sequences,
        "tokens": X.n_tokens,
        **scores,
        "sentences_per_second": X.n_sequences / sum(seconds.values()),
        "seconds": seconds,
    }
    if as_json:
        print_json(results)
    elif quiet:
        Printer().line(f"{results['f1' if model.structure == 'brackets' else 'las']:.6f}")
    elif model.structure == "brackets":
        _print_brackets(Printer(), results)
    else:
        _print_attachment(Printer(), results)


def _warm_up(model: Any) -> None:
    """Parse two tokens, so that loading compiled kernels does not count as parsing."""
    two = Column(np.zeros(2, dtype=np.int32), ["a"])
    model.predict_trees(Columns(dict.fromkeys(["word", *model.columns_read], two), np.array([0, 2], dtype=np.int64)))


def _gold_trees(document: Document) -> Any:
    if not isinstance(document, Brackets):
        raise DataError(f"{document.raw.source} holds no trees in brackets to compare with")
    return document.trees


def _attachment(gold: Any, predicted: Any, words: Sequence[Sequence[str]] | None) -> dict[str, Any]:
    scores = attachment_scores(gold, predicted, words)
    return {
        **_shares(scores.overall),
        "exact": scores.exact,
        "by_relation": _plain(scores.by_relation),
        "by_length": _plain(scores.by_length),
        "by_sentence_length": {length: _shares(each) for length, each in scores.by_sentence_length.items()},
    }


def _brackets(gold: Any, predicted: Any) -> dict[str, Any]:
    scores = bracket_scores(gold, predicted)
    micro = {key: value for key, value in scores.micro._asdict().items() if key != "support"}
    return {**micro, "brackets": scores.micro.support, "exact": scores.exact, "by_label": _plain(scores.by_label)}


def _shares(scores: Attachment) -> dict[str, Any]:
    return {"uas": scores.uas, "las": scores.las, "label_accuracy": scores.labels, "scored_tokens": scores.n_tokens}


def _plain(scores: Mapping[str, Score]) -> dict[str, Any]:
    return {name: score._asdict() for name, score in scores.items()}


def _print_attachment(printer: Printer, results: dict[str, Any]) -> None:
    scored, tokens = results["scored_tokens"], results["tokens"]
    printer.facts(
        [
            ("data", _size(results)),
            *([("scored", f"{scored:,} tokens, all but punctuation")] if scored < tokens else []),
            ("UAS", f"{share(results['uas'])} of the heads are right"),
            ("LAS", f"{share(results['las'])} of the heads with their relation"),
            ("relations", share(results["label_accuracy"])),
            ("trees", f"{share(results['exact'])} all right"),
            ("speed", _speed(results)),
        ]
    )
    _print_scores(printer, "By relation, with the right head", "relation", by_support(results["by_relation"]))
    _print_scores(printer, "Heads by the length of arcs", "length", list(results["by_length"].items()))
    printer.heading("By the length of sentences")
    rows = [
        [length, share(each["uas"]), share(each["las"]), f"{each['scored_tokens']:,}"]
        for length, each in results["by_sentence_length"].items()
    ]
    printer.table(["tokens", "UAS", "LAS", "number"], rows)


def _print_brackets(printer: Printer, results: dict[str, Any]) -> None:
    precision, recall = share(results["precision"]), share(results["recall"])
    printer.facts(
        [
            ("data", _size(results)),
            ("F1", f"{share(results['f1'])} (precision {precision}, recall {recall})"),
            ("trees", f"{share(results['exact'])} all right"),
            ("speed", _speed(results)),
        ]
    )
    _print_scores(printer, "Brackets by label", "label", by_support(results["by_label"]))


def _print_scores(printer: Printer, heading: str, of: str, scores: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
    printer.heading(heading)
    rows = [
        [name, *(share(score[key]) for key in ("precision", "recall", "f1")), f"{score['support']:,}"]
        for name, score in scores
    ]
    printer.table([of, "precision", "recall", "F1", "number"], rows)


def by_support(scores: Scored) -> list[tuple[str, Mapping[str, Any]]]:
    """The most frequent first."""
    return sorted(scores.items(), key=lambda item: (-item[1]["support"], item[0]))


def _size(results: dict[str, Any]) -> str:
    return f"{results['data']}: {results['sentences']:,} sentences, {results['tokens']:,} tokens"


def _speed(results: dict[str, Any]) -> str:
    stages = ", ".join(f"{stage} {value:.2f} s" for stage, value in results["seconds"].items())
    return f"{results['sentences_per_second']:,.0f} sentences per second ({stages})"
