"""Files of topics to summarise.

    JSON lines   {"id": "a", "documents": ["text", ["sentence", …], …], "references": ["text", …]}, a topic per line
    a folder     topics/NAME.txt, a text, or topics/NAME/*, a text for each document; references/NAME/* (or
                 summaries-gold/NAME/*), a text for each reference. Without `topics`, topics are in the folder itself.
    CoNLL-U      a topic per document: sentences are after ``# text =``, references after ``# meta::summary1 =``, …
    other files  a text, which is one topic of one document

A text has a sentence on each line. Names end at the first full stop. Texts are UTF-8, unless an option names another
encoding; a model remembers the encoding of its training data. Predictions replace the references in JSON lines. For
other files they are written as text, or as JSON lines on request.
"""

import codecs
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from widemargin.errors import DataError, WidemarginError
from widemargin.files.formats import guess
from widemargin.files.jsonlines import json_object, with_member
from widemargin.files.pieces import Cut, every_line
from widemargin.files.raw import RawText, Source, name_of, shorten
from widemargin.metrics import Score
from widemargin.report.evaluation import Evaluation, overall, score_table
from widemargin.report.explain import Explanation, Question
from widemargin.report.text import share
from widemargin.summaries import mean_rouge
from widemargin.tasks.base import Corpus, Piece, Reading
from widemargin.tasks.files import Files, Likeness, Reporter, alone_in_list, check_no_tokens, time_call
from widemargin.tasks.strongest import Part, strongest
from widemargin.tasks.summarise.features import NAMES, Summary, Topic, as_references
from widemargin.tasks.summarise.pictures import explain_sentences, summary_lines, summary_page

if TYPE_CHECKING:
    from widemargin.tasks.summarise.model import SummaryModel

TOPICS, REFERENCES = "topics", ("references", "summaries-gold")
KNOWN = ("jsonl", "conllu")
COMMENT = re.compile(r"#\s*(newdoc(?:\s+id)?|text|meta::summary\d+)\s*(?:=\s*(.*))?$")
WRITER = re.compile(r"\([^()]*\)\s*")  # who wrote a summary


class SummaryReporter(Reporter):
    """Reports on summarisers."""

    model: "SummaryModel"

    counts = "sentences"
    asked = ("token",)
    ask_for = "a sentence of the topic by --token N"
    drawn_as = ".html"

    def evaluate(self, X: Any, y: Any, n_threads: int = 1, **options: Any) -> Evaluation:
        """ROUGE by the references."""
        summaries, seconds = time_call("summarising", self.model.predict, X, n_threads)
        scores = mean_rouge(as_references(y, len(summaries)), [summary.text for summary in summaries])
        return rouge_evaluation(scores, [("length", f"at most {self.model.settings.length} words")], seconds)

    def cut(self, head: RawText, reading: Reading) -> Cut | None:
        """Between two topics; None for a text, which is one topic."""
        return {"jsonl": every_line, "conllu": _cut_conllu}.get(reading.format or guess(head))

    def pieces(self, path: str, reading: Reading) -> Iterator[Piece]:
        """A file of topics piece by piece, if it is in UTF-8."""
        if is_utf8(self.model.about):
            yield from super().pieces(path, reading)
        else:
            yield Piece(self.read(path, reading, gold=False))

    def read(self, path: Source, reading: Reading, *, gold: bool) -> Corpus:
        """A file or folder of topics."""
        return read_topics(path, reading, self.model.about, gold=gold)

    def write(self, corpus: Corpus, outputs: Any, reading: Reading) -> str:
        """The summaries as text, a sentence per line and an empty line between topics; or as JSON lines."""
        as_json = "jsonl" in (reading.format, corpus.document.format)
        return str(corpus.document.text_with(outputs, as_json=as_json))

    def draw(self, corpus: Corpus, outputs: Any, *, terminal: bool) -> str:
        """The documents with the chosen sentences marked."""
        topics = self.model.topics(corpus.X)
        if terminal:
            return "".join(f"{line}\n" for line in summary_lines(topics, outputs))
        return summary_page(topics, outputs)

    def strongest(self, chosen: Sequence[int], top: int) -> dict[str, Part]:
        """The strongest features."""
        return {"features": Part("Features for and against", strongest(self.model.weights, top, NAMES.__getitem__))}

    def remarks(self) -> list[tuple[str, str]]:
        """The largest length of summaries, and how many integer programmes were cut short."""
        found = [("summaries", f"of at most {self.model.settings.length} words")]
        n = self.model.summary.get("cut_short", 0)
        bounds = "the bounds on what they missed are part of the certificate"
        return [*found, ("cut short", f"{n:,} integer programmes; {bounds}")] if n else found

    def alone(self, corpus: Corpus, number: int) -> Corpus:
        """One topic of a file alone, counted from 1."""
        return alone_in_list(corpus, number, "topic")

    def answer(self, X: Any, question: Question) -> Explanation:
        """The chosen sentences and what each adds; with a token n, the reasons for and against sentence n alone."""
        return explain_sentences(self.model, X, question)


class SummaryFiles(Files):
    """Files with topics and references."""

    reporter = SummaryReporter
    only_read = ("encoding",)

    def read(self, path: str, reading: Reading, about: Mapping[str, Any], *, gold: bool, **own: Any) -> Corpus:
        """The topics of a file or folder and their references."""
        return read_topics(path, reading, {**about, "encoding": own["encoding"]}, gold=gold)

    def likeness(self, raw: RawText, reading: Reading) -> Likeness:
        """JSON lines of topics."""
        first = next((line for line in raw.lines if line.strip()), "")
        is_topics = (reading.format or guess(raw)) == "jsonl" and '"documents"' in first
        return Likeness.LIKELY if is_topics else Likeness.NONE

    def compare(self, gold: Corpus, predicted: Corpus, **options: Any) -> Evaluation:
        """ROUGE of the predictions, the first references in their file, against all gold references."""
        return rouge_evaluation(mean_rouge(gold.y, [references[0] for references in predicted.y]), [], {})


class TopicFile(NamedTuple):
    """The topics of a file or folder, their references and, in JSON lines, the line of each topic."""

    X: list[Topic]
    y: list[list[str]]
    format: str
    raw: RawText | None = None
    lines: Sequence[int] = ()
    is_later: bool = False  # whether it is not the first piece of a file

    def text_with(self, summaries: Sequence[Summary], *, as_json: bool) -> str:
        """The summaries as text, with an empty line between topics; or as JSON lines, in place of references."""
        if not as_json:
            texts = ["".join(f"{sentence}\n" for sentence in summary.sentences) for summary in summaries]
            return "\n".join(["", *texts] if self.is_later and texts else texts)
        if self.raw is None:
            objects = (
                {"id": topic.name, "documents": topic.documents, "references": [summary.text]}
                for topic, summary in zip(self.X, summaries, strict=True)
            )
            return "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in objects)
        written = list(self.raw.lines)
        for line, summary in zip(self.lines, summaries, strict=True):
            written[line] = with_member(written[line], "references", [summary.text])
        return self.raw.text(written)


def read_topics(
    path: Source, reading: Reading | None = None, about: Mapping[str, Any] | None = None, *, gold: bool = True
) -> Corpus:
    """The topics of a file or folder, and their references if `gold`."""
    reading, encoding = reading or Reading(), (about or {}).get("encoding", "utf-8")
    check_no_tokens(reading, "topics", KNOWN)
    _check_encoding(encoding)
    if isinstance(path, str | os.PathLike) and os.path.isdir(path):
        found = _folder(Path(path), encoding)
    else:
        found = _file(path, reading.format, encoding)
    if not found.is_later and not any(topic.n_sentences for topic in found.X):
        raise DataError(f"{name_of(path)} has no sentences to choose from")
    if gold:
        for topic, references in zip(found.X, found.y, strict=True):
            if not references:
                raise DataError(f"{name_of(path)}: the topic {shorten(topic.name)!r} has no references")
    size = {
        "topics": len(found.X),
        "documents": sum(len(topic.documents) for topic in found.X),
        "sentences": sum(topic.n_sentences for topic in found.X),
    }
    about = {"format": found.format, "encoding": encoding}
    return Corpus(found.X, found.y if gold else None, about, size, found)


def is_utf8(about: Mapping[str, Any]) -> bool:
    """Whether files are read as UTF-8."""
    encoding = about.get("encoding", "utf-8")
    _check_encoding(encoding)
    return codecs.lookup(encoding).name == "utf-8"


def _check_encoding(encoding: str) -> None:
    try:
        b"a".decode(encoding)
    except UnicodeError:
        return  # the encoding exists, but a character takes more than one byte
    except (LookupError, ValueError):
        raise WidemarginError(f"there is no encoding {shorten(encoding)!r}") from None


def _cut_conllu(lines: Sequence[str]) -> int:
    """The number of lines before the last begin of a topic; 0 if these hold no sentence."""
    found = [(k, match[1]) for k, line in enumerate(lines) if (match := COMMENT.match(line))]
    end = max((k for k, key in found if key.startswith("newdoc")), default=0)
    return end if any(key == "text" for k, key in found if k < end) else 0


def _file(path: Source, wanted: str | None, encoding: str) -> TopicFile:
    raw = RawText.load(path, encoding)
    chosen = wanted or guess(raw)
    if chosen == "jsonl":
        return _json_lines(raw)
    if chosen == "conllu":
        return _conllu(raw)
    return TopicFile([Topic([_lines(raw)], _name(Path(raw.source)))], [[]], "text")


def _json_lines(raw: RawText) -> TopicFile:
    X, y, lines = [], [], []
    for number, line in enumerate(raw.lines):
        if not line.strip():
            continue
        members = json_object(raw, number)
        documents, references = members.get("documents"), members.get("references", [])
        if not isinstance(documents, list):
            raise raw.fault(number, _complaint("documents", documents, "a list of texts or of lists of sentences"))
        if not isinstance(references, list) or not all(isinstance(each, str) for each in references):
            raise raw.fault(number, _complaint("references", references, "a list of texts"))
        X.append(
            Topic([_document(raw, number, each) for each in documents], str(members.get("id", raw.first + number + 1)))
        )
        y.append(references)
        lines.append(number)
    return TopicFile(X, y, "jsonl", raw, lines, raw.first > 0)


def _document(raw: RawText, number: int, given: Any) -> list[str]:
    sentences = given.split("\n") if isinstance(given, str) else given
    if not isinstance(sentences, list) or not all(isinstance(each, str) for each in sentences):
        raise raw.fault(number, _complaint("documents", given, "a text or a list of sentences"))
    return sentences


def _complaint(key: str, value: Any, wanted: str) -> str:
    if value is None:
        return f'the object has no "{key}"'
    return f'"{key}" holds {shorten(json.dumps(value, ensure_ascii=False))} where {wanted} is wanted'


def _conllu(raw: RawText) -> TopicFile:
    """The topics of a CoNLL-U file, whose comments hold sentences and summaries."""
    X: list[Topic] = []
    y: list[list[str]] = []
    for line in raw.lines:
        found = COMMENT.match(line)
        if found is None:
            continue
        key, value = found[1], (found[2] or "").strip()
        if key.startswith("newdoc"):
            X.append(Topic([[]], value))
            y.append([])
            continue
        if not X:
            X.append(Topic([[]], ""))
            y.append([])
        if key == "text":
            X[-1].documents[0].append(value)
        else:
            y[-1].append(WRITER.sub("", value, count=1) if WRITER.match(value) else value)
    return TopicFile(X, y, "conllu", is_later=raw.first > 0)


def _folder(folder: Path, encoding: str) -> TopicFile:
    below = folder / TOPICS if (folder / TOPICS).is_dir() else folder
    beside = next((folder / name for name in REFERENCES if (folder / name).is_dir()), None)
    X, y = [], []
    for path in _entries(below):
        if path == beside:
            continue
        files = _entries(path) if path.is_dir() else [path]
        X.append(Topic([_lines(RawText.load(file, encoding)) for file in files], _name(path)))
        references = [] if beside is None or not (beside / X[-1].name).is_dir() else _entries(beside / X[-1].name)
        y.append(["\n".join(_lines(RawText.load(file, encoding))) for file in references])
    return TopicFile(X, y, "text")


def _entries(folder: Path) -> list[Path]:
    """The files and folders in a folder, without hidden ones, in order."""
    try:
        return sorted(each for each in folder.iterdir() if not each.name.startswith("."))
    except OSError as error:
        raise DataError(f"{folder} cannot be read: {error.strerror or error}") from error


def _lines(raw: RawText) -> list[str]:
    return [line.strip() for line in raw.lines if line.strip()]


def _name(path: Path) -> str:
    return path.name if path.is_dir() else path.name.partition(".")[0]


MAIN = "rouge2"


def rouge_evaluation(
    scores: Mapping[str, Score], more: Sequence[tuple[str, str]], seconds: dict[str, float]
) -> Evaluation:
    """Mean scores as an evaluation, with more facts."""
    results: dict[str, Any] = {f"{name}_recall": score.recall for name, score in scores.items()}
    results |= {name: overall(score) for name, score in scores.items()}
    main = f"{MAIN}_recall"
    facts = [("ROUGE-2 recall", share(results[main])), *more]
    return Evaluation(results, main, facts, [score_table("ROUGE", "score", scores)], seconds)
