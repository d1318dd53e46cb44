"""Restores straight into the memory of variables: when, when not, and the state after an error."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.formats.checkpoints.bundle_writer import BundleWriter
from tests.compile.stages import compiled, types


@pytest.fixture(autouse=True)
def graph(monkeypatch):
    monkeypatch.setenv("GPUGRAPH_VERIFY", "1")
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.fixture
def prefix(tmp_path):
    return str(tmp_path / "model")


def write(prefix, **values):
    with BundleWriter(prefix) as writer:
        for name, value in sorted(values.items()):
            writer.add(name.encode(), np.asarray(value))


def variables(resource=False):
    return [
        tf.get_variable(name, shape, dtype, use_resource=resource)
        for name, shape, dtype in (
            ("a", [3], tf.float32),
            ("b", [2, 2], tf.int64),
            ("c", [], tf.bool),
        )
    ]


A, B, C = np.float32([1, 2, 3]), np.arange(4).reshape(2, 2), np.bool_(True)


def restored_types(saver):
    unit = compiled([tf.get_default_graph().get_operation_by_name(saver.saver_def.restore_op_name)])
    assert not unit.runs_once
    return unit, [kind for kind in types(unit) if "Restore" in kind]


@pytest.mark.parametrize("resource", [False, True])
def test_whole_variables_are_read_in_place(prefix, resource):
    values = variables(resource)
    saver = tf.train.Saver()
    unit, kinds = restored_types(saver)
    assert kinds == ["_RestoreSized"]
    [node] = [node for node in unit.order if node.type == "_RestoreSized"]
    assert [unit.homes[node.id, slot].storage.kind for slot in range(3)] == ["variable"] * 3
    with tf.Session() as sess:
        for factor in (1, 2):
            write(prefix, a=A * factor, b=B * factor, c=C)
            saver.restore(sess, prefix)
            first, second, third = sess.run(values)
            assert (first == A * factor).all() and (second == B * factor).all() and third
            sess.run([values[0].assign([0, 0, 0]), values[2].assign(False)])


def test_an_error_changes_no_variable(prefix):
    values = variables()
    saver = tf.train.Saver()
    with tf.Session() as sess:
        write(prefix, a=A, b=B, c=C)
        saver.restore(sess, prefix)
        write(prefix, a=-A, b=-B, c=C)
        data = Path(f"{prefix}.data-00000-of-00001")
        content = bytearray(data.read_bytes())
        content[20] ^= 1
        data.write_bytes(content)
        with pytest.raises(tf.errors.DataLossError, match=r"data-00000.*: b: Checksum.*offset 12"):
            saver.restore(sess, prefix)
        assert (sess.run(values[0]) == A).all() and (sess.run(values[1]) == B).all()


@pytest.mark.parametrize("resource", [False, True])
def test_another_shape_or_dtype_is_refused(prefix, resource):
    values = variables(resource)
    saver = tf.train.Saver()
    with tf.Session() as sess:
        write(prefix, a=A, b=B, c=C)
        saver.restore(sess, prefix)
        write(prefix, a=-A, b=np.arange(4), c=C)
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            saver.restore(sess, prefix)
        assert "lhs shape= [2,2] rhs shape= [4]: 'save/Assign" in caught.value.message
        write(prefix, a=-A, b=B.astype(np.int32), c=C)
        with pytest.raises(tf.errors.InvalidArgumentError, match="tensor_name = b; expected dtype"):
            saver.restore(sess, prefix)
        write(prefix, a=-A, b=B)
        with pytest.raises(tf.errors.NotFoundError, match="Key c not found"):
            saver.restore(sess, prefix)
        assert (sess.run(values[0]) == A).all()


def test_parts_of_variables_are_read_in_place(prefix):
    parts = tf.get_variable(
        "p", [5, 2], tf.float32, partitioner=tf.fixed_size_partitioner(2), use_resource=False
    )
    saver = tf.train.Saver()
    assert restored_types(saver)[1] == ["_RestoreSized"]
    whole = np.arange(10, dtype=np.float32).reshape(5, 2)
    with tf.Session() as sess:
        write(prefix, p=whole)
        saver.restore(sess, prefix)
        assert (sess.run(tf.convert_to_tensor(parts)) == whole).all()
        saver.save(sess, prefix, write_meta_graph=False)
        sess.run([part.assign(part * 0) for part in parts])
        saver.restore(sess, prefix)
        assert (sess.run(tf.convert_to_tensor(parts)) == whole).all()


def test_strings_are_restored_beside_numbers(prefix):
    values = [*variables(), tf.get_variable("text", initializer=["x", "y"])]
    saver = tf.train.Saver()
    assert restored_types(saver)[1] == ["_RestoreSized"]
    write(prefix, a=A, b=B, c=C, text=np.array([b"long", b""], object))
    with tf.Session() as sess:
        for _ in range(2):
            saver.restore(sess, prefix)
            first, *_, text = sess.run(values)
            assert (first == A).all() and text.tolist() == [b"long", b""]
            sess.run(values[3].assign(["", ""]))


@pytest.mark.parametrize("kind", ["reshape", "open", "fetched", "two"])
def test_others_are_read_as_they_are(prefix, kind):
    if kind == "open":
        tf.Variable([1.0], validate_shape=False, name="a", use_resource=False)
    else:
        variables()
    saver = tf.train.Saver(reshape=kind == "reshape")
    [restore] = [op for op in tf.get_default_graph().get_operations() if op.type == "RestoreV2"]
    run = tf.get_default_graph().get_operation_by_name(saver.saver_def.restore_op_name)
    fetches = [run]
    if kind == "fetched":
        fetches = [restore.outputs[0], run]
    elif kind == "two":
        fetches = [tf.shape(restore.outputs[0]) * 2, run]
    assert "_RestoreSized" not in types(compiled(fetches))


def test_a_variable_that_is_read_before_it_is_set_keeps_its_value_until_then(prefix):
    first = tf.get_variable("a", [3], tf.float32, use_resource=True)
    saver = tf.train.Saver()
    run = tf.get_default_graph().get_operation_by_name(saver.saver_def.restore_op_name)
    with tf.Session() as sess:
        write(prefix, a=A)
        saver.restore(sess, prefix)
        before = first.read_value() * 1.0
        [assign] = [
            op
            for op in tf.get_default_graph().get_operations()
            if "Assign" in op.type and op.name.startswith("save/")
        ]
        assign._add_control_input(before.op)
        write(prefix, a=-A)
        value, _ = sess.run([before, run], {saver.saver_def.filename_tensor_name: prefix})
        assert (value == A).all() and (sess.run(first) == -A).all()
