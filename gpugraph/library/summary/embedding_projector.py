"""The configuration of TensorBoard's projector of embeddings, which lies beside event files."""

from __future__ import annotations

import os
from typing import Any

from gpugraph.base.whole_files import write_whole
from gpugraph.formats import messages_pb2

_NAME = "projector_config.pbtxt"


def visualize_embeddings(summary_writer: Any, config: Any) -> None:
    """Write a configuration for the projector of embeddings into a writer's folder, as text.

    Args:
      summary_writer: a FileWriter, or what has its `get_logdir`.
      config: a ProjectorConfig: which tensors of which checkpoint, and where their labels are. The
        checkpoint is by default the latest one of the folder.

    Raises:
      ValueError: the writer has no folder. TypeError: `config` is no message.
      tf.errors.OpError: the class of what the file system refuses.
    """
    folder = summary_writer.get_logdir()
    if folder is None:
        raise ValueError("Summary writer must have a logdir")
    if not hasattr(type(config), "DESCRIPTOR"):
        raise TypeError(f"config must be a ProjectorConfig, but is {config!r:.100}")
    write_whole(os.path.join(os.fsdecode(folder), _NAME), messages_pb2.file_content(config, True))
