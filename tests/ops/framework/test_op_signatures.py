"""The output of `inspect.signature` and `help` for ops."""

from __future__ import annotations

import inspect
import pydoc

import pytest

import gpugraph as tf
from gpugraph.ops.framework.op_function import OpFunction

SIGNATURES = """
MatMul: (a, b, transpose_a=False, transpose_b=False, *, name=None)
Multinomial: (logits, num_samples, seed=0, seed2=0, output_dtype=tf.int64, *, name=None)
NoOp: (*, name=None)
Split: (axis, value, num_split, *, name=None)
Sum: (input, axis, keep_dims=False, *, name=None)
VariableV2: (shape, dtype, container='', shared_name='', *, name=None)
"""


@pytest.mark.parametrize("line", SIGNATURES.strip().splitlines())
def test_signatures_are_those_of_tensorflow(line: str) -> None:
    op_type, _, signature = line.partition(": ")
    assert str(inspect.signature(getattr(tf.raw_ops, op_type))) == signature


@pytest.mark.parametrize("op_type", sorted(set(dir(tf.raw_ops))))
def test_every_op_has_a_signature_and_a_text(op_type: str) -> None:
    function = getattr(tf.raw_ops, op_type)
    parameters = inspect.signature(function).parameters
    text = function.__doc__
    assert text.startswith(f"{op_type}(") and function.op_def.summary in text
    assert all(f"\n  {name}: " in text for name in parameters)


def test_help_shows_arguments_and_types() -> None:
    text = pydoc.plain(pydoc.render_doc(tf.raw_ops.TopKV2))
    assert "TopKV2(input, k, sorted=True, *, name=None)" in text
    assert "k: a tensor of dtype int32." in text
    assert "sorted: bool, by default True." in text
    assert "indices: a tensor of dtype int32." in text
    assert (OpFunction.__doc__ or "").startswith("A callable that adds operations")


def test_arguments_have_tensorflows_names_and_those_of_the_op() -> None:
    x = tf.constant([[1.0, 2.0]])
    with tf.Session() as session:
        for output in (
            tf.raw_ops.Sum(input=x, axis=1),
            tf.raw_ops.Sum(input=x, reduction_indices=1),
            tf.raw_ops.Sum(x, 1),
        ):
            assert session.run(output).tolist() == [3.0]
        first = tf.raw_ops.Select(condition=[True, False], x=[1, 1], y=[2, 2])
        assert session.run(first).tolist() == [1, 2]
        assert tf.raw_ops.Squeeze(input=x, axis=[0]).shape == [2]
    with pytest.raises(TypeError, match="got 'reduction_indices' twice"):
        tf.raw_ops.Sum(input=x, axis=1, reduction_indices=1)
