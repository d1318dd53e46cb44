"""InferContext: all information on one operation that shape inference may use.

The same inference function serves three callers: the client graph (sizes of placeholders may be
unknown), the fold pass (the shapes of fed values are known), and a step of a plan whose sizes are
known only when it runs. The callers find the values of constant inputs in different ways. A caller
passes a function `value` of the input index to the constructor, or overrides the methods `value`
and `partial` in a subclass.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gpugraph.base.dtypes import DType
from gpugraph.base.misfit import Misfit as Misfit, value_error
from gpugraph.base.shapes import TensorShape
from gpugraph.base.sizes import whole
from gpugraph.base.version import GRAPH_DEF_VERSION


def _nothing(_: int) -> Any:
    return None


class InferContext:
    """Shapes and dtypes of the inputs, attrs, and the values of constant inputs.

    Attributes:
      producer: the GraphDef version of the graph.
    """

    __slots__ = (
        "_dtypes", "_maker", "_partial", "_value", "attrs", "num_outputs", "producer", "shapes",
    )  # fmt: skip

    is_building = False
    """Whether the client graph is under construction.

    TensorFlow leaves some sizes unknown at graph construction although the inputs determine them.
    """

    def __init__(
        self,
        shapes: Sequence[TensorShape],
        attrs: Mapping[str, Any],
        dtypes: Sequence[DType],
        num_outputs: int,
        value: Callable[[int], Any] = _nothing,
        partial: Callable[[int], TensorShape | None] = _nothing,
        maker: Callable[[int], tuple[str, Mapping[str, Any]] | None] = _nothing,
    ) -> None:
        self.shapes = shapes
        self.attrs = attrs
        self.num_outputs = num_outputs
        self.producer = GRAPH_DEF_VERSION
        self._dtypes = dtypes
        self._value = value
        self._partial = partial
        self._maker = maker

    @property
    def dtypes(self) -> Sequence[DType]:
        """The inputs' dtypes."""
        return self._dtypes

    def value(self, index: int) -> Any:
        """Return the constant value of input `index`. If the input is not constant, return None."""
        return self._value(index)

    def partial(self, index: int) -> TensorShape | None:
        """Return input `index`, a vector of sizes, as a shape with some known sizes. If nothing is
        known, return None.
        """
        return self._partial(index)

    def maker(self, index: int) -> tuple[str, Mapping[str, Any]] | None:
        """Return the op type and the attrs of the op that created the handle in input `index`. If
        that op is unknown, return None.
        """
        return self._maker(index)

    def variable_shape(self, index: int) -> TensorShape:
        """Return the static shape of the variable whose handle is input `index`.

        The base class returns an unknown shape. The client graph's subclass overrides this method.
        """
        del index
        return TensorShape.of(None)

    def variable_dtype(self, index: int) -> DType | None:
        """Return the dtype of the variable whose handle is input `index`. If the dtype is unknown,
        return None.

        The base class returns None. The client graph's subclass overrides this method.
        """
        del index
        return None

    def value_as_shape(self, index: int) -> TensorShape:
        """Return input `index`, a vector of sizes, as a shape.

        Sizes that are -1 or not constant are unknown.
        """
        value = self.value(index)
        if value is not None:
            return as_output_shape(value)
        partial = self.partial(index)
        if partial is not None:
            return partial
        length = self.shapes[index].sizes
        if length is None or len(length) != 1 or length[0] is None:
            return TensorShape.of(None)
        return TensorShape.of((None,) * length[0])


InferFunction = Callable[[InferContext], Sequence[TensorShape]]


class ShapeRule:
    """Inference from the inputs' shapes only: every output has the shape `rule(shapes)`.

    A caller that needs no context calls `rule` directly.
    """

    __slots__ = ("rule",)

    def __init__(self, rule: Callable[[Sequence[TensorShape]], TensorShape]) -> None:
        self.rule = rule

    def __call__(self, context: InferContext) -> Sequence[TensorShape]:
        return [self.rule(context.shapes)] * context.num_outputs


def as_output_shape(value: Any) -> TensorShape:
    """Return a vector of sizes as a shape. A size of -1 is unknown. A scalar -1 is a shape of
    unknown rank.

    Raises ValueError for other negative sizes and for values of any other rank.
    """
    if getattr(value, "ndim", 1) == 0 and value[()] == -1:
        return TensorShape.of(None)
    if getattr(value, "ndim", 1) != 1:
        raise value_error(
            f"A shape must be a vector of sizes, but it is {value!r}",
            f"Shape must be rank 1 but is rank {getattr(value, 'ndim', 1)}",
        )
    sizes = tuple([whole(size) for size in value])
    if any(size < -1 for size in sizes):
        wrong = next(size for size in sizes if size < -1)
        raise value_error(
            f"A shape has sizes of 0 or more (-1: unknown), but it is {list(sizes)}",
            f"Invalid value in tensor used for shape: {wrong}",
        )
    return TensorShape.of(tuple(None if size == -1 else size for size in sizes))
