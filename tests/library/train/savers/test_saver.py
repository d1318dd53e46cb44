"""Savers: operations, files, checkpoints that are kept, restores, and errors."""

from __future__ import annotations

import os
from types import SimpleNamespace

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.library.train.savers import saver as saver_module
from gpugraph.library.train.savers.saver_builder import BaseSaverBuilder


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.fixture
def prefix(tmp_path):
    return str(tmp_path / "model")


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def variables(resource=False):
    first = tf.get_variable("first", initializer=[1.0, 2.0], use_resource=resource)
    value = np.arange(4).reshape(2, 2)
    return first, tf.get_variable("second", initializer=value, use_resource=resource)


@pytest.mark.parametrize("sharded", [False, True])
@pytest.mark.parametrize("reshape", [False, True])
@pytest.mark.parametrize("resource", [False, True])
def test_variables_come_back(tmp_path, prefix, sharded, reshape, resource):
    first, second = variables(resource)
    saver = tf.train.Saver(sharded=sharded, reshape=reshape, restore_sequentially=reshape)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        assert saver.save(sess, prefix, write_meta_graph=False) == prefix
    with tf.Session() as sess:
        saver.restore(sess, prefix)
        assert sess.run(first).tolist() == [1, 2]
        assert sess.run(second).tolist() == [[0, 1], [2, 3]]
    assert names(tmp_path) == ["checkpoint", "model.data-00000-of-00001", "model.index"]


def test_operations_have_the_names_of_tensorflow():
    variables()
    saver_def = tf.train.Saver().as_saver_def()
    operations = [op.name for op in tf.get_default_graph().get_operations()]
    assert [name for name in operations if name.startswith("save/")] == [
        *("save/filename/input", "save/filename", "save/Const"),
        *("save/SaveV2/tensor_names", "save/SaveV2/shape_and_slices", "save/SaveV2"),
        *("save/control_dependency", "save/RestoreV2/tensor_names"),
        *("save/RestoreV2/shape_and_slices", "save/RestoreV2"),
        *("save/Assign", "save/Assign_1", "save/restore_all"),
    ]
    assert saver_def.filename_tensor_name == "save/Const:0"
    assert saver_def.save_tensor_name == "save/control_dependency:0"
    assert saver_def.restore_op_name == "save/restore_all"


def test_shards_by_device_are_merged(tmp_path, prefix):
    for index, value in enumerate([1.0, 2.0]):
        with tf.device(f"/cpu:{index}"):
            tf.get_variable(f"v{index}", initializer=[value])
    config = tf.ConfigProto(device_count={"CPU": 2})
    saver = tf.train.Saver(sharded=True)
    with tf.Session(config=config) as sess:
        sess.run(tf.global_variables_initializer())
        saver.save(sess, prefix, write_state=False, write_meta_graph=False)
    shards = [f"model.data-0000{index}-of-00002" for index in range(2)]
    assert names(tmp_path) == [*shards, "model.index"]
    with tf.Session(config=config) as sess:
        saver.restore(sess, prefix)
        assert sess.run(["v0:0", "v1:0"]) == [[1.0], [2.0]]


def test_partitions_become_one_tensor_and_any_other_partitions(prefix):
    value = np.arange(12, dtype=np.float32).reshape(6, 2)
    for cuts in (3, 2, 1, 6):
        with tf.Graph().as_default(), tf.Session() as sess:
            whole = tf.get_variable(
                "scope/v",
                [6, 2],
                initializer=tf.zeros_initializer(),
                partitioner=tf.fixed_size_partitioner(cuts),
            )
            saver = tf.train.Saver({"scope/v": whole} if cuts == 2 else None)
            if cuts == 3:
                sess.run(whole.assign(value))
            else:
                saver.restore(sess, prefix)
            assert (sess.run(tf.convert_to_tensor(whole)) == value).all()
            saver.save(sess, prefix, write_meta_graph=False)
        assert tf.train.list_variables(prefix) == [("scope/v", [6, 2])]
        assert (tf.train.load_variable(prefix, "scope/v") == value).all()


def test_strings_and_names_of_a_dict(prefix):
    text = tf.Variable([b"", b"\xff\0text"], name="text")
    saver = tf.train.Saver({"other/name": text})
    with tf.Session() as sess:
        sess.run(text.initializer)
        saver.save(sess, prefix, write_meta_graph=False)
        sess.run(text.assign([b"x", b"y"]))
        saver.restore(sess, prefix)
        assert sess.run(text).tolist() == [b"", b"\xff\0text"]
    assert tf.train.list_variables(prefix) == [("other/name", [2])]


def test_old_checkpoints_go(tmp_path, prefix):
    variables()
    saver = tf.train.Saver(max_to_keep=2)
    step = tf.train.create_global_step()
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for number in range(4):
            saver.save(sess, prefix, global_step=number, write_meta_graph=False)
        assert saver.last_checkpoints == [f"{prefix}-2", f"{prefix}-3"]
        assert tf.train.latest_checkpoint(tmp_path) == f"{prefix}-3"
        state = tf.train.get_checkpoint_state(str(tmp_path))
        assert list(state.all_model_checkpoint_paths) == [f"{prefix}-2", f"{prefix}-3"]
        assert len(names(tmp_path)) == 5
        later = tf.train.Saver(max_to_keep=2, pad_step_number=True)
        later.recover_last_checkpoints([f"{prefix}-1", *state.all_model_checkpoint_paths])
        assert later.last_checkpoints == saver.last_checkpoints
        path = later.save(sess, prefix, global_step=step, write_meta_graph=False)
        assert path == f"{prefix}-00000000"
        assert not tf.train.checkpoint_exists(f"{prefix}-2")


def test_one_in_so_many_hours_is_kept_for_ever(tmp_path, prefix, monkeypatch):
    clock = [1000.0]
    monkeypatch.setattr(saver_module, "time", SimpleNamespace(time=lambda: clock[0] * 3600))
    tf.Variable(1.0, name="v")
    saver = tf.train.Saver(max_to_keep=1, keep_checkpoint_every_n_hours=2)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for step, hours in enumerate((1, 2.5, 3, 3.5, 5, 5.5)):
            clock[0] = 1000 + hours
            saver.save(sess, prefix, global_step=step, write_meta_graph=False)
    kept = [name for name in names(tmp_path) if name.endswith(".index")]
    assert kept == ["model-1.index", "model-4.index", "model-5.index"]
    assert saver.last_checkpoints == [f"{prefix}-5"]


def test_relative_paths(tmp_path, monkeypatch):
    variables()
    monkeypatch.chdir(tmp_path)
    os.mkdir("run")
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        tf.train.Saver().save(sess, "run/m", write_meta_graph=False)
        assert 'model_checkpoint_path: "m"' in (tmp_path / "run/checkpoint").read_text()
        assert tf.train.latest_checkpoint("run") == "run/m"
        saver = tf.train.Saver(save_relative_paths=True)
        saver.save(sess, str(tmp_path / "run/n"), write_meta_graph=False)
        assert 'model_checkpoint_path: "n"' in (tmp_path / "run/checkpoint").read_text()
        saver.save(sess, "plain", write_meta_graph=False)
        assert tf.train.latest_checkpoint(".") == "./plain"


def test_what_does_not_fit_is_an_error_and_the_session_goes_on(prefix):
    first, _ = variables()
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        tf.train.Saver().save(sess, prefix, write_meta_graph=False)
        for other, kind, words in (
            ({"third": first}, tf.errors.NotFoundError, "Key third not found in checkpoint"),
            ({"second": first}, tf.errors.InvalidArgumentError, "does not equal original dtype"),
        ):
            with pytest.raises(kind, match="Restoring from checkpoint failed") as raised:
                tf.train.Saver(other).restore(sess, prefix)
            assert words in str(raised.value)
        larger = tf.get_variable("larger", [3], initializer=tf.zeros_initializer())
        with pytest.raises(tf.errors.InvalidArgumentError, match="a mismatch between the current"):
            tf.train.Saver({"first": larger}).restore(sess, prefix)
        assert sess.run(first).tolist() == [1, 2]
        with pytest.raises(ValueError, match=r"not a valid checkpoint: .*nothing"):
            tf.train.Saver().restore(sess, f"{prefix}nothing")
        with pytest.raises(ValueError, match="when it is None"):
            tf.train.Saver().restore(sess, None)


def test_uninitialized_variables_are_not_saved(tmp_path, prefix):
    variables()
    with tf.Session() as sess, pytest.raises(tf.errors.FailedPreconditionError, match="ninitial"):
        tf.train.Saver().save(sess, prefix)
    assert names(tmp_path) == []


def test_arguments_that_are_refused(tmp_path, prefix):
    with pytest.raises(ValueError, match="No variables to save"):
        tf.train.Saver()
    empty = tf.train.Saver(allow_empty=True)
    first, second = variables()
    with tf.Session() as sess:
        assert empty.save(sess, prefix, write_meta_graph=False) is None
        assert empty.restore(sess, prefix) is None
        sess.run(tf.global_variables_initializer())
        saver = tf.train.Saver(defer_build=True)
        with pytest.raises(RuntimeError, match="should be called before save"):
            saver.save(sess, prefix)
        saver.build()
        with pytest.raises(ValueError, match="must not contain path components"):
            saver.save(sess, prefix, latest_filename="a/b")
        with pytest.raises(ValueError, match="collides with 'save_path'"):
            saver.save(sess, str(tmp_path / "checkpoint"))
        with pytest.raises(ValueError, match="doesn't exist, can't save"):
            saver.save(sess, str(tmp_path / "no" / "no" / "m"))
        with pytest.raises(TypeError, match="'sess' must be a Session"):
            saver.save(None, prefix)
    for wrong, kind in (
        (3, TypeError),
        ([tf.constant(1)], TypeError),
        ({1: first}, TypeError),
        ({"a": tf.constant(1)}, TypeError),
        ([first, first], ValueError),
        ({"a": first, "b": first}, ValueError),
        ({"a": [first]}, ValueError),
    ):
        with pytest.raises(kind):
            tf.train.Saver(wrong)
    with pytest.raises(ValueError, match="build cannot be deferred"):
        tf.train.Saver([second], defer_build=True)
    with pytest.raises(RuntimeError, match="Unexpected write_version: 3"):
        tf.train.Saver(write_version=3)


def test_a_meta_graph_restores_in_a_new_graph(prefix):
    first, _ = variables()
    tf.add_to_collection("twice", first * 2)
    saver = tf.train.Saver()
    tf.add_to_collection(tf.GraphKeys.SAVERS, saver)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        path = saver.save(sess, prefix, global_step=7)
    for scope in (None, "inner"):
        with tf.Graph().as_default(), tf.Session() as sess:
            again = tf.train.import_meta_graph(f"{path}.meta", import_scope=scope)
            again.restore(sess, path)
            assert sess.run(tf.get_collection("twice")[0]).tolist() == [2, 4]
            assert isinstance(tf.get_collection(tf.GraphKeys.SAVERS)[0], tf.train.Saver)
            assert again.to_proto(scope).save_tensor_name == "save/control_dependency:0"
    with tf.Graph().as_default():
        assert tf.train.import_meta_graph(tf.train.export_meta_graph()) is None


def test_steps_are_whole_numbers_of_any_kind(prefix):
    variables()
    saver = tf.train.Saver()
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for step in (1, np.int64(2), tf.constant(3), np.uint8(4)):
            path = saver.save(sess, prefix, global_step=step, write_meta_graph=False)
            assert path == f"{prefix}-{int(sess.run(step) if tf.is_tensor(step) else step)}"
        with pytest.raises(TypeError, match=r"1\.5"):
            saver.save(sess, prefix, global_step=1.5)
        # only a path without a step could be the state file's
        assert saver.save(sess, prefix, global_step=7, latest_filename="model") == f"{prefix}-7"
        with pytest.raises(ValueError, match="'latest_filename' collides with 'save_path'"):
            saver.save(sess, prefix, latest_filename="model")
        with pytest.raises(ValueError, match="Parent directory of  doesn't exist, can't save"):
            saver.save(sess, "")


def test_a_constant_is_no_variable():
    with pytest.raises(TypeError, match=r"to Tensors/Variables. Not a variable: <tf.Tensor"):
        tf.train.Saver({"x": tf.constant(1.0)})


def test_removing_a_checkpoint_removes_what_killed_saves_left(tmp_path, prefix):
    variables()
    saver = tf.train.Saver(max_to_keep=1)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        saver.save(sess, prefix, global_step=1, write_meta_graph=False)
        (tmp_path / "model-1.meta.tempstate12").touch()
        saver.save(sess, prefix, global_step=2, write_meta_graph=False)
    assert names(tmp_path) == ["checkpoint", "model-2.data-00000-of-00001", "model-2.index"]


def test_each_save_removes_one_of_several_recovered_checkpoints(tmp_path, prefix):
    variables()
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        paths = [tf.train.Saver().save(sess, prefix, step) for step in range(3)]
        saver = tf.train.Saver(max_to_keep=1)
        saver.recover_last_checkpoints(paths)
        left = []
        for step in range(3, 6):
            saver.save(sess, prefix, global_step=step)
            left.append(sorted(path.stem for path in tmp_path.glob("*.index")))
    assert left == [[f"model-{step}" for step in range(n, n + 3)] for n in range(1, 4)]
    assert saver.last_checkpoints == [f"{prefix}-{step}" for step in range(3, 6)]


def test_a_builder_of_a_program_adds_what_it_wants(prefix):
    class OneByOne(BaseSaverBuilder):
        """A builder that counts saves and restores; a separate operation reads each variable."""

        saved = restored = 0

        def save_op(self, filename_tensor, saveables):
            self.saved += len(saveables)
            return super().save_op(filename_tensor, saveables)

        def restore_op(self, filename_tensor, saveable, preferred_shard):
            self.restored += 1
            return super().restore_op(filename_tensor, saveable, preferred_shard)

    first, second = variables()
    builder = OneByOne()
    saver = tf.train.Saver(builder=builder)
    assert (builder.saved, builder.restored) == (2, 2)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        saver.save(sess, prefix, write_meta_graph=False)
        sess.run([first.assign([0, 0]), second.assign([[0, 0], [0, 0]])])
        saver.restore(sess, prefix)
        assert sess.run(first).tolist() == [1, 2]


def test_a_saveable_of_a_program_is_saved_beside_variables(prefix):
    class Doubled(BaseSaverBuilder.SaveableObject):
        """A variable that is saved as twice its value."""

        def __init__(self, variable, name):
            spec = BaseSaverBuilder.SaveSpec(variable * 2.0, "", name)
            super().__init__(variable, [spec], name)

        def restore(self, restored_tensors, restored_shapes):
            return self.op.assign(restored_tensors[0] / 2.0)

    value = tf.Variable([1.0, 2.0], collections=[])
    tf.add_to_collection(tf.GraphKeys.SAVEABLE_OBJECTS, Doubled(value, "doubled"))
    first, _ = variables()
    saver = tf.train.Saver()
    with tf.Session() as sess:
        sess.run([tf.global_variables_initializer(), value.initializer])
        saver.save(sess, prefix, write_meta_graph=False)
        assert tf.train.load_variable(prefix, "doubled").tolist() == [2, 4]
        sess.run([value.assign([0, 0]), first.assign([0, 0])])
        saver.restore(sess, prefix)
        assert sess.run(value).tolist() == [1, 2] and sess.run(first).tolist() == [1, 2]


@pytest.mark.parametrize("resource", [False, True])
def test_a_variable_with_a_caching_device(prefix, resource):
    v = tf.get_variable("v", initializer=[1.0, 2.0], caching_device="/cpu:0", use_resource=resource)
    saver = tf.train.Saver()
    with tf.Session() as session:
        session.run(v.initializer)
        saver.save(session, prefix)
    with tf.Session() as session:
        saver.restore(session, prefix)
        assert session.run(v).tolist() == [1, 2]


@pytest.mark.parametrize("sharded", [False, True])
def test_checkpoints_of_v1_are_written_kept_and_restored(tmp_path, sharded):
    with tf.device("/gpu:0"):
        variable = tf.get_variable("v", initializer=[1.0, 2.0])
    parts = tf.get_variable(
        "p", [4, 2], initializer=tf.ones_initializer(), partitioner=tf.fixed_size_partitioner(2)
    )
    tf.get_variable("text", initializer=b"abc")
    saver = tf.train.Saver(write_version=tf.train.SaverDef.V1, sharded=sharded, max_to_keep=2)
    assert saver.saver_def.version == tf.train.SaverDef.V1
    config = tf.ConfigProto(allow_soft_placement=True)
    with tf.Session(config=config) as session:
        session.run(tf.global_variables_initializer())
        paths = [saver.save(session, str(tmp_path / "m"), step) for step in range(3)]
        pattern = "-?????-of-00002" if sharded else ""
        assert paths == [f"{tmp_path}/m-{step}{pattern}" for step in range(3)]
        assert tf.train.latest_checkpoint(str(tmp_path)) == paths[2]
        assert not tf.train.checkpoint_exists(paths[0])
        session.run(variable.assign([7.0, 8.0]))
        saver.restore(session, paths[2])
        np.testing.assert_array_equal(session.run(variable), [1, 2])
        tf.train.Saver().restore(session, paths[1])
        assert session.run(parts.as_tensor()).sum() == 8
    ops = {node.op for node in tf.get_default_graph().as_graph_def().node}
    assert "SaveSlices" in ops and "SaveV2" in ops and "Save" not in ops
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        suffix = f"{tmp_path}/m-2.meta"
        tf.train.import_meta_graph(suffix).restore(session, paths[2])
        np.testing.assert_array_equal(session.run("v:0"), [1, 2])
    assert dict(tf.train.list_variables(paths[2])) == {"v": [2], "p": [4, 2], "text": []}


@pytest.mark.parametrize("use_resource", [False, True])
def test_variables_that_are_cached_on_a_device_are_saved_themselves(tmp_path, use_resource):
    with tf.variable_scope("s", caching_device="/cpu:0", use_resource=use_resource):
        variable = tf.get_variable("v", initializer=[1.0, 2.0])
        parts = tf.get_variable(
            "p", [4], initializer=tf.ones_initializer(), partitioner=tf.fixed_size_partitioner(2)
        )
    saver = tf.train.Saver()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        path = saver.save(session, str(tmp_path / "m"))
        session.run([variable.assign([5.0, 6.0]), *(part.assign([0.0, 0.0]) for part in parts)])
        saver.restore(session, path)
        values = session.run([variable, parts.as_tensor()])
    assert [value.tolist() for value in values] == [[1, 2], [1, 1, 1, 1]]
    assert tf.train.list_variables(path) == [("s/p", [4]), ("s/v", [2])]
