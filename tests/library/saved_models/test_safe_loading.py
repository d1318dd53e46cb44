"""Loading a SavedModel runs no op that writes files or calls Python, unless asked to."""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import gpugraph as tf
from gpugraph.formats import messages_pb2
from gpugraph.ops.framework.op_declaration import DECLARATIONS
from gpugraph.ops.op_index import MODULE_OF

CALLED: list[int] = []


def note() -> int:
    CALLED.append(1)
    return 1


def printed(path: str) -> Any:
    return tf.print("text", output_stream=f"file://{path}")


def merged(path: str) -> Any:
    return tf.raw_ops.MergeV2Checkpoints(checkpoint_prefixes=[path], destination_prefix=path)


def saved(path: str) -> Any:
    return tf.raw_ops.SaveV2(
        prefix=path, tensor_names=["x"], shape_and_slices=[""], tensors=[tf.constant(1.0)]
    )


REACHING: dict[str, Callable[[str], Any]] = {
    "WriteFile": lambda path: tf.write_file(path, "text"),
    "PrintV2": printed,
    "SaveV2": saved,
    "MergeV2Checkpoints": merged,
    "Save": lambda path: tf.raw_ops.Save(path, ["x"], [tf.constant(1.0)]),
    "SaveSlices": lambda path: tf.raw_ops.SaveSlices(path, ["x"], [""], [tf.constant(1.0)]),
    "CacheDataset": lambda path: tf.raw_ops.DatasetCardinality(
        tf.data.Dataset.range(3).cache(path)._variant_tensor
    ),
    "CacheDatasetV2": lambda path: tf.raw_ops.DatasetCardinality(
        tf.raw_ops.CacheDatasetV2(
            tf.data.Dataset.range(3)._variant_tensor,
            path,
            tf.raw_ops.VarHandleOp(dtype=tf.int64, shape=[]),
            output_types=[tf.int64],
            output_shapes=[[]],
        )
    ),
    "EagerPyFunc": lambda _: tf.py_function(note, [], tf.int64),
    "PyFunc": lambda _: tf.py_func(note, [], tf.int64),
    "PyFuncStateless": lambda _: tf.py_func(note, [], tf.int64, stateful=False),
}


def export(folder: Path, main: Callable[[], Any]) -> str:
    """Return a SavedModel with a variable and that main op."""
    with tf.Graph().as_default(), tf.Session() as session:
        w = tf.get_variable("w", [2], initializer=tf.ones_initializer())
        y = tf.identity(w, name="y")
        session.run(tf.global_variables_initializer())
        builder = tf.saved_model.Builder(str(folder))
        signature = tf.saved_model.predict_signature_def({"w": y}, {"y": y})
        made = main()
        builder.add_meta_graph_and_variables(
            session, ["serve"], {"serving_default": signature}, main_op=tf.group(made)
        )
        builder.save()
    return str(folder)


def load(folder: str, **options: Any) -> None:
    with tf.Session(graph=tf.Graph()) as session:
        tf.saved_model.load(session, ["serve"], folder, **options)


def hidden(make: Callable[[], Any]) -> Any:
    """Return the op as a control input, in a branch, of a branch in a loop."""

    def branch() -> Any:
        made = make()
        with tf.control_dependencies([made]):
            return tf.constant(1)

    def body(i: Any) -> Any:
        return i + tf.cond(i < 1, branch, lambda: tf.constant(1))

    return tf.while_loop(lambda i: i < 2, body, [0])


@pytest.mark.parametrize("op_type", REACHING)
@pytest.mark.parametrize("is_hidden", [False, True])
def test_a_main_op_that_reaches_out_is_refused(
    tmp_path: Path, op_type: str, is_hidden: bool
) -> None:
    CALLED.clear()
    path = str(tmp_path / "written")

    def make() -> Any:
        return REACHING[op_type](path)

    folder = export(tmp_path / "model", (lambda: hidden(make)) if is_hidden else make)
    before = sorted(tmp_path.rglob("*"))
    message = rf"type {op_type} writes files or calls Python functions.*safe_mode=False"
    with pytest.raises(tf.errors.PermissionDeniedError, match=message):
        load(folder)
    with pytest.raises(tf.errors.PermissionDeniedError, match=message):
        tf.saved_model.load_function(folder)
    assert sorted(tmp_path.rglob("*")) == before
    assert not CALLED


def test_it_runs_where_that_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "written"
    folder = export(tmp_path / "model", lambda: tf.write_file(str(path), "text"))
    load(folder, safe_mode=False)
    assert path.read_text() == "text"
    path.unlink()
    tf.saved_model.load_function(folder, safe_mode=False).close()
    assert path.read_text() == "text"


def test_what_restores_is_checked_too(tmp_path: Path) -> None:
    """The name of the restoring operation is the file's to choose."""
    written = tmp_path / "written"
    folder = export(tmp_path / "model", lambda: tf.no_op())
    path = Path(folder, "saved_model.pb")
    message = messages_pb2.SavedModel.FromString(path.read_bytes())
    with tf.Graph().as_default() as graph:
        tf.write_file(str(written), "text", name="evil")
        nodes = graph.as_graph_def().node
    message.meta_graphs[0].graph_def.node.extend(nodes)
    message.meta_graphs[0].saver_def.restore_op_name = "evil"
    path.write_bytes(message.SerializeToString())
    with pytest.raises(tf.errors.PermissionDeniedError, match="would run 'evil'"):
        load(folder)
    assert not written.exists()


def test_what_reads_alone_is_run(tmp_path: Path) -> None:
    words = tmp_path / "words"
    words.write_text("a\nb\n")

    def main() -> Any:
        tf.contrib.lookup.index_table_from_file(str(words))
        return [tf.tables_initializer(), tf.read_file(str(words))]

    load(export(tmp_path / "model", main))


def writes(module: str) -> bool:
    """Return whether the source of a module can write.

    It can if it opens a file for writing, writes a checkpoint, or calls a function that it received
    from a program."""
    found = importlib.util.find_spec(f"gpugraph.ops.{module}")
    assert found is not None and found.origin is not None
    tree = ast.parse(Path(found.origin).read_text("utf-8"))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    names = {getattr(call.func, "id", getattr(call.func, "attr", "")) for call in calls}
    modes = {
        argument.value
        for call in calls
        if getattr(call.func, "id", "") == "open"
        for argument in call.args[1:2]
        if isinstance(argument, ast.Constant)
    }
    return bool(
        names
        & {
            *("BundleWriter", "merge_bundles", "write_slice_table"),
            *("write_whole", "create_beside", "makedirs"),
        }
    ) or any(set(mode) & set("wax+") for mode in modes)


def test_each_module_of_ops_that_writes_declares_it() -> None:
    declared = {MODULE_OF[name] for name, op in DECLARATIONS.items() if op.reaches_out}
    assert {module for module in set(MODULE_OF.values()) if writes(module)} | {
        "control.py_func"
    } == declared
    assert {name for name, op in DECLARATIONS.items() if op.reaches_out} == set(REACHING)
