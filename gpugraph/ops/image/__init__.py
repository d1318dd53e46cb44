"""Images: files, colours, sizes, boxes, measures."""

from gpugraph.ops.image import (
    color_adjustments,
    crop_and_resize,
    draw_bounding_boxes,
    extract_glimpse,
    extract_patches,
    flip_crop_pad_resize,
    jpeg_functions,
    non_max_suppression,
    png_and_bmp_ops,
    png_format,
    psnr_and_total_variation,
    resize_launches,
    resize_ops,
    sample_distorted_box,
    ssim_and_sobel,
    yiq_and_yuv,
)
