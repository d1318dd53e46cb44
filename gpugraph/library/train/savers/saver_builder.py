"""The operations of a saver, which save a list of saveables and restore them."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from gpugraph.base.shapes import TensorShape
from gpugraph.building.variables import PartitionedVariable
from gpugraph.formats import messages_pb2
from gpugraph.graph.client.default_graph_functions import (
    control_dependencies,
    device,
    get_default_graph,
    name_scope,
)
from gpugraph.graph.device_names import DeviceSpec
from gpugraph.library.train.savers.saveable_objects import (
    ReferenceVariableSaveable,
    ResourceVariableSaveable,
    SaveableObject as _SaveableObject,
    SaveSpec as _SaveSpec,
    on_host,
    op_list_to_dict,
    saveables_of,
)
from gpugraph.ops.arrays.concat_and_stack import stack
from gpugraph.ops.arrays.constants_and_placeholders import placeholder_with_default
from gpugraph.ops.control.group_and_no_op import group, with_dependencies
from gpugraph.ops.elementwise.comparison_and_select import where
from gpugraph.ops.files.checkpoint_ops import (
    merge_v2_checkpoints,
    restore_v2,
    save_v2,
    sharded_filename,
    sharded_filespec,
)
from gpugraph.ops.framework.identity_and_shape import identity, shape as shape_of
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import constant
from gpugraph.ops.strings.regex import regex_full_match
from gpugraph.ops.strings.string_join import string_join

V1, V2 = 1, 2
"""Values of SaverDef.CheckpointFormatVersion."""
V1_WARNING = (
    "TensorFlow's V1 checkpoint format has been deprecated. Consider switching to the more "
    "efficient V2 format: tf.train.Saver(write_version=tf.train.SaverDef.V2)"
)


class BaseSaverBuilder:
    """Creates the operations of a saver. Programs derive classes from it to create other
    operations.

    Raises RuntimeError if `write_version` is neither V1 nor V2.

    Args:
      write_version: SaverDef.V2, or V1 for the format from before TensorFlow 0.12.
    """

    SaveSpec = _SaveSpec
    SaveableObject = _SaveableObject
    VariableSaveable = ReferenceVariableSaveable
    ResourceVariableSaveable = ResourceVariableSaveable

    def __init__(self, write_version: int = V2) -> None:
        if write_version not in (V1, V2):
            raise RuntimeError(f"Unexpected write_version: {write_version}")
        self._write_version = write_version

    def save_op(self, filename_tensor: Any, saveables: Sequence[_SaveableObject]) -> Any:
        """Return the operation that saves the saveables in one checkpoint."""
        specs = [spec for saveable in saveables for spec in saveable.specs]
        names = [spec.name for spec in specs]
        slices = [spec.slice_spec for spec in specs]
        if self._write_version == V1:
            tensors = [spec.tensor for spec in specs]
            return raw_ops.SaveSlices(filename_tensor, names, slices, tensors, name="save")
        return save_v2(filename_tensor, names, slices, [spec.tensor for spec in specs])

    def restore_op(self, filename_tensor: Any, saveable: Any, preferred_shard: int) -> list[Any]:
        """Return the restored tensors of one SaveableObject. A separate op reads each tensor from
        the checkpoint.
        """
        del preferred_shard
        return [
            restore_v2(filename_tensor, [spec.name], [spec.slice_spec], dtypes=[_dtype(spec)])[0]
            for spec in saveable.specs
        ]

    def bulk_restore(
        self,
        filename_tensor: Any,
        saveables: Sequence[_SaveableObject],
        preferred_shard: int,
        restore_sequentially: bool,
    ) -> list[Any]:
        """Return the restored tensors of all saveables. `restore_op` reads the tensors of each
        saveable separately.
        """
        del restore_sequentially
        tensors: list[Any] = []
        for saveable in saveables:
            with device(on_host(saveable.device) if saveable.device else None):
                tensors += self.restore_op(filename_tensor, saveable, preferred_shard)
        return tensors

    def sharded_filename(self, filename_tensor: Any, shard: Any, num_shards: Any) -> Any:
        """Return the file name of the shard with number `shard` among `num_shards` shards."""
        return sharded_filename(filename_tensor, shard, num_shards)

    def build(
        self,
        names_to_saveables: Any,
        reshape: bool = False,
        sharded: bool = False,
        max_to_keep: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000.0,
        name: str | None = None,
        restore_sequentially: bool = False,
        filename: str | None = "model",
    ) -> Any:
        """Create the save and restore operations, and return the SaverDef that names them. See
        `Saver`.
        """
        if not isinstance(names_to_saveables, dict):
            names_to_saveables = op_list_to_dict(names_to_saveables)
        saveables = saveables_of(names_to_saveables)
        with name_scope(name, "save", [saveable.op for saveable in saveables]):
            file = placeholder_with_default(filename or "model", (), name="filename")
            file = placeholder_with_default(file, (), name="Const")
            if sharded:
                groups = _by_device(saveables)
                saved = self._sharded_save(file, groups)
                restored = self._sharded_restore(file, groups, restore_sequentially, reshape)
            else:
                saved = self._save(file, saveables)
                restored = self._restore(file, saveables, restore_sequentially, reshape)
        _join_partitioned()
        return messages_pb2.SaverDef(
            filename_tensor_name=file.name,
            save_tensor_name=saved.name,
            restore_op_name=restored.name,
            max_to_keep=max_to_keep or 0,
            sharded=sharded,
            keep_checkpoint_every_n_hours=keep_checkpoint_every_n_hours,
            version=self._write_version,
        )

    def _save(self, file: Any, saveables: Sequence[_SaveableObject]) -> Any:
        return with_dependencies([self.save_op(file, saveables)], file)

    def _sharded_save_v1(self, prefix: Any, groups: Sequence[tuple[str, Any]]) -> Any:
        """Save each device's saveables in a separate file.

        Return the pattern of the files' names.
        """
        count = constant(len(groups), name="num_shards")
        saves = []
        for shard, (device_name, saveables) in enumerate(groups):
            with device(device_name or None):
                name = self.sharded_filename(prefix, shard, count)
                saves.append(self._save(name, saveables))
        with control_dependencies([save.op for save in saves]):
            return sharded_filespec(prefix, count)

    def _sharded_save(self, prefix: Any, groups: Sequence[tuple[str, Any]]) -> Any:
        """Save each device's saveables to files in a temporary folder, and merge these files."""
        if self._write_version == V1:
            return self._sharded_save_v1(prefix, groups)
        with device("CPU"):
            suffix = where(
                regex_full_match(prefix, "^s3://.*"),
                constant(".part"),
                constant(f"_temp_{uuid.uuid4().hex}/part"),
            )
            temporary = string_join([prefix, suffix])
        count = constant(len(groups), name="num_shards")
        names, saves = [], []
        for shard, (device_name, saveables) in enumerate(groups):
            with device(on_host(device_name)):
                names.append(self.sharded_filename(temporary, shard, count))
                saves.append(self._save(names[-1], saveables))
        with control_dependencies([save.op for save in saves]), device(on_host(groups[-1][0])):
            with name_scope("MergeV2Checkpoints") as scope:
                packed = stack(names, name="checkpoint_prefixes")
            merged = merge_v2_checkpoints(packed, prefix, delete_old_dirs=True, name=scope)
            with control_dependencies([merged]):
                return identity(prefix)

    def _restore(
        self,
        file: Any,
        saveables: Sequence[_SaveableObject],
        sequentially: bool,
        reshape: bool,
        shard: int = -1,
        name: str = "restore_all",
    ) -> Any:
        tensors = self.bulk_restore(file, saveables, shard, sequentially)
        assigned: list[Any] = []
        position = 0
        for saveable in saveables:
            count = len(saveable.specs)
            shapes = [_shape(spec.tensor) for spec in saveable.specs] if reshape else None
            assigned.append(saveable.restore(tensors[position : position + count], shapes))
            position += count
        return group(*assigned, name=name)

    def _sharded_restore(
        self, file: Any, groups: Sequence[tuple[str, Any]], sequentially: bool, reshape: bool
    ) -> Any:
        parts = []
        for shard, (device_name, saveables) in enumerate(groups):
            with device(device_name or None):
                part = self._restore(file, saveables, sequentially, reshape, shard, "restore_shard")
                parts.append(part)
        return group(*parts, name="restore_all")


class BulkSaverBuilder(BaseSaverBuilder):
    """The builder of a `Saver`: one operation reads the tensors of all saveables."""

    def bulk_restore(
        self,
        filename_tensor: Any,
        saveables: Sequence[_SaveableObject],
        preferred_shard: int,
        restore_sequentially: bool,
    ) -> list[Any]:
        """Return the restored tensors of all saveables, which one operation reads."""
        del preferred_shard, restore_sequentially
        specs = [spec for saveable in saveables for spec in saveable.specs]
        with device("cpu:0"):
            restored = restore_v2(
                filename_tensor,
                [spec.name for spec in specs],
                [spec.slice_spec for spec in specs],
                dtypes=[_dtype(spec) for spec in specs],
            )
        return list(restored) if isinstance(restored, (list, tuple)) else [restored]


def _dtype(spec: Any) -> Any:
    return spec.dtype.base_dtype


def _shape(tensor: Any) -> Any:
    static: TensorShape = tensor.shape
    return static if static.is_fully_defined() else shape_of(tensor)


def _by_device(saveables: Sequence[_SaveableObject]) -> list[tuple[str, list[_SaveableObject]]]:
    """Return the saveables grouped by device, sorted by device name. Raises ValueError if a
    saveable has tensors on several devices.
    """
    groups: dict[str, list[_SaveableObject]] = {}
    for saveable in saveables:
        names = {DeviceSpec.from_string(spec.device or "").to_string() for spec in saveable.specs}
        if len(names) != 1:
            raise ValueError(
                f"All tensors of a saveable object must be on the same device: {saveable.name}"
            )
        groups.setdefault(names.pop(), []).append(saveable)
    return sorted(groups.items())


def _join_partitioned() -> None:
    """Create the concatenation of each partitioned variable, because a meta graph contains its
    name.
    """
    graph = get_default_graph()
    for key in graph.get_all_collection_keys():
        for item in graph.get_collection(key):
            if isinstance(item, PartitionedVariable):
                try:
                    graph.get_operation_by_name(item.name)
                except KeyError:
                    item.as_tensor()
