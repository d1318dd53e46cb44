"""Convolutions of NVIDIA's cuDNN 9, whose backend API is called through ctypes.

    tensors, convolution -> operations -> graph -> heuristic: engine configurations -> plan
    plan, addresses -> cudnnBackendExecute

A convolution with its bias and Relu is one graph of operations, whose intermediate results are
virtual tensors. When the convolution is bound, the heuristic ranks configurations of engines. The
first configuration with permitted arithmetic and a workspace of permitted size is used. After that,
each convolution is a single C call, which can be captured in a CUDA graph.

Results have the same accuracy as the results of gpugraph's kernels. Engines that are not
deterministic, sum in 16 bits, or transform their inputs (Winograd, FFT) are excluded. Engines that
convert float32 to TF32 are excluded unless `ConvolutionRecord.tf32` permits them.

Descriptors and attributes are documented at
https://docs.nvidia.com/deeplearning/cudnn/backend/latest/
"""

from __future__ import annotations

import ctypes
import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from gpugraph.devices.cuda.driver.convolution_record import ConvolutionRecord, StridedTensor
from gpugraph.devices.cuda.driver.cuda_libraries import load_library
from gpugraph.devices.cuda.driver.cudnn_numbers import NUMBERS
from gpugraph.devices.cuda.driver.driver_interface import DriverError

_DATA = {"float16": "HALF", "bfloat16": "BFLOAT16", "float32": "FLOAT", "float64": "DOUBLE"}
_DESCRIPTOR = "BACKEND_DESCRIPTOR"

_OPERATIONS = {
    "forward": ("FORWARD", "CONVOLUTION_FORWARD", "X", "W", "Y"),
    "input": ("BWD_DATA", "CONVOLUTION_BACKWARD_DATA", "DX", "W", "DY"),
    "filter": ("BWD_FILTER", "CONVOLUTION_BACKWARD_FILTER", "X", "DW", "DY"),
}
"""By `ConvolutionRecord.kind`: parts of the names of attributes and of the descriptor, and the
names of the attributes for images, filter and results."""

_SUPPORTED_MAJOR = 9
_NOT_SUPPORTED = range(3000, 4000)
"""The statuses for an operation, a graph or a plan that cuDNN does not support."""

_MAX_CONFIGURATIONS = 32
_MAX_ALIGNMENT = 16

_SIGNATURES: dict[str, tuple[Any, ...]] = {
    "cudnnCreate": (ctypes.c_void_p,),
    "cudnnDestroy": (ctypes.c_void_p,),
    "cudnnSetStream": (ctypes.c_void_p, ctypes.c_void_p),
    "cudnnBackendCreateDescriptor": (ctypes.c_int, ctypes.c_void_p),
    "cudnnBackendDestroyDescriptor": (ctypes.c_void_p,),
    "cudnnBackendSetAttribute": (
        *(ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_void_p),
    ),
    "cudnnBackendGetAttribute": (
        *(ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_int64),
        *(ctypes.c_void_p, ctypes.c_void_p),
    ),
    "cudnnBackendFinalize": (ctypes.c_void_p,),
    "cudnnBackendExecute": (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p),
}

_C_TYPES: dict[str, Any] = {
    "INT64": ctypes.c_int64,
    "FLOAT": ctypes.c_float,
    "DOUBLE": ctypes.c_double,
    "BOOLEAN": ctypes.c_bool,
    "VOID_PTR": ctypes.c_void_p,
    "HANDLE": ctypes.c_void_p,
    _DESCRIPTOR: ctypes.c_void_p,
}
"""C types of attributes; other attributes are enumerators, of type int."""


_logger = logging.getLogger(__name__)


class _NotSupportedError(DriverError):
    pass


class Descriptor:
    """A descriptor of cuDNN, which is destroyed together with this object. If an attribute of the
    descriptor is another descriptor, that descriptor is kept alive.

    Args:
      kind: the name of the descriptor's type, without CUDNN_BACKEND_ and _DESCRIPTOR.
    """

    def __init__(self, library: Any, kind: str) -> None:
        self._library = library
        self._kept: list[Any] = []
        self.kind = kind
        self.value: int | None = None
        pointer = ctypes.c_void_p()
        number = NUMBERS[f"CUDNN_BACKEND_{kind}_DESCRIPTOR"]
        self._check("create", library.cudnnBackendCreateDescriptor(number, ctypes.byref(pointer)))
        self.value = pointer.value

    def set(self, name: str, kind: str, *values: Any) -> Descriptor:
        """Set an attribute to values of a type.

        The attribute and the type are passed by name without CUDNN_ATTR_ and CUDNN_TYPE_, and
        enumerators by their full names.
        """
        self._kept += values
        plain = [_plain(value) for value in values]
        array = (_C_TYPES.get(kind, ctypes.c_int) * len(plain))(*plain)
        numbers = NUMBERS[f"CUDNN_ATTR_{name}"], NUMBERS[f"CUDNN_TYPE_{kind}"], len(plain)
        status = self._library.cudnnBackendSetAttribute(self.value, *numbers, array)
        self._check(f"set {name} of", status)
        return self

    def finalized(self) -> Descriptor:
        """Finalize the descriptor and return it."""
        self._check("finalize", self._library.cudnnBackendFinalize(self.value))
        return self

    def get(self, name: str, kind: str, values: Any) -> int:
        """Store the values of an attribute in a ctypes array, and return the number of values."""
        count = ctypes.c_int64(0)
        numbers = NUMBERS[f"CUDNN_ATTR_{name}"], NUMBERS[f"CUDNN_TYPE_{kind}"], len(values)
        call = self._library.cudnnBackendGetAttribute
        self._check(f"get {name} of", call(self.value, *numbers, ctypes.byref(count), values))
        return min(count.value, len(values))

    def descriptors(self, name: str, kind: str, most: int) -> list[Descriptor]:
        """Return the values of an attribute: up to `most` descriptors of type `kind`."""
        descriptors = [Descriptor(self._library, kind) for _ in range(most)]
        for descriptor in descriptors:
            descriptor._kept.append(self)  # the graph, for a configuration of an engine
        array = (ctypes.c_void_p * most)(*(descriptor.value for descriptor in descriptors))
        return descriptors[: self.get(name, _DESCRIPTOR, array)]

    def _check(self, action: str, status: int) -> None:
        if status:
            text = f"cuDNN could not {action} a {self.kind} descriptor (cudnnStatus_t {status})"
            error = _NotSupportedError if status in _NOT_SUPPORTED else DriverError
            raise error(text, status)

    def __del__(self) -> None:
        if self.value and not sys.is_finalizing():
            self._library.cudnnBackendDestroyDescriptor(self.value)


def _plain(value: Any) -> Any:
    if isinstance(value, Descriptor):
        return value.value
    return NUMBERS[value] if isinstance(value, str) else value


class _Handle:
    """A handle of cuDNN for one stream."""

    def __init__(self, library: Any, stream: int) -> None:
        self._library = library
        self.value: int | None = None
        handle = ctypes.c_void_p()
        status = library.cudnnCreate(ctypes.byref(handle))
        self.value = handle.value if not status else None
        status = status or library.cudnnSetStream(self.value, stream)
        if status:
            raise DriverError(f"cuDNN could not be started (cudnnStatus_t {status})", status)

    def __del__(self) -> None:
        if self.value and not sys.is_finalizing():
            self._library.cudnnDestroy(self.value)


class _Graph(NamedTuple):
    """The operations of a cuDNN convolution, and the addresses of its tensors by unique id."""

    operations: list[Descriptor]
    addresses: dict[int, int]


def load_cudnn() -> ctypes.CDLL:
    """Load cuDNN. Raises OSError if cuDNN is not installed."""
    return load_library("cudnn", (_SUPPORTED_MAJOR,))


class Cudnn:
    """cuDNN for the GPU that is current when this object is created. The same GPU must be current
    when the object is used. Methods raise DriverError if cuDNN reports an error.

    Raises AttributeError if the library lacks a function.

    Attributes:
      version: the version, such as 9.28.0.
      cuda: the major version of CUDA for which cuDNN was compiled.
    """

    def __init__(self, library: Any) -> None:
        self._library = library
        library.cudnnGetVersion.restype = ctypes.c_size_t
        library.cudnnGetCudartVersion.restype = ctypes.c_size_t
        number = library.cudnnGetVersion()
        self.cuda = int(library.cudnnGetCudartVersion()) // 1000
        self.version = f"{number // 10000}.{number // 100 % 100}.{number % 100}"
        for name, arguments in _SIGNATURES.items():
            function = getattr(library, name)
            function.argtypes, function.restype = arguments, ctypes.c_int
        self._handles: dict[int, _Handle] = {}
        self._is_broken = False

    def bind(
        self, convolution: ConvolutionRecord, workspace: tuple[int, int], stream: int
    ) -> Callable[[], None] | None:
        """Return a callable that launches a convolution on a stream.

        Return None if cuDNN has no plan for the convolution that has the required accuracy and fits
        into the workspace. If cuDNN does not work at all, log this once and return None.

        Args:
          workspace: the address and the size in bytes of the workspace.
        """
        if self._is_broken or convolution.dtype not in _DATA:
            return None
        try:
            return self._bind(convolution, workspace, stream)
        except _NotSupportedError:
            return None
        except DriverError as error:
            self._is_broken = True
            _logger.warning("Convolutions are computed by kernels of our own: %s", error)
            return None

    def _bind(
        self, convolution: ConvolutionRecord, workspace: tuple[int, int], stream: int
    ) -> Callable[[], None] | None:
        if stream not in self._handles:
            self._handles[stream] = _Handle(self._library, stream)
        handle, graph = self._handles[stream], self.graph(convolution)
        plan = self._plan(convolution, graph, handle, workspace[1])
        if plan is None:
            return None
        pack = Descriptor(self._library, "VARIANT_PACK")
        pack.set("VARIANT_PACK_UNIQUE_IDS", "INT64", *graph.addresses)
        pack.set("VARIANT_PACK_DATA_POINTERS", "VOID_PTR", *graph.addresses.values())
        pack.set("VARIANT_PACK_WORKSPACE", "VOID_PTR", workspace[0])
        return self._launcher(handle, plan, pack.finalized())

    def graph(self, convolution: ConvolutionRecord) -> _Graph:
        """Return the operations of a convolution."""
        return _Operations(self._library, convolution).graph()

    def _plan(
        self, convolution: ConvolutionRecord, graph: _Graph, handle: _Handle, workspace_bytes: int
    ) -> Descriptor | None:
        description = Descriptor(self._library, "OPERATIONGRAPH")
        description.set("OPERATIONGRAPH_HANDLE", "HANDLE", handle.value)
        description.set("OPERATIONGRAPH_OPS", _DESCRIPTOR, *graph.operations).finalized()
        for configuration in self._configurations(description):
            if not _is_exact(configuration, convolution):
                continue
            plan = Descriptor(self._library, "EXECUTION_PLAN")
            plan.set("EXECUTION_PLAN_HANDLE", "HANDLE", handle.value)
            plan.set("EXECUTION_PLAN_ENGINE_CONFIG", _DESCRIPTOR, configuration)
            try:
                plan.finalized()
            except DriverError:  # the heuristic may propose engines that this GPU does not have
                continue
            size = (ctypes.c_int64 * 1)()
            plan.get("EXECUTION_PLAN_WORKSPACE_SIZE", "INT64", size)
            if size[0] <= workspace_bytes:
                return plan
        return None

    def _configurations(self, graph: Descriptor) -> Iterator[Descriptor]:
        """Yield configurations of engines, the best configurations first."""
        for mode in ("CUDNN_HEUR_MODE_A", "CUDNN_HEUR_MODE_FALLBACK"):
            heuristic = Descriptor(self._library, "ENGINEHEUR")
            heuristic.set("ENGINEHEUR_OPERATION_GRAPH", _DESCRIPTOR, graph)
            heuristic.set("ENGINEHEUR_MODE", "HEUR_MODE", mode)
            try:
                configurations = heuristic.finalized().descriptors(
                    "ENGINEHEUR_RESULTS", "ENGINECFG", _MAX_CONFIGURATIONS
                )
            except _NotSupportedError:
                continue
            yield from configurations

    def _launcher(self, handle: _Handle, plan: Descriptor, pack: Descriptor) -> Callable[[], None]:
        execute = self._library.cudnnBackendExecute
        arguments = tuple(ctypes.c_void_p(it.value) for it in (handle, plan, pack))

        def launch(_keep_alive: object = (handle, plan, pack)) -> None:
            status = execute(*arguments)
            if status:
                text = f"cuDNN could not launch a convolution (cudnnStatus_t {status})"
                raise DriverError(text, status)

        return launch


class _Operations:
    """The operations of one convolution."""

    def __init__(self, library: Any, convolution: ConvolutionRecord) -> None:
        self._library = library
        self._convolution = convolution
        self._data = f"CUDNN_DATA_{_DATA[convolution.dtype]}"
        is_double = convolution.dtype == "float64"
        self._scalar = "DOUBLE" if is_double else "FLOAT"
        self._compute = f"CUDNN_DATA_{self._scalar}"
        self._addresses: dict[int, int] = {}
        self._count = 0

    def graph(self) -> _Graph:
        """Return the operations: the convolution, then the bias and the Relu if there are any."""
        it = self._convolution
        after = [kind for kind, is_there in (("ADD", it.bias), ("RELU_FWD", it.relu)) if is_there]
        images, filter = self._tensor(it.images), self._tensor(it.filter)
        results = self._tensor(it.results, is_virtual=bool(after))
        operations = [self._operation(images, filter, results)]
        for index, kind in enumerate(after):
            target = self._tensor(it.results, is_virtual=index + 1 < len(after))
            operands = [results]
            if kind == "ADD":
                outputs = it.results.sizes[1]
                ones = (1,) * (len(it.results.sizes) - 2)
                strides = (outputs, 1, *(outputs for _ in ones))
                operands.append(self._tensor(StridedTensor(it.bias, (1, outputs, *ones), strides)))
            operations.append(self._pointwise(kind, operands, target))
            results = target
        return _Graph(operations, self._addresses)

    def _tensor(self, tensor: StridedTensor, is_virtual: bool = False) -> Descriptor:
        self._count += 1
        it = Descriptor(self._library, "TENSOR")
        it.set("TENSOR_DATA_TYPE", "DATA_TYPE", self._virtual_type() if is_virtual else self._data)
        it.set("TENSOR_DIMENSIONS", "INT64", *tensor.sizes)
        it.set("TENSOR_STRIDES", "INT64", *tensor.strides)
        it.set("TENSOR_UNIQUE_ID", "INT64", self._count)
        alignment = _MAX_ALIGNMENT
        if not is_virtual:
            address = tensor.address
            self._addresses[self._count] = address
            alignment = min(address & -address, _MAX_ALIGNMENT) or _MAX_ALIGNMENT
        it.set("TENSOR_BYTE_ALIGNMENT", "INT64", alignment)
        it.set("TENSOR_IS_VIRTUAL", "BOOLEAN", is_virtual)
        return it.finalized()

    def _virtual_type(self) -> str:
        return self._compute  # an epilogue adds before it rounds

    def _operation(self, images: Descriptor, filter: Descriptor, results: Descriptor) -> Descriptor:
        it = self._convolution
        shape = Descriptor(self._library, "CONVOLUTION")
        shape.set("CONVOLUTION_COMP_TYPE", "DATA_TYPE", self._compute)
        shape.set("CONVOLUTION_CONV_MODE", "CONVOLUTION_MODE", "CUDNN_CROSS_CORRELATION")
        shape.set("CONVOLUTION_SPATIAL_DIMS", "INT64", len(it.strides))
        shape.set("CONVOLUTION_DILATIONS", "INT64", *it.dilations)
        shape.set("CONVOLUTION_FILTER_STRIDES", "INT64", *it.strides)
        shape.set("CONVOLUTION_PRE_PADDINGS", "INT64", *it.before)
        shape.set("CONVOLUTION_POST_PADDINGS", "INT64", *it.after)
        name, kind, *tensors = _OPERATIONS[it.kind]
        prefix = f"OPERATION_CONVOLUTION_{name}"
        operation = Descriptor(self._library, f"OPERATION_{kind}")
        operation.set(f"{prefix}_CONV_DESC", _DESCRIPTOR, shape.finalized())
        for tensor, descriptor in zip(tensors, (images, filter, results)):
            operation.set(f"{prefix}_{tensor}", _DESCRIPTOR, descriptor)
        operation.set(f"{prefix}_ALPHA", self._scalar, 1.0)
        operation.set(f"{prefix}_BETA", self._scalar, 0.0)
        return operation.finalized()

    def _pointwise(
        self, kind: str, operands: Sequence[Descriptor], target: Descriptor
    ) -> Descriptor:
        mode = Descriptor(self._library, "POINTWISE")
        mode.set("POINTWISE_MODE", "POINTWISE_MODE", f"CUDNN_POINTWISE_{kind}")
        mode.set("POINTWISE_MATH_PREC", "DATA_TYPE", self._compute)
        operation = Descriptor(self._library, "OPERATION_POINTWISE")
        operation.set("OPERATION_POINTWISE_PW_DESCRIPTOR", _DESCRIPTOR, mode.finalized())
        for name, operand in zip("XB", operands):
            operation.set(f"OPERATION_POINTWISE_{name}DESC", _DESCRIPTOR, operand)
        operation.set("OPERATION_POINTWISE_YDESC", _DESCRIPTOR, target)
        return operation.finalized()


def _is_exact(configuration: Descriptor, convolution: ConvolutionRecord) -> bool:
    """Return whether the arithmetic of an engine is precise enough, as the module's docstring
    defines it.
    """
    engines = configuration.descriptors("ENGINECFG_ENGINE", "ENGINE", 1)
    notes = (ctypes.c_int * 64)()
    count = engines[0].get("ENGINE_NUMERICAL_NOTE", "NUMERICAL_NOTE", notes) if engines else 0
    numbers = set(notes[:count])
    names = ["REDUCED_PRECISION_REDUCTION", "NONDETERMINISTIC", "FFT", "WINOGRAD"]
    names += [f"WINOGRAD_TILE_{size}x{size}" for size in (4, 6, 13)]
    if not convolution.tf32:
        names.append("DOWN_CONVERT_INPUTS")
        names += ["TENSOR_CORE"] if convolution.dtype == "float32" else []
    return numbers.isdisjoint(NUMBERS[f"CUDNN_NUMERICAL_NOTE_{name}"] for name in names)
