"""Robustness: mutated inputs of every kind; proofs, recomputed; processes that are killed or get in each other's way.

    python benchmarks/robustness --minutes 10 --seed 1
    python benchmarks/robustness --only certificates --runs 20000 --minutes 60
    python benchmarks/robustness --replay bench/robustness/model-tag.1.4711.wm

Exits with 1 if anything had another outcome than success or an error of the library, or if a proof is false.
"""

import sys
from importlib import import_module
from pathlib import Path

import click

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))  # their helpers list every task, solver and format once

CAMPAIGNS = ["inputs", "certificates", "processes"]


@click.command()
@click.option("--minutes", default=10.0, show_default=True, help="How long to run in all.")
@click.option("--seed", default=0, show_default=True, help="The same seed gives the same inputs.")
@click.option("--jobs", default=1, show_default=True, help="Processes that run inputs.")
@click.option("--only", type=click.Choice(CAMPAIGNS), help="Run one of the campaigns only.")
@click.option("--runs", type=int, help="With --only inputs or certificates: end after so many.")
@click.option("--replay", type=click.Path(exists=True, path_type=Path), help="Run one saved input again.")
def run(minutes: float, seed: int, jobs: int, only: str | None, runs: int | None, replay: Path | None) -> None:
    """Run the campaigns; they share the minutes."""
    if replay is not None:
        only = "certificates" if replay.name.startswith("proof-") else "inputs"
        sys.exit(not import_module(only).campaign(minutes, seed, replay=replay))
    chosen = CAMPAIGNS if only is None else [only]
    options = {"inputs": {"jobs": jobs, "runs": runs}, "certificates": {"jobs": jobs, "runs": runs}, "processes": {}}
    fine = [import_module(name).campaign(minutes / len(chosen), seed, **options[name]) for name in chosen]
    sys.exit(not all(fine))


run()
