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

from gpugraph.devices.cuda.array import Array
from gpugraph.devices.cuda.driver import Driver, Geometry, Span, Stream
from gpugraph.devices.cuda.generated import launches
from gpugraph.devices.cuda.matrices import products
from gpugraph.devices.cuda.types import type_macros
from gpugraph.devices.cuda.views import Copy, StandIns, copies
from gpugraph.devices.cuda.work import Work, ranges
from gpugraph.devices.native import NotNativeError, Program
from gpugraph.dtypes import DType
from gpugraph.kernel import (
    SIZES,
    At,
    Failed,
    Launch,
    Moves,
    Products,
    Scratch,
    Signature,
    Sized,
    Source,
    State,
)

__all__ = ["Enqueued", "Launcher", "is_blocking"]

Take = Callable[[tuple[int, ...], DType], Array]
"""Gives scratch memory that lives as long as what is bound."""


class Enqueued:
    """Tells a stream what to do, call by call, unless another thread is just capturing it."""

    __slots__ = ("calls", "lock")

    def __init__(self, calls: Sequence[Callable[[], Any]], lock: Any) -> None:
        self.calls = tuple(calls)
        self.lock = lock

    def __call__(self) -> None:
        with self.lock:
            for call in self.calls:
                call()


class Waiting(Enqueued):
    """The same, and waits until it is done: what fails does so here, where its op is known."""

    __slots__ = ("wait",)

    def __init__(self, made: Enqueued, wait: Callable[[], Any]) -> None:
        super().__init__(made.calls, made.lock)
        self.wait = wait

    def __call__(self) -> None:
        with self.lock:
            super().__call__()
            self.wait()


def is_blocking() -> bool:
    """Whether each launch is waited for: CUDA's own switch, heeded here for captures too."""
    return os.environ.get("CUDA_LAUNCH_BLOCKING", "0") not in ("", "0")


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
        return self._enqueued((*first.calls, *then.calls))

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
        return self._enqueued(
            [
                self._call(
                    Work(made.text, each.function, each.geometry, each.arguments, reads, writes)
                )
                for each in made.launches
            ]
        )

    def moves(self, native: Moves, signature: Signature, arrays: Sequence[Array]) -> Enqueued:
        """What copies, and fills, views of arrays."""
        places = StandIns(arrays)
        calls = []
        for source, target in native.views(signature, *places.arrays):
            calls += [self._copy(each) for each in copies(places, source, target)]
        return self._enqueued(calls)

    def _copy(self, made: Work | Copy) -> Callable[[], Any]:
        if isinstance(made, Work):
            return self._call(made)
        return partial(self.driver.copy, *made, self.stream)

    def products(self, native: Products, signature: Signature, arrays: Sequence[Array]) -> Enqueued:
        """What multiplies matrices: by the vendor's library, or by a kernel of ours."""
        places = StandIns(arrays)
        calls = []
        for a, b, out in native.matrices(signature, *places.arrays):
            for product, work in products(places, a, b, out):
                call = self.driver.product(product, self.workspace, self.stream)
                if call is None:
                    if work is None:
                        raise NotNativeError("more rows or products than a launch of ours has")
                    call = self._call(work)
                calls.append(call)
        return self._enqueued(calls)

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
        return self._enqueued(self._launches(source.file, source.launches(signature), given))

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

    def _launches(
        self, file: str, launches: Sequence[Launch], given: _Given
    ) -> list[Callable[[], Any]]:
        calls = []
        for launch in launches:
            if launch.shared_bytes > self.driver.properties.shared_bytes:
                raise NotNativeError(
                    f"it needs {launch.shared_bytes} bytes of shared memory, of which this GPU "
                    f"gives a block {self.driver.properties.shared_bytes}"
                )
            arguments, touched = given.words_of(launch)
            macros = type_macros(launch.types, launch.defines)
            everywhere = ranges(touched)
            calls.append(
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
        return calls

    # -- launching

    def _enqueued(self, calls: Sequence[Callable[[], Any]]) -> Enqueued:
        made = Enqueued(calls, self.lock)
        if is_blocking():
            return Waiting(made, partial(self.driver.synchronize, self.stream))
        return made

    def _call(self, work: Work) -> Callable[[], None]:
        module = self._modules.get(work.text)
        if module is None:
            module = _compilers().submit(self.driver.compile, work.text, work.function)
            self._modules[work.text] = module
        return Pending(self.driver, module, work, self.stream)


class Pending:
    """A launch of a kernel that is being compiled, while others are: its first call waits."""

    __slots__ = ("call", "driver", "module", "stream", "work")

    def __init__(self, driver: Driver, module: Future[Any], work: Work, stream: Stream) -> None:
        self.driver, self.module, self.work, self.stream = driver, module, work, stream
        self.call: Callable[[], None] | None = None

    def __call__(self) -> None:
        call = self.call
        if call is None:
            _, function, geometry, arguments, reads, writes = self.work
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
            if isinstance(each, Failed):
                arguments.append(self.words[each])
            elif isinstance(each, (At, Scratch, State)):
                touched.append(self._array(each))
                arguments.append(touched[-1].address)
            else:
                arguments.append(each)
        return arguments, touched

    def _array(self, each: At | Scratch | State) -> Array:
        if isinstance(each, At):
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
