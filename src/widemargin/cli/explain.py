"""`widemargin inspect --explain`: why a parser chose what it chose in one sentence.

Without a token or a span, all parts of the predicted tree are listed with their *margins*: how much more they score
than the best that could be in their place. With one, the features that make the difference are listed.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from widemargin.cli.output import Printer, print_json, signed
from widemargin.cli.parsed import TreeFile, sentences
from widemargin.columns import Columns
from widemargin.errors import UnsupportedError, WidemarginError
from widemargin.features.arc_votes import ArcVotes
from widemargin.predictors.kinds import TREES, load_predictor
from widemargin.report.draw_arcs import arcs_lines
from widemargin.report.explain import Option, reasons
from widemargin.report.explain_arcs import ArcExplainer
from widemargin.report.explain_spans import SpanExplainer


class Question(NamedTuple):
    """Which part is to be explained, and against what; numbers count from 1."""

    sentence: int
    token: int | None = None
    head: int | None = None
    span: tuple[int, int] | None = None
    label: str | None = None


def run(model: str, file: str, question: Question, *, top: int, as_json: bool) -> None:
    """Explain a part of the tree that the model predicts for a sentence of the file, or list all parts."""
    predictor = load_predictor(model)
    if predictor.structure not in TREES:
        raise UnsupportedError(f"the model predicts {predictor.predicts}; --explain is for parsers")
    X = sentences(predictor, TreeFile(file).read(predictor.summary))
    if not 1 <= question.sentence <= X.n_sequences:
        raise WidemarginError(f"there is no sentence {question.sentence} in {file}, which has {X.n_sequences}")
    X = X.only(*dict.fromkeys(["word", *predictor.columns_read])).alone(question.sentence - 1)
    answer = (_of_arcs if predictor.structure == "tree" else _of_spans)(predictor, X, question)
    results = {"model": model, "sentence": question.sentence, "words": X.sequences("word")[0], **answer}
    if as_json:
        print_json(results)
    elif "parts" in answer:
        _print_parts(Printer(), results)
    else:
        _print_reasons(Printer(), results, top)


def _of_arcs(model: Any, X: Columns, question: Question) -> dict[str, Any]:
    if question.span is not None:
        raise WidemarginError(f"the model predicts {model.predicts}, which have no spans; ask for a --token")
    (words,), (arcs,) = X.sequences("word"), model.predict_trees(X)
    voters = ArcVotes(model.extractor, X, model.w, model.labels)
    explainer = ArcExplainer(voters, words, arcs, model.labels)
    token = question.token
    if token is None:
        parts = [
            {"part": line, "margin": margin, "instead": explainer.spelt(token, other)}
            for token, (line, (other, margin)) in enumerate(
                zip(arcs_lines(words, arcs), explainer.margins(), strict=True), 1
            )
        ]
        return {"parts": parts}
    if not 1 <= token <= len(words):
        raise WidemarginError(f"there is no token {token} in a sentence of {len(words)}")
    other = explainer.alternative(token, question.head, question.label)
    return _compared(explainer.option(token, arcs[token - 1]), explainer.option(token, other))


def _of_spans(model: Any, X: Columns, question: Question) -> dict[str, Any]:
    if question.token is not None:
        raise WidemarginError(f"the model predicts {model.predicts}; ask for a --span, not for a token")
    explainer, (words,) = SpanExplainer(model, X), X.sequences("word")
    if question.span is not None:
        begin, end = question.span
        return _compared(*explainer.options(explainer.alternative(begin - 1, end, question.label)))
    parts = []
    for begin, end, label in explainer.constituents():
        one, other = explainer.options(explainer.alternative(begin, end))
        part = f"{begin + 1}:{end} {label}: {' '.join(words[begin:end])}"
        parts.append({"part": part, "margin": one.score - other.score, "instead": other.name})
    return {"parts": parts}


def _compared(one: Option, other: Option) -> dict[str, Any]:
    return {
        "chosen": {"part": one.name, "score": one.score},
        "other": {"part": other.name, "score": other.score},
        "difference": one.score - other.score,
        "reasons": [{**reason._asdict(), "difference": reason.difference} for reason in reasons(one, other)],
    }


def _print_parts(printer: Printer, results: dict[str, Any]) -> None:
    rows = [[each["part"], signed(each["margin"]), each["instead"]] for each in results["parts"]]
    printer.table([f"sentence {results['sentence']}", "margin", "the best instead"], rows)


def _print_reasons(printer: Printer, results: dict[str, Any], top: int) -> None:
    printer.facts((name, f"{signed(results[name]['score'])}  {results[name]['part']}") for name in ("chosen", "other"))
    printer.facts([("margin", signed(results["difference"]))])
    for heading, sign in (("For what was chosen", 1), ("Against it", -1)):
        found = [each for each in results["reasons"] if sign * each["difference"] > 0]
        if found:
            left = len(found) - top
            printer.heading(heading + (f": the strongest {top} of {len(found)}" if left > 0 else ""))
            printer.table(["difference", "template", "chosen", "weight", "other", "weight"], _rows(found[:top]))


def _rows(found: Sequence[dict[str, Any]]) -> list[list[str]]:
    return [
        [
            signed(each["difference"]),
            each["template"],
            each["values"],
            signed(each["weight"]),
            each["other_values"],
            signed(each["other_weight"]),
        ]
        for each in found
    ]
