import pytest
from hypothesis import given
from hypothesis import strategies as st

from widemargin.text.words import split_words

pytestmark = pytest.mark.interpreted


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Fruit flies like a banana.", "Fruit flies like a banana ."),
        ("I don't know; she's here, they'll see!", "I do n't know ; she 's here , they 'll see !"),
        ("“Well…” (he said)", "“ Well … ” ( he said )"),
        ("It’s 10:30 and costs $1,200.50!!", "It ’s 10:30 and costs $ 1,200.50 !!"),
        ("Mr. J. Smith (U.S.), e.g. from Acme Inc., left...", "Mr. J. Smith ( U.S. ) , e.g. from Acme Inc. , left ..."),
        ("see http://a.org/b?c=1, or mail me@x.org.", "see http://a.org/b?c=1 , or mail me@x.org ."),
        ("state-of-the-art 'quoted' words'", "state-of-the-art ' quoted ' words '"),
        ("' . ... n't 's", "' . ... n't 's"),
        ("", ""),
    ],
)
def test_words(text, words):
    assert split_words(text) == words.split()


@given(st.text())
def test_nothing_is_lost(text):
    assert "".join(split_words(text)) == "".join(text.split())
    assert all(split_words(text))


@given(st.lists(st.sampled_from(["(", ")", "'s", "n't", "do", ".", "...", "$", "5", "U.S.", ","]), max_size=6))
def test_words_stay_as_they_are(words):
    assert split_words(" ".join(words)) == words
