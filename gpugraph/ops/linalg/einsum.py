"""Einstein summation, `tf.einsum`, which multiplies the operands pair by pair as matrix products.

The axes of a pair have four roles in the product. In `einsum("ijm,jkm->ikm", a, b)`:

    m       in both operands and in the output    a batch axis, which is moved to the front
    j       in both operands only                 summed over by the matrix product
    i, k    in one operand and in the output      rows and columns

An axis that occurs in only one operand, and not in the output, is summed over before the product.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from gpugraph.graph.attr_values import text_of
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.arrays.reshape_and_transpose import transpose
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import op_scope
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.linalg.matmul import matmul
from gpugraph.ops.linalg.matrix_diagonals_v2 import matrix_diag_part
from gpugraph.ops.reductions.reduction_functions import reduce_sum

_EQUATION = re.compile(r"^([A-Za-z]*(?:,[A-Za-z]*)*)(->[A-Za-z]*)?$")


def _parse(equation: str, count: int) -> tuple[list[str], str]:
    """Return the labels of each of the `count` inputs, and the labels of the output. A label is the
    letter that names an axis.
    """
    text = text_of("equation", equation).replace(" ", "")
    match = _EQUATION.match(text)
    if match is None:
        hint = " (ellipses are not supported)" if "..." in text else ""
        raise ValueError(f"Indices have incorrect format: {equation}{hint}")
    inputs = match.group(1).split(",")
    if len(inputs) != count:
        raise ValueError(
            f"Incorrect number of arguments for equation {equation!r}: expected {len(inputs)}, "
            f"got {count}"
        )
    if match.group(2) is not None:
        output = match.group(2)[2:]
    else:
        labels = "".join(inputs)
        output = "".join(label for label in sorted(set(labels)) if labels.count(label) == 1)
    if len(set(output)) != len(output):
        raise ValueError(f"Output labels appear more than once: {equation}")
    missing = set(output) - set("".join(inputs))
    if missing:
        raise ValueError(f"Unknown output labels {sorted(missing)} in {equation}")
    return inputs, output


class _Operand:
    """A tensor and a label (a letter) for each of its axes."""

    def __init__(self, tensor: Tensor, labels: str) -> None:
        self.tensor = tensor
        self.labels = labels

    def ordered(self, labels: str) -> _Operand:
        """Return the operand, transposed so that its axes have the order of `labels`."""
        if labels == self.labels:
            return self
        order = np.array([self.labels.index(label) for label in labels], np.int32)
        return _Operand(transpose(self.tensor, order), labels)

    def summed(self, labels: str) -> _Operand:
        """Return the operand's sum over the axes with these labels."""
        if not labels:
            return self
        axes = [self.labels.index(label) for label in labels]
        rest = "".join(label for label in self.labels if label not in labels)
        return _Operand(reduce_sum(self.tensor, axes), rest)

    def without_repeats(self) -> _Operand:
        """Return the diagonal along axes with the same label, so that each label occurs only
        once.
        """
        operand: _Operand = self
        for label in sorted(set(self.labels)):
            while operand.labels.count(label) > 1:
                operand = operand._diagonal(label)
        return operand

    def _diagonal(self, label: str) -> _Operand:
        pair = [axis for axis, other in enumerate(self.labels) if other == label][:2]
        rest = [axis for axis in range(len(self.labels)) if axis not in pair]
        matrices = transpose(self.tensor, np.array(rest + pair, np.int32))
        labels = "".join(self.labels[axis] for axis in rest) + label
        return _Operand(matrix_diag_part(matrices), labels)

    def sizes(self, labels: str) -> list[Any]:
        """Return the sizes of the axes with these labels. Each size is an int if it is known,
        otherwise a scalar tensor.
        """
        known = self.tensor.shape.sizes
        assert known is not None
        sizes: list[Any] = []
        for axis in map(self.labels.index, labels):
            size = known[axis]
            sizes.append(raw_ops.Shape(self.tensor)[axis] if size is None else size)
        return sizes


def _pair(left: _Operand, right: _Operand, wanted: set[str]) -> _Operand:
    """Return the product of two operands, summed over all labels that are not in `wanted`."""
    left_labels, right_labels = set(left.labels), set(right.labels)
    left = left.summed("".join(x for x in left.labels if x not in right_labels | wanted))
    right = right.summed("".join(x for x in right.labels if x not in left_labels | wanted))
    shared = [x for x in left.labels if x in right.labels]
    batch = "".join(x for x in shared if x in wanted)
    inner = "".join(x for x in shared if x not in wanted)
    rows = "".join(x for x in left.labels if x not in shared)
    columns = "".join(x for x in right.labels if x not in shared)
    left, right = left.ordered(batch + rows + inner), right.ordered(batch + inner + columns)
    if len(rows) == len(columns) == len(inner) == 1:
        return _Operand(matmul(left.tensor, right.tensor), batch + rows + columns)
    if not inner and not (rows and columns):
        return _broadcast(left, right, batch, rows, columns)
    return _as_matrices(left, right, (batch, rows, inner, columns))


def _broadcast(left: _Operand, right: _Operand, batch: str, rows: str, columns: str) -> _Operand:
    """Return the product as an elementwise product. All axes of one operand must also be axes of
    the other operand.
    """
    a, b = left.tensor, right.tensor
    for _ in columns:
        a = raw_ops.ExpandDims(a, np.array(-1, np.int32))
    for _ in rows:
        b = raw_ops.ExpandDims(b, np.array(-1, np.int32))
    return _Operand(raw_ops.Mul(a, b), batch + rows + columns)


def _as_matrices(left: _Operand, right: _Operand, groups: tuple[str, str, str, str]) -> _Operand:
    """Return the product as a batch of matrix products. The axes of each group are merged into one
    axis.
    """
    batch, rows, inner, columns = groups
    batches = left.sizes(batch)
    row_sizes, column_sizes = left.sizes(rows), right.sizes(columns)
    a = _reshape(left.tensor, [*batches, _total(row_sizes), _total(left.sizes(inner))])
    b = _reshape(right.tensor, [*batches, _total(right.sizes(inner)), _total(column_sizes)])
    product = _reshape(matmul(a, b), [*batches, *row_sizes, *column_sizes])
    return _Operand(product, batch + rows + columns)


def _total(sizes: Sequence[Any]) -> Any:
    total: Any = 1
    for size in sizes:
        total = total * size
    return total


def _reshape(tensor: Any, sizes: list[Any]) -> Any:
    if any(isinstance(size, Tensor) for size in sizes):
        return raw_ops.Reshape(tensor, raw_ops.Pack(sizes))
    return raw_ops.Reshape(tensor, np.array(sizes, np.int32))


def einsum(equation: str, *inputs: Any, name: str | None = None) -> Tensor:
    """Return a product of tensors, summed over some axes. For example, `einsum("ij,jk->ik", a, b)`
    is a @ b.

    Raises ValueError if the equation does not fit the inputs, or if the rank of an input is
    unknown.

    Args:
      equation: a letter for each axis of each input, with a comma between inputs, followed by "->"
        and the letters of the output. Without "->", the output has the letters that occur only
        once, in alphabetical order. Axes with the same letter must have the same size. If an input
        has a letter twice, the diagonal along these axes is used.

    >>> session.run(tf.einsum("ij,jk->ik", tf.ones([2, 3]), tf.ones([3, 1])))
    array([[3.],
           [3.]], dtype=float32)
    """
    with op_scope(name, "einsum", *inputs):
        labels, output = _parse(equation, len(inputs))
        operands = [
            _operand(convert_to_tensor(tensor, name="input"), names)
            for tensor, names in zip(inputs, labels)
        ]
        product = operands[0]
        for index, other in enumerate(operands[1:], 1):
            later = "".join(operand.labels for operand in operands[index + 1 :])
            product = _pair(product, other, set(output) | set(later))
        rest = "".join(label for label in product.labels if label not in output)
        return product.summed(rest).ordered(output).tensor


def _operand(tensor: Tensor, labels: str) -> _Operand:
    rank = tensor.shape.rank
    if rank is None:
        raise ValueError(f"einsum needs inputs of known rank, but '{tensor.name}' has none")
    if rank != len(labels):
        raise ValueError(f"'{tensor.name}' has {rank} axes for the labels '{labels}'")
    return _Operand(tensor, labels).without_repeats()
