"""The ops on staging areas. Nodes with the same `shared_name` share one area in the session."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from gpugraph.base.errors import invalid_argument
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext, OpMemory
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op
from gpugraph.ops.framework.shape_functions import SCALAR, no_outputs, unknown
from gpugraph.ops.queues.handle_ops import (
    HOST,
    SHARING,
    Run,
    infer_scalars,
    resource_name,
    waiting_op,
)
from gpugraph.ops.queues.staged_values import KeyedTuples, StagedTuples

_TYPES = Attr("list(type)", required=True, minimum=1)
_BOUNDS = {"capacity": Attr("int", 0, minimum=0), "memory_limit": Attr("int", 0, minimum=0)}


def _shared(context: KernelContext, kind: type, make: Callable[[], Any]) -> Any:
    area = context.shared(*resource_name(context), make)
    if not isinstance(area, kind):
        raise invalid_argument(f"'{context.name}' shares the name of another resource")
    return area


def _tuples(context: KernelContext) -> StagedTuples:
    attrs = context.attrs
    area: StagedTuples = _shared(
        context, StagedTuples, lambda: StagedTuples(attrs["capacity"], attrs["memory_limit"])
    )
    return area


def _keyed(is_ordered: bool, context: KernelContext) -> KeyedTuples:
    attrs = context.attrs
    area: KeyedTuples = _shared(
        context,
        KeyedTuples,
        lambda: KeyedTuples(is_ordered, attrs["capacity"], attrs["memory_limit"]),
    )
    return area


def _query_op(
    op_type: str, doc: str, area_of: Callable[..., Any], method: str, **declaration: Any
) -> None:
    """Declare an op that calls `method` of an area and never waits. If the method returns a value,
    it is the op's output.
    """

    def bind(context: KernelContext, *out: Any) -> Run:
        area = area_of(context)

        def run() -> None:
            answer = getattr(area, method)()
            for array in out:
                array[()] = answer

        return run

    op(
        op_type, cpu=Call(make=bind), gpu=HOST, grad=NO_GRADIENT, stateful=True, doc=doc,
        attrs={**_BOUNDS, "dtypes": Attr("list(type)", required=True), **SHARING}, **declaration,
    )  # fmt: skip


_SIZE: dict[str, Any] = {"outputs": "size: int32", "infer": infer_scalars}
_CLEAR: dict[str, Any] = {"infer": no_outputs}
_ATTRS = {**_BOUNDS, "dtypes": _TYPES, **SHARING}


def _bind_stage(context: KernelContext, *values: Any) -> Run:
    area = _tuples(context)

    def put() -> Sequence[Any]:
        area.put(values)
        return ()

    return put


def _bind_unstage(context: KernelContext) -> Run:
    area = _tuples(context)
    return lambda: list(area.get())


def _bind_peek(context: KernelContext, index: Any) -> Run:
    area = _tuples(context)
    return lambda: list(area.peek(int(index[()])))


_TUPLE: dict[str, Any] = {"outputs": "values: dtypes", "infer": unknown, "attrs": _ATTRS}
waiting_op(
    "Stage", _bind_stage, "Put a tuple, as soon as there is room.", inputs="values: dtypes",
    attrs=_ATTRS, memory=OpMemory(host_inputs=()),
)  # fmt: skip
waiting_op(
    "Unstage",
    _bind_unstage,
    "Take the first tuple.",
    inputs=(),
    memory=OpMemory(host_inputs=()),
    **_TUPLE,
)
waiting_op(
    "StagePeek", _bind_peek, "Return the tuple at an index.", inputs="index: int32", **_TUPLE
)
_query_op("StageSize", "Return the number of tuples.", _tuples, "size", **_SIZE)
_query_op("StageClear", "Remove all tuples.", _tuples, "clear", **_CLEAR)


# -- by key


def _bind_map_stage(
    is_ordered: bool, context: KernelContext, key: Any, indices: Any, *values: Any
) -> Run:
    area, count = _keyed(is_ordered, context), len(context.attrs["dtypes"])

    def put() -> Sequence[Any]:
        area.put(int(key[()]), indices.tolist(), values, count)
        return ()

    return put


def _bind_map_get(
    is_ordered: bool, keeps: bool, context: KernelContext, key: Any, indices: Any
) -> Run:
    area = _keyed(is_ordered, context)
    return lambda: area.get(int(key[()]), indices.tolist(), keeps)[1]


def _bind_map_get_any(is_ordered: bool, context: KernelContext, indices: Any) -> Run:
    area = _keyed(is_ordered, context)

    def get() -> list[Any]:
        key, values = area.get(None, indices.tolist(), False)
        return [np.array(key, np.int64), *values]

    return get


def _infer_any(context: InferContext) -> Sequence[TensorShape]:
    return [SCALAR, *unknown(context)[1:]]


for _prefix, _ordered in (("", False), ("Ordered", True)):
    _area = partial(_keyed, _ordered)
    waiting_op(
        f"{_prefix}MapStage",
        partial(_bind_map_stage, _ordered),
        "Put values of a tuple under a key, as soon as there is room.",
        inputs="key: int64, indices: int32, values: fake_dtypes",
        attrs={
            **_BOUNDS,
            "dtypes": Attr("list(type)", required=True),
            "fake_dtypes": _TYPES,
            **SHARING,
        },
        memory=OpMemory(host_inputs=(0, 1)),
    )
    for _type, _keeps, _doc in (
        ("MapUnstage", False, "Take values of a key, as soon as it is complete."),
        ("MapPeek", True, "Return values of a key, as soon as it is complete."),
    ):
        waiting_op(
            f"{_prefix}{_type}",
            partial(_bind_map_get, _ordered, _keeps),
            _doc,
            inputs="key: int64, indices: int32",
            **_TUPLE,
        )
    waiting_op(
        f"{_prefix}MapUnstageNoKey",
        partial(_bind_map_get_any, _ordered),
        "Take values of any complete key.",
        inputs="indices: int32",
        outputs="key: int64, values: dtypes",
        attrs=_ATTRS,
        infer=_infer_any,
    )
    _query_op(f"{_prefix}MapSize", "Return the number of complete keys.", _area, "size", **_SIZE)
    _query_op(
        f"{_prefix}MapIncompleteSize",
        "Return the number of incomplete keys.",
        _area,
        "incomplete_size",
        **_SIZE,
    )
    _query_op(f"{_prefix}MapClear", "Remove all tuples.", _area, "clear", **_CLEAR)
