"""`widemargin demo`: learn to find the fields of postal addresses, measure it, and show it at work."""

from collections.abc import Iterator
from pathlib import Path

from rich.text import Text

from widemargin._version import __version__
from widemargin.cli.options import check_target
from widemargin.cli.output import Printer
from widemargin.cli.program import INTERRUPTED
from widemargin.cli.train import Keep
from widemargin.core.atomic import replacing
from widemargin.core.solution import Solution, percent
from widemargin.data.generators import addresses
from widemargin.metrics import accuracy, sequence_accuracy, span_scores
from widemargin.report.curves import can_draw, plot_curves
from widemargin.report.text import share
from widemargin.tasks import task
from widemargin.tasks.training import Data, train
from widemargin.text.spans import spans

TEST_SHARE, N_SHOWN = 4, 4
TEST_SEED, SHOWN_SEED = 1_000_003, 2_000_003  # added to the seed: addresses that training never saw
COLOURS = {
    "name": "bright_magenta",
    "company": "magenta",
    "unit": "bright_blue",
    "building": "blue",
    "house": "bright_yellow",
    "street": "bright_green",
    "box": "yellow",
    "city": "bright_red",
    "region": "red",
    "postcode": "bright_cyan",
    "country": "cyan",
}


def run(*, out: str, sequences: int, seed: int, quiet: bool) -> int | None:
    """Generate, train, measure, show, write."""
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    model, curves, sample = (str(folder / name) for name in ("addresses.wm", "curves.png", "test.tsv"))
    for target in (model, curves, sample):
        check_target(target)
    printer = Printer(enabled=not quiet)
    X, y = addresses(sequences, seed)
    X_test, y_test = addresses(max(sequences // TEST_SHARE, 1), seed + TEST_SEED)
    printer.line(Text(f"widemargin {__version__}: finding the fields of postal addresses", style="bold"))
    printer.prose(
        f"{len(X):,} noisy addresses to learn from ({sum(map(len, X)):,} tokens), {len(X_test):,} others to test on. "
        "The first run also compiles, which takes about ten seconds."
    )
    kind = task("tag").kinds["chain"]
    parameters = kind.parameters(verbose=not quiet)
    tagger, solution = train(kind.compile, parameters, Data(X, y), [Keep()])
    tagger.summary["data"] = {
        "label": "label",
        "format": "conll",
        "columns": ["word", "label"],
        "sequences": len(X),
        "tokens": sum(map(len, X)),
    }
    predicted = tagger.predict(X_test)

    printer.heading("Fields found in the test addresses")
    scores = span_scores(y_test, predicted)
    rows = [(name, score) for name, score in scores.by_label.items()] + [("all", scores.micro)]
    printer.table(
        ["field", "precision", "recall", "F1", "number"],
        [[name, *map(share, score[:3]), f"{score.support:,}"] for name, score in rows],
    )
    printer.prose(
        f"{share(accuracy(y_test, predicted))} of the tokens and {share(sequence_accuracy(y_test, predicted))} of the "
        "whole addresses are labelled right."
    )
    printer.heading("Certificate")
    printer.prose(_meaning(solution))

    printer.heading("Addresses that were never seen before")
    shown, _ = addresses(N_SHOWN, seed + SHOWN_SEED)
    for tokens, labels in zip(shown, tagger.predict(shown), strict=True):
        for words, names in _fields(tokens, labels, printer.console.width if printer.console.is_terminal else 100):
            for line in (words, names):
                line.rstrip()
                printer.line(line)
        printer.line()

    tagger.save(model)
    written = {model: "the model", sample: "the test addresses and their right labels"}
    if can_draw():
        plot_curves({"auto": solution.trace}, curves, title="Training on generated addresses")
        written[curves] = "how training went"
    with replacing(sample) as stream:
        for tokens, labels in zip(X_test, y_test, strict=True):
            stream.writelines(f"{token}\t{label}\n" for token, label in zip(tokens, labels, strict=True))
            stream.write("\n")
    printer.line(Text("Written", style="bold"))
    printer.facts(list(written.items()))
    if curves not in written:
        printer.prose("There is no picture of how training went: that needs matplotlib; install widemargin[plots].")
    printer.heading("Try")
    printer.line(f"widemargin inspect {model} --label B-city")
    printer.line(f"widemargin evaluate {model} {sample}")
    printer.line(f"echo '12 High Street Leeds LS1 4AP' | widemargin predict {model} - --text")
    return INTERRUPTED if solution.stopped == "interrupted" else None


def _meaning(solution: Solution) -> str:
    """The certificate in one plain sentence."""
    if solution.primal is None or solution.gap is None or not solution.certified:
        return "Training was cut short before anything was proven about these weights."
    return (
        f"The training objective is {solution.primal:.2f}. No other weights make it more than {percent(solution.gap)} "
        "smaller: that is proven, not estimated."
    )


def _fields(tokens: list[str], labels: list[str], width: int) -> Iterator[tuple[Text, Text]]:
    """An address as pairs of lines within `width`: its words, and below them the names of their fields."""
    words, names = Text("  "), Text("  ")
    for text, field in _pieces(tokens, labels):
        room = max(len(text), len(field)) + 2
        if len(words) + room > width and len(words) > 2:
            yield words, names
            words, names = Text("  "), Text("  ")
        colour = COLOURS.get(field, "")
        words.append(text.ljust(room), style=f"bold {colour}" if colour else "")
        names.append(field.ljust(room), style=colour)
    yield words, names


def _pieces(tokens: list[str], labels: list[str]) -> Iterator[tuple[str, str]]:
    """The words of each field together, with its name; words outside all fields one by one."""
    at = 0
    for start, end, field in [*spans(labels), (len(tokens), len(tokens), "")]:
        yield from ((token, "") for token in tokens[at:start])
        if start < end:
            yield " ".join(tokens[start:end]), field
        at = end
