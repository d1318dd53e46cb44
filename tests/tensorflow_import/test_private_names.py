"""The names that TensorFlow keeps to itself, as programs use them."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.tensorflow_import import private_attributes, private_optimizer_attributes


@pytest.fixture
def ops() -> ModuleType:
    with tf.as_tensorflow():
        return importlib.import_module("tensorflow.python.framework.ops")


def test_dims_of_a_shape() -> None:
    assert tf.TensorShape([2, None])._dims[0].value == 2  # type: ignore[attr-defined]
    assert tf.TensorShape([2, None])._dims[1].value is None  # type: ignore[attr-defined]
    assert tf.TensorShape(None)._dims is None  # type: ignore[attr-defined]


class Captured:
    """How Keras 2.2.4 finds out in which device scope it is."""

    device: Any = None

    def _set_device(self, device: Any) -> None:
        self.device = device


class CapturedText(Captured):
    """How Keras 2.3.1 does."""

    def _set_device_from_string(self, text: str) -> None:
        self.device = f"text {text}"


def test_apply_device_functions() -> None:
    graph = tf.Graph()
    nowhere, spec, text = Captured(), Captured(), CapturedText()
    graph._apply_device_functions(nowhere)  # type: ignore[attr-defined]
    with graph.device("/job:worker"), graph.device("/gpu:1"):
        graph._apply_device_functions(spec)  # type: ignore[attr-defined]
        graph._apply_device_functions(text)  # type: ignore[attr-defined]
    assert nowhere.device is None
    assert (spec.device.job, spec.device.device_type, spec.device.device_index) == (
        "worker",
        "GPU",
        1,
    )
    assert text.device == "text /job:worker/device:GPU:1"
    asked = []
    with graph.device(lambda op: asked.append(op) or "/cpu:0"):
        graph._apply_device_functions(spec)  # type: ignore[attr-defined]
    assert asked == [spec] and spec.device.device_type == "CPU"


def test_tensor_like(ops: Any) -> None:
    with tf.Graph().as_default():
        tensor, variable = tf.constant(1.0), tf.Variable(1.0)
        sparse = tf.SparseTensor([[0]], [1.0], [1])
        slices = tf.IndexedSlices(tensor, tensor)
    assert [isinstance(x, ops._TensorLike) for x in (tensor, sparse, slices)] == [True] * 3
    assert not isinstance(variable, ops._TensorLike) and not isinstance(1.0, ops._TensorLike)
    assert ops.is_dense_tensor_like(tensor) and ops.is_dense_tensor_like(variable)
    assert not any(map(ops.is_dense_tensor_like, (sparse, slices, 1.0)))
    assert ops._as_graph_element(tensor) is None  # as it is no stand-in
    assert ops._as_graph_element(variable).op.type in ("VariableV2", "ReadVariableOp", "Identity")


def test_programs_hang_their_own_attributes_on_tensors() -> None:
    with tf.Graph().as_default():
        tensor = tf.constant(1.0)
    tensor._keras_history = ("layer", 0, 0)
    tensor._keras_shape = ()
    assert tensor._keras_history[0] == "layer"


def test_state_of_graphs_and_operations() -> None:
    graph: Any = tf.Graph()
    with graph.as_default(), graph.container("box"):
        x: Any = tf.constant(1.0, name="x")
        y: Any = tf.split([1.0, 2.0], 2)[1]
        assert graph._container == "box"
        context = object()
        graph._set_control_flow_context(context)
        assert graph._get_control_flow_context() is context
        graph._set_control_flow_context(None)
        with tf.variable_creator_scope(lambda make, **options: make(**options)):
            assert len(graph._variable_creator_stack) == 1
        with graph.gradient_override_map({"Neg": "Mine"}):
            assert graph._gradient_override_map == {"Neg": "Mine"}
    assert graph._building_function is False
    assert graph._get_operation_by_name_unsafe("x") is x.op
    assert graph._nodes_by_name["x"] is graph._nodes_by_id[x.op._id] is x.op
    assert graph._last_id == len(graph.get_operations())
    assert graph._get_op_def("Split").name == "Split"
    assert not graph._is_function("f")
    graph.prevent_feeding(x)
    graph.prevent_fetching(x.op)
    assert (list(graph._unfeedable_tensors), list(graph._unfetchable_ops)) == ([x], [x.op])
    split = y.op
    assert split._input_types == [tf.int32, tf.float32]
    assert split._output_types == [1, 1]
    assert not split._is_stateful
    assert split._graph is graph
    assert split._node_def.name == "split"
    assert split._traceback == split.traceback
    split._add_control_input(x.op)
    split._remove_all_control_inputs()
    assert split.control_inputs == []
    split._set_control_flow_context(context)
    assert split._get_control_flow_context() is context
    split._set_device_from_string("/cpu:0")
    assert split.device == "/cpu:0"
    assert (y._op, y._value_index, y._rank()) == (split, 1, 1)
    assert x._id != y._id


def test_state_of_monitored_sessions() -> None:
    with tf.Graph().as_default():
        tf.train.get_or_create_global_step()
        session: Any = tf.train.MonitoredSession()
        creator = session._coordinated_creator
        assert creator.tf_sess is session._tf_sess()
        assert not creator.coord.should_stop()
        assert not session._is_closed()
        session.close()
        assert session._is_closed()
        assert session._coordinated_creator.tf_sess is None


def test_the_correction_of_variances_can_be_left_out() -> None:
    images = np.arange(8, dtype=np.float32).reshape(1, 2, 2, 2)
    variances = []
    for is_corrected in (True, False):
        with tf.Graph().as_default(), tf.Session() as session:
            layer: Any = tf.layers.BatchNormalization(momentum=0.0)
            layer._bessels_correction_test_only = is_corrected
            layer(tf.constant(images), training=True)
            session.run(tf.global_variables_initializer())
            session.run(layer.updates)
            variances.append(session.run(layer.moving_variance))
    by_channel = images.reshape(4, 2)
    np.testing.assert_allclose(variances[0], by_channel.var(0, ddof=1), rtol=1e-6)
    np.testing.assert_allclose(variances[1], by_channel.var(0), rtol=1e-6)


def test_every_private_attribute_is_new() -> None:
    for module in (private_attributes, private_optimizer_attributes):
        for owner, attributes in module.PRIVATE_ATTRIBUTES.items():
            for name, value in attributes.items():
                assert name.startswith("_") and vars(owner)[name] is value


def test_beta_accumulators_of_adam() -> None:
    with tf.Graph().as_default():
        optimizer = tf.train.AdamOptimizer(beta1=0.5)
        optimizer.minimize(tf.get_variable("v", []) ** 2)
        powers = optimizer._get_beta_accumulators()  # type: ignore[attr-defined]
        assert [power.op.name for power in powers] == ["beta1_power", "beta2_power"]


def test_settings_of_optimizers() -> None:
    with tf.Graph().as_default():
        adam: Any = tf.train.AdamOptimizer(0.25, epsilon=0.5)
        momentum: Any = tf.train.MomentumOptimizer(0.25, 0.75)
        for optimizer in (adam, momentum):
            optimizer.minimize(tf.get_variable(optimizer.get_name(), []) ** 2)
        assert (adam._lr, adam._beta1, adam._beta2, adam._epsilon) == (0.25, 0.9, 0.999, 0.5)
        assert tf.get_static_value(adam._lr_t) == 0.25
        assert (momentum._learning_rate, momentum._momentum) == (0.25, 0.75)
        assert tf.get_static_value(momentum._momentum_tensor) == 0.75
        adam._lr_t = "another"
        assert adam._lr_t == "another"


def test_what_tensors_and_operations_say_of_themselves() -> None:
    with tf.Graph().as_default():
        first = tf.no_op(name="first")
        with tf.control_dependencies([first]):
            parts: Any = tf.unstack(tf.placeholder(tf.float32, [2, None], name="x"), name="u")
        assert first._control_outputs == [parts[0].op.inputs[0].op]
        assert [part._as_node_def_input() for part in parts] == ["u", "u:1"]
        assert parts[0].op.inputs[0]._shape_tuple() == (2, None)
        unknown: Any = tf.placeholder(tf.float32)
        assert unknown._shape_tuple() is None
        variable: Any = tf.Variable(0)
        assert variable._distribute_strategy is None and unknown.shape._v2_behavior is False


def test_places_of_scopes() -> None:
    def on_the_host(_: Any) -> str:
        return "/cpu:0"

    with tf.Graph().as_default() as graph:
        plain: Any = tf.no_op(name="plain")
        with graph.device("/job:worker"), graph.device(on_the_host), tf.device(None):
            inside: Any = tf.no_op().node_def and tf.no_op()
        with tf.device("/gpu:0"), graph.colocate_with(plain):
            together: Any = tf.no_op()
    assert plain._device_assignments == [] and plain._colocation_dict == {}
    texts = [place.obj for place in inside._device_assignments]
    line = on_the_host.__code__.co_firstlineno
    assert texts == ["None", f"on_the_host<{__file__}, {line}>", "/job:worker"]
    places = {(place.filename, place.lineno) for place in inside._device_assignments}
    assert places == {(__file__, line + 5)}
    assert together._device_assignments == []
    ((name, place),) = together._colocation_dict.items()
    assert (name, place.obj, place.filename, place.lineno) == ("plain", None, __file__, line + 7)


def test_keys_and_locks_of_graphs() -> None:
    graph, other = tf.Graph(), tf.Graph()
    key = graph._graph_key  # type: ignore[attr-defined]
    assert key == graph._graph_key != other._graph_key  # type: ignore[attr-defined]
    with graph._mutation_lock():  # type: ignore[attr-defined]
        assert graph._add_control_dependencies is False  # type: ignore[attr-defined]
    asking = Captured()
    asking.device = ""
    with graph.device("/job:worker"), graph.device(lambda op: f"{op.device}/cpu:1"):
        for function in graph._device_functions_outer_to_inner:  # type: ignore[attr-defined]
            asking.device = function(asking)
    assert asking.device == "/job:worker/cpu:1"


def test_control_dependencies_of_graphs() -> None:
    graph: Any = tf.Graph()
    with graph.as_default():
        first, inside = tf.no_op(), tf.constant(1.0)
        with graph.control_dependencies([first]):
            assert graph._current_control_dependencies() == {first}
            assert len(graph._control_dependencies_stack) == 1
            assert graph._control_dependencies_for_inputs([inside.op]) == [first]
            graph._record_op_seen_by_control_dependencies(inside.op)
            assert graph._control_dependencies_for_inputs([inside.op]) == []
    assert graph._current_control_dependencies() == set()


def test_parts_of_variables() -> None:
    with tf.Graph().as_default():
        parts: Any = tf.get_variable("p", [4], partitioner=tf.fixed_size_partitioner(2))
    assert [part.op.name for part in parts._get_variable_list()] == ["p/part_0", "p/part_1"]


@pytest.mark.parametrize("use_resource", [False, True])
def test_state_of_variables(use_resource: bool) -> None:
    with tf.Graph().as_default() as graph, tf.Session() as session:
        v: Any = tf.get_variable("v", [], use_resource=use_resource)
        assert v._graph_key == graph._graph_key  # type: ignore[attr-defined]
        assert v._in_graph_mode and v._unique_id == "v"
        assert v._dense_var_to_tensor(tf.int32) is NotImplemented
        v._initializer_op = tf.assign(v, 3.0).op
        session.run(tf.global_variables_initializer())
        assert session.run(v._dense_var_to_tensor(tf.float32)) == 3.0
