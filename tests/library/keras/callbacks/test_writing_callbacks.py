"""Callbacks that write files: tables, checkpoints and events."""

from __future__ import annotations

import glob
import http.server
import json
import threading

import numpy as np
import pytest

import gpugraph as tf

keras, K = tf.keras, tf.keras.backend
X = np.linspace(0, 1, 12, dtype=np.float32).reshape(4, 3)
Y = X.sum(1, keepdims=True)


def fit(*callbacks, epochs=2):
    model = keras.Sequential([keras.layers.Dense(1, input_shape=(3,))])
    model.compile("sgd", "mse", metrics=["mae"])
    model.fit(X, Y, epochs=epochs, verbose=0, callbacks=list(callbacks))
    return model


def test_a_table_has_a_row_for_each_epoch(tmp_path):
    path = tmp_path / "log.csv"
    fit(keras.callbacks.CSVLogger(path, separator=";"))
    fit(keras.callbacks.CSVLogger(path, separator=";", append=True), epochs=1)
    rows = path.read_text().splitlines()
    assert rows[0] == "epoch;loss;mean_absolute_error"
    assert [row.split(";")[0] for row in rows[1:]] == ["0", "1", "0"]


def test_checkpoints_are_tensorflows(tmp_path):
    path = str(tmp_path / "w{epoch:02d}")
    model = fit(keras.callbacks.ModelCheckpoint(path, save_weights_only=True))
    reader = tf.train.load_checkpoint(str(tmp_path / "w02"))
    key = "layer_with_weights-0/kernel/.ATTRIBUTES/VARIABLE_VALUE"
    np.testing.assert_array_equal(reader.get_tensor(key), K.get_value(model.weights[0]))
    assert (tmp_path / "w01.index").exists()
    again = keras.models.clone_model(model)
    again.load_weights(tmp_path / "w02").expect_partial()
    np.testing.assert_array_equal(K.get_value(again.weights[0]), K.get_value(model.weights[0]))


@pytest.mark.parametrize("ending", ["", ".h5"])
def test_a_training_begins_with_the_newest_file(tmp_path, ending):
    if ending:
        pytest.importorskip("h5py", reason="HDF5 files need h5py")
    options = {"save_weights_only": True, "load_weights_on_restart": True}
    path = str(tmp_path / f"w-{{epoch:02d}}{ending}")
    kernel = K.get_value(fit(keras.callbacks.ModelCheckpoint(path, **options)).weights[0])
    begun = []

    class First(keras.callbacks.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            begun.append(K.get_value(self.model.weights[0]))

    model = fit(keras.callbacks.ModelCheckpoint(path, **options), First(), epochs=1)
    assert (begun[0] == kernel).all() and (K.get_value(model.weights[0]) != kernel).any()
    (tmp_path / f"w-09{ending or '.index'}").write_bytes(b"none")
    kind = ValueError if ending else tf.errors.DataLossError
    with pytest.raises(kind, match=r"w-09"):
        fit(keras.callbacks.ModelCheckpoint(path, **options))


def test_only_better_models_are_saved(tmp_path, capsys):
    class Rising(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            logs["watched"] = float(epoch)

    save = keras.callbacks.ModelCheckpoint(
        str(tmp_path / "best{epoch}"), "watched", verbose=1, save_best_only=True,
        save_weights_only=True,
    )  # fmt: skip
    fit(Rising(), save)
    assert [path.name for path in sorted(tmp_path.glob("*.index"))] == ["best1.index"]
    assert "watched did not improve from 0.00000" in capsys.readouterr().out
    wrong = keras.callbacks.ModelCheckpoint(str(tmp_path / "{missing}"), save_weights_only=True)
    with pytest.raises(KeyError, match="Failed to format this callback filepath"):
        fit(wrong)
    with pytest.raises(ValueError, match="Unrecognized save_freq"):
        keras.callbacks.ModelCheckpoint("x", save_freq="hour")


def test_events_have_the_values(tmp_path):
    fit(keras.callbacks.TensorBoard(tmp_path, write_graph=False, histogram_freq=1))
    (path,) = glob.glob(str(tmp_path / "events*"))
    with open(path, "rb") as file:
        content = file.read()
    assert content.count(b"epoch_loss") == 2
    assert b"dense/kernel" in content
    with pytest.raises(NotImplementedError, match="write_grads"):
        keras.callbacks.TensorBoard(write_grads=True)


def test_values_are_sent_to_a_server():
    bodies = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *args):
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        root = f"http://127.0.0.1:{server.server_port}"
        fit(keras.callbacks.RemoteMonitor(root, send_as_json=True), epochs=1)
        thread.join()
    assert json.loads(bodies[0])["epoch"] == 0
