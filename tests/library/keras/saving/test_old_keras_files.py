"""Files of Keras 2.1.6, 2.2.4 and 2.3.1, and of tf.keras for them: see `old_keras_files`."""

from __future__ import annotations

from pathlib import Path

import pytest

from ....tensorflow_import.old_keras_runs import run_program

OFTEN = "2.3.1"
"""The version whose files are read in each run of ci/test; the others' are, with --all."""


@pytest.mark.parametrize(
    "version", [OFTEN, *(pytest.param(v, marks=pytest.mark.exhaustive) for v in ("2.1.6", "2.2.4"))]
)
def test_each_reads_the_others_files(version: str, tmp_path: Path) -> None:
    run_program(Path(__file__).with_name("old_keras_files.py"), version, tmp_path)
