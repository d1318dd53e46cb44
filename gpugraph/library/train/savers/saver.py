"""`tf.train.Saver`, which saves variables in checkpoints, restores them, and removes old
checkpoints.
"""

from __future__ import annotations

import numbers
import os
import time
from collections.abc import Iterable, Sequence
from typing import Any

from gpugraph.base import errors
from gpugraph.base.whole_files import are_writes_discarded
from gpugraph.formats import messages_pb2
from gpugraph.graph.client.collection_protos import register_proto_function
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.graph.client.scoped_names import is_in_scope, prepend_name_scope, strip_name_scope
from gpugraph.library.train.global_step import global_step as global_step_in
from gpugraph.library.train.savers import object_graph_keys
from gpugraph.library.train.savers.checkpoint_files import (
    checkpoint_exists,
    get_checkpoint_mtimes,
    meta_graph_filename,
    remove_checkpoint,
    write_checkpoint_state,
)
from gpugraph.library.train.savers.meta_graph_with_saver import export_meta_graph
from gpugraph.library.train.savers.saveable_objects import all_saveable_objects
from gpugraph.library.train.savers.saver_builder import V1, V1_WARNING, V2, BulkSaverBuilder
from gpugraph.platform import files, logging

_FIELDS = (
    *("filename_tensor_name", "save_tensor_name", "restore_op_name", "max_to_keep", "sharded"),
    *("keep_checkpoint_every_n_hours", "version"),
)
_NAMES = _FIELDS[:3]


class Saver:
    """Saves variables of a session in checkpoints, and restores them.

    Args:
      var_list: a list of variables and SaveableObjects, or a dict from names in the checkpoint
        to these objects. The default is all global variables and the collection SAVEABLE_OBJECTS.
      reshape: whether to reshape restored values to the shapes of the variables.
      sharded: whether to write the variables of each device into a separate shard of the
        checkpoint.
      max_to_keep: the number of checkpoints to keep. None and 0 mean all.
      keep_checkpoint_every_n_hours: the length of an interval in hours. One checkpoint in each
        interval is never removed.
      name: the name scope of the operations, "save" by default.
      restore_sequentially: passed to a custom `builder`, which then restores variables one after
        another. The default builder reads all variables at once, as in TensorFlow.
      saver_def: a SaverDef that names existing operations, which the saver uses instead of creating
        new operations.
      builder: the BaseSaverBuilder that creates the operations.
      defer_build: whether to wait until `build` is called before creating the operations. It must
        not be combined with `var_list`.
      allow_empty: whether to accept a graph without variables.
      write_version: SaverDef.V2, or V1 for the format from before TensorFlow 0.12.
      pad_step_number: whether to pad the step in a path with zeros to eight digits.
      save_relative_paths: whether the paths in the state file are relative to its folder. If they
        are, the folder can be moved.
      filename: the default of the placeholder for the checkpoint's path.

    Raises:
      TypeError, ValueError: `var_list` has an element that is not a variable, two variables with
        the same name, or no elements.

    >>> v = tf.Variable(3.0, name="v")
    >>> saver = tf.train.Saver()
    >>> session.run(v.initializer)
    >>> path = saver.save(session, folder + "/model")
    >>> session.run(v.assign(0.0))
    np.float32(0.0)
    >>> saver.restore(session, path)
    >>> session.run(v)
    np.float32(3.0)
    """

    def __init__(
        self,
        var_list: Any = None,
        reshape: bool = False,
        sharded: bool = False,
        max_to_keep: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000.0,
        name: str | None = None,
        restore_sequentially: bool = False,
        saver_def: Any = None,
        builder: Any = None,
        defer_build: bool = False,
        allow_empty: bool = False,
        write_version: int = V2,
        pad_step_number: bool = False,
        save_relative_paths: bool = False,
        filename: str | None = None,
    ) -> None:
        if defer_build and var_list:
            raise ValueError(
                "If `var_list` is provided then build cannot be deferred. Either set "
                "defer_build=False or var_list=None."
            )
        self._var_list, self._reshape, self._sharded = var_list, reshape, sharded
        self._max_to_keep = max_to_keep
        self._keep_checkpoint_every_n_hours = keep_checkpoint_every_n_hours
        self._name, self._filename = name, filename
        self._restore_sequentially = restore_sequentially
        self.saver_def = saver_def
        self._builder, self._allow_empty = builder, allow_empty
        self._write_version = write_version
        self._pad_step_number, self._save_relative_paths = pad_step_number, save_relative_paths
        self._is_built = self._is_empty = False
        self._checkpoints_to_be_deleted: list[tuple[str, float]] = []
        self._last_checkpoints: list[tuple[str, float]] = []
        self._next_checkpoint_time = 0.0
        self._object_saver: Saver | None = None
        if saver_def is not None:
            self._check_saver_def()
            self._write_version = saver_def.version
        if not defer_build:
            self.build()

    def build(self) -> None:
        """Add the operations. Raises ValueError if there is nothing to save."""
        if self._is_built:
            return
        self._is_built = True
        if self.saver_def is None:
            if self._builder is None:
                self._builder = BulkSaverBuilder(self._write_version)
            if self._var_list is None:
                self._var_list = all_saveable_objects()
            if not self._var_list:
                if not self._allow_empty:
                    raise ValueError("No variables to save")
                self._is_empty = True
                return
            self.saver_def = self._builder.build(
                self._var_list,
                reshape=self._reshape,
                sharded=self._sharded,
                max_to_keep=self._max_to_keep,
                keep_checkpoint_every_n_hours=self._keep_checkpoint_every_n_hours,
                name=self._name,
                restore_sequentially=self._restore_sequentially,
                filename=self._filename,
            )
        elif self._name:
            self.saver_def = _renamed(self.saver_def, prepend_name_scope, self._name)
        self._check_saver_def()
        hours = self.saver_def.keep_checkpoint_every_n_hours
        self._next_checkpoint_time = time.time() + hours * 3600

    def _check_saver_def(self) -> None:
        if not all(hasattr(self.saver_def, name) for name in _FIELDS):
            raise ValueError(f"saver_def must be a saver_pb2.SaverDef: {self.saver_def!r}")
        for name in ("save_tensor_name", "restore_op_name"):
            if not getattr(self.saver_def, name):
                raise ValueError(f"saver_def must specify the {name}: {self.saver_def!r}")

    # -- kept checkpoints

    @property
    def last_checkpoints(self) -> list[str]:
        """The paths of the checkpoints that are kept, the oldest first."""
        return [path for path, _ in self._last_checkpoints]

    def set_last_checkpoints(self, last_checkpoints: Sequence[str]) -> None:
        """Set the list of existing checkpoints, the oldest first, without their times."""
        if not isinstance(last_checkpoints, list):
            raise AssertionError(f"last_checkpoints must be a list: {last_checkpoints!r}")
        self._last_checkpoints = [(path, float("inf")) for path in last_checkpoints]

    def set_last_checkpoints_with_time(
        self, last_checkpoints_with_time: Sequence[tuple[str, float]]
    ) -> None:
        """Set the list of existing checkpoints: (path, time in seconds), the oldest first."""
        if not isinstance(last_checkpoints_with_time, list):
            raise AssertionError(f"This must be a list: {last_checkpoints_with_time!r}")
        self._last_checkpoints = last_checkpoints_with_time

    def recover_last_checkpoints(self, checkpoint_paths: Sequence[str]) -> None:
        """Set the list of existing checkpoints to the items of `checkpoint_paths` that still exist.

        A program calls this to continue the work of an earlier process.
        """
        present = [(path, get_checkpoint_mtimes([path])) for path in checkpoint_paths]
        self.set_last_checkpoints_with_time([(path, times[0]) for path, times in present if times])

    def _record(self, path: str) -> None:
        """Record a checkpoint. If there are too many, mark the oldest one for removal.

        As in TensorFlow, a save marks at most one checkpoint. After `recover_last_checkpoints`,
        there may therefore be more than `max_to_keep` checkpoints.
        """
        if not self.saver_def.max_to_keep:
            return
        kept = [item for item in self._last_checkpoints if item[0] != path]
        kept.append((path, time.time()))
        if len(kept) > self.saver_def.max_to_keep:
            self._checkpoints_to_be_deleted.append(kept.pop(0))
        self._last_checkpoints = kept

    def _delete_old(self, meta_graph_suffix: str) -> None:
        if not self._checkpoints_to_be_deleted:
            return
        path, written = self._checkpoints_to_be_deleted.pop(0)
        if written > self._next_checkpoint_time:  # an unknown time is infinity
            self._next_checkpoint_time += self.saver_def.keep_checkpoint_every_n_hours * 3600
            return
        try:
            remove_checkpoint(path, self.saver_def.version, meta_graph_suffix)
        except errors.OpError as error:
            logging.warning("Ignoring: %s", error)

    # -- messages

    def as_saver_def(self) -> Any:
        """Return the SaverDef that names the operations."""
        return self.saver_def

    def to_proto(self, export_scope: str | None = None) -> Any:
        """Return the SaverDef, in which names are relative to `export_scope`. Return None if the
        saver's operations are outside of this scope or do not exist yet.
        """
        saver = self.saver_def
        if saver is None or not is_in_scope(saver.filename_tensor_name, export_scope):
            return None
        return _renamed(saver, strip_name_scope, export_scope) if export_scope else saver

    @staticmethod
    def from_proto(saver_def: Any, import_scope: str | None = None) -> Saver:
        """Return a Saver for the operations that a SaverDef names, in scope `import_scope`."""
        return Saver(saver_def=saver_def, name=import_scope)

    def export_meta_graph(
        self,
        filename: str | None = None,
        collection_list: Iterable[str] | None = None,
        as_text: bool = False,
        export_scope: str | None = None,
        clear_devices: bool = False,
        clear_extraneous_savers: bool = False,
        strip_default_attrs: bool = False,
        save_debug_info: bool = False,
    ) -> Any:
        """Return the MetaGraphDef of the default graph with this saver. See
        `tf.train.export_meta_graph`.
        """
        return export_meta_graph(
            filename=filename,
            graph_def=get_default_graph().as_graph_def(add_shapes=True),
            saver_def=self.saver_def,
            collection_list=collection_list,
            as_text=as_text,
            export_scope=export_scope,
            clear_devices=clear_devices,
            clear_extraneous_savers=clear_extraneous_savers,
            strip_default_attrs=strip_default_attrs,
            save_debug_info=save_debug_info,
        )

    # -- saving and restoring

    def save(
        self,
        sess: Any,
        save_path: Any,
        global_step: Any = None,
        latest_filename: str | None = None,
        meta_graph_suffix: str = "meta",
        write_meta_graph: bool = True,
        write_state: bool = True,
        strip_default_attrs: bool = False,
        save_debug_info: bool = False,
    ) -> str | None:
        """Save the variables.

        The save is atomic. If it fails, an existing checkpoint at the same path is unchanged.

        Args:
          sess: the session that holds the values.
          save_path: the prefix of the file names. A hyphen and the global step are appended.
          global_step: the step, as a number, a variable or a tensor.
          latest_filename: the state file's name, "checkpoint" by default.
          meta_graph_suffix: the suffix of the meta graph's file.
          write_meta_graph: whether to also write the meta graph.
          write_state: whether to update the state file and remove old checkpoints.
          strip_default_attrs, save_debug_info: see `export_meta_graph`.

        Returns:
          The path, which `restore` accepts, or None if there is nothing to save.

        Raises:
          RuntimeError: `build` was not called.
          ValueError: the folder does not exist, or the checkpoint would overwrite the state file.
          TypeError: `sess` is not a session.
        """
        if not self._is_built:
            raise RuntimeError("`build()` should be called before save if defer_build==True")
        latest_filename = latest_filename or "checkpoint"
        if os.path.split(latest_filename)[0]:
            raise ValueError("'latest_filename' must not contain path components")
        if not hasattr(sess, "run"):
            raise TypeError(f"'sess' must be a Session; {sess!r}")
        if are_writes_discarded():
            return os.fspath(save_path)
        path = self._path_of(sess, os.fspath(save_path), global_step, latest_filename)
        folder = os.path.dirname(os.fspath(save_path))
        if not self._is_empty:
            path = self._save_values(
                sess, path, folder, latest_filename, meta_graph_suffix, write_state
            )
        if write_meta_graph:
            with sess.graph.as_default():
                self.export_meta_graph(
                    meta_graph_filename(path, meta_graph_suffix),
                    strip_default_attrs=strip_default_attrs,
                )
        return None if self._is_empty else path

    def _path_of(self, sess: Any, save_path: str, step: Any, latest_filename: str) -> str:
        if not save_path:
            raise ValueError("Parent directory of  doesn't exist, can't save.")
        if step is not None:
            is_number = isinstance(step, numbers.Integral)  # includes NumPy's integers
            number = int(step) if is_number else global_step_in(sess, step)
            return f"{save_path}-{number:08d}" if self._pad_step_number else f"{save_path}-{number}"
        sharded = self.saver_def is not None and self.saver_def.sharded
        if os.path.basename(save_path) == latest_filename and not sharded:
            raise ValueError(
                f"'latest_filename' collides with 'save_path': '{latest_filename}' and "
                f"'{save_path}'"
            )
        return save_path

    def _save_values(
        self, sess: Any, path: str, folder: str, latest: str, suffix: str, write_state: bool
    ) -> str:
        """Save the values. Return the checkpoint's path. In format V1, return a pattern that
        matches its shards.
        """
        names = self.saver_def
        if self._write_version == V1:
            logging.warning("%s", V1_WARNING)
        try:
            saved = sess.run(names.save_tensor_name, {names.filename_tensor_name: path})
        except (errors.FailedPreconditionError, errors.NotFoundError) as error:
            if not files.IsDirectory(folder or "."):
                raise ValueError(
                    f"Parent directory of {path} doesn't exist, can't save."
                ) from error
            raise
        if self._write_version == V1 and isinstance(saved, bytes):
            path = os.fsdecode(saved)
        if write_state:
            self._record(path)
            write_checkpoint_state(
                folder, path, self.last_checkpoints, latest, self._save_relative_paths
            )
            self._delete_old(suffix)
        return path

    def restore(self, sess: Any, save_path: Any) -> None:
        """Set the variables to the values of a checkpoint. The variables need not be initialized
        first.

        Raises:
          ValueError: `save_path` is None or not a checkpoint.
          NotFoundError: a variable is not in the checkpoint.
          InvalidArgumentError: a variable has a different shape or dtype in the checkpoint.
          DataLossError: a file is damaged.
        """
        if self._is_empty:
            return
        if save_path is None:
            raise ValueError("Can't load save_path when it is None.")
        path = os.fspath(save_path)
        if not checkpoint_exists(path) and not are_writes_discarded():
            raise ValueError(f"The passed save_path is not a valid checkpoint: {path}")
        logging.info("Restoring parameters from %s", path)
        names = self.saver_def
        try:
            sess.run(names.restore_op_name, {names.filename_tensor_name: path})
        except errors.NotFoundError as error:
            if not self._restore_objects(sess, path):
                cause = "a Variable name or other graph key that is missing"
                raise _explained(error, cause) from error
        except errors.InvalidArgumentError as error:
            raise _explained(error, "a mismatch between the current graph and the graph") from error

    def _restore_objects(self, sess: Any, path: str) -> bool:
        """Restore variables by name from a checkpoint of objects. Return False if it is not a
        checkpoint of objects.
        """
        try:
            keys = object_graph_keys.object_graph_key_mapping(path)
        except errors.NotFoundError:
            return False
        logging.warning(
            "Restoring an object-based checkpoint using a name-based saver. This may be somewhat "
            "fragile, and will re-build the Saver. Instead, consider loading object-based "
            "checkpoints using tf.train.Checkpoint()."
        )
        saveables = object_graph_keys.saveables_by_key(self._var_list, keys)
        if self._object_saver is None:
            self._object_saver = Saver(saveables)
        self._object_saver.restore(sess, path)
        return True


def _explained(error: errors.OpError, cause: str) -> errors.OpError:
    """Return an error of the same class, with a message that also contains `cause` as the most
    likely cause.
    """
    kind: Any = type(error)
    explained: errors.OpError = kind(
        error._node_def,
        error.op,
        f"Restoring from checkpoint failed. This is most likely due to {cause} from the "
        "checkpoint. Please ensure that you have not altered the graph expected based on the "
        f"checkpoint. Original error:\n\n{error.message}",
    )
    return explained


def _renamed(saver_def: Any, change: Any, scope: str | None) -> Any:
    """Return a copy of a SaverDef in which each operation name is replaced by `change(name,
    scope)`.
    """
    values = {name: getattr(saver_def, name) for name in _FIELDS}
    values.update({name: change(values[name], scope) for name in _NAMES})
    return messages_pb2.SaverDef(**values)


register_proto_function(GraphKeys.SAVERS, "SaverDef", Saver.to_proto, Saver.from_proto)
