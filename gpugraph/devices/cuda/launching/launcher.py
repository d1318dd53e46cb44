"""What runs on a GPU's stream when called: programs, copies of views, products, sources.

`Launcher` binds them to arrays. What it returns is an `Enqueued`: calling it only tells the stream
what to do, without waiting and without memory being taken, so that it can be captured.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache, partial
from typing import Any, NamedTuple

from gpugraph.base.dtypes import DType
from gpugraph.devices.cuda.driver.driver_interface import Driver, Geometry, Product, Span, Stream
from gpugraph.devices.cuda.launching.enqueued_work import Enqueued, Part, Waiting, is_blocking
from gpugraph.devices.cuda.launching.generated_kernels import launches
from gpugraph.devices.cuda.launching.joined_launches import join
from gpugraph.devices.cuda.launching.matrix_products import Multiplied, products
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
)

TENSOR_CORES = 80
"""The least compute capability, times 10, of what kernels/cuda/shared/tensor_core_mma.cuh says."""

Take = Callable[[tuple[int, ...], DType], Array]
"""Gives scratch memory that lives as long as what is bound."""


class Launcher:
    """Binds kernels to arrays of one GPU."""

    def __init__(self, driver: Driver, stream: Stream, workspace: Span, lock: Any) -> None:
        """lock: held by whoever tells the stream something, or captures it."""
        self.driver = driver
        self.lock = lock
        self.stream = stream
        self.workspace = workspace
        self._modules: dict[str, Future[Any]] = {}

    def nothing(self) -> Enqueued:
        """What does nothing: of tensors without elements."""
        return self._enqueued(())

    def both(self, first: Enqueued, then: Enqueued) -> Enqueued:
        """One after the other, as one."""
        return self._enqueued((*first.parts, *then.parts))

    def joined(self, steps: Sequence[Enqueued]) -> Enqueued:
        """What does the same as these, which are of one kind and independent of each other, in as
        few launches as their table takes."""
        works = [part.work for step in steps for part in step.parts if part.work is not None]
        made = self._enqueued([self._call(work) for work in join(works)])
        return made.assigning(state for step in steps for state in step.assigned)

    # -- kinds of kernels

    def program(
        self,
        program: Program,
        sizes: Sequence[int],
        inputs: Sequence[Array],
        outputs: Sequence[Array],
        take: Take,
        refused: Callable[[str], int],
    ) -> Enqueued:
        """What computes a program. refused: the address of a word to set, for what that says."""
        owned: list[Span] = []

        def scratch(count: int, dtype: DType) -> int:
            made = take((count,), dtype)
            owned.append((made.address, made.nbytes))
            return made.address

        made = launches(program, sizes, inputs, outputs, scratch, refused)
        writes = (*ranges(outputs), *owned)
        reads = (*ranges(inputs), *owned)
        parts = made.parts
        return self._enqueued(
            [self._call(Work(made.text, *each, reads, writes, parts)) for each in made.launches]
        )

    def moves(self, native: ViewCopies, signature: Signature, arrays: Sequence[Array]) -> Enqueued:
        """What copies, and fills, views of arrays."""
        places = StandIns(arrays)
        parts = []
        for source, target in native.views(signature, *places.arrays):
            parts += [self._copy(each) for each in copies(places, source, target)]
        return self._enqueued(parts)

    def _copy(self, made: Work | Copy) -> Part:
        if isinstance(made, Work):
            return self._call(made)
        target, source, size = made
        touches = Touches(((source, size),), ((target, size),))
        return Part(partial(self.driver.copy, *made, self.stream), touches)

    def products(
        self,
        native: MatrixProducts | MatmulWithEpilogue,
        signature: Signature,
        arrays: Sequence[Array],
    ) -> Enqueued:
        """What multiplies matrices, and does what follows: by the vendor's library, with a kernel
        of ours after it, or by one of ours alone."""
        places = StandIns(arrays)
        finish = Epilogue()
        if isinstance(native, MatmulWithEpilogue):
            finish = native.epilogue(signature, *places.arrays)
            native = native.products
        parts: list[Part] = []
        notes: list[str] = []
        tf32 = is_tf32(self.driver.properties.arch)
        for a, b, out in native.matrices(signature, *places.arrays):
            for each in products(places, a, b, out, finish, tf32):
                parts += self._multiplied(each, notes)
        return self._enqueued(parts, notes)

    def _multiplied(self, wanted: Multiplied, notes: list[str]) -> list[Part]:
        product, own, finish = wanted
        call = self._by_library(product)
        finishing: list[Part] = []
        if call is None and finish is not None:
            call = self._by_library(product.plain())
            if call is not None:
                notes.append(
                    "ends in kernels/cuda/math/gemm.cu: cublasLt has nothing but its plain product"
                )
                finishing = [self._call(finish)]
        if call is not None:
            if product.tf32:
                notes.append("is computed in TF32")
            return [call, *finishing]
        if own is None:
            raise NotNativeError("more rows or products than a launch of ours has")
        notes.append("is computed by kernels/cuda/math/gemm.cu: cublasLt has nothing for it")
        return [self._call(own)]

    def _by_library(self, product: Product) -> Part | None:
        call = self.driver.product(product, self.workspace, self.stream)
        if call is None:
            return None
        reads, writes = product.spans()
        return Part(call, Touches(reads, (*writes, self.workspace)))

    def source(
        self,
        source: Source,
        signature: Signature,
        arrays: Sequence[Array],
        take: Take,
        refused: Callable[[str], int],
        stored: Callable[[State], Array],
    ) -> Enqueued:
        """What launches functions of a file. refused: as for a program; stored: where a state of
        the op is."""
        given = _Given(arrays, take, _Words(refused), stored, {})
        chosen = self._chosen(source, signature)
        return self._enqueued(self._launches(source.file, chosen, given))

    def _chosen(self, source: Source, signature: Signature) -> Sequence[Launch]:
        """The launches of this GPU: by tensor cores where it and the file have such."""
        if source.tensor_cores and self.driver.properties.capability >= TENSOR_CORES:
            return source.tensor_cores(signature) or source.launches(signature)
        return source.launches(signature)

    def sized(
        self,
        kernel: Sized,
        signature: Signature,
        arrays: Sequence[Array],
        take: Take,
        refused: Callable[[str], int],
    ) -> Sizing:
        """The launches that find the sizes of what is made of these inputs, and then the others."""
        given = _Given(arrays, take, _Words(refused), _no_state, {})
        measure = self._enqueued(self._launches(kernel.file, kernel.measure(signature), given))
        return Sizing(self, kernel, given, measure)

    def _launches(self, file: str, launches: Sequence[Launch], given: _Given) -> list[Part]:
        parts = []
        for launch in launches:
            if launch.shared_bytes > self.driver.properties.shared_bytes:
                raise NotNativeError(
                    f"it needs {launch.shared_bytes} bytes of shared memory, of which this GPU "
                    f"gives a block {self.driver.properties.shared_bytes}"
                )
            arguments, touched = given.words_of(launch)
            macros = type_macros(launch.types, launch.defines)
            everywhere = ranges(touched)
            parts.append(
                self._call(
                    Work(
                        f'{macros}#include "{launch.file or file}"\n',
                        launch.function,
                        Geometry(launch.grid, launch.block, launch.shared_bytes),
                        tuple(arguments),
                        everywhere,
                        everywhere,
                    )
                )
            )
        return parts

    # -- launching

    def _enqueued(self, parts: Sequence[Part], notes: Sequence[str] = ()) -> Enqueued:
        made = Enqueued(parts, self.lock, notes)
        if is_blocking():
            return Waiting(made, partial(self.driver.synchronize, self.stream))
        return made

    def _call(self, work: Work) -> Part:
        module = self._modules.get(work.text)
        if module is None:
            module = _compilers().submit(self.driver.compile, work.text, work.function)
            self._modules[work.text] = module
        call = Pending(self.driver, module, work, self.stream)
        return Part(call, Touches(work.reads, work.writes), work)


class Pending:
    """A launch of a kernel that is being compiled, while others are: its first call waits."""

    __slots__ = ("call", "driver", "module", "stream", "work")

    def __init__(self, driver: Driver, module: Future[Any], work: Work, stream: Stream) -> None:
        self.driver, self.module, self.work, self.stream = driver, module, work, stream
        self.call: Callable[[], None] | None = None

    def __call__(self) -> None:
        call = self.call
        if call is None:
            _, function, geometry, arguments, reads, writes, _ = self.work
            module = self.module.result()
            call = self.call = self.driver.launcher(
                module, function, geometry, arguments, self.stream, reads, writes
            )
        call()


class _Given(NamedTuple):
    """What the launches of one op are given: arrays, memory of their own, words, states."""

    arrays: Sequence[Array]
    take: Take
    words: _Words
    stored: Callable[[State], Array]
    scratch: dict[str, Array]

    def words_of(self, launch: Launch) -> tuple[list[int | float], list[Array]]:
        """Its arguments as numbers, and the arrays among them."""
        arguments: list[int | float] = []
        touched: list[Array] = []
        for each in launch.arguments:
            if isinstance(each, ErrorFlag):
                arguments.append(self.words[each])
            elif isinstance(each, (Arg, Scratch, State)):
                touched.append(self._array(each))
                arguments.append(touched[-1].address)
            else:
                arguments.append(each)
        return arguments, touched

    def _array(self, each: Arg | Scratch | State) -> Array:
        if isinstance(each, Arg):
            return self.arrays[each]
        if isinstance(each, State):
            return self.stored(each)
        if each.name not in self.scratch:
            self.scratch[each.name] = self.take((each.size,), each.dtype)
        return self.scratch[each.name]


def _no_state(state: State) -> Array:
    raise NotNativeError("the state of an op whose sizes depend on values")


class Sizing:
    """A `Sized` kernel over inputs: `measure()`, then `numbers`, then `fill(...)()`."""

    def __init__(self, launcher: Launcher, kernel: Sized, given: _Given, measure: Enqueued) -> None:
        self.launcher = launcher
        self.kernel = kernel
        self.given = given
        self.measure = measure

    @property
    def numbers(self) -> Array | None:
        """Where `measure` leaves the numbers; None where it launches nothing."""
        return self.given.scratch.get(SIZES)

    def fill(
        self, signature: Signature, numbers: Sequence[int], results: Sequence[Array], take: Take
    ) -> Enqueued:
        """What fills outputs that have the sizes which the numbers say."""
        launches = self.kernel.fill(signature, numbers)
        given = self.given._replace(
            arrays=[*self.given.arrays, *results], take=take, scratch=dict(self.given.scratch)
        )
        launcher = self.launcher
        return launcher._enqueued(launcher._launches(self.kernel.file, launches, given))


class _Words(dict[str, int]):
    """The address of the word of each thing that an op's kernels refuse, made once."""

    def __init__(self, make: Callable[[str], int]) -> None:
        self.make = make

    def __missing__(self, said: str) -> int:
        made = self[said] = self.make(str(said))
        return made


def _compilers() -> ThreadPoolExecutor:
    """This process's threads in which kernels are compiled, side by side."""
    return _compilers_of(os.getpid())  # a fork has no threads of its parent's


@cache
def _compilers_of(process: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(min(16, os.cpu_count() or 1), "gpugraph-nvrtc")
