"""The user's lines behind an operation."""

from __future__ import annotations

import _thread
import os
import threading
from typing import Any

import pytest

from gpugraph.graph.client import creation_origin as origin
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.creation_origin import Origin
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import constant


@pytest.fixture(autouse=True)
def g() -> Any:
    with Graph().as_default() as made:
        yield made


def run(text: str, file: str, **names: Any) -> dict[str, Any]:
    """Run a program as if it stood in `file`."""
    exec(compile(text, file, "exec"), names)
    return names


def test_an_operation_knows_the_line_that_made_it() -> None:
    op = constant(1).op  # this very line
    file, _, function, text = op.traceback[0]
    assert (os.path.basename(file), function) == ("test_creation_origin.py", op.origin.frames[0][2])
    assert text == op.origin.source == "op = constant(1).op  # this very line"
    assert str(op.origin).startswith(f"{file}:{op.traceback[0][1]} (in test_an_operation")


def test_callers_come_after_and_three_are_kept() -> None:
    program = """
def inner():
    return make()

def middle():
    return inner()

def outer():
    return middle()

op = outer()
"""
    op = run(program, "train.py", make=lambda: constant(1).op)["op"]
    lines = [(os.path.basename(file), line, name) for file, line, name, _ in op.traceback]
    assert lines[0][0] == "test_creation_origin.py"
    assert lines[1:] == [("train.py", 3, "inner"), ("train.py", 6, "middle")]


def test_operations_differ_by_each_of_the_three_lines() -> None:
    program = """
def layer(): return make()
def inner(): return layer()
def model():
    return [
        inner(),
        inner(),
    ]
ops = model()
"""
    first, second = run(program, "model.py", make=lambda: constant(1).op)["ops"]
    assert first.traceback[:2] == second.traceback[:2]
    assert first.traceback[2][:3] == second.traceback[2][:3] == ("model.py", 3, "inner")
    program = program.replace("make()", "add(x, x).op")
    x = constant(1.0)
    first, second = run(program, "model.py", add=raw_ops.Add, x=x)["ops"]
    assert [op.traceback[2][1] for op in (first, second)] == [6, 7]


def test_what_makes_an_operation_inside_the_package_is_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The package calls back into user code, which calls the package again."""
    library = os.path.join(os.path.dirname(os.path.dirname(origin.__file__)), "layers.py")
    inside = run("def dense(initializer):\n    return initializer()\n", library)
    user = """
def zeros():
    return constant(0)

made = dense(zeros)
"""
    op = run(user, "model.py", dense=inside["dense"], constant=constant)["made"].op
    assert [(line, name) for _, line, name, _ in op.traceback[:2]] == [
        (3, "zeros"),
        (5, "<module>"),
    ]


def test_operations_differ_by_the_place_that_made_them() -> None:
    x = constant(1.0)
    program = "a = add(x, x)\nb = add(x, x); c = add(x, x)\nd, e = [add(x, x) for _ in '12']\n"
    made = run(program, "p.py", add=raw_ops.Add, x=x)
    lines = {name: str(made[name].op.origin) for name in "abcde"}
    assert [lines[name].split(" ")[0] for name in "abcde"] == [
        f"p.py:{line}" for line in (1, 2, 2, 3, 3)
    ]
    assert made["d"].op.origin is made["e"].op.origin
    assert made["b"].op.origin is not made["c"].op.origin


def test_code_that_came_and_went_is_not_confused() -> None:
    """A graph keeps the code it has seen, so that no other code takes its place in memory."""
    for number in range(50):
        name = f"cell{number}.py"
        made = run("op = constant(1).op", name, constant=constant)
        assert str(made["op"].origin) == f"{name}:1 (in <module>)"


def test_a_stack_of_one_frame_is_kept_and_shared() -> None:
    x = constant(1.0)
    done = threading.Event()
    made = []

    def alone() -> None:
        made.extend(raw_ops.Add(x, x).op for _ in "12")
        made.extend([raw_ops.Add(x, x).op])
        done.set()

    _thread.start_new_thread(alone, ())
    assert done.wait(10)
    assert [each[2] for each in made[2].traceback] == ["alone"]
    assert made[0].origin is made[1].origin is not made[2].origin


def test_lines_nobody_can_read_are_empty() -> None:
    made = run("op = constant(1).op", "<stdin>", constant=constant)["op"]
    assert (str(made.origin), made.origin.source) == ("<stdin>:1 (in <module>)", "")
    nowhere = Origin(())
    assert (str(nowhere), nowhere.source, nowhere.frames) == ("<unknown>", "", [])
    assert repr(nowhere) == "Origin(<unknown>)"


def test_a_warning_names_the_line_of_the_user_however_deep_it_is_raised() -> None:
    program = "def deep(count): return deep(count - 1) if count else origin.stack_level()"
    deep = run(program, origin._PACKAGE + "inside.py", origin=origin)["deep"]
    assert [deep(0), deep(3)] == [2, 5]
    assert origin.stack_level() == 1  # this test is outside of the package
