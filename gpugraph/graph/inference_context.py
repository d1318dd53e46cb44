"""InferContext: all that shape inference may know about one operation.

The same inference function serves three callers: the client graph (placeholders partly known),
the fold pass (fed shapes known), and a step whose sizes are known only when it runs. They differ
in how a constant input is found: the context is given `value`, a function of the input index, or
is of a subclass that answers `value` and `partial` itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gpugraph.base.dtypes import DType
from gpugraph.base.misfit import Misfit as Misfit
from gpugraph.base.shapes import TensorShape
from gpugraph.base.version import GRAPH_DEF_VERSION


def _nothing(_: int) -> Any:
    return None


class InferContext:
    """Shapes and dtypes of the inputs, attrs, and the values of inputs where they are constant.

    Attributes:
      producer: the version of the graph.
    """

    __slots__ = (
        "_dtypes", "_maker", "_partial", "_value", "attrs", "num_outputs", "producer", "shapes",
    )  # fmt: skip

    is_building = False
    """Whether the graph is being built: TensorFlow leaves some sizes open then."""

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
        """The array that input `index` always has, or None where it is not constant."""
        return self._value(index)

    def partial(self, index: int) -> TensorShape | None:
        """Input `index`, a vector of sizes that are partly known, as a shape; None if none is."""
        return self._partial(index)

    def maker(self, index: int) -> tuple[str, Mapping[str, Any]] | None:
        """Type and attrs of the op that made the handle in input `index`; None: not known."""
        return self._maker(index)

    def variable_shape(self, index: int) -> TensorShape:
        """What is known of the shape of the variable that input `index` is a handle of."""
        del index
        return TensorShape.of(None)

    def variable_dtype(self, index: int) -> DType | None:
        """The dtype of the variable that input `index` is a handle of; None where it is open."""
        del index
        return None

    def value_as_shape(self, index: int) -> TensorShape:
        """Input `index`, a vector of sizes, read as a shape; -1 and unknown sizes are open."""
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
    """Inference by the inputs' shapes alone: every output has the shape `rule(shapes)`.

    A caller that has no other use for a context asks the rule itself.
    """

    __slots__ = ("rule",)

    def __init__(self, rule: Callable[[Sequence[TensorShape]], TensorShape]) -> None:
        self.rule = rule

    def __call__(self, context: InferContext) -> Sequence[TensorShape]:
        return [self.rule(context.shapes)] * context.num_outputs


def as_output_shape(value: Any) -> TensorShape:
    """A vector of sizes (-1: open) as a shape; ValueError for sizes below -1 and other ranks."""
    if getattr(value, "ndim", 1) == 0 and int(value) == -1:
        return TensorShape.of(None)
    if getattr(value, "ndim", 1) != 1:
        raise ValueError(f"A shape must be a vector of sizes, but it is {value!r}")
    sizes = tuple(int(size) for size in value)
    if any(size < -1 for size in sizes):
        raise ValueError(f"A shape has sizes of 0 or more (-1: unknown), but it is {list(sizes)}")
    return TensorShape.of(tuple(None if size == -1 else size for size in sizes))
