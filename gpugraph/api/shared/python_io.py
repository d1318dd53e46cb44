"""`tf.python_io`: reading and writing of record files from Python."""

from gpugraph.formats.record_files import (
    TFRecordCompressionType as TFRecordCompressionType, TFRecordOptions as TFRecordOptions,
    TFRecordWriter as TFRecordWriter, tf_record_iterator as tf_record_iterator,
)
