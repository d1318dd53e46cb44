"""Every op over sizes that vary from run to run: what it gives with sizes left open.

A session that has run an op over one set of shapes compiles it with open sizes for the next, and
binds it for a third. It gives the same bits, or the same error, as a session that never saw
another set.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpugraph as tf

from .one_op import Built, same_bits
from .samples import RANDOM, TABLE
from .sampling import Sample

EVERY = [op_type for op_type in sorted(TABLE) if op_type not in RANDOM]

STEPS = 0, 1, 2
"""By how much each size above 1 grows: equal ones stay equal."""


def grown(array: np.ndarray, by: int) -> np.ndarray:
    """Return an array with each size above 1 larger, its elements repeated."""
    margins = [(0, by if size > 1 else 0) for size in array.shape]
    return np.pad(array, margins, mode="wrap") if array.ndim and array.size else array


def result(session: tf.Session, built: Built, by: int) -> Any:
    """Return the arrays that the op gives, or the class of its error."""
    feeds = {x: grown(value, by) for x, value in built.feeds.items()}
    try:
        return session.run(built.outputs, feeds)
    except tf.errors.OpError as error:
        return type(error)


def is_plain(sample: Sample) -> bool:
    """Return whether an input of the sample has a size that can grow."""
    return any(size > 1 for array in sample.flat for size in array.shape)


def walk(op_type: str, samples: list[Sample]) -> None:
    """Compare the results of both ways for some samples of an op."""
    for sample in filter(is_plain, samples):
        with tf.Graph().as_default() as graph:
            built = Built(op_type, sample, known=False)
        if built.variables or not built.outputs:
            continue
        with tf.Session(graph=graph) as varying:
            for by in STEPS:
                got = result(varying, built, by)
                with tf.Session(graph=graph) as fresh:
                    expected = result(fresh, built, by)
                where = f"{op_type} of {sample.label}, sizes + {by}: {got} and {expected}"
                assert isinstance(got, list) == isinstance(expected, list), where
                if not isinstance(got, list):
                    assert got is expected, where
                    continue
                assert all(map(same_bits, got, expected)), where


@pytest.fixture(autouse=True)
def _verified(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUGRAPH_VERIFY", "1")


@pytest.mark.parametrize("op_type", EVERY)
def test_varying_sizes_give_what_a_fresh_session_gives(op_type: str) -> None:
    walk(op_type, TABLE[op_type].samples[:3])


@pytest.mark.exhaustive
@pytest.mark.parametrize("op_type", EVERY)
def test_all_samples_with_varying_sizes(op_type: str) -> None:
    walk(op_type, TABLE[op_type].samples)
