"""Native steps: what the step of one node is as native code, if it is.

Expressions (elementwise, reductions, recipes) become programs, products calls of NumPy's BLAS, moves
copies between views, sources functions of `kernels/`. What can't be native is so with a reason.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from gpugraph.base.dtypes import DType, bfloat16
from gpugraph.compile.steps.kernel_context import KernelBinding
from gpugraph.devices.native import (
    Fused,
    Fusion,
    NotNativeError,
    Prepared,
    Program,
    blas_reason,
    move,
    prepare,
    prepare_source,
    products,
)
from gpugraph.graph.nodes.runtime_graph import Node
from gpugraph.kernel import CSource, MatmulWithEpilogue, MatrixProducts, Native, ViewCopies
from gpugraph.ops.framework.kernel_registry import is_ours
from gpugraph.ops.framework.op_declaration import DECLARATIONS
from gpugraph.ops.fusion.op_expressions import Expressions, build, expressions_of

NativeCall = Callable[[], int]


class Candidate(NamedTuple):
    """A step that may be native: what says its op, and the arrays that it is bound to.

    arrays: inputs (`given` of them, of dtypes `types`), then outputs. kept: which inputs are
    variables, that other runs may write. writes: which inputs the op writes, instead of outputs.
    bind: makes the plain step over arrays.
    """

    native: Native | Expressions
    context: KernelBinding
    types: Sequence[DType]
    arrays: Sequence[Any]
    given: int
    kept: frozenset[int]
    writes: tuple[int, ...]
    bind: Callable[[KernelBinding, Sequence[Any]], Callable[[], Any]]

    @property
    def inputs(self) -> Sequence[Any]:
        return self.arrays[: self.given]

    @property
    def written(self) -> Sequence[Any]:
        """The arrays that the op writes: its outputs, or variables."""
        if self.writes:
            return [self.arrays[at] for at in self.writes]
        return self.arrays[self.given :]

    def apart(self) -> Candidate:
        """The same step over copies of what it writes and of variables: nobody else sees it run."""
        written = {_place(each) for each in self.written}
        copies: dict[tuple[int, int], Any] = {}
        for at, array in enumerate(self.arrays):
            if at < self.given and (_place(array) in written or at in self.kept):
                copies[_place(array)] = array.copy()
            elif at >= self.given and _place(array) not in copies:
                copies[_place(array)] = np.empty_like(array)
        return self._replace(arrays=[copies.get(_place(each), each) for each in self.arrays])

    def run_plain(self) -> None:
        """Runs the plain step once, with scratch of its own."""
        owned: list[Any] = []
        try:
            self.bind(self.context.owning(owned), self.arrays)()
        finally:
            for each in owned:
                each.release()


def _place(array: Any) -> tuple[int, int]:
    """Where an array is. Arrays of a plan that overlap are the same."""
    return array.ctypes.data, array.nbytes


class Calls(NamedTuple):
    """A native step; whether it may refuse what it is given."""

    calls: Sequence[NativeCall]
    may_fail: bool = False


class Piece(NamedTuple):
    """A native step to be: what has to be compiled for it (a program, a file of `kernels/`, or
    nothing), and what makes calls of that, once the runtime is there."""

    wanted: Program | str | None
    bind: Callable[[Any], Calls]


def native_form(node: Node, device_type: str) -> Native | Expressions | None:
    """What says an op on that type of device as more than a `Call`, if anything does."""
    decl = DECLARATIONS.get(node.type)
    if decl is not None and decl.native and is_ours(node.type, device_type, node.attrs):
        return decl.native
    return expressions_of(node.type, node.attrs, device_type)


def native_of(node: Node) -> Native | Expressions | None:
    """What says the CPU's native code of an op, if anything does: of bfloat16 there are only
    moves."""
    found = native_form(node, "CPU")
    types = (*node.input_types, *node.output_types)
    if not isinstance(found, ViewCopies) and any(each.base_dtype is bfloat16 for each in types):
        return None
    return found


def translate(step: Candidate) -> Piece:
    """The native code of a step. NotNativeError where there is none for its dtypes and shapes."""
    arrays = step.arrays
    if not all(each.flags.c_contiguous for each in arrays):
        raise NotNativeError("an array is not C-ordered")
    if not all(each.size for each in arrays):
        raise NotNativeError("a tensor is empty")
    native = step.native
    if isinstance(native, MatmulWithEpilogue):
        raise NotNativeError("what follows its product is done with it on GPUs alone")
    try:
        if isinstance(native, ViewCopies):
            return Piece(None, lambda _: _moved(native, step))
        if isinstance(native, MatrixProducts):
            return _products(native, step)
        if isinstance(native, CSource):
            numbers = native.parameters(step.context)
            return Piece(native.file, partial(_of_source, native.function, numbers, arrays))
        return _program(native, step)
    except NotImplementedError as error:
        raise NotNativeError(str(error)) from error


def _moved(native: ViewCopies, step: Candidate) -> Calls:
    pairs = native.views(step.context, *step.arrays)
    return Calls([move(source, target) for source, target in pairs])


def _products(native: MatrixProducts, step: Candidate) -> Piece:
    triples = native.matrices(step.context, *step.arrays)

    def bound(_: Any) -> Calls:
        if blas_reason():
            raise NotNativeError(blas_reason())
        return Calls([products(triples)])

    return Piece(None, bound)


def _of_source(function: str, numbers: Sequence[int], arrays: Sequence[Any], made: Any) -> Calls:
    return Calls([made.bind(function, numbers, arrays)])


def program_of(
    native: Expressions,
    context: KernelBinding,
    types: Sequence[DType],
    inputs: Sequence[Any],
    written: Sequence[Any],
    gpu: bool = False,
) -> Fused:
    """What an op's texts compute of these arrays, and the sizes of its axes."""
    fusion = Fusion(gpu)
    values = [fusion.input(dtype, array.shape) for dtype, array in zip(types, inputs, strict=True)]
    made = build(fusion, native, context, values)
    for value, array in zip(made, written, strict=True):
        count = 1
        for size in fusion.shape(value):
            count *= size
        fusion.output(value, None if count == array.size else array.shape)
    return fusion.finish()


def _program(native: Expressions, step: Candidate) -> Piece:
    program, sizes = program_of(native, step.context, step.types, step.inputs, step.written)

    def bound(function: Any) -> Calls:
        call = function.call(step.inputs, step.written, sizes)
        return Calls([call], function.can_fail)

    return Piece(program, bound)


def prepared(pieces: Sequence[Piece]) -> list[Prepared[Any] | None]:
    """What each piece waits for, begun in the background; those of texts together."""
    programs = [each.wanted for each in pieces if isinstance(each.wanted, Program)]
    made = iter(prepare(programs))
    found: list[Prepared[Any] | None] = []
    for each in pieces:
        if isinstance(each.wanted, str):
            found.append(prepare_source(each.wanted))
        else:
            found.append(None if each.wanted is None else next(made))
    return found
