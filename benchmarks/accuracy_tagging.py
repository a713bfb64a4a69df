"""What each step brings to the accuracy of taggers: templates, labels, word clusters, gazetteers, two passes.

    python benchmarks/accuracy_tagging.py --data DIR [--corpora ewt …] [--steps …] [--test] [--jobs N]
                                          [--out bench/accuracy_tagging.json]

Steps are tried on development data; those with `+` come on top of the templates, and of the scheme where names are
learnt. jnlpba has no development file, so the last tenth of its training file is one. Scores are F1 of spans, or the
accuracy of tags for EWT. With --test, the step that is best on development data is scored on the test file, which is
read then and only then; for jnlpba it is trained again on the whole training file. The table is written beside the JSON
file, as Markdown, after every step; steps that it has already are not run again.

Word clusters are learnt by `widemargin.text.word_clusters` from raw text: the training files of EWT and GUM, or those
of bc2gm, jnlpba, ncbi-disease and the GENIA treebank; for bc2gm, tokens are split as its own are. The gazetteers are
the names in the training file of jnlpba, a list for each type; so they are of no use for jnlpba itself.
"""

import argparse
import json
import re
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

from widemargin import SequenceTagger
from widemargin.core.atomic import replacing
from widemargin.files.document import label_column
from widemargin.files.formats import read
from widemargin.text.spans import bioes, spans
from widemargin.text.word_clusters import cluster_words

PIECES = re.compile(r"[A-Za-z]+|[0-9]+|[^A-Za-z0-9]")
LEAVES = re.compile(r" ([^ ()]+)\)")
Sentences = list[list[str]]
Labelled = tuple[Sentences, Sentences]


class Corpus(NamedTuple):
    """Its files, the column to learn, and what all its taggers have in common."""

    folder: str
    ending: str
    label: str | None
    common: dict[str, Any]
    dev: bool = True


HINGE = {"loss": "hinge", "C": 0.1, "tol": 0.05}
CORPORA = {
    "ncbi-disease": Corpus("ncbi-disease", "tsv", None, HINGE),
    "bc2gm": Corpus("bc2gm", "tsv", None, HINGE),
    "jnlpba": Corpus("jnlpba", "tsv", None, HINGE, dev=False),
    "wnut17": Corpus("wnut17", "conll", None, HINGE),
    "ewt": Corpus("ud-english-ewt", "conllu", "xpos", {"tol": 0.05}),
}


def steps_for_names(name: str) -> dict[str, dict[str, Any]]:
    """The steps of corpora of names, with this set of templates."""
    ends = {"templates": name, "scheme": "bioes"}
    runs = {"templates": f"set({name}) gram2..4", "scheme": "bioes"}
    return {
        "default templates, C = 0.2": {"templates": "default", "C": 0.2},
        f"templates {name}": {"templates": name},
        "+ scheme bioes": ends,
        "+ pairs of labels": {**ends, "pairs": True},
        "+ gram2..4": runs,
        "+ clusters": {**ends, "clusters": 500},
        "+ gazetteers": {**ends, "gazetteers": True},
        "+ two passes": {**ends, "passes": 2},
        "+ nearby 4": {**ends, "passes": 2, "nearby": 4},
        "+ gram2..4, two passes": {**runs, "passes": 2},
        "+ clusters, gazetteers, two passes": {**ends, "clusters": 500, "gazetteers": True, "passes": 2},
    }


TAGS: dict[str, dict[str, Any]] = {
    "default templates": {"templates": "default"},
    "templates pos": {"templates": "pos"},
    "+ gram2..4": {"templates": "set(pos) gram2..4"},
    "+ clusters": {"templates": "pos", "clusters": 100},
    "+ two passes": {"templates": "pos", "passes": 2},
    "+ nearby 4": {"templates": "pos", "passes": 2, "nearby": 4},
    "+ clusters, two passes": {"templates": "pos", "clusters": 100, "passes": 2},
}
OWN = ("+ gazetteers", "+ clusters, gazetteers, two passes")
UNFIT = {"jnlpba": ("+ pairs of labels", *OWN), "wnut17": ("+ pairs of labels", "+ clusters", *OWN)}
"""Steps left out: more than a hundred pairs of labels; names of the training data itself; text of another kind."""


def steps_of(name: str) -> dict[str, dict[str, Any]]:
    """All steps of a corpus."""
    return TAGS if CORPORA[name].label else steps_for_names("ner" if name == "wnut17" else "bio")


def labelled(data: Path, corpus: Corpus, part: str) -> Labelled:
    """The words and labels of a file."""
    document = read(data / corpus.folder / f"{part}.{corpus.ending}")
    return document.columns.sequences("word"), document.columns.sequences(label_column(document, corpus.label))


def held_out(both: Labelled) -> tuple[Labelled, Labelled]:
    """The training data without their last tenth, and the last tenth."""
    X, y = both
    n = len(X) * 9 // 10
    return (X[:n], y[:n]), (X[n:], y[n:])


def pieces(sentences: Sentences) -> Sentences:
    """Tokens split at the borders of letters, digits and other signs, as those of bc2gm are."""
    return [[piece for word in words for piece in PIECES.findall(word)] for words in sentences]


def raw_text(data: Path, name: str) -> Sentences:
    """Sentences for word clusters."""
    if name == "ewt":
        files = ("ud-english-ewt/train.conllu", "gum-open/train.conllu")
        return [words for file in files for words in read(data / file).columns.sequences("word")]
    text = [
        words for each in ("bc2gm", "jnlpba", "ncbi-disease") for words in labelled(data, CORPORA[each], "train")[0]
    ]
    trees = (data / "genia-treebank" / "train.ptb").read_text(encoding="utf-8").splitlines()
    text += [[word for word in LEAVES.findall(line) if not word.startswith("*")] for line in trees]
    return pieces(text) if name == "bc2gm" else text


def gazetteers(data: Path, *, split: bool) -> dict[str, list[str]]:
    """The names in the training data of jnlpba by their types."""
    found: dict[str, set[str]] = {}
    for words, labels in zip(*labelled(data, CORPORA["jnlpba"], "train"), strict=True):
        for start, end, kind in spans(labels):
            (name,) = pieces([words[start:end]]) if split else [words[start:end]]
            found.setdefault(kind, set()).add(" ".join(name))
    return {kind: sorted(names) for kind, names in found.items()}


def as_pairs(y: Sentences) -> Sentences:
    """Each label together with the one before: a first-order chain of these is a second-order chain of labels."""
    return [[f"{before} {label}" for before, label in zip(["", *labels], labels, strict=False)] for labels in y]


class Task:
    """A corpus with its resources, which are found once."""

    def __init__(self, data: Path, name: str, jobs: int) -> None:
        self.data, self.name, self.corpus, self.jobs = data, name, CORPORA[name], jobs
        train = labelled(data, self.corpus, "train")
        self.train, self.dev = (train, labelled(data, self.corpus, "dev")) if self.corpus.dev else held_out(train)
        self._found: dict[Any, Any] = {}

    def tagger(self, step: dict[str, Any], train: Labelled) -> SequenceTagger:
        """A tagger that takes this step."""
        step = {**self.corpus.common, **step}
        n_clusters, use_names, pairs = (step.pop(key, None) for key in ("clusters", "gazetteers", "pairs"))
        if n_clusters:
            step["clusters"] = {"brown": self._once(n_clusters, lambda: self._clusters(n_clusters))}
        if use_names:
            step["lexicons"] = self._once("names", lambda: gazetteers(self.data, split=self.name == "bc2gm"))
        X, y = train
        if pairs:
            y = as_pairs([bioes(spans(labels), len(labels)) for labels in y])
            step.pop("scheme")
        return SequenceTagger(n_jobs=self.jobs, **step).fit(X, y)

    def score(self, tagger: SequenceTagger, both: Labelled) -> float:
        """F1 of spans, or the accuracy of tags, in per cent."""
        X, y = both
        predicted = tagger.predict(X)
        if self.corpus.label is not None:
            right = sum(
                a == b for gold, found in zip(y, predicted, strict=True) for a, b in zip(gold, found, strict=True)
            )
            return 100 * right / sum(map(len, y))
        gold, found = (
            [set(spans([label.split()[-1] for label in labels])) for labels in each] for each in (y, predicted)
        )
        right = sum(len(a & b) for a, b in zip(gold, found, strict=True))
        return 200 * right / (sum(map(len, gold)) + sum(map(len, found)))

    def test(self, tagger: SequenceTagger, step: dict[str, Any]) -> float:
        """The score on the test file; a tagger that has not seen all training data is trained again."""
        if not self.corpus.dev:
            tagger = self.tagger(step, labelled(self.data, self.corpus, "train"))
        return self.score(tagger, labelled(self.data, self.corpus, "test"))

    def _clusters(self, n_clusters: int) -> dict[str, str]:
        return dict(cluster_words(raw_text(self.data, self.name), n_clusters, min_count=3).paths)

    def _once(self, key: Any, find: Any) -> Any:
        if key not in self._found:
            self._found[key] = find()
        return self._found[key]


def table(found: dict[str, Any]) -> str:
    """The results as Markdown."""
    lines = []
    for name, about in found.items():
        lines += [f"| {name} | dev | seconds |", "| --- | --- | --- |"]
        lines += [f"| {step} | {each['dev']:.2f} | {each['seconds']:.0f} |" for step, each in about["steps"].items()]
        if "test" in about:
            lines += ["", f"Test, with *{about['best']}*: **{about['test']:.2f}**"]
        lines += [""]
    return "\n".join(lines)


def write(found: dict[str, Any], out: Path) -> None:
    """Both files."""
    out.parent.mkdir(parents=True, exist_ok=True)
    for path, text in ((out, json.dumps(found, indent=1)), (out.with_suffix(".md"), table(found))):
        with replacing(path) as file:
            file.write(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="a folder with the corpora")
    parser.add_argument("--corpora", nargs="+", choices=CORPORA, default=list(CORPORA))
    parser.add_argument("--steps", nargs="+", help="only these")
    parser.add_argument("--test", action="store_true", help="score the best step on the test file")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("bench/accuracy_tagging.json"))
    options = parser.parse_args()
    known = {step for name in options.corpora for step in steps_of(name)}
    for step in options.steps or ():
        if step not in known:
            parser.error(f"there is no step {step!r}; there are {', '.join(map(repr, sorted(known)))}")
    found: dict[str, Any] = json.loads(options.out.read_text(encoding="utf-8")) if options.out.exists() else {}
    for name in options.corpora:
        task, about = Task(options.data, name, options.jobs), found.setdefault(name, {"steps": {}})
        steps = {
            step: each
            for step, each in steps_of(name).items()
            if step not in UNFIT.get(name, ()) and (not options.steps or step in options.steps)
        }
        taggers = {}
        for step, each in steps.items():
            if step in about["steps"]:
                continue
            begin = perf_counter()
            taggers[step] = task.tagger(each, task.train)
            about["steps"][step] = {"dev": task.score(taggers[step], task.dev), "seconds": perf_counter() - begin}
            write(found, options.out)
            print(f"{name}: {step}: {about['steps'][step]['dev']:.2f}", flush=True)
        if options.test:
            best = max(about["steps"], key=lambda step: about["steps"][step]["dev"])
            tagger = taggers.get(best) or (task.tagger(steps[best], task.train) if task.corpus.dev else None)
            about |= {"best": best, "test": task.test(tagger, steps[best])}
            write(found, options.out)
            print(f"{name}: test, {best}: {about['test']:.2f}", flush=True)


if __name__ == "__main__":
    main()
