"""Settings of sessions, devices and runs, with the names and structure that TensorFlow 1.15 has.

The settings are plain Python objects that programs can use like TensorFlow's protocol messages.
Every field is declared with a type and has a default. A nested message is created when it is first
accessed, so `config.gpu_options.allow_growth = True` works on a fresh ConfigProto. An assignment
checks the value and stores a copy. The error for an unknown name or a wrong type lists the valid
names or types. Fields of TensorFlow that have no effect in gpugraph are stored, and `unused`
reports them.

`GPUOptions.virtual_gpus` is an addition to TensorFlow's fields. Virtual GPUs are devices of type
GPU whose memory is on the host. Programs use them to test placements and memory limits without a
GPU.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from gpugraph.base.proto_messages import (
    EnumType,
    Field,
    Message as Message,
    boolean,
    choice,
    deferred,
    empty_message,
    integer,
    list_of,
    map_of,
    message,
    messages_of,
    number,
    text,
    to_float,
    to_int,
    to_str,
    without_effect,
)
from gpugraph.config.cluster_and_debug_options import (
    ClusterDef,
    DebugOptions,
    RPCOptions,
    ThreadPoolOptionProto,
)
from gpugraph.config.rewriter_config import RewriterConfig as RewriterConfig

_VIRTUAL_GPU_MEBIBYTES = 256


_MAX_VIRTUAL_GPUS = 1024
_MAX_MEBIBYTES = (1 << 43) - 1  # 2**63 bytes or more are refused


def _to_virtual_gpus(where: str, value: Any) -> list[int]:
    counted = not isinstance(value, Iterable)
    items = [value] if counted else list(value)
    for item in items:
        if isinstance(item, (bool, str)) or not hasattr(item, "__index__") or item < 0:
            raise ValueError(
                f"{where} must be the number of virtual GPUs, or a list with the memory limit of "
                f"each in MiB, none of them negative; got {value!r}"
            )
        if item > (_MAX_VIRTUAL_GPUS if counted else _MAX_MEBIBYTES):
            raise ValueError(
                f"{where} is at most {_MAX_VIRTUAL_GPUS} virtual GPUs, or a list with limits of "
                f"at most {_MAX_MEBIBYTES} MiB; got {item}"
            )
    return [_VIRTUAL_GPU_MEBIBYTES] * int(items[0]) if counted else [int(item) for item in items]


class GPUOptions(Message):
    """The settings of GPUs.

    Fields:
      per_process_gpu_memory_fraction: the fraction of each GPU's memory to reserve, or 0 for the
        default.
      allow_growth: whether to reserve memory as it is needed, instead of all memory at the start.
      allocator_type: the name of an allocator, or "" for the default.
      visible_device_list: the numbers of the GPUs to use, in this order, such as "1,0". If it is
        empty, all GPUs are used.
      experimental: see `Experimental`.
      virtual_gpus: memory limits in MiB, one for each virtual GPU on the host. A single number n
        means n virtual GPUs of 256 MiB each. Raises ValueError if a number is negative or not an
        int.
      emulated_gpus: memory limits in the same form, for emulated GPUs. The host's C++ compiler
        compiles their CUDA kernels. These GPUs are slow, but otherwise they behave like CUDA GPUs.

    >>> config = tf.ConfigProto(gpu_options=tf.GPUOptions(virtual_gpus=2))
    >>> [device.device_type for device in tf.Session(config=config).list_devices()]
    ['CPU', 'GPU', 'GPU']
    """

    class Experimental(Message):
        """Experimental settings.

        Fields:
          virtual_devices: for each visible GPU, a message that divides the GPU into several
            devices.
        """

        class VirtualDevices(Message):
            """The devices into which one GPU is divided.

            Fields:
              memory_limit_mb: the memory of each of these devices, in MiB.
            """

            memory_limit_mb = list_of(to_float)

        virtual_devices = messages_of(VirtualDevices)
        use_unified_memory = without_effect(boolean())
        num_dev_to_dev_copy_streams = without_effect(integer())
        collective_ring_order = without_effect(text())
        timestamped_allocator = without_effect(boolean())
        kernel_tracker_max_interval, kernel_tracker_max_bytes, kernel_tracker_max_pending = (
            without_effect(integer()) for _ in range(3)
        )

    per_process_gpu_memory_fraction = number()
    allow_growth = boolean()
    allocator_type = text()
    visible_device_list = text()
    force_gpu_compatible = without_effect(boolean())
    deferred_deletion_bytes = without_effect(integer())
    polling_active_delay_usecs = without_effect(integer())
    polling_inactive_delay_msecs = without_effect(integer())
    experimental = message(Experimental)
    virtual_gpus = Field[list[int]](list, _to_virtual_gpus)
    emulated_gpus = Field[list[int]](list, _to_virtual_gpus)


class OptimizerOptions(Message):
    """The settings of rewrites of the graph before it runs.

    Fields:
      do_common_subexpression_elimination, do_constant_folding: request this rewrite even with
        opt_level L0.
      max_folded_constant_in_bytes: the size of the largest constant that folding may create, or 0
        for the default.
      opt_level: L1, the default, which enables all rewrites, or L0, which enables only the rewrites
        that another field requests.
      global_jit_level: DEFAULT (native code is compiled in the background), OFF (there is no native
        code), or ON_1 or ON_2 (the first run waits for the compilation).
    """

    L1, L0 = 0, -1
    DEFAULT, OFF, ON_1, ON_2 = 0, -1, 1, 2
    Level = EnumType("Level", L1=L1, L0=L0)
    GlobalJitLevel = EnumType("GlobalJitLevel", DEFAULT=DEFAULT, OFF=OFF, ON_1=ON_1, ON_2=ON_2)

    do_common_subexpression_elimination = boolean()
    do_constant_folding = boolean()
    max_folded_constant_in_bytes = integer()
    do_function_inlining = without_effect(boolean())
    opt_level = choice(Level)
    global_jit_level = choice(GlobalJitLevel)


class GraphOptions(Message):
    """The settings of graphs.

    Fields that are not listed here have no effect, since a plan contains only the operations of one
    run, in one process. Operations that a run does not need are never placed, as with
    `place_pruned_graph=True`.

    Fields:
      optimizer_options: see OptimizerOptions.
      rewrite_options: see RewriterConfig.
      infer_shapes: whether `Session.graph_def` includes the shapes of outputs.
      build_cost_model: the number of runs with RunMetadata between two cost graphs, or 0 for no
        cost graphs.
      build_cost_model_after: the number of such runs before the first cost graph.
    """

    optimizer_options = message(OptimizerOptions)
    place_pruned_graph = without_effect(boolean())
    infer_shapes = boolean()
    build_cost_model = integer()
    build_cost_model_after = integer()
    enable_bfloat16_sendrecv = without_effect(boolean())
    enable_recv_scheduling = without_effect(boolean())
    timeline_step = without_effect(integer())
    rewrite_options = message(RewriterConfig)


class ConfigProto(Message):
    """The settings of a session.

    Fields that are not listed here are TensorFlow's and have no effect.

    Fields:
      device_count: the maximum number of devices per type, such as {"GPU": 0}. Types that are not
        listed have no limit.
      intra_op_parallelism_threads: the number of threads within an op, or 0 for the default.
      inter_op_parallelism_threads: the number of threads that run ops, or 0 for the default.
      allow_soft_placement: whether an operation uses another device if its own device has no kernel
        for it.
      log_device_placement: whether to print the device of each operation to stderr.
      gpu_options: see GPUOptions.
      graph_options: see GraphOptions.
      operation_timeout_in_ms: the time limit of a run, or 0 for no limit.
      device_filters: only for a session on a server, the tasks that it can use.
      isolate_session_state: only for a session on a server, whether it has separate variables.

    >>> config = tf.ConfigProto(allow_soft_placement=True)
    >>> tf.Session(config=config).run(tf.constant(1))
    np.int32(1)
    """

    class Experimental(Message):
        """TensorFlow's experimental fields. Only `collective_group_leader` has an effect."""

        collective_group_leader, executor_type = text(), text()
        recv_buf_max_chunk, collective_nccl = integer(), boolean()
        use_numa_affinity, disable_thread_spinning = boolean(), boolean()
        collective_deterministic_sequential_execution = boolean()
        share_session_state_in_clusterspec_propagation = boolean()
        share_cluster_devices_in_session = boolean()

    device_count = map_of(to_int)
    intra_op_parallelism_threads = integer()
    inter_op_parallelism_threads = integer()
    use_per_session_threads = without_effect(boolean())
    allow_soft_placement = boolean()
    log_device_placement = boolean()
    device_filters = without_effect(list_of(to_str))
    gpu_options = message(GPUOptions)
    graph_options = message(GraphOptions)
    operation_timeout_in_ms = integer()
    isolate_session_state = without_effect(boolean())
    session_inter_op_thread_pool = without_effect(messages_of(ThreadPoolOptionProto))
    placement_period = without_effect(integer())
    rpc_options = without_effect(message(RPCOptions))
    cluster_def = without_effect(message(ClusterDef))
    experimental = without_effect(message(Experimental))


class RunOptions(Message):
    """The settings of one run.

    Fields that are not listed here are TensorFlow's and have no effect.

    Fields:
      trace_level: NO_TRACE (the default), SOFTWARE_TRACE, HARDWARE_TRACE or FULL_TRACE. The last
        three have the same effect here.
      timeout_in_ms: the time limit of the run, or 0 for the session's time limit.
      inter_op_thread_pool: with -1, the calling thread runs all ops. Other numbers must be the
        number of a pool of the session, but have no effect.
      output_partition_graphs: whether to return the partitioned graphs in RunMetadata.
      report_tensor_allocations_upon_oom: whether an error lists the allocations when memory runs
        out.

    >>> session.run(tf.constant(1), options=tf.RunOptions(timeout_in_ms=1000))
    np.int32(1)
    """

    class Experimental(Message):
        """TensorFlow's experimental fields. None of them has an effect."""

        collective_graph_key = integer()
        use_run_handler_pool = boolean()

    NO_TRACE, SOFTWARE_TRACE, HARDWARE_TRACE, FULL_TRACE = range(4)
    TraceLevel = EnumType(
        "TraceLevel",
        NO_TRACE=NO_TRACE,
        SOFTWARE_TRACE=SOFTWARE_TRACE,
        HARDWARE_TRACE=HARDWARE_TRACE,
        FULL_TRACE=FULL_TRACE,
    )

    trace_level = choice(TraceLevel)
    timeout_in_ms, inter_op_thread_pool = integer(), integer()
    output_partition_graphs, report_tensor_allocations_upon_oom = boolean(), boolean()
    debug_options = without_effect(message(DebugOptions))
    experimental = without_effect(message(Experimental))


class RunMetadata(Message):
    """The report of a run: step_stats, partition_graphs and cost_graph, as TensorFlow's messages.

    These messages are built when they are first accessed. function_graphs is always empty, because
    functions are inlined.

    >>> metadata = tf.RunMetadata()
    >>> options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    >>> x = tf.placeholder(tf.float32, [])
    >>> session.run(x + 1, {x: 1}, options=options, run_metadata=metadata)
    np.float32(2.0)
    >>> len(metadata.step_stats.dev_stats)
    1
    """

    class FunctionGraphs(Message):
        """The graphs of a function."""

        partition_graphs = deferred(list)
        pre_optimization_graph = deferred(lambda: empty_message("GraphDef"))
        post_optimization_graph = deferred(lambda: empty_message("GraphDef"))

    step_stats = deferred(lambda: empty_message("StepStats"))
    partition_graphs = deferred(list)
    cost_graph = deferred(lambda: empty_message("CostGraphDef"))
    function_graphs = messages_of(FunctionGraphs)


@dataclass
class SessionOptions:
    """The argument of session and device factories: a target and a ConfigProto."""

    target: str = ""
    config: ConfigProto = field(default_factory=ConfigProto)
