"""Files, and what is in them: read, written, listed, decoded and encoded."""

from gpugraph.ops.files.decode_csv import decode_csv
from gpugraph.ops.files.decode_raw import decode_raw
from gpugraph.ops.files.read_and_write_file import matching_files, read_file, write_file
from gpugraph.ops.image.png_and_bmp_ops import decode_bmp, decode_image, decode_png, encode_png
from gpugraph.ops.strings.string_ops import decode_base64, encode_base64
from gpugraph.platform import gfile_v2 as gfile

__all__ = [
    "decode_base64",
    "decode_bmp",
    "decode_csv",
    "decode_image",
    "decode_png",
    "decode_raw",
    "encode_base64",
    "encode_png",
    "gfile",
    "matching_files",
    "read_file",
    "write_file",
]
