"""Images: other sizes and shapes, colours, measures."""

from gpugraph.ops.image.color_adjustments import (
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
from gpugraph.ops.image.crop_and_resize import crop_and_resize, non_max_suppression
from gpugraph.ops.image.draw_bounding_boxes import draw_bounding_boxes
from gpugraph.ops.image.extract_glimpse import extract_glimpse
from gpugraph.ops.image.extract_patches import extract_image_patches, extract_patches
from gpugraph.ops.image.flip_crop_pad_resize import (
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
from gpugraph.ops.image.flip_crop_pad_resize import (
    resize_image_with_crop_or_pad as resize_with_crop_or_pad,
)
from gpugraph.ops.image.flip_crop_pad_resize import resize_images as resize
from gpugraph.ops.image.flip_crop_pad_resize import transpose_image as transpose
from gpugraph.ops.image.non_max_suppression import (
    combined_non_max_suppression,
    non_max_suppression_overlaps,
    non_max_suppression_padded,
    non_max_suppression_with_scores,
)
from gpugraph.ops.image.png_and_bmp_ops import decode_bmp, decode_image, decode_png, encode_png
from gpugraph.ops.image.psnr_and_total_variation import (
    image_gradients,
    per_image_standardization,
    psnr,
    total_variation,
)
from gpugraph.ops.image.resize_ops import (
    resize_area,
    resize_bicubic,
    resize_bilinear,
    resize_nearest_neighbor,
)
from gpugraph.ops.image.sample_distorted_box import sample_distorted_bounding_box
from gpugraph.ops.image.ssim_and_sobel import sobel_edges, ssim, ssim_multiscale
from gpugraph.ops.image.yiq_and_yuv import rgb_to_yiq, rgb_to_yuv, yiq_to_rgb, yuv_to_rgb
from gpugraph.ops.random.multinomial_and_shuffle import random_crop

__all__ = [
    "ResizeMethod",
    "adjust_brightness",
    "adjust_contrast",
    "adjust_gamma",
    "adjust_hue",
    "adjust_saturation",
    "central_crop",
    "combined_non_max_suppression",
    "convert_image_dtype",
    "crop_and_resize",
    "crop_to_bounding_box",
    "decode_bmp",
    "decode_image",
    "decode_png",
    "draw_bounding_boxes",
    "encode_png",
    "extract_glimpse",
    "extract_image_patches",
    "extract_patches",
    "flip_left_right",
    "flip_up_down",
    "grayscale_to_rgb",
    "hsv_to_rgb",
    "image_gradients",
    "non_max_suppression",
    "non_max_suppression_overlaps",
    "non_max_suppression_padded",
    "non_max_suppression_with_scores",
    "pad_to_bounding_box",
    "per_image_standardization",
    "psnr",
    "random_brightness",
    "random_contrast",
    "random_crop",
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
    "rgb_to_yiq",
    "rgb_to_yuv",
    "rot90",
    "sample_distorted_bounding_box",
    "sobel_edges",
    "ssim",
    "ssim_multiscale",
    "total_variation",
    "transpose",
    "transpose_image",
    "yiq_to_rgb",
    "yuv_to_rgb",
]
