"""The grammar behind `generators.addresses`: how addresses of four countries are laid out, and from which words.

`LAYOUTS` are lines separated by `/`. A line is a row of `label:symbol` fields, optional ones marked `?`; the label `O`
is for words outside every field. `GRAMMAR` expands a symbol into one of its alternatives: `{symbol}` is expanded in
turn, `0` becomes any digit, `1` a digit other than zero and `@` a capital letter, so that `1000` reads as the size of
number it produces.

Words are shared on purpose, as they are in life: Lincoln is a person, a firm, a street and a city of two countries; St
is Saint or Street; five digits are a postcode or a house. Only the neighbours tell, and sometimes not even they.
Town names built from two halves (`{town_head}{town_tail}`) make a vocabulary that no small training set exhausts.
"""

from collections.abc import Mapping, Sequence


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
