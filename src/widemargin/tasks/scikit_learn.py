"""scikit-learn's protocol of estimators, without importing scikit-learn before it is needed.

scikit-learn asks estimators for parameters, tags and metadata by name, and requires no base class. Its import takes
longer than loading a model and predicting. So `Conforming` imports scikit-learn only to return objects of its classes,
or to show the estimator as scikit-learn shows its own.
"""

import inspect
from collections.abc import Callable, Iterable
from functools import cache, update_wrapper
from types import MethodType
from typing import Any, Self

ROUTED = ("fit", "partial_fit", "predict", "predict_proba", "decision_function", "score")
"""The methods that scikit-learn routes metadata to; an estimator may lack some."""


class Request:
    """The method ``set_…_request``, which sets the metadata that a method wants; missing if the method takes none."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.method = name.removeprefix("set_").removesuffix("_request")

    def __get__(self, estimator: Any, owner: type) -> Any:
        if estimator is None:
            return self
        known = _metadata(owner, self.method)
        if not known:
            raise AttributeError(f"{owner.__name__}.{self.method} takes no metadata")

        def request(**wanted: Any) -> Any:
            import sklearn

            if not sklearn.get_config()["enable_metadata_routing"]:
                raise RuntimeError(
                    "metadata are routed only after sklearn.set_config(enable_metadata_routing=True), and not before"
                )
            if wanted.keys() - known:
                raise TypeError(f"{owner.__name__}.{self.method} takes {', '.join(known)}, not {', '.join(wanted)}")
            requests = estimator.get_metadata_routing()
            for name, alias in wanted.items():
                getattr(requests, self.method).add_request(param=name, alias=alias)
            estimator._metadata_request = requests
            return estimator

        return request


def _metadata(cls: type, method: str) -> list[str]:
    """The parameters of a method beside inputs and outputs."""
    found = inspect.signature(getattr(cls, method)).parameters.values() if hasattr(cls, method) else ()
    named = [each.name for each in found if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)]
    return [name for name in named[1:] if name not in ("X", "y")]


class Conforming:
    """Base of estimators: parameters are those of the constructor."""

    @classmethod
    def _get_param_names(cls) -> list[str]:
        """The names of the parameters, sorted."""
        return sorted(list(inspect.signature(cls.__init__).parameters)[1:])

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """All parameters by name; with `deep`, also the parameters of estimators among them."""
        found = {}
        for name in self._get_param_names():
            value = getattr(self, name)
            if deep and hasattr(value, "get_params") and not isinstance(value, type):
                found.update({f"{name}__{each}": inner for each, inner in value.get_params().items()})
            found[name] = value
        return found

    def set_params(self, **params: Any) -> Self:
        """Change parameters; ``name__inner`` is one of an estimator that is itself a parameter."""
        known = self._get_param_names()
        for name, value in params.items():
            outer, _, inner = name.partition("__")
            if outer not in known:
                raise ValueError(f"Invalid parameter {outer!r} for estimator {self}. Valid parameters are: {known!r}.")
            if inner:
                getattr(self, outer).set_params(**{inner: value})
            else:
                setattr(self, outer, value)
        return self

    def __sklearn_tags__(self) -> Any:
        """Tags for scikit-learn."""
        from sklearn.utils import Tags, TargetTags

        return Tags(estimator_type=None, target_tags=TargetTags(required=False))

    set_fit_request = Request()
    set_partial_fit_request = Request()
    set_predict_request = Request()
    set_predict_proba_request = Request()
    set_decision_function_request = Request()
    set_score_request = Request()

    def get_metadata_routing(self) -> Any:
        """The metadata that each method wants, such as weights or groups."""
        from sklearn.utils.metadata_routing import MetadataRequest, get_routing_for_object

        if hasattr(self, "_metadata_request"):
            return get_routing_for_object(self._metadata_request)
        requests = MetadataRequest(owner=self)
        for method in ROUTED:
            for name in _metadata(type(self), method):
                getattr(requests, method).add_request(param=name, alias=None)
        return requests

    # As scikit-learn shows its own estimators.

    def __repr__(self) -> str:
        return repr(_twin_of(self))

    def __dir__(self) -> Iterable[str]:
        return [name for name in super().__dir__() if hasattr(self, name)]  # hides what `available_if` hides

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        """The estimator as notebooks show it."""
        found: dict[str, str] = _twin_of(self)._repr_mimebundle_(**options)
        return found

    @property
    def _repr_html_(self) -> Callable[[], str]:
        return _twin_of(self)._repr_html_

    def _get_params_html(self, *args: Any, **options: Any) -> Any:
        """The table of parameters that notebooks show in a pipeline."""
        return _twin_of(self)._get_params_html(*args, **options)

    def _get_fitted_attr_html(self, *args: Any, **options: Any) -> Any:
        return _twin_of(self)._get_fitted_attr_html(*args, **options)


@cache
def _twin(cls: Any) -> Any:
    """A subclass of scikit-learn's base with the name, parameters and attributes of one of our classes."""
    from sklearn.base import BaseEstimator

    return type(cls.__name__, (BaseEstimator, cls), {"__module__": cls.__module__, "__doc__": cls.__doc__})


def _twin_of(estimator: Any) -> Any:
    """The same estimator as an instance of scikit-learn's base class, which its code for showing needs."""
    cls: Any = type(estimator)
    twin = object.__new__(_twin(cls))
    twin.__dict__ = estimator.__dict__
    return twin


class Classifying(Conforming):
    """A classifier: `score` is the share of right answers."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of right answers."""
        from sklearn.metrics import accuracy_score

        estimator: Any = self
        return float(accuracy_score(y, estimator.predict(X), sample_weight=sample_weight))

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags

        tags = super().__sklearn_tags__()
        tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags()
        return tags


class available_if:  # noqa: N801 — it is named as in scikit-learn
    """Hide a method of estimators that fail the `check`."""

    def __init__(self, check: Callable[[Any], bool]) -> None:
        self.check = check

    def __call__(self, method: Callable[..., Any]) -> Self:
        """Decorate the method."""
        self.method = method
        update_wrapper(self, method)
        return self

    def __get__(self, estimator: Any, owner: type) -> Callable[..., Any]:
        if estimator is None:
            return self.method
        if not self.check(estimator):
            raise AttributeError(f"this {owner.__name__!r} has no attribute {self.method.__name__!r}")
        return MethodType(self.method, estimator)
