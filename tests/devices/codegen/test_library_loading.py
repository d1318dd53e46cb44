"""Libraries from bytes: each is its own, whatever descriptors and files do."""

from __future__ import annotations

import ctypes
import os
import subprocess
from pathlib import Path

import pytest

from gpugraph.devices.codegen.c_compiler import compiler
from gpugraph.devices.codegen.library_loading import load_library
from gpugraph.devices.codegen.trusted_folders import private_folder

pytestmark = pytest.mark.skipif(not compiler().path, reason="no C compiler was found")


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    folder = tmp_path_factory.mktemp("libraries")
    contents = []
    for number in range(3):
        source = f"int number(void) {{ return {number}; }}"
        command = [compiler().path, "-shared", "-fPIC", "-x", "c", "-", "-o", str(folder / "out")]
        subprocess.run(command, input=source, text=True, check=True)
        contents.append((folder / "out").read_bytes())
    return contents


@pytest.mark.parametrize("way", ["in memory", "no memory files", "in a file"])
def test_libraries_are_told_apart(
    libraries: list[bytes], way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if way == "no memory files":
        monkeypatch.delattr(os, "memfd_create")
    before = os.listdir("/proc/self/fd")
    loaded = [load_library(content, in_memory=way != "in a file") for content in libraries * 2]
    assert [library.number() for library in loaded] == [0, 1, 2] * 2
    assert os.listdir("/proc/self/fd") == before
    files = list(private_folder().glob("*.so"))
    assert len(files) == (6 if way == "in a file" else 0)
    for path in files:
        path.unlink()


def test_what_is_no_library_is_an_error() -> None:
    with pytest.raises(OSError, match=r"too short|invalid ELF"):
        load_library(b"nonsense")
    assert list(private_folder().glob("*.so")) == []


def test_a_file_that_others_may_write_is_not_loaded(
    libraries: list[bytes], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A shared temporary folder is no place for code if others may rename the files in it."""
    monkeypatch.delattr(os, "memfd_create")
    monkeypatch.setattr("gpugraph.devices.codegen.trusted_folders._PRIVATE", {})
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    tmp_path.chmod(0o777)
    with pytest.raises(PermissionError, match="can be written by others"):
        load_library(libraries[0])
    tmp_path.chmod(0o1777)
    assert isinstance(load_library(libraries[0]), ctypes.CDLL)
