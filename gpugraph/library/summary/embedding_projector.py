"""The configuration of TensorBoard's embedding projector, a file in the folder of the event
files.
"""

from __future__ import annotations

import os
from typing import Any

from gpugraph.base.whole_files import write_whole
from gpugraph.formats import messages_pb2

_NAME = "projector_config.pbtxt"


def visualize_embeddings(summary_writer: Any, config: Any) -> None:
    """Write a configuration of the embedding projector into a writer's folder, as a text file.

    Args:
      summary_writer: a FileWriter, or another object that has the method `get_logdir`.
      config: a ProjectorConfig. It contains the tensors, their checkpoint, and the paths of their
        labels. By default, the checkpoint is the latest checkpoint in the folder.

    Raises:
      ValueError: the writer has no folder.
      TypeError: `config` is not a protobuf message.
      tf.errors.OpError: the file can't be written.
    """
    folder = summary_writer.get_logdir()
    if folder is None:
        raise ValueError("Summary writer must have a logdir")
    if not hasattr(type(config), "DESCRIPTOR"):
        raise TypeError(f"config must be a ProjectorConfig, but is {config!r:.100}")
    write_whole(os.path.join(os.fsdecode(folder), _NAME), messages_pb2.file_content(config, True))
