"""Why a mention has this antecedent and not that one: the features of links by name, with their weights."""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from widemargin._types import FloatVector
from widemargin.core.sparse import boundaries
from widemargin.errors import WidemarginError
from widemargin.report.explain import Explanation, Option, Question, compared, listed
from widemargin.tasks.coreference.examples import link_features
from widemargin.tasks.coreference.features import MEASURES, LinkExtractor, measured, mention_columns
from widemargin.tasks.strongest import Part, strongest
from widemargin.text.attributes import Resources
from widemargin.text.columns import Column, Columns
from widemargin.text.mentions import KINDS, PRONOUNS, Mentions, described
from widemargin.text.roles import RoleHasher, measure_keys, spell_roles
from widemargin.text.templates import Atoms

if TYPE_CHECKING:
    from widemargin.tasks.coreference.model import CoreferenceModel

NEW_ENTITY, APART = "a new entity", "apart"
MOST_SHOWN = 50
TYPES = [*dict.fromkeys([*KINDS.values(), "other"]), *PRONOUNS]


class LinkVotes:
    """The votes for the links of one document."""

    def __init__(self, extractor: LinkExtractor, document: Mentions, w: FloatVector) -> None:
        self.document, self.w = document, w
        links = extractor.links([document])
        self.keys, self.templates = links.keys, extractor.in_order
        self.scores = links.scores_of_all(w)
        self._described = described(document)
        self._atoms = Atoms(mention_columns([document], [self._described]), Resources())

    def option(self, m: int, a: int) -> Option:
        """The link of two mentions, and its votes."""
        end, reach = int(self.keys.pairs[m + 1]), int(self.keys.pairs[m + 1] - self.keys.pairs[m])
        if not 0 < m - a <= reach:
            raise WidemarginError(f"the model does not look as far back as from mention {m + 1} to {a + 1}")
        values = measured(self._described, np.array([a]), np.array([m]))
        spelt = {name: MEASURES[name][int(codes[0])] for name, codes in values.items()}
        places = link_features(self.keys, m, end - (m - a))
        tokens: dict[str, int | str] = {"mention": m, "antecedent": a}
        names = [spell_roles(self._atoms, template, tokens, spelt) for template in self.templates]
        votes = [(name, float(self.w[place])) for name, place in zip(names, places.tolist(), strict=True)]
        return Option(f"{self.name(m)} → {self.name(a)}", votes)

    def new(self, m: int) -> Option:
        """The option to start an entity; it has no votes."""
        return Option(f"{self.name(m)}: {NEW_ENTITY}", [])

    def ranked(self, m: int) -> list[tuple[float, int]]:
        """The scores of all choices of a mention, best first; ties go to a new entity, then to the closest."""
        scores = self.scores[self.keys.pairs[m] : self.keys.pairs[m + 1]].tolist()
        found = [(0.0, 0), *((score, len(scores) - k) for k, score in enumerate(scores))]
        return sorted(found, key=lambda each: (-each[0], each[1]))

    def name(self, m: int) -> str:
        """The number and the words of a mention."""
        text = self.document.text(m)
        return f"{m + 1} {text if len(text) <= MOST_SHOWN else text[: MOST_SHOWN - 1] + '…'}"


def explained(model: "CoreferenceModel", X: Sequence[Mentions], question: Question) -> Explanation:
    """The choices of all mentions, or the reasons for and against linking two mentions."""
    if question.token is not None or question.head is not None or question.label is not None:
        raise WidemarginError(f"the model predicts {model.predicts}; ask for two mentions by --span I:J")
    votes = LinkVotes(model.extractor, X[0], model.weights)
    if question.span is not None:
        a, m = sorted(number - 1 for number in question.span)
        if not 0 <= a < m < len(X[0]):
            raise WidemarginError(f"{a + 1} and {m + 1} are not two mentions of the document, which has {len(X[0])}")
        return _compared(model, votes, m, a)
    if model.decoder == "forest":
        return listed(_forest(model, votes))
    return listed(_choices(votes))


def _compared(model: "CoreferenceModel", votes: LinkVotes, m: int, a: int) -> Explanation:
    """A link compared with the mention's choice or, if it is the choice, with the second best."""
    asked = votes.option(m, a)
    if model.decoder == "forest":
        apart = Option(f"{votes.name(a)}, {votes.name(m)}: {APART}", [])
        return compared(asked, apart) if asked.score > 0.0 else compared(apart, asked)
    best, other = (votes.new(m) if back == 0 else votes.option(m, m - back) for _, back in votes.ranked(m)[:2])
    return compared(best, other if best.name == asked.name else asked)


def _choices(votes: LinkVotes) -> Iterator[tuple[str, float, str]]:
    """Every mention with its choice, the margin over the second best, and this second best."""
    for m in range(len(votes.document)):
        ranked = votes.ranked(m)
        names = [NEW_ENTITY if back == 0 else votes.name(m - back) for _, back in ranked[:2]]
        if len(ranked) > 1:
            yield f"{votes.name(m)} → {names[0]}", ranked[0][0] - ranked[1][0], names[1]


def _forest(model: "CoreferenceModel", votes: LinkVotes) -> Iterator[tuple[str, float, str]]:
    """The links of the forest, the strongest first."""
    examples: Any = model.examples([votes.document])
    one = np.zeros(1, dtype=np.int32)
    scores, layout = votes.scores, examples.layout
    for pair in sorted(np.flatnonzero(examples.decode(votes.w, one)).tolist(), key=lambda pair: -scores[pair]):
        first, second = int(layout.first[pair]), int(layout.second[pair])
        yield f"{votes.name(second)} → {votes.name(first)}", float(scores[pair]), APART


def strongest_measures(extractor: LinkExtractor, w: FloatVector, top: int) -> dict[str, Part]:
    """The strongest features that have names without a text: measures, alone or with the type of the mention."""
    types = Columns({"type": Column.of(TYPES), "word": Column.of(TYPES)}, boundaries([len(TYPES)]))
    names, weights = [], []
    for template in extractor.in_order:
        if not template.columns_read <= {"type"} or set(template.roles) > {"mention"}:
            continue
        (keyed,) = RoleHasher([template], {"mention": ""}).keys(types)
        rows = keyed[1:, 0] if template.roles else np.zeros(1, dtype=np.int32)
        keys = [measure_keys([template], name, MEASURES[name])[:, 0] for name in template.measures]
        for k, row in enumerate(rows.tolist()):
            for values in product(*(range(len(each)) for each in keys)):
                place = row + sum(int(each[value]) for each, value in zip(keys, values, strict=True))
                spelt = [MEASURES[name][value] for name, value in zip(template.measures, values, strict=True)]
                with_type = [TYPES[k]] if template.columns_read else []
                names.append(f"{template.text}={'|'.join([*with_type, *spelt])}")
                weights.append(w[place % len(w)])
    found = np.array(weights, dtype=np.float64)
    return {"measures": Part("Measures of links", strongest(found, top, names.__getitem__))}
