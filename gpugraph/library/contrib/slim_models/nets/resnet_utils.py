"""Blocks of residual networks: sequences of residual units, and the control of their strides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any, NamedTuple

from gpugraph.building.variable_scope import variable_scope
from gpugraph.building.variable_scope.arg_scope import Scope, add_arg_scope, arg_scope
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.contrib.layers import (
    batch_norm,
    conv2d,
    l2_regularizer,
    max_pool2d,
    variance_scaling_initializer,
)
from gpugraph.library.contrib.layers.layer_collections import collect_outputs
from gpugraph.ops.arrays.tile_and_pad import pad
from gpugraph.ops.nn.activations.relu_and_elu import relu


class Block(NamedTuple):
    """A sequence of residual units in the variable scope `scope`.

    Unit i is the result of `unit_fn(net, rate=..., **args[i])`.
    """

    scope: str
    unit_fn: Callable[..., Any]
    args: Sequence[dict[str, Any]]


def subsample(inputs: Any, factor: int, scope: str | None = None) -> Any:
    """Return every `factor`-th pixel along height and width."""
    return inputs if factor == 1 else max_pool2d(inputs, [1, 1], stride=factor, scope=scope)


def conv2d_same(
    inputs: Any, num_outputs: int, kernel_size: int, stride: int, rate: int = 1,
    scope: Any = None,
) -> Any:  # fmt: skip
    """Apply a convolution whose padding does not depend on the size of the images.

    In contrast, the padding "SAME" depends on the size if the stride is above 1.
    """
    if stride == 1:
        return conv2d(
            inputs, num_outputs, kernel_size, stride=1, rate=rate, padding="SAME", scope=scope
        )
    total = kernel_size + (kernel_size - 1) * (rate - 1) - 1
    sides = [total // 2, total - total // 2]
    padded = pad(inputs, [[0, 0], sides, sides, [0, 0]])
    return conv2d(
        padded, num_outputs, kernel_size, stride=stride, rate=rate, padding="VALID", scope=scope
    )


@add_arg_scope
def stack_blocks_dense(
    net: Tensor,
    blocks: Sequence[Block],
    output_stride: int | None = None,
    outputs_collections: Any = None,
) -> Tensor:
    """Apply the blocks one after the other.

    Raises ValueError if the strides can't reach `output_stride`.

    Args:
      output_stride: the ratio of input size to output size. After this ratio is reached, further
        strides become dilation rates of the convolutions.
    """
    current_stride = rate = 1
    for block in blocks:
        with variable_scope(block.scope, "block", [net]) as within:
            for number, unit in enumerate(block.args, 1):
                if output_stride is not None and current_stride > output_stride:
                    raise ValueError(f"The target output_stride cannot be reached: {output_stride}")
                stride = unit.get("stride", 1)
                with variable_scope(f"unit_{number}", values=[net]):
                    if current_stride == output_stride:
                        net = block.unit_fn(net, rate=rate, **{**unit, "stride": 1})
                        rate *= stride
                    else:
                        net = block.unit_fn(net, rate=1, **unit)
                        current_stride *= stride
            net = collect_outputs(outputs_collections, within.name, net)
    if output_stride is not None and current_stride != output_stride:
        raise ValueError(f"The target output_stride cannot be reached: {output_stride}")
    return net


def resnet_arg_scope(
    weight_decay: float = 0.0001,
    batch_norm_decay: float = 0.997,
    batch_norm_epsilon: float = 1e-5,
    batch_norm_scale: bool = True,
) -> Scope:
    """Return the default arguments of the layers of residual networks, for `arg_scope`."""
    normalization = {
        "decay": batch_norm_decay, "epsilon": batch_norm_epsilon, "scale": batch_norm_scale,
        "updates_collections": GraphKeys.UPDATE_OPS,
    }  # fmt: skip
    with ExitStack() as stack:
        stack.enter_context(
            arg_scope(
                [conv2d], weights_regularizer=l2_regularizer(weight_decay),
                weights_initializer=variance_scaling_initializer(), activation_fn=relu,
                normalizer_fn=batch_norm, normalizer_params=normalization,
            )
        )  # fmt: skip
        stack.enter_context(arg_scope([batch_norm], **normalization))
        return stack.enter_context(arg_scope([max_pool2d], padding="SAME"))
