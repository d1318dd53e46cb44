"""Callbacks that write the values of epochs to a CSV file, save models, or send requests to a
server.
"""

from __future__ import annotations

import csv
import json
import os
import re
from pathlib import Path
from typing import Any
from urllib import request
from urllib.parse import urlencode

import numpy as np

from gpugraph.base.interruptions.signal_handlers import raised_by_handler
from gpugraph.base.whole_files import local_path
from gpugraph.library.keras.callbacks.callback import Callback, Logs
from gpugraph.library.keras.callbacks.watching_callbacks import MonitoredValue
from gpugraph.library.keras.saving.hdf5_groups import hdf5_library
from gpugraph.library.keras.saving.network_files import has_hdf5_suffix
from gpugraph.platform import logging


class CSVLogger(Callback):
    """A callback that writes the losses and metrics of each epoch as a row of a CSV file.

    Args:
      separator: the string between values.
      append: whether to append to an existing file instead of overwriting it. A header is written
        only to an empty file.
    """

    def __init__(self, filename: Any, separator: str = ",", append: bool = False) -> None:
        super().__init__()
        self.filename, self.sep, self.append = Path(local_path(filename)), separator, append
        self.keys: list[str] | None = None
        self._file: Any = None
        self._writer: Any = None
        self._has_header = False

    def on_train_begin(self, logs: Logs = None) -> None:
        """Open the file, and check whether it already has a header."""
        self._has_header = False
        if self.append and self.filename.exists():
            with self.filename.open() as file:
                self._has_header = bool(file.readline())
        self._file = self.filename.open("a" if self.append else "w", newline="")

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """Write a row. The values of the first epoch determine the columns. A missing value is
        written as NA.
        """
        logs = logs or {}
        if self.keys is None:
            self.keys = sorted(logs)
        if self._writer is None:
            names = ["epoch", *self.keys]
            self._writer = csv.DictWriter(
                self._file, names, delimiter=self.sep, lineterminator="\n"
            )
            if not self._has_header:
                self._writer.writeheader()
        row = {key: _cell(logs.get(key, "NA")) for key in self.keys}
        self._writer.writerow({"epoch": epoch, **row})
        self._file.flush()

    def on_train_end(self, logs: Logs = None) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
        self._file = self._writer = None


def _cell(value: Any) -> Any:
    """Return a value as a CSV cell. An array becomes the quoted string "[a, b]"."""
    if not isinstance(value, str) and np.ndim(value) > 0:
        return '"[{}]"'.format(", ".join(map(str, value)))
    return value


class ModelCheckpoint(Callback):
    """A callback that saves the model after each epoch, or after a number of examples.

    The constructor raises ValueError if `save_freq` is neither "epoch" nor a number.

    Args:
      filepath: a path, which may have format fields for the epoch (from 1 on) and for losses and
        metrics: "w.{epoch:02d}-{val_loss:.2f}".
      monitor, mode: see `MonitoredValue`.
      save_best_only: save only when the monitored value improves.
      save_weights_only: whether to call `save_weights` instead of `save`. `save_weights` writes a
        checkpoint, unless the path has the suffix of an HDF5 file.
      save_freq: "epoch", or the number of examples between two files.
      kwargs: may contain `period` and `load_weights_on_restart`. `period` is the number of epochs
        between two files. `load_weights_on_restart` states whether a training starts by loading the
        newest file whose name matches `filepath`.
    """

    def __init__(
        self,
        filepath: Any,
        monitor: str = "val_loss",
        verbose: int = 0,
        save_best_only: bool = False,
        save_weights_only: bool = False,
        mode: str = "auto",
        save_freq: Any = "epoch",
        **kwargs: Any,
    ) -> None:
        super().__init__()
        if save_freq != "epoch" and not isinstance(save_freq, int):
            raise ValueError(f"Unrecognized save_freq: {save_freq}")
        if not save_weights_only or has_hdf5_suffix(filepath):
            hdf5_library()
        self.filepath, self.monitor, self.verbose = str(filepath), monitor, verbose
        self.save_best_only, self.save_weights_only = save_best_only, save_weights_only
        self.save_freq, self.period = save_freq, kwargs.get("period", 1)
        self.watch = MonitoredValue(monitor, mode, owner="ModelCheckpoint")
        self.best: Any = self.watch.worst()
        self._epoch, self._samples, self._epochs = 0, 0, 0
        self.load_weights_on_restart = kwargs.get("load_weights_on_restart", False)

    def on_train_begin(self, logs: Logs = None) -> None:
        """If `load_weights_on_restart` is set, load the newest file of an earlier training.

        Raises ValueError if the file cannot be read or does not match the model.
        """
        path = self._newest() if self.load_weights_on_restart else None
        if path is not None:
            try:
                self.model.load_weights(path)
            except (OSError, ValueError) as error:
                if raised_by_handler(error):
                    raise
                raise ValueError(f"Error loading file from {path}. Reason: {error}") from error

    def _newest(self) -> str | None:
        """Return the newest file or checkpoint whose name matches `filepath`, or None.

        The name may contain any epoch and any losses and metrics.
        """
        folder, name = os.path.split(local_path(self.filepath))
        pattern = re.sub(r"\\\{.*?\\\}", ".*", re.escape(name)) + r"(\.index)?"
        files = [
            entry
            for entry in (os.scandir(folder or ".") if os.path.isdir(folder or ".") else ())
            if re.fullmatch(pattern, entry.name) and ".data-" not in entry.name
        ]
        newest = max(files, key=lambda entry: entry.stat().st_mtime_ns, default=None)
        return None if newest is None else newest.path.removesuffix(".index")

    def on_epoch_begin(self, epoch: int, logs: Logs = None) -> None:
        """Store the number of the epoch, for files that are saved during it."""
        self._epoch = epoch

    def on_batch_end(self, batch: int, logs: Logs = None) -> None:
        """Save the model if `save_freq` is a number and that many examples have been processed
        since the last file.
        """
        logs = logs or {}
        if isinstance(self.save_freq, int):
            self._samples += logs.get("size", 1)
            if self._samples >= self.save_freq:
                self._save(self._epoch, logs)
                self._samples = 0

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """Save the model if `save_freq` is "epoch" and `period` epochs have ended since the last
        file.
        """
        self._epochs += 1
        if self.save_freq == "epoch" and self._epochs >= self.period:
            self._epochs = 0
            self._save(epoch, logs or {})

    def _save(self, epoch: int, logs: dict[str, Any]) -> None:
        path = self._path(epoch, logs)
        text = f"\nEpoch {epoch + 1:05d}: "
        if self.save_best_only:
            value = self.watch.value(logs, "Can save best model only")
            if value is None:
                return
            if not self.watch.is_better(value, self.best):
                self._say(f"{text}{self.monitor} did not improve from {self.best:0.5f}")
                return
            text += f"{self.monitor} improved from {self.best:0.5f} to {value:0.5f}, "
            self.best = value
        self._say(f"{text}saving model to {path}")
        save = self.model.save_weights if self.save_weights_only else self.model.save
        save(path, overwrite=True)

    def _path(self, epoch: int, logs: dict[str, Any]) -> str:
        """Return `filepath` with its fields replaced. Raises KeyError for a field that `logs` does
        not have.
        """
        try:
            return self.filepath.format(epoch=epoch + 1, **logs)
        except KeyError as error:
            raise KeyError(
                f'Failed to format this callback filepath: "{self.filepath}". Reason: {error} is '
                f"none of {', '.join(['epoch', *logs])}"
            ) from None

    def _say(self, text: str) -> None:
        if self.verbose > 0:
            print(text)


class RemoteMonitor(Callback):
    """A callback that sends the losses and metrics of each epoch to a server, as JSON in a POST
    request.

    If the server does not answer within 10 seconds, a warning is logged and the training continues.

    Args:
      root: the URL of the server.
      path: the path of the request.
      headers: additional HTTP headers.
      send_as_json: whether the body is the JSON itself. Otherwise the body is a form, whose field
        `field` contains the JSON.
    """

    def __init__(
        self,
        root: str = "http://localhost:9000",
        path: str = "/publish/epoch/end/",
        field: str = "data",
        headers: dict[str, str] | None = None,
        send_as_json: bool = False,
    ) -> None:
        super().__init__()
        self.root, self.path, self.field = root, path, field
        self.headers, self.send_as_json = headers or {}, send_as_json

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """Send the epoch's number, losses and metrics."""
        values = {"epoch": epoch, **{name: float(value) for name, value in (logs or {}).items()}}
        text, kind = json.dumps(values), "application/json"
        if not self.send_as_json:
            text, kind = urlencode({self.field: text}), "application/x-www-form-urlencoded"
        headers = {"Content-Type": kind, **self.headers}
        message = request.Request(self.root + self.path, text.encode(), headers, method="POST")
        try:
            with request.urlopen(message, timeout=10):
                pass
        except OSError as error:
            if raised_by_handler(error):
                raise
            logging.warning("Could not reach RemoteMonitor root server at %s: %s", self.root, error)
