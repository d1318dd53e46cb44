"""Lists, mappings and names of trackable objects; attributes that are followed."""

from __future__ import annotations

import copy

import pytest

import gpugraph as tf
from gpugraph.library.train.object_checkpoints.object_graph import ObjectGraph

checkpoint = tf.contrib.checkpoint


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def dependencies(item):
    return [name for name, _ in item._checkpoint_dependencies]


def test_a_list_only_grows():
    first, second, third = (tf.Variable(0) for _ in range(3))
    items = checkpoint.List([first])
    items.append(second)
    items += [third]
    assert dependencies(items) == ["0", "1", "2"]
    assert [*items] == [first, second, third]
    with pytest.raises(ValueError, match=r"Only trackable objects .* List object. Got 3"):
        items.append(3)
    with pytest.raises(TypeError, match="List only supports append and extend"):
        del items[0]
    assert hash(items) != hash(checkpoint.List())
    assert repr(checkpoint.List()) == "List([])"


def test_a_mapping_keeps_its_keys():
    first, second = tf.Variable(0), tf.Variable(0)
    items = checkpoint.Mapping(a=first)
    items["b"] = [second]
    assert dependencies(items) == ["a", "b"]
    assert dict(items)["a"] is items["a"] is first
    with pytest.raises(ValueError, match="Tried to overwrite the key 'a'"):
        items["a"] = second
    with pytest.raises(TypeError, match="accepts only string keys, but got a key 3"):
        items[3] = second
    with pytest.raises(ValueError, match="which does not inherit from Trackable"):
        items["c"] = "x"


def test_names_are_made_unique():
    tracker, variable = checkpoint.UniqueNameTracker(), tf.Variable(0)
    for name in ("x", "x", "y", "x"):
        assert tracker.track(variable, name) is variable
    assert dependencies(tracker) == ["x", "x_1", "y", "x_2"]
    with pytest.raises(ValueError, match="Expected a trackable value"):
        tracker.track(3, "x")


def test_attributes_are_followed_as_they_are():
    holder = checkpoint.Checkpointable()
    holder.variable = tf.Variable(0)
    holder.items = [{"a": tf.Variable(0)}, 3]
    holder.numbers = [1, 2]
    holder.ignored = checkpoint.NoDependency(tf.Variable(0))
    assert isinstance(holder.ignored, tf.Variable)
    assert dependencies(holder) == ["variable", "items"]
    holder.ignored = holder.variable
    holder.variable = holder._no_dependency(holder.variable)
    assert dependencies(holder) == ["items", "ignored"]


def test_a_list_that_holds_itself_ends():
    holder = checkpoint.Checkpointable()
    holder.items = [tf.Variable(0)]
    holder.items.append(holder.items)
    assert len(checkpoint.list_objects(holder)) == 3


def test_dependencies_have_names_of_their_own():
    base, variable = checkpoint.CheckpointableBase(), tf.Variable(0)
    assert base._track_trackable(variable, "v") is variable
    assert base._lookup_dependency("v") is variable
    with pytest.raises(ValueError, match="already declared as a dependency"):
        base._track_trackable(tf.Variable(1), "v")
    with pytest.raises(TypeError, match="not a Trackable"):
        base._track_trackable(3, "w")
    other = base._track_trackable(tf.Variable(1), "v", overwrite=True)
    assert dict(base._checkpoint_dependencies) == {"v": other}


def test_networks_name_their_layers_by_place():
    inputs = tf.keras.layers.Input((3,))
    dense = tf.keras.layers.Dense(2, name="d")
    outputs = dense(tf.keras.layers.Flatten()(inputs))
    model = tf.keras.Model(inputs, outputs)
    root = tf.train.Checkpoint(model=model)
    names = dependencies(model)
    assert names[:4] == ["layer-0", "layer-1", "layer_with_weights-0", "layer-2"]
    assert dependencies(dense) == ["kernel", "bias"]
    assert model.layers[2] in checkpoint.list_objects(root)


def test_loss_scales_are_followed():
    scale = tf.train.experimental.DynamicLossScale()
    names = dependencies(scale)
    assert sorted(names) == ["current_loss_scale", "good_steps"]
    optimizer = tf.train.experimental.MixedPrecisionLossScaleOptimizer(
        tf.train.GradientDescentOptimizer(0.1), scale
    )
    assert sorted(dependencies(optimizer)) == ["base_optimizer", "loss_scale"]


def keys(root):
    """Return the keys of a root's variables, without their common suffix."""
    ending = "/.ATTRIBUTES/VARIABLE_VALUE"
    nodes = ObjectGraph(root).nodes
    return sorted(key.removesuffix(ending) for node in nodes for _, key, _ in node.attributes())


def test_templates_are_followed_by_names_within_their_scopes():
    def inner(x):
        return x * tf.get_variable("w", [2])

    def outer(x):
        nested = tf.make_template("inner", inner)
        with tf.variable_scope("sub"):
            b = tf.get_variable("b", [2])
        tf.Variable(3.0, name="plain")
        return nested(nested(x)) + b + tf.get_variable("c", [2], trainable=False)

    template = tf.make_template("outer", outer)
    assert keys(tf.train.Checkpoint(t=template)) == []
    template(tf.ones([2]))
    assert keys(tf.train.Checkpoint(t=template)) == ["t/c", "t/inner/w", "t/sub.Sb"]


def test_models_are_followed_by_their_attributes():
    class Model(tf.keras.Model):
        def __init__(self):
            super().__init__(name="model")
            self.first = tf.keras.layers.Dense(3)
            self.blocks = [tf.keras.layers.Dense(2)]
            self._private = tf.keras.layers.Dense(2, use_bias=False)
            self.table = {"k": (1, tf.keras.layers.Dense(2, use_bias=False))}
            self.v = tf.Variable(1.0)
            self.same = self.first

        def call(self, x):
            x = self.first(x)
            return self._private(x) * self.v + self.blocks[0](x) + self.table["k"][1](x)

    model = Model()
    root = tf.train.Checkpoint(m=model)
    assert keys(root) == ["m/v"]
    model(tf.ones([1, 2]))
    names = ["_private/kernel", "blocks/0/bias", "blocks/0/kernel", "first/bias", "first/kernel"]
    assert keys(root) == [f"m/{name}" for name in (*names, "table/k/1/kernel", "v")]
    assert keys(tf.train.Checkpoint(copied=copy.deepcopy(model.first))) == [
        "copied/bias",
        "copied/kernel",
    ]


def test_optimizers_of_keras_have_settings_and_slots(tmp_path):
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, use_bias=False, input_shape=(2,))])
    optimizer = tf.keras.optimizers.Adam(0.1)
    loss = tf.reduce_sum(model(tf.ones([1, 2])))
    step = optimizer.get_updates(loss, model.trainable_weights)
    root = tf.train.Checkpoint(model=model, optimizer=optimizer)
    kernel = "model/layer_with_weights-0/kernel"
    settings = ("beta_1", "beta_2", "decay", "iter", "learning_rate")
    slots = [f"{kernel}/.OPTIMIZER_SLOT/optimizer/{name}" for name in "mv"]
    assert keys(root) == [kernel, *slots, *(f"optimizer/{name}" for name in settings)]
    path = root.save(str(tmp_path / "model"))  # in Keras's session
    session = tf.keras.backend.get_session()
    before = session.run(model.weights)
    session.run(step)
    root.restore(path).assert_consumed().run_restore_ops()
    assert session.run(optimizer.iterations) == 0
    assert session.run(model.weights)[0].tolist() == before[0].tolist()


def test_cells_have_numbers():
    rnn_cell = tf.nn.rnn_cell
    inner = rnn_cell.DropoutWrapper(rnn_cell.GRUCell(2))
    cell = rnn_cell.MultiRNNCell([rnn_cell.BasicLSTMCell(2), inner])
    tf.nn.dynamic_rnn(cell, tf.ones([1, 3, 2]), dtype=tf.float32)
    gru = ["candidate.Sbias", "candidate.Skernel", "gates.Sbias", "gates.Skernel"]
    names = ["cell-0/bias", "cell-0/kernel", *(f"cell-1/cell/{name}" for name in gru)]
    assert keys(tf.train.Checkpoint(c=cell)) == [f"c/{name}" for name in names]
    assert keys(tf.train.Checkpoint(c=copy.deepcopy(cell))) == [f"c/{name}" for name in names]
