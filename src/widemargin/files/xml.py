"""XML fields: below the document's element one element per sequence, below that one element per field.

The text of a field is cut into tokens at blanks; elements nested in it contribute only their text. Text of a sequence
that is in no field is outside all spans. There are two conventions; the data show which one a file follows:

    <author>Solon, G.</author> <date>(1999).</date>                  an element is a span
    <street>Main</street> <street>Road</street> <zip>99603</zip>     every element holds one token:
                                                                     neighbours with the same tag are a span

In the second, two neighbouring spans of the same type cannot be told apart, neither on reading nor on writing.

On writing, spans that the file already has keep their attributes and content; only the others are written as new
elements. A sequence whose labels do not change stays as it is, byte for byte.

Nothing outside the file is ever read, and a file that declares entities is refused: a few of them can expand to
gigabytes of text.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple
from xml.parsers import expat
from xml.sax.saxutils import escape

from widemargin.core.sparse import boundaries
from widemargin.errors import DataError
from widemargin.files.document import Document
from widemargin.files.raw import RawText, shorten
from widemargin.text.columns import Columns, LazyColumns, split
from widemargin.text.spans import Span, labels_of, spans_of

LABEL = "label"

_BLANKS = " \t\r\n"
_PIECES = re.compile(f"[^{_BLANKS}]+|[{_BLANKS}]+")
_START_TAG = re.compile(rb"""<(?:[^>"']|"[^"]*"|'[^']*')*>""")
_NAME = re.compile(r"[^\W\d][\w.:-]*")
_OPENING = re.compile(r"\s*<([?!]|[^\W\d][\w.:-]*[\s/>])")
_SEQUENCE, _FIELD = 1, 2  # how many elements enclose each


class Segment(NamedTuple):
    """A span, or a token outside all spans (type ``""``), and the bytes of the file that hold it."""

    span: Span
    begin: int
    end: int


@dataclass
class XmlSentence:
    """A sequence of the file: its tokens, its segments, and where its content is."""

    begin: int
    end: int = 0
    tokens: list[str] = field(default_factory=list)
    segments: list[Segment] = field(default_factory=list)

    def labels(self) -> list[str]:
        """Its spans as BIO labels."""
        return labels_of([segment.span for segment in self.segments if segment.span.type], len(self.tokens))


@dataclass(frozen=True)
class XmlFields(Document):
    """An XML file; `token_by_token` marks the convention that every element holds one token."""

    sentences: list[XmlSentence]
    token_by_token: bool

    def _with_column(self, lines: Sequence[str], name: str, values: Sequence[str]) -> list[str]:
        if name != LABEL:
            raise DataError(f"{self.raw.source} has no column {name!r} to write; it has {LABEL!r}")
        source = _bytes(lines)
        parts, done = [], 0
        for sentence, labels in zip(self.sentences, split(values, self.columns.indptr), strict=True):
            wanted = spans_of(labels)
            for type_ in {span.type for span in wanted}:
                if not _NAME.fullmatch(type_):
                    raise DataError(f"{type_!r} cannot be written into {self.raw.source}: it is no name of an element")
            if wanted != [segment.span for segment in sentence.segments if segment.span.type]:
                parts += [source[done : sentence.begin], self._content(source, sentence, wanted).encode()]
                done = sentence.end
        return (b"".join(parts) + source[done:]).decode().split("\n")

    def _content(self, source: bytes, sentence: XmlSentence, wanted: Sequence[Span]) -> str:
        """The content of a sequence with the `wanted` spans instead of its own."""
        before = {segment.span: segment for segment in sentence.segments}
        ends = [sentence.begin, *(segment.end for segment in sentence.segments)]
        begins = [*(segment.begin for segment in sentence.segments), sentence.end]
        cuts = [0, *(segment.span.end for segment in sentence.segments)]
        gaps = {cut: _gap(source[end:begin]) for cut, end, begin in zip(cuts, ends, begins, strict=True)}
        usual = next((gap for cut, gap in gaps.items() if 0 < cut < len(sentence.tokens)), gaps[0])
        written = [gaps[0]]
        for span in _with_tokens_outside(wanted, len(sentence.tokens)):
            if span.start:
                gap = gaps.get(span.start, usual)
                # Without a blank, tokens that have lost their elements would run together.
                written.append(gap if gap[:1].isspace() or gap[-1:].isspace() else gap + " ")
            found = before.get(span) if span.type else None
            written.append(
                self._element(span.type, sentence.tokens[span.start : span.end])
                if found is None
                else source[found.begin : found.end].decode()
            )
        return "".join([*written, gaps[len(sentence.tokens)]])

    def _element(self, tag: str, tokens: Sequence[str]) -> str:
        escaped = [escape(token) for token in tokens]
        if not tag:
            return escaped[0]
        texts = escaped if self.token_by_token else [" ".join(escaped)]
        return " ".join(f"<{tag}>{text}</{tag}>" for text in texts)


def parse(raw: RawText) -> XmlFields:
    """Read XML fields.

    >>> document = parse(RawText.of("<all><one><name>Ann Lee</name>, <zip>123</zip></one></all>"))
    >>> document.columns["word"].strings(), document.columns["label"].strings()
    (['Ann', 'Lee', ',', '123'], ['B-name', 'I-name', 'O', 'B-zip'])
    """
    sentences = _Reader(raw).sentences
    sizes = [span.end - span.start for sentence in sentences for span, _, _ in sentence.segments if span.type]
    token_by_token = bool(sizes) and max(sizes) == 1
    if token_by_token:
        sentences = [replace(sentence, segments=list(_join(sentence.segments))) for sentence in sentences]
    strings = {"word": partial(_words, sentences), LABEL: partial(_labels, sentences)}
    columns = Columns(LazyColumns(strings, {}), boundaries(len(sentence.tokens) for sentence in sentences), raw.source)
    return XmlFields(raw, columns, LABEL, sentences, token_by_token)


def is_xml(raw: RawText) -> bool:
    """Whether a file begins and ends like XML: a first token may look like a tag, but no last label does."""
    filled = [line for line in raw.lines if line.strip()]
    # In the first piece of a longer file, the last line is not the end of the file and tells nothing.
    return bool(filled) and bool(_OPENING.match(filled[0])) and (not raw.is_last or filled[-1].rstrip().endswith(">"))


class _Reader:
    """Gathers sequences, fields and tokens while a file is parsed."""

    def __init__(self, raw: RawText) -> None:
        self.raw, self.source, self.sentences = raw, _bytes(raw.lines), list[XmlSentence]()
        self.parser = parser = expat.ParserCreate("utf-8")
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        parser.CharacterDataHandler = self._text
        parser.EntityDeclHandler = self._refuse_entity
        parser.SkippedEntityHandler = self._refuse_entity
        parser.StartCdataSectionHandler = partial(self._in_cdata, True)
        parser.EndCdataSectionHandler = partial(self._in_cdata, False)
        self.depth, self.first_of_field, self.begin_of_field = 0, 0, 0
        self.token, self.token_begin, self.token_end = list[str](), 0, 0
        self.cdata = False
        try:
            parser.Parse(self.source, True)
        except expat.ExpatError as error:
            raise raw.fault(error.lineno - 1, f"not well-formed XML: {expat.ErrorString(error.code)}") from None

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        at = self.parser.CurrentByteIndex
        if self.depth == _SEQUENCE:
            match = _START_TAG.match(self.source, at)
            self.sentences.append(XmlSentence(match.end() if match else at))
        elif self.depth == _FIELD:
            self._end_token()
            self.first_of_field, self.begin_of_field = len(self.sentences[-1].tokens), at
        self.depth += 1

    def _end(self, tag: str) -> None:
        at = self.parser.CurrentByteIndex
        if self.depth <= _FIELD + 1:
            self._end_token()
        self.depth -= 1
        if self.depth == _SEQUENCE:
            self.sentences[-1].end = at
        elif self.depth == _FIELD:
            sentence, first = self.sentences[-1], self.first_of_field
            # An element without an end tag has already ended.
            end = self.source.index(b">", at) + 1 if self.source.startswith(b"</", at) else at
            if len(sentence.tokens) > first:
                sentence.segments.append(Segment(Span(first, len(sentence.tokens), tag), self.begin_of_field, end))

    def _text(self, text: str) -> None:
        at = end = self.parser.CurrentByteIndex
        reference = not self.cdata and self.source.startswith(b"&", at)
        for piece in _PIECES.findall(text):
            begin, end = end, end + _size(piece)
            if piece[0] in _BLANKS:
                self._end_token()
                continue
            if self.depth < _FIELD:
                raise self._fault(f"the text {shorten(piece)!r} is in no sequence")
            if not self.token:
                self.token_begin = begin
            self.token.append(piece)
            self.token_end = self.source.index(b";", at) + 1 if reference else end

    def _end_token(self) -> None:
        if self.token:
            tokens = self.sentences[-1].tokens
            tokens.append("".join(self.token))
            if self.depth == _FIELD:
                span = Span(len(tokens) - 1, len(tokens), "")
                self.sentences[-1].segments.append(Segment(span, self.token_begin, self.token_end))
            self.token = []

    def _in_cdata(self, inside: bool) -> None:
        self.cdata = inside

    def _refuse_entity(self, name: str, *declaration: object) -> None:
        raise self._fault(f"the entity {name!r} is declared or used; only those of XML itself are read")

    def _fault(self, complaint: str) -> DataError:
        return self.raw.fault(self.parser.CurrentLineNumber - 1, complaint)


def _words(sentences: Sequence[XmlSentence]) -> list[str]:
    return [token for sentence in sentences for token in sentence.tokens]


def _labels(sentences: Sequence[XmlSentence]) -> list[str]:
    return [label for sentence in sentences for label in sentence.labels()]


def _join(segments: Sequence[Segment]) -> Iterator[Segment]:
    """Segments, with neighbours of the same type joined."""
    last: Segment | None = None
    for segment in segments:
        if last is not None and last.span.type and last.span.type == segment.span.type:
            last = Segment(Span(last.span.start, segment.span.end, last.span.type), last.begin, segment.end)
            continue
        if last is not None:
            yield last
        last = segment
    if last is not None:
        yield last


def _with_tokens_outside(found: Sequence[Span], length: int) -> Iterator[Span]:
    """The spans in order, with every token between them as a span of its own."""
    done = 0
    for span in [*found, Span(length, length, "")]:
        yield from (Span(t, t + 1, "") for t in range(done, span.start))
        if span.start < span.end:
            yield span
        done = span.end


def _gap(source: bytes) -> str:
    """The text between two segments, without the brackets of character data, which may have opened inside one."""
    return source.replace(b"<![CDATA[", b"").replace(b"]]>", b"").decode()


def _size(text: str) -> int:
    """How many bytes a text has in the file."""
    return len(text.encode())


def _bytes(lines: Sequence[str]) -> bytes:
    return "\n".join(lines).encode("utf-8", "surrogatepass")
