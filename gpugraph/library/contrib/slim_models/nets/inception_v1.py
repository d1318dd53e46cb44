"""The first inception network: Szegedy et al., 2014 (arXiv:1409.4842)."""

from __future__ import annotations

from typing import Any

from gpugraph.building.variable_scope import variable_scope
from gpugraph.library.contrib.layers import softmax
from gpugraph.library.contrib.slim_models.nets.inception_networks import (
    inception_arg_scope,
    inception_layers,
    inception_scope,
)
from gpugraph.library.contrib.slim_models.nets.network_rows import predictions, run_until
from gpugraph.ops.random.variable_initializers import TruncatedNormal

inception_v1_arg_scope = inception_arg_scope


def _mixed(name: str, filters: str, last: str = "Conv2d_0b_3x3") -> str:
    one, narrow, wide, slim, deep, pooled = filters.split()
    return (
        f"{name}: Conv2d_0a_1x1 {one} 1x1 | Conv2d_0a_1x1 {narrow} 1x1, Conv2d_0b_3x3 {wide} 3x3 | "
        f"Conv2d_0a_1x1 {slim} 1x1, {last} {deep} 3x3 | "
        f"MaxPool_0a_3x3 max 3x3, Conv2d_0b_1x1 {pooled} 1x1"
    )


_ROWS = "\n".join(
    [
        "Conv2d_1a_7x7 64 7x7 /2",
        "MaxPool_2a_3x3 max 3x3 /2",
        "Conv2d_2b_1x1 64 1x1",
        "Conv2d_2c_3x3 192 3x3",
        "MaxPool_3a_3x3 max 3x3 /2",
        _mixed("Mixed_3b", "64 96 128 16 32 32"),
        _mixed("Mixed_3c", "128 128 192 32 96 64"),
        "MaxPool_4a_3x3 max 3x3 /2",
        _mixed("Mixed_4b", "192 96 208 16 48 64"),
        _mixed("Mixed_4c", "160 112 224 24 64 64"),
        _mixed("Mixed_4d", "128 128 256 24 64 64"),
        _mixed("Mixed_4e", "112 144 288 32 64 64"),
        _mixed("Mixed_4f", "256 160 320 32 128 128"),
        "MaxPool_5a_2x2 max 2x2 /2",
        _mixed("Mixed_5b", "256 160 320 32 128 128", last="Conv2d_0a_3x3"),
        _mixed("Mixed_5c", "384 192 384 48 128 128"),
    ]
)


def inception_v1_base(
    inputs: Any, final_endpoint: str = "Mixed_5c", scope: Any = "InceptionV1"
) -> tuple[Any, dict[str, Any]]:
    """Return the output of the row `final_endpoint`, and a dict of the outputs of all rows up to
    this row.
    """
    with (
        variable_scope(scope, "InceptionV1", [inputs]),
        inception_layers(weights_initializer=TruncatedNormal(0.0, 0.01)),
    ):
        return run_until(inputs, _ROWS, final_endpoint)


def inception_v1(
    inputs: Any,
    num_classes: int = 1000,
    is_training: Any = True,
    dropout_keep_prob: float = 0.8,
    prediction_fn: Any = softmax,
    spatial_squeeze: bool = True,
    reuse: Any = None,
    scope: Any = "InceptionV1",
) -> tuple[Any, dict[str, Any]]:
    """Return logits [n, num_classes] for images [n, 224, 224, 3], and a dict of the layers'
    outputs.
    """
    with inception_scope(scope, "InceptionV1", [inputs, num_classes], is_training, reuse) as within:
        net, end_points = inception_v1_base(inputs, scope=within)
        return predictions(
            net, end_points, num_classes,
            ("MaxPool_0a_7x7", "Dropout_0b", "Conv2d_0c_1x1"), [7, 7], dropout_keep_prob,
            spatial_squeeze, prediction_fn,
        )  # fmt: skip


inception_v1.default_image_size = 224  # type: ignore[attr-defined]
