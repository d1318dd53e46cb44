"""Programs such as users write, over random shapes: results are those of new sessions, and one plan
runs most sets of shapes.
"""

from __future__ import annotations

import inspect
import shutil
from collections.abc import Callable, Iterator
from random import Random
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import gpugraph as tf

from . import batches_and_sets, decoders_and_images, fed_sizes, graphs_and_texts


@pytest.fixture(autouse=True)
def _graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


pytestmark = [
    pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler"),
    pytest.mark.filterwarnings("ignore"),
]

_MODULES = (batches_and_sets, decoders_and_images, fed_sizes, graphs_and_texts)
_DRAWING = {"sampled", "random_crop", "mixup", "fed_range"}
_CANCELLING = {"batchnorm_cnn"}
"""Programs with gradients that are zero except for rounding errors: those of native code and of
NumPy are not compared.
"""
_QUICK = ("beam", "strfeat", "map_rows")


def _functions(module: ModuleType) -> Iterator[Callable[[Any], Any]]:
    for _, function in inspect.getmembers(module, inspect.isfunction):
        if function.__module__ == module.__name__:
            yield function


_PROGRAMS = {function.__name__: function for module in _MODULES for function in _functions(module)}


@pytest.mark.parametrize("name", _QUICK)
def test_a_program_over_varying_shapes_is_that_of_new_sessions(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPUGRAPH_NATIVE", "wait")
    _check(name, 24)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", sorted(_PROGRAMS.keys() - set(_QUICK) - _DRAWING))
def test_more_programs_over_varying_shapes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUGRAPH_NATIVE", "wait")
    if name in _CANCELLING:
        monkeypatch.setenv("GPUGRAPH_VERIFY", "0")
    _check(name, 90)


def _check(name: str, runs: int) -> None:
    """Compare runs over random sets of shapes with runs of new sessions. The fetches do not update
    variables.
    """
    np.random.seed(0)
    tf.set_random_seed(1)  # each session draws the same initial values
    fetches, draw = _PROGRAMS[name](tf)
    fetches = [fetch for fetch in fetches if isinstance(fetch, tf.Tensor)]
    variables = tf.trainable_variables()
    if variables and fetches[0].dtype.is_floating:
        gradients = tf.gradients(fetches[0], variables)
        fetches += [tf.convert_to_tensor(each) for each in gradients if each is not None]
    init = [tf.global_variables_initializer(), tf.tables_initializer()]
    random = Random(0)
    sets = [draw(random) for _ in range(12)]
    with tf.Session() as session:
        session.run(init)
        for number in range(runs):
            feed = sets[random.randrange(len(sets))]
            got = session.run(fetches, feed)
            if number > runs // 3 and number % 3 == 0:
                with tf.Session() as fresh:
                    fresh.run(init)
                    expected = fresh.run(fetches, feed)
                for one, other in zip(got, expected, strict=True):
                    _compare(np.asarray(one), np.asarray(other))


def _compare(one: Any, other: Any) -> None:
    if one.dtype.kind in "OSb":
        np.testing.assert_array_equal(one, other)
    else:
        np.testing.assert_allclose(one, other, 2e-3, 1e-4)
