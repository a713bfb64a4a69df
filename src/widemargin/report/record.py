"""The record of a training run in words, as `train`, `inspect` and model cards show it."""

from collections.abc import Mapping
from typing import Any

from widemargin.core.solution import Solution, percent

STOPPED = {
    "gap": "the gap to the optimum is small enough",
    "epochs": "all epochs are over",
    "seconds": "time is up",
    "patience": "the development score no longer improves",
    "interrupted": "interrupted",
    "precision": "rounding hides any further progress",
    "stable": "no completion changes any more",
    "round_tol": "a round hardly lowers the objective any more",
    "rounds": "all rounds are over",
}
"""Why training ended."""
UNITS = ("sequences", "sentences", "tokens", "examples", "queries", "topics", "documents", "items", "graphs", "nodes")


def certificate(solution: Solution) -> str:
    """The distance to the optimum in one sentence: P* ≥ D = (1 − gap) P."""
    if solution.primal is None:
        return "none: the objective was not evaluated"
    objective = f"objective {solution.primal:.6g}"
    if solution.doubt is not None:
        return f"{objective}; nothing is proven: {solution.doubt}"
    if solution.rounds and solution.gap is not None:
        how = "proven" if solution.certified else "estimated"
        local = f"none with the same completions is more than {percent(solution.gap)} smaller"
        return f"{objective}, {solution.locality}; {how}: {local}"
    if solution.gap is None:
        return f"{objective}; this solver gives no bound on the optimum"
    if solution.certified:
        return f"{objective}; proven: no other weights make it more than {percent(solution.gap)} smaller"
    return f"{objective}; the optimum is about {100 * solution.gap:.3g} % smaller (estimated, not proven)"


def stop_reason(solution: Solution) -> str:
    """Why training ended, and when."""
    text = f"{STOPPED.get(solution.stopped, solution.stopped)}, after {solution.seconds:.1f} seconds"
    earlier = 0 < solution.epoch < len(solution.trace) and not solution.rounds
    return text + (f"; the weights are those of epoch {solution.epoch} of {len(solution.trace)}" if earlier else "")


def dev_score(solution: Solution) -> float | None:
    """The best development score; None without development data."""
    scores = [row.score for row in solution.trace] + [row.score for row in solution.rounds]
    return max((score for score in scores if score is not None), default=None)


def trained_on(data: Mapping[str, Any]) -> str:
    """The size of the training data and where its labels were.

    >>> trained_on({"sequences": 1200, "label": "xpos", "format": "conllu"})
    '1,200 sequences, the column xpos of a conllu file'
    """
    counts = [f"{data[what]:,} {what}" for what in UNITS if what in data]
    column = f"the column {data['label']} of " if "label" in data else ""
    article = "an" if data.get("format") in ("svmlight", "xml") else "a"
    return f"{', '.join(counts)}, {column}{article} {data.get('format')} file"


def features(size: Mapping[str, int]) -> str:
    """The numbers of features of each kind."""
    if "templates" in size:
        return f"of {size['templates']} templates, hashed"
    more = {what: count for what, count in size.items() if what.endswith("_features") and count}
    return ", ".join(
        [f"{size['features']:,}", *(f"{count:,} {what.replace('_', ' ')}" for what, count in more.items())]
    )
