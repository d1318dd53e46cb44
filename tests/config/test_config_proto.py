"""Settings: fields, defaults, checks and copies."""

import copy
import pickle

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.base.proto_messages import unused
from gpugraph.config import (
    ConfigProto,
    GPUOptions,
    GraphOptions,
    OptimizerOptions,
    RewriterConfig,
    RunMetadata,
    RunOptions,
    SessionOptions,
)

VirtualDevices = GPUOptions.Experimental.VirtualDevices


def filled():
    return ConfigProto(
        device_count={"GPU": 0, "CPU": np.int64(2)},
        allow_soft_placement=True,
        device_filters=["/job:ps"],
        gpu_options=GPUOptions(virtual_gpus=2, per_process_gpu_memory_fraction=1),
        graph_options={"optimizer_options": {"opt_level": "L0"}},
    )


def test_defaults():
    config = ConfigProto()
    assert config.device_count == {}
    assert config.device_filters == []
    assert config.intra_op_parallelism_threads == config.operation_timeout_in_ms == 0
    assert config.allow_soft_placement is config.log_device_placement is False
    assert config.gpu_options.allow_growth is False
    assert config.gpu_options.per_process_gpu_memory_fraction == 0.0
    assert config.gpu_options.allocator_type == config.gpu_options.visible_device_list == ""
    assert config.gpu_options.virtual_gpus == []
    assert config.gpu_options.experimental.virtual_devices == []
    assert config.graph_options.optimizer_options.opt_level == OptimizerOptions.L1 == 0
    assert config.graph_options.optimizer_options.global_jit_level == OptimizerOptions.DEFAULT
    assert config.graph_options.rewrite_options.constant_folding == RewriterConfig.DEFAULT == 0
    assert RunOptions().trace_level == RunOptions.NO_TRACE == 0


def test_rewrites_are_toggled_by_number_or_name():
    config = ConfigProto()
    rewrites = config.graph_options.rewrite_options
    rewrites.constant_folding = RewriterConfig.OFF
    rewrites.common_subgraph_elimination = "ON"
    assert (rewrites.constant_folding, rewrites.common_subgraph_elimination) == (2, 1)
    assert rewrites.AGGRESSIVE == 3
    with pytest.raises(ValueError, match=r"arithmetic_optimization must be one of DEFAULT \(0\)"):
        rewrites.arithmetic_optimization = 7


def test_nested_messages_are_made_on_access_and_stay():
    config = ConfigProto()
    config.gpu_options.allow_growth = True
    config.graph_options.optimizer_options.global_jit_level = OptimizerOptions.ON_1
    config.device_count["GPU"] = 1
    config.device_filters.append("/job:ps")
    assert config.gpu_options == GPUOptions(allow_growth=True)
    assert config.graph_options.optimizer_options.global_jit_level == 1
    assert config.device_count == {"GPU": 1}
    assert ConfigProto().gpu_options.allow_growth is False
    assert ConfigProto().device_count == {}


def test_filled():
    config = filled()
    assert config.device_count == {"GPU": 0, "CPU": 2}
    assert config.gpu_options.virtual_gpus == [256, 256]
    assert config.gpu_options.per_process_gpu_memory_fraction == 1.0
    assert config.graph_options.optimizer_options.opt_level == OptimizerOptions.L0 == -1


def test_none_is_the_default():
    assert ConfigProto(gpu_options=None, allow_soft_placement=None) == ConfigProto()


def test_assigned_messages_are_copied():
    options = GPUOptions()
    config = ConfigProto(gpu_options=options)
    options.allow_growth = True
    assert config.gpu_options.allow_growth is False


@pytest.mark.parametrize("value", [None, 1])
def test_unknown_fields(value):
    with pytest.raises(ValueError, match=r'GPUOptions has no "growth" field.*allow_growth'):
        GPUOptions(growth=value)
    options = GPUOptions()
    with pytest.raises(AttributeError, match=r'no "growth" field.*visible_device_list'):
        options.growth = value
    with pytest.raises(AttributeError):
        _ = options.growth


@pytest.mark.parametrize(
    ("cls", "name", "value"),
    [
        (ConfigProto, "allow_soft_placement", "yes"),
        (ConfigProto, "allow_soft_placement", 1.0),
        (ConfigProto, "intra_op_parallelism_threads", 2.0),
        (ConfigProto, "intra_op_parallelism_threads", True),
        (ConfigProto, "intra_op_parallelism_threads", "2"),
        (ConfigProto, "device_count", [1]),
        (ConfigProto, "device_count", {"GPU": "a"}),
        (ConfigProto, "device_count", {0: 1}),
        (ConfigProto, "device_filters", "/job:ps"),
        (ConfigProto, "device_filters", [1]),
        (ConfigProto, "device_filters", 1),
        (ConfigProto, "gpu_options", GraphOptions()),
        (GPUOptions, "visible_device_list", [0]),
        (GPUOptions, "per_process_gpu_memory_fraction", "1"),
        (GPUOptions, "per_process_gpu_memory_fraction", True),
        (OptimizerOptions, "opt_level", 0.0),
        (GPUOptions.Experimental, "virtual_devices", [1]),
    ],
)
def test_wrong_types(cls, name, value):
    with pytest.raises(TypeError, match=f"{cls.__name__}.{name}"):
        cls(**{name: value})
    message = cls()
    with pytest.raises(TypeError, match=f"{cls.__name__}.{name}"):
        setattr(message, name, value)
    assert message == cls()


def test_enumerations():
    assert RunOptions(trace_level="FULL_TRACE").trace_level == RunOptions.FULL_TRACE == 3
    assert RunOptions(trace_level=RunOptions.SOFTWARE_TRACE).trace_level == 1
    assert RunOptions.HARDWARE_TRACE == 2
    assert OptimizerOptions(global_jit_level="ON_2").global_jit_level == 2
    for value in (9, "LOUD"):
        with pytest.raises(ValueError, match=r"trace_level.*NO_TRACE.*FULL_TRACE"):
            RunOptions(trace_level=value)


@pytest.mark.parametrize(
    ("value", "limits"),
    [(0, []), (3, [256] * 3), (np.int64(1), [256]), ([], []), ([64, 128], [64, 128]), ((9,), [9])],
)
def test_virtual_gpus(value, limits):
    assert GPUOptions(virtual_gpus=value).virtual_gpus == limits
    options = GPUOptions()
    options.virtual_gpus = value
    assert options.virtual_gpus == limits


@pytest.mark.parametrize("value", [-1, [64, -1], 1.0, [1.5], "2", ["2"], True, [True], [None]])
def test_no_virtual_gpus(value):
    with pytest.raises(ValueError, match="virtual_gpus"):
        GPUOptions(virtual_gpus=value)


def test_virtual_devices():
    experimental = GPUOptions.Experimental(
        virtual_devices=[VirtualDevices(memory_limit_mb=[1, 2]), {"memory_limit_mb": [3.5]}]
    )
    options = GPUOptions(experimental=experimental)
    limits = [device.memory_limit_mb for device in options.experimental.virtual_devices]
    assert limits == [[1.0, 2.0], [3.5]]


def test_equality_looks_at_values():
    assert filled() == filled()
    assert filled() != ConfigProto()
    assert ConfigProto(gpu_options=GPUOptions()) != ConfigProto()
    assert ConfigProto() != GPUOptions()
    with pytest.raises(TypeError):
        hash(ConfigProto())


def test_repr_shows_what_was_changed():
    assert repr(ConfigProto()) == "ConfigProto()"
    config = ConfigProto(allow_soft_placement=True)
    config.gpu_options.allow_growth = True
    text = "ConfigProto(allow_soft_placement=True, gpu_options=GPUOptions(allow_growth=True))"
    assert repr(config) == text


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies(duplicate):
    config = filled()
    again = duplicate(config)
    assert again == config
    again.gpu_options.allow_growth = True
    again.device_count["GPU"] = 5
    assert config == filled()


def test_copy_from():
    config = ConfigProto(log_device_placement=True)
    source = filled()
    config.CopyFrom(source)
    assert config == source
    config.gpu_options.virtual_gpus.append(1)
    assert source == filled()
    source.CopyFrom(source)
    assert source == filled()
    with pytest.raises(TypeError, match="GPUOptions"):
        config.CopyFrom(GPUOptions())


def test_run_metadata_is_a_record():
    metadata = RunMetadata()
    assert metadata.partition_graphs == []
    asked = []
    metadata.step_stats = lambda: asked.append(1) or "stats"
    metadata.partition_graphs.append("graph")
    assert (metadata.step_stats, metadata.step_stats, asked) == ("stats", "stats", [1])
    assert metadata.partition_graphs == ["graph"]


def test_what_a_run_reports_is_empty_messages_at_first():
    metadata = RunMetadata()
    assert not metadata.HasField("step_stats") and not metadata.HasField("cost_graph")
    metadata.step_stats.dev_stats.add(device="/cpu:0")
    assert metadata.HasField("step_stats")
    again = RunMetadata.FromString(metadata.SerializeToString())
    assert again.step_stats == metadata.step_stats


def test_session_options():
    options = SessionOptions()
    assert (options.target, options.config) == ("", ConfigProto())
    assert options.config is not SessionOptions().config
    assert SessionOptions("grpc://a", filled()).config == filled()


def test_settings_without_effect_are_kept_and_named():
    config = ConfigProto(placement_period=3)
    config.session_inter_op_thread_pool.add(num_threads=2, global_name="pool")
    config.graph_options.rewrite_options.shape_optimization = RewriterConfig.OFF
    config.graph_options.rewrite_options.custom_optimizers.add().name = "mine"
    config.graph_options.rewrite_options.constant_folding = RewriterConfig.OFF
    config.gpu_options.experimental.virtual_devices.add(memory_limit_mb=[10, 20])
    config.cluster_def.job.add(name="worker").tasks["0"] = "localhost:1"
    assert config.rpc_options.compression_level == 0
    assert config.session_inter_op_thread_pool[0].global_name == "pool"
    names = {
        "placement_period",
        "session_inter_op_thread_pool",
        "graph_options.rewrite_options.shape_optimization",
        "graph_options.rewrite_options.custom_optimizers",
        "cluster_def",
    }
    assert set(unused(config)) == names
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        report = str(session.explain(tf.constant(1.0)))
        assert session.run(tf.constant(2.0)) == 2.0
    assert "5 settings have no effect here" in report
    assert all(name in report for name in names)
    assert "have no effect" not in str(tf.Session().explain(tf.constant(1.0)))


def test_options_of_runs_that_have_no_effect():
    options = RunOptions()
    options.debug_options.debug_tensor_watch_opts.add(node_name="x")
    options.experimental.use_run_handler_pool = True
    assert set(unused(options)) == {"debug_options", "experimental"}
    assert RunMetadata().function_graphs == []
