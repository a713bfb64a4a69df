"""Robustness: mutated inputs of every kind, then processes that are killed, fill the disk or get in each other's way.

    python benchmarks/robustness --minutes 10 --seed 1
    python benchmarks/robustness --replay bench/robustness/model-tag.1.4711.wm

Exits with 1 if anything had another outcome than success or an error of the library.
"""

import sys
from pathlib import Path

import click

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))  # their helpers list every task, solver and format once


@click.command()
@click.option("--minutes", default=10.0, show_default=True, help="How long to run in all.")
@click.option("--seed", default=0, show_default=True, help="The same seed gives the same inputs.")
@click.option("--jobs", default=1, show_default=True, help="Processes that run inputs.")
@click.option("--replay", type=click.Path(exists=True, path_type=Path), help="Run one saved input again.")
def run(minutes: float, seed: int, jobs: int, replay: Path | None) -> None:
    """Run the campaigns."""
    import inputs
    import processes

    if replay is not None:
        sys.exit(not inputs.campaign(minutes, seed, replay=replay))
    fine = [inputs.campaign(minutes / 2, seed, jobs=jobs), processes.campaign(minutes / 2, seed)]
    sys.exit(not all(fine))


run()
