"""The verdict of a comparison in a few sentences: who is fastest, and who predicts best."""

from collections.abc import Iterator, Sequence

from widemargin.core.solution import percent
from widemargin.report.numbers import brief, share
from widemargin.report.verdict import THRESHOLDS, Function, Verdict, winners

USUAL = 0.01  # the gap that speed is judged by, if any run has reached it


def conclusions(verdicts: Sequence[Verdict]) -> list[str]:
    """A sentence on the speed for each function, and one on the scores; runs that were not measured are left out."""
    measured = [verdict for verdict in verdicts if verdict.run.function is not None]
    functions = list(dict.fromkeys(verdict.run.function for verdict in measured))
    found = [_speed(function, measured, alone=len(functions) == 1) for function in functions if function is not None]
    return [*found, *_scores(measured)]


def _speed(function: Function, measured: Sequence[Verdict], *, alone: bool) -> str:
    """Who comes close to the optimum first."""
    verdicts = [verdict for verdict in measured if verdict.run.function == function]
    where = "" if alone else f"Minimising {function}: "
    reached = [k for k in range(len(THRESHOLDS)) if any(verdict.reached[k] for verdict in verdicts)]
    if not reached:
        known = {verdict.run.name: verdict.gap for verdict in verdicts if verdict.gap is not None}
        if not known:
            return f"{where}No run has a bound on the optimum, so none can be called close to it."
        name = min(known, key=known.__getitem__)
        return f"{where}No run is known to come close to the optimum; {name} is closest, within {percent(known[name])}."
    k = max(each for each in reached if THRESHOLDS[each] >= USUAL)  # who is within 0.1 % is within 1 %, too
    seconds = {verdict.run.name: each.seconds for verdict in verdicts if (each := verdict.reached[k]) is not None}
    first = sorted(winners(seconds) or seconds, key=seconds.__getitem__)
    others = sorted(seconds.keys() - set(first), key=seconds.__getitem__)
    never = [verdict.run.name for verdict in verdicts if verdict.run.name not in seconds]
    what = "is fastest" if len(first) == 1 else "are fastest"
    close = f"within {100 * THRESHOLDS[k]:g} % of the optimum after {brief(seconds[first[0]])} s"
    text = f"{where}{_listed(first)} {what}, {close}" if len(verdicts) > 1 else f"{where}{first[0]} comes {close}"
    if others:
        text += f"; next is {others[0]} after {brief(seconds[others[0]])} s"
    if never:
        text += f"; {_listed(never)} {'does' if len(never) == 1 else 'do'} not come that close"
    return text + "."


def _scores(measured: Sequence[Verdict]) -> Iterator[str]:
    """Who predicts best, if there are development data."""
    scores = {verdict.run.name: verdict.score for verdict in measured if verdict.score is not None}
    if not scores:
        return
    ranked = sorted(scores, key=scores.__getitem__, reverse=True)
    best = [name for name in ranked if name in winners(scores, most=True)] or ranked[:1]
    others = [name for name in ranked if name not in best]
    what = "predicts best" if len(best) == 1 else "predict best"
    text = f"{_listed(best)} {what}: {share(scores[best[0]])} on development data"
    yield text + (f"; next is {others[0]} with {share(scores[others[0]])}." if others else ".")


def _listed(names: Sequence[str]) -> str:
    """Names as a list in words.

    >>> _listed(["a"]), _listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return " and ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)
