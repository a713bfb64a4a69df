"""Generated treebanks: sentences of a small English, with their dependencies and their constituents.

The tests, the documents and the examples use them: there is nothing to download, any number can be drawn, and a seed
gives the same data on every platform. A sentence is drawn as phrases with heads; both trees follow from the phrases.
Relations and categories are those of Universal Dependencies, labels and tags those of the Penn Treebank. The words tell
what hangs on what, except for phrases with "near", which hang on the noun or the verb before them by chance.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

from widemargin.core.checks import check_number
from widemargin.core.header import Range
from widemargin.core.sparse import boundaries
from widemargin.files.brackets import text_of
from widemargin.files.conllu import NAMES
from widemargin.text.columns import Column, Columns
from widemargin.text.trees import Arc, Tree, arc_columns

HEAD = ""

NOUNS = "actor baker captain doctor farmer lawyer painter pilot sailor teacher apple boat car garden house letter river"
ADJECTIVES = "big old young quiet famous green heavy happy"
TRANSITIVE = "chase draw find follow like paint remember visit"
INTRANSITIVE = "bark laugh sleep sing smile wait"
SAYING = "say think know believe"
ADVERBS = "often slowly today again"
ON_NOUNS = "of from"
ON_VERBS = "at with in"
ON_EITHER = "near"


class Treebank(NamedTuple):
    """Sentences: the columns of their words, and for each the arcs of its tokens and its tree of constituents."""

    columns: Columns
    arcs: list[list[Arc]]
    trees: list[Tree]

    def conllu(self) -> str:
        """The dependency trees as the text of a CoNLL-U file."""
        rows = zip(*(self.columns.sequences(name) for name in NAMES[1:8]), strict=True)
        sentences = [enumerate(zip(*row, strict=True), 1) for row in rows]
        return "".join("".join(_line(t, fields) for t, fields in sentence) + "\n" for sentence in sentences)

    def brackets(self) -> str:
        """The trees of constituents as the text of a file in brackets."""
        return text_of(self.trees)


@dataclass(eq=False, slots=True)
class Word:
    """A word; `tag` is that of the Penn Treebank."""

    form: str
    lemma: str
    category: str
    tag: str
    feats: str = "_"


class PhrasePart(NamedTuple):
    """A part of a phrase, and its relation to the head (the part HEAD), or to another word `on` if given."""

    relation: str
    node: "Word | Phrase"
    on: Word | None = None


class Phrase:
    """A constituent whose parts are in the order of their words."""

    def __init__(self, label: str, *parts: tuple[str, "Word | Phrase"] | PhrasePart) -> None:
        self.label = label
        self.parts = [PhrasePart(*part) for part in parts]

    @property
    def head(self) -> Word:
        """The word that stands for the phrase."""
        return _head(next(part.node for part in self.parts if part.relation == HEAD))

    def words(self) -> Iterator[Word]:
        """The words in order."""
        for part in self.parts:
            yield from [part.node] if isinstance(part.node, Word) else part.node.words()

    def dependents(self) -> Iterator[tuple[Word, Word, str]]:
        """Each word with its head and its relation, except for the head of the whole phrase."""
        for part in self.parts:
            if part.relation != HEAD:
                yield _head(part.node), part.on or self.head, part.relation
            if isinstance(part.node, Phrase):
                yield from part.node.dependents()

    def tree(self) -> Tree:
        """The tree of constituents."""
        nodes = (part.node for part in self.parts)
        return Tree(
            self.label,
            tuple(Tree(node.tag, (node.form,)) if isinstance(node, Word) else node.tree() for node in nodes),
        )


def treebank(n: int, seed: int = 0, *, non_projective: float = 0.0, several_roots: float = 0.0) -> Treebank:
    """Sentences with their trees.

    Parameters
    ----------
    n : how many sentences
    seed : the same seed gives the same sentences
    non_projective : share of the sentences in which an arc crosses another, because a relative clause stands behind the
        verb
    several_roots : share of the sentences that consist of two, joined by a semicolon, each with a root of its own

    >>> bank = treebank(1, seed=2)
    >>> print(*bank.columns["word"].strings())
    They like some lawyers .
    >>> print([arc.head for arc in bank.arcs[0]], bank.trees[0])
    [2, 0, 4, 2, 2] (TOP (S (NP (PRP They)) (VP (VBP like) (NP (DT some) (NNS lawyers))) (. .)))
    """
    check_number("n", n, Range(0), whole=True)
    check_number("non_projective", non_projective, Range(0, most=1))
    check_number("several_roots", several_roots, Range(0, most=1))
    rng = Random(seed)
    drawn = [_sentence(rng, rng.random() < non_projective, rng.random() < several_roots) for _ in range(n)]
    arcs = [_arcs(top) for top in drawn]
    words = [word for top in drawn for word in top.words()]
    columns = {
        "word": [word.form for word in words],
        "lemma": [word.lemma for word in words],
        "upos": [word.category for word in words],
        "xpos": [word.tag for word in words],
        "feats": [word.feats for word in words],
        "pos": [word.tag for word in words],
        **arc_columns(arcs),
    }
    indptr = boundaries(map(len, arcs))
    X = Columns({name: Column.of(strings) for name, strings in columns.items()}, indptr)
    return Treebank(X, arcs, [top.tree() for top in drawn])


def _sentence(rng: Random, crossing: bool, double: bool) -> Phrase:
    """A sentence; its first word has a capital letter."""
    clauses = [_clause(rng, crossing), *([_clause(rng)] if double else [])]
    clauses[-1].parts.append(PhrasePart("punct", Word(".", ".", "PUNCT", ".")))
    parts = [PhrasePart("root", clause) for clause in clauses]
    if double:
        parts.insert(1, PhrasePart("punct", Word(";", ";", "PUNCT", ":"), clauses[0].head))
    top = Phrase("TOP", *parts)
    first = next(top.words())
    first.form = first.form.capitalize()
    return top


def _clause(rng: Random, crossing: bool = False, depth: int = 0) -> Phrase:
    """A subject and a verb phrase; if `crossing`, with a relative clause about the subject behind them."""
    plural = rng.random() < 0.4
    if crossing:
        subject = _noun_phrase(rng, plural)
        verb = _verb_phrase(rng, plural, INTRANSITIVE)
        return Phrase(
            "S", ("nsubj", subject), (HEAD, verb), PhrasePart("acl:relcl", _relative(rng, plural, depth), subject.head)
        )
    subject = _subject(rng, plural, depth)
    kind = rng.choice(
        (TRANSITIVE, TRANSITIVE, TRANSITIVE, INTRANSITIVE, INTRANSITIVE, SAYING if depth == 0 else TRANSITIVE)
    )
    return Phrase("S", ("nsubj", subject), (HEAD, _verb_phrase(rng, plural, kind, depth)))


def _subject(rng: Random, plural: bool, depth: int) -> Phrase:
    choice = rng.random()
    if choice < 0.15:
        feats = f"Number={'Plur' if plural else 'Sing'}|PronType=Prs"
        return Phrase(
            "NP", (HEAD, Word("they" if plural else "she", "they" if plural else "she", "PRON", "PRP", feats))
        )
    if choice < 0.3 and plural:
        second = _noun_phrase(rng, False)
        return Phrase(
            "NP",
            (HEAD, _noun_phrase(rng, False)),
            PhrasePart("cc", Word("and", "and", "CCONJ", "CC"), second.head),
            ("conj", second),
        )
    noun = _noun_phrase(rng, plural)
    if choice < 0.45 and depth == 0:
        return Phrase("NP", (HEAD, noun), ("acl:relcl", _relative(rng, plural, depth)))
    return noun


def _noun_phrase(rng: Random, plural: bool, modified: bool = True) -> Phrase:
    """A determiner, adjectives and a noun, and perhaps a phrase about it."""
    adjectives = [_plain(rng, ADJECTIVES, "ADJ", "JJ") for _ in range(rng.choice((0, 0, 0, 1, 1, 2)))]
    lemma = rng.choice(NOUNS.split())
    noun = (
        Word(lemma + "s", lemma, "NOUN", "NNS", "Number=Plur")
        if plural
        else Word(lemma, lemma, "NOUN", "NN", "Number=Sing")
    )
    next_form = adjectives[0].form if adjectives else noun.form
    form = rng.choice(("the", "some" if plural else "an" if next_form[0] in "aeiou" else "a"))
    parts: list[tuple[str, Word | Phrase]] = [("det", Word(form, "a" if form == "an" else form, "DET", "DT"))]
    parts += [("amod", adjective) for adjective in adjectives]
    phrase = Phrase("NP", *parts, (HEAD, noun))
    if modified and rng.random() < 0.2:
        return Phrase("NP", (HEAD, phrase), ("nmod", _prepositional(rng, ON_NOUNS)))
    return phrase


def _verb_phrase(rng: Random, plural: bool, verbs: str, depth: int = 0) -> Phrase:
    """A verb with its object, with a clause, or alone."""
    lemma = rng.choice(verbs.split())
    parts: list[tuple[str, Word | Phrase]] = []
    if rng.random() < 0.2:
        parts.append(("aux", Word("will", "will", "AUX", "MD")))
        parts.append((HEAD, Word(lemma, lemma, "VERB", "VB", "VerbForm=Inf")))
    elif plural:
        parts.append((HEAD, Word(lemma, lemma, "VERB", "VBP", "Number=Plur|VerbForm=Fin")))
    else:
        parts.append((HEAD, Word(lemma + "s", lemma, "VERB", "VBZ", "Number=Sing|VerbForm=Fin")))
    if verbs == TRANSITIVE:
        parts.append(("obj", _object(rng)))
    elif verbs == SAYING:
        that = Word("that", "that", "SCONJ", "IN")
        parts.append(("ccomp", Phrase("SBAR", ("mark", that), (HEAD, _clause(rng, depth=depth + 1)))))
        return Phrase("VP", *parts)
    if verbs == TRANSITIVE and rng.random() < 0.3:
        parts.append(("obl", _prepositional(rng, ON_VERBS if rng.random() < 0.8 else ON_EITHER)))
    elif rng.random() < 0.3:
        parts.append(("advmod", Phrase("ADVP", (HEAD, _plain(rng, ADVERBS, "ADV", "RB")))))
    return Phrase("VP", *parts)


def _object(rng: Random) -> Phrase:
    noun = _noun_phrase(rng, rng.random() < 0.4)
    if rng.random() < 0.05:
        return Phrase("NP", (HEAD, noun), ("nmod", _prepositional(rng, ON_EITHER)))
    return noun


def _prepositional(rng: Random, prepositions: str) -> Phrase:
    noun = _noun_phrase(rng, rng.random() < 0.4, modified=False)
    return Phrase("PP", ("case", _plain(rng, prepositions, "ADP", "IN")), (HEAD, noun))


def _relative(rng: Random, plural: bool, depth: int) -> Phrase:
    who = Phrase("WHNP", (HEAD, Word("who", "who", "PRON", "WP", "PronType=Rel")))
    verb = _verb_phrase(rng, plural, rng.choice((TRANSITIVE, INTRANSITIVE)), depth + 1)
    return Phrase("SBAR", ("nsubj", who), (HEAD, Phrase("S", (HEAD, verb))))


def _plain(rng: Random, words: str, category: str, tag: str) -> Word:
    form = rng.choice(words.split())
    return Word(form, form, category, tag)


def _head(node: Word | Phrase) -> Word:
    return node if isinstance(node, Word) else node.head


def _arcs(top: Phrase) -> list[Arc]:
    number = {word: t for t, word in enumerate(top.words(), 1)}
    arcs = {_head(part.node): Arc(0, "root") for part in top.parts if part.relation == "root"}
    for part in top.parts:
        if part.on is not None:
            arcs[_head(part.node)] = Arc(number[part.on], part.relation)
        if isinstance(part.node, Phrase):
            arcs |= {word: Arc(number[on], relation) for word, on, relation in part.node.dependents()}
    return [arcs[word] for word in number]


def _line(token: int, fields: tuple[str, ...]) -> str:
    return "\t".join((str(token), *fields, "_", "_")) + "\n"
