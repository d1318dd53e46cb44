"""Attention layers: each query gets a weighted mean of the values.

The weight of a value is the similarity of the query and the value's key.
"""

from __future__ import annotations

from typing import Any

from gpugraph.base.shapes import TensorShape, as_shape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.keras.backend.elementwise_and_reductions import cumsum, softmax
from gpugraph.library.keras.layers.configured_layer import ConfiguredLayer
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.constants_and_placeholders import ones
from gpugraph.ops.arrays.reshape_and_transpose import expand_dims
from gpugraph.ops.elementwise.comparison_and_select import greater_equal, logical_and
from gpugraph.ops.elementwise.unary_functions import tanh
from gpugraph.ops.framework.identity_and_shape import shape
from gpugraph.ops.linalg.matmul import matmul
from gpugraph.ops.reductions.reduction_functions import reduce_sum

_FAR = 1e9
"""The number subtracted from the scores of masked keys."""


class _Attention(ConfiguredLayer):
    """Base class of attention layers, which are called on [query, value] or [query, value, key].

    The query has the shape [n, queries, size]. The value and the key have the shape [n, values,
    size]. By default, the keys are the values. Masks are a list [query mask, value mask]. Results
    of masked queries are 0. Masked values are ignored. A call raises ValueError if the inputs or
    the masks are not lists of this form.

    Args:
      causal: whether query i ignores the values after value i.
    """

    def __init__(self, causal: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.causal, self.supports_masking = causal, True
        self.keep_arguments({"causal": causal})

    def scores(self, query: Any, key: Any) -> Any:
        """Return the similarity of each query and key: [n, queries, keys]."""
        raise NotImplementedError

    def call(self, inputs: Any, mask: Any = None) -> Tensor:
        """Return, for each query, the mean of the values, weighted by the softmax of the query's
        scores.
        """
        self._check(inputs, mask)
        query, value = inputs[0], inputs[1]
        scores = self.scores(query, inputs[2] if len(inputs) > 2 else value)
        hidden = None if mask is None or mask[1] is None else expand_dims(mask[1], -2)
        if self.causal:
            sizes = shape(scores)
            places = cumsum(ones([1, *_last(sizes)], dtype="int32"), axis=-2)
            seen = greater_equal(places, cumsum(ones([1, *_last(sizes)], dtype="int32"), axis=-1))
            hidden = seen if hidden is None else logical_and(hidden, seen)
        if hidden is not None:
            scores = scores - _FAR * (1 - cast(hidden, scores.dtype.base_dtype))
        result = matmul(softmax(scores), value)
        if mask is not None and mask[0] is not None:
            result = result * cast(expand_dims(mask[0], -1), result.dtype.base_dtype)
        return result

    def _check(self, inputs: Any, mask: Any) -> None:
        kind = type(self).__name__
        if not isinstance(inputs, list) or not 2 <= len(inputs) <= 3:
            raise ValueError(
                f"{kind} layer must be called on a list of inputs, namely [query, value] or "
                f"[query, value, key]: {inputs!r}"
            )
        if mask is not None and (not isinstance(mask, list) or len(mask) not in (2, len(inputs))):
            raise ValueError(
                f"{kind} layer mask must be a list, namely [query_mask, value_mask]: {mask!r}"
            )

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """Return the mask of the outputs, which is the query mask."""
        self._check(inputs, mask)
        return None if mask is None else mask[0]

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """Return the shape [n, queries, size of a value]."""
        query, value = (as_shape(part) for part in input_shape[:2])
        return query[:-1].concatenate(value[-1])


def _last(sizes: Any) -> list[Any]:
    return [sizes[-2], sizes[-1]]


class Attention(_Attention):
    """Attention whose scores are dot products of queries and keys (Luong).

    Args:
      use_scale: whether the products are multiplied by a trained scalar `scale`.
    """

    def __init__(self, use_scale: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.use_scale = use_scale
        self.keep_arguments({"use_scale": use_scale})
        self.scale: Any = None

    def build(self, input_shape: Any) -> None:
        """Create the scalar variable `scale` if `use_scale` is set."""
        del input_shape
        if self.use_scale:
            self.scale = self.add_weight("scale", (), initializer=_ones)
        self.built = True

    def scores(self, query: Any, key: Any) -> Any:
        """Return the dot products of queries and keys, multiplied by `scale` if it exists."""
        products = matmul(query, key, transpose_b=True)
        return products if self.scale is None else products * self.scale


class AdditiveAttention(_Attention):
    """Attention whose scores are sum(scale * tanh(query + key)) (Bahdanau).

    Args:
      use_scale: whether `scale` is a trained vector. Otherwise `scale` is 1.
    """

    def __init__(self, use_scale: bool = True, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.use_scale = use_scale
        self.keep_arguments({"use_scale": use_scale})
        self.scale: Any = 1.0

    def build(self, input_shape: Any) -> None:
        """Create the vector variable `scale` if `use_scale` is set."""
        if self.use_scale:
            size = as_shape(input_shape[1]).as_list()[-1]
            self.scale = self.add_weight("scale", [size])
        self.built = True

    def scores(self, query: Any, key: Any) -> Any:
        """Return sum(scale * tanh(query + key)) for each query and key."""
        parts = tanh(expand_dims(query, -2) + expand_dims(key, -3))
        return reduce_sum(self.scale * parts, axis=-1)


def _ones(shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
    del partition_info
    return ones(shape, dtype=dtype)
