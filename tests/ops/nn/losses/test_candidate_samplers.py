"""Candidate samplers draw TensorFlow's classes, and losses over few classes are those over all.

The classes are those of TensorFlow 2.21 with graph seed 87654321 and op seed 5.
"""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

TRUE = np.array([[1, 2], [3, 4], [0, 7]])
WEIGHTS = [float(number % 7 + 1) for number in range(20)]


@pytest.fixture(autouse=True)
def session():
    with tf.Graph().as_default() as graph, tf.Session(graph=graph) as session:
        yield session


def sampler(name, unique, *arguments, **others):
    function = getattr(tf.nn, f"{name}_candidate_sampler")
    return function(TRUE, 2, 8, unique, *arguments, **others, seed=5)


# -- drawing


DRAWN = [
    ("uniform", [20], {}, [15, 8, 16, 1, 0, 5, 4, 17], [15, 8, 16, 1, 0, 5, 4, 17]),
    ("uniform", [16], {}, [15, 8, 8, 9, 0, 9, 4, 13], [15, 8, 9, 0, 4, 13, 5, 6]),
    ("log_uniform", [20], {}, [0, 4, 7, 6, 0, 4, 1, 15], [0, 4, 7, 6, 1, 15, 17, 8]),
    ("learned_unigram", [20], {}, [11, 19, 4, 19, 12, 14, 9, 17], [11, 19, 4, 12, 14, 9, 17, 16]),
    ("fixed_unigram", [20],
     {"distortion": 0.75, "num_reserved_ids": 1, "unigrams": WEIGHTS[:19]},
     [19, 19, 13, 17, 19, 16, 7, 12], [19, 13, 17, 16, 7, 12, 1, 9]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "arguments", "others", "drawn", "different"), DRAWN)
def test_equal_seeds_give_tensorflows_classes(session, name, arguments, others, drawn, different):
    candidates = [sampler(name, unique, *arguments, **others)[0] for unique in (False, True)]
    assert [classes.tolist() for classes in session.run(candidates)] == [drawn, different]


def test_expected_counts_are_tensorflows(session):
    several, once = (sampler("log_uniform", unique, 20)[1:] for unique in (False, True))
    true, candidates = session.run(several)
    np.testing.assert_allclose(true[0], [1.0654285, 0.7559335], 1e-6)
    np.testing.assert_allclose(candidates[:3], [1.821362, 0.47908086, 0.30949494], 1e-6)
    true, candidates = session.run(once)
    np.testing.assert_allclose(true[0], [0.760505, 0.6293838], 1e-6)
    np.testing.assert_allclose(candidates[:3], [0.924486, 0.4607262, 0.3260173], 1e-6)


def test_only_the_classes_of_a_shard_are_counted(session):
    candidates = tf.nn.fixed_unigram_candidate_sampler(
        TRUE, 2, 4, False, 10, distortion=0.75, num_shards=2, shard=1, unigrams=WEIGHTS, seed=5
    )
    assert session.run(candidates[0]).tolist() == [9, 9, 8, 9]
    np.testing.assert_allclose(session.run(candidates[1])[0], [0.40970197, 0.5553113], 1e-6)


def test_weights_may_lie_in_a_file(session, tmp_path):
    file = tmp_path / "words.csv"
    file.write_text(
        "".join(f"word{number},{weight}\n" for number, weight in enumerate(WEIGHTS)), "utf-8"
    )
    of_file, of_list = (
        sampler("fixed_unigram", True, 20, **options)
        for options in ({"vocab_file": str(file)}, {"unigrams": WEIGHTS})
    )
    for one, other in zip(session.run(of_file), session.run(of_list), strict=True):
        np.testing.assert_array_equal(one, other)
    file.write_text("word\n", "utf-8")
    with pytest.raises(tf.errors.InvalidArgumentError, match="Wrong vocabulary format"):
        session.run(sampler("fixed_unigram", True, 1, vocab_file=str(file))[0])
    with pytest.raises(tf.errors.NotFoundError, match=r"gone\.csv"):
        session.run(sampler("fixed_unigram", True, 20, vocab_file=str(tmp_path / "gone.csv"))[0])


def test_true_classes_are_learned_from_run_to_run(session):
    classes = tf.placeholder(tf.int64, [1, 1])
    _, expected, _ = tf.nn.learned_unigram_candidate_sampler(classes, 1, 1, False, 4)
    counts = [session.run(expected, {classes: [[true]]}).item() for true in (2, 2, 2, 0)]
    np.testing.assert_allclose(counts, [1 / 4, 2 / 5, 3 / 6, 1 / 7], 1e-6)


@pytest.mark.parametrize("range_max", [1, 3, 1000])
def test_all_classes_are_found_where_all_are_asked_for(session, range_max):
    for name in ("uniform", "log_uniform", "learned_unigram"):
        function = getattr(tf.random, f"{name}_candidate_sampler", None) or getattr(
            tf.nn, f"{name}_candidate_sampler"
        )
        candidates = session.run(function([[0]], 1, range_max, True, range_max)[0])
        assert sorted(candidates.tolist()) == list(range(range_max))


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: sampler("uniform", True, 7), "range is too small: 8 different classes of 7"),
        (lambda: sampler("uniform", False, 5), r"out of range \[0, 5\), received 7"),
        (lambda: sampler("fixed_unigram", False, 20, unigrams=[1.0]), "weights size 1"),
        (lambda: sampler("fixed_unigram", True, 20, unigrams=[1.0] * 3 + [0.0] * 17), "too small"),
        (lambda: sampler("all", True)[:0] or tf.nn.all_candidate_sampler(TRUE, 2, 5, True), "5"),
    ],
)
def test_what_can_not_be_drawn_is_refused(session, make, what):
    with pytest.raises(tf.errors.InvalidArgumentError, match=what):
        session.run(make()[0])


@pytest.mark.parametrize("weight", [0.0, -1.0, np.nan, np.inf])
def test_weights_that_are_no_law_are_refused(session, weight):
    candidates = sampler("fixed_unigram", False, 20, unigrams=[0.0] * 19 + [weight])
    with pytest.raises(tf.errors.InvalidArgumentError, match="weights must be at least 0"):
        session.run(candidates[0])


def test_wrong_numbers_are_refused():
    with pytest.raises(ValueError, match="num_true columns"):
        tf.nn.uniform_candidate_sampler(TRUE, 3, 4, True, 20)
    with pytest.raises(ValueError, match="passed 0 less than minimum 1"):
        tf.nn.uniform_candidate_sampler(TRUE, 2, 0, True, 20)


# -- losses


def layer(classes=20, width=4):
    random = np.random.default_rng(0)
    inputs = tf.constant(random.normal(0, 1, (3, width)))
    weights = tf.constant(random.normal(0, 1, (classes, width)))
    return weights, tf.constant(random.normal(0, 1, classes)), inputs


def everything(classes):
    """Return all classes as candidates, as often expected as they are there: once."""
    return tf.nn.all_candidate_sampler([[0]], 1, classes, True)


def test_the_sampled_softmax_of_all_classes_is_the_softmax(session):
    """Where candidates that are true do not count twice."""
    weights, biases, inputs = layer()
    labels = [[3], [0], [19]]
    values, _, expected = everything(20)
    sampled = values, tf.ones([3, 1]), expected
    loss = tf.nn.sampled_softmax_loss(weights, biases, labels, inputs, 20, 20, 1, sampled)
    logits = tf.matmul(inputs, weights, transpose_b=True) + biases
    wanted = tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=[label for (label,) in labels], logits=logits
    )
    for one, other in zip(
        session.run([loss, *tf.gradients(loss, inputs)]),
        session.run([wanted, *tf.gradients(wanted, inputs)]),
        strict=True,
    ):
        np.testing.assert_allclose(one, other, 1e-6, 1e-6)


def test_nce_is_a_sum_of_two_class_losses(session):
    weights, biases, inputs = layer()
    labels, candidates = np.array([[3, 5], [0, 1], [19, 2]]), np.array([5, 7])
    expected = np.full((3, 2), 0.5, "f"), np.array([0.25, 2.0], "f")
    loss = tf.nn.nce_loss(
        weights, biases, labels, inputs, 2, 20, 2, (tf.constant(candidates), *expected)
    )
    w, b, x = session.run([weights, biases, inputs])
    logits = x @ w.T + b
    true = np.take_along_axis(logits, labels, 1) - np.log(0.5)
    false = logits[:, candidates] - np.log(expected[1])
    wanted = (np.logaddexp(0, -true) + 0.5 * true).sum(1) + np.logaddexp(0, false).sum(1)
    np.testing.assert_allclose(session.run(loss), wanted, 1e-6)


def test_weights_in_parts_give_the_same(session):
    weights, biases, inputs = layer()
    labels, sampled = [[3], [0], [19]], everything(20)
    sampled = sampled[0], tf.ones([3, 1]), sampled[2]
    whole, parts = (
        tf.nn.sampled_softmax_loss(
            table, biases, labels, inputs, 20, 20, 1, sampled, partition_strategy="div"
        )
        for table in (weights, [weights[:10], weights[10:]])
    )
    np.testing.assert_allclose(*session.run([whole, parts]), 1e-12)


def test_losses_train_with_classes_of_their_own(session):
    tf.set_random_seed(1)
    weights = tf.get_variable("weights", [20, 4])
    biases = tf.get_variable("biases", [20], initializer=tf.zeros_initializer())
    inputs = tf.constant(np.eye(4, dtype="f"))
    labels = [[3], [0], [19], [7]]
    for function in (tf.nn.nce_loss, tf.nn.sampled_softmax_loss):
        loss = tf.reduce_sum(function(weights, biases, labels, inputs, 5, 20))
        step = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
        session.run(tf.global_variables_initializer())
        for _ in range(60):
            session.run(step)
        logits = session.run(tf.matmul(inputs, weights, transpose_b=True) + biases)
        assert logits.argmax(1).tolist() == [3, 0, 19, 7]
