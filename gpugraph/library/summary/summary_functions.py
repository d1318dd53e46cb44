"""The functions of `tf.summary` that add ops. The ops create summaries of numbers, histograms,
images, audio and texts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.building.replication import current_replica
from gpugraph.formats import messages_pb2
from gpugraph.formats.summary_bytes import plugin_metadata
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.framework.changed_arguments.arguments_before_one import hint_at_old_arguments
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.summaries.audio_summary_op import audio_summary_op
from gpugraph.ops.summaries.image_summary_op import image_summary_op
from gpugraph.ops.summaries.merge_summary_op import merge_summary_op
from gpugraph.ops.summaries.scalar_and_histogram_summary_ops import (
    histogram_summary_op,
    scalar_summary_op,
)
from gpugraph.ops.summaries.tensor_summary_ops import tensor_summary_op
from gpugraph.platform import logging

_NOT_IN_TAGS = re.compile(r"[^-/\w.]")
_DEFAULT_COLLECTIONS = (GraphKeys.SUMMARIES,)


def _in_first_replica(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return a function that calls `function` in the first replica of a strategy. In the other
    replicas, it returns an empty Summary and adds it to no collection.
    """

    @wraps(function)
    def summarize(*args: Any, **kwargs: Any) -> Tensor:
        context = current_replica()
        if context is None or context._replica_id == 0:
            return function(*args, **kwargs)
        return convert_to_tensor("")

    return summarize


def clean_tag(name: str | None) -> str | None:
    """Return `name` with each invalid character replaced by `_` and without leading `/`. If `name`
    is None, return None.
    """
    if name is None:
        return None
    cleaned = _NOT_IN_TAGS.sub("_", name).lstrip("/")
    if cleaned != name:
        logging.info("Summary name %s is illegal; using %s instead.", name, cleaned)
    return cleaned


@contextmanager
def summary_scope(
    name: str | None,
    family: str | None = None,
    default_name: str | None = None,
    values: Sequence[Any] | None = None,
) -> Iterator[tuple[str, str]]:
    """Enter the name scope for a summary's ops, and yield (the summary's tag, the scope).

    The tag is the scope's name, preceded by the family if there is one. The family is also part of
    the scope's name, so that tags are unique.
    """
    cleaned, group = clean_tag(name or default_name), clean_tag(family)
    base = cleaned if group is None else f"{group}/{cleaned}"
    graphs = (getattr(value, "graph", None) for value in values or ())
    graph = next((item for item in graphs if isinstance(item, Graph)), None) or get_default_graph()
    with graph.as_default(), graph.name_scope(base) as scope:
        tag = scope.rstrip("/")
        yield (tag if group is None else f"{group}/{tag}"), scope


def _collect(value: Tensor, collections: Iterable[Any] | None, otherwise: Sequence[Any]) -> Tensor:
    for key in otherwise if collections is None else collections:
        value.graph.add_to_collection(key, value)
    return value


@_in_first_replica
def scalar(
    name: str, tensor: Any, collections: Iterable[Any] | None = None, family: str | None = None
) -> Tensor:
    """Return a Summary of one real number, as a string scalar.

    Args:
      name: the tag. It is preceded by the current name scope, and invalid characters are replaced
        by `_`.
      tensor: the number, a scalar.
      collections: the collections to add the summary to. By default, they are
        [GraphKeys.SUMMARIES], whose summaries `merge_all` merges.
      family: a prefix of the tag. TensorBoard shows the summaries of a family together.

    Raises, in a run:
      InvalidArgumentError: `tensor` is not a scalar.

    >>> text = session.run(tf.summary.scalar("loss", 0.5))
    >>> tf.Summary.FromString(text).value[0].simple_value
    0.5
    """
    with summary_scope(name, family, values=[tensor]) as (tag, scope):
        return _collect(
            scalar_summary_op(tag, tensor, name=scope), collections, _DEFAULT_COLLECTIONS
        )


@_in_first_replica
def histogram(
    name: str, values: Any, collections: Iterable[Any] | None = None, family: str | None = None
) -> Tensor:
    """Return a Summary of the distribution of a tensor's values, as a string scalar.

    The values are counted in buckets. On both sides of 0, the limits of the buckets grow from 1e-12
    to 1e20, and each limit is 1.1 times the previous limit.

    Raises, in a run:
      InvalidArgumentError: a value isn't finite.

    Args:
      name, collections, family: see `scalar`.

    >>> text = session.run(tf.summary.histogram("w", [1.0, 3.0]))
    >>> tf.Summary.FromString(text).value[0].histo.sum
    4.0
    """
    with summary_scope(name, family, "HistogramSummary", [values]) as (tag, scope):
        return _collect(
            histogram_summary_op(tag, values, name=scope), collections, _DEFAULT_COLLECTIONS
        )


@hint_at_old_arguments("summary.image")
@_in_first_replica
def image(
    name: str,
    tensor: Any,
    max_outputs: int = 3,
    collections: Iterable[Any] | None = None,
    family: str | None = None,
) -> Tensor:
    """Return a Summary of the first images of a batch, as a string scalar.

    The tags are `name/image/0` and so on.

    Args:
      tensor: [batch, height, width, channels], with 1 (grey), 3 (RGB) or 4 (RGBA) channels. uint8
        images are shown unchanged. Each floating-point image is scaled so that its maximum becomes
        255. If some values are negative, the image is instead scaled so that 0 becomes grey and the
        value of greatest magnitude becomes black or white. Pixels that aren't finite are red.
      max_outputs: the maximum number of images, at least 1. If it is 1, the tag is `name/image`.
      name, collections, family: see `scalar`.

    Raises, in a run:
      InvalidArgumentError: `tensor` does not have the shape of a batch of images.

    >>> text = session.run(tf.summary.image("picture", tf.ones([1, 2, 2, 1])))
    >>> tf.Summary.FromString(text).value[0].image.height
    2
    """
    with summary_scope(name, family, values=[tensor]) as (tag, scope):
        if (
            getattr(tensor, "dtype", None) == np.uint8
        ):  # converts the array here, because an array of bytes must not become floats
            tensor = convert_to_tensor(tensor, name="tensor")
        value = image_summary_op(tag, tensor, max_images=max_outputs, name=scope)
        return _collect(value, collections, _DEFAULT_COLLECTIONS)


@_in_first_replica
def audio(
    name: str,
    tensor: Any,
    sample_rate: Any,
    max_outputs: int = 3,
    collections: Iterable[Any] | None = None,
    family: str | None = None,
) -> Tensor:
    """Return a Summary of the first audio recordings of a batch, as a string scalar.

    The tags are `name/audio/0` and so on.

    Args:
      tensor: float32 numbers in [-1, 1], of shape [batch, frames, channels] or [batch, frames].
      sample_rate: the number of frames per second, a scalar.
      max_outputs: the maximum number of recordings, at least 1. If it is 1, the tag is
        `name/audio`.
      name, collections, family: see `scalar`.

    Raises, in a run:
      InvalidArgumentError: `tensor` does not have rank 2 or 3, or the sample rate isn't positive.
    """
    with summary_scope(name, family, values=[tensor]) as (tag, scope):
        rate = convert_to_tensor(sample_rate, dtypes.float32, name="sample_rate")
        value = audio_summary_op(tag, tensor, rate, max_outputs=max_outputs, name=scope)
        return _collect(value, collections, _DEFAULT_COLLECTIONS)


def tensor_summary(
    name: str,
    tensor: Any,
    summary_description: str | None = None,
    collections: Iterable[Any] | None = None,
    summary_metadata: Any = None,
    family: str | None = None,
    display_name: str | None = None,
) -> Tensor:
    """Return a Summary of a whole tensor of any dtype, as a string scalar.

    Args:
      summary_description: a description, which TensorBoard shows.
      summary_metadata: a SummaryMetadata message, which selects the TensorBoard page for the
        tensor.
      display_name: the name that TensorBoard shows instead of the tag.
      name, collections, family: see `scalar`.
    """
    if summary_metadata is None:
        metadata = plugin_metadata("", display_name or "", summary_description or "")
    else:
        if not hasattr(type(summary_metadata), "DESCRIPTOR"):
            raise TypeError(f"summary_metadata must be a SummaryMetadata, not {summary_metadata!r}")
        described = type(summary_metadata)()
        described.CopyFrom(summary_metadata)
        if summary_description is not None:
            described.summary_description = summary_description
        if display_name is not None:
            described.display_name = display_name
        metadata = described.SerializeToString()
    return _tensor_summary(name, tensor, metadata, collections, family)


@_in_first_replica
def _tensor_summary(
    name: str,
    tensor: Any,
    metadata: bytes,
    collections: Iterable[Any] | None,
    family: str | None = None,
) -> Tensor:
    with summary_scope(name, family, values=[tensor]) as (tag, scope):
        value = tensor_summary_op(tag, tensor, metadata, name=scope)
        return _collect(value, collections, _DEFAULT_COLLECTIONS)


def text(name: str, tensor: Tensor, collections: Iterable[Any] | None = None) -> Tensor:
    """Return a Summary of a tensor of Markdown strings, as a string scalar.

    TensorBoard shows a vector as a table with one column, and a matrix as a table. Raises
    ValueError if the dtype is not string.
    """
    if tensor.dtype != dtypes.string:
        raise ValueError(f"Expected tensor {tensor.name} to have dtype string, got {tensor.dtype}")
    return _tensor_summary(name, tensor, plugin_metadata("text"), collections)


@_in_first_replica
def merge(
    inputs: Iterable[Any], collections: Iterable[Any] | None = None, name: str | None = None
) -> Tensor:
    """Return a Summary with the values of several summaries, as a string scalar.

    Raises, in a run:
      InvalidArgumentError: two values have the same tag, or an input is not a Summary.

    Raises ValueError if `inputs` is empty.

    Args:
      collections: the collections to add the result to. By default, there are none.
    """
    summaries = list(inputs)
    graphs = (getattr(value, "graph", None) for value in summaries)
    graph = next((item for item in graphs if isinstance(item, Graph)), None) or get_default_graph()
    cleaned = clean_tag(name)
    with graph.as_default(), graph.name_scope(cleaned or "Merge"):
        return _collect(merge_summary_op(summaries, name=cleaned), collections, ())


def merge_all(
    key: Any = GraphKeys.SUMMARIES, scope: str | None = None, name: str | None = None
) -> Tensor | None:
    """Merge the summaries in the collection `key` of the default graph. If there are no summaries,
    return None.

    Args:
      scope: a regular expression that the start of a summary's name must match.

    >>> _ = tf.summary.scalar("loss", 0.5)
    >>> _ = tf.summary.scalar("accuracy", 0.9)
    >>> len(tf.Summary.FromString(session.run(tf.summary.merge_all())).value)
    2
    """
    summaries = get_default_graph().get_collection(key, scope)
    return merge(summaries, name=name) if summaries else None


def get_summary_description(node_def: Any) -> Any:
    """Return the SummaryDescription in a TensorSummary NodeDef. Raises ValueError if the op type of
    the NodeDef is not TensorSummary.
    """
    if node_def.op != "TensorSummary":
        raise ValueError(f"Can't get_summary_description on {node_def.op}")
    stored = json.loads(node_def.attr["description"].s or b"{}")
    return messages_pb2.SummaryDescription(type_hint=stored.get("typeHint", ""))
