"""Templates over tokens in roles, and the keys that they are hashed to."""

import os
import subprocess
import sys

import numpy as np
import pytest

from helpers import dependencies
from widemargin.core.sparse import boundaries
from widemargin.errors import WidemarginError
from widemargin.tasks.parse.features import ARC_TEMPLATES, LABEL_TEMPLATES, SIBLING_TEMPLATES, ArcExtractor, readable
from widemargin.text.attributes import Resources
from widemargin.text.columns import Column, Columns
from widemargin.text.hashing import combine, hash_strings
from widemargin.text.roles import KEY_BITS, RoleHasher, measure_keys, parse_role_templates
from widemargin.text.templates import Atoms

pytestmark = pytest.mark.interpreted

ROLES, MEASURES = ["head", "modifier"], ["distance"]


def parsed(*texts):
    return parse_role_templates(texts, ROLES, MEASURES)


def columns(*sentences):
    words = [word for sentence in sentences for word in sentence]
    return Columns({"word": Column.of(words)}, boundaries(map(len, sentences)))


def test_templates_are_told_apart_by_roles():
    (template,) = parsed("modifier:word[1]|head:word|modifier:word|distance")
    assert template.text == "head:word|modifier:word[1]|modifier:word|distance"
    assert [len(part.atoms) for part in template.roles.values()] == [1, 2]
    assert template.measures == ("distance",)
    assert [each.text for each in parsed("head:word[-1..1]", "head:word")] == [
        "head:word[-1]",
        "head:word",
        "head:word[1]",
    ]


@pytest.mark.parametrize("text", ["word", "tail:word", "head:word|far", "head:", "head:word[", ""])
def test_what_is_no_template_is_named(text):
    with pytest.raises(WidemarginError, match="template"):
        parsed(text)


def test_keys_depend_on_template_role_and_values_alone():
    here, there = columns(["a", "b", "a"]), columns(["c"], ["b", "a"])
    templates = parsed("head:word", "head:word|modifier:word", "head:word[1]|distance")
    hasher = RoleHasher(templates, dict.fromkeys(ROLES, "<root>"))
    head, modifier = hasher.keys(here)
    for keys, again in zip((head, modifier), hasher.keys(there), strict=True):
        assert np.array_equal(keys[0], again[0])
        assert np.array_equal(keys[2:], again[2:])  # "b a" at the end of a sentence, both times
        assert np.all((keys >= 0) & (keys < 1 << KEY_BITS))
    assert len({*head[:, 0].tolist(), *head[:, 1].tolist(), *head[:, 2].tolist()}) == 3 + 3 + 4
    assert not np.any(modifier[:, [0, 2]])
    assert set(modifier[:, 1].tolist()).isdisjoint(head[:, 1].tolist())
    assert not np.any(measure_keys(templates, "distance", ["1", "2"])[:, :2])


def hashed(seed, values):
    """The key of a template's values, one hash after the other."""
    key = hash_strings([seed])
    for value in values:
        key = combine(key, value)
    return int(key[0] >> np.uint64(64 - KEY_BITS))


CLUSTERS = Resources(clusters={"brown": {"a": "01", "b": "0011"}})


def test_keys_are_hashes_of_the_values():
    """Every key against its definition, absent values and positions outside the sequences included."""
    X = columns(["a", "Zoë", "b"], [], ["a"], ["b", "a"])
    texts = ["head:word[-2]|head:word|modifier:lower[1]", "head:cluster(brown,2)", "modifier:bias|distance", "distance"]
    templates, outside = parsed(*texts), {"head": "<root>", "modifier": "<none>"}
    atoms = Atoms(X, CLUSTERS)
    keys = RoleHasher(templates, outside, CLUSTERS).keys(X)
    assert keys.dtype == np.int32
    for (role, name), found in zip(outside.items(), keys, strict=True):
        for t, template in enumerate(templates):
            if role not in template.roles:
                assert not np.any(found[:, t])
                continue
            seed, parts = f"{role} of {template.text}", [atoms.part(atom) for atom in template.roles[role].atoms]
            assert found[0, t] == hashed(seed, [hash_strings([name])])
            for token in range(X.n_tokens):
                assert found[token + 1, t] == hashed(seed, [part.keys[part.codes[[token]]] for part in parts])


def test_without_tokens_no_column_is_needed():
    keys = RoleHasher(parsed("head:upos"), {"head": "<root>"}).keys(columns())
    assert keys.shape == (1, 1, 1)
    assert keys[0, 0, 0] > 0


PRINTED = """
import numpy as np
from widemargin.text.columns import Column, Columns
from widemargin.tasks.parse.features import ArcExtractor
X = Columns({"word": Column.of(["Zoë", "sees", "Zoë"])}, np.array([0, 3]))
keys = ArcExtractor(["head:word|modifier:word[1]"], ["modifier:suffix2|direction"]).keys(X)
print(keys.head.tolist(), keys.modifier.tolist(), keys.measure[[0, 1, 7]].tolist())
"""


def test_keys_are_the_same_everywhere():
    """In every process, and as they have always been: model files depend on it."""
    found = {
        subprocess.run(
            [sys.executable, "-c", PRINTED],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            encoding="utf-8",
        ).stdout.strip()
        for seed in ("1", "2")
    }
    assert found == {EXPECTED}


EXPECTED = (
    "[[28892256, 0], [458130098, 0], [164266037, 0], [458130098, 0]] "
    "[[101423298, 528527613], [261672308, 244937916], [162383733, 251599514], [15161180, 244937916]] "
    "[[0, 196700591], [0, 68943973], [0, 181612360]]"
)


def test_default_templates_are_sound_and_those_without_columns_are_left_out():
    X = columns(["a", "b"])
    for templates in (ARC_TEMPLATES, LABEL_TEMPLATES, SIBLING_TEMPLATES):
        assert len(set(templates)) == len(templates)
        kept = readable(templates, X.names)
        assert kept
        assert not any("pos" in each or "lemma" in each for each in kept)
    everything = ArcExtractor(ARC_TEMPLATES, LABEL_TEMPLATES, SIBLING_TEMPLATES)
    assert everything.columns_read == ["feats", "lemma", "upos", "word", "xpos"]


def test_features_of_an_arc_are_those_of_its_strings():
    """Two arcs share the slots of a template if, and (but for collisions) only if, they share what it looks at."""
    small = dependencies(3, [4, 4, 4], hash_bits=20)
    keys = small.examples.features.data.keys
    slots = keys.head[:, None, 0] + keys.modifier[None, 1:, 0]
    heads, modifiers = np.divmod(np.arange(slots.size), slots.shape[1])
    same_slot = slots.ravel()[:, None] == slots.ravel()[None]
    tokens = np.concatenate([[-1], np.unique(keys.head[1:, 0], return_inverse=True)[1]])
    values = tokens[heads] * 10 + tokens[modifiers + 1]
    assert np.array_equal(same_slot, values[:, None] == values[None])
