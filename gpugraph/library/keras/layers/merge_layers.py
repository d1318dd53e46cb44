"""Layers with several inputs: elementwise sums, products, maxima and minima, as well as
concatenation and dot products.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from gpugraph.base.named_function import named
from gpugraph.base.shapes import TensorShape, as_shape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.keras.engine.keras_layer import Layer
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.concat_and_stack import concat
from gpugraph.ops.arrays.constants_and_placeholders import ones_like
from gpugraph.ops.arrays.reshape_and_transpose import expand_dims, squeeze, transpose
from gpugraph.ops.elementwise.arithmetic_functions import (
    add as sum_of_two,
    maximum as maximum_of_two,
    minimum as minimum_of_two,
    multiply as product_of_two,
    subtract as difference_of_two,
)
from gpugraph.ops.elementwise.comparison_and_select import logical_and
from gpugraph.ops.linalg.matmul import matmul
from gpugraph.ops.nn.normalization.l2_normalize import l2_normalize
from gpugraph.ops.reductions.reduction_functions import reduce_all

Shape = tuple[int | None, ...]


class Merge(Layer):
    """A layer that applies an elementwise function to several tensors.

    Tensors of lower rank get axes of size 1 after the batch axis. A call raises ValueError for
    fewer than two inputs, and for shapes that do not broadcast.
    """

    supports_masking = True

    function: Callable[[Any, Any], Tensor]
    """The function of two tensors that combines the first two inputs, then each result and the next
    input.
    """

    def __init_subclass__(cls, function: Callable[[Any, Any], Tensor] | None = None) -> None:
        super().__init_subclass__()
        if function is not None:
            cls.function = staticmethod(function)

    def build(self, input_shape: Any) -> None:
        """Raise ValueError unless the layer receives at least two inputs, with the same batch size
        and shapes that broadcast.
        """
        shapes = _listed_shapes(self, input_shape)
        sizes = {shape[0] for shape in shapes} - {None}
        if len(sizes) > 1:
            raise ValueError(
                f"Can not merge tensors with different batch sizes. Got tensors with shapes : "
                f"{shapes}"
            )
        self.compute_output_shape(shapes)
        super().build(input_shape)

    def merge(self, inputs: Sequence[Tensor]) -> Tensor:
        """Apply the function to the first two inputs, then to each result and the next input."""
        return reduce(self.function, inputs)

    def call(self, inputs: Any) -> Tensor:
        """Apply the function to the inputs. Inputs of lower rank first get axes of size 1."""
        if not isinstance(inputs, (list, tuple)):
            raise ValueError("A merge layer should be called on a list of inputs.")
        ranks = [tensor.shape.rank for tensor in inputs]
        if None in ranks:
            return self.merge(inputs)
        widened = []
        for tensor in inputs:
            for _ in range(max(ranks) - int(tensor.shape.rank or 0)):
                tensor = expand_dims(tensor, 1)
            widened.append(tensor)
        return self.merge(widened)

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """Return the shape to which the inputs broadcast. The batch axis does not broadcast."""
        shapes = _listed_shapes(self, input_shape)
        sizes = reduce(_broadcast, (shape[1:] for shape in shapes))
        batches = {shape[0] for shape in shapes}
        return TensorShape([batches.pop() if len(batches) == 1 else None, *sizes])

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """Return the logical and of the inputs' masks. Inputs without a mask are ignored. If no
        input has a mask, return None.
        """
        if mask is None or all(part is None for part in mask):
            return None
        return reduce(logical_and, [cast(part, "bool") for part in mask if part is not None])


def _listed_shapes(layer: Layer, input_shape: Any) -> list[Shape]:
    if not isinstance(input_shape, (list, tuple)) or len(input_shape) < 2:
        raise ValueError(
            f"A merge layer ({layer.name}) should be called on a list of at least 2 inputs. Got "
            f"{input_shape}"
        )
    shapes = [tuple(as_shape(shape).as_list()) for shape in input_shape]
    if () in shapes:
        raise ValueError(f"A merge layer ({layer.name}) merges batches, no scalars. Got {shapes}")
    return shapes


def _broadcast(one: Shape, other: Shape) -> Shape:
    """Return the shape to which two shapes broadcast. The last axes of the two shapes are
    aligned.
    """
    length = max(len(one), len(other))
    one, other = ((1,) * (length - len(shape)) + tuple(shape) for shape in (one, other))
    sizes: list[int | None] = []
    for size, peer in zip(one, other):
        if size is None or peer is None:
            known = peer if size is None else size
            sizes.append(None if known == 1 else known)
        elif size != peer and 1 not in (size, peer):
            raise ValueError(f"Operands could not be broadcast together with shapes {one} {other}")
        else:
            sizes.append(peer if size == 1 else size)
    return tuple(sizes)


class Add(Merge, function=sum_of_two):
    """A layer that returns the sum of its inputs."""


class Subtract(Merge, function=difference_of_two):
    """A layer that returns its first input minus the second.

    A call raises ValueError unless there are two inputs.
    """

    def build(self, input_shape: Any) -> None:
        """Raise ValueError unless there are two inputs."""
        super().build(input_shape)
        if len(input_shape) != 2:
            raise ValueError("A `Subtract` layer should be called on exactly 2 inputs")


class Multiply(Merge, function=product_of_two):
    """A layer that returns the product of its inputs."""


class Average(Add):
    """A layer that returns the mean of its inputs."""

    def merge(self, inputs: Sequence[Tensor]) -> Tensor:
        """Return the mean of the inputs."""
        return super().merge(inputs) / len(inputs)


class Maximum(Merge, function=maximum_of_two):
    """A layer that returns the elementwise maximum of its inputs."""


class Minimum(Merge, function=minimum_of_two):
    """A layer that returns the elementwise minimum of its inputs."""


class Concatenate(Merge):
    """A layer that concatenates its inputs along `axis`.

    A call raises ValueError if the inputs have different sizes along any other axis.
    """

    def __init__(self, axis: int = -1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axis = axis

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """Return the shape of the inputs. The size of the result along `axis` is the sum of the
        inputs' sizes.
        """
        shapes = [list(shape) for shape in _listed_shapes(self, input_shape)]
        sizes = [shape[self.axis] for shape in shapes]
        for shape in shapes:
            shape[self.axis] = None
        whole = shapes[0]
        for shape in shapes[1:]:
            if not TensorShape(whole).is_compatible_with(shape):
                raise ValueError(
                    "A `Concatenate` layer requires inputs with matching shapes except for the "
                    f"concat axis. Got inputs shapes: {input_shape}"
                )
            whole = TensorShape(whole).merge_with(shape).as_list()
        whole[self.axis] = None if None in sizes else sum(size or 0 for size in sizes)
        return TensorShape(whole)

    def call(self, inputs: Any) -> Tensor:
        """Concatenate the inputs."""
        if not isinstance(inputs, (list, tuple)):
            raise ValueError("A `Concatenate` layer should be called on a list of inputs")
        return concat(list(inputs), self.axis)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """Return the concatenated masks. An input without a mask is treated as unmasked. If no
        input has a mask, return None.
        """
        if mask is None or all(part is None for part in mask):
            return None
        masks = []
        for tensor, part in zip(inputs, mask):
            if part is None:
                masks.append(ones_like(tensor, dtype="bool"))
            elif part.shape.rank < tensor.shape.rank:
                masks.append(expand_dims(part, -1))
            else:
                masks.append(part)
        masks = [cast(part, "bool") for part in masks]
        return reduce_all(concat(masks, self.axis), axis=-1)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor."""
        return {**super().get_config(), "axis": self.axis}


class Dot(Merge):
    """A layer that returns the dot products of the examples of two inputs, along one axis of each
    input.

    The constructor raises TypeError or ValueError if `axes` is neither an int nor a pair of ints. A
    call raises ValueError if the sizes along these axes differ.

    Args:
      axes: one axis for both inputs, or a pair with an axis of each input.
      normalize: whether vectors along these axes are first scaled to length 1.
    """

    def __init__(self, axes: Any, normalize: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if not isinstance(axes, int):
            if not isinstance(axes, (list, tuple)):
                raise TypeError(f"Invalid type for `axes` - should be a list or an int: {axes!r}")
            if len(axes) != 2 or not all(isinstance(axis, int) for axis in axes):
                raise ValueError(f"Invalid format for `axes` - should contain two ints: {axes!r}")
        self.axes, self.normalize = axes, normalize
        self.supports_masking = True

    def _places(self, shapes: Sequence[Any]) -> tuple[int, int]:
        axes = (self.axes, self.axes) if isinstance(self.axes, int) else tuple(self.axes)
        first, second = (axis % len(shape) for axis, shape in zip(axes, shapes))
        return first, second

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """Return [batch, sizes of the first input, sizes of the second input], without the axes
        `axes`.
        """
        one, other = (list(shape) for shape in _listed_shapes(self, input_shape))
        first, second = self._places((one, other))
        size, peer = one.pop(first), other.pop(second)
        if size is not None and peer is not None and size != peer:
            raise ValueError(
                f"Dimension incompatibility {size} != {peer}. Layer shapes: {input_shape}"
            )
        sizes = [*one, *other[1:]]
        return TensorShape(sizes if len(sizes) > 1 else [*sizes, 1])

    def call(self, inputs: Any) -> Tensor:
        """Return the dot products. For two matrices [n, size], the result is [n, 1]."""
        one, other = inputs
        first, second = self._places([tensor.shape.as_list() for tensor in inputs])
        if self.normalize:
            one, other = l2_normalize(one, axis=first), l2_normalize(other, axis=second)
        rows = _axis_at(one, first, -1)
        columns = _axis_at(other, second, 1)
        if rows.shape.rank == 2:
            rows = expand_dims(rows, 1)
        if columns.shape.rank == 2:
            columns = expand_dims(columns, 2)
        product = matmul(rows, columns)
        if one.shape.rank == 2:
            product = squeeze(product, [1])
        return squeeze(product, [2]) if other.shape.rank == 2 and one.shape.rank == 3 else product

    def compute_mask(self, inputs: Any, mask: Any = None) -> None:
        """Return None, because dot products have no mask."""

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor."""
        return {**super().get_config(), "axes": self.axes, "normalize": self.normalize}


def _axis_at(tensor: Tensor, axis: int, place: int) -> Tensor:
    """Transpose a tensor to move `axis` to the index `place`, 1 or -1. The other axes keep their
    order.
    """
    order = [index for index in range(int(tensor.shape.rank or 0)) if index != axis]
    order.insert(len(order) if place == -1 else place, axis)
    return tensor if order == sorted(order) else transpose(tensor, order)


def merge_function(layer: type[Merge], name: str) -> Callable[..., Tensor]:
    """Return a function `name(inputs, **kwargs)` that calls a new layer on the inputs, such as
    `add` for `Add`.
    """

    @named(name, f"Apply a new `{layer.__name__}` layer to `inputs`.\n\n{layer.__doc__}")
    def function(inputs: Any, **kwargs: Any) -> Tensor:
        return layer(**kwargs)(inputs)

    function.__module__ = __name__
    return function


add = merge_function(Add, "add")
subtract = merge_function(Subtract, "subtract")
multiply = merge_function(Multiply, "multiply")
average = merge_function(Average, "average")
maximum = merge_function(Maximum, "maximum")
minimum = merge_function(Minimum, "minimum")


def concatenate(inputs: Any, axis: int = -1, **kwargs: Any) -> Tensor:
    """Concatenate the inputs along `axis` with a new `Concatenate` layer."""
    return Concatenate(axis=axis, **kwargs)(inputs)


def dot(inputs: Any, axes: Any, normalize: bool = False, **kwargs: Any) -> Tensor:
    """Return dot products of two inputs along `axes` from a new `Dot` layer."""
    return Dot(axes=axes, normalize=normalize, **kwargs)(inputs)
