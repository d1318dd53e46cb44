"""Layouts that do not fit, and sizes of all layouts of four letters."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

import gpugraph as tf

from ..refusals import in_run

LAYOUTS = ["".join(letters) for letters in permutations("NHWC")]


@pytest.mark.parametrize("destination", LAYOUTS)
def test_sizes_go_to_their_axes(destination):
    sizes = {"N": 7, "H": 4, "W": 9, "C": 3}
    with tf.Graph().as_default(), tf.Session() as session:
        permuted = tf.raw_ops.DataFormatVecPermute(
            x=[7, 4, 9, 3], src_format="NHWC", dst_format=destination
        )
        axes = tf.raw_ops.DataFormatDimMap(
            x=[0, 1, 2, 3, -1], src_format="NHWC", dst_format=destination
        )
        vector, places = session.run([permuted, axes])
    assert vector.tolist() == [sizes[letter] for letter in destination]
    assert places.tolist() == [destination.index(letter) for letter in "NHWCC"]


@pytest.mark.parametrize(
    ("x", "formats", "message"),
    [
        ([0, 1, 2], {}, "1D input must be of size 4"),
        ([[[0]]], {}, "input must be a vector or 2D tensor"),
        ([[0, 1], [2, 3]], {}, "First dimension of 2D input must be of size 4"),
        ([[0], [1], [2], [3]], {}, "Second dimension of 2D input must be of size 2"),
        ([0, 1, 2, 3], {"src_format": "NHW"}, "Source format must be of length 4, .* = NHW"),
        ([0, 1, 2, 3], {"dst_format": "NH"}, "Destination format must be of length 4, .* = NH"),
        ([0, 1, 2, 3], {"dst_format": "NCHX"}, "the same four letters"),
    ],
)
def test_what_is_refused(x, formats, message):
    in_run(lambda fed: tf.raw_ops.DataFormatVecPermute(x=fed, **formats), message, np.array(x))
