"""The bytes of checkpoints: the index table, its entries, and the data files.

wire                fields of small messages
sorted_table        the index: sorted keys and values in blocks with checksums
bundle_entries      the index entries of tensors
snappy              decompression of table blocks
tensor_reader       base of readers: tensors by their names, whole or in part
slice_tables        V1 checkpoints; the choice of the reader for a path
slices              parts of tensors: their texts, keys and overlaps
bundle_writer       writes V2 checkpoints tensor by tensor, merges checkpoints of several tasks
bundle_reader       reads V2 checkpoints, tensors whole or in part
"""
