"""Packages whose modules are imported when a name is first asked for."""

from __future__ import annotations

import importlib
import pickle
import sys
from pathlib import Path

import pytest

FILES = {
    "__init__.py": '''"""A package."""

from typing import TYPE_CHECKING

from gpugraph.base.deferred_names import deferred_names

if TYPE_CHECKING:
    from lazy_rooms import shelf as shelf
    from lazy_rooms.colours import blue as blue, red as crimson
    from lazy_rooms import shapes as _shapes
    from lazy_rooms.names import *

    azure = blue
    square = _shapes.square
else:
    __getattr__, __dir__, __all__ = deferred_names(__name__)
''',
    "colours.py": "blue, red = 'blue', 'red'\n",
    "shapes.py": "square = 'square'\n",
    "names.py": "from lazy_rooms.shelf import shelf as shelf_name, _secret as _secret\n",
    "shelf.py": "shelf, _secret = 'shelf', 1\n",
    "blue.py": "",
    "other.py": "",
}


@pytest.fixture
def rooms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = tmp_path / "lazy_rooms"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("lazy_rooms")
    for name in [name for name in sys.modules if name.partition(".")[0] == "lazy_rooms"]:
        del sys.modules[name]


def test_names_are_imported_when_they_are_asked_for(rooms):
    assert "lazy_rooms.colours" not in sys.modules
    assert (rooms.blue, rooms.crimson, rooms.azure, rooms.square) == (
        *("blue", "red", "blue", "square"),
    )
    assert rooms.shelf_name == "shelf"
    assert rooms.shelf is sys.modules["lazy_rooms.shelf"]


def test_a_package_is_pickled_as_its_name(rooms):
    assert pickle.loads(pickle.dumps(rooms)) is rooms


def test_a_module_of_the_same_name_does_not_hide_a_name(rooms):
    importlib.import_module("lazy_rooms.blue")
    assert rooms.blue == "blue"


def test_modules_that_are_not_listed_are_found_too(rooms):
    assert rooms.other is importlib.import_module("lazy_rooms.other")


def test_what_is_public_is_listed(rooms):
    public = ["azure", "blue", "crimson", "shelf", "shelf_name", "square"]
    assert rooms.__all__ == public
    assert set(public) <= set(dir(rooms))
    assert not hasattr(rooms, "TYPE_CHECKING")
    assert not hasattr(rooms, "_secret")


def test_other_names_are_an_error(rooms):
    with pytest.raises(AttributeError, match="module 'lazy_rooms' has no attribute 'green'"):
        _ = rooms.green
    with pytest.raises(ImportError, match="cannot import name 'green'"):
        exec("from lazy_rooms import green")
