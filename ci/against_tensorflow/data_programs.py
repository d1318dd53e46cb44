"""Programs of datasets, their transformations and iterators, by TensorFlow and gpugraph.

    python ci/against_tensorflow/data_programs.py --tensorflow PYTHON [--only NAME] [--words]

A line for each program tells how many of its answers and errors differ. The script fails where one
does that `EXPLAINED` does not name.
"""

from __future__ import annotations

import sys

from life import pipelines
from recorded_programs import Programs, main

PROGRAMS: Programs = {**pipelines.PROGRAMS}

EXPLAINED: dict[str, str] = {}


if __name__ == "__main__":
    sys.exit(main(PROGRAMS, EXPLAINED, __file__, __doc__))
