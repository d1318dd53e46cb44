"""Tensors that stay on their device between runs: `tf.get_session_handle` and the functions that
use or delete such a tensor.

A run that fetches a handle returns a `TensorHandle` (`session/tensor_handles.py`). The session
keeps the tensor until this object is deleted or no longer referenced.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpugraph.base.dtypes import ALL, as_dtype, string
from gpugraph.base.errors import invalid_argument
from gpugraph.base.shapes import shape_text
from gpugraph.graph.client.default_graph_functions import colocate_with, device
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext, OpMemory
from gpugraph.ops.arrays.constants_and_placeholders import placeholder
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op, raw_ops
from gpugraph.ops.framework.shape_functions import SCALAR, no_outputs, unknown


def _bind_handle(context: KernelContext, value: Any, handle: Any) -> Callable[[], None]:
    def keep() -> None:
        block = context.allocate(context.input_shapes[0], context.input_types[0])
        block.array[...] = value
        handle[()] = context.new_handle(block)

    return keep


def _bind_tensor(context: KernelContext) -> Callable[[], list[Any]]:
    dtype = as_dtype(context.attrs["dtype"])

    def read() -> list[Any]:
        handle = _text(context.value(0))
        value = context.kept_tensors.read(handle)
        if as_dtype(value.dtype) is not dtype:
            raise invalid_argument(
                f"The tensor with handle '{handle}' is {as_dtype(value.dtype).name}, not "
                f"{dtype.name}"
            )
        return [value]

    return read


def _bind_deletion(context: KernelContext) -> Callable[[], None]:
    return lambda: context.kept_tensors.delete(_text(context.value(0)))


def _text(handle: Any) -> str:
    if handle.shape != ():
        raise invalid_argument(
            f"Expected 1 element in the handle tensor, got shape {shape_text(handle.shape)}"
        )
    text = handle[()]
    return text.decode() if isinstance(text, bytes) else str(text)


def _infer_handle(context: InferContext) -> Any:
    del context
    return [SCALAR]


def _session_op(op_type: str, kernel: Call, doc: str, **declaration: Any) -> None:
    """Declare an op on tensors that the session keeps, with one kernel for all device types."""
    effects: dict[str, Any] = {"stateful": True, "grad": NO_GRADIENT}
    op(op_type, cpu=kernel, gpu=kernel, doc=doc, **effects, **declaration)


_session_op(
    "GetSessionHandle",
    Call(make=_bind_handle, direct=True),
    "The handle of the value; a fetch of it keeps the value in the session, on its device.",
    inputs="value: T",
    outputs="handle: string",
    attrs={"T": ALL},
    infer=_infer_handle,
)
_BY_HANDLE: dict[str, Any] = {"inputs": "handle: string", "memory": OpMemory(host_inputs=(0,))}
_session_op(
    "GetSessionTensor",
    Call(make=_bind_tensor, dynamic=True, direct=True),
    "The tensor that the session keeps under the handle.",
    **{**_BY_HANDLE, "outputs": "value: dtype", "infer": unknown},
    attrs={"dtype": Attr("type", required=True)},
)
_session_op(
    "DeleteSessionTensor",
    Call(make=_bind_deletion, direct=True),
    "Frees the memory of the tensor that the session keeps under the handle.",
    **_BY_HANDLE,
    infer=no_outputs,
)


def get_session_handle(data: Tensor, name: str | None = None) -> Tensor:
    """Return a string scalar. A run that fetches it returns a `TensorHandle` and keeps `data`.

    The session keeps the tensor on its device until the `TensorHandle` is deleted or no longer
    referenced. Raises TypeError if `data` is not a tensor.
    """
    if not isinstance(data, Tensor):
        raise TypeError("`data` must be of type Tensor.")
    with colocate_with(data):
        result: Tensor = raw_ops.GetSessionHandle(data, name=name)
    return result


def get_session_tensor(handle: Any, dtype: Any, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Return (a placeholder for a handle, the tensor that belongs to the fed handle).

    A run raises InvalidArgumentError if the handle was deleted or belongs to another session.

    Args:
      handle: an example of a handle. The tensor is placed on the device that this handle names.
      dtype: the dtype of the tensor.
    """
    with device(_device(handle)):
        holder = placeholder(string)
        tensor: Tensor = raw_ops.GetSessionTensor(holder, dtype=as_dtype(dtype), name=name)
    return holder, tensor


def delete_session_tensor(handle: Any, name: str | None = None) -> tuple[Tensor, Operation]:
    """Return (a placeholder for a handle, an operation that deletes the tensor of the fed handle).

    A run raises InvalidArgumentError if the handle was deleted or belongs to another session.

    Args:
      handle: an example of a handle. The operation is placed on the device that this handle names.
    """
    with device(_device(handle)):
        holder = placeholder(string)
        deleter: Operation = raw_ops.DeleteSessionTensor(holder, name=name)
    return holder, deleter


def _device(handle: Any) -> str:
    """Return the device that a handle names. A handle is a text `name;number;device`."""
    text = handle.decode(errors="replace") if isinstance(handle, bytes) else str(handle)
    return text.split(";")[-1]
