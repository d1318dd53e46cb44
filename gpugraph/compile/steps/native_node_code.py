"""Native code of a single node's step.

Expressions, reductions and decompositions become generated programs. Matrix products become calls
of tiled code or of NumPy's BLAS, view copies become copies between views, and kernel sources become
calls of functions in `kernels/`. All other steps have no native code, and the report contains the
reason.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from math import prod
from typing import Any, NamedTuple

import numpy as np

from gpugraph.base.dtypes import DType, as_dtype, uint8
from gpugraph.compile.analysis.fusibility import key_of_attrs
from gpugraph.compile.steps.kernel_context import KernelBinding
from gpugraph.compile.steps.source_layouts import (
    HALF_FILE,
    float_arrays,
    function_arrays,
    function_dtype,
    in_place_of,
    span_of,
)
from gpugraph.devices.codegen.c_compiler import compiler
from gpugraph.devices.codegen.c_types import EXPENSIVE
from gpugraph.devices.native import (
    BYTES,
    ROW_TYPES,
    TILED_PRODUCTS,
    Fused,
    Fusion,
    Macros,
    NotNativeError,
    Prepared,
    Program,
    blas_reason,
    is_tiled,
    move,
    prepare,
    prepare_source,
    products,
    tiled_product,
)
from gpugraph.graph.nodes.runtime_graph import Node
from gpugraph.kernel import (
    CSource,
    Decomposition,
    Epilogue,
    MatmulWithEpilogue,
    MatrixProducts,
    Native,
    NewArray,
    RowSource,
    Signature,
    SourceStages,
    ViewCopies,
    ViewCopy,
)
from gpugraph.ops.framework.kernel_registry import is_ours
from gpugraph.ops.framework.op_declaration import DECLARATIONS
from gpugraph.ops.fusion.op_expressions import Expressions, axis_source, build, expressions_of

NativeCall = Callable[[], int]


class Candidate(NamedTuple):
    """A step that may become native: the form of its op, and its arrays.

    Args:
      arrays: `num_inputs` inputs, with the dtypes `types`, followed by the outputs.
      variables: the inputs that are variables, which other runs may write.
      writes: the inputs that the op writes, if the op writes inputs instead of outputs.
      bind: a function that binds the NumPy kernel to arrays.
      program: the generated program, if it already exists.
      constants: the inputs that are constants.
      holding: a function that returns a callable which makes a native call while it holds the locks
        of variables, if the op locks them.
    """

    native: Native | Expressions
    context: KernelBinding
    types: Sequence[DType]
    arrays: Sequence[Any]
    num_inputs: int
    variables: frozenset[int]
    writes: tuple[int, ...]
    bind: Callable[[KernelBinding, Sequence[Any]], Callable[[], Any]]
    program: Fused | None = None
    holding: Callable[[Callable[[], Any]], Callable[[], Any]] | None = None
    constants: frozenset[int] = frozenset()

    @property
    def inputs(self) -> Sequence[Any]:
        """The input arrays."""
        return self.arrays[: self.num_inputs]

    @property
    def written(self) -> Sequence[Any]:
        """The arrays that the op writes, which are its outputs or variables."""
        if self.writes:
            return [self.arrays[slot] for slot in self.writes]
        return self.arrays[self.num_inputs :]

    def apart(
        self, isolated: bool = False, changed: Callable[[Any], Any] | None = None
    ) -> Candidate:
        """Return the same step with copies of the arrays that it writes. If `isolated`, also copy
        variables that the step reads, so that other runs can't change them.

        Args:
          changed: a function that returns the replacement of an input array.
        """
        written = {span_of(array) for array in self.written}
        copies: dict[tuple[int, int], Any] = {}
        for index, array in enumerate(self.arrays):
            span, is_input = span_of(array), index < self.num_inputs
            is_own = span in written or (isolated and index in self.variables)
            if is_input and (changed or is_own):
                copies[span] = changed(array) if changed else array.copy()
            elif not is_input and span not in copies:
                copies[span] = np.empty_like(array)
        arrays = [in_place_of(array, copies.get(span_of(array))) for array in self.arrays]
        return self._replace(arrays=arrays)

    def new_scratch(self, size: int) -> Any:
        """Return `size` bytes of temporary memory, which is valid while the step runs."""
        return self.context.passing(-1, (size,), uint8)

    def new_array(self, number: int, shape: tuple[int, ...], dtype: Any) -> Any:
        """Return the temporary array with number `number`, which is valid while the step runs.
        Numbers start at 0.
        """
        return self.context.passing(-2 - number, shape, as_dtype(dtype))

    def run_plain(self) -> None:
        """Run the step once in NumPy, with separate scratch memory."""
        owned: list[Any] = []
        try:
            self.bind(self.context.owning(owned), self.arrays)()
        finally:
            for container in owned:
                container.release()


class Calls(NamedTuple):
    """The native calls of a step, and whether they can reject their input."""

    calls: Sequence[NativeCall]
    may_fail: bool = False


class FileOf(NamedTuple):
    """A file of `kernels/`, and the dtype and the macros for which it is compiled."""

    file: str
    dtype: str
    macros: Macros = ()


class Piece(NamedTuple):
    """Native code that is not compiled yet.

    Args:
      source: a program, a file, or None if there is nothing to compile.
      bind: a function that receives the compiled code and returns the step's calls.
      is_exact: whether the results of the code are equal to NumPy's bit by bit.
      work: for a program, the total number of values that the program computes.
    """

    source: Program | FileOf | None
    bind: Callable[[Any], Calls]
    is_exact: bool = False
    work: int = 0


def native_form(node: Node, device_type: str = "CPU") -> Native | Expressions | None:
    """Return the native form of an op's kernel on a device type. If the kernel is only a `Call`,
    return None.
    """
    decl = DECLARATIONS.get(node.type)
    if decl is not None and decl.native and is_ours(node.type, device_type, node.attrs):
        return decl.native
    return expressions_of(node.type, node.attrs, device_type)


Programs = dict[Hashable, tuple[Program, tuple[int, ...]]]
"""Programs with the sizes of their axes. The key contains everything that determines a program."""


def translate(step: Candidate, known: Programs | None = None) -> Piece:
    """Return the native code of a step. Raises NotNativeError if there is no native code for the
    step's dtypes and shapes.

    Args:
      known: the programs of other steps. If one of them is equal to this step's program, the steps
        share one program. Otherwise the new program is added to `known`.
    """
    arrays, native = step.arrays, step.native
    if not all(array.flags.c_contiguous for array in arrays):
        raise NotNativeError("an array is not C-ordered")
    takes_empty = isinstance(native, RowSource) and native.takes_empty
    takes_empty |= isinstance(native, ViewCopies) and bool(arrays[-1].size)
    if not takes_empty and not all(array.size for array in arrays):
        raise NotNativeError("a tensor is empty")
    try:
        if isinstance(native, MatmulWithEpilogue):
            triples = native.products.matrices(step.context, *arrays)
            return _tiled(triples, step.new_scratch, native.epilogue(step.context, *arrays))
        if isinstance(native, ViewCopies):
            return Piece(None, lambda _: _copies(native, step), is_exact=True)
        if isinstance(native, MatrixProducts):
            return _products(native, step)
        if isinstance(native, CSource):
            return source_piece(
                native, step.context, arrays, step.new_scratch, step.new_array, step.constants
            )
        if isinstance(native, SourceStages):
            return stages_piece(native, step.context, arrays, step.new_scratch, step.new_array)
        if isinstance(native, RowSource):
            return row_piece(native, step.context, arrays, step.new_scratch)
        return _program_or_source(native, step, {} if known is None else known)
    except NotImplementedError as error:
        raise NotNativeError(str(error)) from error


def source_piece(
    native: CSource,
    signature: Signature,
    arrays: Sequence[Any],
    new_scratch: Callable[[int], Any],
    new_array: NewArray,
    constants: frozenset[int] = frozenset(),
) -> Piece:
    """Return the native code of an op that has a C function (`CSource`).

    Args:
      constants: the inputs that are constants, which the function may keep in another form.
    """
    numbers, name = [*native.parameters(signature)], native.function
    if native.packed is not None:
        keeps = native.packed in constants and _pays_to_keep(arrays[native.packed], arrays[-1])
        numbers.append(int(keeps))
        new_scratch = _zeros if keeps else new_scratch
    operands = function_arrays(native, signature, arrays, new_array)

    def bind(code: Any) -> Calls:
        call = code.bind(name, numbers, operands.arrays, new_scratch)
        return Calls(operands.calls(code, [call]))

    return Piece(FileOf(native.file, function_dtype(arrays)), bind)


_MOST_PLACES = 512
"""The number of results per output channel up to which a packed filter is kept: with more, its
packing takes a small part of the time.
"""


def _pays_to_keep(filter: Any, result: Any) -> bool:
    if not isinstance(result, np.ndarray) or filter.dtype not in (np.float32, np.float64):
        return False
    return bool(result.size <= _MOST_PLACES * filter.shape[-1])


def _zeros(size: int) -> Any:
    return np.zeros(size, np.uint8)


def stages_piece(
    native: SourceStages,
    signature: Signature,
    arrays: Sequence[Any],
    new_scratch: Callable[[int], Any],
    new_array: NewArray,
) -> Piece:
    """Return the native code of an op that consists of copies and functions of one C file
    (`SourceStages`).
    """
    dtype = str(arrays[-1].dtype)
    if dtype not in ("float32", "float64"):
        raise NotImplementedError(f"its functions are of float32 and float64, not {dtype}")
    stages = native.stages(signature, arrays, new_array)

    def bind(code: Any) -> Calls:
        return Calls(
            [
                move(*stage)
                if isinstance(stage, ViewCopy)
                else code.bind(stage.function, stage.parameters, stage.arrays, new_scratch)
                for stage in stages
            ]
        )

    return Piece(FileOf(native.file, dtype), bind)


def row_piece(
    native: RowSource, context: KernelBinding, arrays: Sequence[Any], scratch: Callable[[int], Any]
) -> Piece:
    """Return the native code of an op whose C function computes one row (`RowSource`).

    Args:
      arrays: arrays, or objects that have a dtype and a shape.
    """
    numbers = native.parameters(context)
    dtype = BYTES if native.element is None else str(arrays[native.element].dtype)
    if dtype not in ROW_TYPES:
        raise NotImplementedError(f"rows are of {', '.join(ROW_TYPES)}, not {dtype}")
    macros = tuple(native.macros(context).items())

    def bind(code: Any) -> Calls:
        return Calls([code.bind(native.function, numbers, arrays, scratch, dtype)], True)

    is_exact = native.is_exact and not any(EXPENSIVE.search(text) for _, text in macros)
    return Piece(FileOf(native.file, dtype, macros), bind, is_exact)


def _copies(native: ViewCopies, step: Candidate) -> Calls:
    return Calls([move(*pair) for pair in native.views(step.context, *step.arrays)])


def _products(native: MatrixProducts, step: Candidate) -> Piece:
    """Return the native code of matrix products. Depending on the sizes, the code is tiled code or
    calls of NumPy's BLAS. Operands of float16 and bfloat16 are converted to float32, and results
    are rounded once.
    """
    operands = float_arrays(step.arrays, step.new_array)
    triples = native.matrices(step.context, *operands.arrays)
    if is_tiled(triples):
        tiled = _tiled(triples, step.new_scratch, Epilogue())
        return Piece(tiled.source, lambda code: Calls(operands.calls(code, tiled.bind(code).calls)))

    def bind(code: Any) -> Calls:
        if blas_reason():
            raise NotNativeError(blas_reason())
        return Calls(operands.calls(code, [products(triples)]))

    return Piece(FileOf(HALF_FILE, "float32") if operands.before else None, bind)


def _tiled(
    triples: Sequence[tuple[Any, Any, Any]], scratch: Callable[[int], Any], epilogue: Epilogue
) -> Piece:
    """Return the native code of tiled matrix products with an epilogue."""

    def bind(code: Any) -> Calls:
        return Calls([tiled_product(code, triple, scratch, *epilogue) for triple in triples])

    return Piece(FileOf(TILED_PRODUCTS, str(triples[0][2].dtype)), bind)


def program_of(
    native: Expressions,
    context: KernelBinding,
    types: Sequence[DType],
    inputs: Sequence[Any],
    written: Sequence[Any],
) -> Fused:
    """Return the generated program of an op's expressions for these arrays, with the sizes of its
    axes.
    """
    fusion = Fusion()
    values = [fusion.input(dtype, array.shape) for dtype, array in zip(types, inputs, strict=True)]
    results = build(fusion, native, context, values)
    for value, array in zip(results, written, strict=True):
        is_whole = prod(fusion.shape(value)) == array.size
        fusion.output(value, None if is_whole else array.shape)
    return fusion.finish()


def _program_or_source(native: Expressions, step: Candidate, known: Programs) -> Piece:
    if isinstance(native, Decomposition) and native.alone is not None and step.program is None:
        with suppress(NotImplementedError):
            return row_piece(native.alone, step.context, step.arrays, step.new_scratch)
    try:
        return _program(native, step, known)
    except NotNativeError:
        source = axis_source(native, step.context)
        if source is None:
            raise
        return row_piece(source, step.context, step.arrays, step.new_scratch)


def _program(native: Expressions, step: Candidate, known: Programs) -> Piece:
    likeness = _likeness(step) if step.program is None else None
    if step.program is not None:
        program, sizes = step.program
    elif likeness is None or likeness not in known:
        program, sizes = program_of(native, step.context, step.types, step.inputs, step.written)
        if likeness is not None:
            known[likeness] = program, sizes
    else:
        program, sizes = known[likeness]

    def bind(function: Any) -> Calls:
        call = function.call(step.inputs, step.written, sizes)
        return Calls([call], function.can_fail)

    return Piece(program, bind, work=prod(sizes) * len(program.values))


def _likeness(step: Candidate) -> Hashable | None:
    """Return a key that is equal for steps that can share a program, such as those of repeated
    layers. Return None if the program depends on too much data for a short key.
    """
    attrs = step.context.attrs
    if len(step.context.input_types) > step.num_inputs:
        return None  # the program depends on host values too
    try:
        what = attrs.get("layout") or key_of_attrs(attrs)
    except TypeError:
        return None
    shapes = [array.shape for array in (*step.inputs, *step.written)]
    return id(step.native), what, tuple(step.types), tuple(shapes)


def compile_pieces(pieces: Sequence[Piece]) -> list[Prepared[Any] | None]:
    """Start to compile native code of steps in the background. Return the compiled code of each
    piece, or None if the piece has no source.

    Files of `kernels/` come first, since their ops take longest in NumPy. The programs follow,
    largest amount of computation first. The compiled code of all pieces is cached as one file for
    later processes.
    """
    sources = [piece.source for piece in pieces]
    by_work = sorted(pieces, key=lambda piece: -piece.work)
    programs = {
        id(piece.source): piece.source for piece in by_work if isinstance(piece.source, Program)
    }
    with compiler().together():
        files = iter([prepare_source(*source) for source in sources if isinstance(source, FileOf)])
        code_of = dict(zip(programs, prepare(list(programs.values()))))
    codes: list[Prepared[Any] | None] = []
    for source in sources:
        if isinstance(source, Program):
            codes.append(code_of[id(source)])
        else:
            codes.append(None if source is None else next(files))
    return codes
