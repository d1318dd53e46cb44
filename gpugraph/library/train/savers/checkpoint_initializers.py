"""`tf.train.init_from_checkpoint`: variables initialized with the values of a checkpoint."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gpugraph.base.shapes import as_shape
from gpugraph.building.variable_scope.variable_store import variable_store
from gpugraph.building.variables import ResourceVariable, Variable
from gpugraph.graph.client.default_graph_functions import device
from gpugraph.library.train.savers.checkpoint_files import latest_checkpoint
from gpugraph.library.train.savers.checkpoint_reading import load_checkpoint
from gpugraph.library.train.savers.saveable_objects import (
    ReferenceVariableSaveable,
    ResourceVariableSaveable,
)
from gpugraph.ops.files.checkpoint_ops import restore_v2
from gpugraph.platform import files, logging


def init_from_checkpoint(ckpt_dir_or_file: Any, assignment_map: Any) -> None:
    """Replace the initializers of variables with initializers that read the values of a checkpoint.

    Args:
      ckpt_dir_or_file: a checkpoint, or a folder whose latest checkpoint is read.
      assignment_map: a dict, or a list of pairs, from sources in the checkpoint to targets. A
        source is a tensor's name. Its target is a variable, the list of a variable's partitions, or
        the name of a variable that `tf.get_variable` created. If a source is a scope, such as
        `"old_scope/"`, its target is a scope, such as `"scope/"`: all variables of the target scope
        are then initialized. `"/"` means all variables.
    Raises:
      ValueError: a tensor is missing in the checkpoint, a tensor and its variable have different
        shapes, a scope does not end with a slash, or a list has partitions of several variables.
    """
    path = checkpoint_path(ckpt_dir_or_file)
    shapes = load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map()
    pairs: Iterable[Any] = assignment_map
    if isinstance(assignment_map, Mapping):
        pairs = assignment_map.items()
    store = variable_store().variables
    for key, target in sorted(pairs, key=lambda pair: pair[0]):
        variable = target if is_variable_or_parts(target) else _by_name(target, store)
        if variable is None:
            variables = _scope_pairs(key, target, store, shapes, ckpt_dir_or_file)
        else:
            _check(key, variable, shapes, ckpt_dir_or_file)
            variables = [(key, variable)]
        for tensor_name, item in variables:
            _initialize(item, path, tensor_name)
            logging.debug("Initialize variable %s from checkpoint %s with %s", item, path, key)


def checkpoint_path(ckpt_dir_or_file: Any) -> Any:
    """Return the path of a checkpoint. For a folder, return the path of its latest checkpoint."""
    path = os.fspath(ckpt_dir_or_file)
    return latest_checkpoint(path) if files.IsDirectory(path) else path


def is_variable_or_parts(item: Any) -> bool:
    """Return whether `item` is a variable, or a list of variables."""
    if isinstance(item, list):
        return all(isinstance(part, Variable) for part in item)
    return isinstance(item, Variable)


def _by_name(name: str, store: Mapping[str, Any]) -> Any:
    """Return the variable with this name, or the list of its partitions. If there is no such
    variable, return None.
    """
    if name in store:
        return store[name]
    parts: list[Any] = []
    while (part := f"{name}/part_{len(parts)}") in store:
        parts.append(store[part])
    return parts or None


def _check(key: str, variable: Any, shapes: Mapping[str, list[int]], checkpoint: Any) -> None:
    if key not in shapes:
        raise ValueError(f"Tensor {key} is not found in {checkpoint} checkpoint {dict(shapes)}")
    if isinstance(variable, Variable) and not variable.shape.is_compatible_with(
        as_shape(shapes[key])
    ):
        raise ValueError(
            f"Shape of variable {variable.name} ({variable.shape}) doesn't match with shape of "
            f"tensor {key} ({shapes[key]}) from checkpoint reader."
        )


def _scope_pairs(
    key: str, target: str, store: Mapping[str, Any], shapes: Mapping[str, Any], checkpoint: Any
) -> list[tuple[str, Any]]:
    """Return a pair (name of a tensor in the checkpoint, variable) for each variable in the scope
    `target`.

    Args:
      key: the scope in the checkpoint.
      target: the scope in the program.
    """
    scope = target.rpartition("/")[0]
    if not key.endswith("/"):
        raise ValueError(
            f"Assignment map with scope only name {scope} should map to scope only {key}. Should "
            "be 'scope/': 'other_scope/'."
        )
    names = {
        name.partition("/part_")[0] for name in store if not scope or name.startswith(f"{scope}/")
    }
    pairs = []
    for name in sorted(names):
        inner = name[len(scope) :]
        tensor_name = inner if target == "/" else inner[1:]
        if key != "/":
            tensor_name = key + tensor_name
        tensor_name = tensor_name.removesuffix("/")
        if tensor_name not in shapes:
            raise ValueError(
                f"Tensor {tensor_name} ({name[len(scope) + 1 :]} in {key}) is not found in "
                f"{checkpoint} checkpoint"
            )
        pairs.append((tensor_name, _by_name(name, store)))
    return pairs


def _initialize(variable: Any, path: Any, tensor_name: str) -> None:
    """Make a variable, or each partition in a list, start with the value of a tensor of a
    checkpoint.
    """
    if not isinstance(variable, (list, tuple)):
        initialize_from(variable, path, tensor_name, "")
        return
    names = [part._save_slice_info.full_name for part in variable]
    for name in names:
        if name != names[0]:
            raise ValueError(f"Slices must all be from the same tensor: {names[0]} != {name}")
    for part in variable:
        initialize_from(part, path, tensor_name, part._save_slice_info.spec)


def initialize_from(variable: Any, path: Any, tensor_name: str, slice_spec: str) -> None:
    """Make a variable start with the value of a tensor of a checkpoint, or of its slice
    `slice_spec`.
    """
    is_resource = isinstance(variable, ResourceVariable)
    with device(variable.device or None), device("/cpu:0"):
        (value,) = as_list(
            restore_v2(
                path,
                [tensor_name],
                [slice_spec],
                dtypes=[variable.dtype.base_dtype],
                name="checkpoint_initializer",
            )
        )
        if is_resource:
            saveable: Any = ResourceVariableSaveable(variable, slice_spec, variable.op.name)
        else:
            saveable = ReferenceVariableSaveable(variable._ref(), slice_spec, variable.op.name)
    operation = saveable.restore([value], None)
    value.set_shape(variable.shape)
    begin_with(variable, getattr(operation, "op", operation), value)


def begin_with(variable: Any, initializer: Any, value: Any) -> None:
    """Replace a variable's initializer with `initializer`, an operation that assigns `value`."""
    variable._initializer = initializer
    variable._initial_value = variable._guarded_initial_value = value


def as_list(result: Any) -> Sequence[Any]:
    """Return the outputs of an op as a list.

    An op function returns a single output without a list.
    """
    return result if isinstance(result, (list, tuple)) else [result]
