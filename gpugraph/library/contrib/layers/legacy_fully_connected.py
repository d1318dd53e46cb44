"""The predecessor of `fully_connected`. Old checkpoints contain its variable names."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from gpugraph.building.variable_scope import get_variable, variable_scope
from gpugraph.building.variable_scope.arg_scope import add_arg_scope
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.contrib.layers.layer_options import XAVIER, ZEROS
from gpugraph.ops.arrays.concat_and_stack import concat
from gpugraph.ops.arrays.reshape_and_transpose import reshape
from gpugraph.ops.framework.identity_and_shape import shape
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.linalg.matmul import matmul
from gpugraph.ops.nn.activations import relu_and_elu
from gpugraph.ops.nn.normalization.bias_and_moments import bias_add


@add_arg_scope
def legacy_fully_connected(
    x: Any,
    num_output_units: int,
    activation_fn: Any = None,
    weight_init: Any = XAVIER,
    bias_init: Any = ZEROS,
    name: Any = None,
    weight_collections: Sequence[str] | None = (GraphKeys.WEIGHTS,),
    bias_collections: Sequence[str] | None = (GraphKeys.BIASES,),
    output_collections: Sequence[str] | None = (GraphKeys.ACTIVATIONS,),
    trainable: bool = True,
    weight_regularizer: Any = None,
    bias_regularizer: Any = None,
) -> Tensor:
    """Return activation_fn(x @ weights + bias), along the last axis of `x`.

    Raises ValueError if `x` has an unknown rank, fewer than two axes, or a last axis of unknown
    size.

    Args:
      bias_init: the initializer of the bias. If `bias_init` is None, there is no bias.
      weight_collections, bias_collections, output_collections: additional collections for the
        weights, the bias and the output.
    """
    graph = get_default_graph()
    with variable_scope(name, "fully_connected", [x]):
        source = convert_to_tensor(x)
        units, dtype = _units(source), source.dtype.base_dtype

        def make(
            kind: str, sizes: list[int], initializer: Any, regularizer: Any, collections: Any
        ) -> Any:
            keys = dict.fromkeys([*(collections or ()), GraphKeys.GLOBAL_VARIABLES])
            return get_variable(kind, sizes, dtype, initializer, regularizer, trainable, list(keys))

        weights = make(
            "weights", [units, num_output_units], weight_init, weight_regularizer,
            weight_collections,
        )  # fmt: skip
        is_matrix = source.shape.rank == 2
        outputs = matmul(source if is_matrix else reshape(source, [-1, units]), weights)
        if bias_init is not None:
            bias = make("bias", [num_output_units], bias_init, bias_regularizer, bias_collections)
            outputs = bias_add(outputs, bias)
        if not is_matrix:
            outputs = reshape(outputs, concat([shape(source)[:-1], [num_output_units]], 0))
            outputs.set_shape([*source.shape.as_list()[:-1], num_output_units])
        if activation_fn is not None:
            outputs = activation_fn(outputs)
        keys = [*(output_collections or ()), GraphKeys.ACTIVATIONS]
        graph.add_to_collections(list(dict.fromkeys(keys)), outputs)
        return outputs


def _units(source: Tensor) -> int:
    sizes = source.shape.sizes
    if sizes is None:
        raise ValueError(f"dims of x must be known but is None: {source}")
    if len(sizes) < 2:
        raise ValueError(f"rank of x must be at least 2 not: {len(sizes)} ({source})")
    if sizes[-1] is None:
        raise ValueError(f"last dimension of x must be known but is None: {source}")
    return sizes[-1]


legacy_linear = partial(legacy_fully_connected)
legacy_relu = partial(legacy_fully_connected, activation_fn=relu_and_elu.relu)
