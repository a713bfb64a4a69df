"""Milliseconds of one loss-augmented decode: 200 mentions of a text, and the first k of many documents."""

from time import process_time
from typing import Any

import numpy as np
from experiment import SEED, Bench
from yu_joachims_texts import SIZES, read

from widemargin.core.sparse import Rows, boundaries
from widemargin.tasks.cluster.files import read_documents
from widemargin.tasks.cluster.model import DECODERS
from widemargin.tasks.rank.examples import PositionExamples
from widemargin.text.mentions import Mentions

N_MENTIONS, WIDTH = 200, 10


def oracles(bench: Bench) -> list[tuple[str, float]]:
    """What is decoded, and the milliseconds that it takes."""
    extractor, _ = read(bench.data, {"train": bench.size(SIZES["train"], 4)})
    documents = read_documents(str(bench.data / "gum-open" / "dev.conllu")).X
    mentions = next(each for each in documents if len(each) >= N_MENTIONS)
    pairs = extractor.transform([Mentions(mentions.columns, mentions.sentence, mentions.spans[:N_MENTIONS])])
    rng, batch, found = np.random.default_rng(SEED), np.zeros(1, dtype=np.int32), []
    w = rng.normal(size=extractor.n_features)
    for decoder, kind in DECODERS.items():
        texts = kind(pairs, extractor.n_features, np.arange(N_MENTIONS, dtype=np.int32) // 2)
        found.append((f"{N_MENTIONS} mentions, {decoder}", milliseconds(texts, w, batch)))
    for n in bench.size((100_000, 1_000_000), (100_000,)):
        values, grades = rng.normal(size=(n, WIDTH)), rng.integers(0, 5, n).astype(np.int32)
        rows = Rows(np.arange(n + 1) * WIDTH, np.tile(np.arange(WIDTH, dtype=np.int32), n), values.ravel())
        for k in (10, 1000):
            ranked = PositionExamples(rows, WIDTH, boundaries([n]), grades, k=k)
            found.append((f"{n:,} documents, precision@{k}", milliseconds(ranked, rng.normal(size=WIDTH), batch)))
    return found


def milliseconds(examples: Any, w: np.ndarray, batch: np.ndarray) -> float:
    """The median of thirty calls in the processor's time, after one that compiles."""
    times = []
    for _ in range(31):
        begin = process_time()
        examples.decode(w, batch, error_scale=1.0)
        times.append(process_time() - begin)
    return 1000 * float(np.median(times[1:]))
