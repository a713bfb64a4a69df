"""A trainer that reports each iteration on a line of its own, as ``sklearn_crfsuite.trainer`` does."""

from typing import Any

from widemargin.crfsuite.trainer import Trainer

COLUMNS = ("Label", "Precision", "Recall", "F1", "Support")


class LinePerIterationTrainer(Trainer):
    """Prints a line per iteration and, with holdout data, a table of the labels' scores at the end."""

    def on_iteration(self, log: str, info: dict[str, Any]) -> None:
        """An iteration is over."""
        print(line_of(info))  # noqa: T201 — what `verbose` asks for, where the peer's users look for it

    def on_optimization_end(self, log: str) -> None:
        """Training is over."""
        last = None if self.logparser is None else self.logparser.last_iteration
        scores = last["scores"] if last else {}
        if scores:
            print(table_of(scores))  # noqa: T201
        super().on_optimization_end(log)


def line_of(info: dict[str, Any]) -> str:
    """One iteration in one line.

    >>> line_of({"num": 3, "time": 0.01, "loss": 12.5, "active_features": 7, "feature_norm": 2.0})
    'Iter 3   time=0.01  loss=12.50    active=7     feature_norm=2.00'
    """
    parts = ["Iter {num:<3} ", "time={time:<5.2f} ", "loss={loss:<8.2f} "]
    if "active_features" in info:
        parts.append("active={active_features:<5} ")
    if "avg_precision" in info:
        parts.append("precision={avg_precision:0.3f}  recall={avg_recall:0.3f}  F1={avg_f1:0.3f}  ")
        parts.append("Acc(item/seq)={item_accuracy_float:0.3f} {instance_accuracy_float:0.3f}  ")
    if "feature_norm" in info:
        parts.append("feature_norm={feature_norm:<8.2f}")
    return "".join(parts).format(**info).strip()


def table_of(scores: dict[str, Any]) -> str:
    """The scores of all labels between rules, labels in order."""
    rows = [
        [label, *(f"{share or 0:.3f}" for share in (each.precision, each.recall, each.f1)), str(each.ref)]
        for label, each in sorted(scores.items())
    ]
    widths = [max(map(len, column)) for column in zip(COLUMNS, *rows, strict=True)]
    lines = [
        "  ".join([cells[0].ljust(widths[0]), *map(str.rjust, cells[1:], widths[1:])])
        for cells in [list(COLUMNS), ["-" * width for width in widths], *rows]
    ]
    width = len(lines[0])
    return "\n".join(["=" * width, *lines, "-" * width])
