"""Generated examples: postal addresses to label and bipartite graphs to match.

The demo, the examples and the tests use them: there is nothing to download, any number can be drawn, and a seed gives
the same data on every platform. Both are hard enough to tell methods apart. An address is drawn from the grammar of
`LAYOUTS` and `GRAMMAR`, whose words mean different things in different places, and then disturbed as if typed
carelessly. A matching is optimal for hidden weights only up to noise, so that no weights reproduce all matchings.

`LAYOUTS` are lines separated by `/`. A line is a row of `label:symbol` fields, optional ones marked `?`; the label `O`
is for words outside every field. `GRAMMAR` expands a symbol into one of its alternatives: `{symbol}` is expanded in
turn, `0` becomes any digit, `1` a digit other than zero and `@` a capital letter, so that `1000` reads as the size of
number it produces.

Words are shared on purpose, as they are in life: Lincoln is a person, a firm, a street and a city of two countries; St
is Saint or Street; five digits are a postcode or a house. Only the neighbours tell, and sometimes not even they.
Town names built from two halves (`{town_head}{town_tail}`) make a vocabulary that no small training set exhausts.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from random import Random
from string import ascii_uppercase
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from widemargin.core.checks import check_number
from widemargin.core.header import Range
from widemargin.errors import WidemarginError


def _alternatives(rules: Mapping[str, str]) -> dict[str, Sequence[str]]:
    """The alternatives of each symbol, from a text that separates them by commas."""
    return {symbol: [alternative.strip() for alternative in text.split(",")] for symbol, text in rules.items()}


LAYOUTS = (
    "name:person? / house:us_number street:us_street unit:us_unit? / city:us_city / region:us_state postcode:zip"
    " / country:us_country?",
    "company:company / house:us_number street:us_street / unit:us_unit? / city:us_city / region:us_state postcode:zip",
    "O:attention? name:person / company:company? / box:box / city:us_city / region:us_state postcode:zip",
    "house:us_number street:us_street unit:us_unit? / city:us_city / region:us_state postcode:zip?",
    "name:person? / unit:uk_unit? / building:building? / house:uk_number street:uk_street / city:uk_city"
    " / region:uk_county? / postcode:uk_postcode / country:uk_country?",
    "company:company? / building:building / street:uk_street / city:uk_city / postcode:uk_postcode",
    "O:attention? name:person / unit:uk_unit? / house:uk_number street:uk_street / city:uk_city postcode:uk_postcode",
    "company:company / box:box / city:uk_city / postcode:uk_postcode / country:uk_country?",
    "name:de_person? / street:de_street house:de_number / postcode:de_postcode city:de_city / country:de_country?",
    "company:de_company / name:de_person? / street:de_street house:de_number / postcode:de_postcode city:de_city",
    "company:de_company / box:de_box / postcode:de_postcode city:de_city / country:de_country?",
    "name:fr_person? / unit:fr_unit? / house:fr_number street:fr_street / postcode:fr_postcode city:fr_city"
    " / country:fr_country?",
    "company:fr_company / house:fr_number street:fr_street / box:fr_box? / postcode:fr_postcode city:fr_city",
)

GRAMMAR = _alternatives(
    {
        # Words that name people, streets, cities and firms alike.
        "shared": """Washington, Lincoln, Jackson, Madison, Franklin, Clinton, Hamilton, Houston, Austin, Jefferson,
            Monroe, Marion, Paris, Berlin, Hanover, Cleveland, Wellington, Nelson, Lancaster, Bradford, Preston,
            Kent, Chester, Stafford, Windsor, Victoria, Georgia, Virginia, Carolina, Florence, Logan, Warren,
            Douglas, Sheridan, Grant, Salem, Troy, Dallas, Denver, Orlando, Carson, Park, Church, Hill, Brooks,
            Rivers, Fields""",
        "tree": "Oak, Maple, Cedar, Elm, Pine, Walnut, Chestnut, Willow, Birch, Ash, Hazel, Laurel, Holly, Juniper",
        "trees": "Oaks, Maples, Cedars, Elms, Pines, Walnuts, Willows, Birches, Laurels, Hollies",
        "saint": "George, John, Paul, Mary, James, Louis, Anne, Andrew, Helen, Albans, Ives, Charles, Augustine",
        "st": "St, St., Saint",
        "compass": "N, S, E, W, North, South, East, West, NW, SE, N., W.",
        "ordinal": "2nd, 3rd, 4th, 5th, 42nd, 23rd, 57th, First, Second, Third, Fifth, Seventh",
        "town_head": """Ash, Kirk, Thorn, Whit, Had, Wood, Black, Mill, Stan, Bex, Lang, Hart, Oak, Brad, Red, Marl,
            Wick, Sel, Hun, Cold, North, East, Farn, Led, Wal, Ber, Clay, Elm, Gold, Hol""",
        "town_tail": """ford, ham, ton, by, bury, ley, field, worth, wick, stead, bridge, mouth, combe, den, well,
            stone""",
        "town": "{town_head}{town_tail}",
        # Who.
        "first": """Anna, Ben, Carol, David, Emily, Frank, Grace, Henry, Irene, Jack, Karen, Leo, Nina, Oscar,
            Paula, Ruth, Samuel, Tara, Victor, Wendy, Martin, Olivia, Priya, Wei, Fatima, Diego, {saint}, {shared}""",
        "last": """{shared}, {shared}, {shared}, {town}, Smith, Jones, Brown, Miller, Carter, Baker, Murphy, Walsh,
            Patel, Nguyen, Garcia, Okafor, Kowalski, Rossi, Hughes, Foster, Reed, Ward, Street, Banks, Marsh, Lane,
            Court""",
        "title": "Mr, Mrs, Ms, Dr, Dr., Mr., Prof.",
        "person": """{first} {last}, {first} {last}, {first} {last}, {title} {last}, {first} @. {last},
            {last} {first}, @ {last}""",
        "attention": "c/o, Attn, Attn:, FAO",
        "trade": """Dental, Plumbing, Foods, Motors, Books, Bakery, Insurance, Logistics, Design, Systems, Realty,
            Legal, Florists, Pharmacy, Hardware, Hotel, Partners, Consulting, School, Church, Hospital, Library,
            House, Bank""",
        "legal": "Inc, Inc., LLC, Ltd, Ltd., PLC, Co., Group, Corp",
        "company": """{last} & Sons, {last} {trade}, {last} {trade} {legal}, {last} & {last},
            {last} & {last} {legal}, {us_city} {trade}, {uk_city} {trade}, {st} {saint} {trade}, {last} {legal},
            {first} {last} {trade}, {last} {last}, {first} {last}, {last} {land}, {shared}, {town} {land},
            {tree} Street {trade}, University of {us_city}, Bank of {us_state}, The {tree} {trade},
            {compass} {town} {trade}""",
        "box": "PO Box 10, PO Box 1000, P.O. Box 100, POB 1000, Box 100, Post Office Box 100",
        # United States.
        "us_number": "100, 1000, 1000, 10000, 10, 100@, 100-@",
        "us_street_type": """Street, St, St., Avenue, Ave, Ave., Road, Rd, Rd., Drive, Dr, Dr., Lane, Ln, Boulevard,
            Blvd, Court, Ct, Place, Pl, Parkway, Pkwy, Way, Circle, Terrace, Square, Trail, Hwy""",
        "us_street_name": """{shared}, {shared}, {tree}, {tree}, {ordinal}, {ordinal}, {last}, {tree} {land},
            {shared} {land}, {st} {saint}, Main, Broad, Market, Spring, Lake, River, Mill, College,
            Martin Luther King""",
        "us_street": """{us_street_name} {us_street_type}, {us_street_name} {us_street_type},
            {us_street_name} {us_street_type}, {compass} {us_street_name} {us_street_type},
            {us_street_name} {us_street_type} {compass}, {us_street_name}, {us_street_name}, {shared} {land},
            Broadway, Avenue @, Avenue of the {trees}, Highway 10, County Road 100, The {land}""",
        "land": """Park, Hill, Hills, Grove, Springs, Ridge, Valley, Lake, Heights, Creek, Falls, Point, Meadows,
            Green""",
        "us_unit": "Apt 10, Apt 1@, Apartment 10, Apt. 1@, #10, # 1@, Unit 10, Unit @, Suite 100, Ste 100, Fl 1, 1@",
        "us_city": """{shared}, {shared}, {shared}, {town}, {shared} {land}, {tree} {land}, {shared} City,
            {st} {saint}, {compass_word} {shared}, {compass_word} {town}, New {town}, Fort {last}, Port {saint},
            Lake {shared}, Park City, Avenue City, Broadway, Boston, Chicago, Seattle, Portland, Phoenix, New York,
            Los Angeles""",
        "compass_word": "North, South, East, West",
        "us_state": """CA, NY, TX, WA, IL, MA, PA, OH, GA, FL, CO, OR, VA, NE, WI, MO, CT, DC, LA, IN, ME,
            Washington, Georgia, Virginia, California, New York, Texas, North Carolina, N. Carolina, West Virginia,
            Ohio, Calif., Mass.""",
        "zip": "00000, 00000, 00000, 00000-0000",
        "us_country": "USA, US, United States, U.S.A.",
        # United Kingdom.
        "uk_number": "1, 10, 10, 100, 10@, 10-10",
        "uk_street_type": """Road, Rd, Street, St, St., Lane, Close, Avenue, Ave, Gardens, Gdns, Way, Hill, Mews,
            Row, Green, Court""",
        "uk_street_name": """{shared}, {tree}, {town}, {town}, {st} {saint}, {st} {saint}'s, High, Church, Station,
            Mill, Park, London, Queen, King, Upper {shared}, Old {town}""",
        "uk_street": """{uk_street_name} {uk_street_type}, {uk_street_name} {uk_street_type},
            {uk_street_name} {uk_street_type}, The {land}, {trees}, {town} {land}, Upper {town}""",
        "uk_unit": """Flat 1, Flat 10, Flat @, Flat 1@, Apartment 10, Unit 10, Room 100, 2nd Floor, Basement Flat,
            Apt 1""",
        "building": """{tree} House, {tree} Cottage, {shared} House, {shared} Court, The {trees}, {town} Hall,
            Old Mill, {tree} Lodge""",
        "uk_city": """{town}, {town}, {town}, {shared}, {st} {saint}, {town} on Sea, {town}-on-{town}, Great {town},
            Little {town}, {shared} {land}, {town} {land}, Upper {town}, {town} Road, London, Leeds, York, Lincoln,
            Durham, Bath""",
        "uk_county": """Kent, Surrey, Essex, Devon, Lincs, Lancashire, Durham, West Sussex, Herts, Cheshire,
            North Yorkshire, Oxon""",
        "uk_postcode": "@@1 0@@, @@10 0@@, @1 0@@, @10 0@@, @@10@@, @1@ 0@@",
        "uk_country": "UK, United Kingdom, England, Great Britain",
        # Germany.
        "de_first": """Anna, Jürgen, Karl, Martin, Paul, Sabine, Uwe, Katrin, Heinz, Ayşe, Jörg, Lena, Victoria,
            Marion""",
        "de_last": """Müller, Schmidt, Fischer, Weber, Becker, Schulz, Berliner, Hamburger, Linden, Bach, Park,
            Frank, Brandt, Berg""",
        "de_person": """{de_first} {de_last}, {de_first} {de_last}, Frau {de_last}, Herrn {de_first} {de_last},
            Dr. {de_last}""",
        "de_trade": "Bau, Druck, Möbel, Reisen, Technik, Verlag, Apotheke, Autohaus, Bäckerei, Hotel, Elektro",
        "de_company": """{de_last} GmbH, {de_last} {de_trade} GmbH, {de_trade} {de_last}, {de_last} & Söhne KG,
            {de_city} {de_trade} AG, Hotel {de_city}, {de_last} {de_trade}""",
        "de_head": """Linden, Bahnhof, Berg, Garten, Schul, Kirch, Mühlen, Rosen, Wald, Haupt, Hafen, Brücken, Bach,
            Park, Berliner""",
        "de_tail": "straße, strasse, str., weg, allee, platz, gasse, ring, ufer",
        "de_street": """{de_head}{de_tail}, {de_head}{de_tail}, {de_last}{de_tail}, Berliner Straße,
            Hamburger Allee, Am Markt, Am {de_head}{de_tail}, Unter den Linden, Straße des 8. Mai,
            Alte {de_head}{de_tail}, {de_first}-{de_last}-Straße""",
        "de_number": "1, 10, 10, 100, 10a, 10 b, 10-10",
        "de_postcode": "00000, 00000, 00000, D-00000, D 00000",
        "de_city": """Berlin, Hamburg, München, Köln, Bonn, Hanover, Frankfurt am Main, Frankfurt, {de_town},
            {de_town}, {de_town}, Bad {de_town}, {de_town} an der Oder, Halle, St. {saint}, Linden""",
        "de_town": "{de_head}berg, {de_head}heim, {de_head}dorf, {de_last}hausen, {de_last}stadt, {de_last}bach",
        "de_box": "Postfach 1000, Postfach 10 00, Postfach 10 00 00",
        "de_country": "Germany, Deutschland, DE",
        # France.
        "fr_first": "Anne, Louis, Marie, Paul, Claire, Luc, Victor, Hélène, Florence, Denis, Martin, Charles",
        "fr_last": """Martin, Dupont, Moreau, Girard, Laurent, Lambert, Hugo, Paris, Denis, Fontaine, Lyon, Rivière,
            Duparc""",
        "fr_person": "{fr_first} {fr_last}, M. {fr_last}, Mme {fr_first} {fr_last}, {fr_last} {fr_first}",
        "fr_company": """{fr_last} SA, {fr_last} et Fils, Boulangerie {fr_last}, Hôtel de {fr_city}, SARL {fr_last},
            Garage de la Place""",
        "fr_unit": "Bât. @, Bâtiment @, Apt 10, Appt 1, Esc. @, 2e étage",
        "fr_number": "1, 10, 10, 100, 10 bis, 10bis, 10 ter",
        "fr_way": "rue, rue, Rue, avenue, Avenue, av., bd, boulevard, place, chemin, impasse, allée",
        "fr_street": """{fr_way} de {fr_city}, {fr_way} {fr_first} {fr_last}, {fr_way} {fr_last}, {fr_way} du Parc,
            {fr_way} de la Fontaine, {fr_way} {fr_saint}, {fr_way} des {fr_thing}""",
        "fr_saint": "St {fr_first}, Saint-{fr_first}, St-{fr_first}",
        "fr_thing": "Lilas, Écoles, Vignes, Tilleuls, Moulins, Champs",
        "fr_postcode": "00000",
        "fr_city": """Paris, Lyon, Lille, Nantes, Tours, Paris 6e, Lyon Cedex 01, {fr_saint}, {fr_saint}-sur-Loire,
            {fr_head}-sur-Loire, La {fr_head}, {fr_head}{fr_tail}, {fr_head}{fr_tail}, Le {fr_head}, Fontaine""",
        "fr_head": "Mont, Roche, Ville, Beau, Clair, Haute, Belle, Pont, Châtel",
        "fr_tail": "fort, neuve, court, val, mont, ville, fontaine, lac",
        "fr_box": "BP 100, B.P. 10, CS 10000",
        "fr_country": "France, FRANCE",
    }
)


COMMAS = 0.4  # share of addresses written with a comma after each line
OPTIONAL = 0.4  # share of addresses in which a given optional field is filled in
CASES: tuple[Callable[[str], str], ...] = (str, str, str, str.upper, str.lower, str.capitalize)
SHORTEST_MISTYPED = 4  # a typo in a shorter word would turn one abbreviation into another
PLACEHOLDER = re.compile(r"\{(\w+)\}|[01@]")


class Field(NamedTuple):
    """Words of an address that belong together, such as those of its street."""

    label: str
    words: list[str]


def addresses(n: int, seed: int = 0, noise: float = 0.15) -> tuple[list[list[str]], list[list[str]]]:
    """Postal addresses as lists of tokens, and the BIO label of each token.

    American, British, German and French addresses, with recipients, companies, flats and post-office boxes, with and
    without commas, in upper and lower case. The fields are name, company, unit, building, house, street, box, city,
    region, postcode and country; commas and words such as "c/o" are labelled O.

    Parameters
    ----------
    n : how many addresses
    seed : the same seed gives the same addresses
    noise : chance that an address lacks one of its fields, that two of its lines have changed places, and that a given
        comma is forgotten. A quarter of it is the chance that a given word is mistyped.

    >>> tokens, labels = addresses(7)
    >>> print(*map("/".join, zip(tokens[6], labels[6])))
    Berlinerstraße/B-street 647/B-house ,/O 63812/B-postcode Berlin/B-city
    """
    check_number("n", n, Range(0), whole=True)
    check_number("noise", noise, Range(0, most=1))
    rng = Random(seed)
    drawn = [_address(rng, noise) for _ in range(n)]
    return [tokens for tokens, _ in drawn], [labels for _, labels in drawn]


def _address(rng: Random, noise: float) -> tuple[list[str], list[str]]:
    """One address: draw its fields, disturb them, write them down."""
    lines = _lines(rng, rng.choice(LAYOUTS))
    if rng.random() < noise:
        line = rng.choice(lines)
        line.remove(rng.choice(line))
        lines = [line for line in lines if line]
    if rng.random() < noise:
        upper = rng.randrange(len(lines) - 1)
        lines[upper], lines[upper + 1] = lines[upper + 1], lines[upper]
    comma = (1 - noise) if rng.random() < COMMAS else 0.0
    case = rng.choice(CASES)

    tokens: list[str] = []
    labels: list[str] = []
    for number, line in enumerate(lines):
        if number > 0 and rng.random() < comma:
            tokens.append(",")
            labels.append("O")
        for label, words in line:
            for position, word in enumerate(words):
                tokens.append(case(mistype(rng, word) if rng.random() < noise / 4 else word))
                labels.append(label if label == "O" else f"{'I' if position else 'B'}-{label}")
    return tokens, labels


def _lines(rng: Random, layout: str) -> list[list[Field]]:
    """The fields of one address line by line, as `layout` of `_address_words` has them."""
    lines = []
    for row in layout.split("/"):
        fields = [field.partition(":") for field in row.split() if field[-1] != "?" or rng.random() < OPTIONAL]
        if fields:
            lines.append([Field(label, _expand(rng, symbol.rstrip("?")).split()) for label, _, symbol in fields])
    return lines


def _expand(rng: Random, symbol: str) -> str:
    """One of the strings that `symbol` of the grammar stands for."""

    def fill(placeholder: re.Match[str]) -> str:
        match placeholder[0]:
            case "0":
                return str(rng.randrange(10))
            case "1":
                return str(rng.randrange(1, 10))
            case "@":
                return rng.choice(ascii_uppercase)
            case _:
                return _expand(rng, placeholder[1])

    return PLACEHOLDER.sub(fill, rng.choice(GRAMMAR[symbol]))


def mistype(rng: Random, word: str) -> str:
    """`word` with an inner letter dropped, doubled or swapped with the next."""
    if len(word) < SHORTEST_MISTYPED or not word.isalpha():
        return word
    at = rng.randrange(1, len(word) - 1)
    before, letter, after = word[:at], word[at], word[at + 1 :]
    return rng.choice((before + after, before + 2 * letter + after, before + after[0] + letter + after[1:]))


def matchings(
    n: int, seed: int = 0, *, size: tuple[int, int] = (3, 8), n_features: int = 12, noise: float = 0.1
) -> tuple[list[NDArray[np.float64]], list[tuple[int, ...]]]:
    """Bipartite graphs with a feature vector on every edge, and the perfect matching to be learned for each.

    The matching y sends node i of one side to node y[i] of the other and maximises the sum over i of
    ⟨w, x[i, y[i]]⟩ + noise · ε[i, y[i]], with standard normal x and ε. The hidden w has length 1 and depends on
    `n_features` alone: examples drawn with different seeds are training and test data of one task.

    Parameters
    ----------
    n : how many graphs
    seed : the same seed gives the same graphs
    size : fewest and most nodes k on each side
    n_features : length of the feature vectors; x has the shape (k, k, n_features)
    noise : standard deviation of the part of an edge's score that its features do not explain; the explained part has 1

    >>> x, y = matchings(3, size=(4, 4))
    >>> x[1].shape, y[1]
    ((4, 4, 12), (1, 2, 0, 3))
    """
    check_number("n", n, Range(0), whole=True)
    check_number("noise", noise, Range(0))
    check_number("n_features", n_features, Range(1), whole=True)
    from scipy.optimize import linear_sum_assignment  # slow to import, and only needed here

    smallest, largest = size
    if not 1 <= smallest <= largest:
        raise WidemarginError(f"size is the fewest and the most nodes on a side, at least 1, but {size} was given")
    w = np.cos(np.arange(n_features))
    w /= np.linalg.norm(w)
    rng = np.random.default_rng(seed)
    graphs, gold = [], []
    for k in rng.integers(smallest, largest, size=n, endpoint=True).tolist():
        x = rng.standard_normal((k, k, n_features))
        scores = x @ w + noise * rng.standard_normal((k, k))
        _, partners = linear_sum_assignment(scores, maximize=True)
        graphs.append(x)
        gold.append(tuple(partners.tolist()))
    return graphs, gold
