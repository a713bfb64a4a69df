"""A part in a file, as it is between two rounds: arrays and JSON like a checkpoint, with its digest, never a pickle."""

from dataclasses import dataclass, field
from typing import Any

from widemargin._types import FloatVector, IntVector
from widemargin.core.checkpoint import digest, fingerprint
from widemargin.core.contents import contents_digest
from widemargin.core.header import Place, mapping, plain, record, text
from widemargin.core.model_file import read_model, write_model
from widemargin.core.packing import Arrays, pack, unpack
from widemargin.core.problem import Problem
from widemargin.core.solver import Solver
from widemargin.core.stored import Stored
from widemargin.errors import ModelFileError, WidemarginError
from widemargin.parts.messages import NOTHING, Mark

STRUCTURE = "part"


@dataclass(slots=True)
class Saved:
    """A solver's state, the slacks that the oracle last saw, and the σ′ that α is scaled by, after `rounds` rounds.

    `z` and `u` are empty where rounds start from w itself. In the last round w moved at the indices `together` by
    `by_together`, by this part alone at `own` by `by_own`. `path` is that of the part's `Mark`.
    """

    state: Any
    slacks: FloatVector
    together: IntVector = field(default_factory=lambda: NOTHING.indices)
    by_together: FloatVector = field(default_factory=lambda: NOTHING.values)
    own: IntVector = field(default_factory=lambda: NOTHING.indices)
    by_own: FloatVector = field(default_factory=lambda: NOTHING.values)
    z: FloatVector = field(default_factory=lambda: NOTHING.values)
    u: FloatVector = field(default_factory=lambda: NOTHING.values)
    rounds: int = 0
    sigma: float = 1.0
    path: str = ""


def write_part(path: str, part: Any, saved: Saved) -> None:
    """Write a part to a file."""
    arrays: Arrays = {}
    content = pack(saved, "part", arrays)
    header = {"structure": STRUCTURE, "about": part.about, "content": content, "digest": digest(content, arrays)}
    write_model(path, header, arrays)


def read_part(path: str, part: Any, fresh: Saved) -> Saved:
    """What `write_part` wrote for the same part of the same run, filled into the state of `fresh`."""
    header, arrays = read_model(path)
    stored = Stored(Place(f"the part {path}"), header, arrays)
    stored.checked({"structure": text(), "about": mapping(plain()), "content": record({}), "digest": text()})
    if header["structure"] != STRUCTURE:
        raise ModelFileError(f"{path} is not a part of a run")
    if header["digest"] != digest(header["content"], arrays):
        raise stored.place.damaged("its contents do not match its digest")
    if header["about"] != part.about:
        raise WidemarginError(
            f"the part {path} belongs to another run or to other data, or is another part; start afresh"
        )
    saved: Saved = unpack(header["content"], fresh, arrays, stored.place, part.problem)
    return saved


def about_part(problem: Problem, solver: Solver, number: int) -> dict[str, Any]:
    """All that a part is made from: its number, its problem with the C of the whole, and the contents of its data."""
    return {"part": number, **fingerprint(problem, solver), "contents": contents_digest(problem.examples)}


def mark_of(about: dict[str, Any]) -> Mark:
    """The mark of a fresh part."""
    return Mark(Mark("").after(about))
