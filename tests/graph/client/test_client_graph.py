"""The client graph: names, lookups, making operations, threads, and its cost."""

from __future__ import annotations

import gc
import threading
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, strategies as st

from gpugraph import graph
from gpugraph.base import dtypes
from gpugraph.graph.client.client_graph import Graph
from gpugraph.ops.arrays.constants_and_placeholders import placeholder
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import constant


@pytest.fixture
def g() -> Any:
    made = Graph()
    with made.as_default():
        yield made


def float_input(name: str = "x") -> Any:
    return placeholder(dtypes.float32, (2,), name=name)


# -- names


def test_a_taken_name_gets_the_next_free_number(g: Graph) -> None:
    assert [g.unique_name(name) for name in ("x", "x", "x_1", "x")] == ["x", "x_1", "x_1_1", "x_2"]


def test_names_that_differ_in_case_only_count_as_taken(g: Graph) -> None:
    assert [g.unique_name(name) for name in ("FOO", "foo", "Foo")] == ["FOO", "foo_1", "Foo_2"]


def test_a_name_that_is_only_asked_for_stays_free(g: Graph) -> None:
    assert g.unique_name("x", mark_as_used=False) == "x"
    assert g.unique_name("x") == "x"
    assert g.unique_name("x", mark_as_used=False) == "x_1"
    assert g.unique_name("x") == "x_1"


@given(st.lists(st.tuples(st.sampled_from(["a", "A", "a_1", "a_1_1", "b"]), st.booleans())))
def test_unique_names_follow_the_simple_rule(calls: list[tuple[str, bool]]) -> None:
    """A taken name gets the first free number from the count of askers upwards."""
    g = Graph()
    askers: dict[str, int] = {}
    used: set[str] = set()
    for name, mark in calls:
        key = name.lower()
        number = askers.get(key, 0) + (key in used and key not in askers)
        expected = name
        if number:
            while f"{key}_{number}" in used:
                number += 1
            expected = f"{name}_{number}"
        if mark:
            askers[key] = askers.get(key, 1 if key in used else 0) + 1
            used |= {key, expected.lower()}
        assert g.unique_name(name, mark) == expected


@pytest.mark.parametrize("name", ["a b", "_x", "", "é", "a:0", "-x", "/x", "a\n", "x\n/", "/"])
def test_what_is_no_name_is_refused(g: Graph, name: str) -> None:
    if not name:  # no name at all is the op type's
        assert constant(1, name=name).op.name == "Const"
        return
    with pytest.raises(ValueError, match="is not a valid node name"):
        constant(1, name=name)
    assert g.version == 0


def test_a_name_may_begin_with_an_underscore_inside_a_scope(g: Graph) -> None:
    with g.name_scope("s"):
        assert constant(1, name="_x").op.name == "s/_x"


def test_a_name_that_ends_in_a_slash_is_taken_as_it_is(g: Graph) -> None:
    with g.name_scope("s"):
        assert constant(1, name="t/u/").op.name == "t/u"
        with pytest.raises(ValueError, match="'t/u' is already in the graph"):
            constant(1, name="t/u/")
        with pytest.raises(ValueError, match="is not a valid node name"):
            constant(1, name="_u/")
    assert constant(1, name="t/u").op.name == "t/u_1"


def test_a_name_that_is_taken_while_its_operation_is_made_is_refused(g: Graph) -> None:
    def rival(op: Any) -> str:
        with g.device(None):
            constant(1, name="x/")
        return ""

    with g.device(rival), pytest.raises(ValueError, match="'x' is already in the graph"):
        constant(2, name="x/")
    assert [op.attrs["value"] for op in g] == [1]


# -- looking things up


def test_elements_are_found_by_name(g: Graph) -> None:
    x = float_input()
    y = raw_ops.Add(x, x, name="y")
    assert g.get_tensor_by_name("y:0") is y
    assert g.get_operation_by_name("y") is y.op
    assert g.as_graph_element("y:0") is g.as_graph_element(b"y:0") is g.as_graph_element(y) is y
    assert g.as_graph_element("y") is g.as_graph_element(y.op) is y.op
    assert g.get_operations() == [x.op, y.op] == list(g)
    assert g.version == 2


class Holder:
    def __init__(self, element: Any) -> None:
        self.element = element

    def _as_graph_element(self) -> Any:
        return self.element


def test_what_stands_for_an_element_is_one(g: Graph) -> None:
    x = float_input()
    assert g.as_graph_element(Holder(x)) is x
    assert g.as_graph_element(Holder("x")) is x.op


@pytest.mark.parametrize(
    ("name", "kinds", "error", "said"),
    [
        ("b:0", "TO", KeyError, "operation, 'b', does not exist in the graph"),
        ("a:7", "TO", KeyError, "exists but only has 1 outputs"),
        ("b", "TO", KeyError, "refers to an Operation not in the graph"),
        ("a", "T", ValueError, "not a Tensor's.*'a' is an Operation"),
        ("b", "T", ValueError, "not a Tensor's"),
        ("a:0", "O", ValueError, "refers to a Tensor, not an Operation"),
        ("a:x", "TO", ValueError, "not of the form"),
        ("a:", "TO", ValueError, "not of the form"),
        ("a:0:0", "TO", ValueError, "not of the form"),
        ("a:²", "TO", ValueError, "not of the form"),
        ("a:-1", "TO", ValueError, "not of the form"),
        (3, "TO", TypeError, "a int into a Tensor or Operation"),
        (None, "T", TypeError, "a NoneType into a Tensor"),
        ("a:0", "", ValueError, "can't both be False"),
    ],
)
def test_what_is_no_element_is_refused_by_kind(
    g: Graph, name: Any, kinds: str, error: type[Exception], said: str
) -> None:
    constant(1, name="a")
    with pytest.raises(error, match=said):
        g.as_graph_element(name, allow_tensor="T" in kinds, allow_operation="O" in kinds)


def test_a_tensor_is_no_operation_and_foreign_elements_are_refused(g: Graph) -> None:
    x = float_input()
    with pytest.raises(TypeError, match="a Tensor into a Operation"):
        g.as_graph_element(x, allow_tensor=False)
    with pytest.raises(TypeError, match="a Operation into a Tensor"):
        g.as_graph_element(x.op, allow_operation=False)
    with pytest.raises(ValueError, match="is not an element of this graph"):
        Graph().as_graph_element(x)
    for find in (g.get_tensor_by_name, g.get_operation_by_name):
        with pytest.raises(TypeError, match="names are strings"):
            find(x)  # type: ignore[arg-type]


# -- making operations


def test_an_operation_whose_shapes_do_not_fit_is_not_made(g: Graph) -> None:
    x, y = float_input(), placeholder(dtypes.float32, (3,), name="y")
    with pytest.raises(
        ValueError, match=r"for 'bad' \(op: 'Add'\).*shapes: \[2\], \[3\]\. .*test_client_graph"
    ):
        raw_ops.Add(x, y, name="bad")
    assert (g.version, x.consumers(), y.consumers()) == (2, [], [])
    with pytest.raises(KeyError):
        g.get_operation_by_name("bad")


def test_inputs_are_of_the_same_graph(g: Graph) -> None:
    x = float_input()
    with Graph().as_default():
        other = float_input()
    with pytest.raises(
        ValueError, match=r"must be from the same graph.*'sum'.*test_client_graph\.py"
    ):
        raw_ops.Add(x, other, name="sum")


def test_create_op_takes_attrs_from_inputs_and_signature(g: Graph) -> None:
    x = float_input()
    made = g.create_op("Add", [x, x], name="sum")
    assert made.outputs[0].dtype is dtypes.float32
    assert made.attrs["T"] is dtypes.float32
    assert made.outputs[0].shape == (2,)
    axis = constant(0)
    joined = g.create_op("ConcatV2", [x, x, x, axis])
    assert (joined.attrs["N"], joined.attrs["Tidx"]) == (3, dtypes.int32)
    assert joined.outputs[0].shape == (6,)
    assert g.create_op("ConcatV2", [x, x, axis], attrs={"N": 2}).type == "ConcatV2"


@pytest.mark.parametrize(
    ("op_type", "given", "attrs", "said"),
    [
        ("Nope", "", {}, "No op type 'Nope' is registered"),
        ("Add", "x", {}, "'y' of op type 'Add' is missing"),
        ("Add", "xxx", {}, "takes 2 inputs here, not 3"),
        ("Add", "xi", {}, r"'y'.* must be of dtype float32, not \['int32'\]"),
        ("Add", "xx", {"T": dtypes.int32}, "must be of dtype int32"),
        ("MatMul", "bb", {}, "must be one of"),
        ("Placeholder", "", {}, r"needs the attrs \['dtype'\]"),
        ("ConcatV2", "xi", {"N": 2}, "must be 2 tensors|is missing|must be of dtype"),
        ("AssignAdd", "xx", {}, "must refer to a variable"),
    ],
)
def test_create_op_holds_inputs_and_attrs_to_the_signature(
    g: Graph, op_type: str, given: str, attrs: dict[str, Any], said: str
) -> None:
    sources = {"x": float_input(), "i": constant(1), "b": constant([[True]])}
    before = g.version
    with pytest.raises(ValueError, match=said):
        g.create_op(op_type, [sources[key] for key in given], attrs=attrs)
    assert g.version == before


def test_create_op_takes_tensors_only(g: Graph) -> None:
    with pytest.raises(TypeError, match="Input of 'sum' is not a tensor: 1"):
        g.create_op("Add", [1, 2], name="sum")  # type: ignore[list-item]


def test_a_finalized_graph_only_answers(g: Graph) -> None:
    x = float_input()
    y = raw_ops.Add(x, x)
    assert not g.finalized
    g.finalize()
    assert g.finalized
    changes: list[Callable[[], Any]] = [
        lambda: constant(1),
        lambda: g.create_op("Add", [x, x]),
        lambda: g.add_to_collection("c", 1),
        lambda: g.clear_collection("c"),
        lambda: y.op._update_input(0, x),
        lambda: y.op._add_control_input(x.op),
    ]
    for change in changes:
        with pytest.raises(RuntimeError, match="Graph is finalized and cannot be modified"):
            change()
    assert (g.version, g.get_tensor_by_name("x:0")) == (2, x)


def test_feeding_and_fetching_can_be_forbidden(g: Graph) -> None:
    x, y = float_input(), float_input("y")
    g.prevent_feeding(x)
    g.prevent_fetching(x.op)
    assert (g.is_feedable(x), g.is_feedable(y)) == (False, True)
    assert [g.is_fetchable(each) for each in (x, x.op, y, y.op)] == [False, False, True, True]


def test_what_programs_ask_of_a_graph(g: Graph) -> None:
    assert g.seed is None
    g.seed = 7
    assert g.building_function is False
    assert g.graph_def_versions.producer == 134
    assert g.graph_def_versions.min_consumer == 0
    assert graph.executing_eagerly() is False
    x = float_input()
    raw_ops.Add(x, x, name="y")
    assert [(node.name, node.op, node.input) for node in g.as_graph_def().node] == [
        ("x", "Placeholder", []),
        ("y", "Add", ["x", "x"]),
    ]


def test_the_room_s_face_names_all_it_has() -> None:
    assert graph.__doc__
    assert {"Graph", "Operation", "Tensor", "GraphKeys", "name_scope", "device"} <= {*vars(graph)}


# -- threads


def in_threads(work: Callable[[int], None], count: int) -> None:
    failures: list[BaseException] = []

    def guarded(number: int) -> None:
        try:
            work(number)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures


STEPS = st.lists(st.sampled_from(["op", "scope", "device", "control"]), min_size=1, max_size=8)


@given(st.lists(STEPS, min_size=2, max_size=4))
def test_threads_build_one_graph_without_disturbing_each_other(programs: list[list[str]]) -> None:
    """Each thread's own scopes determine its operations' properties, independently of other
    threads.
    """
    g = Graph()
    with g.as_default(), g.name_scope("main"), g.device("/gpu:7"):
        shared, before = float_input(), constant(0).op

        def build(number: int) -> None:
            start.wait()
            with g.as_default(), g.name_scope(f"t{number}"), g.device(f"/job:j{number}"):
                check(programs[number], f"t{number}", f"/job:j{number}", [])

        def check(program: list[str], scope: str, device: str, controls: list[Any]) -> None:
            made = constant(0, name="c").op
            assert made.name.startswith(f"{scope}/c")
            assert (made.device, made.control_inputs) == (device, controls)
            if not program:
                return
            head, *rest = program
            if head == "op":
                added = raw_ops.Add(shared, shared, name="a").op
                assert (added.device, added.control_inputs) == (device, controls)
                check(rest, scope, device, controls)
            elif head == "scope":
                with g.name_scope("s") as inner:
                    assert inner.startswith(f"{scope}/s")
                    check(rest, inner[:-1], device, controls)
            elif head == "device":
                with g.device("/cpu:0"):
                    job = device.split("/device")[0]
                    check(rest, scope, f"{job}/device:CPU:0", controls)
            else:
                with g.control_dependencies([before]):
                    check(rest, scope, device, [before])
            after = constant(0, name="c").op
            assert (after.device, after.control_inputs) == (device, controls)

        start = threading.Barrier(len(programs))
        in_threads(build, len(programs))
        assert g.get_name_scope() == "main"
        assert constant(0).device == "/device:GPU:7"
    ops = g.get_operations()
    assert [op._id for op in ops] == list(range(len(ops)))
    assert len({op.name.lower() for op in ops}) == len(ops)
    assert all(g.get_operation_by_name(op.name) is op for op in ops)
    assert shared.consumers() == [op for op in ops if op.type == "Add" for _ in op.inputs]


def test_the_same_name_asked_for_in_many_threads_is_given_once() -> None:
    g = Graph()
    x = g.create_op("Placeholder", [], attrs={"dtype": dtypes.float32, "shape": (2,)}).outputs[0]
    seen: list[int] = []

    def build(_: int) -> None:
        for _ in range(300):
            raw_ops.Add(x, x, name="a")
            seen.append(len(x.consumers()))

    in_threads(build, 4)
    expected = {"Placeholder", "a", *(f"a_{number}" for number in range(1, 1200))}
    assert {op.name for op in g} == expected
    assert len(x.consumers()) == 2400
    assert max(seen) <= 2400


class Slow(str):
    """A name that yields to other threads whenever it is looked up."""

    def __hash__(self) -> int:
        time.sleep(0.001)
        return super().__hash__()

    def lower(self) -> str:
        return Slow(super().lower())


def test_a_name_is_looked_up_and_taken_at_once() -> None:
    g = Graph()
    given: list[str] = []
    in_threads(lambda _: given.extend(g.unique_name(Slow("a")) for _ in range(5)), 4)
    assert sorted(given) == sorted(["a", *(f"a_{number}" for number in range(1, 20))])


# -- cost


def seconds_to_build(count: int) -> float:
    with Graph().as_default() as g:
        x = y = float_input()
        gc.collect()
        start = time.perf_counter()
        for _ in range(count):
            y = raw_ops.Add(y, x)
        seconds = time.perf_counter() - start
        assert g.version == count + 1
    return seconds


def test_an_operation_costs_the_same_in_a_large_graph() -> None:
    small = min(seconds_to_build(2_000) for _ in range(3)) / 2_000
    large = min(seconds_to_build(32_000) for _ in range(2)) / 32_000
    assert large < 4 * small + 20e-6


def test_operations_made_at_one_place_share_what_is_equal() -> None:
    with Graph().as_default():
        x = float_input()
        ops = [raw_ops.Add(x, x).op for _ in range(3)]
        assert ops[0].origin is ops[1].origin is ops[2].origin
        with x.graph.colocate_with(x.op):
            moved = raw_ops.Add(x, x).op
        assert "_class" in moved.attrs
        assert "_class" not in ops[0].attrs


@pytest.mark.parametrize(
    ("raised", "error", "said"),
    [
        (ZeroDivisionError("by zero"), ValueError, "ZeroDivisionError: by zero for "),
        (KeyError("axis"), ValueError, "KeyError: 'axis' for "),
        (TypeError("no shape"), TypeError, "no shape for "),
        (ValueError("no fit"), ValueError, "no fit for "),
        (None, TypeError, r"NoneType.* for "),
    ],
    ids=repr,
)
def test_what_inference_raises_is_told_with_op_and_line(
    g: Graph, raised: Any, error: type[Exception], said: str
) -> None:
    def infer(_: Any) -> Any:
        if raised is not None:
            raise raised

    x = float_input()
    odd = x.op._op_def._replace(name="Odd", infer=infer)
    before = g.version
    with pytest.raises(error, match=said) as caught:
        g.create_op("Odd", [], attrs=x.op.attrs, name="mine", op_def=odd)
    assert "for 'mine' (op: 'Odd')" in str(caught.value)
    assert "test_client_graph.py:" in str(caught.value)
    assert raised is None or caught.value.__cause__ is raised
    assert g.version == before


def test_a_tensor_of_another_graph_is_told_with_op_and_line(g: Graph) -> None:
    x = float_input()
    with Graph().as_default(), pytest.raises(ValueError) as caught:
        constant([1.0, 2.0]).op.graph.create_op("Add", [x, x], name="sum/")
    assert "'sum' (op: 'Add')" in str(caught.value)
    assert str(caught.value).count("test_client_graph.py:") == 2


def test_a_misfit_ends_where_tensorflow_s_ends_and_says_more_behind_it(g: Graph) -> None:
    x = placeholder(dtypes.float32, (1, 2, 3), name="x")
    y = placeholder(dtypes.float32, (None, 5, 6), name="y")
    with pytest.raises(ValueError, match="Dimensions must be equal") as caught:
        raw_ops.AddV2(x, y, name="add")
    message = str(caught.value)
    assert message.startswith(
        "Dimensions must be equal, but are 2 and 5 for 'add' (op: 'AddV2') with input shapes: "
        "[1,2,3], [?,5,6]. Made at "
    )


def test_an_operation_takes_little_memory() -> None:
    """Attrs and shapes are shared; attributes that are usually empty are not stored."""
    count = 2_000
    with Graph().as_default():
        x = float_input()
        total = x + x
        tracemalloc.start()
        try:
            for _ in range(count):
                total = total + x
            size, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert size / count < 700
