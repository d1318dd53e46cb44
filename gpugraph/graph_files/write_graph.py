"""`tf.io.write_graph`: a graph as a file, of text or of bytes."""

from __future__ import annotations

import os
from typing import Any

from gpugraph.base.whole_files import write_whole
from gpugraph.formats import messages_pb2
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph_files.graph_cutting import checked_message


def write_graph(
    graph_or_graph_def: Any, logdir: str | os.PathLike[str], name: str, as_text: bool = True
) -> str:
    """Writes a Graph, or a GraphDef, into the file `name` of the folder `logdir`.

    The folder is made where it is missing. The file is there as a whole, or as it was before.

    Args:
      graph_or_graph_def: what to write.
      logdir: the folder.
      name: the name of the file; it may have folders of its own.
      as_text: whether the file is protobuf's text, else its bytes.

    Returns:
      The path of the file.

    Raises:
      TypeError: it is neither a Graph nor a GraphDef.
      ValueError: it is larger than 2 GiB, the limit of any message.
      tf.errors.OpError: the class of what the file system refuses.
    """
    if isinstance(graph_or_graph_def, Graph):
        graph_def = graph_or_graph_def.as_graph_def()
    else:
        graph_def = checked_message(graph_or_graph_def, "GraphDef", "graph_or_graph_def")
    path = os.path.join(os.fspath(logdir), name)
    write_whole(path, messages_pb2.file_content(graph_def, as_text))
    return path
