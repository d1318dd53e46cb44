"""tf.nn.ctc_loss and the decoders: TensorFlow's numbers, and those of all paths one by one."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

from ...samples_of_ctc import ctc, likeliest

LOGITS = np.random.RandomState(0).randn(6, 3, 5) * 2
"""Of six times, three sequences and five classes, the last of them the blank."""


@pytest.fixture(autouse=True)
def session():
    with tf.Graph().as_default() as graph, tf.Session(graph=graph) as session:
        yield session


def sparse(rows):
    indices = [(number, place) for number, row in enumerate(rows) for place in range(len(row))]
    values = [label for row in rows for label in row]
    return tf.SparseTensor(
        np.array(indices, np.int64).reshape(-1, 2),
        np.array(values, np.int32),
        [len(rows), max(map(len, rows))],
    )


def rows_of(value):
    return [
        value.values[value.indices[:, 0] == number].tolist()
        for number in range(value.dense_shape[0])
    ]


# -- the loss


@pytest.mark.parametrize(
    ("rows", "times", "options", "wanted"),
    [
        ([[0, 1], [2, 2, 1], [3]], [6, 5, 4], {}, [5.3732233, 5.426441, 4.3226757]),
        ([[0, 1], [2, 2, 1], [3]], [6, 5, 4], {"ctc_merge_repeated": False},
         [6.9490867, 5.2561593, 5.773993]),
        ([[0, 1], [2, 2, 1], [3]], [6, 5, 4], {"preprocess_collapse_repeated": True},
         [5.3732233, 3.763271, 4.3226757]),
        ([[0, 1], [2, 2, 1], [3]], [6, 2, 4], {"ignore_longer_outputs_than_inputs": True},
         [5.3732233, 0, 4.3226757]),
        ([[0, 1], [2, 2, 1], [3]], [6, 3, 4], {}, [5.3732233, np.inf, 4.3226757]),
        ([[0, 4], [1], [3]], [6, 5, 4], {}, [7.146179, 3.7069347, 4.3226757]),
    ],
)  # fmt: skip
def test_losses_are_tensorflows(session, rows, times, options, wanted):
    loss = tf.nn.ctc_loss(sparse(rows), LOGITS.astype("f"), times, **options)
    np.testing.assert_allclose(session.run(loss), wanted, 1e-5)


def test_gradient_is_weighted_by_what_comes_in(session):
    logits = tf.constant(LOGITS)
    rows, times = [[0, 1], [2, 2, 1], [3]], [6, 5, 4]
    labels = sparse(rows)
    loss = tf.nn.ctc_loss(labels, logits, times)
    (gradient,) = tf.gradients(loss, logits, tf.constant([1.0, -2.0, 0.5], tf.float64))
    indices, values = session.run([labels.indices, labels.values])
    _, wanted = ctc(LOGITS, indices, values, times)
    np.testing.assert_allclose(session.run(gradient), wanted * [[[1], [-2], [0.5]]], 1e-9, 1e-9)
    assert not session.run(gradient)[5:, 1].any()  # after its time


def test_batch_major_is_the_same(session):
    labels = sparse([[0, 1], [2, 2, 1], [3]])
    one = tf.nn.ctc_loss(labels, LOGITS, [6, 5, 4])
    other = tf.nn.ctc_loss(
        labels, sequence_length=[6, 5, 4], logits=LOGITS.transpose(1, 0, 2), time_major=False
    )
    np.testing.assert_array_equal(*session.run([one, other]))


def test_there_is_no_second_gradient():
    logits = tf.constant(LOGITS)
    loss = tf.nn.ctc_loss(sparse([[0, 1], [2, 2, 1], [3]]), logits, [6, 5, 4])
    (first,) = tf.gradients(loss, logits)
    with pytest.raises(LookupError, match="no second one"):
        tf.gradients(first, logits)


@pytest.mark.parametrize(
    ("rows", "times", "what"),
    [
        ([[0, 1], [2, 2, 1], [3]], [6, 2, 4], r"required: 3, available: 2\) in batch 1"),
        ([[0, 1], [], [3]], [6, 5, 4], "Labels length is zero in batch 1"),
        ([[0, 1], [4, 2], [3]], [6, 5, 4], "following a null label, batch: 1"),
        ([[0, 1], [-1], [3]], [6, 5, 4], "nonnegative integers, batch: 1"),
        ([[0, 1], [2], [3]], [6, 7, 4], r"sequence_length\(1\) <= 6"),
        ([[0, 1], [2], [3], [1]], [6, 5, 4], "label SparseTensor is not valid: indices"),
    ],
)
def test_what_has_no_loss_is_refused(session, rows, times, what):
    with pytest.raises(tf.errors.InvalidArgumentError, match=what):
        session.run(tf.nn.ctc_loss(sparse(rows), LOGITS, times))


def test_labels_must_be_sparse():
    with pytest.raises(TypeError, match="Expected labels"):
        tf.nn.ctc_loss([[0, 1]], LOGITS, [6, 5, 4])


# -- decoding


def test_greedy_decoding_is_tensorflows(session):
    (merged,), total = tf.nn.ctc_greedy_decoder(LOGITS.astype("f"), [6, 4, 0])
    (all_of_them,), _ = tf.nn.ctc_greedy_decoder(LOGITS, [6, 4, 0], merge_repeated=False)
    assert rows_of(session.run(merged)) == [[3, 1, 2], [1, 1], []]
    assert rows_of(session.run(all_of_them)) == [[3, 1, 1, 2], [1, 1, 1], []]
    np.testing.assert_allclose(session.run(total), [[-10.248433], [-9.674072], [0]], 1e-6)


def test_a_narrow_beam_finds_what_tensorflows_finds(session):
    labels, chances = tf.nn.ctc_beam_search_decoder(
        LOGITS.astype("f"), [6, 4, 3], beam_width=3, top_paths=3, merge_repeated=False
    )
    wanted = [
        [[3, 1, 2], [1, 1], [1, 3]],
        [[3, 1, 2, 3], [1, 2, 1], [2, 3]],
        [[3, 1, 0, 2], [1, 2], [1]],
    ]
    assert [rows_of(path) for path in session.run(labels)] == wanted
    np.testing.assert_allclose(
        session.run(chances),
        [[-2.5827377, -3.351642, -3.3527606], [-1.4760388, -1.8758006, -2.2677522],
         [-0.4439575, -2.488957, -6.083889]],
        1e-5,
    )  # fmt: skip


@pytest.mark.parametrize("merge", [True, False])
def test_a_wide_beam_finds_the_likeliest_of_all(session, merge):
    logits = np.random.default_rng(3).normal(0, 1, (5, 2, 3))
    labels, chances = tf.nn.ctc_beam_search_decoder(logits, [5, 3], 200, 4, merge)
    *parts, logs = likeliest(logits, [5, 3], 200, 4, merge)
    for path, value in enumerate(session.run(labels)):
        for one, other in zip(value, parts[path::4], strict=True):
            np.testing.assert_array_equal(one, other)
    np.testing.assert_allclose(session.run(chances), logs, 1e-9)


def test_repeated_labels_stay_by_the_second_version(session):
    logits = np.log(np.array([[0.9, 0.1], [0.1, 0.9], [0.9, 0.1]]) + 1e-9)[:, None]
    first, _ = tf.nn.ctc_beam_search_decoder(logits, [3])
    second, _ = tf.nn.ctc_beam_search_decoder_v2(logits, [3])
    assert [rows_of(labels) for labels in session.run([first[0], second[0]])] == [[[0]], [[0, 0]]]


def test_decoding_that_can_not_be_done_is_refused(session):
    for decode in (tf.nn.ctc_greedy_decoder, tf.nn.ctc_beam_search_decoder):
        with pytest.raises(tf.errors.FailedPreconditionError, match=r"sequence_length\(2\) <= 6"):
            session.run(decode(LOGITS, [6, 4, 7])[1])
    with pytest.raises(tf.errors.InvalidArgumentError, match="more paths than the beam width"):
        session.run(tf.nn.ctc_beam_search_decoder(LOGITS, [6, 4, 3], 2, 3)[1])
    with pytest.raises(tf.errors.InvalidArgumentError, match="Less leaves"):
        session.run(tf.nn.ctc_beam_search_decoder(LOGITS, [6, 4, 0], 4, 2)[1])


@pytest.mark.parametrize("time", [0, -1])
def test_a_sequence_without_times_is_empty(session, time):
    for decode in (tf.nn.ctc_greedy_decoder, tf.nn.ctc_beam_search_decoder):
        (labels,), total = session.run(decode(LOGITS, [time, 6, -3]))
        assert rows_of(labels)[0] == rows_of(labels)[2] == []
        assert total[[0, 2]].tolist() == [[0], [0]] and not np.signbit(total[0, 0])


@pytest.mark.parametrize("name", ["beam_width", "top_paths"])
def test_beams_and_paths_must_be_some(name):
    with pytest.raises(ValueError, match=f"'{name}' of 'CTCBeam.*passed 0 less than minimum 1"):
        tf.nn.ctc_beam_search_decoder(LOGITS, [6, 4, 3], **{name: 0})


def test_collapse_repeated(session):
    labels, lengths = tf.nn.collapse_repeated([[1, 1, 2, 2, 1], [0, 1, 1, 1, 0]], [5, 3])
    results = session.run([labels, lengths])
    assert [array.tolist() for array in results] == [[[1, 2, 1], [0, 1, 0]], [3, 2]]
    open_rows = tf.placeholder(tf.int32, [None, None])
    labels, _ = tf.nn.collapse_repeated(open_rows, [2])
    assert session.run(labels, {open_rows: [[7, 7, 8]]}).tolist() == [[7]]


DENSE = np.array([[1, 2, 0], [3, 3, 0], [0, 0, 0]])
SPOKEN = np.sin(np.arange(60.0)).reshape(5, 3, 4)


@pytest.mark.parametrize("blank", [None, 0, 3, -1])
@pytest.mark.parametrize("time_major", [True, False])
def test_dense_labels_have_the_loss_of_sparse_ones_wherever_the_blank_is(blank, time_major):
    place = (blank or 0) % 4
    rows = [[1, 2], [3, 3], []] if place == 0 else [[1, 2], [0, 0], []]
    dense = np.zeros((3, 3), np.int64)
    for row, labels in zip(dense, rows):
        row[: len(labels)] = labels
    source = tf.constant(SPOKEN if time_major else SPOKEN.transpose(1, 0, 2))
    loss = tf.nn.ctc_loss_v2(
        dense, source, [2, 2, 0], [5, 4, 3], logits_time_major=time_major, blank_index=blank
    )
    ordered = np.roll(SPOKEN, -1, axis=2) if place == 0 else SPOKEN
    moved = [[label - (place == 0) for label in row] or [3] for row in rows]  # a blank is no label
    logits = tf.constant(ordered)
    wanted = tf.nn.ctc_loss(sparse(moved), logits, [5, 4, 3])
    with tf.Session() as session:
        np.testing.assert_allclose(*session.run([loss, wanted]), rtol=1e-12)
        ours, theirs = session.run([tf.gradients(loss, source), tf.gradients(wanted, logits)])
    slope = np.roll(theirs[0], 1, axis=2) if place == 0 else theirs[0]
    slope = slope if time_major else slope.transpose(1, 0, 2)
    np.testing.assert_allclose(ours[0], slope, atol=1e-12)


def test_sparse_labels_may_have_their_blank_anywhere():
    losses = [
        tf.nn.ctc_loss_v2(labels, SPOKEN, lengths, [5, 4, 3], blank_index=0)
        for labels, lengths in ((sparse([[1, 2], [3], [1]]), None), (DENSE[[0, 1, 0]], [2, 1, 1]))
    ]
    with tf.Session() as session:
        np.testing.assert_allclose(*session.run(losses))


def test_blanks_and_classes_have_to_be_known():
    with pytest.raises(ValueError, match="`blank_index` must be provided"):
        tf.nn.ctc_loss_v2(sparse([[1], [1], [1]]), SPOKEN, None, [5, 4, 3])
    with pytest.raises(ValueError, match="blank_index 4 is none of 4 classes"):
        tf.nn.ctc_loss_v2(DENSE, SPOKEN, [2, 2, 0], [5, 4, 3], blank_index=4)
    with pytest.raises(ValueError, match="number of classes"):
        tf.nn.ctc_loss_v2(DENSE, tf.placeholder(tf.float32, [5, 3, None]), [2, 2, 0], [5, 4, 3])
    late = tf.nn.ctc_loss_v2(DENSE, SPOKEN, [2, 2, 0], [5, 1, 3])
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="Not enough"):
        session.run(late)


def test_unique_labels():
    labels = tf.constant([[3, 3, 5, 3, 2], [0, 0, 0, 1, 0]])
    with tf.Session() as session:
        unique, positions = session.run(tf.nn.ctc_unique_labels(labels))
    assert unique.dtype == np.int64 and unique.tolist() == [[3, 5, 2, 0, 0], [0, 1, 0, 0, 0]]
    assert positions.dtype == np.int32
    assert positions.tolist() == [[0, 0, 1, 0, 2], [0, 0, 0, 1, 0]]
