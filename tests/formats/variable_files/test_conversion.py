"""Variables of checkpoints as files of arrays, and back."""

from __future__ import annotations

import pathlib

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.cli import main
from gpugraph.formats.checkpoints.bundle_reader import BundleReader
from gpugraph.formats.checkpoints.bundle_writer import BundleWriter
from gpugraph.formats.variable_files.conversion import VariableFile

VALUES = {
    "net/w": np.arange(6, dtype=np.float32).reshape(2, 3),
    "net/w/Adam": np.ones((2, 3), np.float32),
    "step": np.array(7, np.int64),
    "mask": np.array([True, False]),
    "none": np.zeros((0, 2), np.float64),
    "wave": np.array([1 + 2j], np.complex64),
}


def write(prefix: pathlib.Path) -> str:
    with BundleWriter(str(prefix)) as writer:
        for name, value in sorted(VALUES.items()):
            writer.add(name.encode(), value)
    return str(prefix)


@pytest.mark.parametrize("ending", ["safetensors", "npz"])
def test_a_checkpoint_there_and_back(
    ending: str, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, between = write(tmp_path / "model.ckpt-3"), str(tmp_path / "a" / f"x.{ending}")
    back = str(tmp_path / "b" / "again")
    assert main(["convert", source, between]) == 0
    assert main(["convert", between, back]) == 0
    assert capsys.readouterr().out == (
        f"6 variables, 66B: {source} -> {between}\n6 variables, 66B: {between} -> {back}\n"
    )
    for suffix in (".index", ".data-00000-of-00001"):
        assert (
            pathlib.Path(back + suffix).read_bytes() == pathlib.Path(source + suffix).read_bytes()
        )
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == [f"x.{ending}"]
    for path in (source, source + ".index", between):
        assert main(["show", path]) == 0
        out = capsys.readouterr().out
        assert "variables: 6, 66B" in out and "net/w/Adam  float32    [2, 3]" in out


def test_the_variables_of_a_saved_model(tmp_path: pathlib.Path) -> None:
    write(tmp_path / "variables" / "variables")
    with VariableFile(str(tmp_path)) as variables:
        assert set(variables.arrays) == set(VALUES)
        np.testing.assert_array_equal(variables.read("net/w"), VALUES["net/w"])


def test_strings_are_refused_and_the_target_stays(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prefix, target = str(tmp_path / "model"), tmp_path / "x.safetensors"
    with BundleWriter(prefix) as writer:
        writer.add(b"words", np.array([b"a", b"b"], object), tf.string)
        writer.add(b"_CHECKPOINTABLE_OBJECT_GRAPH", np.array(b"", object), tf.string)
    with VariableFile(prefix) as variables:
        assert set(variables.arrays) == {"words"}
    target.write_text("old")
    assert main(["convert", prefix, str(target)]) == 2
    assert "safetensors files have no string, which is the dtype of 'words'" in (
        capsys.readouterr().err
    )
    assert target.read_text() == "old" and len(list(tmp_path.iterdir())) == 3


def test_a_damaged_source_leaves_no_target(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prefix = write(tmp_path / "model")
    data = pathlib.Path(prefix + ".data-00000-of-00001")
    content = bytearray(data.read_bytes())
    content[-1] ^= 1
    data.write_bytes(content)
    for target in ("x.npz", "x.safetensors", "again"):
        assert main(["convert", prefix, str(tmp_path / target)]) == 2
        assert "hecksum" in capsys.readouterr().err
        assert sorted(path.name for path in tmp_path.iterdir()) == [data.name, "model.index"]
    assert main(["convert", str(tmp_path / "missing"), str(tmp_path / "x.npz")]) == 2
    assert "missing" in capsys.readouterr().err
    assert main(["convert", prefix, prefix]) == 2
    with pytest.raises(tf.errors.NotFoundError, match=r"y\.npz"):
        VariableFile(str(tmp_path / "y.npz"))


def test_a_safetensors_file_becomes_a_checkpoint(tmp_path: pathlib.Path) -> None:
    target = tmp_path / "x.safetensors"
    assert main(["convert", write(tmp_path / "model"), str(target)]) == 0
    assert main(["convert", str(target), str(tmp_path / "again")]) == 0
    with BundleReader(str(tmp_path / "again")) as reader:
        for name, value in VALUES.items():
            assert reader.read(name).dtype == value.dtype
            np.testing.assert_array_equal(reader.read(name), value)
