"""`tf.nn.conv3d`, which convolves volumes, and the gradient with respect to its filter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import int_argument
from gpugraph.ops.nn.convolution.conv3d_ops import conv3d_op
from gpugraph.ops.nn.windows.window_arguments import one_of, volume_attrs


def conv3d(
    input: Any,
    filter: Any = None,
    strides: Any = None,
    padding: Any = None,
    data_format: str = "NDHWC",
    dilations: Sequence[int] = (1, 1, 1, 1, 1),
    name: str | None = None,
    filters: Any = None,
) -> Tensor:
    """Convolve `input` [n, d, h, w, c] with `filter` [kd, kh, kw, c, out].

    Raises ValueError if a window is larger than the volume, or if the numbers of channels differ.

    Args:
      strides: the distances between windows, one number for each of the five dimensions.
      dilations: the distances between the elements of a window, in the same form.
      padding: "SAME" or "VALID".
      data_format: "NDHWC", or "NCDHW" for volumes [n, c, d, h, w].
    """
    weights = one_of("filters", filters, "filter", filter)
    attrs = volume_attrs(strides, padding, data_format, dilations)
    return conv3d_op(input, weights, **attrs, name=name)


def conv3d_backprop_filter_v2(
    input: Any,
    filter_sizes: Any,
    out_backprop: Any,
    strides: Any,
    padding: str,
    data_format: str = "NDHWC",
    dilations: Sequence[int] = (1, 1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """Return the gradient of `conv3d` with respect to its filter.

    Args:
      filter_sizes: the five sizes of the filter.
      out_backprop: the gradient with respect to the result of `conv3d`.
    """
    attrs = volume_attrs(strides, padding, data_format, dilations)
    return raw_ops.Conv3DBackpropFilterV2(
        input, int_argument(filter_sizes), out_backprop, **attrs, name=name
    )
