"""Elementwise ops in each dtype, chains of them, and the values at which they may go wrong.

Values are zeros, denormals, NaN, infinities, halfway cases, and the limits of integers, of
every dtype. `differences` compares the native kernels' results for chains with NumPy's.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from gpugraph.base.bfloat16 import finfo, kind_of
from gpugraph.base.dtypes import DType
from gpugraph.devices.codegen.c_types import C_TYPES, NOT_NATIVE
from gpugraph.devices.native import Fused, Fusion, prepare
from gpugraph.kernel import Elementwise
from gpugraph.ops.framework.kernel_registry import find_kernel
from gpugraph.ops.framework.op_declaration import DECLARATIONS

from .one_op import Alone, kernels
from .samples import TABLE
from .sampling import Sample

__all__ = ["NATIVE", "Elementary", "by_numpy", "differences", "elementary_ops", "fusion_of"]
__all__ += ["in_ulps", "operands", "ulps_of", "values_of"]

NATIVE = tuple(dtype for dtype in C_TYPES if dtype not in NOT_NATIVE)

ULPS = 4
"""Units in the last place between both where a function such as `exp` is computed."""

TOGETHER = 8
"""Chains of one kernel, each with a separate output: a compiler takes a third of the time."""

_CALLS = re.compile(r"\b([a-z]\w*)\(")
_EXACT = {
    "rounded",
    "stored",
    "fabs",
    "sqrt",
    "floor",
    "ceil",
    "trunc",
    "rint",
    "fmod",
    "fmax",
    "fmin",
}
_EXACT |= {"isinf", "isfinite"}

_SHAPED = {"BiasAdd", "BiasAddV1", "PlaceholderWithDefault"}
"""Ops whose inputs have different shapes, or that have a shape attr."""


class Elementary(NamedTuple):
    """An elementwise op of certain dtypes, with an expression that native code is made of."""

    op_type: str
    kernel: Elementwise
    inputs: tuple[DType, ...]
    output: DType
    attrs: tuple[tuple[str, Any], ...]

    @property
    def label(self) -> str:
        """The op with its dtypes and attrs."""
        attrs = "".join(f" {key}={value}" for key, value in self.attrs if key != "DstT")
        types = ", ".join(dtype.name for dtype in self.inputs)
        return f"{self.op_type}({types}) -> {self.output.name}{attrs}"


Chain = tuple[Elementary, ...]
"""Ops of which each after the first takes the result of the one before as its first input."""


_FROM_ONE = {"Elu", "Selu"}
"""Ops that take 1 from a function: errors are counted in units of 1 at least."""


def ulps_of(op: Elementary) -> int:
    """How far native code may be from NumPy: not at all, unless it calls a function."""
    return ULPS if set(_CALLS.findall(op.kernel.expression)) - _EXACT else 0


@cache
def elementary_ops() -> list[Elementary]:
    """Return every op with an elementwise expression, in every combination of native dtypes."""
    ops: dict[str, Elementary] = {}
    for op_type, entry in sorted(TABLE.items()):
        decl = DECLARATIONS[op_type]
        if op_type not in _SHAPED and not decl.memory.writes and not decl.op_def.host_inputs:
            for sample in entry.samples:
                ops |= {op.label: op for op in _in_all_dtypes(op_type, sample)}
    return list(ops.values())


def _in_all_dtypes(op_type: str, sample: Sample) -> Iterator[Elementary]:
    op_def = DECLARATIONS[op_type].op_def
    kinds = {name: attr for name, attr in op_def.attrs.items() if attr.kind == "type"}
    if any(arg.is_list for arg in (*op_def.inputs, *op_def.outputs)) or len(op_def.outputs) != 1:
        return
    given = {key: value for key, value in sample.attrs.items() if key not in kinds}
    if given.get("incompatible_shape_error") is False:
        return  # shapes may not fit: there is nothing to compute of elements
    choices = [[dtype for dtype in attr.allowed if dtype in NATIVE] for attr in kinds.values()]
    for chosen in product(*choices):
        types = dict(zip(kinds, chosen))
        entry = find_kernel(op_type, "GPU", {**sample.all_attrs(op_def), **given, **types})
        if entry is None or not isinstance(entry.kernel, Elementwise):
            continue
        inputs = tuple(arg.type or types[arg.type_attr] for arg in op_def.inputs)
        [out] = op_def.outputs
        of_inputs = {arg.type_attr for arg in op_def.inputs}
        attrs = given | {key: dtype for key, dtype in types.items() if key not in of_inputs}
        output = out.type or types[out.type_attr]
        yield Elementary(op_type, entry.kernel, inputs, output, tuple(sorted(attrs.items())))


# -- values

_LIMITS = (7, 8, 15, 16, 31, 32, 63, 64)
"""Powers of 2 at which integers end."""


@cache
def values_of(dtype: DType, few: bool = False) -> Any:
    """Return the values of a dtype at which something may go wrong; `few`: those for pairs of
    operands.
    """
    if dtype.is_bool:
        return np.array([False, True, True])
    if not dtype.is_integer:
        return _floats(np.dtype(dtype.as_numpy_dtype), few)
    numbers = [0, 1, 2, 3, 5, 7, 100, -1, -2, -7, dtype.min, dtype.max]
    if not few:
        numbers += [dtype.min + 1, dtype.max - 1, dtype.max // 2, dtype.max // 2 + 1]
        near = product((11, 24, 53), (-1, 0, 1), (1, -1))
        numbers += [sign * (2**n + k) for n, k, sign in near]
    held = dict.fromkeys(n for n in numbers if dtype.min <= n <= dtype.max)
    return np.array(list(held), dtype.as_numpy_dtype)


def _floats(dtype: Any, few: bool) -> Any:
    info = finfo(dtype)
    least = info.smallest_subnormal
    sizes = [0.0, 0.5, 1.0, 1.5, 2.5, 3.7, 20.0, 1e-3, info.max, info.tiny, least]
    if not few:
        sizes += [0.3, 0.75, 2.0, 3.0, 3.5, 9.0, 88.8, 104.0, 709.9, 745.2, 1e10, 3.5e38]
        sizes += [1 + info.eps, np.nextafter(dtype.type(0.5), dtype.type(0)), 5 * least]
        sizes += [2.0**n + k for n in _LIMITS for k in (-1, -0.5, 0, 0.5)]
        sizes += [1 + 2.0**-11, 1 + 2.0**-11 + 2.0**-40, 1 + 2.0**-24, 1 + 2.0**-24 + 2.0**-45]
        sizes += [65504.0, 65519.9, 65520.0, 2.0**-24, 2.0**-25, 1.5 * 2.0**-25, 2.0**-150]
    with np.errstate(all="ignore"):
        positive = np.array([float(size) for size in sizes]).astype(dtype)
    numbers = np.concatenate([positive, -positive, np.array([np.inf, -np.inf, np.nan], dtype)])
    bits = numbers.view(f"u{dtype.itemsize}")
    _, first = np.unique(bits, return_index=True)
    return numbers[np.sort(first)]


def operands(op: Elementary) -> list[Any]:
    """Return values for each input: of one input all, of several the few, each with each."""
    pools = [values_of(dtype, len(op.inputs) > 1) for dtype in op.inputs]
    arrays = [array.reshape(-1) for array in np.meshgrid(*pools, indexing="ij")]
    return _without_zero_divisors(op, arrays)


def _divides(op: Elementary) -> bool:
    """Return whether it divides integers, which is an error by 0."""
    return ("Div" in op.op_type or "Mod" in op.op_type) and op.inputs[-1].is_integer


def _without_zero_divisors(op: Elementary, arrays: list[Any]) -> list[Any]:
    if _divides(op):
        arrays[-1] = np.where(arrays[-1] == 0, arrays[-1].dtype.type(3), arrays[-1])
    return arrays


def _inputs(chain: Chain) -> list[Any]:
    """Return values for all inputs of a chain."""
    arrays = operands(chain[0])
    for op in chain[1:]:
        further = [np.resize(values_of(dtype, True), arrays[0].size) for dtype in op.inputs[1:]]
        arrays += _without_zero_divisors(op, further) if further else []
    return arrays


# -- both ways


def by_numpy(op: Elementary, arrays: Sequence[Any]) -> Any:
    """Return the op by its kernel for the CPU."""
    sample = Sample(tuple(arrays), dict(op.attrs))
    attrs = sample.all_attrs(DECLARATIONS[op.op_type].op_def)
    call = next(call for device, call in kernels(op.op_type, attrs) if device == "CPU")
    [result] = Alone(op.op_type, sample, call)()
    return result.copy()


def fusion_of(chains: Sequence[Chain]) -> Fused:
    """Chains of the same inputs as one kernel of vectors, with an output for each."""
    fusion = Fusion()
    shape = (2,)
    inputs = [fusion.input(dtype, shape) for dtype in _input_types(chains[0])]
    for chain in chains:
        further = iter(inputs)
        value = -1
        for op in chain:
            taken = [next(further) for _ in op.inputs[value >= 0 :]]
            value = fusion.apply(op.kernel, taken if value < 0 else [value, *taken], op.output)
            value = fusion.stored(value)
        fusion.output(value, shape)
    return fusion.finish()


def _input_types(chain: Chain) -> tuple[DType, ...]:
    return (*chain[0].inputs, *(dtype for op in chain[1:] for dtype in op.inputs[1:]))


Run = Callable[[Sequence[Any], Sequence[Any]], None]
"""Runs a kernel on inputs and outputs."""


def _native(groups: Sequence[Sequence[Chain]]) -> Iterator[Run]:
    for prepared in prepare([fusion_of(group).program for group in groups]):
        function = prepared.get(wait=True)
        assert function is not None, prepared.reason
        yield lambda inputs, outputs, f=function: f.bind(inputs, outputs, (outputs[0].size,))()


def _grouped(chains: Sequence[Chain], together: int) -> list[list[Chain]]:
    """Group chains of the same inputs, `together` in one kernel."""
    alike: dict[Any, list[Chain]] = defaultdict(list)
    for chain in chains:
        alike[_input_types(chain), tuple(map(_divides, chain))].append(chain)
    return [
        members[first : first + together]
        for members in alike.values()
        for first in range(0, len(members), together)
    ]


def results(
    chains: Sequence[Chain],
    together: int = TOGETHER,
    compiled: Callable[[Sequence[Sequence[Chain]]], Iterator[Run]] = _native,
) -> Iterator[tuple[Chain, list[Any], Any, Any]]:
    """Yield for each chain its inputs, its kernel's results, and the same three by three.

    The latter test the scalar remainder that compilers leave beside vectorized loops."""
    groups = _grouped(chains, together)
    for group, run in zip(groups, compiled(groups)):
        inputs = _inputs(group[0])
        size = inputs[0].size
        whole, parts = (
            [np.empty(size, chain[-1].output.as_numpy_dtype) for chain in group] for _ in "12"
        )
        run(inputs, whole)
        for at in range(0, size, 3):
            run([x[at : at + 3].copy() for x in inputs], [y[at : at + 3] for y in parts])
        yield from ((chain, inputs, *both) for chain, *both in zip(group, whole, parts))


def differences(chains: Sequence[Chain], together: int = TOGETHER, **how: Any) -> list[str]:
    """Return where the kernels of chains compute other numbers than NumPy.

    The last op is compared, on the kernels' results for the ops before it. `together` chains share
    one kernel.
    """
    before = list(dict.fromkeys(chain[:-1] for chain in chains if len(chain) > 1))
    known = {chain: whole for chain, _, whole, _ in results(before, **how)}
    found = []
    for chain, inputs, whole, parts in results(chains, together, **how):
        op = chain[-1]
        further = inputs[len(_input_types(chain[:-1])) :] if chain[:-1] else inputs
        taken = [known[chain[:-1]], *further] if chain[:-1] else further
        least = float(op.op_type in _FROM_ONE)
        label = ", then ".join(op.label for op in chain)
        found += _unlike(
            f"{label}, by vectors", taken, whole, by_numpy(op, taken), ulps_of(op), least
        )
        found += _unlike(f"{label}, by elements", taken, parts, whole, 0)
    return found


def _unlike(
    label: str, inputs: Sequence[Any], result: Any, wanted: Any, ulps: int, least: float = 0.0
) -> list[str]:
    off = in_ulps(result, wanted, least)
    at = np.argsort(-off, kind="stable")[:3]
    if not off.size or off[at[0]] <= ulps:
        return []
    shown = [f"{[x[i] for x in inputs]}: {result[i]}, not {wanted[i]}" for i in at if off[i] > ulps]
    return [f"{label}: {(off > ulps).sum()} differ: {'; '.join(shown)}"]


def in_ulps(result: Any, wanted: Any, least: float = 0.0) -> Any:
    """How far apart elements are, in units of the last place of the wanted number, or of `least` if
    that is larger: 0 of two NaNs, infinite of zeros of different signs."""
    same = (result == wanted) | ((result != result) & (wanted != wanted))
    if kind_of(wanted.dtype) != "f":
        return np.where(same, 0.0, np.inf)
    with np.errstate(all="ignore"):
        size = np.spacing(
            np.maximum(np.abs(wanted), wanted.dtype.type(least) or finfo(wanted.dtype).tiny)
        )
        off = np.abs(result.astype(np.longdouble) - wanted) / size
    off = np.where(same, 0.0, np.where(np.isfinite(off), off, np.inf))
    is_other_zero = (result == 0) & (wanted == 0) & (np.signbit(result) != np.signbit(wanted))
    return np.where(is_other_zero, np.inf, off).astype(np.float64)
