"""The progress bar in a log and in a terminal."""

from __future__ import annotations

import io

import numpy as np
import pytest

import gpugraph as tf

keras = tf.keras


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_log_has_one_line_for_each_epoch(capsys):
    model = keras.Sequential([keras.layers.Dense(1, input_shape=(3,))])
    model.compile("sgd", "mse", metrics=["mae"])
    model.fit(np.ones((70, 3)), np.ones(70), epochs=2, validation_split=0.1)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Train on 63 samples, validate on 7 samples"
    assert lines[1] == "Epoch 1/2"
    assert lines[2].startswith("63/63 [==============================] - 0s ")
    names = ["loss", "mean_absolute_error", "val_loss", "val_mean_absolute_error"]
    assert [part.split(":")[0] for part in lines[2].split(" - ")[2:]] == names
    assert len(lines) == 5


def test_one_line_each_with_verbose_2(capsys):
    model = keras.Sequential([keras.layers.Dense(1, input_shape=(3,))])
    model.compile("sgd", "mse")
    model.fit(np.ones((7, 3)), np.ones(7), verbose=2)
    assert capsys.readouterr().out.splitlines()[1].startswith("7/7 - 0s - loss: ")


def test_a_terminal_is_redrawn(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr("sys.stdout", stream)
    bar = keras.utils.Progbar(10, width=10, interval=0.0)
    bar.update(3, [("loss", 1.0)])
    bar.add(7, [("loss", 2.0)])
    first, last = stream.getvalue().split("\r")[1:]
    assert first.startswith(" 3/10 [==>.......] - ETA: ")
    assert last.startswith("10/10 [==========] - ")
    assert last.rstrip().endswith("loss: 1.7000")
    assert last.endswith("\n")


def test_an_unknown_length(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr("sys.stdout", stream)
    keras.utils.Progbar(None, interval=0.0).update(4, [])
    assert "4/Unknown" in stream.getvalue()
    with pytest.raises(ValueError, match="Unknown `count_mode`"):
        keras.callbacks.ProgbarLogger("epochs")
