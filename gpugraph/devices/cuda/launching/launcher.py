"""The launcher, which binds the commands of a GPU's stream to arrays: programs, copies of views,
matrix products and handwritten kernels.

`Launcher` returns an `Enqueued`, which only enqueues the commands when it is called. It neither
waits nor allocates memory, so it can be captured in a CUDA graph.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache, partial
from typing import Any, NamedTuple

from gpugraph.base.dtypes import DType
from gpugraph.devices.cuda.driver.driver_interface import Driver, Geometry, Product, Span, Stream
from gpugraph.devices.cuda.launching.enqueued_work import (
    Enqueued,
    EnqueuedPart,
    Pending,
    Waiting,
    is_blocking,
)
from gpugraph.devices.cuda.launching.generated_kernels import launches
from gpugraph.devices.cuda.launching.joined_launches import join
from gpugraph.devices.cuda.launching.library_convolutions import library_convolution
from gpugraph.devices.cuda.launching.matrix_products import ProductLaunches, products
from gpugraph.devices.cuda.launching.tf32_precision import is_tf32
from gpugraph.devices.cuda.launching.type_macros import type_macros
from gpugraph.devices.cuda.launching.unbound_launch import Touches, Work, ranges
from gpugraph.devices.cuda.launching.view_copies import Copy, StandIns, copies
from gpugraph.devices.cuda.transfers.gpu_array import Array
from gpugraph.devices.native import NotNativeError, Program
from gpugraph.kernel import (
    SIZES,
    Arg,
    Epilogue,
    ErrorFlag,
    Launch,
    MatmulWithEpilogue,
    MatrixProducts,
    Scratch,
    Signature,
    Sized,
    Source,
    State,
    ViewCopies,
    WindowSums,
)

TENSOR_CORES = 80
"""The minimum compute capability (multiplied by 10) for kernels that include
kernels/cuda/shared/tensor_core_mma.cuh.
"""

Allocate = Callable[[tuple[int, ...], DType], Array]
"""A function that allocates scratch memory, which is valid as long as the bound step exists."""


class Launcher:
    """An object that binds all kinds of commands to arrays of one GPU. The results are steps that
    enqueue the commands on one stream.
    """

    def __init__(self, driver: Driver, stream: Stream, workspace: Span, lock: Any) -> None:
        """Create a launcher for one stream.

        Args:
          lock: the lock to hold while commands are enqueued on the stream or captured.
          workspace: the address and the size in bytes of memory for cublasLt.
        """
        self.driver = driver
        self.lock = lock
        self.stream = stream
        self.workspace = workspace
        self._modules: dict[str, Future[Any]] = {}

    def nothing(self) -> Enqueued:
        """Return a step without commands, for an op whose tensors are empty."""
        return self._enqueued(())

    def both(self, first: Enqueued, then: Enqueued) -> Enqueued:
        """Return one step that enqueues the commands of `first`, then the commands of `then`."""
        return self._enqueued((*first.parts, *then.parts))

    def joined(self, steps: Sequence[Enqueued]) -> Enqueued:
        """Return one step that replaces independent steps of the same `kind`, with as few launches
        as possible.
        """
        works = [part.work for step in steps for part in step.parts if part.work is not None]
        joined = self._enqueued([self._call(work) for work in join(works)])
        return joined.assigning(state for step in steps for state in step.assigned)

    # -- kinds of kernels

    def program(
        self,
        program: Program,
        sizes: Sequence[int],
        inputs: Sequence[Array],
        outputs: Sequence[Array],
        allocate: Allocate,
        error_flag: Callable[[str], int],
    ) -> Enqueued:
        """Bind a generated program to arrays.

        Args:
          error_flag: a function that receives a message and returns the address of its error flag.
        """
        scratch_spans: list[Span] = []

        def scratch(count: int, dtype: DType) -> int:
            array = allocate((count,), dtype)
            scratch_spans.append((array.address, array.nbytes))
            return array.address

        generated = launches(program, sizes, inputs, outputs, scratch, error_flag)
        reads = (*ranges(inputs), *scratch_spans)
        writes = (*ranges(outputs), *scratch_spans)
        return self._enqueued(
            [
                self._call(Work(generated.text, *launch, reads, writes, generated.parts))
                for launch in generated.launches
            ]
        )

    def moves(self, native: ViewCopies, signature: Signature, arrays: Sequence[Array]) -> Enqueued:
        """Bind the copies and fills of views that an op declares."""
        stand_ins = StandIns(arrays)
        return self._enqueued(
            [
                self._copy(copy)
                for source, target in native.views(signature, *stand_ins.arrays)
                for copy in copies(stand_ins, source, target)
            ]
        )

    def _copy(self, copy: Work | Copy) -> EnqueuedPart:
        if isinstance(copy, Work):
            return self._call(copy)
        target, source, size = copy
        touches = Touches(((source, size),), ((target, size),))
        return EnqueuedPart(partial(self.driver.copy, *copy, self.stream), touches)

    def products(
        self,
        native: MatrixProducts | MatmulWithEpilogue,
        signature: Signature,
        arrays: Sequence[Array],
        by_library: bool = False,
    ) -> Enqueued:
        """Bind an op's matrix products, with their epilogues.

        If possible, cublasLt computes a product with its epilogue. Otherwise, cublasLt computes the
        product and a kernel of gpugraph computes the epilogue. If cublasLt does not support the
        product at all, a kernel of gpugraph computes both.

        Args:
          by_library: whether to raise NotNativeError if cublasLt does not support the product.
        """
        stand_ins = StandIns(arrays)
        epilogue = Epilogue()
        if isinstance(native, MatmulWithEpilogue):
            epilogue = native.epilogue(signature, *stand_ins.arrays)
            native = native.products
        parts: list[EnqueuedPart] = []
        notes: list[str] = []
        tf32 = is_tf32(self.driver.properties.arch)
        for a, b, out in native.matrices(signature, *stand_ins.arrays):
            for choices in products(stand_ins, a, b, out, epilogue, tf32):
                parts += self._product(choices, notes, by_library)
        if by_library:
            notes.append("is a matrix product by cublasLt")
        return self._enqueued(parts, notes)

    def _product(
        self, choices: ProductLaunches, notes: list[str], by_library: bool
    ) -> list[EnqueuedPart]:
        product, whole, epilogue = choices
        call = self._by_cublaslt(product)
        after: list[EnqueuedPart] = []
        if call is None and epilogue is not None:
            call = self._by_cublaslt(product.plain())
            if call is not None:
                notes.append(
                    "ends in kernels/cuda/math/gemm.cu: cublasLt has only its plain product"
                )
                after = [self._call(epilogue)]
        if call is not None:
            if product.tf32:
                notes.append("is computed in TF32")
            return [call, *after]
        if by_library:
            raise NotNativeError("cublasLt does not support it")
        notes.append("is computed by kernels/cuda/math/gemm.cu: cublasLt does not support it")
        return [self._call(whole)]

    def _by_cublaslt(self, product: Product) -> EnqueuedPart | None:
        call = self.driver.product(product, self.workspace, self.stream)
        if call is None:
            return None
        reads, writes = product.spans()
        return EnqueuedPart(call, Touches(reads, (*writes, self.workspace)))

    def convolution(
        self, sums: WindowSums, signature: Signature, arrays: Sequence[Array], allocate: Allocate
    ) -> Enqueued | None:
        """Bind a convolution to cuDNN. Return None if cuDNN is not installed or does not support
        the convolution.
        """
        return library_convolution(self, sums, signature, arrays, allocate)

    def source(
        self,
        source: Source,
        signature: Signature,
        arrays: Sequence[Array],
        allocate: Allocate,
        error_flag: Callable[[str], int],
        stored: Callable[[State], Array],
    ) -> Enqueued:
        """Bind the handwritten kernels of a `Source`.

        Args:
          error_flag: a function that receives a message and returns the address of its error flag.
          stored: a function that returns the array of an op's state.
        """
        operands = _Operands(arrays, allocate, _ErrorFlags(error_flag), stored, {})
        launches = self._source_launches(source, signature)
        return self._enqueued(self._launches(source.file, launches, operands))

    def _source_launches(self, source: Source, signature: Signature) -> Sequence[Launch]:
        """Return the launches of a source on this GPU. They use tensor cores if the source and the
        GPU support them.
        """
        if source.tensor_cores and self.driver.properties.capability >= TENSOR_CORES:
            return source.tensor_cores(signature) or source.launches(signature)
        return source.launches(signature)

    def sized(
        self,
        kernel: Sized,
        signature: Signature,
        arrays: Sequence[Array],
        allocate: Allocate,
        error_flag: Callable[[str], int],
    ) -> Sizing:
        """Bind the launches of a `Sized` kernel that count the sizes of its outputs. The returned
        object can later bind the launches that compute the outputs.
        """
        operands = _Operands(arrays, allocate, _ErrorFlags(error_flag), _no_state, {})
        measure = self._enqueued(self._launches(kernel.file, kernel.measure(signature), operands))
        return Sizing(self, kernel, operands, measure)

    def _launches(
        self, file: str, launches: Sequence[Launch], operands: _Operands
    ) -> list[EnqueuedPart]:
        parts = []
        for launch in launches:
            if launch.shared_bytes > self.driver.properties.shared_bytes:
                raise NotNativeError(
                    f"it needs {launch.shared_bytes} bytes of shared memory; a block of this GPU "
                    f"has {self.driver.properties.shared_bytes}"
                )
            arguments, arrays = operands.words_of(launch)
            macros = type_macros(launch.types, {**launch.defines, **operands.alignments(launch)})
            source = f'{macros}#include "{launch.file or file}"\n'
            geometry = Geometry(launch.grid, launch.block, launch.shared_bytes)
            spans = ranges(arrays)
            work = Work(source, launch.function, geometry, tuple(arguments), spans, spans)
            parts.append(self._call(work))
        return parts

    # -- launching

    def _enqueued(self, parts: Sequence[EnqueuedPart], notes: Sequence[str] = ()) -> Enqueued:
        step = Enqueued(parts, self.lock, notes)
        if is_blocking():
            return Waiting(step, partial(self.driver.synchronize, self.stream))
        return step

    def _call(self, work: Work) -> EnqueuedPart:
        module = self._modules.get(work.text)
        if module is None:
            module = _compilers().submit(self.driver.compile, work.text, work.function)
            self._modules[work.text] = module
        call = Pending(self.driver, module, work, self.stream)
        return EnqueuedPart(call, Touches(work.reads, work.writes), work, call.prepare)


class _Operands(NamedTuple):
    """The objects to which the arguments of an op's launches refer: arrays, scratch memory, error
    flags and states.
    """

    arrays: Sequence[Array]
    allocate: Allocate
    error_flags: _ErrorFlags
    stored: Callable[[State], Array]
    scratch: dict[str, Array]

    def words_of(self, launch: Launch) -> tuple[list[int | float], list[Array]]:
        """Return the arguments of a launch as numbers and addresses, and the arrays among them."""
        words: list[int | float] = []
        arrays: list[Array] = []
        for argument in launch.arguments:
            if isinstance(argument, ErrorFlag):
                words.append(self.error_flags[argument])
            elif isinstance(argument, (Arg, Scratch, State)):
                arrays.append(self._array(argument))
                words.append(arrays[-1].address)
            else:
                words.append(argument)
        return words, arrays

    def alignments(self, launch: Launch) -> dict[str, int]:
        """Return macros with the alignments of a launch's arrays, by name."""
        return {
            name: int(self._array(array).address % num_bytes == 0)
            for name, (array, num_bytes) in launch.aligned.items()
        }

    def _array(self, argument: Arg | Scratch | State) -> Array:
        if isinstance(argument, Arg):
            return self.arrays[argument]
        if isinstance(argument, State):
            return self.stored(argument)
        if argument.name not in self.scratch:
            self.scratch[argument.name] = self.allocate((argument.size,), argument.dtype)
        return self.scratch[argument.name]


def _no_state(state: State) -> Array:
    raise NotNativeError("the state of an op whose sizes depend on values")


class Sizing:
    """A `Sized` kernel with its inputs. The caller calls `measure`, reads `numbers` on the host,
    and then calls the result of `fill`.
    """

    def __init__(
        self, launcher: Launcher, kernel: Sized, operands: _Operands, measure: Enqueued
    ) -> None:
        self.launcher = launcher
        self.kernel = kernel
        self.operands = operands
        self.measure = measure

    @property
    def numbers(self) -> Array | None:
        """The array to which the launches of `measure` write their counts, or None if there are no
        such launches.
        """
        return self.operands.scratch.get(SIZES)

    def fill(
        self,
        signature: Signature,
        numbers: Sequence[int],
        results: Sequence[Array],
        allocate: Allocate,
    ) -> Enqueued:
        """Bind the launches that compute the outputs `results`.

        Args:
          numbers: the counts from `measure`, on which the sizes of the outputs depend.
        """
        launches = self.kernel.fill(signature, numbers)
        arrays, scratch = [*self.operands.arrays, *results], dict(self.operands.scratch)
        operands = self.operands._replace(arrays=arrays, allocate=allocate, scratch=scratch)
        launcher = self.launcher
        return launcher._enqueued(launcher._launches(self.kernel.file, launches, operands))


class _ErrorFlags(dict[str, int]):
    """The addresses of the error flags of an op's kernels, by message. A flag is allocated when its
    message is first looked up.
    """

    def __init__(self, allocate: Callable[[str], int]) -> None:
        self.allocate = allocate

    def __missing__(self, message: str) -> int:
        return self.setdefault(message, self.allocate(str(message)))


def _compilers() -> ThreadPoolExecutor:
    """Return this process's thread pool, which compiles kernels in parallel."""
    return _compilers_of(os.getpid())  # a forked child does not have its parent's threads


@cache
def _compilers_of(process: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(min(16, os.cpu_count() or 1), "gpugraph-nvrtc")
