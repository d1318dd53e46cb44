"""Texts that did not compile are kept, whatever the cache folder is like."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from gpugraph.devices.cuda.driver.failed_kernel_sources import keep_source


def test_a_text_is_kept_once_in_the_cache_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    path = keep_source("int x;", "a/b c.cu", ".cu")
    assert path is not None and path.parent == tmp_path / "gpugraph" / "refused"
    assert path.name.startswith("a_b_c_cu-") and path.read_text("utf-8") == "int x;"
    assert keep_source("int x;", "a/b c.cu", ".cu") == path
    assert keep_source("int y;", "a/b c.cu", ".cu") != path


def test_without_a_cache_folder_it_is_kept_elsewhere_or_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    (tmp_path / "file").touch()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    path = keep_source("int x;", "a", ".cu")
    assert path is not None and path.parent.parent == tmp_path
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    assert keep_source("int x;", "a", ".cu") is None
