"""Embedding: a layer that maps integers to trained vectors."""

from __future__ import annotations

from typing import Any

from gpugraph.base.dtypes import int32, int64
from gpugraph.base.shapes import TensorShape, as_shape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.keras.layers.configured_layer import ConfiguredLayer
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.elementwise.comparison_and_select import not_equal
from gpugraph.ops.indexing.embedding_lookup import embedding_lookup


class Embedding(ConfiguredLayer):
    """A layer that maps integers [...] to rows of the variable `embeddings` [input_dim,
    output_dim].

    The result has the shape [..., output_dim]. A call raises ValueError if the length of the inputs
    is not `input_length`.

    Args:
      input_dim: the number of rows. The inputs are integers from 0 to input_dim - 1.
      output_dim: the length of a row.
      mask_zero: whether 0 means padding. The outputs' mask is then False for inputs of 0.
      input_length: the number of integers in an example, if this number is the same for all
        examples. `input_length` may also be a tuple of sizes.
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        embeddings_initializer: Any = "uniform",
        embeddings_regularizer: Any = None,
        activity_regularizer: Any = None,
        embeddings_constraint: Any = None,
        mask_zero: bool = False,
        input_length: Any = None,
        **kwargs: Any,
    ) -> None:
        if "input_shape" not in kwargs and "batch_input_shape" not in kwargs:
            kwargs["input_shape"] = (input_length,)
        kwargs.setdefault("dtype", "float32")
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        self.input_dim, self.output_dim = input_dim, output_dim
        self.mask_zero, self.input_length = mask_zero, input_length
        self.supports_masking = mask_zero
        self.keep_arguments(locals())
        self.embeddings: Any = None

    def build(self, input_shape: Any) -> None:
        """Create the variable `embeddings`."""
        del input_shape
        self.embeddings = self.add_parameter("embeddings", [self.input_dim, self.output_dim])
        self.built = True

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """Return a mask that is True where an input is not 0. If `mask_zero` is not set, return
        None.
        """
        del mask
        return not_equal(inputs, 0) if self.mask_zero else None

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """Return the shape [..., output_dim]."""
        sizes = as_shape(input_shape).as_list()
        if self.input_length is not None:
            length = self.input_length
            wanted = list(length) if isinstance(length, (list, tuple)) else [length]
            fits = len(wanted) == len(sizes) - 1 and all(
                None in (fixed, size) or fixed == size for fixed, size in zip(wanted, sizes[1:])
            )
            if not fits:
                raise ValueError(
                    f'"input_length" is {self.input_length}, but received input has shape '
                    f"{input_shape}"
                )
            sizes[1:] = [fixed if size is None else size for fixed, size in zip(wanted, sizes[1:])]
        return TensorShape([*sizes, self.output_dim])

    def call(self, inputs: Tensor) -> Tensor:
        """Return the row of `embeddings` for each input."""
        if inputs.dtype.base_dtype not in (int32, int64):
            inputs = cast(inputs, int32)
        return embedding_lookup(self.embeddings, inputs)
