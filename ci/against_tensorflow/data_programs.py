"""Programs of datasets, their transformations and iterators, by TensorFlow and gpugraph.

    python ci/against_tensorflow/data_programs.py --tensorflow PYTHON [--only NAME] [--words]

A line for each program tells how many of its answers and errors differ. The script fails where one
does that `EXPLAINED` does not name.
"""

from __future__ import annotations

import sys

from life import combined_pipelines, experimental_pipelines, iterators, pipelines, refused_pipelines
from recorded_programs import Programs, main

PROGRAMS: Programs = {
    **pipelines.PROGRAMS,
    **combined_pipelines.PROGRAMS,
    **experimental_pipelines.PROGRAMS,
    **iterators.PROGRAMS,
    **refused_pipelines.PROGRAMS,
}

WORDS = "1.15's words, which 2.x has written anew"
WRAPPED = "2.x writes the transformation before the error of its function"
AHEAD = "2.x reads a few elements ahead, unasked"
SEEDS = "2.x counts no operations where a graph's seed does without that of an op"
EPOCHS = "2.x draws new seeds for each epoch; 1.15 goes on with the stream"
CONVERTED = "1.15's words: in converted code"
ENDS = "TensorFlow takes a cut head of a record for the end of the file"
GENERATED = "a ValueError in 1.15, a TypeError in 2.x"
EXPLAINED: dict[str, str] = {
    "bad_files: compression": "TensorFlow reads such records as if they were not compressed",
    "bad_files: end of compression": "see: compression",
    "bad_files: end of cut header": ENDS,
    "bad_files: end of cut length": ENDS,
    "bad_files: end of cut record": ENDS,
    "bad_files: end of no gzip": "our text names the file",
    "bad_files: end of no zlib": "our text names the file",
    "bad_files: end of text": "our text names the file",
    "c_multi_hot: end of elements": WRAPPED,
    "c_padded_structure: ended by": WORDS,
    "c_sparse_batches: shapes": "2.x keeps the dense shape of serialized tensors",
    "functions_that_raise: in tracing": CONVERTED,
    **{
        f"functions_that_raise: end of {key}": WRAPPED
        for key in (
            "py_func",
            "parallel",
            "prefetched",
            "filter",
            "flat_map",
            "interleave",
            "wrong type",
            "assertion",
        )
    },
    "errors_are_passed: error": WRAPPED,
    "iterators_out_of_order: saved before": WORDS,
    "other_structures: a dict of sets": WORDS,
    "other_structures: arguments": CONVERTED,
    "other_structures: batch size": WORDS,
    "other_structures: concatenate": WORDS,
    "other_structures: end of a set shape": WORDS,
    "other_structures: end of other rank": GENERATED,
    "other_structures: end of other shape": GENERATED,
    "other_structures: filter": "2.x fails on its own text",
    "other_structures: no function": WORDS,
    "other_structures: no generator": WORDS,
    "other_structures: nothing": "2.x has a structure for None",
    "other_structures: padding value": WORDS,
    "other_structures: scalar": WORDS,
    "other_structures: structure": WORDS,
    "other_structures: zip of a list": WORDS,
    "other_structures: zip of numbers": WORDS,
    "unequal_batches: end of batch": WORDS,
    "unequal_batches: end of parallel": WORDS,
    "unequal_batches: end of ranks": "2.x counts elements; 1.15 compares shapes",
    "unequal_batches: ranks": "see: end of ranks",
    "d_generator_wrong_shape: end of elements": GENERATED,
    "d_batch_unequal: end of elements": WORDS,
    "d_filter_no_bool: ended by": WORDS,
    "d_flat_map_no_dataset: ended by": "TensorFlow's own text can't be formatted",
    "d_map_fails: end of elements": WRAPPED,
    "d_map_sparse: shapes": "2.x keeps the dense shape of serialized tensors",
    "e_scan_no_pair: ended by": WORDS,
    "e_scan_wrong_state: ended by": WORDS,
    "fixed_length_files: end of record of 0": WRAPPED,
    "functions_that_assign: count": AHEAD,
    "functions_with_tables: uninitialized": WRAPPED,
    "functions_with_uninitialized_variables: value": WRAPPED,
    "functions_with_variables: values": AHEAD,
    "graph_seed_map: elements": SEEDS,
    "graph_seed_map_normal: elements": SEEDS,
    "graph_seed_no_seed: elements": SEEDS,
    "graph_seed_repeat: elements": SEEDS,
    "in_loops: first": "TensorFlow runs iterations side by side: later ones may read first",
    "in_loops: second": "see: first",
    "of_another_graph: iterator": WORDS,
    "of_another_graph: one shot": WORDS,
    "one_shot: no initializer": WORDS,
    "one_shot_refuses_state: variable": WORDS,
    "optionals: spec": "1.15 names it value_structure",
    "record_files: end of cut": "our text names the file and the bytes that there are",
    "reinitializable: no initializer": WORDS,
    "shuffle_and_repeat: elements": EPOCHS,
    "shuffle_and_repeat_on: elements": EPOCHS,
    "single_elements: no dataset": WORDS,
    "text_files: end of compression": WRAPPED,
}


if __name__ == "__main__":
    sys.exit(main(PROGRAMS, EXPLAINED, __file__, __doc__))
