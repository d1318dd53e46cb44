"""Settings as TensorFlow's messages: bytes both ways, presence of nested messages."""

from __future__ import annotations

import copy
import pickle

import pytest

import gpugraph as tf
from gpugraph.formats import messages_pb2


def config():
    config = tf.ConfigProto(allow_soft_placement=True, device_count={"GPU": 2})
    config.gpu_options.per_process_gpu_memory_fraction = 0.25
    config.gpu_options.experimental.virtual_devices.add(memory_limit_mb=[64, 32])
    config.device_filters = ["/job:a"]
    config.graph_options.optimizer_options.opt_level = tf.OptimizerOptions.L0
    config.session_inter_op_thread_pool.add(num_threads=3)
    return config


def test_settings_have_the_bytes_of_tensorflows_messages():
    serialized = config().SerializeToString()
    message = messages_pb2.ConfigProto.FromString(serialized)
    assert message.device_count["GPU"] == 2
    assert message.gpu_options.experimental.virtual_devices[0].memory_limit_mb == [64, 32]
    assert message.graph_options.optimizer_options.opt_level == messages_pb2.OptimizerOptions.L0
    assert not message.HasField("rpc_options")
    assert tf.ConfigProto.FromString(serialized) == config()
    other = tf.ConfigProto(log_device_placement=True)
    assert other.ParseFromString(serialized) == len(serialized)
    assert other == config()


def test_maps_of_numbers_and_of_messages():
    settings = tf.ConfigProto()
    settings.cluster_def.job.add(name="worker", tasks={0: "a:1", 3: "b:2"})
    optimizer = settings.graph_options.rewrite_options.custom_optimizers.add(name="x")
    optimizer.parameter_map = {"size": tf.AttrValue(i=3)}
    message = messages_pb2.ConfigProto.FromString(settings.SerializeToString())
    assert dict(message.cluster_def.job[0].tasks) == {0: "a:1", 3: "b:2"}
    assert message.graph_options.rewrite_options.custom_optimizers[0].parameter_map["size"].i == 3
    assert tf.ConfigProto.FromString(settings.SerializeToString()) == settings
    metadata = tf.RunMetadata(step_stats=messages_pb2.StepStats(dev_stats=[{"device": "/cpu:0"}]))
    again = messages_pb2.RunMetadata.FromString(metadata.SerializeToString())
    assert again.step_stats.dev_stats[0].device == "/cpu:0"


def test_what_only_gpugraph_has_is_left_out():
    assert tf.GPUOptions(virtual_gpus=2, allow_growth=True).SerializeToString() == b"\x20\x01"


CHANGES = {
    "read": (lambda options: options.allow_growth, False),
    "a list read": (lambda options: options.experimental.virtual_devices, False),
    "assigned": (lambda options: setattr(options, "allow_growth", True), True),
    "assigned its default": (lambda options: setattr(options, "allow_growth", False), True),
    "a list grows": (lambda options: options.experimental.virtual_devices.add(), True),
    "cleared": (lambda options: options.Clear(), True),
    "a field cleared": (lambda options: options.ClearField("allow_growth"), True),
    "copied": (lambda options: options.CopyFrom(type(options)()), True),
    "merged": (lambda options: options.MergeFrom(type(options)()), True),
    "said to be": (lambda options: options.SetInParent(), True),
}


@pytest.mark.parametrize("of", [tf.ConfigProto, lambda: messages_pb2.ConfigProto()])
@pytest.mark.parametrize(("change", "is_there"), CHANGES.values(), ids=CHANGES)
def test_a_nested_message_is_there_once_it_was_changed(of, change, is_there):
    """protobuf's own message is of the same mind."""
    settings = of()
    change(settings.gpu_options)
    assert settings.HasField("gpu_options") is is_there
    assert (settings == of()) is not is_there
    settings.ClearField("gpu_options")
    assert not settings.HasField("gpu_options")
    assert settings == of()


def test_messages_that_are_given_are_there():
    settings = tf.ConfigProto(gpu_options=tf.GPUOptions())
    assert settings.HasField("gpu_options")
    assert settings != tf.ConfigProto()
    assert settings == tf.ConfigProto(gpu_options={})
    assert tf.ConfigProto(allow_soft_placement=False) == tf.ConfigProto()
    assert copy.deepcopy(settings) == settings == pickle.loads(pickle.dumps(settings))
    assert settings.gpu_options == tf.GPUOptions()


def test_empty_messages_are_written_and_read():
    settings = tf.ConfigProto(gpu_options=tf.GPUOptions())
    assert settings.SerializeToString() == b"2\x00"
    assert tf.ConfigProto.FromString(b"2\x00") == settings
    assert [field.name for field, _ in settings.ListFields()] == ["gpu_options"]


def test_what_is_no_nested_message_has_no_presence():
    with pytest.raises(ValueError, match=r"ConfigProto\.device_count does not have presence"):
        tf.ConfigProto().HasField("device_count")
    with pytest.raises(ValueError, match='ConfigProto has no "devices" field'):
        tf.ConfigProto().HasField("devices")


@pytest.mark.parametrize(
    "message",
    [
        tf.ConfigProto(),
        tf.ConfigProto(gpu_options={}),
        tf.ConfigProto(
            allow_soft_placement=True,
            device_count={"GPU": 0},
            device_filters=["a", "b\n\"'\\"],
            gpu_options={"per_process_gpu_memory_fraction": 0.1, "visible_device_list": "0,1"},
        ),
        tf.ConfigProto(graph_options={"optimizer_options": {"opt_level": "L0"}}),
        tf.ConfigProto(graph_options={"rewrite_options": {"optimizers": ["x"], "remapping": 2}}),
        tf.GPUOptions(experimental={"virtual_devices": [{"memory_limit_mb": [64, 0.5]}, {}]}),
        tf.GPUOptions(per_process_gpu_memory_fraction=1e-30),
        tf.RunOptions(trace_level=3, timeout_in_ms=-5),
    ],
    ids=str,
)
def test_the_text_is_protobufs(message):
    protobuf = getattr(messages_pb2, type(message).__name__)
    assert str(message) == str(protobuf.FromString(message.SerializeToString()))


def test_the_text_has_what_only_gpugraph_has():
    assert str(tf.GPUOptions(virtual_gpus=[64, 32])) == "virtual_gpus: 64\nvirtual_gpus: 32\n"


def test_enumerations_and_entries_are_classes_of_their_messages():
    level = tf.RunOptions.TraceLevel
    assert level.items()[-1] == ("FULL_TRACE", 3)
    assert (level.Name(1), level.Value("NO_TRACE"), level.FULL_TRACE) == ("SOFTWARE_TRACE", 0, 3)
    assert level.keys() == ["NO_TRACE", "SOFTWARE_TRACE", "HARDWARE_TRACE", "FULL_TRACE"]
    assert level.values() == [0, 1, 2, 3]
    assert tf.OptimizerOptions.Level.items() == [("L1", 0), ("L0", -1)]
    assert tf.OptimizerOptions.GlobalJitLevel.ON_2 == 2
    with pytest.raises(ValueError, match="Enum TraceLevel has no name defined for value 7"):
        level.Name(7)
    with pytest.raises(ValueError, match="Enum TraceLevel has no value defined for name 'X'"):
        level.Value("X")
    with pytest.raises(AttributeError, match="X"):
        _ = level.X
    with pytest.raises(ValueError, match=r'unknown enum label "X": RunOptions\.trace_level must'):
        tf.RunOptions(trace_level="X")
    entry = tf.ConfigProto.DeviceCountEntry(key="GPU", value=2)
    assert (entry.key, entry.value, str(entry)) == ("GPU", 2, 'key: "GPU"\nvalue: 2\n')
    assert tf.RunMetadata.FunctionGraphs().partition_graphs == []


def test_fields_are_cleared_one_by_one_and_all_at_once():
    settings = config()
    settings.ClearField("device_count")
    assert settings.device_count == {} and settings.allow_soft_placement
    settings.Clear()
    assert settings == tf.ConfigProto()
    with pytest.raises(ValueError, match='has no "devices" field'):
        settings.ClearField("devices")


def test_settings_are_merged():
    settings = config()
    other = tf.ConfigProto(
        device_count={"CPU": 1}, device_filters=["/job:b"], log_device_placement=1
    )
    other.gpu_options.allow_growth = True
    other.session_inter_op_thread_pool.add(num_threads=5)
    settings.MergeFrom(other)
    assert settings.device_count == {"GPU": 2, "CPU": 1}
    assert settings.device_filters == ["/job:a", "/job:b"]
    assert settings.allow_soft_placement and settings.log_device_placement
    assert settings.gpu_options.allow_growth
    assert settings.gpu_options.per_process_gpu_memory_fraction == 0.25
    assert [pool.num_threads for pool in settings.session_inter_op_thread_pool] == [3, 5]
    other.session_inter_op_thread_pool[0].num_threads = 6  # merging makes a copy
    assert settings.session_inter_op_thread_pool[1].num_threads == 5
    before = str(settings)
    settings.MergeFrom(settings)
    assert str(settings) == before
    with pytest.raises(
        TypeError, match=r"Parameter to MergeFrom\(\) must be instance of same class"
    ):
        settings.MergeFrom(other.gpu_options)


def test_no_field_of_settings_excludes_another():
    assert tf.ConfigProto().IsInitialized()
    with pytest.raises(ValueError, match='Protocol message ConfigProto has no "kind" field'):
        tf.ConfigProto().WhichOneof("kind")


def test_set_fields_are_listed_in_the_order_of_their_numbers():
    settings = config()
    listed = messages_pb2.ConfigProto.FromString(settings.SerializeToString()).ListFields()
    assert [field.name for field, _ in settings.ListFields()] == [f.name for f, _ in listed]
    assert settings.DESCRIPTOR.full_name == tf.ConfigProto.DESCRIPTOR.full_name
    assert tf.GPUOptions.Experimental.DESCRIPTOR.full_name == "tensorflow.GPUOptions.Experimental"
    assert settings.ByteSize() == len(settings.SerializeToString())
    assert tf.ConfigProto().ListFields() == []
    merged = tf.ConfigProto(device_filters=["/job:c"])
    merged.MergeFromString(settings.SerializeToString())
    assert merged.device_filters == ["/job:c", "/job:a"]
    nested = settings.gpu_options.experimental
    assert tf.GPUOptions.Experimental.FromString(nested.SerializeToString()) == nested


def test_messages_of_protobuf_are_taken():
    """Wherever a message of ours is taken, one of protobuf's classes of the same name is."""
    cluster = messages_pb2.ClusterDef(job=[{"name": "ps", "tasks": {0: "a:1", 3: "b:2"}}])
    settings = tf.ConfigProto(cluster_def=cluster)
    assert settings.cluster_def.job[0].tasks == {0: "a:1", 3: "b:2"}
    assert "key: 3" in str(settings)
    for method, count in (("CopyFrom", 1), ("MergeFrom", 2)):
        getattr(settings.cluster_def, method)(cluster)
        assert len(settings.cluster_def.job) == count
    whole = messages_pb2.ConfigProto(cluster_def=cluster, allow_soft_placement=True)
    settings.CopyFrom(whole)
    assert settings.allow_soft_placement and settings.cluster_def.job[0].name == "ps"
    for wrong in (messages_pb2.JobDef(), whole, "ps"):
        with pytest.raises(TypeError):
            tf.ConfigProto(cluster_def=wrong)
        with pytest.raises(TypeError):
            settings.cluster_def.CopyFrom(wrong)
