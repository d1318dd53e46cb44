"""`tensorflow.python.tools.inspect_checkpoint` and `saved_model_utils`, which show the contents of
files.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from gpugraph.base.errors import OpError
from gpugraph.library.saved_models.saved_model_file import parse_saved_model
from gpugraph.library.train.savers.checkpoint_reading import NewCheckpointReader
from gpugraph.tensorflow_import.graph_tools.frozen_graph_files import read_saved_graph
from gpugraph.tensorflow_import.graph_tools.message_files import names_of


def print_tensors_in_checkpoint_file(
    file_name: str,
    tensor_name: str | None,
    all_tensors: bool,
    all_tensor_names: bool = False,
    count_exclude_pattern: str = "",
) -> None:
    """Print the contents of a checkpoint and the total number of elements.

    By default, print the names and shapes of all tensors. Errors are printed and not raised, as in
    TensorFlow.

    Args:
      tensor_name: the name of a tensor. If it is given, print only this tensor.
      all_tensors: whether to print all tensors, even if `tensor_name` is given.
      all_tensor_names: whether to print all names, even if `tensor_name` is given.
      count_exclude_pattern: a regular expression. Tensors whose names match it are not counted.
    """
    try:
        reader = NewCheckpointReader(file_name)
        shapes = reader.get_variable_to_shape_map()
        if all_tensors or all_tensor_names:
            for key in sorted(shapes):
                print("tensor_name: ", key)
                if all_tensors:
                    print(reader.get_tensor(key))
        elif tensor_name:
            print("tensor_name: ", tensor_name)
            print(reader.get_tensor(tensor_name))
        else:
            print(reader.debug_string().decode("utf-8", errors="ignore"))
        counted = [
            int(np.prod(shape, dtype=np.int64))
            for name, shape in shapes.items()
            if not count_exclude_pattern or not re.search(count_exclude_pattern, name)
        ]
        print(f"# Total number of params: {sum(counted)}")
    except (OpError, OSError, ValueError, re.error) as error:
        print(str(error))


def parse_numpy_printoption(kv_str: str) -> None:
    """Set one option of NumPy's printing from a text such as "precision=3".

    Raises ValueError if NumPy has no such option, or if the value cannot be converted to the type
    of the option.
    """
    key, _, value = kv_str.partition("=")
    options: dict[str, Any] = dict(np.get_printoptions())
    if not value or key not in options:
        raise ValueError(f"Setting '{kv_str}' from the command line is not supported.")
    kind = type(options[key])
    options[key] = value == "True" if kind is bool else kind(value)
    np.set_printoptions(**options)


def read_saved_model(saved_model_dir: Any) -> Any:
    """Return the SavedModel message in a folder."""
    return parse_saved_model(saved_model_dir)


def get_saved_model_tag_sets(saved_model_dir: Any) -> list[list[str]]:
    """Return the tags of each graph of a SavedModel."""
    model = parse_saved_model(saved_model_dir)
    return [sorted(meta_graph.meta_info_def.tags) for meta_graph in model.meta_graphs]


def get_meta_graph_def(saved_model_dir: Any, tag_set: Any) -> Any:
    """Return the MetaGraphDef of a SavedModel that has these tags. In the argument, they are
    separated by commas.
    """
    return read_saved_graph(saved_model_dir, names_of(tag_set))
