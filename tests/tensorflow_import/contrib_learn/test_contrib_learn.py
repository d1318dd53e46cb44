"""`tf.contrib.learn` without an estimator, and `tf.contrib.factorization.KMeans`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.tensorflow_import.contrib_learn import (
    csv_datasets,
    experiments,
    k_means,
    learn_columns,
    learn_inputs,
    metric_specs,
    model_function_ops,
)

CENTERS = np.array([[0.0, 0.0, 5.0], [5.0, 0.0, 0.0], [0.0, 5.0, 0.0]], np.float32)
RANDOM = np.random.RandomState(0)
POINTS = np.concatenate([c + RANDOM.randn(30, 3) * 0.3 for c in CENTERS]).astype(np.float32)


@pytest.mark.parametrize("metric", ["squared_euclidean", "cosine"])
@pytest.mark.parametrize("is_mini_batch", [False, True])
@pytest.mark.parametrize("initial", ["random", "kmeans_plus_plus", CENTERS])
def test_k_means_finds_the_clusters(metric: str, is_mini_batch: bool, initial: Any) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 3])
        graph = k_means.KMeans(x, 3, initial, metric, is_mini_batch, random_seed=1)
        scores, nearest, smallest, is_initialized, init_op, train_op = graph.training_graph()
        session.run(tf.global_variables_initializer())
        assert not session.run(is_initialized)
        fed = {x: POINTS}
        session.run(init_op, fed)
        assert session.run(is_initialized)
        before = session.run(tf.reduce_mean(smallest[0]), fed)
        for _ in range(12):
            session.run(train_op, fed)
        found, distances, every = session.run([nearest[0], smallest[0], scores[0]], fed)
        assert distances.mean() <= before + 1e-6
        assert {len(set(found[i : i + 30])) for i in (0, 30, 60)} == {1}
        np.testing.assert_array_equal(every.argmin(1), found)
        if not is_mini_batch:
            (variable,) = [v for v in tf.global_variables() if v.op.name == "clusters"]
            centers = session.run(variable)
            unit = POINTS / np.linalg.norm(POINTS, axis=1, keepdims=True)
            for cluster in range(3):
                chosen = (unit if metric == "cosine" else POINTS)[found == cluster].mean(0)
                length = np.linalg.norm(chosen) if metric == "cosine" else 1.0
                np.testing.assert_allclose(centers[cluster], chosen / length, atol=1e-4)


def test_k_means_rejects_unknown_words() -> None:
    with pytest.raises(ValueError, match="distance metric 'manhattan'"):
        k_means.KMeans(POINTS, 3, distance_metric="manhattan")
    with pytest.raises(ValueError, match="initialization algorithm 'first'"):
        k_means.KMeans(POINTS, 3, initial_clusters="first")


@pytest.mark.parametrize("k", [1, 2, 5])
def test_the_nearest_centers_come_first(k: int) -> None:
    points, centers = POINTS[:5], POINTS[5:8]
    results = k_means.nearest_neighbors(points, centers, k)
    with tf.Session() as session:
        indices, distances = session.run(results)
    squares = np.square(points[:, None] - centers).sum(2)
    order = np.argsort(squares, 1, kind="stable")[:, :k]
    assert indices.dtype == np.int64 and indices.tolist() == order.tolist()
    np.testing.assert_allclose(distances, np.take_along_axis(squares, order, 1), 1e-4, 1e-4)


def test_columns_of_contrib_layers_give_the_inputs_of_feature_columns() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        words = learn_columns.sparse_column_with_keys("word", ["a", "b", "c"])
        hashed = learn_columns.sparse_column_with_hash_bucket("word", 5)
        age = learn_columns.real_valued_column("age")
        ranges = learn_columns.bucketized_column(age, [10.0, 20.0])
        crossed = learn_columns.crossed_column([hashed, ranges], 10)
        columns = [age, learn_columns.one_hot_column(words), learn_columns.one_hot_column(crossed)]
        features = {"word": tf.constant([["b"], ["c"]]), "age": tf.constant([5.0, 15.0])}
        dense = learn_columns.input_from_feature_columns(features, columns)
        sums, _, _ = learn_columns.weighted_sum_from_feature_columns(features, [words, ranges], 2)
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        found = session.run(dense)
        assert found.shape == (2, 14) and found[:, 0].tolist() == [5.0, 15.0]
        assert found[:, 1:11].sum(1).tolist() == [1.0, 1.0]
        assert found[:, 11:].tolist() == [[0, 1, 0], [0, 0, 1]]
        assert session.run(sums).shape == (2, 2)
        spec = learn_columns.create_feature_spec_for_parsing(columns)
        assert sorted(spec) == ["age", "word"]
        (column,) = learn_columns.infer_real_valued_columns(np.zeros((4, 7), np.float32))
        assert column.shape == (7,)


def test_a_metric_gets_its_predictions_by_key() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        predictions = {"classes": tf.constant([1, 0]), "other": tf.constant([0.5, 0.5])}
        labels = tf.constant([1, 1])
        spec = metric_specs.MetricSpec(tf.metrics.accuracy, "classes")
        value, update = spec.create_metric_ops({}, labels, predictions)
        session.run(tf.local_variables_initializer())
        session.run(update)
        assert session.run(value) == 0.5
        with pytest.raises(ValueError, match="without specified prediction_key"):
            metric_specs.MetricSpec(tf.metrics.accuracy).create_metric_ops({}, labels, predictions)
        with pytest.raises(ValueError, match="'scores' not in dict"):
            metric_specs.MetricSpec(tf.metrics.accuracy, "scores").create_metric_ops(
                {}, labels, predictions
            )


def test_model_function_ops_check_the_mode() -> None:
    with pytest.raises(ValueError, match="Missing train_op"):
        model_function_ops.ModelFnOps("train", loss=1.0)
    with pytest.raises(ValueError, match="Missing loss"):
        model_function_ops.ModelFnOps("eval")
    with pytest.raises(ValueError, match="Missing predictions"):
        model_function_ops.ModelFnOps("infer")
    result = model_function_ops.ModelFnOps("infer", predictions=3)
    assert result.predictions == 3 and result.eval_metric_ops == {}


def test_constants_are_the_inputs_of_one_run() -> None:
    inputs = learn_inputs.once_if_constant(lambda: {"a": tf.constant([1.0, 2.0])})
    with tf.Graph().as_default(), tf.Session() as session:
        features = inputs()
        session.run(tf.local_variables_initializer())
        assert session.run(features)["a"].tolist() == [1.0, 2.0]
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(features)
    with pytest.raises(ValueError, match="both input_fn and x or y"):
        learn_inputs.input_function(POINTS, None, dict, None, True)


def test_csv_files_with_a_header(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("2,3,a,b\n1,2,3,0\n4,5,6,1\n")
    found = csv_datasets.load_csv_with_header(str(path), np.int64, np.float32)
    assert found.data.tolist() == [[1, 2, 3], [4, 5, 6]] and found.target.tolist() == [0, 1]
    path.write_text("3,3,a,b\n1,2,3,0\n")
    with pytest.raises(ValueError, match="its header is 3,3"):
        csv_datasets.load_csv_with_header(str(path), np.int64, np.float32)
    path.write_text("7,1,2\n8,3,4\n")
    found = csv_datasets.load_csv_without_header(str(path), np.int64, np.float32, 0)
    assert found.target.tolist() == [7, 8]


class _Model:
    """An estimator that records its calls."""

    def __init__(self, model_dir: Path) -> None:
        self.model_dir, self.calls = model_dir, []

    def fit(self, input_fn: Any, max_steps: int, monitors: Any) -> None:
        self.calls.append(max_steps)

    def evaluate(self, **options: Any) -> dict[str, Any]:
        self.calls.append("evaluate")
        return {"loss": 1.0}


def test_an_experiment_trains_and_evaluates_alternately(tmp_path: Path) -> None:
    model = _Model(tmp_path)

    def create(output_dir: str) -> Any:
        return experiments.Experiment(model, dict, dict, train_steps=5, min_eval_frequency=2)

    assert experiments.run(create, output_dir=str(tmp_path)) == ({"loss": 1.0}, [])
    assert model.calls == [2, "evaluate", 4, "evaluate", 5, "evaluate"]
    with pytest.raises(ValueError, match="non-existent task fly"):
        experiments.run(create, output_dir=str(tmp_path), schedule="fly")
    with pytest.raises(TypeError, match="did not return an Experiment"):
        experiments.run(lambda output_dir: None, output_dir=str(tmp_path))
