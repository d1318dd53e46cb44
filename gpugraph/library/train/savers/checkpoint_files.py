"""The checkpoints of a folder: the state file `checkpoint`, the latest checkpoint, and removal."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from typing import Any

from gpugraph.base.errors import NotFoundError, OpError
from gpugraph.base.lfs_pointers import pointer_text_of_file
from gpugraph.base.whole_files import remove_stale, write_whole
from gpugraph.formats import messages_pb2
from gpugraph.platform import files, logging


def checkpoint_state_path(checkpoint_dir: Any, latest_filename: str | None = None) -> str:
    """Return the path of the state file of a folder."""
    return os.path.join(os.fspath(checkpoint_dir), latest_filename or "checkpoint")


def meta_graph_filename(checkpoint_filename: str, meta_graph_suffix: str = "meta") -> str:
    """Return the path of the meta graph of a checkpoint. All shards of a checkpoint share one meta
    graph.
    """
    filename = os.fsdecode(checkpoint_filename)
    base, mark, _ = filename.rpartition("-?????-of-")
    return f"{base if mark else filename}.{meta_graph_suffix}"


def generate_checkpoint_state_proto(
    save_dir: Any,
    model_checkpoint_path: str,
    all_model_checkpoint_paths: Sequence[str] | None = None,
    all_model_checkpoint_timestamps: Sequence[float] | None = None,
    last_preserved_timestamp: float | None = None,
) -> Any:
    """Return a CheckpointState with these paths. If `save_dir` is a relative path, relative paths
    are rewritten to be relative to `save_dir`.

    The last path is the latest checkpoint, `model_checkpoint_path`, which is appended if it is
    missing. Raises ValueError if timestamps are passed and their number is not the number of paths.
    """
    paths = list(all_model_checkpoint_paths or ())
    if not paths or paths[-1] != model_checkpoint_path:
        logging.info(
            "%s is not in all_model_checkpoint_paths. Manually adding it.", model_checkpoint_path
        )
        paths.append(model_checkpoint_path)
    stamps = all_model_checkpoint_timestamps
    if stamps and len(stamps) != len(paths):
        raise ValueError(
            "Checkpoint timestamps, if provided, must match checkpoint paths (got paths "
            f"{paths} and timestamps {list(stamps)})"
        )
    folder = os.fspath(save_dir)
    if not os.path.isabs(folder):
        paths = [os.path.relpath(p, folder) if not os.path.isabs(p) else p for p in paths]
        if not os.path.isabs(model_checkpoint_path):
            model_checkpoint_path = os.path.relpath(model_checkpoint_path, folder)
    values: dict[str, Any] = {
        "model_checkpoint_path": model_checkpoint_path,
        "all_model_checkpoint_paths": paths,
        "all_model_checkpoint_timestamps": list(stamps or ()),
    }
    if last_preserved_timestamp is not None:
        values["last_preserved_timestamp"] = last_preserved_timestamp
    return messages_pb2.CheckpointState(**values)


def update_checkpoint_state(
    save_dir: Any,
    model_checkpoint_path: str,
    all_model_checkpoint_paths: Sequence[str] | None = None,
    latest_filename: str | None = None,
    all_model_checkpoint_timestamps: Sequence[float] | None = None,
    last_preserved_timestamp: float | None = None,
) -> None:
    """Write the state file of a folder. Raises RuntimeError if the state file's path is the path of
    a checkpoint.
    """
    write_checkpoint_state(
        save_dir,
        model_checkpoint_path,
        all_model_checkpoint_paths,
        latest_filename,
        False,
        all_model_checkpoint_timestamps,
        last_preserved_timestamp,
    )


def write_checkpoint_state(
    save_dir: Any,
    model_checkpoint_path: str,
    all_model_checkpoint_paths: Sequence[str] | None = None,
    latest_filename: str | None = None,
    save_relative_paths: bool = False,
    all_model_checkpoint_timestamps: Sequence[float] | None = None,
    last_preserved_timestamp: float | None = None,
) -> None:
    """Write the state file of a folder as `update_checkpoint_state` does.

    Args:
      save_relative_paths: whether the paths in the state file are relative to the folder.
    """
    state_path = checkpoint_state_path(save_dir, latest_filename)
    paths = list(all_model_checkpoint_paths or ())
    if save_relative_paths:
        folder = os.fspath(save_dir)
        paths = [_relative(path, folder) for path in paths]
        model_checkpoint_path = _relative(model_checkpoint_path, folder)
        state = generate_checkpoint_state_proto(
            os.path.abspath(folder),
            model_checkpoint_path,
            paths,
            all_model_checkpoint_timestamps,
            last_preserved_timestamp,
        )
    else:
        state = generate_checkpoint_state_proto(
            save_dir,
            model_checkpoint_path,
            paths,
            all_model_checkpoint_timestamps,
            last_preserved_timestamp,
        )
    if state_path == model_checkpoint_path:
        raise RuntimeError(
            f"Save path '{model_checkpoint_path}' conflicts with path used for checkpoint state.  "
            "Please use a different save path."
        )
    write_whole(state_path, messages_pb2.file_content(state, as_text=True))
    remove_stale(glob.escape(state_path))


def _relative(path: str, folder: str) -> str:
    is_beside = os.path.isabs(path) or not os.path.isabs(folder)
    return os.path.relpath(path, folder or ".") if is_beside else path


def get_checkpoint_state(checkpoint_dir: Any, latest_filename: str | None = None) -> Any:
    """Return the CheckpointState of a folder. Its relative paths are prefixed with the folder. If
    there is no state file, return None.

    As in TensorFlow, if the state file cannot be parsed, log a warning and return None. Raises
    ValueError if the state file has no latest checkpoint.
    """
    if isinstance(checkpoint_dir, os.PathLike):
        checkpoint_dir = os.fspath(checkpoint_dir)
    path = checkpoint_state_path(checkpoint_dir, latest_filename)
    try:
        if not files.Exists(path) or files.IsDirectory(path):
            return None
        with files.GFile(path, "rb") as file:
            content = file.read()
        state = messages_pb2.parse_text(messages_pb2.CheckpointState, content, allow_unknown=False)
    except (OpError, ValueError) as error:
        logging.warning("%s: %s", type(error.__cause__ or error).__name__, error)
        logging.warning("%s: Checkpoint ignored%s", path, pointer_text_of_file(path))
        return None
    if not state.model_checkpoint_path:
        raise ValueError(f"Invalid checkpoint state loaded from {checkpoint_dir}")
    folder = os.fspath(checkpoint_dir)
    state.model_checkpoint_path = _under(folder, state.model_checkpoint_path)
    for index, item in enumerate(state.all_model_checkpoint_paths):
        state.all_model_checkpoint_paths[index] = _under(folder, item)
    return state


def _under(folder: str, path: str) -> str:
    return path if os.path.isabs(path) else os.path.join(folder, path)


def latest_checkpoint(checkpoint_dir: Any, latest_filename: str | None = None) -> str | None:
    """Return the path of the latest checkpoint of a folder, or None if there is no checkpoint.

    >>> tf.train.latest_checkpoint(folder) is None
    True
    """
    state = get_checkpoint_state(checkpoint_dir, latest_filename)
    if state is None:
        return None
    path: str = state.model_checkpoint_path
    if checkpoint_exists(path):
        return path
    logging.error("Couldn't match files for checkpoint %s", path)
    return None


def _files(checkpoint_prefix: Any) -> list[str]:
    """Return the index file of a checkpoint, or its files in format V1. Return [] if there is no
    checkpoint.
    """
    prefix = os.fspath(checkpoint_prefix)
    for pattern in (f"{prefix}.index", prefix):
        matches: list[str] = files.Glob(pattern)
        if matches:
            return matches
    return []


def checkpoint_exists(checkpoint_prefix: Any) -> bool:
    """Return whether there is a checkpoint at this path, of format V2 or V1."""
    return bool(_files(checkpoint_prefix))


def get_checkpoint_mtimes(checkpoint_prefixes: Sequence[str]) -> list[float]:
    """Return the time at which each existing checkpoint was written, in seconds since 1970. Missing
    checkpoints are skipped.
    """
    return [
        files.Stat(paths[0]).mtime_nsec / 1e9 for paths in map(_files, checkpoint_prefixes) if paths
    ]


def remove_checkpoint(
    checkpoint_prefix: str, checkpoint_format_version: int = 2, meta_graph_suffix: str = "meta"
) -> None:
    """Remove the files of a checkpoint and its meta graph, if they exist.

    The index is removed before the data, so that an interrupted removal leaves no valid checkpoint.
    Temporary files of interrupted saves are also removed. Raises TypeError if the prefix is not a
    path.
    """
    checkpoint_prefix = os.fsdecode(checkpoint_prefix)
    patterns = [f"{checkpoint_prefix}.index", f"{checkpoint_prefix}.data-?????-of-?????"]
    if checkpoint_format_version != 2:
        patterns = [checkpoint_prefix]
    patterns.insert(0, meta_graph_filename(checkpoint_prefix, meta_graph_suffix))
    for pattern in patterns:
        for path in files.Glob(pattern):
            try:
                files.Remove(path)
            except NotFoundError:
                continue
    remove_stale(*patterns)
