"""Files read and written in a run, and records decoded."""

from gpugraph.ops.files import (
    checkpoint_ops,
    decode_compressed,
    decode_csv,
    decode_raw,
    read_and_write_file,
    vocabulary_remapping,
)
