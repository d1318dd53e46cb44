"""Images: other sizes and shapes, colours, measures."""

from gpugraph.ops.boxes import crop_and_resize, non_max_suppression
from gpugraph.ops.colors import (
    adjust_brightness,
    adjust_contrast,
    adjust_gamma,
    adjust_hue,
    adjust_saturation,
    convert_image_dtype,
    grayscale_to_rgb,
    hsv_to_rgb,
    random_brightness,
    random_contrast,
    random_hue,
    random_saturation,
    rgb_to_grayscale,
    rgb_to_hsv,
)
from gpugraph.ops.image_functions import (
    ResizeMethod,
    central_crop,
    crop_to_bounding_box,
    flip_left_right,
    flip_up_down,
    pad_to_bounding_box,
    random_flip_left_right,
    random_flip_up_down,
    resize_image_with_crop_or_pad,
    resize_image_with_pad,
    resize_images,
    rot90,
    transpose_image,
)
from gpugraph.ops.image_functions import resize_image_with_crop_or_pad as resize_with_crop_or_pad
from gpugraph.ops.image_functions import resize_images as resize
from gpugraph.ops.image_functions import transpose_image as transpose
from gpugraph.ops.image_measures import (
    image_gradients,
    per_image_standardization,
    psnr,
    total_variation,
)
from gpugraph.ops.patches import (
    extract_image_patches,
)
from gpugraph.ops.resizing import (
    resize_area,
    resize_bicubic,
    resize_bilinear,
    resize_nearest_neighbor,
)

__all__ = [
    "ResizeMethod",
    "adjust_brightness",
    "adjust_contrast",
    "adjust_gamma",
    "adjust_hue",
    "adjust_saturation",
    "central_crop",
    "convert_image_dtype",
    "crop_and_resize",
    "crop_to_bounding_box",
    "extract_image_patches",
    "flip_left_right",
    "flip_up_down",
    "grayscale_to_rgb",
    "hsv_to_rgb",
    "image_gradients",
    "non_max_suppression",
    "pad_to_bounding_box",
    "per_image_standardization",
    "psnr",
    "random_brightness",
    "random_contrast",
    "random_flip_left_right",
    "random_flip_up_down",
    "random_hue",
    "random_saturation",
    "resize",
    "resize_area",
    "resize_bicubic",
    "resize_bilinear",
    "resize_image_with_crop_or_pad",
    "resize_image_with_pad",
    "resize_images",
    "resize_nearest_neighbor",
    "resize_with_crop_or_pad",
    "rgb_to_grayscale",
    "rgb_to_hsv",
    "rot90",
    "total_variation",
    "transpose",
    "transpose_image",
]
