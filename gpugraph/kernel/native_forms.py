"""Additional forms of an op, apart from its kernels, for native code and fused GPU kernels.

Decomposition       the op as elementwise expressions and reductions, which fuse with other ops
ViewCopies          the op as copies from views to views
MatrixProducts      the op as matrix products
MatmulWithEpilogue  one matrix product with an epilogue: bias, addition, Relu
CSource             a C function of `kernels/`
SourceStages        C functions of one file of `kernels/`, with copies between them
RowSource           a C function over arrays of several dtypes, such as indices and rows, whose
                    results are bitwise equal to those of the NumPy kernel
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from gpugraph.base.dtypes import DType
from gpugraph.kernel.kernel_forms import Elementwise, Reduction
from gpugraph.kernel.signature_and_context import Signature


class Builder(Protocol):
    """An object that builds a program of array operations. Each method that adds a value returns
    the index of the value.
    """

    def constant(self, value: Any, dtype: DType) -> int:
        """Add a constant, which becomes part of the generated source."""

    def index(self, size: int, dtype: DType) -> int:
        """Add the vector 0, 1, ... size - 1 along the last axis."""

    def apply(
        self,
        kernel: Elementwise | str,
        inputs: Sequence[int],
        dtype: DType,
        type: DType | None = None,
        fails: tuple[str, str] = ("", ""),
    ) -> int:
        """Add an elementwise expression of the values `inputs`, which are broadcast.

        Args:
          dtype: the dtype of the result.
          type: the dtype of `T` in the expression, by default the dtype of the last input.
          fails: an expression of the same inputs, and a message. If the expression is true for an
            element, the run raises InvalidArgumentError with that message.
        """

    def reduce(self, kernel: Reduction, value: int, axes: Sequence[int] | None = None) -> int:
        """Add a reduction over `axes`, by default over all axes. The reduced axes keep size 1."""

    def stored(self, value: int) -> int:
        """Return a value as the users of its op see it: bfloat16 is rounded between ops."""
        return value

    def expand(self, value: int, shape: Sequence[int]) -> int:
        """Add a value with additional axes of size 1. The result has the shape `shape`."""

    def shape(self, value: int) -> tuple[int, ...]:
        """Return a value's shape."""

    def dtype(self, value: int) -> DType:
        """Return a value's dtype."""


def _no_macros(_: Signature) -> Mapping[str, str]:
    return {}


class RowSource(NamedTuple):
    """The C function `function` of the file `kernels/<file>`, over arrays of several dtypes.

    The results of the function have the same bits as the NumPy kernel's, unless `is_exact` is
    false. The function may reject its input before it has written anything. The NumPy kernel then
    runs and raises the error.

    Args:
      parameters: `parameters(signature)` returns the integers that the function receives.
        `parameters` raises NotImplementedError, with the reason, for attrs, dtypes or shapes that
        the function does not support.
      element: the index of the array for whose dtype (float32, float64, int32 or int64) the file is
        compiled, or None for a function that only moves bytes.
      macros: `macros(signature)` returns C macros by name.
      sizes: for an op whose outputs' sizes depend on values: `sizes(signature, *inputs)` returns
        the largest possible shapes of the outputs. The function's last array is then a single
        int64, in which it stores the actual number of rows of the outputs numbered in `counted`.
      separate: whether each output has its own number of rows. The function's last array then has
        an int64 for each output, and `counted` is not used.
      takes_empty: whether arrays may be empty.
      counter: the name of a function in the same file that receives the inputs and only stores the
        number of rows, or "". Such a function exists for ops whose rows can be counted in a small
        part of the time.
    """

    file: str
    function: str
    parameters: Callable[[Signature], Sequence[int]]
    element: int | None = 0
    macros: Callable[[Signature], Mapping[str, str]] = _no_macros
    sizes: Callable[..., Sequence[tuple[int, ...]]] | None = None
    counted: Sequence[int] = ()
    separate: bool = False
    is_exact: bool = True
    takes_empty: bool = False
    counter: str = ""


class Decomposition(NamedTuple):
    """An op as elementwise expressions and reductions.

    `build(builder, signature, inputs)` returns the values of the op's outputs. If the op writes
    variables, `build` returns the new values of the written inputs, in their order. `inputs` are
    the values of all inputs except host inputs. `signature.value` returns the arrays of host
    inputs. The shape of a value may differ from the shape of its output by axes of size 1. `build`
    raises NotImplementedError, with the reason, for attrs or shapes that it does not support.

    Args:
      alone: a C function for the op as a step by itself, used if this function supports the shapes.
    """

    build: Callable[[Builder, Signature, Sequence[int]], Sequence[int]]
    alone: RowSource | None = None


class ViewCopies(NamedTuple):
    """An op that only copies data.

    `views(signature, *inputs, *outputs)` returns (source, target) pairs. A source is a view of one
    of these arrays, or a number of the same dtype. The source is broadcast to the target, which is
    a view. The copies are performed in order. Host inputs are not among the arguments.
    """

    views: Callable[..., Sequence[tuple[Any, Any]]]


class MatrixProducts(NamedTuple):
    """An op that consists of matrix products.

    `matrices(signature, *inputs, *outputs)` returns triples (a, b, out) for the products out = a @
    b. The matrices are views of the arguments with equal leading axes.
    """

    matrices: Callable[..., Sequence[tuple[Any, Any, Any]]]


SUMMED_AT_ONCE = 256
"""The number of products that host_matmul.h sums in registers for one element of the result, at
most. Up to this number, an addend may share the memory of the result. In that file it is called
GG_MATMUL_DEPTH.
"""


class Epilogue(NamedTuple):
    """Operations on a matrix product, applied before the product is stored.

    The operations are applied in this order. First, `bias`, a vector along the last axis, is added.
    Then `addend`, which has the product's shape, is added. Finally, if `relu` is true, negative
    elements are set to 0.
    """

    bias: Any = None
    addend: Any = None
    relu: bool = False


class MatmulWithEpilogue(NamedTuple):
    """An op that is one matrix product with an epilogue. On GPUs, the op is one kernel.

    `products` gives the matrix product as one triple. `epilogue(signature, *inputs, *outputs)`
    returns the epilogue, whose arrays are views of the arguments.
    """

    products: MatrixProducts
    epilogue: Callable[..., Epilogue]


def _as_they_are(_: Signature) -> Mapping[int, tuple[int, ...]]:
    return {}


class CSource(NamedTuple):
    """The C function `function` of the file `kernels/<file>`.

    Args:
      parameters: `parameters(signature)` returns the integers that the function receives after the
        addresses of the arrays. `parameters` raises NotImplementedError, with the reason, for attrs
        or shapes that the function does not support.
      turned: `turned(signature)` returns the order of axes of each array that the function receives
        transposed, by the array's index among the inputs and the output.
      packed: the index of an input that the function packs, or None. The function's last integer is
        then 1 if it may keep the packed input in its scratch memory for later calls, and otherwise
        0.
    """

    file: str
    function: str
    parameters: Callable[[Signature], Sequence[int]]
    turned: Callable[[Signature], Mapping[int, tuple[int, ...]]] = _as_they_are
    packed: int | None = None


class ViewCopy(NamedTuple):
    """A copy of a view, or of a number, to a view."""

    source: Any
    target: Any


class FunctionCall(NamedTuple):
    """A call of a C function with integers and C-ordered arrays. The function writes only the last
    array.
    """

    function: str
    parameters: Sequence[int]
    arrays: Sequence[Any]


Stage = ViewCopy | FunctionCall
NewArray = Callable[[int, tuple[int, ...], Any], Any]
"""new_array(number, shape, dtype) returns memory that is valid while a step runs. Each number has
separate memory.
"""


class SourceStages(NamedTuple):
    """An op as a sequence of copies and calls of functions of the file `kernels/<file>`.

    `stages(signature, arrays, new_array)` returns the copies and calls for the op's arrays, which
    are float32 or float64 inputs and an output. `new_array` creates the arrays between stages.
    `stages` raises NotImplementedError, with the reason, for attrs, dtypes or shapes without native
    code.
    """

    file: str
    stages: Callable[[Signature, Sequence[Any], NewArray], Sequence[Stage]]


Native = (
    Decomposition
    | ViewCopies
    | MatrixProducts
    | MatmulWithEpilogue
    | CSource
    | SourceStages
    | RowSource
)
