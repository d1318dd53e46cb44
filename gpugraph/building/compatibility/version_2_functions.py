"""TensorFlow 2 functions that are common in programs for version 1: `tf.compat.v2`.

They compute the same results as the functions of the same name in version 1. The order of the
arguments differs. The rows of a partitioned table are divided into consecutive blocks (the strategy
"div").
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from gpugraph.base.value_text import shown
from gpugraph.graph.client import default_graph_functions as version_1
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.nn.convolution import conv2d_functions, conv_transpose
from gpugraph.ops.nn.losses import nce_and_sampled_softmax
from gpugraph.ops.sparse import embedding_lookup_sparse


class name_scope:
    """A context manager that creates ops in a name scope. If the name is in use, a number is
    appended to it.

    Args:
      name: the name of the scope. If it has a trailing slash, the existing scope of that name is
        entered again. The constructor raises TypeError if the name is not a string.
    """

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise TypeError(f"name for name_scope must be a string, but it is {shown(name)}")
        self._name = name
        self._entered: list[AbstractContextManager[str]] = []

    @property
    def name(self) -> str:
        """The name that was passed to the constructor."""
        return self._name

    def __enter__(self) -> str:
        scope = version_1.name_scope(self._name)
        prefix = scope.__enter__()
        self._entered.append(scope)
        return prefix

    def __exit__(self, *error: Any) -> None:
        self._entered.pop().__exit__(*error)


def safe_embedding_lookup_sparse(
    embedding_weights: Any,
    sparse_ids: Any,
    sparse_weights: Any = None,
    combiner: str = "mean",
    default_id: int | None = None,
    max_norm: float | None = None,
    name: str | None = None,
) -> Tensor:
    """Call `tf.nn.safe_embedding_lookup_sparse` for tables partitioned by "div".

    Returns a tensor of shape sparse_ids.shape[:-1] + (columns,), where columns is the size of an
    embedding. Raises the errors of `tf.nn.safe_embedding_lookup_sparse`.
    """
    return embedding_lookup_sparse.safe_embedding_lookup_sparse(
        embedding_weights, sparse_ids, sparse_weights, combiner, default_id, name, "div", max_norm
    )


def nce_loss(
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: Any = None,
    remove_accidental_hits: bool = False,
    name: str = "nce_loss",
) -> Tensor:
    """Call `tf.nn.nce_loss` for tables partitioned by "div". Return the loss of each row of
    `inputs`, in their dtype.
    """
    return nce_and_sampled_softmax.nce_loss(
        weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values,
        remove_accidental_hits, "div", name,
    )  # fmt: skip


def sampled_softmax_loss(
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: Any = None,
    remove_accidental_hits: bool = True,
    seed: int | None = None,
    name: str = "sampled_softmax_loss",
) -> Tensor:
    """Call `tf.nn.sampled_softmax_loss` for tables partitioned by "div". Return the loss of each
    row of `inputs`.
    """
    return nce_and_sampled_softmax.sampled_softmax_loss(
        weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values,
        remove_accidental_hits, "div", name, seed,
    )  # fmt: skip


def conv2d_transpose(
    input: Any,
    filters: Any,
    output_shape: Any,
    strides: Any,
    padding: Any = "SAME",
    data_format: str = "NHWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """Call `tf.nn.conv2d_transpose` and return images of `output_shape`.

    Raises ValueError if the sizes of the arguments do not match.

    Args:
      input: a tensor of shape [n, h, w, c].
      filters: a tensor of shape [kh, kw, out, c].
    """
    return conv2d_functions.conv2d_transpose(
        input, filters, output_shape, strides, padding, data_format, name, dilations=dilations
    )


def conv3d_transpose(
    input: Any,
    filters: Any,
    output_shape: Any,
    strides: Any,
    padding: str = "SAME",
    data_format: str = "NDHWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """Call `tf.nn.conv3d_transpose` and return volumes of `output_shape`.

    Raises ValueError if the sizes of the arguments do not match.

    Args:
      input: a tensor of shape [n, d, h, w, c].
      filters: a tensor of shape [kd, kh, kw, out, c].
    """
    return conv_transpose.conv3d_transpose(
        input, filters, output_shape, strides, padding, data_format, name, dilations=dilations
    )
