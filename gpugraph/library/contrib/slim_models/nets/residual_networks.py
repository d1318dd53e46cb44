"""Functions that both generations of residual networks share: first layers, blocks, logits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

from gpugraph.base.named_function import named
from gpugraph.building.variable_scope import variable_scope
from gpugraph.building.variable_scope.arg_scope import arg_scope
from gpugraph.library.contrib.layers import batch_norm, conv2d, max_pool2d, softmax
from gpugraph.library.contrib.slim_models.nets.network_rows import end_points_of
from gpugraph.library.contrib.slim_models.nets.resnet_utils import (
    Block,
    conv2d_same,
    stack_blocks_dense,
)
from gpugraph.ops.nn.activations.relu_and_elu import relu
from gpugraph.ops.reductions.reduction_functions import reduce_mean

Network = Callable[..., tuple[Any, dict[str, Any]]]

UNITS = {50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3), 200: (3, 24, 36, 3)}
"""By number of layers, the number of residual units in each of the four blocks."""


def residual_block(
    unit: Callable[..., Any], scope: str, base_depth: int, num_units: int, stride: int
) -> Block:
    """Return a block of `num_units` residual units with 4 * base_depth filters.

    The last unit has the stride `stride`. All other units have stride 1.
    """
    sizes = {"depth": base_depth * 4, "depth_bottleneck": base_depth}
    plain = [{**sizes, "stride": 1}] * (num_units - 1)
    return Block(scope, unit, [*plain, {**sizes, "stride": stride}])


def residual_network(default_scope: str, unit: Any, normalizes_before: bool) -> Network:
    """Return a function that builds a residual network from a list of blocks.

    Args:
      unit: the function that adds a residual unit.
      normalizes_before: whether the network is of the second generation, in which a unit normalizes
        its inputs.
    """

    @named(
        default_scope,
        """Return the output of a residual network of `blocks`, and the outputs of layers by name.

    num_classes: None for features without logits. global_pool: whether they are means over all
      pixels. output_stride: see `resnet_utils.stack_blocks_dense`. include_root_block: whether
      a convolution and a pooling come first, which reduce the images by a factor of four.

    Raises ValueError for an output stride that can't be reached, or that is not a multiple of 4
    with the root block.
    """,
    )
    def network(
        inputs: Any,
        blocks: Sequence[Block],
        num_classes: int | None = None,
        is_training: Any = True,
        global_pool: bool = True,
        output_stride: int | None = None,
        include_root_block: bool = True,
        reuse: Any = None,
        scope: Any = None,
    ) -> tuple[Any, dict[str, Any]]:
        with variable_scope(scope, default_scope, [inputs], reuse=reuse) as within:
            collection = f"{within.original_name_scope}_end_points"
            with (
                arg_scope([conv2d, unit, stack_blocks_dense], outputs_collections=collection),
                arg_scope([batch_norm], is_training=is_training),
            ):
                net = inputs
                if include_root_block:
                    if output_stride is not None and output_stride % 4:
                        raise ValueError(
                            f"The output_stride needs to be a multiple of 4: {output_stride}"
                        )
                    output_stride = None if output_stride is None else output_stride // 4
                    net = _root(net, is_plain=normalizes_before)
                net = stack_blocks_dense(net, blocks, output_stride)
                if normalizes_before:
                    net = batch_norm(net, activation_fn=relu, scope="postnorm")
                if global_pool:
                    net = reduce_mean(net, [1, 2], name="pool5", keepdims=True)
                if num_classes is not None:
                    net = conv2d(
                        net, num_classes, [1, 1], activation_fn=None, normalizer_fn=None,
                        scope="logits",
                    )  # fmt: skip
                end_points = end_points_of(collection)
                if num_classes is not None:
                    end_points["predictions"] = softmax(net, scope="predictions")
                return net, end_points

    return network


def _root(net: Any, is_plain: bool) -> Any:
    """Apply the first convolution and the first pooling.

    Args:
      is_plain: whether the convolution has no normalization and activation.
    """
    plain: Any = arg_scope([conv2d], activation_fn=None, normalizer_fn=None)
    with plain if is_plain else nullcontext():
        net = conv2d_same(net, 64, 7, stride=2, scope="conv1")
    return max_pool2d(net, [3, 3], stride=2, scope="pool1")


def sized_network(network: Network, block: Callable[..., Block], layers: int) -> Network:
    """Return the function that builds the residual network with `layers` layers.

    Args:
      block: a function that builds a block of residual units, such as `residual_block`.
    """
    name = f"{network.__name__}_{layers}"
    strides, depths = (2, 2, 2, 1), (64, 128, 256, 512)

    @named(
        name,
        f"""Return the output of a residual network of {layers} layers, and all outputs by name.

    num_classes: None for features without logits. global_pool: whether they are means over all
      pixels. output_stride: see `resnet_utils.stack_blocks_dense`.
    """,
    )
    def sized(
        inputs: Any,
        num_classes: int | None = None,
        is_training: Any = True,
        global_pool: bool = True,
        output_stride: int | None = None,
        reuse: Any = None,
        scope: Any = name,
    ) -> tuple[Any, dict[str, Any]]:
        blocks = [
            block(f"block{number}", depth, units, stride)
            for number, (depth, units, stride) in enumerate(zip(depths, UNITS[layers], strides), 1)
        ]
        return network(
            inputs, blocks, num_classes, is_training, global_pool, output_stride, True, reuse, scope
        )

    sized.default_image_size = 224  # type: ignore[attr-defined]
    return sized
