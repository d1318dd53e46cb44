"""`tf.compat.v2.data`: datasets, with the names and signatures of TensorFlow 2."""

from gpugraph.api.v2.data_v2 import experimental_v2 as _experimental
from gpugraph.library.data import dataset_versions as _versions, file_datasets as _files
from gpugraph.library.data.data_options import Options as Options

Dataset = _versions.DatasetV2
FixedLengthRecordDataset = _files.FixedLengthRecordDatasetV2
TFRecordDataset = _files.TFRecordDatasetV2
TextLineDataset = _files.TextLineDatasetV2
experimental = _experimental
