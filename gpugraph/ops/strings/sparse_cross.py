"""SparseCross, which returns all combinations of the features in a row, as text or as TensorFlow's
hashes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np

from gpugraph.base.dtypes import int64, string
from gpugraph.base.errors import invalid_argument
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.framework.kernel_helpers import numpy_kernels
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op, raw_ops
from gpugraph.ops.sparse.sparse_tensor import SparseTensor
from gpugraph.ops.strings.hash_algorithms import farm_fingerprint

_KEY = 0xDECAFCAFFE
_FACTOR = 0xC6A4A7935BD1E995
_LONG = 2**64
_LARGEST = 2**63 - 1
_TYPES = (int64, string)
_LISTS = ("sparse_types", "dense_types")


def _joined(one: int, other: int) -> int:
    """Combine two 64-bit fingerprints into one, as TensorFlow does."""
    mixed = other * _FACTOR % _LONG
    result = one ^ _FACTOR ^ (mixed ^ mixed >> 47) * _FACTOR % _LONG
    result = result * _FACTOR % _LONG
    result = (result ^ result >> 47) * _FACTOR % _LONG
    return result ^ result >> 47


def _infer(context: InferContext) -> Sequence[TensorShape]:
    return [TensorShape.of(sizes) for sizes in ((None, 2), (None,), (2,))]


def _sparse_rows(indices: Any, values: Any, batch: int) -> list[list[Any]]:
    rows: list[list[Any]] = [[] for _ in range(batch)]
    for row, value in zip(indices[:, 0].tolist(), values.tolist(), strict=True):
        if not 0 <= row < batch:
            raise invalid_argument(
                f"Row index out of range of values: {row} is not in [0, {batch})"
            )
        rows[row].append(value)
    return rows


def _as_number(value: Any) -> int:
    return farm_fingerprint(value) if isinstance(value, bytes) else value % _LONG


def _as_text(value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()


def _crossed(values: Sequence[Any], attrs: Any) -> Any:
    if not attrs["hashed_output"]:
        return b"_X_".join(map(_as_text, values))
    result = attrs["hash_key"] % _LONG
    for value in values:
        result = _joined(result, _as_number(value))
    return result % (attrs["num_buckets"] or _LARGEST)


def _bind(context: KernelContext, *arrays: Any) -> Callable[[], list[Any]]:
    attrs, count = context.attrs, context.attrs["N"]
    indices, values, shapes = (arrays[n * count : (n + 1) * count] for n in range(3))
    dense = arrays[3 * count :]
    kind = object if attrs["out_type"] is string else np.int64

    def run() -> list[Any]:
        sizes = [int(shape[0]) for shape in shapes] + [len(array) for array in dense]
        if len(set(sizes)) != 1:
            raise invalid_argument(f"Expected the same batch size of all inputs, but got {sizes}")
        columns = [
            _sparse_rows(places, items, sizes[0])
            for places, items in zip(indices, values, strict=True)
        ]
        columns += [array.tolist() for array in dense]
        rows = [
            [_crossed(chosen, attrs) for chosen in product(*row)]
            for row in zip(*columns, strict=True)
        ]
        flat = [value for row in rows for value in row]
        places = [(n, place) for n, row in enumerate(rows) for place in range(len(row))]
        result = np.empty(len(flat), kind)
        result[:] = flat
        widest = max(map(len, rows), default=0)
        return [
            np.array(places, np.int64).reshape(-1, 2),
            result,
            np.array([len(rows), widest], np.int64),
        ]

    return run


op(
    "SparseCross",
    inputs="indices: N * int64, values: sparse_types, shapes: N * int64, dense_inputs: dense_types",
    attrs={
        "N": Attr("int", required=True, minimum=0),
        "hashed_output": Attr("bool", required=True),
        "num_buckets": Attr("int", required=True, minimum=0),
        "hash_key": Attr("int", required=True),
        **{key: Attr("list(type)", required=True, minimum=0, allowed=_TYPES) for key in _LISTS},
        **dict.fromkeys(("out_type", "internal_type"), _TYPES),
    },
    doc=(
        "For each row, all combinations of one feature of each input. The features of a "
        "combination are joined by _X_ or hashed."
    ),
    infer=_infer,
    outputs="output_indices: int64, output_values: out_type, output_shape: int64",
    **numpy_kernels(Call(make=_bind, dynamic=True)),
    grad=NO_GRADIENT,
)


def _cross(inputs: Any, hashed: bool, buckets: int, key: int | None, name: str | None) -> Any:
    if not isinstance(inputs, (tuple, list)):
        raise TypeError("Inputs must be a list")
    if not all(isinstance(item, (SparseTensor, Tensor)) for item in inputs):
        raise TypeError("All inputs must be SparseTensors")
    sparse = [item for item in inputs if isinstance(item, SparseTensor)]
    values = [item.values for item in sparse]
    dense = [item for item in inputs if not isinstance(item, SparseTensor)]
    has_numbers = any(item.dtype.base_dtype is not string for item in values + dense)
    values, dense = (
        [item if item.dtype.base_dtype is string else cast(item, int64) for item in items]
        for items in (values, dense)
    )
    result = raw_ops.SparseCross(
        indices=[item.indices for item in sparse],
        values=values,
        shapes=[item.dense_shape for item in sparse],
        dense_inputs=dense,
        hashed_output=hashed,
        num_buckets=buckets,
        hash_key=key or _KEY,
        out_type=int64 if hashed else string,
        internal_type=int64 if has_numbers else string,
        name=name,
    )
    return SparseTensor(*result)


def cross(inputs: Any, name: str | None = None) -> SparseTensor:
    """Return, for each row, all combinations of one feature of each input.

    A combination is a string, in which the features are joined by `_X_`. Raises TypeError if an
    input has the wrong type.

    Args:
      inputs: SparseTensors and tensors, [batch, features], of strings or integers. In a
        combination, the features of SparseTensors precede the features of tensors.
    """
    return _cross(inputs, False, 0, None, name)


def cross_hashed(
    inputs: Any, num_buckets: int = 0, hash_key: int | None = None, name: str | None = None
) -> SparseTensor:
    """Return the same combinations as `cross`, each hashed to an int64.

    Args:
      num_buckets: the number of buckets. The hashes are in [0, num_buckets). If it is 0, they are
        any int64 numbers.
      hash_key: the key of the hash. The same key gives the same hashes as in TensorFlow.
    """
    return _cross(inputs, True, num_buckets, hash_key, name)
