"""Settings of clusters, thread pools and debuggers. The settings are stored but have no effect in
gpugraph.
"""

from __future__ import annotations

from gpugraph.base import proto_messages as fields
from gpugraph.base.proto_messages import Message


class ThreadPoolOptionProto(Message):
    """A pool of threads.

    Fields:
      num_threads: the number of threads.
      global_name: the name under which sessions share the pool.
    """

    num_threads, global_name = fields.integer(), fields.text()


class RPCOptions(Message):
    """Options of remote calls between processes."""

    use_rpc_for_inprocess_master, cache_rpc_response = fields.boolean(), fields.boolean()
    compression_algorithm, compression_level = fields.text(), fields.integer()


class JobDef(Message):
    """A job of a cluster.

    Fields:
      name: the name of the job.
      tasks: maps task numbers to addresses "host:port".
    """

    name = fields.text()
    tasks = fields.map_of(fields.to_str, fields.to_int)


class ClusterDef(Message):
    """A cluster.

    Fields:
      job: a list of JobDefs.
    """

    job = fields.messages_of(JobDef)


class DebugTensorWatch(Message):
    """A tensor that a debugger watches."""

    node_name, output_slot = fields.text(), fields.integer()
    debug_ops, debug_urls = fields.list_of(fields.to_str), fields.list_of(fields.to_str)
    tolerate_debug_op_creation_failures = fields.boolean()


class DebugOptions(Message):
    """The list of tensors that a debugger watches, and the options of the debugger."""

    debug_tensor_watch_opts = fields.messages_of(DebugTensorWatch)
    global_step = fields.integer()
    reset_disk_byte_usage = fields.boolean()
