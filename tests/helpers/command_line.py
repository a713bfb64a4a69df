"""The command line as the tests call it."""

import json
import os
import re
import subprocess
import sys

from click.testing import CliRunner, Result

from widemargin.cli.commands import main
from widemargin.data.generators import addresses


def run(*args: object, stdin: str | bytes | None = None) -> Result:
    result = CliRunner().invoke(main, [str(arg) for arg in args], input=stdin)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


PROGRESS = re.compile(
    r"(.*: )?(.*, )?(epoch \d+(/\d+)?  .* s|stopped by \w+ after \d+ epochs|compil(ing|ed) kernels.*)\n"
    r"|read [\d,]+ examples, [\d,]+ MB of arrays\n"
    r"|\d+ % of [\d,]+ steps  .* s\n"
    r"|(a tagger for \w+(, part \d+/\d+)?|the parser)\n"
)


def complaints(stderr: str) -> str:
    """Standard error without the lines that tell of progress."""
    return "".join(line for line in stderr.splitlines(keepends=True) if not PROGRESS.fullmatch(line))


def succeed(*args: object, stdin: str | bytes | None = None) -> str:
    result = run(*args, stdin=stdin)
    assert (result.exit_code, complaints(result.stderr)) == (0, "")
    return result.stdout


def fail(*args: object, stdin: str | bytes | None = None) -> str:
    """The one sentence that a wrong command line is answered with."""
    result = run(*args, stdin=stdin)
    assert result.exit_code == 2
    assert result.stdout == ""
    sentence = complaints(result.stderr)
    assert sentence.startswith("error: ")
    assert sentence.count("\n") == 1
    return sentence.removeprefix("error: ").rstrip("\n")


def written(format_: str, n: int, seed: int) -> str:
    """Addresses in a format, with columns, comments and blanks beside words and labels that must survive."""
    blocks = []
    for i, (tokens, labels) in enumerate(zip(*addresses(n, seed), strict=True)):
        pairs = list(zip(tokens, labels, strict=True))
        if format_ == "conll":
            blocks.append("".join(f"{token}\t{len(token)}\t{label}\n" for token, label in pairs))
        elif format_ == "conllu":
            rows = [f"{t}\t{token}\t_\tX\t{label}\t_\t0\t_\t_\tA=ü" for t, (token, label) in enumerate(pairs, 1)]
            blocks.append("\n".join([f"# sent_id = {i}", "1-2\tboth" + "\t_" * 8, *rows]) + "\n")
        else:
            blocks.append(f'{{"id": {i}.0,  "tokens": {json.dumps(tokens)},"tags": {json.dumps(labels)}}}')
    return "\n".join(blocks) + "\n"


def python(code: str, *args: object) -> str:
    environment = {**os.environ, "PYTHONWARNINGS": "error"}
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, args)],
        env=environment,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    return done.stdout


LOADED = """
import sys
from widemargin.cli.commands import main
try:
    main(sys.argv[1:])
except SystemExit:
    print(*{name.partition(".")[0] for name in sys.modules})
"""
