"""The checks and messages of TensorFlow's kernels for neural networks, losses, images and training
steps.
"""

from __future__ import annotations

from gpugraph.base.errors import FailedPreconditionError
from gpugraph.ops.run_refusals.refusal_rules import (
    Refused,
    Rule,
    no_negative,
    rank_from,
    rank_is,
    same_rows,
    same_shapes,
    when,
)


def _channels(op: Refused, slot: int = 0) -> int:
    is_first = op.attrs.get("data_format", b"").startswith(b"NC")
    return op.x[slot].sizes[1 if is_first else -1]


def _depths(template: str) -> Rule:
    def rule(op: Refused) -> str | None:
        depth, filters = _channels(op), op.x[1].sizes[-2]
        return template.format(depth, filters) if not filters or depth % filters else None

    return rule


_POOL = (
    when(
        lambda op: op.x[0].rank != 4, "tensor_in_shape must have 2 spatial dimensions. {0.rank} 0"
    ),
)
_POOL_GRAD = tuple(
    rank_is(slot, 4, f"{name} must be 4-dimensional")
    for slot, name in enumerate(("tensor_in", "tensor_out", "out_backprop"))
)
_RESIZE: tuple[Rule, ...] = (
    rank_is(1, 1, "shape_t must be 1-dimensional{1.text}"),
    when(lambda op: op.x[1].count != 2, "shape_t must have two elements{1.text}"),
    rank_is(0, 4, "input must be 4-dimensional{0.text}"),
    no_negative(1, "output dimensions must be positive"),
)
_RESIZE_GRAD = (
    rank_is(0, 4, "input_grad must be 4-dimensional{0.text}"),
    rank_is(1, 4, "original_image must be 4-dimensional{1.text}"),
)
_CROP_BOXES = (
    rank_is(1, 2, "boxes must be 2-D, got: {1.text}"),
    when(lambda op: op.x[1].sizes[1:] != (4,), "boxes must have 4 columns"),
    rank_is(2, 1, "box_index must be 1-D{2.text}"),
    when(lambda op: op.x[1].sizes[0] != op.x[2].count, "box_index has incompatible shape"),
)


def _no_scalar(text: str) -> list[Rule]:
    """Return the rules that hyperparameters must be scalars, given a list such as `3 lr, 4 beta1`.

    An entry has the index and the name of an input. It may end with a colon and the words that
    replace "scalar" in the message.
    """
    rules = []
    for entry in text.split(","):
        name, _, wanted = entry.partition(":")
        slot, _, name = name.partition(" ")
        words = f"{name} is not a {wanted or 'scalar'}: {{{slot}.text}}"
        rules.append(rank_is(int(slot), 0, words))
    return rules


_STRENGTHS = "{} l1 regularization strength{wanted},{} l2 regularization strength{wanted}"


def _strengths(slot: int, wanted: str = "") -> str:
    """Return the list of the hyperparameters l1, which is input `slot`, and l2, which is the next
    input, in the form that `_no_scalar` requires.
    """
    return _STRENGTHS.format(slot, slot + 1, wanted=wanted)


_ALONE = ":non-negative scalar"
_OR_ZERO = "5 lr:positive scalar (or zero if multiply_linear_by_lr is set)"


def _lr_power(slot: int) -> Rule:
    return rank_is(slot, 0, f"lr_power is not a scalar{{{slot}.text}}")


def _update(scalars: str, *slots: int, names: tuple[str, ...] = ("grad",)) -> tuple[Rule, ...]:
    """Return the rules of a dense update.

    Args:
      scalars: the list of hyperparameters, see `_no_scalar`.
      slots: the indices of the inputs that must have the variable's shape.
      names: the names of these inputs.
    """
    return (
        *_no_scalar(scalars),
        *[
            same_shapes(0, slot, f"var and {name} do not have the same shape{{0.text}} "
                                 f"{{{slot}.text}}")
            for slot, name in zip(slots, names)
        ],
    )  # fmt: skip


def _sparse_update(scalars: str, grad: int, indices: int) -> tuple[Rule, ...]:
    """Return the rules of an update of some rows of a variable.

    Args:
      scalars: the list of hyperparameters, see `_no_scalar`.
      grad, indices: the numbers of the inputs with the gradient and the row indices.
    """

    def inner(op: Refused) -> str | None:
        for axis, (one, other) in enumerate(zip(op.x[0].sizes[1:], op.x[grad].sizes[1:]), 1):
            if one != other:
                return f"var and grad must match in dimension {axis}"
        return None

    return (
        *_no_scalar(scalars),
        rank_is(indices, 1, "indices must be one-dimensional"),
        inner,
        when(
            lambda op: op.x[grad].sizes[:1] != op.x[indices].sizes,
            "grad must be the same size as indices in the first dimension.",
        ),
        when(
            lambda op: op.x[grad].rank != op.x[0].rank,
            "grad must have the same number of dimensions as var",
        ),
    )


_SAME_GRADIENT = (
    "Inputs to operation {op.name} of type {op.type} must have the same size and shape.  "
    "Input 0: {0.text} != input 1: {1.text}"
)
_ELEMENTWISE_GRADS = [
    f"{kind}Grad" for kind in ["Relu", "Relu6", "Elu", "Selu", "Softplus", "LeakyRelu", "Softsign"]
]


def _lengths(slot: int, batch: int) -> tuple[Rule, ...]:
    return (
        rank_is(slot, 1, "sequence_length is not a vector"),
        when(
            lambda op: op.x[0].sizes[batch] != op.x[slot].count,
            "len(sequence_length) != batch_size.  len(sequence_length):  "
            f"{{{slot}.count}} batch_size: {{0.sizes[{batch}]}}",
            FailedPreconditionError,
        ),
    )


_CTC_INPUTS = rank_is(0, 3, "inputs is not a 3-Tensor")

NETWORK_REFUSALS: dict[str, tuple[Rule, ...]] = {
    "Conv2D": (
        rank_is(0, 4, "input must be 4-dimensional{0.text}"),
        rank_is(1, 4, "filter must be 4-dimensional: {1.text}"),
        _depths("input depth must be evenly divisible by filter depth: {} vs {}"),
    ),
    "DepthwiseConv2dNative": (
        rank_is(0, 4, "input must be 4-dimensional{0.text}"),
        rank_is(1, 4, "filter must be 4-dimensional: {1.text}"),
        _depths("input and filter must have the same depth: {} vs {}"),
    ),
    "Conv3D": (
        rank_is(0, 5, "input must be 5-dimensional"),
        rank_is(1, 5, "filter must be 5-dimensional"),
        _depths("Input depth must be evenly divisible by filter depth: {} vs {}"),
    ),
    **dict.fromkeys(("MaxPool", "MaxPoolV2", "AvgPool"), _POOL),
    **dict.fromkeys(
        ("MaxPoolGrad", "MaxPoolGradV2", "MaxPoolGradGrad", "MaxPoolGradGradV2"), _POOL_GRAD
    ),
    **dict.fromkeys(
        ("ResizeBilinear", "ResizeBicubic", "ResizeNearestNeighbor", "ResizeArea"), _RESIZE
    ),
    **dict.fromkeys(("ResizeBilinearGrad", "ResizeBicubicGrad"), _RESIZE_GRAD),
    "CropAndResize": (
        rank_is(0, 4, "input image must be 4-D{0.text}"),
        rank_is(3, 1, "crop_size must be 1-D{3.text}"),
        when(lambda op: op.x[3].count != 2, "crop_size must have two elements{3.text}"),
        *_CROP_BOXES,
        no_negative(3, "crop dimensions must be positive"),
    ),
    "Softmax": (rank_from(0, 1, "logits must have >= 1 dimension, got {0.text}"),),
    "LogSoftmax": (rank_from(0, 1, "logits must have >= 1 dimension, got {0.text}"),),
    "SoftmaxCrossEntropyWithLogits": (
        when(
            lambda op: any(
                one != other and 1 not in (one, other)
                for one, other in zip(reversed(op.x[0].sizes), reversed(op.x[1].sizes))
            ),
            "logits and labels must be broadcastable: logits_size={0.text} labels_size={1.text}",
        ),
        when(
            lambda op: True,
            "logits and labels must be either 2-dimensional, or broadcasted to be 2-dimensional",
        ),
    ),
    "SparseSoftmaxCrossEntropyWithLogits": (
        rank_is(0, 2, "logits must be 2-D, but got shape {0.text}"),
        rank_is(1, 1, "labels must be 1-D, but got shape {1.text}"),
        same_rows(
            "logits and labels must have the same first dimension, got logits shape {0.text} and "
            "labels shape {1.text}",
        ),
    ),
    **dict.fromkeys(
        ("InTopK", "InTopKV2"),
        (
            rank_is(0, 2, "predictions must be 2-dimensional"),
            rank_is(1, 1, "targets must be 1-dimensional"),
            same_rows("First dimension of predictions {0.sizes[0]} must match length of targets "
                "{1.count}",
            ),
        ),
    ),
    "TopKV2": (
        rank_is(1, 0, "k must be scalar, got shape {1.text}"),
        rank_from(0, 1, "input must be >= 1-D, got shape {0.text}"),
    ),
    **dict.fromkeys(_ELEMENTWISE_GRADS, (same_shapes(0, 1, _SAME_GRADIENT),)),
    **dict.fromkeys(
        ("CTCGreedyDecoder", "CTCBeamSearchDecoder"), (_CTC_INPUTS, *_lengths(1, 1))
    ),
    "CTCLoss": (
        _CTC_INPUTS,
        *_lengths(3, 1)[:1],
        rank_is(1, 2, "labels_indices is not a matrix"),
        rank_is(2, 1, "labels_values is not a vector"),
        when(
            lambda op: op.x[3].count != op.x[0].sizes[1],
            "len(sequence_length) != batch_size.  len(sequence_length):  {3.count} batch_size: "
            "{0.sizes[1]}",
        ),
        when(
            lambda op: op.x[1].sizes[0] != op.x[2].count,
            "labels_indices and labels_values must contain the same number of rows, but saw "
            "shapes: {1.text} vs. {2.text}",
        ),
        when(lambda op: op.x[1].columns != 2, "Order length must be SparseTensor rank."),
    ),
    "ApplyGradientDescent": _update("1 alpha", 2, names=("delta",)),
    "ApplyAdam": _update(
        "3 beta1_power,4 beta2_power,5 lr,6 beta1,7 beta2,8 epsilon", 9
    ),
    "ApplyMomentum": _update("2 lr,4 momentum", 3),
    "ApplyAdagrad": _update("2 lr", 3),
    "ApplyAdadelta": _update("3 lr,4 rho,5 epsilon", 6),
    "ApplyRMSProp": _update("3 lr,4 rho,5 momentum,6 epsilon", 7),
    "ApplyCenteredRMSProp": _update("4 lr,5 rho,6 momentum,7 epsilon", 8),
    "ApplyFtrl": (*_update(f"4 lr,{_strengths(5)}", 3), _lr_power(7)),
    "ApplyFtrlV2": (
        *_update(f"4 lr,{_strengths(5)},7 l2 shrinkage regularization strength", 3), _lr_power(8)
    ),
    "ApplyAdagradDA": _update(f"4 lr,{_strengths(5)},7 global_step", 3),
    "ApplyProximalGradientDescent": _update(f"1 alpha,{_strengths(2)}", 4, names=("delta",)),
    "ApplyProximalAdagrad": _update(f"2 lr:positive scalar,{_strengths(3, _ALONE)}", 5),
    "SparseApplyAdagrad": _sparse_update("2 lr", 3, 4),
    "SparseApplyMomentum": _sparse_update("2 lr,5 momentum", 3, 4),
    "SparseApplyAdadelta": _sparse_update("3 lr,4 rho,5 epsilon", 6, 7),
    "SparseApplyRMSProp": _sparse_update("3 lr,4 rho,5 momentum,6 epsilon", 7, 8),
    "SparseApplyFtrl": _sparse_update(
        f"{_OR_ZERO},{_strengths(6, _ALONE)},8 lr_power:non-positive scalar", 3, 4
    ),
    "SparseApplyFtrlV2": _sparse_update(
        f"{_OR_ZERO},{_strengths(6, _ALONE)},8 l2 shrinkage regularization strength{_ALONE},"
        "9 lr_power:non-positive scalar", 3, 4
    ),
    "SparseApplyAdagradDA": _sparse_update(f"5 lr,{_strengths(6)},8 global_step", 3, 4),
    "SparseApplyProximalGradientDescent": _sparse_update(f"1 lr,{_strengths(2)}", 4, 5),
    "SparseApplyProximalAdagrad": _sparse_update(
        f"2 lr:positive scalar,{_strengths(3, _ALONE)}", 5, 6
    ),
    "SparseApplyCenteredRMSProp": _sparse_update("4 lr,5 rho,6 momentum,7 epsilon", 8, 9),
}  # fmt: skip
"""The checks of TensorFlow's kernels, by op type, in the kernels' order. The first check that fails
determines the message.
"""
