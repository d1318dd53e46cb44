"""The public members that the classes of strategies have in TensorFlow 1.15."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.building.replication.device_maps import (
    ReplicaDeviceMap,
    SingleDeviceMap,
    WorkerDeviceMap,
)
from gpugraph.library.distribute.steps_on_iterator import MultiStepContext

_STRATEGY = """colocate_vars_with configure experimental_distribute_dataset
    experimental_distribute_datasets_from_function experimental_local_results
    experimental_make_numpy_dataset experimental_run experimental_run_v2 extended group
    make_dataset_iterator make_input_fn_iterator num_replicas_in_sync reduce scope unwrap
    update_config_proto"""
_EXTENDED = """batch_reduce_to broadcast_to call_for_each_replica colocate_vars_with
    experimental_between_graph experimental_make_numpy_dataset experimental_require_static_shapes
    experimental_run_steps_on_iterator experimental_should_init non_slot_devices parameter_devices
    read_var reduce_to should_checkpoint should_save_summary update update_non_slot
    value_container variable_created_in_scope worker_devices"""
_VALUES = "device_map devices get is_tensor_like logical_device primary values"
_VARIABLE = """aggregation assign assign_add assign_sub device distribute_strategy dtype eval get
    graph initial_value initialized_value initializer name op read_value shape"""
_COPIES = f"""{_VARIABLE} {_VALUES} get_shape handle is_initialized synchronization to_proto
    trainable value"""
_ITERATOR = """get_iterator get_next initialize initializer next output_classes output_shapes
    output_types"""
_MAP = """all_devices devices_by_replica is_device_in_replica logical_device_from_values
    logical_to_actual_devices num_logical_devices num_replicas_in_graph replica_for_device
    select_for_current_replica select_for_device"""
_REDUCTION = """batch_reduce batch_reduce_implementation broadcast broadcast_implementation reduce
    reduce_implementation"""
_CLUSTER = "cluster_spec environment master num_accelerators rpc_layer task_id task_type"
_REPLICA = """all_reduce devices merge_call num_replicas_in_sync replica_id_in_sync_group
    strategy"""
DEVICES = ("/replica:0/task:0/device:CPU:0", "/replica:0/task:0/device:CPU:1")


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as current:
        yield current


def mirrored() -> Any:
    return tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])


def lacking(thing: Any, names: str) -> list[str]:
    """The names that a thing's class, or the thing itself, does not define."""
    known = {*dir(type(thing)), *vars(thing)}
    return [name for name in names.split() if name not in known]


def test_strategies_and_their_libraries_methods_are_complete():
    distribute, older = tf.distribute, tf.contrib.distribute
    strategies = [
        distribute.get_strategy(), mirrored(), distribute.OneDeviceStrategy("/cpu:0"),
        distribute.experimental.CentralStorageStrategy(["/cpu:0"]),
        distribute.experimental.ParameterServerStrategy(),
        distribute.experimental.MultiWorkerMirroredStrategy(), older.MirroredStrategy(),
        older.CollectiveAllReduceStrategy(), older.ParameterServerStrategy(),
    ]  # fmt: skip
    for strategy in strategies:
        assert not lacking(strategy, _STRATEGY)
        assert not lacking(strategy.extended, _EXTENDED)
    extended = strategies[1].extended
    assert extended.experimental_enable_get_next_as_optional
    assert extended.worker_devices_by_replica == tuple((name,) for name in DEVICES)


def test_values_and_variables_are_complete():
    strategy = mirrored()
    central = tf.distribute.experimental.CentralStorageStrategy(["/cpu:0", "/cpu:1"], "/cpu:0")
    with strategy.scope():
        v = tf.Variable(1.0)
        on_read = tf.Variable(
            1.0, trainable=False, synchronization=tf.VariableSynchronization.ON_READ,
            aggregation=tf.VariableAggregation.SUM,
        )  # fmt: skip
        contexts = strategy.experimental_run_v2(tf.distribute.get_replica_context)
    for context in (*contexts.values, tf.distribute.get_replica_context()):
        assert not lacking(context, _REPLICA)
    with central.scope():
        assert not lacking(tf.Variable(1.0), _VARIABLE)
    assert not lacking(v, _COPIES) and not lacking(on_read, _COPIES)
    assert not lacking(contexts, _VALUES)
    assert v.device_map.all_devices == contexts.device_map.all_devices == DEVICES
    assert v.logical_device == contexts.logical_device == 0
    lines = str(contexts).splitlines()
    assert lines[0] == "PerReplica:{" and lines[2].startswith(f"  1 {DEVICES[1]}: ")


def test_inputs_are_complete():
    strategy = mirrored()
    batches = tf.data.Dataset.range(4).batch(2)
    iterator = strategy.make_dataset_iterator(batches)
    assert not lacking(iterator, f"{_ITERATOR} element_spec")
    assert not lacking(strategy.make_input_fn_iterator(lambda _: batches), _ITERATOR)
    dataset = strategy.experimental_distribute_dataset(batches)
    assert not lacking(
        dataset, "element_spec make_initializable_iterator make_one_shot_iterator reduce"
    )
    assert dataset.element_spec == iterator.element_spec == batches.element_spec
    assert iterator.get_iterator(DEVICES[0]).get_next().dtype is tf.int64
    assert iterator.get_iterator(DEVICES[1]) is None
    assert next(iterator).devices == DEVICES
    assert not lacking(MultiStepContext(), "last_step_outputs non_tensor_outputs "
                       "set_last_step_output set_non_tensor_output")  # fmt: skip
    with pytest.raises(ValueError, match=r"input_fn must return a tf.data.Dataset or a callable"):
        strategy.make_input_fn_iterator(lambda _: 3)
    with pytest.raises(RuntimeError, match=r"__iter__\(\) is only supported inside of tf.function"):
        dataset.reduce(0, lambda state, _: state)


def test_cross_device_operations_and_clusters_are_complete():
    distribute = tf.distribute
    operations = [
        distribute.CrossDeviceOps(), distribute.NcclAllReduce(),
        distribute.HierarchicalCopyAllReduce(),
        tf.contrib.distribute.MultiWorkerAllReduce(DEVICES, 0, [("pscpu", 2, 100), ("nccl",)]),
    ]  # fmt: skip
    assert not any(lacking(each, _REDUCTION) for each in operations)
    one = distribute.ReductionToOneDevice()
    assert not lacking(one, f"{_REDUCTION} accumulation_fn reduce_to_device")
    resolvers = distribute.cluster_resolver
    simple = resolvers.SimpleClusterResolver(tf.train.ClusterSpec({"worker": ["a:1"]}))
    for each in (simple, resolvers.TFConfigClusterResolver(), resolvers.UnionResolver(simple)):
        assert not lacking(each, _CLUSTER)
    for spec, words in ((5, "A tuple is expected"), (("a", 1, 2, 3), "Too many elements")):
        with pytest.raises(ValueError, match=words):
            tf.contrib.distribute.MultiWorkerAllReduce(DEVICES, 0, spec)


def test_device_maps_select_components():
    replicas, single = ReplicaDeviceMap(DEVICES), SingleDeviceMap(DEVICES[1])
    workers = WorkerDeviceMap(DEVICES, 2)
    assert not any(lacking(each, _MAP) for each in (replicas, single, workers))
    assert list(replicas.devices_by_replica) == [(name,) for name in DEVICES]
    assert [replicas.replica_for_device(name) for name in (*DEVICES, "/gpu:0")] == [0, 1, None]
    assert replicas.select_for_device("ab", DEVICES[1]) == "b"
    assert [replicas.is_device_in_replica(DEVICES[1], n) for n in (0, 1)] == [False, True]
    assert single.select_for_device("a", DEVICES[1]) == "a"
    with pytest.raises(ValueError, match="not found in"):
        single.select_for_device("a", DEVICES[0])
    with pytest.raises(ValueError, match="SingleDeviceMap not indexed by replicas"):
        single.replica_for_device(DEVICES[1])
    with pytest.raises(ValueError, match="Duplicate devices"):
        ReplicaDeviceMap(DEVICES[:1] * 2)


def test_a_distributed_dataset_is_reduced_in_a_function():
    strategy = mirrored()
    with strategy.scope():
        weight = tf.Variable(2, dtype=tf.int64)
        divided = strategy.experimental_distribute_dataset(tf.data.Dataset.range(11).batch(4))
        separate = strategy.experimental_distribute_datasets_from_function(
            lambda _: tf.data.Dataset.range(12).batch(3)
        )

        def weighted(state: Any, element: Any) -> Any:
            sums = strategy.experimental_run_v2(tf.reduce_sum, (element,))
            return state * 100 + weight * strategy.reduce("SUM", sums, axis=None)

        @tf.function
        def totals() -> Any:
            start = tf.constant(0, tf.int64)
            return divided.reduce(start, weighted), separate.reduce(start, weighted)

        results = totals()
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
        session.run(weight.initializer)
        for _ in range(2):
            assert session.run(results) == (12 * 10000 + 44 * 100 + 54, 30 * 100 + 102)


def test_a_monitor_runs_steps_until_the_input_ends():
    strategy, data = mirrored(), np.arange(8, dtype=np.float32).reshape(8, 1) / 8
    with strategy.scope():
        scale = tf.Variable(1.0)

        def loss(context: Any, x: Any) -> Any:
            del context
            return tf.reduce_mean(tf.square(scale * x - 3 * x)) / 2

        step = tf.contrib.distribute.StandardSingleLossStep(
            lambda: tf.data.Dataset.from_tensor_slices(data).batch(2).repeat(10), loss,
            tf.train.GradientDescentOptimizer(0.5), strategy, iterations_per_step=5,
        )  # fmt: skip
    expected = 1.0
    for number in range(20):
        parts = data.reshape(4, 2)[[2 * number % 4, 2 * number % 4 + 1]]
        expected -= 0.5 * sum(np.mean((expected - 3) * part * part) for part in parts)
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
        monitor = tf.contrib.distribute.Monitor(step, session)
        monitor.run_steps(1)
        middle = session.run(scale)
        monitor.run_steps()
        assert session.run(scale) == pytest.approx(expected, rel=1e-5)
        assert 1 < middle < expected
    with pytest.raises(ValueError, match="Should provide a `session`"):
        tf.contrib.distribute.Monitor(step)
