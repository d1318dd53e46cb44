"""Files, and what is in them: read, written, listed, decoded and encoded."""

from gpugraph import file_paths as gfile
from gpugraph.ops.comma_separated import decode_csv
from gpugraph.ops.file_contents import matching_files, read_file, write_file
from gpugraph.ops.image_codecs import decode_bmp, decode_image, decode_png, encode_png
from gpugraph.ops.raw_decoding import decode_raw
from gpugraph.ops.strings import decode_base64, encode_base64

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
