"""Lists, mappings and names of trackable objects; attributes that are followed."""

from __future__ import annotations

import pytest

import gpugraph as tf

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
