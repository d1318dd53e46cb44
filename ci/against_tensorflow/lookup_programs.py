"""Programs of tables, by TensorFlow and gpugraph.

    python ci/against_tensorflow/lookup_programs.py --tensorflow PYTHON [--only NAME] [--words]

A line for each program tells how many of its answers and errors differ. The script fails where one
does that `EXPLAINED` does not name.
"""

from __future__ import annotations

import sys

from life import tables
from recorded_programs import main

PYTHON = "1.15's words, which 2.x has written anew"
REFUSED = (
    "no file", "no path", "vocabulary", "file's dtype", "no tensor", "tensor's dtype",
    "tensor of floats", "keys", "no bucket", "values", "hasher", "unknown hasher", "key",
    "static buckets", "back, no tensor", "back, no file", "back, size",
)  # fmt: skip
FILES = (
    "no path", "key index", "value index", "number of strings", "line of floats",
    "value's number", "value's line", "no lines",
)  # fmt: skip
EXPLAINED: dict[str, str] = {
    **{f"vocabularies_refused: {key}": PYTHON for key in REFUSED},
    **{f"filled_from_files: {key}": PYTHON for key in FILES},
    "filled_from_tensors: keys' dtype": PYTHON,
    "filled_from_tensors: default's dtype": PYTHON,
    "filled_from_tensors: shapes": "the rank of what is exported is known; 2.x leaves it open",
    "mutable: dtype of remove": PYTHON,
    "mutable: dtype of insert": PYTHON,
    "vocabularies: names": "1.15 chooses by Select, 2.x by SelectV2",
    "vocabularies: operations": "see: names",
}


if __name__ == "__main__":
    sys.exit(main(tables.PROGRAMS, EXPLAINED, __file__, __doc__))
