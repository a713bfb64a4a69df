"""Following a run in TensorBoard or MLflow: a callback that writes numbers wherever numbers can be written.

    pip install tensorboard torch && python examples/tensorboard.py && tensorboard --logdir runs
    pip install mlflow && python examples/tensorboard.py mlflow && mlflow ui

Without either, the numbers are printed. The callback knows none of the three: it is given a function that takes a name,
a value and the number of the epoch.
"""

import sys
from collections.abc import Callable

from widemargin import Callback, SequenceTagger
from widemargin.data.generators import addresses

Write = Callable[[str, float, int], object]


class Scalars(Callback):
    """Writes what is known after every epoch: the objective, its lower bound, their gap, the development score."""

    def __init__(self, write: Write) -> None:
        self.write = write

    def on_epoch(self, epoch):
        """Write the numbers that there are; an online solver has no bound, and not every epoch a score."""
        known = {"objective": epoch.primal, "lower bound": epoch.dual, "gap": epoch.gap, "dev score": epoch.score}
        known |= {"seconds": epoch.seconds, "oracle calls": epoch.oracle_calls}
        for name, value in known.items():
            if value is not None:
                self.write(name, value, epoch.epoch)


def tensorboard() -> Write:
    """Write into the folder `runs`."""
    from torch.utils.tensorboard import SummaryWriter

    return SummaryWriter("runs").add_scalar


def mlflow() -> Write:
    """Write into the current run of MLflow."""
    from mlflow import log_metric

    return lambda name, value, step: log_metric(name, value, step=step)


def printed(name, value, step):
    """Write onto the screen."""
    print(f"epoch {step}: {name} {value:.4g}")


def writer(wanted: str) -> Write:
    """The way to write numbers that is asked for, or printing if it is not installed."""
    try:
        return {"tensorboard": tensorboard, "mlflow": mlflow}[wanted]()
    except ImportError as error:
        print(f"{error}; numbers are printed (see the first lines of this file for what to install)")
        return printed


def main(write=None, n_train=200):
    """Learn to label addresses, and follow it; return the tagger."""
    X, y = addresses(n_train)
    dev = addresses(n_train // 4, seed=1)
    write = writer(sys.argv[1] if len(sys.argv) > 1 else "tensorboard") if write is None else write
    return SequenceTagger().fit(X, y, dev=dev, callbacks=[Scalars(write)])


if __name__ == "__main__":
    print(main().solution_)
