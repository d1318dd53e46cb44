"""`tensorflow.python.platform.resource_loader`: files beside the file that asks."""

from __future__ import annotations

import importlib
import os

import pytest

import gpugraph as tf

HERE = os.path.dirname(__file__)


def test_files_are_beside_the_file_that_calls():
    with tf.as_tensorflow():
        loader = importlib.import_module("tensorflow.python.platform.resource_loader")
    assert loader.get_data_files_path() == loader.get_root_dir_with_all_resources() == HERE
    assert loader.get_path_to_datafile("a/b.txt") == os.path.join(HERE, "a/b.txt")
    assert loader.readahead_file_path("a") == "a"
    with open(__file__, "rb") as file:
        assert loader.load_resource(os.path.basename(__file__)) == file.read()
    with pytest.raises(OSError, match="nothing"):
        loader.load_resource("nothing")
