"""Checkpoints of objects: keys, restores now and later, checks, other checkpoints."""

from __future__ import annotations

import gc
import os

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.library.train.object_checkpoints.object_saver import ObjectSaver
from gpugraph.library.train.savers.saveable_objects import SaveableObject, SaveSpec


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.fixture
def prefix(tmp_path):
    return str(tmp_path / "folder" / "model")


class Net(tf.Module):
    def __init__(self):
        super().__init__(name="net")
        self.w = tf.Variable([1.0, 2.0], name="w")
        self.parts = [tf.Variable(1.0, name="a"), {"x.y": tf.Variable("s", name="b")}]
        self.left_out = tf.contrib.checkpoint.NoDependency([tf.Variable(3, name="c")])


class Trained:
    """A net, a layer and an optimizer with slots, in the default graph."""

    def __init__(self, minimize=True):
        self.net, self.layer = Net(), tf.layers.Dense(2, name="dense")
        self.optimizer = tf.train.AdamOptimizer(0.1)
        self.checkpoint = tf.train.Checkpoint(
            net=self.net, layer=self.layer, optimizer=self.optimizer
        )
        if minimize:
            self.minimize()

    def minimize(self):
        outputs = self.layer(tf.ones([1, 2]))
        self.loss = tf.reduce_sum(outputs**2) + tf.reduce_sum(self.net.w**2)
        self.step = self.optimizer.minimize(self.loss)


def saved(prefix, steps=2):
    """Return the path of a trained checkpoint, and the losses of the next two steps."""
    with tf.Graph().as_default(), tf.Session() as sess:
        trained = Trained()
        sess.run(tf.global_variables_initializer())
        for _ in range(steps):
            sess.run(trained.step)
        path = trained.checkpoint.save(prefix, sess)
        return path, losses(trained, sess)


def losses(trained, sess):
    return [(sess.run(trained.loss), sess.run(trained.step))[0] for _ in range(2)]


def value_key(path):
    return f"{path}/.ATTRIBUTES/VARIABLE_VALUE"


def test_keys_are_those_of_tensorflow(prefix):
    path, _ = saved(prefix)
    slots = [
        f"{name}/.OPTIMIZER_SLOT/optimizer/{slot}"
        for name in ("layer/bias", "layer/kernel", "net/w")
        for slot in "mv"
    ]
    plain = ["layer/bias", "layer/kernel", "net/parts/0", "net/parts/1/x..y", "net/w"]
    own = ["optimizer/beta1_power", "optimizer/beta2_power", "save_counter"]
    expected = [value_key(name) for name in (*slots, *plain, *own)]
    names = [name for name, _ in tf.train.list_variables(path)]
    assert names == sorted([*expected, "_CHECKPOINTABLE_OBJECT_GRAPH"])
    assert os.path.basename(path) == "model-1"
    assert tf.train.latest_checkpoint(os.path.dirname(prefix)) == path


def test_the_graph_of_objects_is_in_it(prefix):
    path, _ = saved(prefix)
    message = tf.contrib.checkpoint.object_metadata(path)
    root = {child.local_name: child.node_id for child in message.nodes[0].children}
    assert sorted(root) == ["layer", "net", "optimizer", "save_counter"]
    slots = message.nodes[root["optimizer"]].slot_variables
    assert sorted(slot.slot_name for slot in slots) == ["m"] * 3 + ["v"] * 3
    names = {attr.full_name for node in message.nodes for attr in node.attributes}
    assert {"w", "dense/kernel", "beta1_power", "w/Adam"} <= names


@pytest.mark.parametrize("is_later", [False, True])
def test_training_goes_on(prefix, is_later):
    path, expected = saved(prefix)
    trained = Trained(minimize=not is_later)
    status = trained.checkpoint.restore(path)
    if is_later:
        status.assert_existing_objects_matched()
        with pytest.raises(AssertionError, match=r"Unresolved object in checkpoint \(root\).layer"):
            status.assert_consumed()
        trained.minimize()
    status.assert_consumed().assert_nontrivial_match()
    with tf.Session() as sess:
        status.initialize_or_restore(sess)
        assert sess.run(trained.checkpoint.save_counter) == 1
        assert losses(trained, sess) == expected
        assert trained.checkpoint.save(prefix, sess).endswith("model-2")


def test_a_restore_is_run_again_without_new_operations(prefix, graph):
    path, expected = saved(prefix)
    trained = Trained()
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for _ in range(2):
            trained.checkpoint.restore(path).run_restore_ops(sess)
            version = graph.version
        trained.checkpoint.restore(path).run_restore_ops(sess)
        assert graph.version == version
        assert losses(trained, sess) == expected
        trained.checkpoint.write(prefix, sess)
        version = graph.version
        trained.checkpoint.write(prefix, sess)
        assert graph.version == version


def test_a_finalized_graph_is_restored(prefix, graph):
    path, expected = saved(prefix)
    trained = Trained()
    status = trained.checkpoint.restore(path)
    graph.finalize()
    with tf.Session() as sess:
        status.initialize_or_restore(sess)
        assert losses(trained, sess) == expected


def test_the_later_restore_counts(prefix):
    first, _ = saved(prefix, steps=1)
    second, _ = saved(prefix + "_other", steps=3)
    trained = Trained(minimize=False)
    earlier = trained.checkpoint.restore(first)
    later = trained.checkpoint.restore(second)
    trained.minimize()
    with tf.Session() as sess:
        later.run_restore_ops(sess)
        earlier.run_restore_ops(sess)
        expected = tf.train.load_variable(second, value_key("layer/kernel"))
        assert sess.run(trained.layer.kernel).tolist() == expected.tolist()


def test_what_does_not_match_is_said(prefix):
    path, _ = saved(prefix)
    more = tf.train.Checkpoint(net=Net(), more=tf.Variable(5, name="more"))
    status = more.restore(path)
    with pytest.raises(AssertionError, match=r"not bound to checkpointed values.*more"):
        status.assert_consumed()
    with tf.Session() as sess:
        status.initialize_or_restore(sess)
        assert sess.run(more.more) == 5
        sess.run(more.net.left_out[0].initializer)
        written = more.write(prefix, sess)  # it has the counter of `more`
    other = tf.contrib.checkpoint.Checkpointable()
    other.v = tf.Variable(1)
    status_of_other = ObjectSaver(other).restore(written)
    with pytest.raises(AssertionError, match="Nothing except the root object matched"):
        status_of_other.assert_nontrivial_match()
    del other.v
    with pytest.raises(AssertionError, match="No dependencies have been added"):
        status_of_other.assert_nontrivial_match()
    assert status.expect_partial() is status


def test_without_a_checkpoint_objects_are_initialized():
    checkpoint = tf.train.Checkpoint(v=tf.Variable(4))
    status = checkpoint.restore(None)
    for check in ("assert_consumed", "assert_existing_objects_matched", "assert_nontrivial_match"):
        with pytest.raises(AssertionError, match=r"No checkpoint specified \(save_path=None\)"):
            getattr(status, check)()
    with pytest.raises(AssertionError, match="no restore ops are available"):
        status.run_restore_ops()
    with tf.Session() as sess:
        status.initialize_or_restore()
        assert sess.run([checkpoint.v, checkpoint.save_counter]) == [4, 0]


@pytest.mark.parametrize("counts", [False, True])
def test_a_saver_s_checkpoint_is_restored_by_names(prefix, tmp_path, counts):
    with tf.Graph().as_default(), tf.Session() as sess:
        trained = Trained()
        sess.run([tf.global_variables_initializer(), trained.checkpoint.save_counter.initializer])
        sess.run(trained.checkpoint.save_counter.assign(7).op)
        variables = [v for v in tf.global_variables() if counts or v.op.name != "save_counter"]
        path = tf.train.Saver(variables).save(sess, str(tmp_path / "names"), write_meta_graph=False)
        expected = losses(trained, sess)
    trained = Trained()
    status = trained.checkpoint.restore(path)
    with pytest.raises(AssertionError, match="Object not restored"):
        status.assert_consumed()
    with tf.Session() as sess:
        status.initialize_or_restore(sess)
        status.assert_consumed()
        assert losses(trained, sess) == expected
        assert sess.run(trained.checkpoint.save_counter) == (7 if counts else 0)
    with pytest.raises(ValueError, match="does not appear to be object-based"):
        tf.contrib.checkpoint.object_metadata(path)


def test_a_saver_restores_objects_by_names(prefix):
    path, expected = saved(prefix)
    trained = Trained()
    saved_here = [v for v in tf.global_variables() if v is not trained.net.left_out[0]]
    with tf.Session() as sess:
        tf.train.Saver(saved_here).restore(sess, path)
        assert losses(trained, sess) == expected
        renamed = tf.train.Saver({"dense/kernel": trained.layer.kernel})
        renamed.restore(sess, path)
        renamed.restore(sess, path)
        tf.Variable(0.0, name="unknown")
        with pytest.raises(tf.errors.NotFoundError, match="Existing variables not in the checkp"):
            tf.train.Saver().restore(sess, path)


def test_warm_starts_from_objects(prefix):
    path, _ = saved(prefix)
    w = tf.get_variable("w", [2])
    tf.train.warm_start(path, "w")
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        expected = tf.train.load_variable(path, value_key("net/w"))
        assert sess.run(w).tolist() == expected.tolist()
        tf.get_variable("v", [2])
        with pytest.raises(ValueError, match=r"following variables were missing: {'v'}"):
            tf.train.warm_start(path)


class TwiceSaveable(SaveableObject):
    def __init__(self, variable, name):
        super().__init__(variable, [SaveSpec(variable * 2, "", name)], name)

    def restore(self, restored_tensors, restored_shapes):
        return self.op.assign(restored_tensors[0] / 2)


def test_objects_have_values_of_their_own(prefix):
    class Twice(tf.contrib.checkpoint.CheckpointableBase):
        def __init__(self, value):
            self.variable = tf.Variable(value, name="hidden")

        def _gather_saveables_for_checkpoint(self):
            return {"a/b": lambda name="twice": TwiceSaveable(self.variable, name)}

    checkpoint = tf.train.Checkpoint(twice=Twice(3.0))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        path = checkpoint.save(prefix)
        assert tf.train.load_variable(path, "twice/.ATTRIBUTES/a.Sb") == 6
        sess.run(checkpoint.twice.variable.assign(0.0))
        checkpoint.restore(path).assert_consumed().run_restore_ops()
        assert sess.run(checkpoint.twice.variable) == 3


def test_errors(prefix, tmp_path):
    with pytest.raises(ValueError, match="`Checkpoint` was expecting a trackable object"):
        tf.train.Checkpoint(x=3)
    checkpoint = tf.train.Checkpoint(v=tf.Variable(np.zeros(2, np.float32)))
    with pytest.raises(RuntimeError, match=r"Unable to save checkpoint to .* default session"):
        checkpoint.save(prefix)
    with pytest.raises(tf.errors.NotFoundError, match="Failed to find any matching files"):
        checkpoint.restore(prefix)
    checkpoint.odd = {3: tf.Variable(1)}
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        with pytest.raises(ValueError, match="contains a non-string key, 3"):
            checkpoint.save(prefix)
        checkpoint.odd = tf.contrib.checkpoint.NoDependency(checkpoint.odd)
        path = checkpoint.save(prefix)
    other = tf.train.Checkpoint(v=tf.Variable(np.zeros(3, np.float32), name="v"))
    with tf.Session() as sess, pytest.raises(tf.errors.InvalidArgumentError, match="shape"):
        other.restore(path).run_restore_ops(sess)


@pytest.mark.parametrize("content", [b"\xff\xff", b"", b"\x0a\x04\x0a\x02\x08\x05"])
def test_a_bad_graph_of_objects_is_data_loss(tmp_path, content):
    key = "_CHECKPOINTABLE_OBJECT_GRAPH"
    path = str(tmp_path / "bad")
    with tf.Session() as sess:
        sess.run(tf.raw_ops.SaveV2(path, [key], [""], [tf.constant(content)]))
    with pytest.raises(tf.errors.DataLossError, match=key):
        tf.train.Checkpoint().restore(path)


@pytest.mark.parametrize("is_expected", [False, True])
def test_unused_values_are_warned_of(prefix, monkeypatch, is_expected):
    path, _ = saved(prefix)
    lines = []
    monkeypatch.setattr(tf.logging, "warning", lambda text, *args: lines.append(text % args))
    status = tf.train.Checkpoint(layer=tf.layers.Dense(2)).restore(path)
    if is_expected:
        assert status.expect_partial() is status
    del status
    gc.collect()
    names = [line.rpartition(" ")[2] for line in lines if line.startswith("Unresolved object")]
    assert is_expected or "(root).layer.kernel" in names
    assert any("expect_partial" in line for line in lines) != is_expected
