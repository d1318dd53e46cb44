"""Cases of convolutions, pooling, padding and other changes of space."""

from __future__ import annotations

from layer_cases import IMAGES, PENALTIES, SEQUENCE, VOLUMES, Case, Options, rows

FIRST: Options = {"data_format": "channels_first"}
SAME: Options = {"padding": "same"}

SMALL = (2, 3, 2, 2, 3)

PLAIN: list[Options] = [{}, {"use_bias": False, "activation": "tanh"}, PENALTIES]
STRIDES: list[Options] = [{"strides": 2}, {**SAME, "strides": 2}]
DILATED: list[Options] = [{"dilation_rate": 2}, {**SAME, "dilation_rate": 2}]
LOCAL: list[Options] = [{**pad, "implementation": n} for n in (2, 3) for pad in ({}, SAME)]
NAMED: Options = {"kernel_initializer": "ones", "bias_initializer": "zeros"}
KERNEL: Options = {"filters": 2, "kernel_size": 3}
VOLUME: Options = {"filters": 2, "kernel_size": 2}

CASES: dict[str, Case] = {
    **rows("Conv1D", SEQUENCE, KERNEL, [*PLAIN, *STRIDES, *DILATED, NAMED, FIRST]),
    **rows("Conv1D", SEQUENCE, {**KERNEL, "padding": "causal"}, [{}, {"dilation_rate": 2}]),
    **rows("Conv2D", IMAGES, KERNEL, [*PLAIN, *STRIDES, *DILATED, FIRST, {"strides": (2, 1)}]),
    **rows("Conv3D", VOLUMES, VOLUME, [*PLAIN, *STRIDES, *DILATED, FIRST, {"strides": (1, 2, 1)}]),
    **rows(
        "Conv2DTranspose",
        IMAGES,
        KERNEL,
        [*PLAIN, *STRIDES, SAME, FIRST, {"strides": (2, 3), "output_padding": 1}],
    ),
    **rows("Conv3DTranspose", SMALL, VOLUME, [*PLAIN, *STRIDES, SAME, FIRST]),
    **rows("Conv3DTranspose", SMALL, VOLUME, [{"strides": 3, "output_padding": (1, 2, 0)}]),
    **{
        name: case
        for layer, shape in (("SeparableConv1D", SEQUENCE), ("SeparableConv2D", IMAGES))
        for name, case in rows(
            layer, shape, KERNEL, [{}, PLAIN[1], *STRIDES, *DILATED, FIRST, {"depth_multiplier": 2},
            {"depthwise_regularizer": "l2", "pointwise_regularizer": "l1"},
        ]).items()
    },
    **rows("SeparableConv1D", SEQUENCE, KERNEL, [{"padding": "causal"}]),
    **rows(
        "DepthwiseConv2D",
        IMAGES,
        {"kernel_size": (3, 2)},
        [*PLAIN[:2], *STRIDES, *DILATED, FIRST, {"depth_multiplier": 2},
         {"depthwise_regularizer": "l2"}],
    ),
    **rows("LocallyConnected1D", SEQUENCE, KERNEL, [*PLAIN, STRIDES[0], FIRST, *LOCAL]),
    **rows("LocallyConnected2D", IMAGES, KERNEL, [*PLAIN, {"strides": (2, 1)}, FIRST, *LOCAL]),
}  # fmt: skip

for axes, shape in (("1D", SEQUENCE), ("2D", IMAGES), ("3D", VOLUMES)):
    count = int(axes[0])
    CASES |= rows(
        f"MaxPooling{axes} AveragePooling{axes}",
        shape,
        {},
        [{}, {"pool_size": 3, "strides": 1}, {**SAME, "pool_size": 2, "strides": 3}, FIRST],
    )
    CASES |= rows(f"GlobalMaxPooling{axes} GlobalAveragePooling{axes}", shape, {}, [{}, FIRST])
    pairs = tuple((n % 2, 1) for n in range(count))
    formats: list[Options] = [{}] if axes == "1D" else [{}, FIRST]
    for option in formats:
        CASES |= rows(f"UpSampling{axes}", shape, option, [{}, {"size": 3}])
        sizes = [2, (1, 2)] if axes == "1D" else [1, tuple(range(1, count + 1)), pairs]
        CASES |= rows(f"ZeroPadding{axes}", shape, option, [{}, *({"padding": n} for n in sizes)])
        crops = [1, (1, 2)] if axes == "1D" else [1, (1,) * count, pairs]
        CASES |= rows(f"Cropping{axes}", shape, option, [{"cropping": n} for n in crops])

CASES |= rows("UpSampling2D", IMAGES, {}, [{"size": (2, 3)}, {"interpolation": "bilinear"}])
