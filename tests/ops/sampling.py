"""The parts of a table of samples: arrays of any dtype, and the forms that use them.

A form is a function of `Values`, which makes arrays of one dtype: the same form gives a sample in
each dtype that the op takes.

    add("Tile", lambda v: case(v(2, 3), i32(1, 2)), reference=np.tile)
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import DType, as_dtype
from gpugraph.graph.op_def import OpDef
from gpugraph.ops.framework.op_declaration import DECLARATIONS

__all__ = ["GROUPS", "OpSamples", "Sample", "Values", "add", "case", "elementwise", "i32", "i64"]
__all__ += ["TABLE", "representatives"]

GROUPS: dict[str, tuple[DType, ...]] = {
    "float64": (dtypes.float64,),
    "float32": (dtypes.float32,),
    "float16": (dtypes.float16,),
    "bfloat16": (dtypes.bfloat16,),
    "integer": (dtypes.int32, *dtypes.INTEGRAL),
    "unsigned": (dtypes.uint8, dtypes.uint16, dtypes.uint32, dtypes.uint64),
    "complex": (dtypes.complex64,),
    "bool": (dtypes.bool,),
    "string": (dtypes.string,),
}
"""Kinds of dtypes; a type attr that may be of one has a sample of it."""


@dataclass(frozen=True, eq=False)
class Sample:
    """Inputs by argument (a list of arrays for N tensors) and attrs that don't follow from them."""

    inputs: tuple[Any, ...]
    attrs: dict[str, Any]
    smooth: bool = True  # whether the op can be differentiated at these inputs

    @property
    def flat(self) -> list[np.ndarray]:
        """Return the inputs with lists spread out."""
        return [array for item in self.inputs for array in _listed(item)]

    @property
    def label(self) -> str:
        """Describe the inputs and attrs: `float32[2,3] int32[] keep_dims=True`."""
        parts = [
            f"{as_dtype(array.dtype).name}[{','.join(map(str, array.shape))}]"
            + (f"={array.tolist()}" if array.dtype.kind == "i" and array.size < 7 else "")
            for array in self.flat
        ]
        attrs = (f"{key}={str(value).strip()!r}" for key, value in self.attrs.items())
        return " ".join([*parts, *attrs]).replace("\n", "")

    def all_attrs(self, op_def: OpDef) -> dict[str, Any]:
        """Return the attrs of the node: defaults, explicit ones, and those inferred from the
        inputs.
        """
        attrs = {key: attr.default for key, attr in op_def.attrs.items() if attr.has_default}
        for arg, source in zip(op_def.inputs, self.inputs, strict=True):
            arrays = _listed(source)
            if arg.number_attr:
                attrs[arg.number_attr] = len(arrays)
            if arg.type_attr and arrays:
                attrs[arg.type_attr] = as_dtype(arrays[0].dtype)
        for key, value in self.attrs.items():
            attrs[key] = as_dtype(value) if op_def.attrs[key].kind == "type" else value
        return attrs

    def widened(self) -> Sample | None:
        """Return the same in double precision; None where it is that already."""
        if not any(_wide(array.dtype) for array in self.flat) and not any(
            isinstance(value, DType) and _wide(value.as_numpy_dtype)
            for value in self.attrs.values()
        ):
            return None
        inputs = tuple(
            [_double(array) for array in item] if isinstance(item, list) else _double(item)
            for item in self.inputs
        )
        attrs = {
            key: as_dtype(_wide(value.as_numpy_dtype) or value) if type(value) is DType else value
            for key, value in self.attrs.items()
        }
        return Sample(inputs, attrs, self.smooth)


def _listed(value: Any) -> list[np.ndarray]:
    return value if isinstance(value, list) else [value]


def _wide(dtype: Any) -> Any:
    return {"e": np.float64, "E": np.float64, "f": np.float64, "F": np.complex128}.get(
        np.dtype(dtype).char
    )


def _double(array: np.ndarray) -> np.ndarray:
    wide = _wide(array.dtype)
    return array if wide is None else array.astype(wide)


@dataclass
class OpSamples:
    """All samples of an op type and the requirements for its outputs.

    reference: the outputs (one, or a tuple) of the inputs by argument and the given attrs, in
      plain NumPy; of ops that write variables, the variables after it.
    tolerance: the factor by which the error may exceed the usual bound.
    exact: the dtype itself decides the result, so that double precision is no reference for it.
    """

    samples: list[Sample] = field(default_factory=list)
    reference: Callable[..., Any] | None = None
    tolerance: float = 1
    exact: bool = False


TABLE: dict[str, OpSamples] = {}
"""The samples of each op type."""


class Values:
    """Arrays of one dtype, each call another: `v(2, 3)` has shape (2, 3), `v()` is a scalar.

    Magnitudes are in [low, high), never 0, with both signs if `signed`.
    """

    def __init__(self, dtype: DType, low: float = 0.2, high: float = 2.0, signed: bool = True):
        self.dtype = dtype
        self.low, self.high, self.signed = low, high, signed
        self.made = 0

    def __call__(self, *shape: int) -> np.ndarray:
        self.made += 1
        seed = zlib.crc32(repr((self.dtype.name, self.made, shape)).encode())
        random = np.random.default_rng(seed)
        numpy_type = np.dtype(self.dtype.as_numpy_dtype)
        if numpy_type.kind == "O":
            words = np.array([b"", b"a", b"bc", b"\xff\x00d"], object)
            return np.array(words[random.integers(0, 4, shape)], object)
        if numpy_type.kind == "b":
            return np.asarray(random.random(shape) < 0.5)
        if numpy_type.kind == "c":
            parts = self._reals(random, shape), self._reals(random, shape)
            return np.asarray(parts[0] + 1j * parts[1]).astype(numpy_type)
        if self.dtype.is_floating:
            return self._reals(random, shape).astype(numpy_type)
        sizes = random.integers(1, 6, shape)
        if self.signed and numpy_type.kind == "i":
            sizes = sizes * self._signs(random, shape)
        return np.asarray(sizes).astype(numpy_type)

    def _reals(self, random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        sizes = random.uniform(self.low, self.high, shape)
        return np.asarray(sizes * self._signs(random, shape) if self.signed else sizes)

    def _signs(self, random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        """Return both signs, equally often, in random order."""
        count = int(np.prod(shape))
        places = random.permutation(count) + random.integers(0, 2)
        return np.where(places.reshape(shape) % 2, 1, -1)


def case(*inputs: Any, smooth: bool = True, **attrs: Any) -> Sample:
    """Return a sample; inputs are arrays, or lists of arrays for N tensors."""
    return Sample(inputs, attrs, smooth)


def i32(*values: int) -> np.ndarray:
    """Return an int32 vector."""
    return np.array(values, np.int32)


def i64(*values: int) -> np.ndarray:
    """Return an int64 vector."""
    return np.array(values, np.int64)


def representatives(allowed: Sequence[DType]) -> list[DType]:
    """Return one dtype of each kind that is allowed."""
    result = [
        next((dtype for dtype in group if dtype in allowed), None) for group in GROUPS.values()
    ]
    return list(dict.fromkeys(item for item in result if item is not None))


def _data_types(op_def: OpDef) -> list[DType]:
    """The dtypes to make data of: those of the first input that isn't only read on the host."""
    for index, arg in enumerate(op_def.inputs):
        if index not in op_def.host_inputs or len(op_def.host_inputs) == len(op_def.inputs):
            if arg.type is not None:
                return [arg.type]
            return representatives(op_def.attrs[arg.type_attr].allowed)
    return representatives(op_def.attrs["dtype"].allowed) if "dtype" in op_def.attrs else []


Form = Callable[[Values], Sample]


def add(
    op_type: str,
    *forms: Form,
    reference: Callable[..., Any] | None = None,
    types: Sequence[DType] | None = None,
    tolerance: float = 1,
    exact: bool = False,
    **domain: Any,
) -> None:
    """Add samples of the forms: all in float64 and float32, the first in each dtype allowed."""
    if op_type not in DECLARATIONS:
        return  # the walk reports it
    chosen = _data_types(DECLARATIONS[op_type].op_def) if types is None else list(types)
    entry = TABLE.setdefault(op_type, OpSamples())
    entry.reference, entry.tolerance, entry.exact = reference, tolerance, exact
    for position, form in enumerate(forms):
        for place, dtype in enumerate(chosen):
            if position == 0 or dtype in (dtypes.float64, dtypes.float32) or place == 0:
                entry.samples.append(form(Values(dtype, **domain)))


ONE_SHAPE: list[list[tuple[int, ...]]] = [[(2, 3)], [()], [(3,)], [(1, 4, 1)], [(0, 3)]]
TWO_SHAPES: list[list[tuple[int, ...]]] = [
    [(2, 3), (2, 3)],
    [(), ()],
    [(2, 3), (3,)],
    [(3,), (2, 3)],
    [(), (2,)],
    [(2, 1), (1, 3)],
    [(0, 3), (1, 3)],
    [(2, 1, 2), (2, 1, 2)],
]


def elementwise(
    op_type: str, reference: Callable[..., Any], one_shape: bool = False, **options: Any
) -> None:
    """Add samples of an op on elements: usual shapes, and for two inputs broadcast ones.

    `one_shape`: the inputs have all the same shape.
    """
    if op_type not in DECLARATIONS:
        return
    arity = len(DECLARATIONS[op_type].op_def.inputs)
    alike = arity == 1 or one_shape
    shapes = [item * arity for item in ONE_SHAPE] if alike else TWO_SHAPES
    attrs = options.pop("attrs", {})
    forms: list[Form] = [
        lambda v, row=row: case(*(v(*shape) for shape in row), **attrs)  # type: ignore[misc]
        for row in shapes
    ]
    add(op_type, *forms, reference=reference, **options)
