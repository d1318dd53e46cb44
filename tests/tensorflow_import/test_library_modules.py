"""Names that an installed library provides, at the paths of TensorFlow."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpugraph.tensorflow_import import tensorflow_names

FILES = {
    "contrib/estimator/__init__.py": "add_metrics = 1",
    "python/estimator/early_stopping.py": "stop_if_lower_hook = 2",
    "python/estimator/hooks/hooks.py": "InMemoryEvaluatorHook = 3",
}


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A stand-in for tensorflow-estimator, with the modules of its version 1.15."""
    for name, text in FILES.items():
        file = tmp_path / "tensorflow_estimator" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    forget(monkeypatch)
    yield
    forget(monkeypatch)


def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the library from the modules that are imported, and from the cache of paths."""
    tensorflow_names.library_module.cache_clear()
    for module in [module for module in sys.modules if module.startswith("tensorflow_estimator")]:
        monkeypatch.delitem(sys.modules, module)


@pytest.mark.parametrize(
    ("path", "name", "value"),
    [
        ("contrib.estimator", "add_metrics", 1),
        ("contrib.estimator", "stop_if_lower_hook", 2),
        ("contrib.estimator", "InMemoryEvaluatorHook", 3),
        ("contrib.estimator.python.estimator.early_stopping", "stop_if_lower_hook", 2),
        ("contrib.estimator.python.estimator.hooks", "InMemoryEvaluatorHook", 3),
    ],
)
def test_names_that_moved_within_the_library(
    library: None, path: str, name: str, value: int
) -> None:
    assert tensorflow_names.find(path, name) == value


def test_a_name_that_the_library_lacks(library: None) -> None:
    with pytest.raises(AttributeError):
        tensorflow_names.find("contrib.estimator", "no_such_hook")
