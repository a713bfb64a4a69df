"""The experiments after Kummerfeld et al. (2015): all panels and the report, on tiny corpora."""

import importlib
import json

import pytest

from test_papers import FOLDER
from widemargin.data.samples import labelled_addresses, reviews, small_texts
from widemargin.data.treebanks import treebank
from widemargin.errors import DataError

PANELS = ["ner", "coreference", "constituency", "projective", "nonprojective", "summarisation"]


@pytest.fixture
def papers(monkeypatch):
    """Modules of the papers by their names."""
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module


def written(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


@pytest.fixture
def corpora(tmp_path):
    folder = tmp_path / "data"
    for part, seed in (("train", 1), ("dev", 2)):
        trees = treebank(12, seed=seed)
        written(folder / "ncbi-disease" / f"{part}.tsv", labelled_addresses(12))
        written(folder / "gum-open" / f"{part}.conllu", small_texts())
        written(folder / "ud-english-ewt" / f"{part}.conllu", trees.conllu())
        written(folder / "genia-treebank" / f"{part}.ptb", "".join(f"{tree}\n" for tree in trees.trees))
    for line in reviews(6).splitlines():
        topic = json.loads(line)
        texts = [each if isinstance(each, str) else "\n".join(each) for each in topic["documents"]]
        for number, text in enumerate(texts):
            written(folder / "opinosis" / "topics" / f"t{topic['id']}" / f"{number}.txt", text)
        for number, text in enumerate(topic["references"]):
            written(folder / "opinosis" / "summaries-gold" / f"t{topic['id']}" / f"{number}.txt", text)
    return folder


@pytest.fixture
def run(papers, corpora):
    """Run an experiment quickly; what it measured, as a file would hold it, and what it told."""

    def measured(name):
        told = []
        bench = papers("experiment").Bench(corpora, True, told.append)
        experiment = next(each for each in papers("kummerfeld").PAPER.experiments if each.name == name)
        return json.loads(json.dumps(experiment.run(bench), default=float)), told

    return measured


def checked(papers, panel, method, found, told):
    """A method was tuned, and goes on with the best setting."""
    settings = papers("kummerfeld_panels").PANELS[panel].settings(method)
    assert len(found["tuned"]) == len({each["setting"] for each in found["tuned"]}) == len(settings)
    assert [len(each["epochs"]) for each in found["tuned"]] == [1 + (k == found["best"]) for k in range(len(settings))]
    first = [each["epochs"][0][0] for each in found["tuned"]]
    assert first[found["best"]] == max(first)
    assert any(found["tuned"][found["best"]]["setting"] in line for line in told)
    for score, seconds, decoding in (epoch for each in found["tuned"] for epoch in each["epochs"]):
        assert 0 <= score <= 1
        assert 0 < decoding < seconds


@pytest.mark.slow
def test_all_linear_panels(papers, run):
    panels, found = papers("kummerfeld_panels").PANELS, {}
    for panel in PANELS:
        for method in panels[panel].methods:
            found[f"{panel}-{method}"], told = run(f"{panel}-{method}")
            checked(papers, panel, method, found[f"{panel}-{method}"], told)
            assert (found[f"{panel}-{method}"]["batched"] is not None) == (method == "adagrad-l2")
    # The neural panel needs PyTorch; in the report a linear one stands in for it.
    for method in panels["neural"].methods:
        found[f"neural-{method}"] = {**found[f"constituency-{method}"], "batched": None}
    paper = papers("kummerfeld").PAPER
    assert {name for section in paper.sections for name in section.needs} == {each.name for each in paper.experiments}
    blocks = [block for section in paper.sections for block in section.write(found)]
    kinds = papers("experiment")
    tables = [block for block in blocks if isinstance(block, kinds.Table)]
    perceptron = next(row for row in tables[-1].rows if row[0] == "Averaged perceptron")
    assert [cell.partition(" · ")[0] for cell in perceptron[1:]] == ["1.0"] * len(panels)
    claims = [block.says for block in blocks if isinstance(block, kinds.Claim)]
    assert [sum(says.startswith(f"{k}. ") for says in claims) for k in range(1, 6)] == [1, 1, 1, 1, 2]
    (picture,) = (block for block in blocks if isinstance(block, kinds.Picture))
    assert sum(bool(axes.get_title()) for axes in picture.figure.axes) == len(panels)
    again, _ = run("ner-mira")
    scores = [[epoch[0] for each in runs["tuned"] for epoch in each["epochs"]] for runs in (found["ner-mira"], again)]
    assert scores[0] == scores[1]


def test_a_missing_corpus_is_named(run, corpora):
    (corpora / "ncbi-disease" / "dev.tsv").unlink()
    with pytest.raises(DataError, match=r"dev\.tsv cannot be read"):
        run("ner-perceptron")


def test_the_neural_panel(papers, run):
    pytest.importorskip("torch")
    for method in papers("kummerfeld_panels").PANELS["neural"].methods:
        checked(papers, "neural", method, *run(f"neural-{method}"))
