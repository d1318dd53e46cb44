"""The dtypes and shapes of a new operation's outputs, from its signature and shape inference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpugraph.base.dtypes import DType
from gpugraph.base.interruptions.signal_handlers import uninterrupted
from gpugraph.base.misfit import Misfit, is_refusal, misfit_of
from gpugraph.base.shapes import TensorShape, shape_text
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.resource_handles import HANDLE_MOVES, handle_maker
from gpugraph.graph.inference_context import InferContext, ShapeRule
from gpugraph.graph.op_def import ArgDef, OpDef
from gpugraph.graph.op_library import constant_value

_MAX_OUTPUTS = 1 << 24
"""The maximum number of outputs of one operation."""


def output_types(op_def: OpDef, attrs: dict[str, Any]) -> list[DType]:
    """Return the dtypes of an op's outputs, from its signature and attrs."""
    return arg_types(op_def.outputs, attrs, op_def.name)


def arg_types(
    args: Sequence[ArgDef], attrs: Mapping[str, Any], op_type: str, limit: int = _MAX_OUTPUTS
) -> list[DType]:
    """Return the dtypes of an op's inputs or outputs: one dtype for each tensor of a list argument.

    Raises ValueError if one argument has more than `limit` tensors.
    """
    types: list[DType] = []
    for arg in args:
        if arg.type_list_attr:
            types += attrs[arg.type_list_attr]
            continue
        dtype: DType = arg.type if arg.type is not None else attrs[arg.type_attr]
        dtype = dtype._as_ref if arg.is_ref else dtype
        count = attrs[arg.number_attr] if arg.number_attr else 1
        if count > limit:
            raise ValueError(f"{count} outputs are too many for '{op_type}' Op")
        types += [dtype] * count
    return types


class _OpContext(InferContext):
    """Shapes, attrs and constant inputs of an operation under construction, for shape inference."""

    __slots__ = ("_inputs",)

    is_building = True

    def __init__(self, op: Operation) -> None:
        self._inputs = inputs = op._inputs
        self.shapes = [tensor._shape for tensor in inputs]
        self.attrs = op._attrs
        self.num_outputs = len(op._outputs)

    @property
    def dtypes(self) -> Sequence[DType]:
        return [tensor._dtype for tensor in self._inputs]

    def value(self, index: int) -> Any:
        return constant_value(self._inputs[index], as_shape=False)

    def partial(self, index: int) -> TensorShape | None:
        return constant_value(self._inputs[index], as_shape=True)

    def maker(self, index: int) -> tuple[str, Mapping[str, Any]]:
        source = self._inputs[index].op
        while source.type in HANDLE_MOVES:
            source = source._inputs[0].op
        return source.type, source._attrs

    def variable_shape(self, index: int) -> TensorShape:
        maker = handle_maker(self._inputs[index])
        return TensorShape.of(None) if maker is None else maker._attrs["shape"]

    def variable_dtype(self, index: int) -> DType | None:
        maker = handle_maker(self._inputs[index])
        return None if maker is None else maker._attrs["dtype"]


def _shapes_despite(misfit: Misfit, op: Operation) -> Sequence[TensorShape]:
    """Return the output shapes that `misfit`, an error of shape inference, contains. If the error
    contains no shapes, raise `misfit`.

    The error contains shapes if TensorFlow detects the error only in a run. Outputs without a shape
    in the error get an unknown shape.
    """
    if misfit.shapes is None:
        raise misfit
    unknown = [TensorShape.of(None)] * len(op._outputs)
    return [*misfit.shapes, *unknown[len(misfit.shapes) :]]


@uninterrupted
def infer_by_rule(op: Operation, infer: ShapeRule) -> bool:
    """Set the outputs' shapes with a `ShapeRule`. Return False if the rule rejects the input
    shapes.
    """
    try:
        shape = infer.rule([tensor._shape for tensor in op._inputs])
    except Exception:  # infer_shapes reports the error
        return False
    for tensor in op._outputs:
        tensor._shape = shape
    return True


@uninterrupted
def infer_shapes(op: Operation, producer: int | None = None) -> None:
    """Set the outputs' shapes. If inference fails, raise an error that names the op, its input
    shapes and its line.

    The error is a TypeError if inference raised a TypeError, otherwise a ValueError.

    Args:
      producer: the GraphDef version to infer for. If `producer` is None, infer for the version of
        the op's graph.
    """
    context = _OpContext(op)
    context.producer = op.graph._versions.producer if producer is None else producer
    try:
        try:
            shapes = op._op_def.infer(context)  # type: ignore[misc]
        except Misfit as misfit:
            shapes = _shapes_despite(misfit, op)
        for tensor, shape in zip(op._outputs, shapes):
            tensor._shape = shape
    except Exception as error:
        plain = isinstance(error, (TypeError, ValueError))
        text = str(error) if plain else f"{type(error).__name__}: {error}"
        refusal = misfit_of(error) if plain else Misfit(text)
        shapes_text = ", ".join(map(shape_text, context.shapes))
        raise (TypeError if isinstance(error, TypeError) else ValueError)(
            f"{refusal.in_graph} for '{op.name}' (op: '{op.type}') with input shapes: {shapes_text}"
            f"{refusal.behind}. Made at {op.origin}"
        ) from (None if is_refusal(error) else error)
