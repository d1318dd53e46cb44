"""Summaries: the ops that create summaries, and the writers of the event files that TensorBoard
reads.
"""

from gpugraph.library.summary.file_writer import FileWriter as FileWriter
from gpugraph.library.summary.file_writer_cache import FileWriterCache as FileWriterCache
from gpugraph.library.summary.summary_functions import (
    audio as audio,
    get_summary_description as get_summary_description,
    histogram as histogram,
    image as image,
    merge as merge,
    merge_all as merge_all,
    scalar as scalar,
    tensor_summary as tensor_summary,
    text as text,
)
