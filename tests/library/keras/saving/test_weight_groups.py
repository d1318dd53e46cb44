"""Variables in HDF5 files: Keras's layout, by order and by name, and errors."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

from .conftest import Affine, Input, Model, h5py, two_layers


def values(model):
    return [np.asarray(value) for value in model.get_weights()]


def save_two_layers(path):
    """Save the model in a separate graph, where its names are free."""
    with tf.Graph().as_default(), tf.Session().as_default():
        two_layers().save_weights(path)


def assert_equal(first, second):
    assert len(first) == len(second)
    for one, other in zip(first, second):
        np.testing.assert_array_equal(one, other)


def test_the_layout_is_that_of_keras(tmp_path):
    model = two_layers()
    model.save_weights(tmp_path / "w.h5")
    with h5py.File(tmp_path / "w.h5") as file:
        assert list(file.attrs["layer_names"]) == [b"begin", b"first", b"inner", b"second"]
        assert file.attrs["backend"] == "tensorflow"
        assert file.attrs["keras_version"] == "2.2.4-tf"
        assert list(file["begin"].attrs["weight_names"]) == []
        names = [b"first/kernel:0", b"first/bias:0"]
        assert list(file["first"].attrs["weight_names"]) == names
        np.testing.assert_array_equal(file["first/first/kernel:0"], values(model)[0])
        assert file["first/first/bias:0"].dtype == np.float32


def test_by_order_and_by_name(tmp_path):
    path = str(tmp_path / "w.hdf5")
    model = two_layers()
    model.save_weights(path)
    other = two_layers("a", "b")
    other.load_weights(path)
    assert_equal(values(other), values(model))
    third = two_layers("first", "b")
    before = values(third)
    third.load_weights(path, by_name=True)
    assert_equal(values(third), [*values(model)[:4], *before[4:]])


def test_an_open_file_and_one_of_a_whole_model(tmp_path):
    model, other = two_layers(), two_layers()
    with h5py.File(tmp_path / "open.h5", "w") as file:
        model.save_weights(file)
        other.load_weights(file)
    assert_equal(values(other), values(model))
    model.set_weights([value + 1 for value in values(model)])
    model.save(tmp_path / "model.h5")
    other.load_weights(tmp_path / "model.h5")
    assert_equal(values(other), values(model))


def test_many_names_are_in_pieces(tmp_path):
    inputs = outputs = Input((1,))
    for number in range(40):
        outputs = Affine(1, name=f"{'long' * 500}_{number}")(outputs)
    model = Model(inputs, outputs)
    model.save_weights(tmp_path / "w.h5")
    with h5py.File(tmp_path / "w.h5") as file:
        assert "layer_names" not in file.attrs and "layer_names1" in file.attrs
    before = values(model)
    model.set_weights([value + 1 for value in before])
    model.load_weights(tmp_path / "w.h5")
    assert_equal(values(model), before)


def test_what_differs_changes_nothing(tmp_path):
    path = tmp_path / "w.h5"
    save_two_layers(path)
    inputs = Input((4,))
    fewer = Model(inputs, Affine(3, name="first")(inputs))
    before = values(fewer)
    with pytest.raises(ValueError, match="weight file containing 3 layers into a model with 1 lay"):
        fewer.load_weights(path)
    wider = two_layers(units=5)
    with pytest.raises(ValueError, match=r"weight shape \(4, 5\) not comp.* \(4, 3\).*first"):
        wider.load_weights(path)
    with pytest.raises(ValueError, match=r'Layer #1 \(named "first"\), weight first_1/kernel:0'):
        wider.load_weights(path, by_name=True)
    assert_equal(values(fewer), before)
    with h5py.File(path, "r+") as file:
        file["first"].attrs["weight_names"] = np.array([b"first/kernel:0"])
    with pytest.raises(ValueError, match="first expects 2 weights, but the saved weights have 1"):
        two_layers().load_weights(path)


def test_a_subclass_has_variables_first(tmp_path):
    class Own(Model):
        def __init__(self):
            super().__init__()
            self.layer = Affine(2)

        def call(self, inputs):
            return self.layer(inputs)

    model = Own()
    with pytest.raises(ValueError, match="Weights for model own have not yet been created"):
        model.save_weights(tmp_path / "w.h5")
    with pytest.raises(ValueError, match="has not created its variables yet"):
        model.load_weights(tmp_path / "w.h5")
    model(tf.zeros([1, 3]))
    model.save_weights(tmp_path / "w.h5")
    copy = Own()
    copy(tf.zeros([1, 3]))
    copy.load_weights(tmp_path / "w.h5")
    assert_equal(values(copy), values(model))


def test_a_file_that_is_there_is_asked_for(tmp_path, monkeypatch):
    path = tmp_path / "w.h5"
    path.write_bytes(b"old")
    answers = iter(["what", "n", "y"])
    monkeypatch.setattr("builtins.input", lambda prompt: next(answers))
    two_layers().save_weights(path, overwrite=False)
    assert path.read_bytes() == b"old"
    two_layers().save_weights(path, overwrite=False)
    assert h5py.is_hdf5(path)


def test_a_failed_save_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "w.h5"
    model = two_layers()
    model.save_weights(path)
    before = path.read_bytes()
    monkeypatch.setattr(h5py.Group, "create_dataset", lambda *args, **kwargs: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        model.save_weights(path)
    assert path.read_bytes() == before and len(list(tmp_path.iterdir())) == 1


class TestFilesAreNotTrusted:
    """Links, damaged and foreign files end in one error, and other files stay unread."""

    def refused(self, path, match):
        model = two_layers()
        before = values(model)
        with pytest.raises((ValueError, OSError), match=match):
            model.load_weights(path)
        assert_equal(values(model), before)

    def test_links_and_arrays_elsewhere(self, tmp_path):
        path, secret = tmp_path / "w.h5", tmp_path / "secret.bin"
        secret.write_bytes(bytes(1000))
        save_two_layers(tmp_path / "other.h5")
        for kind in ("link", "external", "virtual"):
            save_two_layers(path)
            with h5py.File(path, "r+") as file:
                group = file["first/first"]
                del group["kernel:0"]
                if kind == "link":
                    group["kernel:0"] = h5py.ExternalLink("other.h5", "first/first/kernel:0")
                elif kind == "external":
                    where = [(str(secret), 0, 48)]
                    group.create_dataset("kernel:0", (4, 3), "f4", external=where)
                else:
                    layout = h5py.VirtualLayout((4, 3), "f4")
                    layout[:] = h5py.VirtualSource("other.h5", "first/first/kernel:0", (4, 3))
                    group.create_virtual_dataset("kernel:0", layout)
            self.refused(path, "another file, not read")

    def test_what_is_missing_or_no_numbers(self, tmp_path):
        path = tmp_path / "w.h5"
        changes = {
            "has no 'first/bias:0'": lambda group: None,
            "has no numbers": lambda group: group.create_dataset("bias:0", data=b"text"),
            "is not an array": lambda group: group.create_group("bias:0"),
            "a link to nothing": lambda group: group.__setitem__("bias:0", h5py.SoftLink("/no")),
        }
        for match, change in changes.items():
            save_two_layers(path)
            with h5py.File(path, "r+") as file:
                del file["first/first/bias:0"]
                change(file["first/first"])
            self.refused(path, match)

    def test_a_huge_array_is_not_read(self, tmp_path):
        path = tmp_path / "w.h5"
        save_two_layers(path)
        with h5py.File(path, "r+") as file:
            del file["first/first/bias:0"]
            file["first/first"].create_dataset("bias:0", (2**40,), "f4", chunks=(1024,))
        self.refused(path, "not compatible")

    def test_files_of_other_kinds(self, tmp_path):
        (tmp_path / "w.h5").write_bytes(b"no HDF5 at all")
        self.refused(tmp_path / "w.h5", "Unable to open file .*w.h5 as HDF5")
        self.refused(tmp_path / "none.h5", "Unable to open file")

    def test_mutated_files(self, tmp_path):
        path = tmp_path / "w.h5"
        model = two_layers()
        model.save_weights(path)
        whole = path.read_bytes()
        random = np.random.RandomState(7)
        for _ in range(12):  # `ci/mutated_files.py` reads more
            content = bytearray(whole[: random.randint(1, len(whole) + 1)])
            for place in random.randint(0, len(content), 3):
                content[place] = random.randint(256)
            path.write_bytes(content)
            try:
                model.load_weights(path)
            except (ValueError, OSError):
                continue
