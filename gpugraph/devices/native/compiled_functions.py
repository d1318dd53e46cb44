"""Compiled functions: native kernels that can be bound to arrays.

    [prepared] = prepare([fused.program])       compiled in the background
    function = prepared.get()                   None while it is being compiled; if this fails,
                                                prepared.reason is the reason
    run = function.bind(inputs, outputs, fused.sizes)
    run()

The division of the computation into parts depends only on sizes, so results do not depend on the
number of threads.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from math import ceil, prod
from typing import Any

import numpy as np

from gpugraph.base.dtypes import bfloat16, float16, float32
from gpugraph.base.errors import invalid_argument
from gpugraph.config.environment import thread_count
from gpugraph.devices.codegen.c_types import EXPENSIVE
from gpugraph.devices.codegen.program import Apply, Input, Program, Value
from gpugraph.devices.native.c_kernel_source import KernelSource
from gpugraph.devices.native.c_while_loop_source import LoopSource
from gpugraph.devices.native.native_runtime import (
    KernelBlock,
    Runtime,
    address_of,
    call_of,
    internal_error,
)
from gpugraph.devices.native.open_calls import OpenCall
from gpugraph.devices.native.open_views import OpenView

RELEASE_NANOSECONDS = 50_000
"""The minimum estimated nanoseconds of work for which the GIL is released."""

MORE, STOPPED, FAILED = 1, 2, 3
"""Statuses of a native call, besides 0 (done): a loop has more iterations and must be called again;
the call was stopped by its flag; an operation failed.
"""


_PARTIAL, _ACROSS, _COLUMNS = 1, 2, 4
"""Flags for the ways in which a kernel may be divided into parts; host_kernel.h has the same
flags.
"""


def estimate(program: Program) -> float:
    """Return the estimated number of nanoseconds that one core takes for each element of a
    program.
    """
    nanoseconds = 0.0
    for value in program.values:
        wide = value.dtype.itemsize / 4
        if isinstance(value, Input):
            nanoseconds += 0.1 * wide * (bool(value.spans) and all(value.spans))
        elif isinstance(value, Apply) and EXPENSIVE.search(value.expression):
            nanoseconds += 0.4 * wide
        else:
            nanoseconds += 0.05 * wide
    return nanoseconds + 0.1 * len(program.outputs)


class CompiledFunction:
    """A compiled program, to be bound to arrays."""

    def __init__(self, source: KernelSource, library: ctypes.CDLL, runtime: Runtime) -> None:
        self.program = source.program
        self.name = source.name
        self._source = source
        self._entry = address_of(getattr(library, source.name))
        self._runtime = runtime
        self._each_nanoseconds = estimate(source.program)
        self._cuts = _PARTIAL * bool(source.scratch) | _ACROSS * bool(source.splits_rows)
        self._cuts |= _COLUMNS * ("columns" in source.scratch.values())
        spans = source.program.spans()
        self._wanted = [(index, spans[index]) for index in source.program.inputs]
        self._wanted += zip(source.program.outputs, source.program.along)

    def bind(
        self, inputs: Sequence[Any], outputs: Sequence[Any], sizes: Sequence[int]
    ) -> Callable[[], Any]:
        """Return a callable that computes the outputs from the inputs and returns a false value.

        Raises InternalError if an array has the wrong size, dtype or layout. The callable raises
        InvalidArgumentError if an integer is divided by zero, or if a condition that an expression
        checks is false. The callable must not run in two threads at the same time.

        Args:
          inputs, outputs: C-ordered NumPy arrays, in the order of `Fusion.input` and
            `Fusion.output`. The number of elements of each array is the product of `sizes` over the
            axes along which it varies. An output may share the memory of an input if the output
            covers all of this memory.
        """
        call = self.call(inputs, outputs, sizes)
        if not self.can_fail:
            return call

        def run() -> None:
            if call():
                raise invalid_argument(self._source.values.failure)

        return run

    @property
    def can_fail(self) -> bool:
        """Whether the kernel may fail for some values of its inputs."""
        return self._source.values.can_fail

    def call(
        self, inputs: Sequence[Any], outputs: Sequence[Any], sizes: Sequence[int]
    ) -> Callable[[], int]:
        """Return a native call that computes the outputs, for use in a `sequence`. Instead of
        raising an error, the call returns a nonzero status. If the arrays are `OpenView`s, the
        result is an `OpenCall`.
        """
        if any(isinstance(array, OpenView) for array in outputs):
            return self._open_call(inputs, outputs, sizes)
        program = self.program
        _check(program.values, program.axes, self._wanted, [*inputs, *outputs], sizes)
        if program.narrow and sizes[-1] != program.narrow:
            raise internal_error(f"A kernel of {program.narrow} columns was given {sizes[-1]}")
        _check_writeable(outputs)
        block, keep, work = self._block(inputs, outputs, sizes)
        return self._runtime.call(block, keep, work >= RELEASE_NANOSECONDS)

    def _block(
        self, inputs: Sequence[Any], outputs: Sequence[Any], sizes: Sequence[int]
    ) -> tuple[KernelBlock, tuple[Any, ...], float]:
        """Return the block for these arrays, the objects that must live as long as the block, and
        the estimated time of a call in nanoseconds.
        """
        rows, inner = (prod(sizes[:-1]), sizes[-1]) if sizes else (1, 1)
        block = KernelBlock(
            self._entry, self._runtime.parallel, thread_count(), rows=rows, inner=inner
        )
        block.each_nanoseconds, block.cuts = self._each_nanoseconds, self._cuts
        self._runtime.cut("block", block)
        scratch = [
            self._scratch(block, index, kind) for index, kind in self._source.scratch.items()
        ]
        return block, _place(block, [*inputs, *outputs, *scratch], sizes), block.work

    def _open_call(
        self, inputs: Sequence[Any], outputs: Sequence[Any], sizes: Sequence[Any]
    ) -> OpenCall:
        """Return the call for views with open sizes."""
        rows, inner = (prod(sizes[:-1]), sizes[-1]) if sizes else (1, 1)
        if self.program.narrow and sizes[-1] != self.program.narrow:
            raise internal_error("A kernel of few columns was given others")
        arrays = [array.ctypes.data for array in (*inputs, *outputs)]
        scratch = {
            len(arrays) + number: (kind, self._scratch_item(index))
            for number, (index, kind) in enumerate(self._source.scratch.items())
        }
        return OpenCall(
            {"rows": rows, "inner": inner},
            {"sizes": sizes, "at": arrays},
            address_of(self._runtime.library.gg_cut_block),
            scratch,
            ("work", RELEASE_NANOSECONDS),
        )

    def _scratch(self, block: KernelBlock, index: int, kind: str) -> Any:
        """Return a new array for the partial results of reduction `index`.

        Args:
          kind: one of the kinds in `ProgramSource.scratch`.
        """
        return np.empty(self._scratch_bytes(block, index, kind), np.uint8)

    def _scratch_bytes(self, block: KernelBlock, index: int, kind: str) -> int:
        """Return the size in bytes of the array for the partial results of a reduction."""
        lengths = {"parts": block.parts, "whole": 1 + block.parts}
        length = lengths.get(kind)
        if length is None:
            length = ceil(block.rows / block.rows_each) * block.inner
        return max(length, 1) * self._scratch_item(index)

    def _scratch_item(self, index: int) -> int:
        """Return the number of bytes of a partial result of a reduction."""
        dtype = self.program.values[index].dtype
        return (float32 if dtype in (float16, bfloat16) else dtype).itemsize


class LoopFunction:
    """A compiled while loop that can be bound to arrays."""

    def __init__(self, source: LoopSource, library: ctypes.CDLL, runtime: Runtime) -> None:
        self.loop = source.loop
        self.failure = source.values.failure
        self._entry = address_of(getattr(library, source.name))
        self._runtime = runtime
        spans = source.program.spans()
        self._wanted = [(index, spans[index]) for index in source.inputs]

    def bind(
        self, arrays: Sequence[Any], sizes: Sequence[int], limit: int = -1, stop: Any = None
    ) -> Callable[[], int]:
        """Return a callable that runs the loop and returns the number of iterations.

        Raises InternalError if an array has the wrong size, dtype or layout. The callable raises
        InvalidArgumentError if an integer is divided by zero.

        Args:
          arrays: the inputs, in the order of `Fusion.input`. These arrays must not overlap. The
            arrays of loop variables contain the initial values and receive the final values.
          limit: the maximum number of iterations, or a negative number for no limit.
          stop: an int64 array with one element. When the element is not 0, the loop ends early.
        """
        call = self.call(arrays, sizes, limit, stop)
        block = call_of(call)[2]

        def run() -> int:
            block.count = 0
            while (status := call()) == MORE:
                pass  # Python handles signals here
            if status == FAILED:
                raise invalid_argument(self.failure)
            return int(block.count)

        return run

    def open_call(self, views: Sequence[Any], sizes: Sequence[Any]) -> OpenCall:
        """Return the call of the function for views with open sizes."""
        addresses = [view.ctypes.data for view in views]
        return OpenCall({"inner": prod(sizes)}, {"sizes": sizes, "at": addresses})

    def call(
        self, arrays: Sequence[Any], sizes: Sequence[int], limit: int = -1, stop: Any = None
    ) -> Callable[[], int]:
        """Return a native call of the function, which returns the function's status."""
        _check(self.loop.values, self.loop.axes, self._wanted, arrays, sizes)
        inputs = [index for index, _ in self._wanted]
        _check_writeable([arrays[inputs.index(index)] for index in self.loop.variables])
        block = KernelBlock(self._entry, self._runtime.parallel, 1, 1, 1, prod(sizes), limit=limit)
        if stop is not None:
            block.stop = stop.ctypes.data
        return self._runtime.call(block, (*_place(block, arrays, sizes), stop), True)


def _place(block: KernelBlock, arrays: Sequence[Any], sizes: Sequence[int]) -> tuple[Any, ...]:
    """Store the addresses of the arrays, and the sizes, in the block. Return objects that must live
    as long as the block.
    """
    addresses = (ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays))
    lengths = (ctypes.c_int64 * len(sizes))(*sizes)
    block.at, block.sizes = ctypes.addressof(addresses), ctypes.addressof(lengths)
    return (addresses, lengths, *arrays)


def _check(
    values: Sequence[Value],
    axes: int,
    wanted: Sequence[tuple[int, tuple[bool, ...]]],
    arrays: Sequence[Any],
    sizes: Sequence[int],
) -> None:
    """Raise InternalError unless each array has the dtype of its value, the size of its axes, and C
    order.
    """
    if len(arrays) != len(wanted) or len(sizes) != axes:
        raise internal_error(
            f"A native kernel of {len(wanted)} arrays over {axes} axes was given {len(arrays)} "
            f"arrays and sizes {list(sizes)}"
        )
    for position, ((index, along), array) in enumerate(zip(wanted, arrays)):
        count = prod(size for size, runs in zip(sizes, along) if runs)
        numpy_type = np.dtype(values[index].dtype.as_numpy_dtype)
        if array.dtype != numpy_type or array.size != count or not _is_plain(array):
            raise internal_error(
                f"Array {position} of a native kernel must be C-ordered {numpy_type} with {count} "
                f"elements, but is {array.dtype}{list(array.shape)}"
                + ("" if _is_plain(array) else ", not C-ordered in memory")
            )


def _check_writeable(arrays: Sequence[Any]) -> None:
    if not all(array.flags.writeable for array in arrays):
        raise internal_error("A native kernel can't write to a read-only array")


def _is_plain(array: Any) -> bool:
    flags = array.flags
    return isinstance(array, np.ndarray) and flags.c_contiguous and flags.aligned
