"""Programs that tag with python-crfsuite, run with `widemargin.crfsuite` in its place: the same outputs, and how fast.

    python benchmarks/clients.py [NAME ...] [--inputs 300] [--runs 3] [--out bench/clients.json]

Each client is asked about the same generated inputs in fresh processes, in turn with python-crfsuite and with
``sys.modules["pycrfsuite"] = widemargin.crfsuite``, and nothing else changed. Its outputs must be the same. Times are
medians: until the first answer, which includes all imports and loading the model, and of every further input.
Clients that are not installed are reported as such. `ingredient-parser-nlp` ships a model up to version 2.1.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from random import Random
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

ENGLISH = "the old man saw a small dog near Boston on Monday and bought 3 apples from Mr. Smith quickly"
THAI = "ฉัน ไป โรงเรียน ที่ กรุงเทพ เมื่อวาน นี้ กับ เพื่อน และ กิน ข้าว อร่อย มาก วันที่ 15 มกราคม นาย สมชาย ใจดี บริษัท ครับ"
KHMER = "ឃាត់ខ្លួន ជនសង្ស័យ ០៤នាក់ ខួបឆ្នាំទី ២៨ ប្រទេស កម្ពុជា សាលារៀន ភ្នំពេញ ទៅផ្សារ ជាមួយ មិត្តភក្តិ"
BURMESE = "ဖေဖေ နဲ့ မေမေ ၏ ကျေးဇူးတရား မှာ ကြီးမား လှ ပေ သည် ကျောင်း သို့ သွား မြန်မာ နိုင်ငံ"
VIETNAMESE = "trường đại học bách khoa Hà Nội tổng thống Mỹ tới Việt Nam bác sĩ bây giờ có thể chợ nổi tiếng ở Sài Gòn"
SINHALA = "මම ගෙදර යමි ඔහු පොත කියවයි අපි පාසල ගියෙමු ලංකාව"
PEOPLE = "Mr Mrs Dr George Maria Anna-Lena J. 'Gob' Wang Bluth Smith O'Brien García Lee II Jr. & Sons Inc. Company LLC"
FOODS = "1 2 3 1/2 2½ one 14 oz 200g 3-4 pinch of pounds cups tbsp pork shoulder red onions flour butter finely chopped"
MODEL = Path(tempfile.gettempdir()) / "widemargin-clients" / "nltk.crfsuite"


def drawn(words: str, between: str = " ") -> Callable[[Random], str]:
    """A generator of texts of these words."""
    return lambda rng: between.join(rng.choices(words.split(), k=rng.randint(2, 14)))


def address(rng: Random) -> str:
    from widemargin.data.generators import addresses

    return " ".join(addresses(1, seed=rng.randrange(10**6))[0][0])


class Client(NamedTuple):
    """An installed package, what makes inputs for it, and how it is used: imports, then an answer per input."""

    package: str
    draw: Callable[[Random], str]
    use: Callable[[], Callable[[str], Any]]


def usaddress() -> Callable[[str], Any]:
    import usaddress

    return usaddress.parse


def probablepeople() -> Callable[[str], Any]:
    import probablepeople

    return lambda text: [probablepeople.parse(text, type=kind) for kind in ("generic", "person", "company")]


def nltk_tagger() -> Callable[[str], Any]:
    import nltk
    from nltk.tag import CRFTagger

    nltk.data.path.append(str(MODEL.parent))
    tagger = CRFTagger()
    tagger.set_model_file(str(MODEL))
    return lambda text: tagger.tag(text.split())


def thai_sentences() -> Callable[[str], Any]:
    from pythainlp.tokenize import sent_tokenize

    return lambda text: sent_tokenize(text, engine="crfcut")


def thai_syllables() -> Callable[[str], Any]:
    from pythainlp.tokenize import subword_tokenize

    return lambda text: subword_tokenize(text, engine="han_solo")


def thai_names() -> Callable[[str], Any]:
    import pythainlp
    from pythainlp.tag import thainer

    # The package has the model, but looks for it among downloads, and for a part-of-speech tagger, too.
    model = Path(pythainlp.__file__).parent / "corpus" / "thainer_crf_1_5_1.model"
    thainer.get_corpus_path = lambda *_, **__: str(model)
    thainer.pos_tag = lambda tokens, **_: [(token, ("NN", "VV", "PS")[len(token) % 3]) for token in tokens]
    return thainer.ThaiNameTagger(version="1.5").get_ner


def thai_chunks() -> Callable[[str], Any]:
    from pythainlp.tag import chunk_parse

    tags = ("NCMN", "VACT", "PPRS", "RPRE", "ADVN")
    return lambda text: chunk_parse([(word, tags[len(word) % 5]) for word in text.split()])


def ingredients() -> Callable[[str], Any]:
    import nltk

    # Its part-of-speech tagger is a download of its own; any tags will do for a comparison.
    nltk.data.find = lambda *_: None
    nltk.pos_tag = lambda tokens: [
        (token, ("CD" if token[:1].isdigit() else "NN", "JJ")[len(token) % 2]) for token in tokens
    ]
    from ingredient_parser import parse_ingredient

    return lambda text: repr(parse_ingredient(text))


def ssg() -> Callable[[str], Any]:
    import ssg

    return ssg.syllable_tokenize


def khmercut() -> Callable[[str], Any]:
    from khmercut import tokenize

    return tokenize


def pyidaungsu() -> Callable[[str], Any]:
    import pyidaungsu

    return lambda text: pyidaungsu.tokenize(text, form="word")


def underthesea() -> Callable[[str], Any]:
    from underthesea import chunk, ner, pos_tag

    return lambda text: [pos_tag(text), chunk(text), ner(text)]


def pyvi() -> Callable[[str], Any]:
    from pyvi import ViPosTagger, ViTokenizer

    return lambda text: [list(each) for each in ViPosTagger.postagging(ViTokenizer.tokenize(text))]


def pyvi_accents() -> Callable[[str], Any]:
    from pyvi import ViUtils

    return lambda text: ViUtils.add_accents(ViUtils.remove_accents(text).decode())


def khmer_nltk() -> Callable[[str], Any]:
    import khmernltk

    return lambda text: [khmernltk.word_tokenize(text), khmernltk.pos_tag(text)]


def sinling() -> Callable[[str], Any]:
    from sinling import POSTagger

    tagger = POSTagger()
    return lambda text: tagger.predict([text.split()])


CLIENTS = {
    "usaddress": Client("usaddress", address, usaddress),
    "probablepeople": Client("probablepeople", drawn(PEOPLE), probablepeople),
    "nltk": Client("nltk", drawn(ENGLISH), nltk_tagger),
    "pythainlp-crfcut": Client("pythainlp", drawn(THAI), thai_sentences),
    "pythainlp-han-solo": Client("pythainlp", drawn(THAI, ""), thai_syllables),
    "pythainlp-thainer": Client("pythainlp", drawn(THAI, ""), thai_names),
    "pythainlp-chunk": Client("pythainlp", drawn(THAI), thai_chunks),
    "ingredient-parser": Client("ingredient-parser-nlp", drawn(FOODS), ingredients),
    "ssg": Client("ssg", drawn(THAI, ""), ssg),
    "khmercut": Client("khmercut", drawn(KHMER, ""), khmercut),
    "pyidaungsu": Client("pyidaungsu", drawn(BURMESE, ""), pyidaungsu),
    "underthesea": Client("underthesea", drawn(VIETNAMESE), underthesea),
    "pyvi": Client("pyvi", drawn(VIETNAMESE), pyvi),
    "pyvi-accents": Client("pyvi", drawn(VIETNAMESE), pyvi_accents),
    "khmer-nltk": Client("khmer-nltk", drawn(KHMER, ""), khmer_nltk),
    "sinling": Client("sinling", drawn(SINHALA), sinling),
}


def ask(name: str, stand_in: bool, n: int) -> dict[str, Any]:
    """In a fresh process: the answers of a client, the seconds until the first, and those of each further one."""
    client = CLIENTS[name]
    rng = Random(name)
    inputs = [client.draw(rng) for _ in range(n)]
    begin = perf_counter()
    if stand_in:
        import widemargin.crfsuite

        sys.modules["pycrfsuite"] = widemargin.crfsuite
    answer = client.use()
    outputs, seconds = [], []
    for text in inputs:
        try:
            outputs.append(repr(answer(text)))
        except Exception as error:  # the same for both, it is hoped
            outputs.append(f"{type(error).__name__}: {error}")
        seconds.append(perf_counter() - begin)
        begin = perf_counter()
    return {"outputs": outputs, "first": seconds[0], "each": median(seconds[1:])}


def compared(name: str, n: int, runs: int) -> dict[str, Any]:
    """The row of a client."""
    try:
        found: dict[str, Any] = {"version": version(CLIENTS[name].package)}
    except PackageNotFoundError:
        return {"outcome": "not installed"}
    answers: dict[str, list[Any]] = {"peer": [], "ours": []}
    for _ in range(runs):
        for who, rows in answers.items():
            command = [sys.executable, __file__, name, "--inputs", str(n), "--ask", who]
            done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
            if done.returncode:
                return found | {"outcome": f"{who} fails: {done.stderr.strip().splitlines()[-1]}"}
            rows.append(json.loads(done.stdout.splitlines()[-1]))
    for who, rows in answers.items():
        found |= {f"{who}_{time}_ms": 1000 * median(row[time] for row in rows) for time in ("first", "each")}
    theirs, ours = (rows[0]["outputs"] for rows in answers.values())
    different = [k for k in range(n) if ours[k] != theirs[k]]
    found["outcome"] = (
        f"{len(different)} of {n} differ: {theirs[different[0]]} {ours[different[0]]}" if different else "same"
    )
    found["failures"] = sum(": " in each and each.split(":")[0].endswith("Error") for each in theirs)
    return found


def train_nltk() -> None:
    """NLTK ships no model: a small one, trained by python-crfsuite."""
    try:
        import nltk
        from nltk.tag import CRFTagger
    except ImportError:
        return
    MODEL.parent.mkdir(exist_ok=True)
    nltk.data.path.append(str(MODEL.parent))
    rng, tags = Random(1), {word: ("NN", "VB", "DT", "IN")[len(word) % 4] for word in ENGLISH.split()}
    sentences = [[(word, tags[word]) for word in rng.choices(list(tags), k=8)] for _ in range(200)]
    CRFTagger().train(sentences, str(MODEL))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"any of {', '.join(CLIENTS)}")
    parser.add_argument("--inputs", type=int, default=300)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--ask", choices=["peer", "ours"], help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.ask:
        print(json.dumps(ask(given.names[0], given.ask == "ours", given.inputs)))
        return
    if not given.names or "nltk" in given.names:
        train_nltk()
    print(f"{'client':20} {'version':9} {'first, ms':>17} {'each, ms':>17}  outputs")
    rows = {}
    for name in given.names or CLIENTS:
        row = rows[name] = compared(name, given.inputs, given.runs)
        times = (
            [f"{row[f'peer_{time}_ms']:.4g} → {row[f'ours_{time}_ms']:.4g}" for time in ("first", "each")]
            if "peer_first_ms" in row
            else ["", ""]
        )
        failed = f", {row['failures']} of them errors" if row.get("failures") else ""
        print(
            f"{name:20} {row.get('version', ''):9} {times[0]:>17} {times[1]:>17}  {row['outcome'][:300]}{failed}",
            flush=True,
        )
    if given.out:
        given.out.parent.mkdir(parents=True, exist_ok=True)
        given.out.write_text(json.dumps(rows, indent=1, ensure_ascii=False), encoding="utf-8")


if __name__ == "__main__":
    main()
