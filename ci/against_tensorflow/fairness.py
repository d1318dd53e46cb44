"""Requirements of a fair comparison of ops: consistent inputs, and unique results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["compared", "follow", "readable", "slots", "together"]

_NORMS = [f"FusedBatchNorm{version}" for version in ("", "V2", "V3")]
_NORM_GRADS = [f"FusedBatchNormGrad{version}" for version in ("", "V2", "V3")]


# -- inputs that follow from others


def _pooled(table: Any, op_type: str, inputs: list[Any], attrs: dict[str, Any]) -> None:
    """Make the second input the pooled first one."""
    pooling = table[op_type.replace("Grad", "")].reference
    inputs[1] = np.asarray(pooling(inputs[0], *inputs[3:], **attrs)).astype(inputs[0].dtype)


def _ordered(table: Any, op_type: str, inputs: list[Any], attrs: dict[str, Any]) -> None:
    """The second input is a range."""
    inputs[1] = np.sort(inputs[1])


def _sorted_rows(table: Any, op_type: str, inputs: list[Any], attrs: dict[str, Any]) -> None:
    """The first input has sorted rows."""
    inputs[0] = np.sort(inputs[0], axis=-1)


def _whole(table: Any, op_type: str, inputs: list[Any], attrs: dict[str, Any]) -> None:
    """Make strings without zero bytes, at which TensorFlow ends decoded strings."""
    if attrs.get("encoding"):
        inputs[0] = np.vectorize(lambda text: text.replace(b"\0", b""), [object])(inputs[0])


_POOLS = ("MaxPool", ""), ("MaxPool", "V2"), ("MaxPool3D", "")
_FOLLOWS: dict[str, Callable[[Any, str, list[Any], dict[str, Any]], None]] = {
    **dict.fromkeys(
        [f"{pool}{grad}{version}" for pool, version in _POOLS for grad in ("Grad", "GradGrad")],
        _pooled,
    ),
    "HistogramFixedWidth": _ordered,
    **dict.fromkeys(("LowerBound", "UpperBound"), _sorted_rows),
    **dict.fromkeys(("StringLower", "StringUpper"), _whole),
}


_CONSTANT = dict.fromkeys(_NORM_GRADS, (3, 4))
"""Slots of inputs that TensorFlow takes no gradient by: mean and variance."""


def slots(op_type: str, result: list[int]) -> list[int]:
    """Return which slots of inputs gradients are taken by."""
    return [slot for slot in result if slot not in _CONSTANT.get(op_type, ())]


def follow(table: Any, op_type: str, inputs: list[Any], attrs: dict[str, Any]) -> None:
    """Replace inputs that depend on the other inputs, by the samples' NumPy references."""
    if op_type in _FOLLOWS:
        _FOLLOWS[op_type](table, op_type, inputs, attrs)


def together(tf: Any, case: dict[str, Any], arguments: list[Any]) -> list[Any]:
    """Return the arguments, with those that follow from others in the graph.

    In training, the mean and variance of a batch normalization are those of the images, and
    TensorFlow takes gradients by the images through them, too.
    """
    if case["op"] not in _NORM_GRADS or case["attrs"].get("is_training") is False:
        return arguments
    images, scale = arguments[1:3]
    axes = [0, 2, 3] if case["attrs"].get("data_format") == "NCHW" else [0, 1, 2]
    mean, variance = tf.nn.moments(tf.cast(images, scale.dtype), axes)
    return [*arguments[:3], mean, variance, *arguments[5:]]


# -- results that are unique


def _vectors(tf: Any, vectors: Any, values: Any) -> list[Any]:
    """Make column vectors unique that are unique except for a sign (of complex ones, a phase).

    The vectors behind those of the values span the rest of the space, in any basis.
    """
    count = tf.shape(values)[-1]  # TensorFlow infers no shapes for op types of old graphs
    rest = vectors[..., count:]
    return [tf.abs(vectors[..., :count]), tf.matmul(rest, rest, adjoint_b=True)]


def _singular(tf: Any, outputs: list[Any]) -> list[Any]:
    values, left, right = outputs
    if not values.op.get_attr("compute_uv"):
        return [values]  # TensorFlow's others are arbitrary
    return [values, *_vectors(tf, left, values), *_vectors(tf, right, values)]


def _eigen(tf: Any, outputs: list[Any]) -> list[Any]:
    values, vectors = outputs
    asked = values.op.get_attr("compute_v")
    return [values, *(_vectors(tf, vectors, values) if asked else [])]


_UNIQUE: dict[str, Callable[[Any, list[Any]], list[Any]]] = {
    **dict.fromkeys(("Svd", "BatchSvd"), _singular),
    **dict.fromkeys(("SelfAdjointEigV2", "BatchSelfAdjointEigV2"), _eigen),
    # Their other outputs are for their gradient alone, and differ from kernel to kernel.
    **dict.fromkeys(_NORMS, lambda tf, outputs: outputs[:3]),
}

_SLOPES = dict.fromkeys([*_NORMS, "SoftmaxCrossEntropyWithLogits"], 1)
"""How many of the first outputs have a gradient, where TensorFlow takes the others as constants."""


def compared(tf: Any, op_type: str, outputs: list[Any]) -> tuple[list[Any], int]:
    """Return the compared outputs of an op, and how many of them, from the first, have
    gradients.
    """
    if op_type in _UNIQUE:
        outputs = _UNIQUE[op_type](tf, outputs)
    return outputs, _SLOPES.get(op_type, len(outputs))


def _pixels(tf: Any, values: list[Any]) -> list[Any]:
    """Return the tags, sizes and pixels of a summary's images."""
    images = [(item.tag, item.image) for item in tf.Summary.FromString(values[0]).value]
    heads = [[tag, image.height, image.width, image.colorspace] for tag, image in images]
    with tf.Graph().as_default(), tf.Session() as session:
        contents = [tf.image.decode_png(image.encoded_image_string) for _, image in images]
        return [np.array(heads, object), *session.run(contents)]


def readable(tf: Any, op_type: str, values: list[Any]) -> list[Any]:
    """Return the values; of images the pixels, which each library's zlib compresses in its own
    way.
    """
    return _pixels(tf, values) if op_type == "ImageSummary" else values
