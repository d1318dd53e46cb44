"""Kernels as data: what computes an op, said without saying where or how it is launched.

    Call         a Python function over arrays that writes its outputs
    Elementwise  a C expression of x, y, z (inputs) that gives one output element
    Reduction    a C expression that combines two elements, with its start and its finish
    Source       launches of functions in one of the CUDA files of `kernels/`
    Sized        the same where sizes depend on values: launches that find them, then launches
                 that fill what has them

Beside its kernels an op may declare what its native code is generated from (`Native`): expressions
and reductions that fuse with those of other ops (`Decomposition`), matrix products
(`MatrixProducts`), copies between views (`ViewCopies`), or a C function (`CSource`); and the
epilogue of its matrix products on GPUs (`MatmulWithEpilogue`).

A device turns a kernel into a callable when a plan is bound. Every kernel that is text carries
the `Call` that says the same in NumPy: host devices (virtual GPUs too) run that one, and tests
hold the text against it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from gpugraph.base.dtypes import DType
from gpugraph.kernel.bfloat16_rounding import bind_widened, has_bfloat16


class Signature(Protocol):
    """What is known of an op before it has arrays: sizes, attrs, and the host inputs' values."""

    @property
    def name(self) -> str:
        """The node's name."""

    @property
    def attrs(self) -> Mapping[str, Any]: ...

    @property
    def input_shapes(self) -> Sequence[tuple[int, ...]]: ...

    @property
    def output_shapes(self) -> Sequence[tuple[int, ...]]: ...

    @property
    def input_types(self) -> Sequence[DType]: ...

    @property
    def output_types(self) -> Sequence[DType]: ...

    def value(self, index: int) -> Any:
        """The array of host input `index`."""


class KernelContext(Signature, Protocol):
    """What a kernel may know when it is bound."""

    @property
    def on_host(self) -> frozenset[int]:
        """Which of the arrays lie in host memory whatever the device (those of `late` kernels)."""

    def scratch(self, shape: tuple[int, ...], dtype: DType) -> Any:
        """An array of the device that is this step's own."""

    def passing(self, slot: int, shape: tuple[int, ...], dtype: DType) -> Any:
        """Array `slot`, which is this step's own while it runs: steps share the memory."""

    def state(self, make: Callable[[], Any]) -> Any:
        """This node's state in the session, made at first use; plans of a session share it."""

    def variable(self, index: int) -> Any:
        """The record of the variable that ref input `index` names."""

    def allocate(self, shape: tuple[int, ...], dtype: DType) -> Any:
        """A block of the device's memory, taken during a run: its `array`, and `release()`."""

    def own(self, container: Any) -> None:
        """Says that `container.release()` is to be called when the plan goes."""

    def keep(self, container: Any) -> None:
        """Says, during a run, that `container.release()` is to be called when the run is over."""


class Call(NamedTuple):
    """A Python function that writes the outputs, given as one of two forms.

    `function(*inputs, *outputs)` is called at each run. `make(context, *inputs, *outputs)` is
    called when the arrays are bound, and returns what is called, with nothing, at each run: all
    that follows from sizes and attrs is done once. Host inputs are in neither: they are read by
    `context.value`. With `late`, host inputs are given as arrays too (in host memory), since
    their values come during a run: the index of an element, the handle of a TensorArray. With
    `dynamic`, the outputs' sizes depend on the inputs' values: no outputs are given, the call
    returns them.

    bfloat16 is given as float32, and what is written rounded (see `widening`), inputs `writes`
    too; arrays as they are to those that are `direct`. `op` sets both for an op's own kernels:
    what takes strings, too, only moves elements, and is direct.
    """

    function: Callable[..., Any] | None = None
    make: Callable[..., Callable[[], Any]] | None = None
    dynamic: bool = False
    late: bool = False
    direct: bool = False
    writes: tuple[int, ...] = ()

    def bind(self, context: KernelContext, arrays: Sequence[Any]) -> Callable[[], Any]:
        """What to call at each run, for these inputs and outputs."""
        if not self.direct and has_bfloat16(context):
            return bind_widened(self._bind, context, arrays, self.writes, self.dynamic)
        return self._bind(context, arrays)

    def _bind(self, context: KernelContext, arrays: Sequence[Any]) -> Callable[[], Any]:
        if self.make is not None:
            return self.make(context, *arrays)
        assert self.function is not None
        return partial(self.function, *arrays)


class Elementwise(NamedTuple):
    """One output element as a C expression: inputs are `x`, `y`, `z`, their type is `T`."""

    expression: str
    host: Call


class Reduction(NamedTuple):
    """`combine` of `a` and `b` from `start`, each element first mapped, the result finished.

    `map` is an expression of `x`, `finish` one of `a` and the count `n`.
    """

    start: str
    combine: str
    host: Call
    map: str = "x"
    finish: str = "a"


class Arg(int):
    """Which array an argument of a launch is: inputs but those on the host, then outputs."""


class Scratch(NamedTuple):
    """Memory for so many elements, as an argument of launches; the same `name`, the same memory."""

    name: str
    size: int
    dtype: DType


class ErrorFlag(str):
    """Where, as an argument of a launch (`int *`), a kernel writes 1 when it meets what this says:
    the run then ends in InvalidArgumentError."""


class DeviceState(Protocol):
    """Numbers in a device's memory, where kernels change them."""

    @property
    def array(self) -> Any: ...

    def read(self) -> Any:
        """What they are now, once the device has done what it was told."""

    def write(self, value: Any) -> None: ...


class MovableState(Protocol):
    """A state of numbers, which may be in a device's memory instead of the host's."""

    def move(self, device: str, put: Callable[[Any], DeviceState]) -> DeviceState:
        """Where they are on this device: moved there by `put`, if they were on the host.
        NotImplementedError, with the reason, where they are another device's."""


class State(NamedTuple):
    """The op's state in the session (see `KernelContext.state`), as an argument of launches: all
    plans that run the op go on with the same numbers, captured or not."""

    make: Callable[[], MovableState]


class Launch(NamedTuple):
    """One launch of a CUDA function: `grid` blocks of `block` threads each.

    arguments: arrays (`Arg`, `Scratch`, `State`), `ErrorFlag`, 64-bit integers, doubles.
    types: macros that stand for element types: of `T` the text gets T (in memory), T_VALUE (what
    is computed with), T_LOAD(x), T_STORE(x). defines: other macros. file: another one than that
    of the source.
    """

    function: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    arguments: Sequence[Arg | Scratch | State | ErrorFlag | int | float]
    types: Mapping[str, DType] = MappingProxyType({})
    defines: Mapping[str, str | int] = MappingProxyType({})
    shared_bytes: int = 0
    file: str = ""


class Source(NamedTuple):
    """Functions of the CUDA file `kernels/<file>`: `launches(signature)` says what is launched, in
    order. It raises NotImplementedError, with the reason, for attrs, dtypes or shapes that the file
    has no function for: then the `host` Call runs, on copies in host memory. `optional`: arrays
    (as in `Arg`) that may be empty; where others are, the host runs, too. `tensor_cores`: the same
    on GPUs whose tensor cores tensor_core_mma.cuh knows; no launches where they lack the dtype."""

    file: str
    launches: Callable[[Signature], Sequence[Launch]]
    host: Call
    optional: Sequence[int] = ()
    tensor_cores: Callable[[Signature], Sequence[Launch]] | None = None


SIZES = "sizes"
"""The name of the scratch memory in which a `Sized` kernel's launches leave what they counted."""


class Sized(NamedTuple):
    """Functions of the CUDA file `kernels/<file>` for outputs whose sizes depend on values.

    `measure(signature)`: what is launched first. The host waits for the numbers (a list) that it
    leaves in the scratch memory `SIZES`, none where nothing is launched; what the launches refuse
    is raised then. `shapes(signature, numbers)` are the outputs', `fill(signature, numbers)` says
    what is launched over them, with the scratch memory of the first launches as they left it.
    Inputs may be empty. All three raise NotImplementedError, with the reason, where `host`, which
    is dynamic, is to run on copies in host memory. types: what the attr `T` may be,
    if there is one, known before. known: the numbers that follow from the outputs' shapes where
    the plan knows these, so that nobody waits; None where they don't.
    """

    file: str
    measure: Callable[[Signature], Sequence[Launch]]
    shapes: Callable[[Signature, Sequence[int]], Sequence[tuple[int, ...]]]
    fill: Callable[[Signature, Sequence[int]], Sequence[Launch]]
    host: Call
    types: Collection[DType]
    known: Callable[[Signature], Sequence[int]] | None = None


Kernel = Call | Elementwise | Reduction | Source | Sized


class Builder(Protocol):
    """Takes down what is computed, value by value; each is known by the number that made it."""

    def constant(self, value: Any, dtype: DType) -> int:
        """A number that becomes part of the text."""

    def index(self, size: int, dtype: DType) -> int:
        """The vector 0, 1, ... size - 1: where each element is along the last axis."""

    def apply(
        self,
        kernel: Elementwise | str,
        inputs: Sequence[int],
        dtype: DType,
        type: DType | None = None,
        fails: tuple[str, str] = ("", ""),
    ) -> int:
        """An elementwise text of values, which broadcast; `type` is its T, by default that of the
        last input. `fails`: a text of the same that, where it holds, fails the whole run with
        InvalidArgumentError, and what that says."""

    def reduce(self, kernel: Reduction, value: int, axes: Sequence[int] | None = None) -> int:
        """A reduction over axes of a value, which stay with size 1; over all by default."""

    def expand(self, value: int, shape: Sequence[int]) -> int:
        """The value as one of this shape, which has further axes of size 1."""

    def shape(self, value: int) -> tuple[int, ...]:
        """A value's shape."""

    def dtype(self, value: int) -> DType:
        """A value's dtype."""


class Decomposition(NamedTuple):
    """An op said in texts.

    `build(builder, signature, inputs)` gives the values of the op's outputs; of an op that writes
    variables those of the inputs it writes, in the order of the inputs. `inputs` has the values of
    all inputs but those on the host, which the signature knows. A value's shape may differ from its
    output's by axes of size 1. Raises NotImplementedError, with the reason, for attrs or shapes
    that it has no texts for.
    """

    build: Callable[[Builder, Signature, Sequence[int]], Sequence[int]]


class ViewCopies(NamedTuple):
    """An op that only copies: `views(signature, *inputs, *outputs)` gives pairs of NumPy arrays,
    views of these or numbers of the same dtype, each of which is copied (and broadcast) to the
    second of its pair, in turn. Host inputs are not given, as in a `Call`."""

    views: Callable[..., Sequence[tuple[Any, Any]]]


class MatrixProducts(NamedTuple):
    """An op that is matrix products: `matrices(signature, *inputs, *outputs)` gives triples
    (a, b, out) of views of these with equal leading axes: out = a @ b."""

    matrices: Callable[..., Sequence[tuple[Any, Any, Any]]]


class Epilogue(NamedTuple):
    """What is done to a matrix product before it goes to memory: + bias, a vector along its last
    axis, + addend, of the product's shape, then, with `relu`, what is negative becomes 0."""

    bias: Any = None
    addend: Any = None
    relu: bool = False


class MatmulWithEpilogue(NamedTuple):
    """An op that is one `MatrixProducts` triple with an `Epilogue`, on GPUs with kernels of their
    own: `finish(signature, *inputs, *outputs)` returns the epilogue, as views of the arrays."""

    products: MatrixProducts
    epilogue: Callable[..., Epilogue]


class CSource(NamedTuple):
    """The C function `function` of the file `kernels/<file>`, given the arrays' addresses and the
    integers that `parameters(signature)` gives. It raises NotImplementedError, with the reason,
    for attrs or shapes that the function does not do."""

    file: str
    function: str
    parameters: Callable[[Signature], Sequence[int]]


Native = Decomposition | ViewCopies | MatrixProducts | MatmulWithEpilogue | CSource


def with_reference(kernel: Kernel, change: Callable[[Call], Call]) -> Kernel:
    """A kernel with its NumPy `Call` changed."""
    if isinstance(kernel, Call):
        return change(kernel)
    return kernel._replace(host=change(kernel.host))


def reference(kernel: Kernel) -> Call:
    """The NumPy `Call` that says the same."""
    return kernel if isinstance(kernel, Call) else kernel.host


def note_op(error: BaseException, name: str, origin: Any) -> None:
    """Notes on an error which op of several that run as one raised it, and where that was made."""
    error.__dict__.setdefault("_raised_in", (name, origin))


def noted_op(error: BaseException) -> tuple[str, Any] | None:
    """What `note_op` noted."""
    return error.__dict__.get("_raised_in")
