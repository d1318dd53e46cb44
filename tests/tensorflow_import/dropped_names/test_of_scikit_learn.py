"""Arguments and modules that scikit-learn has dropped, as `gpugraph run` provides them."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any

import pytest

from gpugraph.tensorflow_import.dropped_names.dropped_table import ADDED, NEW_MODULES
from gpugraph.tensorflow_import.dropped_names.of_scikit_learn import ARGUMENTS

from .test_dropped_imports import run

pytest.importorskip("sklearn")

PROGRAM = """
import pickle
import numpy as np
from sklearn import metrics
from sklearn.base import clone
from sklearn.cluster.k_means_ import KMeans
from sklearn.ensemble.forest import RandomForestClassifier, RandomForestRegressor
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model.logistic import LogisticRegression
from sklearn.manifold.t_sne import TSNE
from sklearn.preprocessing import Imputer, OneHotEncoder, StandardScaler
from sklearn.preprocessing.data import MinMaxScaler

random = np.random.RandomState(0)
x, y = random.randn(60, 3), np.arange(60) % 3
# arguments by position
assert metrics.confusion_matrix(y, y, [0, 1, 2]).trace() == 60
assert metrics.f1_score(y, y, None, 1, "macro") == 1
assert StandardScaler(True, False, True).with_mean is False
# arguments by their earlier names and with earlier values
assert TSNE(2, perplexity=5, n_iter=250, init="random").fit_transform(x).shape == (60, 2)
assert len(KMeans(4, n_jobs=2, precompute_distances=True).fit(x).cluster_centers_) == 4
assert OneHotEncoder(sparse=False).fit_transform(y[:, None]).shape == (60, 3)
assert RandomForestClassifier(5, max_features="auto", min_impurity_split=None).fit(x, y)
forest = RandomForestRegressor(5, criterion="mse")
assert clone(forest).get_params()["criterion"] == "squared_error"
assert LogisticRegression(penalty="none", multi_class="multinomial").fit(x, y).penalty is None
imputer = Imputer(missing_values="NaN", strategy="mean", axis=0)
assert imputer.fit_transform([[1.], [np.nan]])[1] == 1
# names
assert TfidfVectorizer().fit(["b a1 c1"]).vocabulary_
assert pickle.loads(pickle.dumps(metrics.f1_score)) is metrics.f1_score
assert metrics.jaccard_similarity_score([1, 0], [1, 1]) == 0.5
vectorizer = TfidfVectorizer().fit(["one two"])
assert vectorizer.get_feature_names() == ["one", "two"]
for arguments in (dict(algorithm="SAMME.R"), dict(n_estimator=3)):
    try:
        from sklearn.ensemble import AdaBoostClassifier
        AdaBoostClassifier(**arguments)
        raise AssertionError(arguments)
    except TypeError:
        pass
"""


def test_a_program_of_the_time_runs(tmp_path) -> None:
    result = run(tmp_path, PROGRAM)
    assert result.returncode == 0, result.stderr[-2000:]


def _value(path: str) -> Any:
    package, _, name = path.rpartition(".")
    return getattr(import_module(f"sklearn.{package}"), name)


@pytest.mark.parametrize("path", sorted(ARGUMENTS))
def test_earlier_arguments_are_gone_and_present_ones_are_there(path: str) -> None:
    value = _value(path)
    names = inspect.signature(value).parameters
    for old, new in ARGUMENTS[path].items():
        if ":" in old:
            continue
        assert old not in names
        assert new in names or not new


@pytest.mark.parametrize("module", [name for name in NEW_MODULES if name.startswith("sklearn.")])
def test_a_module_that_is_gone_does_not_hide_a_name(module: str) -> None:
    """The import of a module sets an attribute of its package."""
    package, _, name = module.rpartition(".")
    if module not in ADDED:
        assert not callable(getattr(import_module(package), name, None))
