"""TensorBoard: a callback that writes losses, metrics, the graph and histograms to an event
file.
"""

from __future__ import annotations

import os
from typing import Any

from gpugraph.library.keras.backend.keras_session import get_session
from gpugraph.library.keras.callbacks.callback import Callback, Logs
from gpugraph.library.summary import FileWriter, histogram, merge
from gpugraph.library.summary.file_writer import scalar_message

_NO_VALUES = ("batch", "size", "num_steps")


class TensorBoard(Callback):
    """A callback that writes losses and metrics to an event file, as scalars `epoch_loss`,
    `batch_loss` and so on.

    The constructor raises NotImplementedError for `write_grads`, `write_images` and
    `embeddings_freq`: add `tf.summary` ops to the graph instead.

    Args:
      log_dir: the folder of the event file.
      histogram_freq: the number of epochs between histograms of the model's variables. If
        `histogram_freq` is 0, no histograms are written.
      write_graph: whether to write the graph as well.
      update_freq: "epoch" to write no values of batches, "batch" to write the values of every
        batch, or the number of examples between two batches whose values are written.
      profile_batch: has no effect. For profiles, use the `run_metadata` of `Session.run`.
    """

    def __init__(
        self,
        log_dir: Any = "./logs",
        histogram_freq: int = 0,
        batch_size: int = 32,
        write_graph: bool = True,
        write_grads: bool = False,
        write_images: bool = False,
        embeddings_freq: int = 0,
        embeddings_layer_names: Any = None,
        embeddings_metadata: Any = None,
        embeddings_data: Any = None,
        update_freq: Any = "epoch",
        profile_batch: int = 2,
    ) -> None:
        super().__init__()
        del embeddings_layer_names, embeddings_metadata, embeddings_data, profile_batch
        if write_grads or write_images or embeddings_freq:
            raise NotImplementedError(
                "TensorBoard writes values, histograms and the graph: leave out write_grads, "
                "write_images and embeddings_freq, and use tf.summary for them"
            )
        self.log_dir, self.histogram_freq = os.fspath(log_dir), histogram_freq
        self.batch_size, self.write_graph = batch_size, write_graph
        self.update_freq = 1 if update_freq == "batch" else update_freq
        self.writer: Any = None
        self._samples, self._written = 0, 0
        self._histograms: Any = None

    def on_train_begin(self, logs: Logs = None) -> None:
        """Open the event file, and create the ops of the histograms."""
        graph = self.model.graph_of_outputs
        self.writer = FileWriter(self.log_dir)
        if self.write_graph:
            self.writer.add_graph(graph)
        if self.histogram_freq and self._histograms is None:
            with graph.as_default():
                weights = self.model.weights
                self._histograms = merge([histogram(weight.op.name, weight) for weight in weights])

    def on_batch_end(self, batch: int, logs: Logs = None) -> None:
        """Write the batch's values if `update_freq` examples have been processed since the last
        written batch.
        """
        logs = logs or {}
        self._samples += logs.get("size", 1)
        if self.update_freq == "epoch" or self._samples < self._written + self.update_freq:
            return
        self._write("batch", logs, self._samples)
        self._written = self._samples

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """Write the epoch's values. Every `histogram_freq` epochs, also write histograms of the
        variables.
        """
        step = epoch if self.update_freq == "epoch" else self._samples
        self._write("epoch", logs or {}, step)
        if self._histograms is not None and epoch % self.histogram_freq == 0:
            session = get_session([self._histograms])
            self.writer.add_summary(session.run(self._histograms), epoch)
        self.writer.flush()

    def _write(self, prefix: str, logs: dict[str, Any], step: int) -> None:
        for name, value in logs.items():
            if name not in _NO_VALUES:
                self.writer.add_summary(scalar_message(f"{prefix}_{name}", float(value)), step)

    def on_train_end(self, logs: Logs = None) -> None:
        """Close the event file."""
        if self.writer is not None:
            self.writer.close()
