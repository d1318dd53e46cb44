"""`tf.train.warm_start`, which initializes variables from the checkpoint of another model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpugraph.base.errors import NotFoundError
from gpugraph.building.variable_scope.variable_request import PartitionInfo
from gpugraph.building.variables import Variable
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.library.train.savers.checkpoint_initializers import (
    begin_with,
    checkpoint_path,
    init_from_checkpoint,
    is_variable_or_parts,
)
from gpugraph.library.train.savers.object_graph_keys import object_graph_key_mapping
from gpugraph.library.train.savers.remapped_matrices import load_and_remap_matrix_initializer
from gpugraph.library.train.savers.saveable_objects import op_list_to_dict
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.platform import logging


def warm_start(
    ckpt_to_initialize_from: Any,
    vars_to_warm_start: Any = ".*",
    var_name_to_vocab_info: Mapping[str, Any] | None = None,
    var_name_to_prev_var_name: Mapping[str, str] | None = None,
) -> None:
    """Initialize variables with the values that a checkpoint has under the same names.

    Args:
      ckpt_to_initialize_from: a checkpoint, or a folder whose latest checkpoint is read.
      vars_to_warm_start: the variables to initialize. It is a regular expression that selects
        trainable variables, a list of such expressions that select global variables, or a list of
        variables. If it is None, only the variables in `var_name_to_vocab_info` are initialized.
      var_name_to_vocab_info: a dict from a variable's name to a VocabInfo. The variable is a matrix
        with a row or a column for each word.
      var_name_to_prev_var_name: a dict from a variable's current name to its name in the
        checkpoint.

    Raises the errors of `init_from_checkpoint`. Raises ValueError if `vars_to_warm_start` has any
    other type, or if one of the dicts contains a name that no variable to initialize has.
    """
    logging.info("Warm-starting from: %s", ckpt_to_initialize_from)
    variables = _by_name(vars_to_warm_start)
    infos = dict(var_name_to_vocab_info or {})
    names = dict(var_name_to_prev_var_name or {})
    if not names:
        names = _object_keys(ckpt_to_initialize_from, variables)
    pending: dict[str, Any] = {}
    for name, parts in variables.items():
        previous = names.get(name) or name
        if infos.get(name):
            _begin_with_vocabulary(parts, previous, ckpt_to_initialize_from, infos[name])
        elif vars_to_warm_start:
            if previous in pending:  # one tensor for two variables
                init_from_checkpoint(ckpt_to_initialize_from, pending)
                pending = {}
            pending[previous] = parts[0] if len(parts) == 1 else parts
    if pending:
        init_from_checkpoint(ckpt_to_initialize_from, pending)
    _check_used("var_name_to_prev_var_name", names, variables)
    _check_used("var_name_to_vocab_info", infos, variables)


def _check_used(argument: str, names: Mapping[str, Any], variables: Mapping[str, Any]) -> None:
    if unused := set(names) - set(variables):
        text = f"You provided the following variables in {argument} that were not used: {unused}."
        viable = f"Here is the list of viable variable names: {list(variables)}"
        raise ValueError(f"{text}  Perhaps you misspelled them?  {viable}")


def _by_name(wanted: Any) -> dict[str, list[Any]]:
    """Return a dict from names to the variables that `wanted` selects.

    The partitions of a variable are in one list.
    """
    graph = get_default_graph()
    if isinstance(wanted, str) or wanted is None:
        logging.info("Warm-starting variables only in TRAINABLE_VARIABLES.")
        variables = graph.get_collection(GraphKeys.TRAINABLE_VARIABLES, wanted)
    elif not isinstance(wanted, list):
        raise ValueError(
            f"`vars_to_warm_start must be a `list` or `str`.  Given type is {type(wanted)}"
        )
    elif all(isinstance(item, str) for item in wanted):
        variables = [
            variable
            for scope in wanted
            for variable in graph.get_collection(GraphKeys.GLOBAL_VARIABLES, scope)
        ]
    elif is_variable_or_parts(wanted):
        variables = wanted
    else:
        raise ValueError(
            "If `vars_to_warm_start` is a list, it must be all `Variable` or all `str`.  Given "
            f"types are {[type(item) for item in wanted]}"
        )
    grouped: dict[str, list[Any]] = {}
    for variable in variables:
        (name,) = op_list_to_dict([variable])
        grouped.setdefault(name, []).append(variable)
    return grouped


def _object_keys(checkpoint: Any, variables: Mapping[str, Any]) -> dict[str, str]:
    """Return the keys of variables in a checkpoint of objects. Return {} for any other
    checkpoint.
    """
    try:
        keys = object_graph_key_mapping(checkpoint_path(checkpoint))
    except NotFoundError:
        return {}
    if missing := set(variables) - set(keys):
        text = "but found that the checkpoint did not contain values for all variables"
        raise ValueError(
            f"Attempting to warm-start from an object-based checkpoint, {text}. The following "
            f"variables were missing: {missing}"
        )
    return {name: keys[name] for name in variables}


def _begin_with_vocabulary(
    parts: Sequence[Variable], tensor_name: str, checkpoint: Any, info: Any
) -> None:
    """Make the partitions of a variable start with rows or columns of a checkpoint's matrix,
    reordered by vocabularies.

    Args:
      info: the VocabInfo of the variable.
    """
    if not (info.new_vocab and info.new_vocab_size and checkpoint and info.old_vocab):
        raise ValueError(
            "Invalid args: Must provide all of [current_vocab_path, current_vocab_size, prev_ckpt, "
            "prev_vocab_path}."
        )
    shapes = [part.shape.as_list() for part in parts]
    height = sum(shape[0] or 0 for shape in shapes)
    for part, shape in zip(parts, shapes):
        options: tuple[Any, ...]
        if info.axis == 0:
            options = (info.new_vocab_size, shape[1], info.old_vocab_size)
            options += (info.old_vocab, info.new_vocab, None, None, info.num_oov_buckets, 0)
        else:
            options = (height, info.new_vocab_size, -1, None, None)
            options += (info.old_vocab, info.new_vocab, 0, info.num_oov_buckets)
        initializer = load_and_remap_matrix_initializer(
            checkpoint_path(checkpoint), tensor_name, *options, info.backup_initializer
        )
        place = part._get_save_slice_info()
        partition = place and PartitionInfo(place.full_shape or (), place.var_offset or ())
        value = convert_to_tensor(initializer(shape, partition_info=partition))
        assignment = part.assign(value, read_value=False)
        begin_with(part, getattr(assignment, "op", assignment), value)
