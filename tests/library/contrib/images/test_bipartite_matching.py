"""`tf.contrib.image.bipartite_match`, beside a search by NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

DISTANCES = np.array([[3, 1, 4, 1], [5, 9, 2, 6], [5, 3, 5, 8]], np.float32)


def matched(distances: np.ndarray, valid: int, most: int) -> tuple[list[int], list[int]]:
    rows, columns = [-1] * distances.shape[0], [-1] * distances.shape[1]
    valid = len(rows) if valid < 0 else min(valid, len(rows))
    count = min(valid, len(columns)) if most < 0 else min(valid, len(columns), most)
    for _ in range(count):
        pairs = [
            (distances[row, column], row, column)
            for row in range(valid)
            for column in range(len(columns))
            if rows[row] < 0 and columns[column] < 0
        ]
        _, row, column = min(pairs)
        rows[row], columns[column] = column, row
    return rows, columns


@pytest.mark.parametrize("valid, most", [(-1, -1), (2, -1), (-1, 2), (1, 5), (0, -1), (9, 9)])
def test_pairs_are_those_of_a_greedy_search(valid: int, most: int) -> None:
    results = tf.contrib.image.bipartite_match(DISTANCES, valid, most)
    assert [result.shape.as_list() for result in results] == [[3], [4]]
    with tf.Session() as session:
        assert [x.tolist() for x in session.run(results)] == list(matched(DISTANCES, valid, most))


def test_random_matrices_of_open_sizes() -> None:
    random = np.random.default_rng(5)
    distances = tf.placeholder(tf.float32, [None, None])
    valid = tf.placeholder(tf.int32, [1])
    results = tf.contrib.image.bipartite_match(distances, valid, -1)
    with tf.Session() as session:
        for _ in range(20):
            value = random.random(random.integers(1, 9, 2)).astype(np.float32)
            value[random.random(value.shape) < 0.2] = np.inf
            count = int(random.integers(-1, 9))
            found = session.run(results, {distances: value, valid: [count]})
            assert [x.tolist() for x in found] == list(matched(value, count, -1))
