"""Functions of `tf.contrib.framework` that read checkpoints into arrays, variables and
initializers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gpugraph.base import dtypes
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.contrib.framework.restorable_variables import get_variable_full_name
from gpugraph.library.train.savers.checkpoint_initializers import (
    init_from_checkpoint as initialize_from_checkpoint,
)
from gpugraph.library.train.savers.checkpoint_reading import (
    CheckpointReader,
    NewCheckpointReader,
    list_variables as list_tensors,
    load_checkpoint as open_checkpoint,
    load_variable as load_tensor,
)
from gpugraph.library.train.savers.remapped_matrices import load_and_remap_matrix_initializer
from gpugraph.library.train.savers.saver import Saver
from gpugraph.ops.arrays.constants_and_placeholders import placeholder
from gpugraph.ops.control.group_and_no_op import group
from gpugraph.platform import logging


def load_checkpoint(filepattern: Any) -> CheckpointReader:
    """Return a reader of a checkpoint.

    Args:
      filepattern: the path of the checkpoint, or a folder. In a folder, the latest checkpoint is
        read.
    """
    return open_checkpoint(filepattern)


def load_variable(checkpoint_dir: Any, name: str) -> Any:
    """Return the value of the tensor `name` in a checkpoint.

    Args:
      checkpoint_dir: the path of the checkpoint, or a folder. In a folder, the latest checkpoint is
        read.
    """
    return load_tensor(checkpoint_dir, name)


def list_variables(checkpoint_dir: Any) -> list[tuple[str, list[int]]]:
    """Return the (name, shape) pairs of all tensors in a checkpoint, sorted by name."""
    return list_tensors(checkpoint_dir)


def init_from_checkpoint(checkpoint_dir: Any, assignment_map: Any) -> None:
    """Initialize variables from a checkpoint. See `tf.train.init_from_checkpoint`."""
    initialize_from_checkpoint(checkpoint_dir, assignment_map)


def assign_from_checkpoint(
    model_path: Any, var_list: Any, ignore_missing_vars: bool = False
) -> tuple[Operation, dict[Tensor, Any]]:
    """Return an operation that sets variables to values of a checkpoint, and the feeds for its run.

    Raises ValueError if a variable is not in the checkpoint, or if its shape in the checkpoint
    differs.

    Args:
      var_list: a list of variables, or a dict from names in the checkpoint to variables or to lists
        of a variable's partitions.
      ignore_missing_vars: whether variables that are not in the checkpoint only cause a warning and
        keep their values.
    """
    if isinstance(var_list, (tuple, list)):
        named: dict[str, list[Any]] = {}
        for variable in var_list:
            named.setdefault(get_variable_full_name(variable), []).append(variable)
    elif not isinstance(var_list, Mapping):
        raise TypeError(f"var_list must be a list or a dict, but it is {var_list!r}")
    else:
        named = {
            name: list(value) if isinstance(value, (tuple, list)) else [value]
            for name, value in var_list.items()
        }
    reader = NewCheckpointReader(model_path)
    assignments, feeds = [], {}
    for name, variables in named.items():
        if not reader.has_tensor(name):
            text = f"Checkpoint is missing variable [{name}]"
            if not ignore_missing_vars:
                raise ValueError(text)
            logging.warning(text)
            continue
        value = reader.get_tensor(name)
        for variable in variables:
            held = placeholder(
                variable.dtype.base_dtype, variable.shape, name=f"placeholder/{variable.op.name}"
            )
            assignments.append(variable.assign(held, read_value=False))
            feeds[held] = _share(name, variable, value)
    return group(*assignments), feeds


def _share(name: str, variable: Any, value: Any) -> Any:
    """Return the slice of a checkpoint's `value` that belongs to a variable.

    For a partition of a partitioned variable, the slice is a part of the value. For any other
    variable, return the whole value. Raises ValueError if the shapes differ.
    """
    place = variable._get_save_slice_info()
    if place is not None:
        bounds = zip(place.var_offset, place.var_shape)
        return value[tuple(slice(start, start + size) for start, size in bounds)]
    if variable.shape.as_list() != list(value.shape):
        raise ValueError(
            f"Total size of new array must be unchanged for {name} lh_shape: "
            f"[{value.shape}], rh_shape: [{variable.shape}]"
        )
    return value


def assign_from_checkpoint_fn(
    model_path: Any,
    var_list: Any,
    ignore_missing_vars: bool = False,
    reshape_variables: bool = False,
) -> Callable[[Any], None] | None:
    """Return a function that restores variables in the session that is its argument.

    Return None if `ignore_missing_vars` leaves no variables. Raises ValueError for an empty list.

    Args:
      model_path, var_list, ignore_missing_vars: see `assign_from_checkpoint`.
      reshape_variables: whether values are reshaped to the shapes of the variables.
    """
    if not var_list:
        raise ValueError("var_list cannot be empty")
    if ignore_missing_vars:
        reader = NewCheckpointReader(model_path)
        named = var_list
        if not isinstance(var_list, Mapping):
            named = {variable.op.name: variable for variable in var_list}
        missing = [name for name in named if not reader.has_tensor(name)]
        for name in missing:
            logging.warning("Variable %s missing in checkpoint %s", name, model_path)
        var_list = {name: named[name] for name in named if name not in missing}
    if not var_list:
        logging.warning("No Variables to restore")
        return None
    saver = Saver(var_list, reshape=reshape_variables)

    def restore(session: Any) -> None:
        saver.restore(session, model_path)

    return restore


def load_linear_multiclass_bias_initializer(
    ckpt_path: Any,
    bias_tensor_name: str,
    new_class_vocab_size: int,
    old_class_vocab_file: Any,
    new_class_vocab_file: Any,
    num_class_oov_buckets: int = 0,
    initializer: Any = None,
    max_rows_in_memory: int = -1,
) -> Callable[..., Any]:
    """Return an initializer of class biases: a matrix with one column and one row for each class.

    The bias of a class in the old vocabulary is read from the checkpoint. All other biases come
    from `initializer`. The arguments are those that `load_and_remap_matrix_initializer` has for
    rows.
    """
    return load_and_remap_matrix_initializer(
        *(ckpt_path, bias_tensor_name, new_class_vocab_size, 1),
        old_row_vocab_file=old_class_vocab_file,
        new_row_vocab_file=new_class_vocab_file,
        num_row_oov_buckets=num_class_oov_buckets,
        initializer=initializer,
        max_rows_in_memory=max_rows_in_memory,
    )


def load_variable_slot_initializer(
    ckpt_path: Any, old_tensor_name: str, primary_partition_info: Any, *args: Any, **options: Any
) -> Callable[..., Any]:
    """Return an initializer of a slot that is partitioned in the same way as its variable.

    For the other arguments, see `load_and_remap_matrix_initializer`.

    Args:
      primary_partition_info: the partition_info of the variable. This argument replaces the
        partition_info of the slot.
    """
    make = load_and_remap_matrix_initializer(ckpt_path, old_tensor_name, *args, **options)

    def initialize(shape: Any, dtype: Any = dtypes.float32, partition_info: Any = None) -> Any:
        del partition_info
        return make(shape, dtype, primary_partition_info)

    return initialize
