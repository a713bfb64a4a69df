"""Mutations of files: of bytes, of lines and fields of text, and of the headers and tensors of models.

Everything is drawn from the generator that is passed, so that a kind of file and a number name one input for ever.
"""

import json
import math
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np

from helpers.models import places, replaced, value_at, without
from widemargin.core.checkpoint import digest
from widemargin.core.model_file import DTYPES, ENTRY

Mutator = Callable[[Random, bytes], bytes]

TEXTS = [
    *("", " ", "\t", "\n", "\r", "\0", "\x85", "\u2028", "\ufeff", "é", "e\u0301", "😀", "\u202e", "\ud800"),
    *("_", "-", "*", "0", "-1", "1", "007", "1.5", "1e999", "nan", "inf", "-inf", "9" * 30, "9" * 5000, "١"),
    *("(", ")", "()", "(S", "((", "[", "]", "{", "}", '"', "'", "\\", "\\u12", "<a>", "</a>", "<", ">", "&amp;", "&x;"),
    *(
        "#",
        "# a",
        ":",
        "1:1",
        "1:",
        ":1",
        "qid:1",
        ",",
        "a,b",
        "a,a",
        "|",
        "B-",
        "I-x",
        "B-x",
        "O",
        "1-2",
        "1.1",
        "a" * 3000,
    ),
    *("<!DOCTYPE a [<!ENTITY b 'c'>]>", "<![CDATA[", "lower[-50..49]|word[-50..49]|pos[-50..49]", "lexicon(a)", "null"),
]
VALUES = [
    *(None, True, False, -1, 0, 1, 2, 29, 30, 2**31, 2**63, 10**30, 0.5, -0.0, 1e308, math.nan, math.inf, -math.inf),
    *("", "x", "O", "\ud800", "\0", "9" * 400, "lower[-50..49]|word[-50..49]|shape[-50..49]", "a" * 100_000),
    *([], [1], ["a"], [[]], [None], ["a", "a"], {}, {"a": 1}, {"array": "run.state"}, {"value": None}),
]


def of_bytes(rng: Random, content: bytes) -> bytes:
    """Flip, cut, double, move or replace some bytes."""
    at, to = sorted(rng.randrange(len(content) + 1) for _ in range(2))
    to = min(to, at + rng.choice([1, 1, 2, 8, 100, len(content)]))
    part = content[at:to]
    new = rng.choice(
        [
            b"",
            part * rng.choice([2, 3, 50]),
            bytes(byte ^ (1 << rng.randrange(8)) for byte in part[:9]) + part[9:],
            rng.randbytes(min(len(part), 16)),
            part[::-1],
            _encoded(rng.choice(TEXTS)),
        ]
    )
    return content[:at] + new + content[to:]


def of_text(rng: Random, content: bytes) -> bytes:
    """Change a line or a field; now and then only bytes."""
    if rng.random() < 0.2:
        return of_bytes(rng, content)
    lines = content.decode("utf-8", "surrogateescape").split("\n")
    at, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    change = rng.randrange(9)
    if change == 0:
        del lines[at]
    elif change == 1:
        lines.insert(at, lines[other])
    elif change == 2:
        lines[at], lines[other] = lines[other], lines[at]
    elif change == 3:
        lines.insert(at, rng.choice(TEXTS))
    elif change == 4:
        lines = lines[at:] if rng.random() < 0.5 else lines[:at]
    else:
        lines[at] = _with_field(rng, lines[at], lines[other])
    return b"\n".join(map(_encoded, lines))


def _with_field(rng: Random, line: str, other: str) -> str:
    separator = rng.choice([each for each in '\t ,:()"<>' if each in line] or [" "])
    fields, others = line.split(separator), other.split(separator)
    at = rng.randrange(len(fields))
    change = rng.randrange(6)
    if change == 0:
        del fields[at]
    elif change == 1:
        fields.insert(at, rng.choice(others))
    elif change == 2:
        fields[at] = rng.choice(others)
    elif change == 3:
        separator = rng.choice("\t ,:|()")
    else:
        fields[at] = rng.choice(TEXTS) + (fields[at] if change == 5 else "")
    return separator.join(fields)


def of_model(rng: Random, content: bytes) -> bytes:
    """Change the header, the tensors, the layout of the container, or bytes."""
    layout, header, tensors = taken_apart(content)
    change = rng.random()
    if change < 0.1:
        return of_bytes(rng, content)
    if change < 0.2:
        return joined(of_json(rng, layout), b"".join(each.tobytes() for each in tensors.values()))
    if change < 0.6:
        header = of_json(rng, header)
    else:
        tensors = of_tensors(rng, tensors)
    return put_together(header, tensors)


def of_parameters(rng: Random, content: bytes) -> bytes:
    """Change the parameters that a model was trained with, which training on takes; now and then anything else."""
    if rng.random() < 0.3:
        return of_model(rng, content)
    _, header, tensors = taken_apart(content)
    place = ("summary", "parameters")
    return put_together(replaced(header, place, of_json(rng, value_at(header, place))), tensors)


def of_contents(rng: Random, content: bytes) -> bytes:
    """Change the contents of a checkpoint, and make its digest fit, as if it was written by another version."""
    _, header, tensors = taken_apart(content)
    header["content"] = of_json(rng, header["content"])
    return put_together(header | {"digest": digest(header["content"], tensors)}, tensors)


def of_json(rng: Random, tree: Any) -> Any:  # noqa: PLR0911 — one for each change
    """Replace, drop, nest, double or exchange values, wherever they are."""
    found = list(places(tree))
    place, other = rng.choice(found), rng.choice(found)
    value = value_at(tree, place)
    change = rng.randrange(8)
    if change == 0 and place:
        return without(tree, place)
    if change == 1:
        return replaced(tree, place, rng.choice([{"a": value}, [value], [value, value], [[[value]]]]))
    if change == 2:
        return replaced(tree, place, value_at(tree, other))
    if change == 3 and isinstance(value, list) and value:
        return replaced(tree, place, rng.choice([value[:-1], value + value[:1], value[::-1], value * 3]))
    if change == 4 and type(value) in (int, float):
        return replaced(tree, place, rng.choice([value + 1, value - 1, -value, value * 1000, float(value)]))
    if change == 5 and isinstance(value, str):
        return replaced(tree, place, rng.choice([value + value, value[:-1], value.upper(), f"{value} x", f" {value}"]))
    if change == 6 and isinstance(value, dict) and value:
        name = rng.choice(list(value))
        return replaced(tree, place, {(rng.choice(TEXTS) if key == name else key): each for key, each in value.items()})
    return replaced(tree, place, rng.choice(VALUES))


def of_tensors(rng: Random, tensors: dict[str, Any]) -> dict[str, Any]:
    """Drop, exchange, resize, retype or overwrite a tensor."""
    name, other = rng.choice(list(tensors)), rng.choice(list(tensors))
    tensor = tensors[name]
    flat, change = tensor.ravel(), rng.randrange(9)
    if change == 0:
        return {key: each for key, each in tensors.items() if key != name}
    if change == 1:
        return tensors | {name: tensors[other], other: tensor}
    if change == 2:
        new = rng.choice([flat[:-1], flat[1:], flat[:0], np.append(flat, flat), np.append(flat, flat[:1])])
    elif change == 3:
        new = rng.choice([tensor[None], tensor[..., None], tensor.T, flat])
    elif change == 4:
        with np.errstate(invalid="ignore"):
            new = tensor.astype(rng.choice(list(DTYPES.values())))
    elif change == 5:
        new = np.frombuffer(of_bytes(rng, tensor.tobytes()).ljust(tensor.nbytes, b"\0")[: tensor.nbytes], tensor.dtype)
        new = new.reshape(tensor.shape)
    else:
        new = tensor.copy()
        some = (
            slice(None)
            if change == 6
            else [rng.randrange(len(flat)) for _ in range(rng.choice([1, 3]) if len(flat) else 0)]
        )
        new.reshape(-1)[some] = rng.choice(_extremes(tensor.dtype))
    return tensors | {name: new}


def _extremes(dtype: Any) -> list[Any]:
    if dtype.kind == "f":
        return [0.0, 1.0, -1.0, math.nan, math.inf, -math.inf, 1e308, 5e-324]
    if dtype.kind == "b":
        return [True, False]
    info = np.iinfo(dtype)
    return [0, 1, 2, info.min, info.max, info.max // 2, 255 if info.max > 255 else 128]


def taken_apart(content: bytes) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """The layout of a container, the header of the model in it, and its tensors in the order of their bytes."""
    size = int.from_bytes(content[:8], "little")
    layout = json.loads(content[8 : 8 + size])
    entries = sorted(((key, each) for key, each in layout.items() if key != "__metadata__"), key=_offset)
    tensors = {
        key: np.frombuffer(content[8 + size :][slice(*each["data_offsets"])], DTYPES[each["dtype"]]).reshape(
            each["shape"]
        )
        for key, each in entries
    }
    return layout, json.loads(layout["__metadata__"][ENTRY]), tensors


def _offset(item: tuple[str, Any]) -> Any:
    return item[1]["data_offsets"]


def put_together(header: Any, tensors: dict[str, Any]) -> bytes:
    """A container with this header and these tensors."""
    names = {np.dtype(each): name for name, each in DTYPES.items()}
    layout: dict[str, Any] = {"__metadata__": {ENTRY: json.dumps(header)}}
    at = 0
    for key, each in tensors.items():
        layout[key] = {"dtype": names[each.dtype], "shape": each.shape, "data_offsets": [at, at + each.nbytes]}
        at += each.nbytes
    return joined(layout, b"".join(each.tobytes() for each in tensors.values()))


def joined(layout: Any, data: bytes) -> bytes:
    """The bytes of a container; its header is filled up with blanks, as writers do."""
    text = json.dumps(layout).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + data


def _encoded(text: str) -> bytes:
    """The bytes of a text, be it lone surrogates or bytes that were never UTF-8."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
