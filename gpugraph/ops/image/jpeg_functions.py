"""JPEG and GIF files: is_jpeg knows one; what reads or writes them is refused, with the reason.

There is no decoder for these formats here. Whoever has one, as Pillow, runs it as `tf.py_func`.
"""

from __future__ import annotations

from typing import Any

from gpugraph.base import dtypes
from gpugraph.base.errors import UnimplementedError
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import op_scope

_FIRST_BYTES = b"\xff\xd8\xff"


def is_jpeg(contents: Any, name: str | None = None) -> Tensor:
    """Whether a file, a string scalar, begins as JPEG files do; a bool scalar."""
    with op_scope(name, "is_jpeg", contents):
        start = raw_ops.Substr(contents, 0, len(_FIRST_BYTES))
        return raw_ops.Equal(start, _FIRST_BYTES, name=name)


def _refusal(function: str, kind: str = "JPEG") -> UnimplementedError:
    return UnimplementedError.of_no_node(
        f"'{function}' is not supported: there is no codec for {kind} files here. Use PNG or BMP "
        "files (tf.image.decode_png, tf.image.decode_bmp), or another library's codec as a "
        "tf.py_func"
    )


def decode_jpeg(
    contents: Any,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
) -> Tensor:
    """UnimplementedError: there is no codec for JPEG files; `tf.image.decode_png` reads PNG."""
    raise _refusal("decode_jpeg")


def decode_and_crop_jpeg(
    contents: Any,
    crop_window: Any,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
) -> Tensor:
    """UnimplementedError: there is no codec for JPEG files; `tf.image.decode_png` reads PNG."""
    raise _refusal("decode_and_crop_jpeg")


def encode_jpeg(
    image: Any,
    format: str = "",
    quality: int = 95,
    progressive: bool = False,
    optimize_size: bool = False,
    chroma_downsampling: bool = True,
    density_unit: str = "in",
    x_density: int = 300,
    y_density: int = 300,
    xmp_metadata: str = "",
    name: str | None = None,
) -> Tensor:
    """UnimplementedError: there is no codec for JPEG files; `tf.image.encode_png` writes PNG."""
    raise _refusal("encode_jpeg")


def extract_jpeg_shape(
    contents: Any, output_type: Any = dtypes.int32, name: str | None = None
) -> Tensor:
    """UnimplementedError: there is no codec for JPEG files."""
    raise _refusal("extract_jpeg_shape")


def adjust_jpeg_quality(image: Any, jpeg_quality: Any, name: str | None = None) -> Tensor:
    """UnimplementedError: there is no codec for JPEG files."""
    raise _refusal("adjust_jpeg_quality")


def random_jpeg_quality(
    image: Any, min_jpeg_quality: Any, max_jpeg_quality: Any, seed: Any = None
) -> Tensor:
    """UnimplementedError: there is no codec for JPEG files."""
    raise _refusal("random_jpeg_quality")


def decode_gif(contents: Any, name: str | None = None) -> Tensor:
    """UnimplementedError: there is no codec for GIF files; `tf.image.decode_png` reads PNG."""
    raise _refusal("decode_gif", "GIF")
