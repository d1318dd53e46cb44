"""`tf.io.write_graph`: write a graph to a file, as text or as bytes."""

from __future__ import annotations

import os
from typing import Any

from gpugraph.base.proto_messages import Message
from gpugraph.base.whole_files import write_whole
from gpugraph.formats import messages_pb2
from gpugraph.graph.client.client_graph import Graph


def write_graph(
    graph_or_graph_def: Any, logdir: str | os.PathLike[str], name: str, as_text: bool = True
) -> str:
    """Write a Graph, or a message such as a GraphDef, to the file `name` in the folder `logdir`.

    `logdir` is created if it does not exist. An existing file is replaced atomically. If writing
    fails, the existing file remains unchanged.

    Args:
      graph_or_graph_def: a Graph, or any protobuf message, for example a SaverDef.
      logdir: the folder.
      name: the name of the file; it may contain folders.
      as_text: whether to write protobuf's text format instead of its binary format.

    Returns:
      The path of the file.

    Raises:
      TypeError: the first argument is neither a Graph nor a message.
      ValueError: the message is larger than 2 GiB, the limit of any message.
      tf.errors.OpError: the file system reports an error. The class depends on the error.
    """
    if isinstance(graph_or_graph_def, Graph):
        graph_def = graph_or_graph_def.as_graph_def()
    else:
        graph_def = graph_or_graph_def
        if not isinstance(graph_def, Message) and not hasattr(type(graph_def), "DESCRIPTOR"):
            raise TypeError("graph_or_graph_def must be a graph_pb2.GraphDef proto.")
    path = os.path.join(os.fspath(logdir), name)
    if isinstance(graph_def, Message):
        content = str(graph_def).encode() if as_text else graph_def.SerializeToString()
    else:
        content = messages_pb2.file_content(graph_def, as_text)
    write_whole(path, content)
    return path
