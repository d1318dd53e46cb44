"""Files and their contents: reading, writing, listing, decoding and encoding."""

from gpugraph.api.shared.shared_parsing import *
from gpugraph.formats.record_files import (
    TFRecordCompressionType as TFRecordCompressionType, TFRecordOptions as TFRecordOptions,
    TFRecordWriter as TFRecordWriter, tf_record_iterator as tf_record_iterator,
)
from gpugraph.building.graph_files.write_graph import write_graph as write_graph
from gpugraph.ops.files.decode_compressed import decode_compressed as decode_compressed
from gpugraph.ops.files.decode_csv import decode_csv as decode_csv
from gpugraph.ops.files.decode_raw import decode_raw as decode_raw
from gpugraph.ops.files.read_and_write_file import (
    matching_files as matching_files, read_file as read_file, write_file as write_file,
)
from gpugraph.ops.image.files.gif_and_jpeg_parts import (
    decode_and_crop_jpeg as decode_and_crop_jpeg,
    decode_gif as decode_gif,
    extract_jpeg_shape as extract_jpeg_shape,
)
from gpugraph.ops.image.jpeg_functions import is_jpeg as is_jpeg
from gpugraph.ops.image.files.jpeg_ops import decode_jpeg as decode_jpeg, encode_jpeg as encode_jpeg
from gpugraph.ops.image.files.png_and_bmp_ops import (
    decode_bmp as decode_bmp, decode_image as decode_image, decode_png as decode_png,
    encode_png as encode_png,
)
from gpugraph.ops.parsing.sequence_functions import parse_sequence_example as parse_sequence_example
from gpugraph.ops.queues.queue_classes import (
    PaddingFIFOQueue as PaddingFIFOQueue, PriorityQueue as PriorityQueue, QueueBase as QueueBase,
    RandomShuffleQueue as RandomShuffleQueue,
)
from gpugraph.ops.strings.string_ops import (
    decode_base64 as decode_base64, encode_base64 as encode_base64,
)
from gpugraph.library.train.inputs.input_producers import (
    match_filenames_once as match_filenames_once,
)
from gpugraph.platform import gfile_v2 as _gfile_v2

gfile = _gfile_v2
