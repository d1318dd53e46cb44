"""Pooling as functions: the maximum or the mean of each window."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpugraph.base.named_function import named
from gpugraph.building.variable_scope.arg_scope import add_arg_scope
from gpugraph.graph.attr_values import text_of
from gpugraph.graph.client.default_graph_functions import name_scope
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.contrib.layers.layer_collections import collect_outputs
from gpugraph.library.contrib.layers.slim_convolutions import checked_format
from gpugraph.library.layers import AveragePooling2D, AveragePooling3D, MaxPooling2D, MaxPooling3D
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.nn.pooling.pool_functions import pool as pool_of_any_rank

_FORMATS = {2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}


def _pool(
    name: str, default_scope: str, layer_class: Callable[..., Any], dimensions: int, summary: str
) -> Callable[..., Tensor]:
    """Return a function that applies a pooling layer of `tf.layers`.

    Args:
      name, summary: the name and the docstring of the function.
      dimensions: the number of spatial axes.
    """
    formats = _FORMATS[dimensions]

    @add_arg_scope
    @named(
        name,
        f"""{summary}

    kernel_size, stride: a number, or one for each axis. Raises ValueError for another data format.
    """,
    )
    def layer(
        inputs: Any,
        kernel_size: Any,
        stride: Any = 2,
        padding: str = "VALID",
        data_format: str = formats[0],
        outputs_collections: Any = None,
        scope: str | None = None,
    ) -> Tensor:
        layout = checked_format(data_format, formats)
        with name_scope(scope, default_scope, [inputs]) as within:
            source = convert_to_tensor(inputs)
            pooled: Tensor = layer_class(
                kernel_size, stride, padding, data_format=layout, name=name
            ).call(source)
            return collect_outputs(outputs_collections, within, pooled)

    return layer


max_pool2d = _pool(
    "max_pool2d",
    "MaxPool2D",
    MaxPooling2D,
    2,
    "Return the maximum of each window of images, by channel; see `tf.nn.max_pool`.",
)
avg_pool2d = _pool(
    "avg_pool2d",
    "AvgPool2D",
    AveragePooling2D,
    2,
    "Return the mean of each window of images, by channel; see `tf.nn.avg_pool`.",
)
max_pool3d = _pool(
    "max_pool3d",
    "MaxPool3D",
    MaxPooling3D,
    3,
    "Return the maximum of each window of volumes, by channel; see `tf.nn.max_pool3d`.",
)
avg_pool3d = _pool(
    "avg_pool3d",
    "AvgPool3D",
    AveragePooling3D,
    3,
    "Return the mean of each window of volumes, by channel; see `tf.nn.avg_pool3d`.",
)


@add_arg_scope
def pool(
    inputs: Any,
    kernel_size: Sequence[int],
    pooling_type: str,
    padding: str = "VALID",
    data_format: str | None = None,
    dilation_rate: Any = 1,
    stride: Any = 1,
    outputs_collections: Any = None,
    scope: str | None = None,
) -> Tensor:
    """Pool windows along any number of axes. See `tf.nn.pool`.

    Raises ValueError for inputs of unknown rank.

    Args:
      pooling_type: "MAX" or "AVG".
      kernel_size, stride, dilation_rate: a number, or one for each axis.
    """
    kind = text_of("pooling_type", pooling_type)
    with name_scope(scope, f"{kind.lower()}_pool", [inputs]) as within:
        source = convert_to_tensor(inputs)
        rank = source.shape.rank
        if rank is None:
            raise ValueError(f"Rank of inputs must be known, but it is not: {source}")
        sizes = [
            [value] * (rank - 2) if isinstance(value, int) else list(value)
            for value in (kernel_size, dilation_rate, stride)
        ]
        outputs = pool_of_any_rank(
            source, sizes[0], pooling_type, padding, dilation_rate=sizes[1], strides=sizes[2],
            data_format=data_format,
        )  # fmt: skip
        return collect_outputs(outputs_collections, within, outputs)
