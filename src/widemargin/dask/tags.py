"""Parsers that tag by themselves: their taggers are learnt on the cluster first, by the same rounds over parts."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from widemargin.core.loop import name_run
from widemargin.dask.compiling import Surveyed, surveyed
from widemargin.dask.makers import View
from widemargin.tasks import Kind
from widemargin.tasks.carried import kind_of_taggers
from widemargin.tasks.stacking import QUICK, TagColumns, TaggedBy, TagsOf, run_name, tagger_parameters

if TYPE_CHECKING:
    from widemargin.dask.training import Runs


def tagged_view(runs: "Runs", kind: Kind, parameters: Any, found: Surveyed) -> View | None:
    """The sentences with predicted tags, as a parser shall see them; None if it learns no tags."""
    learnt: TagColumns | None = kind.tags
    wanted = [] if learnt is None else learnt.wanted(parameters, found.survey)
    if learnt is None or not wanted:
        return None
    folds: list[int | None] = [None, *range(parameters.tag_folds)]
    taggers: dict[str, list[Any]] = {name: [] for name in wanted}
    for name in wanted:
        for fold in folds:
            view = TagsOf(learnt.read, name, fold, parameters.tag_folds)
            taggers[name].append(_tagger(runs, parameters, found, view))
    name_run("the parser", runs.shown.callbacks)
    whole = {name: each[0] for name, each in taggers.items()}
    return TaggedBy(learnt.read, whole, {name: each[1:] for name, each in taggers.items()})


def _tagger(runs: "Runs", parameters: Any, found: Surveyed, view: TagsOf) -> Any:
    """A tagger; if the run is resumed, the one that was kept."""
    kind = kind_of_taggers()
    where = view.name if view.fold is None else f"{view.name}-{view.fold + 1}"
    kept = Path(runs.folder) / f"tagger-{where}.wm"
    if runs.resume and kept.exists():
        return kind.model().load(kept)
    name_run(run_name(f"a tagger for {view.name}", view.fold, view.n_folds), runs.shown.callbacks)
    own = tagger_parameters(parameters, **({} if view.fold is None else QUICK))
    seen = surveyed(runs.client, kind, own, found.pieces, view)
    model, solution, *_ = runs.trained(kind, own, seen, view, within=f"tagger-{where}")
    if solution.stopped == "interrupted":
        raise KeyboardInterrupt  # there is no parser yet that could be kept
    if runs.keeps:
        model.save(kept)
    return model
