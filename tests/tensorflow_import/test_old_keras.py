"""Unmodified Keras 2.1.6, 2.2.4 and 2.3.1 on gpugraph, with the programs of
`old_keras_programs`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from .old_keras_runs import VERSIONS, run_program


@pytest.mark.parametrize("version", VERSIONS)
def test_it_runs(version: str, tmp_path: Path) -> None:
    run_program(Path(__file__).with_name("old_keras_programs.py"), version, tmp_path)
