"""Settings as TensorFlow's messages: bytes both ways, presence of nested messages."""

from __future__ import annotations

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


@pytest.mark.usefixtures("messages")
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


@pytest.mark.usefixtures("messages")
def test_maps_of_numbers_and_of_messages():
    settings = tf.ConfigProto()
    settings.cluster_def.job.add(name="worker", tasks={"0": "a:1", "3": "b:2"})
    optimizer = settings.graph_options.rewrite_options.custom_optimizers.add(name="x")
    optimizer.parameter_map = {"size": tf.AttrValue(i=3)}
    message = messages_pb2.ConfigProto.FromString(settings.SerializeToString())
    assert dict(message.cluster_def.job[0].tasks) == {0: "a:1", 3: "b:2"}
    assert message.graph_options.rewrite_options.custom_optimizers[0].parameter_map["size"].i == 3
    assert tf.ConfigProto.FromString(settings.SerializeToString()) == settings
    metadata = tf.RunMetadata(step_stats=messages_pb2.StepStats(dev_stats=[{"device": "/cpu:0"}]))
    again = messages_pb2.RunMetadata.FromString(metadata.SerializeToString())
    assert again.step_stats.dev_stats[0].device == "/cpu:0"


@pytest.mark.usefixtures("messages")
def test_what_only_gpugraph_has_is_left_out():
    assert tf.GPUOptions(virtual_gpus=2, allow_growth=True).SerializeToString() == b"\x20\x01"


def test_a_nested_message_is_there_when_it_says_something():
    settings = tf.ConfigProto()
    assert not settings.gpu_options.allow_growth
    assert not settings.HasField("gpu_options")
    settings.gpu_options.allow_growth = True
    assert settings.HasField("gpu_options")
    with pytest.raises(ValueError, match='has no singular "device_count" field'):
        settings.HasField("device_count")


def test_fields_are_cleared_one_by_one_and_all_at_once():
    settings = config()
    settings.ClearField("device_count")
    assert settings.device_count == {} and settings.allow_soft_placement
    settings.Clear()
    assert settings == tf.ConfigProto()
    with pytest.raises(ValueError, match='has no field "devices"'):
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
    other.session_inter_op_thread_pool[0].num_threads = 6  # what was merged is a copy
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


@pytest.mark.usefixtures("messages")
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
