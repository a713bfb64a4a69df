"""Generated records of people, some of them several times, to be told apart: deduplication.

Everyone has a name, a street, a town, a telephone number and a year of birth. A copy is written down carelessly: first
names shrink to initials or swap places with surnames, letters are dropped, streets are abbreviated, numbers are
mistyped, people move, and fields stay empty. Families share a surname and an address, so no field alone decides.
"""

from random import Random

from widemargin.core.checks import check_number
from widemargin.core.header import Range
from widemargin.data.generators import mistype
from widemargin.errors import WidemarginError

FIRST = "Anna Anton Berta Boris Carla Carl Dora David Edda Emil Frida Franz Greta Georg Hanna Hugo Ida Ivan Jana Jakob"
LAST = "Albers Bergmann Carstens Dietrich Engel Fischer Gruber Hoffmann Iversen Jansen Keller Lehmann Meier Neumann"
STREETS = "Station Church Garden Mill School Castle Forest Bridge Market Harbour"
TOWNS = "Aarau Bremen Celle Dessau Erfurt Fulda Gotha Halle Iserlohn Jena"
SHORT = {"Street": "St.", "Road": "Rd", "Avenue": "Ave."}

Record = dict[str, str | int | None]


def duplicates(
    n: int, seed: int = 0, *, size: tuple[int, int] = (10, 30), noise: float = 0.3
) -> tuple[list[list[Record]], list[list[int]]]:
    """Lists of records, and for each record the number of the person it is about.

    Parameters
    ----------
    n : how many lists
    seed : the same seed gives the same lists
    size : fewest and most records of a list
    noise : chance that a given field of a copy is written differently; a third of it is the chance that it is empty

    >>> records, people = duplicates(1, size=(4, 4))
    >>> people[0]
    [0, 1, 0, 0]
    """
    smallest, largest = size
    check_number("n", n, Range(0), whole=True)
    check_number("noise", noise, Range(0, most=1))
    if not 1 <= smallest <= largest:
        raise WidemarginError(f"size must be (fewest, most) and at least 1, not {size}")
    rng = Random(seed)
    drawn = [_list(rng, rng.randint(smallest, largest), noise) for _ in range(n)]
    return [records for records, _ in drawn], [people for _, people in drawn]


def _list(rng: Random, length: int, noise: float) -> tuple[list[Record], list[int]]:
    """Records in random order, numbered by person in the order of first appearance."""
    people: list[Record] = []
    written: list[tuple[int, Record]] = []
    while len(written) < length:
        people.append(_person(rng, people))
        copies = min(1 + int(rng.expovariate(0.7)), length - len(written))
        written += [(len(people) - 1, _copy_of(rng, people[-1], noise)) for _ in range(copies)]
    rng.shuffle(written)
    number: dict[int, int] = {}
    return [record for _, record in written], [number.setdefault(who, len(number)) for who, _ in written]


def _person(rng: Random, others: list[Record]) -> Record:
    """Somebody new, perhaps a relative of somebody who is there already."""
    address: Record = {
        "street": f"{rng.choice(STREETS.split())} {rng.choice(list(SHORT))} {rng.randint(1, 99)}",
        "town": rng.choice(TOWNS.split()),
        "phone": f"0{rng.randint(100, 999)} {rng.randint(10**5, 10**6 - 1)}",
    }
    last = rng.choice(LAST.split())
    if others and rng.random() < 0.3:
        relative = rng.choice(others)
        last = str(relative["name"]).split()[-1]
        address = {name: relative[name] for name in address}
    return {"name": f"{rng.choice(FIRST.split())} {last}", **address, "born": rng.randint(1930, 2010)}


def _copy_of(rng: Random, person: Record, noise: float) -> Record:
    copy = dict(person)
    for field, value in person.items():
        if rng.random() < noise / 3:
            copy[field] = None
        elif rng.random() < noise:
            copy[field] = _differently(rng, field, value)
    return copy


def _differently(rng: Random, field: str, value: str | int | None) -> str | int | None:
    """The same value, as somebody else might write it."""
    text = str(value)
    match field:
        case "name":
            first, last = text.split()
            return rng.choice((f"{first[0]}. {last}", f"{last}, {first}", f"{first} {mistype(rng, last)}", last))
        case "street":
            name, kind, house = text.split()
            return rng.choice(
                (f"{name} {SHORT[kind]} {house}", f"{mistype(rng, name)} {kind} {house}", f"{name} {kind}")
            )
        case "born":
            return int(text) + rng.choice((-1, 1))
        case "phone":
            return text.replace(" ", "") if rng.random() < 0.5 else text[:-1] + str(rng.randint(0, 9))
        case _:
            return mistype(rng, text)
