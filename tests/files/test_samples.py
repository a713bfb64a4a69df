"""Every format has a sample, from which the campaign of mutated inputs (`benchmarks/robustness`) begins."""

import pytest

from helpers.files import FORMAT_FILES
from widemargin.files.formats import FORMATS
from widemargin.files.raw import RawText


def test_every_format_has_a_sample():
    assert set(FORMAT_FILES) == set(FORMATS)


@pytest.mark.parametrize("name", FORMAT_FILES)
def test_samples_can_be_read(name):
    for text in FORMAT_FILES[name]():
        FORMATS[name].parse(RawText.of(text))
