"""Collectives: reduction, gathering and broadcast over devices.

The ops with the same group_key and instance_key, one on each device, form one collective. When a
run that contains all of them is compiled, `compile/lowering/collectives_joined.py` adds ops that
combine the inputs of the collective, and connects the result to each op of the collective. The
kernel of a collective op only copies this result. If some ops of the collective belong to other
processes, the run sends the inputs of its own ops to those processes as soon as the inputs are
computed. The combined results are fed back (`cluster/collectives/collective_runs.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from gpugraph.base.dtypes import (
    as_dtype,
    bool as bool_type,
    float16,
    float32,
    float64,
    int32,
    int64,
)
from gpugraph.base.errors import invalid_argument
from gpugraph.base.shapes import TensorShape, as_shape, shape_text
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext, OpMemory
from gpugraph.ops.framework.kernel_helpers import copy_array, numpy_kernels
from gpugraph.ops.framework.kernel_registry import HostOnly
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op, raw_ops
from gpugraph.ops.framework.shape_functions import no_outputs, same_shape, unknown
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.plan import give_early

_NUMBERS = (float32, float16, float64, int32, int64)
_VALUES = (bool_type, *_NUMBERS)
_MERGES, _FINALS = ("Min", "Max", "Mul", "Add"), ("Id", "Div")
_KEYS: dict[str, Any] = {
    key: Attr("int", required=True) for key in ("group_size", "group_key", "instance_key")
}
_HINT: dict[str, Any] = {"communication_hint": Attr("string", "auto")}
_DECLARED: dict[str, Any] = {"grad": NO_GRADIENT, "stateful": True}
_SHAPED: dict[str, Any] = {**_KEYS, "shape": Attr("shape", required=True), **_HINT}


def _declared_shape(context: InferContext) -> Sequence[TensorShape]:
    return [as_shape(context.attrs["shape"])]


def _bind_checked(context: KernelContext, source: Any, out: Any) -> Callable[[], Any]:
    """Bind a copy of the value. Raises InvalidArgumentError if the value does not have the shape in
    the attr `shape`.
    """
    declared = as_shape(context.attrs["shape"])
    if not declared.is_compatible_with(source.shape):
        raise invalid_argument(
            f"Shape mismatch: the tensor has shape {shape_text(TensorShape.of(source.shape))}, but "
            f"{shape_text(declared)} is declared"
        )
    return lambda: copy_array(source, out)


def _bind_given(context: KernelContext, source: Any) -> Callable[[], Any]:
    return partial(give_early, context.attrs["op"], source)


def _bind_exchanged(context: KernelContext, source: Any) -> Callable[[], Any]:
    return lambda: [give_early(context.attrs["op"], source)]


_COPIES = {
    **_DECLARED,
    **numpy_kernels(Call(copy_array)),
    "infer": same_shape(0),
    "memory": OpMemory(alias={0: 0}),
}
_CHECKED = {**_DECLARED, **numpy_kernels(Call(make=_bind_checked)), "infer": _declared_shape}
_RECEIVES = {**_CHECKED, **numpy_kernels(Call(lambda out: None))}
_GIVES = {**_DECLARED, **numpy_kernels(Call(make=_bind_given)), "infer": no_outputs}
_WAITS = Call(make=_bind_exchanged, dynamic=True, late=True, waits=True, gives_up=True, direct=True)
_HOST = HostOnly("tensors of other processes arrive on the host")
_EXCHANGES = {
    **_DECLARED,
    "cpu": _WAITS,
    "gpu": _HOST,
    "memory": OpMemory(host_inputs=(0,)),
    "infer": unknown,
}
_REDUCES = {
    **_KEYS,
    "merge_op": Attr("string", required=True, allowed=("Min", "Max", "Mul", "Add")),
    "final_op": Attr("string", required=True, allowed=("Id", "Div")),
    "subdiv_offsets": Attr("list(int)", required=True),
    "wait_for": Attr("list(int)", []),
    **_HINT,
    "timeout_seconds": Attr("float", 0.0),
}
_IN, _OUT = "input: T", "data: T"

for _op_type, _inputs, _outputs, _attrs, _kernels, _doc in (
    (
        *("CollectiveReduce", _IN, _OUT, {"T": _NUMBERS, **_REDUCES}, _COPIES),
        "The sum, product, minimum or maximum of the inputs of a group, or their mean.",
    ),
    (
        *("CollectiveGather", _IN, _OUT, {"T": _NUMBERS, **_SHAPED}, _CHECKED),
        "The inputs of a group, concatenated in the order of their devices.",
    ),
    (
        *("CollectiveBcastSend", _IN, _OUT, {"T": _VALUES, **_SHAPED}, _CHECKED),
        "Sends its input to the other ops of its group.",
    ),
    (
        *("CollectiveBcastRecv", "", _OUT, {"T": _VALUES, **_SHAPED}, _RECEIVES),
        "The value that another op of its group sends.",
    ),
    (
        *("_CollectiveInput", _IN, "", {"T": _VALUES, "op": Attr("string")}, _GIVES),
        "Passes an input to a collective over processes; the compiler adds it.",
    ),
    (
        *("_CollectiveExchange", _IN, _OUT, {"T": _VALUES, "op": Attr("string")}, _EXCHANGES),
        "Waits for the result of a collective over processes, in a branch or a loop.",
    ),
):
    op(_op_type, inputs=_inputs, outputs=_outputs, attrs=_attrs, doc=_doc, **_kernels)


def all_reduce(
    t: Any,
    group_size: int,
    group_key: int,
    instance_key: int,
    merge_op: str,
    final_op: str,
    subdiv_offsets: Sequence[int] = (0,),
    communication_hint: str = "auto",
) -> Tensor:
    """Combine the tensors of a group, one on each device, elementwise with `merge_op`.

    Raises ValueError if `group_size` is below 2, or if `t` has no explicit device.

    Args:
      t: a numeric tensor on an explicit device. The result has the same shape.
      group_size: the number of tensors.
      group_key, instance_key: two ints. Calls that pass the same pair of ints form a group.
      merge_op: "Add", "Mul", "Max" or "Min".
      final_op: "Id", which leaves the result unchanged, or "Div", which divides it by `group_size`.
      subdiv_offsets, communication_hint: accepted for compatibility, without effect.
    """
    _check("all_reduce", group_size, t.device)
    if merge_op not in _MERGES or final_op not in _FINALS:
        raise ValueError(
            f"merge_op is {merge_op!r}, final_op {final_op!r}; there are {_MERGES} and {_FINALS}"
        )
    return raw_ops.CollectiveReduce(
        input=t,
        group_size=group_size,
        group_key=group_key,
        instance_key=instance_key,
        merge_op=merge_op,
        final_op=final_op,
        subdiv_offsets=list(subdiv_offsets),
        communication_hint=communication_hint.lower(),
    )


def all_gather(
    t: Any, group_size: int, group_key: int, instance_key: int, communication_hint: str = "auto"
) -> Tensor:
    """Concatenate the tensors of a group, ordered by device, along axis 0.

    For the arguments and errors, see `all_reduce`. Also raises ValueError if `t` is a scalar.
    """
    _check("all_gather", group_size, t.device)
    sizes = t.shape.sizes
    if sizes == ():
        raise ValueError("all_gather needs a tensor with an axis, but t is a scalar")
    shape = None if sizes is None else [sizes[0] and sizes[0] * group_size, *sizes[1:]]
    return raw_ops.CollectiveGather(
        input=t,
        shape=as_shape(shape),
        group_size=group_size,
        group_key=group_key,
        instance_key=instance_key,
        communication_hint=communication_hint.lower(),
    )


def broadcast_send(
    t: Any,
    shape: Any,
    dtype: Any,
    group_size: int,
    group_key: int,
    instance_key: int,
    communication_hint: str = "auto",
) -> Tensor:
    """Send a tensor to each `broadcast_recv` of its group, and return the tensor.

    Raises ValueError if the shape of `t` is not `shape` or its dtype is not `dtype`. For the
    remaining arguments and errors, see `all_reduce`.

    Args:
      shape, dtype: the shape and dtype of `t`, which are the same in all calls of the group.
    """
    t = convert_to_tensor(t)
    _check("broadcast_send", group_size, t.device)
    if t.shape != as_shape(shape):
        raise ValueError(
            "Shape of broadcast_send tensor not equal to declared shape: "
            f"{t.shape} vs {as_shape(shape)}"
        )
    if t.dtype != as_dtype(dtype):
        raise ValueError(
            "Type of broadcast_send tensor not equal to declared type: "
            f"{t.dtype.name} vs {as_dtype(dtype).name}"
        )
    return raw_ops.CollectiveBcastSend(
        input=t,
        shape=as_shape(shape),
        group_size=group_size,
        group_key=group_key,
        instance_key=instance_key,
        communication_hint=communication_hint.lower(),
    )


def broadcast_recv(
    shape: Any,
    dtype: Any,
    group_size: int,
    group_key: int,
    instance_key: int,
    communication_hint: str = "auto",
) -> Tensor:
    """Receive the tensor that the `broadcast_send` of the same group sends. The op is placed on the
    current `tf.device`.

    Raises ValueError if `group_size` is below 2. For the remaining arguments, see `all_reduce`.

    Args:
      shape, dtype: the shape and dtype of the tensor.
    """
    _check("broadcast_recv", group_size, "any")
    return raw_ops.CollectiveBcastRecv(
        T=as_dtype(dtype),
        shape=as_shape(shape),
        group_size=group_size,
        group_key=group_key,
        instance_key=instance_key,
        communication_hint=communication_hint.lower(),
    )


def _check(function: str, group_size: int, device: str) -> None:
    if not device:
        raise ValueError("Device assignment required for collective ops")
    if group_size < 2:
        raise ValueError(f"Parameter group_size to {function} must be at least 2.")
