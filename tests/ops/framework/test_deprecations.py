"""Op types that new graphs can't have, and omitted ones."""

from __future__ import annotations

import re
from types import ModuleType

import pytest

import gpugraph as tf
from gpugraph.ops.framework.left_out_op_types import GROUP_REASONS, INSTEAD, left_out_reason


def test_removed_op_types_refuse_calls_in_tensorflows_words():
    with pytest.raises(tf.errors.UnimplementedError) as caught:
        tf.raw_ops.TensorArrayV2(size=3, dtype=tf.float32)
    assert str(caught.value) == (
        "Op TensorArrayV2 is not available in GraphDef version "
        f"{tf.GRAPH_DEF_VERSION}. It has been removed in version 26. Use TensorArrayV3."
    )
    with pytest.raises(tf.errors.UnimplementedError, match="Use SelfAdjointEigV2 instead"):
        tf.raw_ops.SelfAdjointEig(input=[[1.0]])


@pytest.mark.parametrize("op_type", ["TopK", "TensorArrayWrite", "RandomCrop", "AdjustContrast"])
def test_removed_op_types_are_listed(op_type):
    assert op_type in dir(tf.raw_ops)
    assert "Removed from graphs of version" in getattr(tf.raw_ops, op_type).__doc__


def test_left_out_op_types_say_what_to_use():
    with pytest.raises(AttributeError, match=r"'RefSelect' is declared: use tf\.case"):
        _ = tf.raw_ops.RefSelect
    with pytest.raises(AttributeError, match=r"Requantize' is declared: use tf\.quantization"):
        _ = tf.raw_ops.Requantize
    with pytest.raises(AttributeError, match=r"'Frobnicate' is declared$"):
        _ = tf.raw_ops.Frobnicate


@pytest.mark.parametrize(
    ("op_type", "reason"),
    [
        ("SnapshotDataset", "this op on datasets does not exist here"),
        ("AnonymousIteratorV2", "there is no eager execution"),
        ("TemporaryVariable", r"use tf\.Variable, whose Session frees it"),
        ("ScatterNdMax", "TensorFlow 1.15 does not have it"),
        ("ResourceAccumulatorTakeGradient", "use the op type without Resource"),
    ],
)
def test_groups_of_op_types_have_a_reason(op_type, reason):
    with pytest.raises(AttributeError, match=reason):
        getattr(tf.raw_ops, op_type)
    graph_def = tf.GraphDef()
    graph_def.node.add(name="n", op=op_type)
    with tf.Graph().as_default(), tf.Session() as session:
        (op,) = tf.import_graph_def(graph_def, return_elements=["n"])
        with pytest.raises(tf.errors.UnimplementedError, match=reason):
            session.run(op)


def test_functions_are_called_by_python() -> None:
    with pytest.raises(AttributeError, match=r"use tf\.cond and tf\.while_loop"):
        _ = tf.raw_ops.StatelessWhile


def test_no_op_type_that_is_here_has_a_reason():
    assert [op_type for op_type in dir(tf.raw_ops) if left_out_reason(op_type)] == []


def test_what_is_named_instead_of_left_out_op_types_is_there():
    assert not INSTEAD.keys() & set(dir(tf.raw_ops))
    for words in (*INSTEAD.values(), *GROUP_REASONS.values()):
        for path in re.findall(r"\btf\.([\w.]*\w)", words):
            value = tf
            for name in path.split("."):
                value = getattr(value, name)
            assert callable(value) or isinstance(value, ModuleType)
        for op_type in re.findall(r"\b(?:use|and|from) ([A-Z]\w+)(?=,|$| to| from)", words):
            assert op_type in {*dir(tf.raw_ops), "UTF"}
