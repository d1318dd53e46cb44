"""Private functions that published programs import, at TensorFlow's paths and with its values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.tensorflow_import.tensorflow_names import find

SCORES = np.arange(6, dtype=np.float32).reshape(2, 3)
ATTENTION = "contrib.seq2seq.python.ops.attention_wrapper"


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def run(value: Any) -> Any:
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        return session.run(value)


def test_scores_and_memory_after_the_ends_of_sequences() -> None:
    mask = find(ATTENTION, "_maybe_mask_score")
    masked = run(mask(tf.constant(SCORES), [2, 3]))
    np.testing.assert_array_equal(masked, [[0, 1, -np.inf], [3, 4, 5]])
    np.testing.assert_array_equal(run(mask(tf.constant(SCORES), [1, 3], -7.0))[0], [0, -7, -7])
    by_mask = run(mask(tf.constant(SCORES), None, SCORES % 2 == 0, 9.0))
    np.testing.assert_array_equal(by_mask, [[0, 9, 2], [9, 4, 9]])
    memory = find(ATTENTION, "_prepare_memory")(tf.ones([2, 3, 2]), [1, 2])
    np.testing.assert_array_equal(run(memory).sum(2), [[2, 0, 0], [2, 2, 0]])
    with pytest.raises(ValueError, match="fully defined inner dims"):
        find(ATTENTION, "_prepare_memory")(tf.placeholder(tf.float32, [2, 3, None]))


def test_scores_of_queries() -> None:
    random = np.random.RandomState(0)
    query, keys, weights = random.randn(2, 4), random.randn(2, 3, 4), random.randn(4)
    score = find(ATTENTION, "_bahdanau_score")
    expected = (weights * np.tanh(keys + query[:, None])).sum(2)
    np.testing.assert_allclose(run(score(tf.constant(query), tf.constant(keys), weights)), expected)
    normed = run(score(tf.constant(query), tf.constant(keys), weights, 2.0, np.zeros(4)))
    np.testing.assert_allclose(normed, expected * 2 / np.sqrt((weights**2).sum()))
    old = score(tf.constant(query, tf.float32), tf.constant(keys, tf.float32), True)
    assert old.shape.as_list() == [2, 3]
    assert len(tf.trainable_variables()) == 3
    luong = find(ATTENTION, "_luong_score")(tf.constant(query), tf.constant(keys), 2.0)
    np.testing.assert_allclose(run(luong), 2 * np.einsum("bd,btd->bt", query, keys))


def test_a_mechanism_of_a_program() -> None:
    base = find(ATTENTION, "_BaseAttentionMechanism")

    class Mean(base):  # type: ignore[misc, valid-type]
        def __call__(self, query: Any, state: Any) -> Any:
            alignments = self._probability_fn(tf.zeros_like(state), state)
            return alignments, alignments

    memory = tf.constant(SCORES[:, :, None])
    mechanism = Mean(None, memory, lambda score, _: tf.nn.softmax(score), name="Mean")
    context, alignments, _ = find(ATTENTION, "_compute_attention")(
        mechanism, tf.zeros([2, 1]), mechanism.initial_state(2, tf.float32), attention_layer=None
    )
    np.testing.assert_allclose(run(context)[:, 0], SCORES.mean(1))
    np.testing.assert_allclose(run(alignments), np.full((2, 3), 1 / 3), rtol=1e-6)


def test_the_product_of_a_hessian_and_a_vector() -> None:
    x = tf.constant([1.0, 2.0, 3.0])
    vector = tf.constant([1.0, 0.0, 2.0])
    product = find("python.ops.gradients_impl", "_hessian_vector_product")
    (result,) = product(tf.reduce_sum(x**3) + x[0] * x[2], [x], [vector])
    np.testing.assert_allclose(run(result), [6.0 + 2.0, 0.0, 36.0 + 1.0])
    with pytest.raises(ValueError, match="same length"):
        product(x, [x], [])


def test_logits_of_sampled_classes() -> None:
    weights, inputs = tf.constant(np.random.RandomState(0).randn(9, 2)), tf.ones([3, 2], tf.float64)
    sampled = tf.nn.log_uniform_candidate_sampler([[1], [2], [3]], 1, 4, True, 9, seed=1)
    function = find("python.ops.nn_impl", "_compute_sampled_logits")
    arguments = weights, tf.zeros([9], tf.float64), [[1], [2], [3]], inputs, 4, 9
    logits, labels = function(*arguments, sampled_values=sampled)
    losses = tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)
    whole = tf.nn.nce_loss(*arguments, sampled_values=sampled)
    by_sum, by_loss = run([find("python.ops.nn_impl", "_sum_rows")(losses), whole])
    np.testing.assert_allclose(by_sum, by_loss)
    plain, _ = function(*arguments, sampled_values=sampled, subtract_log_q=False)
    np.testing.assert_allclose(run(plain[:, 0]), run(tf.reduce_sum(weights[1:4], 1)))


def test_confusions_of_several_batches() -> None:
    matrix = find("python.ops.metrics_impl", "_streaming_confusion_matrix")
    total, update = matrix([0, 1, 1], [0, 0, 1], 2, [1.0, 1.0, 3.0])
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        for _ in range(2):
            session.run(update)
        np.testing.assert_array_equal(session.run(total), [[2, 0], [2, 6]])


def test_a_step_of_a_network() -> None:
    def step(time: int) -> Any:
        return find("python.ops.rnn", "_rnn_step")(
            time=tf.constant(time),
            sequence_length=tf.constant([1, 3]),
            min_sequence_length=tf.constant(1),
            max_sequence_length=tf.constant(3),
            zero_output=tf.zeros([2, 1]),
            state=tf.fill([2, 1], 5.0),
            call_cell=lambda: (tf.ones([2, 1]), tf.fill([2, 1], 7.0)),
            state_size=1,
        )

    outputs = run([step(0), step(2), step(4)])
    assert [np.ravel(output).tolist() for output, _ in outputs] == [[1, 1], [0, 1], [0, 0]]
    assert [np.ravel(state).tolist() for _, state in outputs] == [[7, 7], [5, 7], [5, 5]]


def test_cells_and_dtypes() -> None:
    like = find("python.ops.rnn_cell_impl", "_like_rnncell")
    assert like(tf.nn.rnn_cell.GRUCell(2))
    assert not like(lambda x: x)
    assert find("python.ops.rnn", "_is_keras_rnn_cell")(tf.keras.layers.GRUCell(2))
    assert find("python.ops.rnn", "_should_cache")()
    with pytest.raises(ValueError, match="only supports floating point inputs"):
        find("python.ops.rnn_cell_impl", "_check_rnn_cell_input_dtypes")([tf.constant(1)])


@pytest.mark.parametrize(
    ("shape", "fans"), [([], (1, 1)), ([4], (4, 4)), ([2, 3], (2, 3)), ([5, 5, 2, 3], (50, 75))]
)
def test_fans(shape: list[int], fans: tuple[int, int]) -> None:
    assert find("python.ops.init_ops", "_compute_fans")(shape) == fans


def test_gradients_by_name() -> None:
    x = tf.constant([-1.0, 2.0])
    y = tf.nn.relu(x)
    gradient = find("python.ops.nn_grad", "_ReluGrad")(y.op, tf.constant([3.0, 4.0]))
    np.testing.assert_array_equal(run(gradient), [0, 4])
    assert find("python.ops.gen_math_ops", "_mat_mul") is tf.raw_ops.MatMul
    with pytest.raises(AttributeError):
        find("python.ops.nn_grad", "_NoSuchOpGrad")


def test_sums_of_equal_indices() -> None:
    slices = find("python.training.optimizer", "_deduplicate_indexed_slices")
    sums, indices = run(slices(tf.constant([[1.0], [2.0], [4.0]]), tf.constant([3, 1, 3])))
    assert (sums.ravel().tolist(), indices.tolist()) == ([5.0, 2.0], [3, 1])


def test_losses_are_counted() -> None:
    path = "python.ops.losses.losses_impl"
    count = find(path, "_num_present")(tf.ones([2, 3]), [[1.0], [0.0]])
    by_example = find(path, "_num_present")(tf.ones([2, 3]), [[1.0], [0.0]], per_batch=True)
    assert run(count) == 3
    np.testing.assert_array_equal(run(by_example), [[3], [0]])
    assert run(find(path, "_safe_mean")(tf.ones([3]), 0)) == 0


def test_the_network_of_the_tutorial() -> None:
    path = "examples.tutorials.mnist.mnist"
    images = tf.constant(np.random.RandomState(0).rand(8, 784), tf.float32)
    labels = tf.constant(np.arange(8) % 10, tf.int32)
    logits = find(path, "inference")(images, 16, 8)
    loss = find(path, "loss")(logits, labels)
    step = find(path, "training")(loss, 0.1)
    right = find(path, "evaluation")(logits, labels)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        first = session.run(loss)
        for _ in range(30):
            session.run(step)
        last, count = session.run([loss, right])
    assert last < first
    assert 1 <= count <= 8


def test_decorated_tests_run_in_a_session() -> None:
    decorate = find("python.framework.test_util", "run_in_graph_and_eager_modes")
    ran = []

    @find("python.framework.test_util", "run_all_in_graph_and_eager_modes")
    class Some(tf.test.TestCase):
        def test_all(self) -> None:
            ran.append(int(self.evaluate(tf.constant(2) * 3)))

        @find("python.framework.test_util", "run_v1_only")("a reason")
        def test_old(self) -> None:
            ran.append(1)

    Some("test_all").debug()
    Some("test_old").debug()
    assert ran == [6, 1]
    with pytest.raises(ValueError, match="only supports test methods"):
        decorate(Some)
