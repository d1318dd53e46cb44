"""Images: resizing, cropping, colours, quality measures."""

from gpugraph.ops.image.color_adjustments import (
    adjust_brightness as adjust_brightness, adjust_contrast as adjust_contrast,
    adjust_gamma as adjust_gamma, adjust_hue as adjust_hue, adjust_saturation as adjust_saturation,
    convert_image_dtype as convert_image_dtype, grayscale_to_rgb as grayscale_to_rgb,
    hsv_to_rgb as hsv_to_rgb, random_brightness as random_brightness,
    random_contrast as random_contrast, random_hue as random_hue,
    random_saturation as random_saturation, rgb_to_grayscale as rgb_to_grayscale,
    rgb_to_hsv as rgb_to_hsv,
)
from gpugraph.ops.image.crop_and_resize import crop_and_resize as crop_and_resize
from gpugraph.ops.image.draw_bounding_boxes import draw_bounding_boxes as draw_bounding_boxes
from gpugraph.ops.image.extract_glimpse import extract_glimpse as extract_glimpse
from gpugraph.ops.image.extract_patches import (
    extract_image_patches as extract_image_patches, extract_patches as extract_patches,
)
from gpugraph.ops.image.flip_crop_pad_resize import (
    ResizeMethod as ResizeMethod, central_crop as central_crop,
    crop_to_bounding_box as crop_to_bounding_box, flip_left_right as flip_left_right,
    flip_up_down as flip_up_down, pad_to_bounding_box as pad_to_bounding_box,
    random_flip_left_right as random_flip_left_right, random_flip_up_down as random_flip_up_down,
    resize_image_with_crop_or_pad as resize_image_with_crop_or_pad,
    resize_image_with_pad as resize_image_with_pad, resize_images as resize_images, rot90 as rot90,
    transpose_image as transpose_image,
)
from gpugraph.ops.image.files.gif_and_jpeg_parts import (
    decode_and_crop_jpeg as decode_and_crop_jpeg,
    decode_gif as decode_gif,
    extract_jpeg_shape as extract_jpeg_shape,
)
from gpugraph.ops.image.files.jpeg_ops import decode_jpeg as decode_jpeg, encode_jpeg as encode_jpeg
from gpugraph.ops.image.jpeg_functions import (
    adjust_jpeg_quality as adjust_jpeg_quality,
    is_jpeg as is_jpeg,
    random_jpeg_quality as random_jpeg_quality,
)
from gpugraph.ops.image.non_max_suppression import (
    non_max_suppression as non_max_suppression, non_max_suppression_overlaps as
    non_max_suppression_overlaps, non_max_suppression_padded as non_max_suppression_padded,
    non_max_suppression_with_scores as non_max_suppression_with_scores,
)
from gpugraph.ops.image.combined_suppression import (
    combined_non_max_suppression as combined_non_max_suppression,
)
from gpugraph.ops.image.files.png_and_bmp_ops import (
    decode_bmp as decode_bmp, decode_image as decode_image, decode_png as decode_png,
    encode_png as encode_png,
)
from gpugraph.ops.image.psnr_and_total_variation import (
    image_gradients as image_gradients, per_image_standardization as per_image_standardization,
    psnr as psnr, total_variation as total_variation,
)
from gpugraph.ops.image.resize_ops import (
    resize_area as resize_area, resize_bicubic as resize_bicubic,
    resize_bilinear as resize_bilinear, resize_nearest_neighbor as resize_nearest_neighbor,
)
from gpugraph.ops.image.sample_distorted_box import (
    sample_distorted_bounding_box as sample_distorted_bounding_box,
)
from gpugraph.ops.image.ssim_and_sobel import (
    sobel_edges as sobel_edges, ssim as ssim, ssim_multiscale as ssim_multiscale,
)
from gpugraph.ops.image.yiq_and_yuv import (
    rgb_to_yiq as rgb_to_yiq, rgb_to_yuv as rgb_to_yuv, yiq_to_rgb as yiq_to_rgb,
    yuv_to_rgb as yuv_to_rgb,
)
from gpugraph.ops.random.multinomial_and_shuffle import random_crop as random_crop

resize = resize_images
resize_with_crop_or_pad = resize_image_with_crop_or_pad
transpose = transpose_image
