"""Model cards tell what a model records, leave blank what it cannot know, and are sound Markdown whatever it holds."""

import re
from pathlib import Path

import pytest

from helpers.command_line import fail, succeed
from helpers.models import FIXTURES, given_for
from widemargin import LinearClassifier, SequenceTagger, load
from widemargin.core.model_file import read_model, write_model
from widemargin.crfsuite import Trainer
from widemargin.report.record import certificate
from widemargin.tasks.base import load_model
from widemargin.tasks.card import BLANK

TITLES = ["Intended use", "Training data", "Labels", "Features", "Training", "Certificate", "Scores", "Limits"]
LEFT_BLANK = ["Licence", "Made by", "Intended for", "Not intended for", "Source and licence"]
X, Y = [["a", "b"], ["b"], ["a", "c", "b"]], [["A", "B"], ["B"], ["A", "`", "B"]]


def parts(card: str) -> dict[str, str]:
    """The sections of a card by their titles."""
    first, *sections = re.split(r"^## ", card, flags=re.MULTILINE)
    assert first.startswith("# ")
    return {title: content for title, _, content in (section.partition("\n\n") for section in sections)}


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.wm")), ids=lambda path: path.stem)
def test_every_kind_of_model_has_a_card(path: Path) -> None:
    model = load_model(path)
    card = succeed("inspect", path, "--card")
    found = parts(card)
    assert list(found) == [title for title in TITLES if title != "Labels" or len(model.labels) > 1]
    for item in LEFT_BLANK:
        assert f"- {item}: {BLANK}\n" in card
    assert certificate(model.solution)[1:] in found["Certificate"]
    assert f"- Weights: {model.sizes['weights']:,}\n" in found["Features"]
    for text in [text for texts in model.templates.values() for text in texts]:
        assert f"`{text}`" in found["Features"]
    assert load(path, **given_for(path.stem)).card(path.name) == card
    assert f'widemargin.load("{path.name}"' in card


def test_a_card_tells_how_the_model_was_trained() -> None:
    tagger = SequenceTagger(C=0.25, templates="word", random_state=7, n_jobs=1).fit(X, Y, dev=(X, Y))
    found = parts(tagger.card())
    assert found["Labels"] == "3: `B`, `A`, `` ` ``\n\n"
    for line in ("- `C`: `0.25`\n", "- `random_state`: `7`\n", "- `solver`: `auto`\n", "- `objective`: `margin`\n"):
        assert line in found["Training"]
    assert found["Training data"].startswith("- Size: 3 examples\n")
    assert found["Scores"].startswith("- Development data, which chose the weights: accuracy 100.00 %\n")
    assert "proven" in found["Certificate"]


def test_pieces_are_not_counted() -> None:
    """Nobody knows how often a piece comes."""
    classifier = LinearClassifier(solver="perceptron", n_jobs=1)
    for _ in range(2):
        classifier.partial_fit([[0.0], [1.0]], [0, 1], classes=[0, 1])
    assert "Size" not in classifier.card()
    assert "- Size: 2 examples\n" in LinearClassifier(n_jobs=1).fit([[0.0], [1.0]], [0, 1]).card()


def test_no_label_upsets_a_card(tmp_path: Path) -> None:
    header, tensors = read_model(FIXTURES / "tag.wm")
    labels = ["a\n# b", "``", "\ud800"]
    write_model(tmp_path / "a.wm", {**header, "labels": labels}, tensors)
    found = parts(load(tmp_path / "a.wm").card("x\n`"))
    assert list(found) == TITLES
    assert found["Labels"] == "3: `a\\n# b`, ``` `` ```, `\\ud800`\n\n"


def test_other_programs_models_have_a_card(tmp_path: Path) -> None:
    trainer = Trainer("lbfgs", {"max_iterations": 3}, verbose=False)
    for x, y in zip(X, Y, strict=True):
        trainer.append([[word] for word in x], y)
    trainer.train(str(tmp_path / "a.crfsuite"))
    found = parts(succeed("inspect", tmp_path / "a.crfsuite", "--card"))
    assert found["Certificate"] == "None: the file does not tell how the model was trained.\n\n"
    assert "- Trained by: CRFsuite\n" in found["Training"]


def test_a_card_is_about_the_whole_model() -> None:
    for option in (["--json"], ["--label", "O"], ["--explain", "a.tsv"]):
        assert "--card is a page about the whole model" in fail("inspect", FIXTURES / "tag.wm", "--card", *option)
