"""`tf.compat.v2`: the names of version 1 with the parameters of version 2."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import gpugraph
from gpugraph.tensorflow_import.version_2_parameters import _PARAMETERS

ONLY_DEFAULTS = {
    "io.decode_raw": "fixed_length",
    "math.bincount": "name",
    "sparse.reduce_max": "output_is_sparse name",
    "sparse.reduce_sum": "output_is_sparse name",
}
"""Parameters that the function of version 1 lacks; their defaults are accepted."""


@pytest.mark.parametrize("path", sorted(_PARAMETERS))
def test_every_row_fits_the_function_of_version_1(path: str) -> None:
    value = gpugraph
    for name in path.split("."):
        value = getattr(value, name, None)
    if value is None:
        pytest.skip(f"there is no tf.{path}")
    known = {*inspect.signature(value).parameters, *ONLY_DEFAULTS.get(path, "").split()}
    assert [n for n, other, _ in _PARAMETERS[path] if n not in known and other not in known] == []


def test_arguments_are_those_of_version_2() -> None:
    with gpugraph.as_tensorflow(), gpugraph.Graph().as_default(), gpugraph.Session() as session:
        import tensorflow.compat.v2 as tf2  # noqa: PLC0415

        x = np.arange(6.0, dtype=np.float32).reshape(2, 3)
        values = session.run(
            {
                "sum": tf2.reduce_sum(x, 1, True),
                "squeezed": tf2.squeeze(input=x[None], axis=0),
                "shape": tf2.shape(x, tf2.int64),
                "in": tf2.math.in_top_k([2, 0], x, 1),
                "where": tf2.where([[True], [False]], x, 0.0),
                "taken": tf2.gather(x, [1], axis=1),
                "zeros": tf2.zeros_like(x, tf2.int32),
                "entropy": tf2.nn.softmax_cross_entropy_with_logits([[1.0, 0.0]], [[0.0, 0.0]]),
            }
        )
        with pytest.raises(TypeError, match="takes 4 positional arguments but 5 were given"):
            tf2.reduce_sum(x, 1, True, "name", 5)
        assert tf2.reduce_sum is tf2.math.reduce_sum or tf2.reduce_sum(x).shape.rank == 0
        assert tf2.keras.layers.Dense is gpugraph.keras.layers.Dense
        assert not hasattr(tf2, "placeholder_of_nothing")
    assert values["sum"].tolist() == [[3.0], [12.0]]
    assert values["squeezed"].tolist() == x.tolist()
    assert values["shape"].dtype == np.int64
    assert values["in"].tolist() == [True, False]
    assert values["where"].tolist() == [[0.0, 1.0, 2.0], [0.0, 0.0, 0.0]]
    assert values["taken"].tolist() == [[1.0], [4.0]]
    assert values["zeros"].dtype == np.int32
    assert np.allclose(values["entropy"], np.log(2))
