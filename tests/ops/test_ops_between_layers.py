"""Each op, between tensors of Keras layers, comes back from JSON: tf.keras's TensorFlowOpLayer."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.base.dtypes import as_dtype
from gpugraph.library.keras.models import model_from_json
from gpugraph.ops.framework.op_declaration import DECLARATIONS

from .samples import TABLE

K = tf.keras.backend


def _takes_values(op_type: str) -> bool:
    """Return whether graphs of today have the op, which takes and returns values, one with an
    axis.
    """
    sample, op_def = TABLE[op_type].samples[0], DECLARATIONS[op_type].op_def
    has_axes = any(array.ndim for array in sample.flat)
    has_references = any(argument.is_ref for argument in (*op_def.inputs, *op_def.outputs))
    is_public = op_type[0] != "_" and op_def.deprecation is None
    return is_public and has_axes and bool(op_def.outputs) and not has_references


OP_TYPES = sorted(filter(_takes_values, TABLE))

NOT_IN_JSON = {
    "IRFFT": "complex",
    "IRFFT2D": "complex",
    "IRFFT3D": "complex",
    "ReduceJoin": "utf-8",
    "StringJoin": "utf-8",
    "UnsortedSegmentJoin": "utf-8",
}
"""Ops whose sample has a constant that JSON has no form for, beside the input of one place."""


@pytest.mark.parametrize("place", (0, -1), ids=("first", "last"))
@pytest.mark.parametrize("op_type", OP_TYPES)
def test_an_op_comes_back(op_type: str, place: int) -> None:
    K.clear_session()
    sample = TABLE[op_type].samples[0]
    place = [number for number, array in enumerate(sample.flat) if array.ndim][place]
    array = sample.flat[place]
    inputs = [tf.constant(value, as_dtype(value.dtype)) for value in sample.flat]
    inputs[place] = tf.keras.Input(batch_shape=array.shape, dtype=as_dtype(array.dtype).name)
    attrs = sample.all_attrs(DECLARATIONS[op_type].op_def)
    op = tf.get_default_graph().create_op(op_type, inputs, name="op", attrs=attrs)
    model = tf.keras.Model(inputs[place], list(op.outputs))
    try:
        copy = model_from_json(model.to_json())
    except (TypeError, UnicodeDecodeError) as error:
        assert NOT_IN_JSON.get(op_type, "nothing") in str(error) or "j)" in str(error)
        assert op_type in NOT_IN_JSON
        return
    results = [K.function(model.inputs, model.outputs)([array]) for model in (model, copy)]
    for own, other in zip(*results):
        if np.asarray(own).dtype.kind in "fc":
            np.testing.assert_allclose(other, own, rtol=1e-6, atol=1e-7)
        else:
            np.testing.assert_array_equal(other, own)
