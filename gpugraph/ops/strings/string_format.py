"""StringFormat, which replaces each placeholder in a template with the text of a tensor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpugraph.base.shapes import TensorShape
from gpugraph.graph.attr_values import text_of
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext
from gpugraph.ops.framework.op_declaration import Attr, raw_ops
from gpugraph.ops.framework.shape_functions import SCALAR
from gpugraph.ops.framework.tensor_conversion import convert_n_to_tensor
from gpugraph.ops.strings.string_ops import host_op
from gpugraph.ops.strings.tensor_formatting import formatted


def _infer(context: InferContext) -> Sequence[TensorShape]:
    places = context.attrs["template"].count(context.attrs["placeholder"])
    if places != len(context.shapes):
        raise ValueError(
            f"The template has {places} placeholders, but there are {len(context.shapes)} tensors"
        )
    return [SCALAR]


def _bind(context: KernelContext, *arrays: Any) -> Callable[[], Any]:
    *inputs, out = arrays
    parts = context.attrs["template"].split(context.attrs["placeholder"])
    summarize = context.attrs["summarize"]

    def write() -> None:
        text = parts[0]
        for array, part in zip(inputs, parts[1:]):
            text += formatted(array, summarize) + part
        out[()] = text.encode("utf-8", "surrogateescape")

    return write


host_op(
    "StringFormat",
    Call(make=_bind),
    "The template, a scalar string, with each placeholder in it replaced by an input's text.",
    inputs="inputs: T",
    infer=_infer,
    T=Attr("list(type)", required=True, minimum=0),
    template=Attr("string", "%s"),
    placeholder=Attr("string", "%s"),
    summarize=Attr("int", 3),
)


def string_format(
    template: str, inputs: Any, placeholder: str = "{}", summarize: int = 3, name: str | None = None
) -> Tensor:
    """Replace the placeholders of `template` with the text of `inputs`, a tensor or a list of
    tensors.

    Return a scalar string tensor. Raises ValueError unless there are as many placeholders as
    inputs.

    Args:
      summarize: the number of elements that are written at both ends of each axis, or -1 for all.
    """
    tensors = convert_n_to_tensor(inputs if isinstance(inputs, (list, tuple)) else [inputs])
    template, placeholder = text_of("template", template), text_of("placeholder", placeholder)
    places = template.count(placeholder)
    if places != len(tensors):
        raise ValueError(
            f"The template expects {places} tensors, but the inputs only has {len(tensors)}. "
            "Please ensure the number of placeholders in template matches inputs length."
        )
    return raw_ops.StringFormat(
        tensors, template=template, placeholder=placeholder, summarize=summarize, name=name
    )
