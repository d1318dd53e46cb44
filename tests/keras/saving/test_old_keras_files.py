"""Files of Keras 2.1.6, 2.2.4 and 2.3.1, and of tf.keras for them: see `old_keras_files`."""

from __future__ import annotations

from pathlib import Path

import pytest

from ...tensorflow_import.old_keras_runs import VERSIONS, run_program


@pytest.mark.parametrize("version", VERSIONS)
def test_each_reads_the_others_files(version: str, tmp_path: Path) -> None:
    run_program(Path(__file__).with_name("old_keras_files.py"), version, tmp_path)
