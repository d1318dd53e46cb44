"""Tables of variables and operations, with their numbers of elements and bytes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gpugraph.base.shapes import as_shape
from gpugraph.graph.client.client_graph import Graph


def tensor_description(var: Any) -> str:
    """Return the dtype and shape of a variable or tensor, such as `(float32 3x4)`."""
    sizes = "x".join("?" if size is None else str(size) for size in as_shape(var.shape).as_list())
    return f"({var.dtype.name} {sizes})"


def analyze_vars(variables: Iterable[Any], print_info: bool = False) -> tuple[int, int]:
    """Return (total number of elements, total number of bytes) of the variables.

    Raises TypeError for a value without a shape.

    Args:
      print_info: whether the variables are printed, one on each line.
    """
    lines, total_size, total_bytes = [], 0, 0
    for variable in variables:
        if not hasattr(variable, "shape"):
            raise TypeError(f"variables must be variables or tensors, but has {variable!r}")
        size = variable.shape.num_elements() or 0
        num_bytes = size * variable.dtype.base_dtype.size
        total_size, total_bytes = total_size + size, total_bytes + num_bytes
        lines.append(f"{variable.name} {tensor_description(variable)} [{size}, bytes: {num_bytes}]")
    if print_info:
        _print("Variables: name (type shape) [size]", lines)
        print(f"Total size of variables: {total_size}")
        print(f"Total bytes of variables: {total_bytes}")
    return total_size, total_bytes


def analyze_ops(graph: Graph, print_info: bool = False) -> int:
    """Return the number of elements of all tensors in a graph. Tensors of unknown shape are not
    counted.

    Args:
      print_info: whether the operations are printed, with their outputs.
    """
    lines, total_size = [], 0
    for operation in graph.get_operations():
        sizes = [output.shape.num_elements() or 0 for output in operation.outputs]
        total_size += sum(sizes)
        outputs = ", ".join(
            f"{tensor_description(output)} [{size}]"
            for output, size in zip(operation.outputs, sizes)
            if output.shape.rank is not None
        )
        lines.append(f"{operation.name} -> {outputs}")
    if print_info:
        _print("Operations: name -> (type shapes) [size]", lines)
        print(f"Total size: {total_size}")
    return total_size


def _print(title: str, lines: list[str]) -> None:
    print("\n".join(["---------", title, "---------", *lines, "---------"]))
