"""Kernels as data: the computation of an op on one device type.

    Call         a Python function over NumPy arrays that writes its outputs
    Elementwise  a C expression of x, y, z (the inputs) for one output element
    Reduction    a C expression that combines two elements, with an initial value and a last step
    Source       launches of functions in a CUDA file of `kernels/`
    Sized        such launches for outputs whose sizes depend on values: first launches that count
                 the sizes, then launches that compute the outputs

A device binds a kernel to its arrays, which gives the callable of a step (`Device.bind`). Every
kernel in C or CUDA C has a reference: a `Call` that computes the same with NumPy. Host devices run
the reference, and tests compare the kernel with the reference. The declarations for native code,
which fuses several ops, are in `native_forms`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any, NamedTuple

from gpugraph.base.dtypes import DType
from gpugraph.kernel.bfloat16_rounding import bind_widened, has_bfloat16
from gpugraph.kernel.launch_records import Launch, WindowSums
from gpugraph.kernel.signature_and_context import KernelContext, Signature


class Call(NamedTuple):
    """A NumPy kernel: a Python function that writes the outputs, in one of two forms.

    `function(*inputs, *outputs)` is called in each run. `make(context, *inputs, *outputs)` is
    called once, when the arrays are bound. It returns a callable without arguments, which each run
    calls. So everything that follows from sizes and attrs is computed once.

    Host inputs (whose values are known when the kernel is bound) are not among the arguments:
    `context.value` reads them. The flags:

    `op` sets `direct` and `writes` for the kernels of a declaration.

    Args:
      dynamic: the outputs' sizes depend on the inputs' values; the call returns the outputs, which
        are not among its arguments.
      late: host inputs are arguments, as arrays in host memory, because their values are computed
        during a run (the index of an element, the handle of a TensorArray).
      waits: the call may wait for other runs, or forever, since it calls user functions; other runs
        may use the run's variables meanwhile. Such a kernel is dynamic; its inputs are copies, and
        several such kernels of a run may be called at the same time.
      gives_up: a kernel with `waits` that itself checks whether its run must end (`check_run`), as
        ops on queues do. The run need not call it in a separate thread that can be abandoned.
      direct: the arguments are the arrays themselves, for kernels that only move elements.
        Otherwise arrays of bfloat16 are passed as float32; outputs, and the inputs numbered in
        `writes`, are rounded after the call (`bfloat16_rounding`).
      by_lapack: the call factors the matrices of its arguments by LAPACK.
    """

    function: Callable[..., Any] | None = None
    make: Callable[..., Callable[[], Any]] | None = None
    dynamic: bool = False
    late: bool = False
    waits: bool = False
    gives_up: bool = False
    direct: bool = False
    writes: tuple[int, ...] = ()
    by_lapack: bool = False

    def bind(self, context: KernelContext, arrays: Sequence[Any]) -> Callable[[], Any]:
        """Bind the arrays (inputs, then outputs), and return the callable that each run calls."""
        if not self.direct and has_bfloat16(context):
            return bind_widened(self._bind, context, arrays, self.writes, self.dynamic)
        return self._bind(context, arrays)

    def is_plain(self, signature: Signature) -> bool:
        """Return whether `bind` only passes the arrays to `function`, without conversions."""
        return self.make is None and (self.direct or not has_bfloat16(signature))

    def _bind(self, context: KernelContext, arrays: Sequence[Any]) -> Callable[[], Any]:
        if self.make is not None:
            return self.make(context, *arrays)
        assert self.function is not None
        return partial(self.function, *arrays)


class Elementwise(NamedTuple):
    """A C expression for one output element. The inputs are `x`, `y` and `z`, with the type `T`.

    `(U)` converts to the output's type. float16 is computed in float32 and rounded at the end.
    `rounded(...)` in the expression marks where the NumPy kernel rounds to float16, so that the
    results are equal.
    """

    expression: str
    host: Call


class Reduction(NamedTuple):
    """A reduction: the C expression `combine` combines `a`, the result so far, with the element
    `b`. The first `a` is `start`.

    Args:
      map: an expression of `x`, which is applied to each element before it is combined.
      finish: an expression of the result `a` and the number of elements `n`, which is applied at
        the end.
    """

    start: str
    combine: str
    host: Call
    map: str = "x"
    finish: str = "a"


class Source(NamedTuple):
    """Launches of functions in the CUDA file `kernels/<file>`.

    launches(signature): returns the launches, in order. If the file has no function for the attrs,
    dtypes or shapes, it raises NotImplementedError with the reason; then `host` runs on copies in
    host memory.

    Args:
      optional: indices of arrays (as in `Arg`) that may be empty; if another array is empty, `host`
        runs. tensor_cores(signature): the launches for GPUs with the tensor cores that
        tensor_core_mma.cuh uses; an empty sequence if tensor cores don't support the dtype.
        product(signature): the op as one matrix product, a `MatmulWithEpilogue`, which is preferred
        to the launches if the GPU's library computes it; None if the op is none. sums(signature):
        the op as a convolution, which is preferred to the launches if a library computes it; None
        if the op is none.
    """

    file: str
    launches: Callable[[Signature], Sequence[Launch]]
    host: Call
    optional: Sequence[int] = ()
    tensor_cores: Callable[[Signature], Sequence[Launch]] | None = None
    product: Callable[[Signature], Any] | None = None
    sums: Callable[[Signature], WindowSums | None] | None = None


class Sized(NamedTuple):
    """Launches of functions in a CUDA file, for outputs whose sizes depend on the inputs' values.

    measure(signature): the launches that come first. They write counts to the scratch memory
    `SIZES`; without launches there are no counts. The host waits until they have ended, and raises
    an error if an error flag is set. shapes(signature, numbers): the outputs' shapes, given the
    counts `numbers`. fill(signature, numbers): the launches that compute the outputs. These
    launches can still read the scratch memory of `measure`.

    Inputs may be empty. Each function may raise NotImplementedError, with the reason; then `host`,
    a dynamic `Call`, runs on copies in host memory instead.

    Args:
      types: the possible dtypes of the attr `T`, if the op has one. known(signature): the counts if
        the outputs' shapes are static, so that the host need not wait. It is None for an op whose
        counts do not follow from the shapes.
    """

    file: str
    measure: Callable[[Signature], Sequence[Launch]]
    shapes: Callable[[Signature, Sequence[int]], Sequence[tuple[int, ...]]]
    fill: Callable[[Signature, Sequence[int]], Sequence[Launch]]
    host: Call
    types: Collection[DType]
    known: Callable[[Signature], Sequence[int]] | None = None


Kernel = Call | Elementwise | Reduction | Source | Sized


def with_reference(kernel: Kernel, change: Callable[[Call], Call]) -> Kernel:
    """Return the kernel with its NumPy `Call` replaced by the result of `change` for that
    `Call`.
    """
    if isinstance(kernel, Call):
        return change(kernel)
    return kernel._replace(host=change(kernel.host))


def reference(kernel: Kernel) -> Call:
    """Return the NumPy `Call` that computes the same as the kernel."""
    return kernel if isinstance(kernel, Call) else kernel.host
