"""Matrix products of NVIDIA's cublasLt, which is called through ctypes.

CuPy's matrix products can't be captured in a CUDA graph. cublasLt's products can, because each call
has the stream and the workspace as arguments and keeps no state. The algorithm of a product is
chosen when it is bound. After that, each product is a single C call.

cublasLt is column-major. A row-major matrix in memory is its own transpose in column-major order.
So out = a @ b becomes out' = b' @ a'. The operands are exchanged, and no matrix is copied. cublasLt
requires a bias with one number for each row of out', which is a column of `out`. The bias has the
output's dtype, and is the same for all matrices of a batch. The addend is passed as cublasLt's
matrix C, with a factor beta of 1.

Accuracy: float32 is computed in float32 throughout, unless `Product.tf32` permits 10 bits of
mantissa. float16 and bfloat16 are summed in float32. The bias and the addend are added in float32,
and then the result is rounded once. So algorithms are excluded if they divide the sum over k among
blocks and add the partial sums in 16 bits, in the output or in the workspace. The GELU epilogue is
not used, because the accuracy of cublasLt's tanh is not documented.

The constants and structures of the API are documented at
https://docs.nvidia.com/cuda/cublas/#using-the-cublaslt-api
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from gpugraph.devices.cuda.driver.cuda_libraries import load_library
from gpugraph.devices.cuda.driver.driver_interface import DriverError, Product

# cudaDataType
_R_32F, _R_64F, _R_16F, _R_16BF = 0, 1, 2, 14
# cublasComputeType_t
_COMPUTE_32F, _COMPUTE_64F, _COMPUTE_32F_FAST_TF32 = 68, 70, 77
# cublasOperation_t
_OP_N, _OP_T = 0, 1
# cublasLtMatmulDescAttributes_t
_DESC_TRANSA, _DESC_TRANSB, _DESC_EPILOGUE, _DESC_BIAS_POINTER = 3, 4, 7, 8
# cublasLtMatrixLayoutAttribute_t
_LAYOUT_BATCH_COUNT, _LAYOUT_STRIDED_BATCH_OFFSET = 5, 6
# cublasLtMatmulPreferenceAttributes_t
_PREF_MAX_WORKSPACE_BYTES, _PREF_REDUCTION_SCHEME_MASK = 1, 3
_PREF_MIN_ALIGNMENTS = (5, 6, 7, 8)  # of A, B, C and D
# cublasLtEpilogue_t, of which the last two may be combined
_EPILOGUE_DEFAULT, _EPILOGUE_RELU, _EPILOGUE_BIAS = 1, 2, 4
# cublasLtReductionScheme_t
_REDUCTION_COMPUTE_TYPE = 2
# cublasStatus_t
_STATUSES = {
    1: "not initialized",
    3: "allocation failed",
    7: "invalid value",
    8: "not possible on this GPU",
    11: "mapping error",
    13: "execution failed",
    14: "internal error",
    15: "not supported",
    16: "license error",
}
_NO_ALGORITHM = (7, 8, 15)
"""The statuses by which cublasLt's heuristic reports that it has no algorithm for a product."""

_BEST_ALIGNMENT = 256

_BIAS_ALIGNMENT = 16
"""The alignment in bytes that a bias must have. cublasLt's heuristic ignores the bias's alignment,
and may choose a kernel that loads this many bytes in one instruction
(https://github.com/pytorch/pytorch/pull/194497)."""


class _Types(NamedTuple):
    data: int
    compute: int
    scale: int
    scalar: type[ctypes.c_float | ctypes.c_double]


_TYPES = {
    "float16": _Types(_R_16F, _COMPUTE_32F, _R_32F, ctypes.c_float),
    "bfloat16": _Types(_R_16BF, _COMPUTE_32F, _R_32F, ctypes.c_float),
    "float32": _Types(_R_32F, _COMPUTE_32F, _R_32F, ctypes.c_float),
    "float64": _Types(_R_64F, _COMPUTE_64F, _R_64F, ctypes.c_double),
}


class Algorithm(ctypes.Structure):
    """The C structure cublasLtMatmulAlgo_t: 64 opaque bytes that identify an algorithm."""

    _fields_ = (("data", ctypes.c_uint64 * 8),)


class HeuristicResult(ctypes.Structure):
    """The C structure cublasLtMatmulHeuristicResult_t: an algorithm for a product."""

    _fields_ = (
        ("algorithm", Algorithm),
        ("workspace_bytes", ctypes.c_size_t),
        ("state", ctypes.c_int),
        ("waves", ctypes.c_float),
        ("reserved", ctypes.c_int * 4),
    )


_P, _I, _SIZE = ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t
_U64, _I64 = ctypes.c_uint64, ctypes.c_int64
_SIGNATURES: dict[str, tuple[Any, ...]] = {
    "cublasLtCreate": (_P,),
    "cublasLtDestroy": (_P,),
    "cublasLtMatmulDescCreate": (_P, _I, _I),
    "cublasLtMatmulDescDestroy": (_P,),
    "cublasLtMatmulDescSetAttribute": (_P, _I, _P, _SIZE),
    "cublasLtMatrixLayoutCreate": (_P, _I, _U64, _U64, _I64),
    "cublasLtMatrixLayoutDestroy": (_P,),
    "cublasLtMatrixLayoutSetAttribute": (_P, _I, _P, _SIZE),
    "cublasLtMatmulPreferenceCreate": (_P,),
    "cublasLtMatmulPreferenceDestroy": (_P,),
    "cublasLtMatmulPreferenceSetAttribute": (_P, _I, _P, _SIZE),
    "cublasLtMatmulAlgoGetHeuristic": (_P, _P, _P, _P, _P, _P, _P, _I, _P, _P),
    "cublasLtMatmul": (_P, _P, _P, _P, _P, _P, _P, _P, _P, _P, _P, _P, _P, _P, _SIZE, _P),
}


def load_cublaslt(versions: Sequence[int]) -> ctypes.CDLL:
    """Load cublasLt for the first of these CUDA versions that is installed. Raises OSError if none
    is installed.
    """
    return load_library("cublasLt", versions)


class CublasLt:
    """A cublasLt handle for the GPU that is current when the handle is created. The same GPU must
    be current when the handle is used. Methods raise DriverError if cublasLt reports an error.
    """

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library
        for name, arguments in _SIGNATURES.items():
            function = getattr(library, name)
            function.argtypes, function.restype = arguments, ctypes.c_int
        self._handle = _Handle(library, "cublasLt", "cublasLtCreate")

    def bind(
        self, product: Product, workspace: tuple[int, int], stream: int
    ) -> Callable[[], None] | None:
        """Return a callable that launches a product on a stream.

        Return None if cublasLt has no algorithm for the product, or no algorithm that is known to
        be correct.

        Args:
          workspace: the address and the size in bytes of the workspace.
        """
        if product.dtype not in _TYPES or not _is_safe_bias(product):
            return None
        types = _TYPES[product.dtype]
        description = self._description(product, types)
        a, b, out = self._layouts(product, types)
        choice = self._heuristic(product, description, (a, b, out), workspace[1])
        if choice is None:
            return None
        alpha, beta = types.scalar(1.0), types.scalar(1.0 if product.addend else 0.0)
        objects = (description, a, b, out, choice, alpha, beta, self._handle)
        arguments = (
            *(_P(self._handle.value), _P(description.value), ctypes.byref(alpha)),
            *(_P(product.b), _P(b.value), _P(product.a), _P(a.value)),  # exchanged, see above
            *(ctypes.byref(beta), _P(product.addend or product.out), _P(out.value)),
            *(_P(product.out), _P(out.value), ctypes.byref(choice.algorithm)),
            *(_P(workspace[0]), _SIZE(workspace[1]), _P(stream)),
        )
        return _launcher(self._library.cublasLtMatmul, objects, arguments)

    def _description(self, product: Product, types: _Types) -> _Handle:
        fast = product.tf32 and product.dtype == "float32"
        compute = _COMPUTE_32F_FAST_TF32 if fast else types.compute
        description = self._make("MatmulDesc", compute, types.scale)
        description.set(_DESC_TRANSA, _I(_OP_T if product.transpose_b else _OP_N))
        description.set(_DESC_TRANSB, _I(_OP_T if product.transpose_a else _OP_N))
        description.set(_DESC_EPILOGUE, ctypes.c_uint32(_epilogue(product)))
        if product.bias:
            description.set(_DESC_BIAS_POINTER, _P(product.bias))
        return description

    def _layouts(self, product: Product, types: _Types) -> tuple[_Handle, _Handle, _Handle]:
        """Return cublasLt's layouts of a, b and out. cublasLt's matrices are column-major, so the
        rows of a layout are the columns of the row-major matrix.
        """
        a, b, out = product.stored_shapes()
        return (
            self._layout(types, a, product.lda, product.batch, product.stride_a),
            self._layout(types, b, product.ldb, product.batch, product.stride_b),
            self._layout(types, out, product.ldo, product.batch, product.stride_out),
        )

    def _layout(
        self, types: _Types, shape: tuple[int, int], leading: int, batch: int, stride: int
    ) -> _Handle:
        layout = self._make("MatrixLayout", types.data, shape[1], shape[0], leading)
        if batch > 1:
            layout.set(_LAYOUT_BATCH_COUNT, ctypes.c_int32(batch))
            layout.set(_LAYOUT_STRIDED_BATCH_OFFSET, ctypes.c_int64(stride))
        return layout

    def _heuristic(
        self,
        product: Product,
        description: _Handle,
        layouts: tuple[_Handle, _Handle, _Handle],
        workspace_bytes: int,
    ) -> HeuristicResult | None:
        """Return the algorithm that cublasLt's heuristic ranks first, given the size of the
        workspace and the alignments of the operands. If cublasLt has no algorithm for the product,
        return None.
        """
        preference = self._make("MatmulPreference")
        preference.set(_PREF_MAX_WORKSPACE_BYTES, ctypes.c_uint64(workspace_bytes))
        scheme = ctypes.c_uint32(_REDUCTION_COMPUTE_TYPE)
        preference.set(_PREF_REDUCTION_SCHEME_MASK, scheme)
        addresses = (product.b, product.a, product.addend or product.out, product.out)
        for attribute, address in zip(_PREF_MIN_ALIGNMENTS, addresses):
            preference.set(attribute, ctypes.c_uint32(_alignment(address)))
        a, b, out = (_P(layout.value) for layout in layouts)
        result, count = HeuristicResult(), ctypes.c_int(0)
        handle, results = _P(self._handle.value), (1, ctypes.byref(result), ctypes.byref(count))
        operands = (_P(description.value), b, a, out, out, _P(preference.value))
        status = self._library.cublasLtMatmulAlgoGetHeuristic(handle, *operands, *results)
        if status in _NO_ALGORITHM:
            return None
        _check("choose an algorithm", status)
        return result if count.value and not result.state else None

    def _make(self, kind: str, *arguments: int) -> _Handle:
        return _Handle(self._library, kind, f"cublasLt{kind}Create", *arguments)


class _Handle:
    """A cublasLt object that is destroyed together with this wrapper."""

    __slots__ = ("_kind", "_library", "value")

    def __init__(self, library: ctypes.CDLL, kind: str, create: str, *arguments: int) -> None:
        self._library = library
        self._kind = kind
        self.value: int | None = None
        handle = ctypes.c_void_p()
        _check(f"create a {kind}", getattr(library, create)(ctypes.byref(handle), *arguments))
        self.value = handle.value

    def set(self, attribute: int, value: Any) -> None:
        """Set an attribute to a ctypes value.

        Args:
          attribute: the number of the attribute.
        """
        call = getattr(self._library, f"cublasLt{self._kind}SetAttribute")
        status = call(_P(self.value), attribute, ctypes.byref(value), ctypes.sizeof(value))
        _check(f"set attribute {attribute} of a {self._kind}", status)

    def __del__(self) -> None:
        if self.value and not sys.is_finalizing():
            name = "" if self._kind == "cublasLt" else self._kind
            getattr(self._library, f"cublasLt{name}Destroy")(_P(self.value))


def _launcher(
    call: Callable[..., int], objects: object, arguments: tuple[Any, ...]
) -> Callable[[], None]:
    def launch(_keep_alive: object = objects) -> None:
        status = call(*arguments)
        if status:
            _check("launch a product", status)

    return launch


def _epilogue(product: Product) -> int:
    flags = (_EPILOGUE_BIAS if product.bias else 0) | (_EPILOGUE_RELU if product.relu else 0)
    return flags or _EPILOGUE_DEFAULT


def _is_safe_bias(product: Product) -> bool:
    """Return whether the product has no bias, or a bias that cublasLt adds correctly.

    Some versions of cublasLt do not always add the bias if the result has a single column
    (https://github.com/dfyz/cublaslt-bias-epilogue).
    """
    return not product.bias or (product.n > 1 and product.bias % _BIAS_ALIGNMENT == 0)


def _alignment(address: int) -> int:
    """Return the largest power of two that divides an address, up to `_BEST_ALIGNMENT`."""
    return min(address & -address, _BEST_ALIGNMENT) or _BEST_ALIGNMENT


def _check(what: str, status: int) -> None:
    if status:
        name = _STATUSES.get(status, "an unknown status")
        raise DriverError(f"cublasLt could not {what}: {name} (cublasStatus_t {status})")
