"""`tf.contrib.data`: datasets and their transformations, under their names in TensorFlow 1.4 to
1.12.
"""

from gpugraph.api.data.data_experimental import *
from gpugraph.library.data.contrib_transformations import (
    assert_element_shape as assert_element_shape,
    batch_and_drop_remainder as batch_and_drop_remainder,
    padded_batch_and_drop_remainder as padded_batch_and_drop_remainder,
    read_batch_features as read_batch_features, reduce_dataset as reduce_dataset,
    set_stats_aggregator as set_stats_aggregator, sliding_window_batch as sliding_window_batch,
    sloppy_interleave as sloppy_interleave,
)
from gpugraph.library.data import dataset_versions as _versions, file_datasets as _files
from gpugraph.library.data.iterators import Iterator as Iterator

Dataset = _versions.DatasetV1
FixedLengthRecordDataset = _files.FixedLengthRecordDatasetV1
TFRecordDataset = _files.TFRecordDatasetV1
TextLineDataset = _files.TextLineDatasetV1
