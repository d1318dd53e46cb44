"""`config_pb2.CallableOptions`: the feeds, fetches and targets of a session's callable."""

from __future__ import annotations

from gpugraph.base.proto_messages import (
    Message,
    boolean,
    list_of,
    map_of,
    message,
    messages_of,
    text,
    to_str,
)
from gpugraph.config.config_proto import RunOptions


class TensorConnection(Message):
    """A connection that feeds the tensor `to_tensor` with the value of the tensor `from_tensor`."""

    from_tensor = text()
    to_tensor = text()


class CallableOptions(Message):
    """The definition of a callable of `Session._make_callable_from_options`.

    Fields:
      feed: names of the tensors whose values the callable takes as arguments, in order.
      fetch: names of the tensors whose values the callable returns.
      target: names of the operations that the callable runs without returning a value.
      run_options: settings of each of its runs.
      tensor_connection: tensors that are fed with the values of other tensors, see
        TensorConnection.
      feed_devices, fetch_devices, fetch_skip_sync: the devices of fed and fetched values. In
        gpugraph, these values are NumPy arrays on the host, so the fields must be empty.
    """

    feed = list_of(to_str)
    fetch = list_of(to_str)
    target = list_of(to_str)
    run_options = message(RunOptions)
    tensor_connection = messages_of(TensorConnection)
    feed_devices = map_of(to_str)
    fetch_devices = map_of(to_str)
    fetch_skip_sync = boolean()
