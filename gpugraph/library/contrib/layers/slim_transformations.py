"""Layers that rearrange, encode or select elements, most of them without variables."""

from __future__ import annotations

from typing import Any

from gpugraph.base import dtypes
from gpugraph.building.gradients import custom_gradient
from gpugraph.building.variable_scope import variable_scope
from gpugraph.building.variable_scope.arg_scope import add_arg_scope
from gpugraph.graph.client.default_graph_functions import name_scope
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.contrib.layers.layer_collections import collect_outputs, collections_of
from gpugraph.library.contrib.layers.model_variables import model_variable
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.concat_and_stack import concat
from gpugraph.ops.arrays.masks_and_coordinates import meshgrid
from gpugraph.ops.arrays.reshape_and_transpose import reshape, transpose
from gpugraph.ops.elementwise.arithmetic_functions import minimum
from gpugraph.ops.elementwise.comparison_and_select import not_equal, where
from gpugraph.ops.elementwise.unary_functions import rsqrt, square
from gpugraph.ops.framework.identity_and_shape import identity, shape
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.indexing.coordinate_gather_scatter import gather_nd
from gpugraph.ops.indexing.one_hot_where_unique import linspace, one_hot
from gpugraph.ops.nn.activations.softmax import softmax as softmax_of
from gpugraph.ops.random.variable_initializers import Ones
from gpugraph.ops.reductions.reduction_functions import reduce_max, reduce_sum
from gpugraph.ops.sparse.sparse_tensor import SparseTensor


def _known_sizes(tensor: Tensor) -> list[Any]:
    """Return the size of each axis: an int if it is known, otherwise a scalar tensor."""
    sizes = tensor.shape.as_list()
    if None not in sizes:
        return sizes
    whole = shape(tensor)
    return [whole[axis] if size is None else size for axis, size in enumerate(sizes)]


@add_arg_scope
def softmax(logits: Any, scope: str | None = None) -> Tensor:
    """Return the softmax of `logits`, of any rank, along the last axis."""
    with name_scope(scope, "softmax", [logits]):
        return softmax_of(convert_to_tensor(logits))


@add_arg_scope
def one_hot_encoding(
    labels: Any,
    num_classes: int,
    on_value: float = 1.0,
    off_value: float = 0.0,
    outputs_collections: Any = None,
    scope: str | None = None,
) -> Tensor:
    """Encode labels [n] as rows [n, num_classes] that contain `on_value` at the label and
    `off_value` elsewhere.
    """
    with name_scope(scope, "OneHotEncoding", [labels, num_classes]) as within:
        source = convert_to_tensor(labels)
        if source.dtype == dtypes.int32:
            source = cast(source, dtypes.int64)
        outputs = one_hot(source, num_classes, on_value=on_value, off_value=off_value)
        return collect_outputs(outputs_collections, within, outputs)


@add_arg_scope
def maxout(inputs: Any, num_units: int, axis: int = -1, scope: str | None = None) -> Tensor:
    """Return the maximum of each group of `channels / num_units` adjacent channels along `axis`.

    Source: Goodfellow et al., 2013 (arXiv:1302.4389). Raises ValueError if the number of channels
    is not a multiple of `num_units`.
    """
    with name_scope(scope, "MaxOut", [inputs]):
        source = convert_to_tensor(inputs)
        sizes = _known_sizes(source)
        if not -len(sizes) <= axis < len(sizes):
            raise ValueError(f"axis {axis} must be one of {source.shape}")
        channels = sizes[axis]
        if channels % num_units:
            raise ValueError(
                f"number of features({channels}) is not a multiple of num_units({num_units})"
            )
        sizes[axis] = num_units
        return reduce_max(reshape(source, [*sizes, channels // num_units]), -1)


@add_arg_scope
def images_to_sequence(
    inputs: Any, data_format: str = "NHWC", outputs_collections: Any = None,
    scope: str | None = None,
) -> Tensor:  # fmt: skip
    """Convert images [n, h, w, channels] to sequences along the width: [w, n * h, channels].

    Raises ValueError for an unsupported data format.
    """
    if data_format not in ("NHWC", "NCHW"):
        raise ValueError(f"data_format has to be either NCHW or NHWC, but it is {data_format!r}")
    with name_scope(scope, "ImagesToSequence", [inputs]) as within:
        source = convert_to_tensor(inputs)
        if data_format == "NCHW":
            source = transpose(source, [0, 2, 3, 1])
        count, height, width, depth = _known_sizes(source)
        turned = transpose(source, [2, 0, 1, 3])
        outputs = reshape(turned, [width, count * height, depth])
        return collect_outputs(outputs_collections, within, outputs)


@add_arg_scope
def sequence_to_images(
    inputs: Any, height: int, output_data_format: str = "channels_last",
    outputs_collections: Any = None, scope: str | None = None,
) -> Tensor:  # fmt: skip
    """Convert sequences [w, n * height, channels] to images. This is the inverse of
    `images_to_sequence`.
    """
    with name_scope(scope, "SequenceToImages", [inputs]) as within:
        source = convert_to_tensor(inputs)
        _, rows, depth = source.shape.as_list()
        width = _known_sizes(source)[0]
        count = -1 if rows is None else rows // height
        parts = reshape(source, [width, count, height, depth])
        order = [1, 3, 2, 0] if output_data_format == "channels_first" else [1, 2, 0, 3]
        return collect_outputs(outputs_collections, within, transpose(parts, order))


@add_arg_scope
def spatial_softmax(
    features: Any,
    temperature: Any = None,
    name: str | None = None,
    variables_collections: Any = None,
    trainable: bool = True,
    data_format: str = "NHWC",
) -> Tensor:
    """Return, for each channel of images, the mean position weighted by the softmax of the pixels.

    [n, h, w, channels] becomes [n, 2 * channels], with two coordinates in [-1, 1] for each channel.

    Raises ValueError for an unsupported data format, and for an unknown number of channels.

    Args:
      temperature: the divisor of the features; by default a variable with initial value 1.
    """
    if data_format not in ("NHWC", "NCHW"):
        raise ValueError(f"data_format has to be either NCHW or NHWC, but it is {data_format!r}")
    with variable_scope(name, "spatial_softmax"):
        source = convert_to_tensor(features)
        if data_format == "NHWC":
            source = transpose(source, [0, 3, 1, 2])
        static = source.shape.as_list()
        if static[1] is None:
            raise ValueError(f"The channels of the features must be known: {features}")
        _, channels, height, width = _known_sizes(source)
        if temperature is None:
            temperature = model_variable(
                "temperature", shape=(), dtype=dtypes.float32, initializer=Ones(),
                collections=collections_of(variables_collections, "temperature"),
                trainable=trainable,
            )  # fmt: skip
        pixels = reshape(source, [-1, height * width])
        attention = softmax_of(pixels / temperature)
        rows, columns = meshgrid(
            linspace(-1.0, 1.0, num=height), linspace(-1.0, 1.0, num=width), indexing="ij"
        )
        positions = [
            reduce_sum(attention * reshape(positions, [height * width]), 1, keepdims=True)
            for positions in (rows, columns)
        ]
        outputs = reshape(concat(positions, 1), [-1, channels * 2])
        outputs.set_shape([static[0], channels * 2])
        return outputs


@add_arg_scope
def dense_to_sparse(
    tensor: Any, eos_token: Any = 0, outputs_collections: Any = None, scope: str | None = None
) -> SparseTensor:
    """Return a SparseTensor of the elements that are not `eos_token`."""
    with variable_scope(scope, "dense_to_sparse", [tensor]) as within:
        source = convert_to_tensor(tensor)
        indices = where(not_equal(source, convert_to_tensor(eos_token, source.dtype)))
        outputs = SparseTensor(
            indices, gather_nd(source, indices), shape(source, out_type=dtypes.int64)
        )
        collect_outputs(outputs_collections, within.name, outputs)
        return outputs


def scale_gradient(inputs: Any, gradient_multiplier: Any) -> Tensor:
    """Return the inputs unchanged, but multiply their gradient by `gradient_multiplier`."""

    @custom_gradient
    def multiply_back(values: Tensor) -> Any:
        def back(gradient: Tensor) -> Tensor:
            return gradient * gradient_multiplier

        return identity(values), back

    scaled: Tensor = multiply_back(convert_to_tensor(inputs))
    return scaled


def poincare_normalize(
    x: Any, axis: int = 1, epsilon: float = 1e-5, name: str | None = None
) -> Tensor:
    """Scale vectors along `axis` of `x` to length 1 - epsilon if they are longer than that.

    Source: Nickel and Kiela, 2017 (arXiv:1705.08039).
    """
    with name_scope(name, "poincare_normalize", [x]):
        source = convert_to_tensor(x)
        inverse = rsqrt(reduce_sum(square(source), axis, keepdims=True))
        bounded: Tensor = source * minimum((1.0 - epsilon) * inverse, 1.0)
        return bounded
