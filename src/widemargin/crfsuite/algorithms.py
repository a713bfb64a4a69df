"""CRFsuite's training algorithms: their parameters, and how this library minimises the same.

| algorithm | what it minimises | here |
| --- | --- | --- |
| lbfgs | −Σ log p + c2‖w‖² + c1‖w‖₁ | `lbfgs` on `likelihood`, C = 1 / (2 c2), l1 = c1 / (2 c2) |
| l2sgd | −Σ log p + c2‖w‖² | `sgd` on `likelihood`, C = 1 / (2 c2) |
| ap | mistakes | `perceptron` |
| pa | mistakes by a margin | `pa` |
| arow | mistakes by a margin | `arow` |

P of `core.problem` times `scale_of` is the function that CRFsuite prints. All other names are those of this library's
solvers, with its own parameters.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, NamedTuple

from widemargin.core.checks import is_number
from widemargin.core.stop import Stop
from widemargin.crfsuite.items import LARGEST
from widemargin.errors import WidemarginError
from widemargin.solvers import AROW, LBFGS, SGD, PassiveAggressive, Perceptron, named_solver
from widemargin.tasks.plan import Plan
from widemargin.tasks.tag import TaggerParameters

STEPS_ABOVE = 3
"""How many steps above calibration.eta the search for a learning rate begins."""


class Parameter(NamedTuple):
    """The default value of a parameter, which has its type, and what it is for."""

    default: Any
    help: str
    choices: tuple[str, ...] = ()


ALIASES = {"ap": "averaged-perceptron", "pa": "passive-aggressive"}

GENERATION = {
    "feature.minfreq": Parameter(0.0, "Leave out weights of what occurs less often in the training data."),
    "feature.possible_states": Parameter(False, "Have weights for attributes with labels they never occur with, too."),
    "feature.possible_transitions": Parameter(False, "Have weights for label pairs that never occur, too."),
}
_ITERATIONS = Parameter(100, "Stop after this many passes over the data.")
_MEAN_LOSS = Parameter(0.0, "Stop when the mean loss of the instances is below this.")
_C2 = Parameter(1.0, "Coefficient of the squared norm of the weights.")
_PERIOD = Parameter(10, "Over how many iterations the improvement is measured for the stop rule delta.")

PARAMETERS: dict[str, dict[str, Parameter]] = {
    "lbfgs": {
        "c1": Parameter(0.0, "Coefficient of the sum of the absolute weights; it makes many of them 0."),
        "c2": _C2,
        "max_iterations": Parameter(LARGEST, "Stop after this many iterations; 0 means no limit."),
        "num_memories": Parameter(6, "How many past steps the estimate of the inverse Hessian is made from."),
        "epsilon": Parameter(1e-5, "Stop when the gradient is at most this, relative to the weights."),
        "period": _PERIOD,
        "delta": Parameter(1e-5, "Stop when the loss has improved relatively by less than this over one period."),
        "linesearch": Parameter(
            "MoreThuente",
            "CRFsuite's line search; here every choice stands for the same one.",
            ("MoreThuente", "Backtracking", "StrongBacktracking"),
        ),
        "max_linesearch": Parameter(20, "How many steps a line search may try."),
    },
    "l2sgd": {
        "c2": _C2,
        "max_iterations": Parameter(1000, "Stop after this many passes over the data."),
        "period": _PERIOD,
        "delta": Parameter(1e-6, "Stop when the loss has improved relatively by less than this over one period."),
        "calibration.eta": Parameter(0.1, "About which learning rate to try first."),
        "calibration.rate": Parameter(2.0, "The factor between one learning rate and the next."),
        "calibration.samples": Parameter(1000.0, "How many instances to try learning rates on."),
        "calibration.candidates": Parameter(10, "Try at least half as many learning rates."),
        "calibration.max_trials": Parameter(20, "How many learning rates to try at most."),
    },
    "averaged-perceptron": {
        "max_iterations": _ITERATIONS,
        "epsilon": Parameter(0.0, "Stop when the mean share of wrong labels is below this."),
    },
    "passive-aggressive": {
        "type": Parameter(1, "The slack of an update: 0 none, 1 linear (PA-I), 2 squared (PA-II)."),
        "c": Parameter(1.0, "How far a single update may go."),
        "error_sensitive": Parameter(True, "Ask for a margin that grows with the number of wrong labels."),
        "averaging": Parameter(True, "Return the average of the weights over all updates."),
        "max_iterations": _ITERATIONS,
        "epsilon": _MEAN_LOSS,
    },
    "arow": {
        "variance": Parameter(1.0, "The variance of every weight at first."),
        "gamma": Parameter(1.0, "How little a single instance may change."),
        "max_iterations": _ITERATIONS,
        "epsilon": _MEAN_LOSS,
    },
}
OWN = {
    "C": Parameter(0.0, "Weight of errors against large weights; 0 stands for what is usual for the objective."),
    "objective": Parameter(
        "", "What counts as an error, by name; empty: margin, or likelihood where it must be smooth."
    ),
    "loss": Parameter("", "Loss of each slack; empty: the one that the solver prefers."),
    "penalty": Parameter("l2", "Penalty on the size of the weights."),
    "l1": Parameter(1.0, "Weight of the l1 norm in the penalty elastic-net."),
    "max_iterations": Parameter(100, "Stop after this many passes over the data."),
    "tol": Parameter(0.01, "Stop at this proven relative gap to the optimum."),
}
"""The parameters of this library's own solvers."""

SLACKS: dict[int, Literal["none", "linear", "squared"]] = {0: "none", 1: "linear", 2: "squared"}
"""The slack of each type of passive-aggressive steps."""


def algorithm_of(name: str, type: str) -> str:  # noqa: A002 — CRFsuite's name
    """The full name of an algorithm; raise if no algorithm has this name."""
    known = ALIASES.get(name.lower(), name.lower())
    if type == "crf1d" and known in PARAMETERS:
        return known
    try:
        if type == "crf1d":
            named_solver(name)
            return name
    except WidemarginError:
        pass  # the error below has the message of python-crfsuite
    raise ValueError(f"Bad arguments: algorithm={known!r}, type={type!r}")


def parameters_of(algorithm: str) -> dict[str, Parameter]:
    """The parameters of an algorithm by name, in CRFsuite's order."""
    return GENERATION | PARAMETERS.get(algorithm, OWN)


def convert(name: str, parameter: Parameter, value: Any) -> Any:
    """`value`, which may be given as text, in the type of the parameter; whole numbers are rounded towards 0."""
    kind = type(parameter.default)
    if kind is str:
        if parameter.choices and value not in parameter.choices:
            raise ValueError(f"{name} must be one of {', '.join(parameter.choices)}, not {value!r}")
        return str(value)
    try:
        number = float(value)
        whole = int(number) if kind is not float else 0
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be a number, not {value!r}") from None
    if kind is float:
        return number
    if abs(whole) > LARGEST:
        raise ValueError(f"{name} must be a whole number below 2³¹, not {value!r}")
    return bool(whole) if kind is bool else whole


def plan_of(algorithm: str, values: Mapping[str, Any]) -> Plan:
    """The plan of training with these parameters; raise if one of them is invalid."""
    for name, value in values.items():
        if is_number(value) and value < 0:
            raise ValueError(f"{name} must not be negative, but is {value}")
        if isinstance(value, float) and not is_number(value):
            raise ValueError(f"{name} must be a finite number, not {value}")
    most = None if algorithm == "lbfgs" and values["max_iterations"] in (0, LARGEST) else values["max_iterations"]
    # Without a limit on epochs, the rules of `crfsuite.training.LoggedRun` end the run, or the limits of precision.
    stop = Stop(epochs=most, gap=values.get("tol"), seconds=None if most is not None else 1e9)
    parameters = TaggerParameters(**_like_a_tagger(algorithm, values))
    return replace(Plan.of(parameters), stop=stop)


def _like_a_tagger(algorithm: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a tagger that is trained in the same way."""
    if algorithm == "lbfgs":
        newton = LBFGS(memory=values["num_memories"], trials=values["max_linesearch"])
        return {"solver": newton, **_penalty(values["c1"], values["c2"])}
    if algorithm == "l2sgd":
        return {"solver": _sgd(values), **_penalty(0.0, values["c2"])}
    if algorithm == "averaged-perceptron":
        return {"solver": Perceptron()}
    if algorithm == "passive-aggressive":
        if values["type"] not in SLACKS:
            raise ValueError(f"type must be 0, 1 or 2, not {values['type']}")
        solver = PassiveAggressive(
            slack=SLACKS[values["type"]],
            margin="root" if values["error_sensitive"] else "one",
            C=values["c"],
            average=values["averaging"],
        )
        return {"solver": solver}
    if algorithm == "arow":
        return {"solver": AROW(variance=values["variance"], gamma=values["gamma"])}
    usual = "margin" if "maximum" in named_solver(algorithm).kinds else "likelihood"
    return {
        "solver": algorithm,
        "objective": values["objective"] or usual,
        "C": values["C"] or None,
        "loss": values["loss"] or None,
        "penalty": values["penalty"],
        "l1": values["l1"],
    }


def _penalty(c1: float, c2: float) -> dict[str, Any]:
    """The parameters whose P is the penalised likelihood divided by `scale_of` c1 and c2."""
    C = 1.0 / scale_of({"c1": c1, "c2": c2})
    if c2 > 0 and c1 > 0:
        return {"objective": "likelihood", "C": C, "penalty": "elastic-net", "l1": c1 / (2.0 * c2)}
    return {"objective": "likelihood", "C": C, "penalty": "l2" if c2 > 0 else "l1" if c1 > 0 else "none"}


def scale_of(values: Mapping[str, Any]) -> float:
    """The function that CRFsuite prints, as a multiple of P."""
    return 2.0 * values.get("c2", 0.0) or values.get("c1", 0.0) or 1.0


def _sgd(values: Mapping[str, Any]) -> SGD:
    rate, most = values["calibration.rate"], values["calibration.max_trials"]
    if values["c2"] <= 0 or rate <= 1 or values["calibration.eta"] <= 0 or most < 1:
        raise ValueError(
            "c2, calibration.eta and calibration.max_trials must be positive, calibration.rate more than 1"
        )
    return SGD(
        first=values["calibration.eta"] * rate**STEPS_ABOVE,
        factor=rate,
        samples=max(1, int(values["calibration.samples"])),
        least_trials=min(max(1, values["calibration.candidates"] // 2), most),
        most_trials=most,
    )
