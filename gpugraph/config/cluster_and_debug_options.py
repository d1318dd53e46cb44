"""Settings of clusters, thread pools and debuggers: they are kept, and change nothing here."""

from __future__ import annotations

from gpugraph.base.proto_messages import (
    Message,
    boolean,
    integer,
    list_of,
    map_of,
    messages_of,
    text,
    to_str,
)


class ThreadPoolOptionProto(Message):
    """A pool of threads. Fields: num_threads; global_name, by which sessions share it."""

    num_threads = integer()
    global_name = text()


class RPCOptions(Message):
    """How processes call each other."""

    use_rpc_for_inprocess_master = boolean()
    compression_algorithm = text()
    compression_level = integer()
    cache_rpc_response = boolean()


class JobDef(Message):
    """Fields: name; tasks, the addresses by their numbers, as text."""

    name = text()
    tasks = map_of(to_str)


class ClusterDef(Message):
    """Fields: job, the jobs of a cluster."""

    job = messages_of(JobDef)


class DebugTensorWatch(Message):
    """A tensor that a debugger watches."""

    node_name = text()
    output_slot = integer()
    debug_ops = list_of(to_str)
    debug_urls = list_of(to_str)
    tolerate_debug_op_creation_failures = boolean()


class DebugOptions(Message):
    """What a debugger watches."""

    debug_tensor_watch_opts = messages_of(DebugTensorWatch)
    global_step = integer()
    reset_disk_byte_usage = boolean()
