"""TensorHandle, which represents a tensor that a session keeps between runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.base.dtypes import DType, plain_integers
from gpugraph.base.errors import invalid_argument
from gpugraph.devices import KeptTensors, NewHandle
from gpugraph.graph.client.tensor import Tensor


class TensorHandle:
    """The fetched value of `tf.get_session_handle`. If a program feeds this object, the tensor's
    value is fed.

    The tensor is deleted when the last reference to this object disappears, or by `delete`.
    """

    def __init__(self, handle: NewHandle, dtype: DType, kept: KeptTensors) -> None:
        kept.keep(handle)
        self._handle = handle.decode()
        self._dtype = dtype
        self._kept = kept
        self._owns = True

    def __del__(self) -> None:
        if getattr(self, "_owns", False):
            self._kept.discard(self._handle)

    def __str__(self) -> str:
        return self._handle

    @property
    def handle(self) -> str:
        """The text `name;number;device`, which is fed to `tf.get_session_tensor`."""
        return self._handle

    def eval(self) -> Any:
        """Return the tensor's value on the host. Raises TypeError if `delete` or `get_raw_handle`
        was called.
        """
        self._check()
        return plain_integers(self._kept.read(self._handle)[()])

    def delete(self) -> None:
        """Delete the tensor and free its memory. Raises TypeError if `delete` or `get_raw_handle`
        was called.
        """
        self._check()
        self._owns = False
        self._kept.delete(self._handle)

    def get_raw_handle(self) -> str:
        """Return the handle as text. After this call, only `tf.delete_session_tensor` deletes the
        tensor.
        """
        self._owns = False
        return self._handle

    def _check(self) -> None:
        if not self._owns:
            raise TypeError(f"Persistent tensor {self._handle} may have already been deleted.")

    def value_for(self, tensor: Tensor, kept: KeptTensors | None) -> Any:
        """Return the value to feed to `tensor`.

        Raises InvalidArgumentError if another session has created the handle, if the tensor was
        deleted, or if the dtypes differ.

        Args:
          kept: the kept tensors of the session.
        """
        if self._dtype is not tensor.dtype.base_dtype:
            raise invalid_argument(
                f"The handle '{self._handle}' is of a tensor of {self._dtype.name}; it can't be "
                f"fed to '{tensor.name}', which is {tensor.dtype.base_dtype.name}"
            )
        return (KeptTensors() if kept is None else kept).read(self._handle)


def plain_value(tensor: Tensor, value: Any, kept: KeptTensors | None) -> Any:
    """Return the value to feed. For a TensorHandle, it is the tensor's value. Otherwise it is
    `value` itself.
    """
    return value.value_for(tensor, kept) if isinstance(value, TensorHandle) else value


def gives_handle(tensor: Tensor) -> bool:
    """Return whether a run that fetches this tensor returns a TensorHandle."""
    return tensor.op.type == "GetSessionHandle"


def with_handles(
    tensors: Sequence[Tensor], values: Sequence[Any], kept: KeptTensors | None
) -> list[Any]:
    """Convert fetched values. New handles become TensorHandles, and quantized numbers become
    integers.
    """
    return [
        TensorHandle(value, tensor.op.inputs[0].dtype.base_dtype, kept)
        if kept is not None and isinstance(value, NewHandle)
        else plain_integers(value)
        for tensor, value in zip(tensors, values)
    ]
