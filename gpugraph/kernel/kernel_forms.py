"""Kernels as data: the computation of an op on one device type.

    Call         a Python function over NumPy arrays that writes its outputs
    Elementwise  a C expression of x, y, z (the inputs) for one output element
    Reduction    a C expression that combines two elements, with an initial value and a last step
    Source       launches of functions in a CUDA file of `kernels/`
    Sized        launches of such functions, for outputs whose sizes depend on values: the first
                 launches count the sizes, the other launches compute the outputs

A device binds a kernel to its arrays, which gives the callable of a step (`Device.bind`). Every
kernel in C or CUDA C has a reference: a `Call` that computes the same results with NumPy. Host
devices run the reference, and tests compare the kernel with the reference. The declarations for
native code, which fuses several ops, are in `native_forms`.
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
    called once, when the arrays are bound. `make` returns a callable without arguments, which each
    run calls. So everything that follows from sizes and attrs is computed once.

    Host inputs (whose values are known when the kernel is bound) are not among the arguments.
    `context.value` returns them. `op`, the function that declares an op, sets `direct` and
    `writes`.

    Args:
      dynamic: whether the sizes of the outputs depend on the values of the inputs. The call then
        returns the outputs, which are not among its arguments.
      late: whether host inputs are passed as arguments, as arrays in host memory, because their
        values are computed during a run (the index of an element, the handle of a TensorArray).
      waits: whether the call may wait for other runs, or forever, since it calls user functions.
        During the wait, other runs may use the variables of its run. Such a kernel must be dynamic.
        The inputs of such a kernel are copies, and several such kernels of a run may be called at
        the same time.
      gives_up: whether a kernel with `waits` itself checks if its run must end (`check_run`), as
        ops on queues do. If the kernel checks this, it need not be called in a separate thread that
        can be abandoned.
      direct: whether the call receives arrays of bfloat16 as they are, for kernels that only move
        elements. Otherwise the call receives such arrays as float32. Outputs, and the inputs with
        the indices in `writes`, are then rounded after the call (`bfloat16_rounding`).
      by_lapack: whether the call factors matrices with LAPACK.
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
        """Return whether `bind` passes the arrays to `function` without conversions."""
        return self.make is None and (self.direct or not has_bfloat16(signature))

    def _bind(self, context: KernelContext, arrays: Sequence[Any]) -> Callable[[], Any]:
        if self.make is not None:
            return self.make(context, *arrays)
        assert self.function is not None
        return partial(self.function, *arrays)


class Elementwise(NamedTuple):
    """A C expression for one output element. The inputs are `x`, `y` and `z`, of the C type `T`.

    `(U)` converts to the output's type. float16 is computed in float32 and rounded at the end.
    `rounded(...)` in the expression marks the places where the NumPy kernel rounds to float16. So
    the C kernel and the NumPy kernel have equal results.
    """

    expression: str
    host: Call


class Reduction(NamedTuple):
    """A reduction by the C expression `combine`, which combines the result so far, `a`, with the
    next element `b`. The first `a` is `start`.

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

    Args:
      launches: `launches(signature)` returns the launches, in order. If the file has no function
        for the attrs, dtypes or shapes, `launches` raises NotImplementedError with the reason. Then
        `host` runs on copies in host memory.
      optional: indices of arrays (as in `Arg`) that may be empty. If any other array is empty,
        `host` runs.
      tensor_cores: `tensor_cores(signature)` returns the launches for GPUs with the tensor cores
        that tensor_core_mma.cuh uses, or an empty sequence if tensor cores don't support the dtype.
      product: `product(signature)` returns the op as one matrix product, a `MatmulWithEpilogue`, or
        None if the op is not a matrix product. The product is preferred to the launches if the
        GPU's library computes it.
      sums: `sums(signature)` returns the op as a convolution, or None if it is not a convolution.
        The convolution is preferred to the launches if a library computes it.
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

    Inputs may be empty. Each of the functions below may raise NotImplementedError, with the reason.
    Then `host`, a dynamic `Call`, runs on copies in host memory instead.

    Args:
      measure: `measure(signature)` returns the first launches. These launches write counts to the
        scratch memory `SIZES`. If there are no launches, there are no counts. The host waits until
        the launches have ended, and raises an error if an error flag is set.
      shapes: `shapes(signature, numbers)` returns the outputs' shapes, given the counts `numbers`.
      fill: `fill(signature, numbers)` returns the launches that compute the outputs. These launches
        can still read the scratch memory of `measure`.
      types: the possible dtypes of the attr `T`, if the op has that attr.
      known: `known(signature)` returns the counts if the outputs' shapes are static, so that the
        host need not wait. `known` is None for an op whose counts do not follow from the shapes.
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
    """Return a copy of the kernel in which `change(call)` replaces the NumPy reference `call`."""
    if isinstance(kernel, Call):
        return change(kernel)
    return kernel._replace(host=change(kernel.host))


def reference(kernel: Kernel) -> Call:
    """Return the kernel's reference: the NumPy `Call` that computes the same results."""
    return kernel if isinstance(kernel, Call) else kernel.host
