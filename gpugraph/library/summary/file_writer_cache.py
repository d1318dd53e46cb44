"""FileWriterCache: each process has one FileWriter for each folder."""

from __future__ import annotations

import os
from typing import Any, ClassVar

from gpugraph.base.fork_safe_locks import new_lock
from gpugraph.building.graph_files.meta_graph_export import export_scoped_meta_graph
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.library.summary.file_writer import FileWriter


class FileWriterCache:
    """The FileWriters of a process, by folder. All modules of a program share them."""

    _writers: ClassVar[dict[Any, FileWriter]] = {}
    _lock: ClassVar[Any] = new_lock()

    @staticmethod
    def get(logdir: Any) -> FileWriter:
        """Return the FileWriter of a folder. It is the same object in each call, until `clear` is
        called.

        A new FileWriter first writes the default graph. The function raises the errors of
        FileWriter.
        """
        with FileWriterCache._lock:
            key = os.fspath(logdir)
            if key not in FileWriterCache._writers:
                FileWriterCache._writers[key] = writer = FileWriter(logdir)
                writer.add_graph(get_default_graph())
                writer.add_meta_graph(export_scoped_meta_graph()[0])
            return FileWriterCache._writers[key]

    @staticmethod
    def clear() -> None:
        """Write the buffered events, close all files, and remove the writers."""
        with FileWriterCache._lock:
            for writer in FileWriterCache._writers.values():
                writer.close()
            FileWriterCache._writers.clear()
