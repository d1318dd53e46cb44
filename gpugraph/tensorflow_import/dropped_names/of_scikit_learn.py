"""Arguments, values of arguments and functions that scikit-learn has dropped since version 0.22."""

from __future__ import annotations

import functools
import inspect
import re
from types import FunctionType
from typing import Any

from gpugraph.tensorflow_import.dropped_names.of_pandas import accept_positions
from gpugraph.tensorflow_import.modules_by_name import module_named

_ARGUMENTS = """
calibration.CalibratedClassifierCV ensemble.AdaBoostClassifier ensemble.AdaBoostRegressor
    ensemble.BaggingClassifier ensemble.BaggingRegressor linear_model.RANSACRegressor:
    base_estimator=estimator
ensemble.AdaBoostClassifier: algorithm:SAMME=
linear_model.RANSACRegressor: loss:absolute_loss=absolute_error loss:squared_loss=squared_error
cluster.KMeans cluster.k_means: precompute_distances= n_jobs= algorithm:full=lloyd
    algorithm:auto=lloyd
cluster.SpectralBiclustering cluster.SpectralCoclustering: n_jobs=
cluster.Birch: copy=
cluster.AgglomerativeClustering cluster.FeatureAgglomeration: affinity=metric
datasets.make_sparse_spd_matrix: dim=n_dim
decomposition.MiniBatchSparsePCA decomposition.SparsePCA: normalize_components:True=
ensemble.RandomForestClassifier ensemble.ExtraTreesClassifier tree.DecisionTreeClassifier
    tree.ExtraTreeClassifier ensemble.GradientBoostingClassifier: max_features:auto=sqrt
ensemble.RandomForestRegressor ensemble.ExtraTreesRegressor tree.DecisionTreeRegressor
    tree.ExtraTreeRegressor ensemble.GradientBoostingRegressor: max_features:auto=1.0
    criterion:mse=squared_error criterion:mae=absolute_error
ensemble.RandomForestClassifier ensemble.RandomForestRegressor ensemble.ExtraTreesClassifier
    ensemble.ExtraTreesRegressor ensemble.RandomTreesEmbedding tree.DecisionTreeClassifier
    tree.DecisionTreeRegressor tree.ExtraTreeClassifier tree.ExtraTreeRegressor
    ensemble.GradientBoostingClassifier ensemble.GradientBoostingRegressor:
    min_impurity_split:None= presort=
ensemble.GradientBoostingClassifier: criterion:mse=squared_error loss:deviance=log_loss
ensemble.GradientBoostingRegressor: loss:ls=squared_error loss:lad=absolute_error
ensemble.IsolationForest: behaviour=
impute.SimpleImputer: verbose= axis:0= missing_values:NaN=nan
linear_model.ElasticNet linear_model.ElasticNetCV linear_model.Lars linear_model.LarsCV
    linear_model.Lasso linear_model.LassoCV linear_model.LassoLars linear_model.LassoLarsCV
    linear_model.Ridge linear_model.RidgeCV linear_model.RidgeClassifier
    linear_model.RidgeClassifierCV linear_model.BayesianRidge linear_model.ARDRegression:
    normalize:False=
linear_model.LinearRegression: normalize=
linear_model.BayesianRidge linear_model.ARDRegression manifold.TSNE: n_iter=max_iter
linear_model.ElasticNetCV linear_model.LassoCV: n_alphas=alphas
linear_model.LogisticRegression linear_model.LogisticRegressionCV: multi_class:auto=
    multi_class:multinomial= penalty:none=None
linear_model.RidgeCV linear_model.RidgeClassifierCV: store_cv_values=store_cv_results
linear_model.SGDClassifier linear_model.SGDRegressor: loss:log=log_loss
    loss:squared_loss=squared_error
linear_model.TheilSenRegressor: copy_X=
metrics.brier_score_loss: y_prob=y_proba
metrics.fowlkes_mallows_score: sparse=
metrics.log_loss: eps:1e-15=
metrics.make_scorer: needs_proba:False= needs_threshold:False=
metrics.mean_squared_error: squared:True=
metrics.pairwise_distances utils.as_float_array utils.check_X_y utils.check_array:
    force_all_finite=ensure_all_finite warn_on_dtype=
metrics.precision_recall_curve: probas_pred=y_score
model_selection.GridSearchCV model_selection.RandomizedSearchCV: iid:False=
model_selection.cross_val_predict model_selection.cross_val_score
    model_selection.cross_validate: fit_params=params
preprocessing.OneHotEncoder: sparse=sparse_output n_values:auto=
"""

_VALUES: dict[str, Any] = {"None": None, "nan": float("nan"), "1.0": 1.0}
"""The values in the table that are not strings."""


def _read(rows: str) -> dict[str, dict[str, str]]:
    """Return the present argument by (function, earlier argument).

    A row is a list of functions and classes, a colon, and changes. `old=new` is a new name,
    `name:old=new` is a new value, and nothing after `=` means that the argument is omitted.
    """
    table: dict[str, dict[str, str]] = {}
    for row in re.sub(r"\n +", " ", rows).strip().splitlines():
        names, _, changes = row.partition(": ")
        pairs = dict(word.rsplit("=", 1) for word in changes.split())
        for name in names.split():
            table.setdefault(name, {}).update(pairs)
    return table


ARGUMENTS = _read(_ARGUMENTS)
"""By function or class below `sklearn`, its earlier arguments and their present form."""

PACKAGES = sorted({f"sklearn.{name.rpartition('.')[0]}" for name in ARGUMENTS})
"""The modules that `restore` changes."""


def restore(module: Any) -> None:
    """Restore the arguments of the public functions and classes of a module of scikit-learn."""
    prefix = module.__name__.removeprefix("sklearn.")
    for name, value in list(vars(module).items()):
        if name.startswith("_") or not getattr(value, "__module__", "").startswith("sklearn."):
            continue
        changes = ARGUMENTS.get(f"{prefix}.{name}", {})
        if isinstance(value, FunctionType):
            restored = _restored(value, changes)
            for owner in (module, module_named(value.__module__)):  # pickle reads the second
                setattr(owner, name, restored)
        elif isinstance(vars(value).get("__init__") if inspect.isclass(value) else 0, FunctionType):
            value.__init__ = _restored(value.__init__, changes)


def _restored(function: Any, changes: dict[str, str]) -> Any:
    """Return a function that accepts arguments by position and in their earlier form."""
    by_position = accept_positions(function)
    if not changes:
        return by_position

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        for name in list(options):
            change = changes.get(name)
            if change is None:
                _change_value(options, name, changes)
            else:
                value = options.pop(name)
                options.update({change: value} if change else {})
        return by_position(*args, **options)

    return call


def _change_value(options: dict[str, Any], name: str, changes: dict[str, str]) -> None:
    """Replace the value of an option by its present form, or remove the option."""
    value = options[name]
    if not isinstance(value, (str, bool, int, float, type(None))):
        return
    change = changes.get(f"{name}:{value}")
    if change:
        options[name] = _VALUES.get(change, change)
    elif change is not None:
        del options[name]


def feature_names(transformer: Any, input_features: Any = None) -> list[str]:
    """Return the names of features as a list: `get_feature_names` of transformers."""
    arguments = () if input_features is None else (input_features,)
    return list(transformer.get_feature_names_out(*arguments))


def jaccard_similarity_score(y_true: Any, y_pred: Any, **options: Any) -> Any:
    """Return the mean similarity. For labels that exclude each other, it is the accuracy."""
    metrics = module_named("sklearn.metrics")
    if module_named("numpy").ndim(y_true) < 2:
        return metrics.accuracy_score(y_true, y_pred, **options)
    return metrics.jaccard_score(y_true, y_pred, average="samples", **options)
