"""Libraries whose version needs TensorFlow 2: the error of the import names one that runs."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import gpugraph
from gpugraph.tensorflow_import.libraries.later_libraries import (
    LATER_LIBRARIES,
    need_of_tensorflow_2,
    version_numbers,
)

Install = Callable[[str, str, str, str], None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Return a function that writes a library with its metadata, and puts it on the path."""

    def write(module: str, distribution: str, version: str, source: str) -> None:
        (tmp_path / module).mkdir()
        (tmp_path / module / "__init__.py").write_text(source)
        metadata = tmp_path / f"{distribution.replace('-', '_')}-{version}.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(f"Name: {distribution}\nVersion: {version}\n")
        (metadata / "top_level.txt").write_text(f"{module}\n")
        monkeypatch.syspath_prepend(str(tmp_path))
        importlib.invalidate_caches()
        monkeypatch.delitem(sys.modules, module, raising=False)

    return write


@pytest.mark.parametrize(
    ("module", "distribution", "version", "source", "runs"),
    [
        ("tf2onnx", "tf2onnx", "1.16.1", "import tensorflow.no.such", "tf2onnx==1.8.5"),
        ("sonnet", "dm-sonnet", "2.0.2", "import tensorflow as t; t.Modul()", "dm-sonnet==1.36"),
        ("keras", "keras", "3.3.3", "from tensorflow import xyz", "Keras==2.3.1"),
        ("tensorflow_addons", "tensorflow-addons", "0.19", "raise ImportError('2')", "tf.contrib"),
        (
            "tensorflow_probability",
            "tensorflow-probability",
            "0.20.0",
            "def _validate_tf_environment(package): raise ImportError('requires 2.12')",
            "tensorflow-probability==0.8.0",
        ),
    ],
)
def test_the_error_names_the_version_that_runs(
    install: Install, module: str, distribution: str, version: str, source: str, runs: str
) -> None:
    install(module, distribution, version, source)
    with gpugraph.as_tensorflow(), pytest.raises(ImportError) as caught:
        importlib.import_module(module)
    assert str(caught.value).startswith(f"{distribution} {version} needs TensorFlow 2")
    assert runs in str(caught.value)
    assert module not in sys.modules


def test_a_version_that_runs_and_a_later_one_that_works_are_imported(install: Install) -> None:
    install("trfl", "trfl", "1.1.0", "import tensorflow.no.such")
    install("gpflow", "gpflow", "2.0", "x = 3")
    with gpugraph.as_tensorflow():
        with pytest.raises(ModuleNotFoundError, match=r"No module named 'tensorflow\.no'"):
            importlib.import_module("trfl")
        assert importlib.import_module("gpflow").x == 3


def test_a_missing_package_is_what_the_error_names(install: Install) -> None:
    install("gpflow", "gpflow", "2.0", "import no_such_package")
    with gpugraph.as_tensorflow(), pytest.raises(ModuleNotFoundError, match="no_such_package"):
        importlib.import_module("gpflow")


def test_the_versions_that_run_are_before_those_that_need_tensorflow_2() -> None:
    for row in LATER_LIBRARIES.values():
        if row.first != (0,):
            runs = row.runs.rpartition("==")[2]
            assert version_numbers(runs) < row.first, row
    assert need_of_tensorflow_2("numpy") == ""


def test_a_missing_name_names_the_library_and_its_line(install: Install) -> None:
    install("trfl", "trfl", "1.1.0", "import tensorflow as tf\n\ntf.layers.dens")
    with gpugraph.as_tensorflow() as missing, pytest.raises(AttributeError) as caught:
        importlib.import_module("trfl")
    text = str(caught.value)
    assert "gpugraph has no tf.layers.dens (used by trfl 1.1.0, " in text
    assert "__init__.py:3); nearest: tf.layers.dense" in text
    assert str(missing).startswith("tf.layers.dens  trfl 1.1.0, ")
