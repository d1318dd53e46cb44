"""`tensorflow.python.ops.parallel_for.gradients`, which computes the derivatives of each element of
an output.
"""

from __future__ import annotations

from typing import Any

from gpugraph.api import top_level as tf
from gpugraph.base.nest import flatten, pack_sequence_as
from gpugraph.building.gradients import gradients


def jacobian(
    output: Any, inputs: Any, use_pfor: bool = True, parallel_iterations: Any = None
) -> Any:
    """Return, for each input, the derivatives of `output` with respect to it. Their shape is the
    shape of `output` followed by the shape of the input.

    The number of elements of `output` must be known.
    """
    listed = flatten(inputs)
    count = output.shape.num_elements()
    if count is None:
        raise ValueError(f"The shape of the output must be known, but it is {output.shape}")
    flat = tf.reshape(output, [-1])
    rows = [gradients(flat[index], listed) for index in range(count)]
    results = [
        None
        if column[0] is None
        else tf.reshape(
            tf.stack([tf.convert_to_tensor(value) for value in column]),
            tf.concat([tf.shape(output), tf.shape(source)], 0),
        )
        for column, source in zip(zip(*rows), listed)
    ]
    return pack_sequence_as(inputs, results)


def batch_jacobian(
    output: Any, inp: Any, use_pfor: bool = True, parallel_iterations: Any = None
) -> Any:
    """Return the derivatives of each row of `output` with respect to the same row of `inp`.

    The shape of the result is [batch, ...output, ...input]. The number of columns of `output` must
    be known.
    """
    count = output.shape[1:].num_elements()
    if count is None:
        raise ValueError(f"The shape of a row must be known, but the output has {output.shape}")
    flat = tf.reshape(output, [-1, count])
    columns = [gradients(flat[:, index], inp)[0] for index in range(count)]
    if columns and columns[0] is None:
        return None
    rows = tf.stack(columns, 1)
    shape = tf.concat([tf.shape(output), tf.shape(inp)[1:]], 0)
    result = tf.reshape(rows, shape)
    result.set_shape([output.shape[0], *output.shape[1:], *inp.shape[1:]])
    return result
