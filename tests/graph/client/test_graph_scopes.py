"""Scopes of a graph: names, devices, control dependencies, colocation, containers."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
from hypothesis import given, strategies as st

from gpugraph.base import dtypes
from gpugraph.formats import messages_pb2
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.device_names import DeviceSpec, merge_device
from gpugraph.ops.arrays.constants_and_placeholders import placeholder
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import constant


@pytest.fixture
def g() -> Any:
    made = Graph()
    with made.as_default():
        yield made


def made(name: str = "op") -> Operation:
    op: Operation = constant(0, name=name).op
    return op


# -- names


def test_a_scope_that_is_opened_again_is_another_scope(g: Graph) -> None:
    seen = []
    for name in ("a", "a", "A", "b"):
        with g.name_scope(name) as scope:
            seen.append(scope)
    assert seen == ["a/", "a_1/", "A_2/", "b/"]


def test_scopes_prefix_names(g: Graph) -> None:
    with g.name_scope("a") as outer:
        assert made().name == "a/op"
        with g.name_scope("b") as inner:
            assert (inner, made().name, made().name) == ("a/b/", "a/b/op", "a/b/op_1")
            assert g.get_name_scope() == "a/b"
            with g.name_scope(outer) as again:
                assert (again, made().name) == ("a/", "a/op_1")
            for root in (None, ""):
                with g.name_scope(root) as scope:
                    assert (scope, g.get_name_scope()) == ("", "")
        assert made().name == "a/op_2"
    assert made().name == "op"


def test_a_scope_may_decorate_a_function_and_is_not_entered_inside_itself(g: Graph) -> None:
    @g.name_scope("layer")
    def layer() -> str:
        return constant(1).op.name

    assert [layer(), layer()] == ["layer/Const", "layer_1/Const"]
    scope = g.name_scope("a")
    with scope as prefix:
        assert prefix == "a/"
        with pytest.raises(RuntimeError, match="inside itself"), scope:
            pass
        assert g.get_name_scope() == "a"
    assert g.get_name_scope() == ""


@pytest.mark.parametrize("name", ["_x", "a b", "-x", "a:0", "a\n", "/a"])
def test_a_scope_at_the_root_needs_a_proper_name(g: Graph, name: str) -> None:
    with pytest.raises(ValueError, match="is not a valid scope name"), g.name_scope(name):
        pass
    assert g.get_name_scope() == ""


def test_inner_scopes_may_begin_with_an_underscore_but_not_hold_spaces(g: Graph) -> None:
    with g.name_scope("a"):
        with g.name_scope("_x") as scope:
            assert scope == "a/_x/"
        with (
            pytest.raises(ValueError, match="'b c' is not a valid scope name"),
            g.name_scope("b c"),
        ):
            pass
        assert g.get_name_scope() == "a"


@pytest.mark.parametrize("name", [5, 0, ["a"]])
def test_a_scope_name_is_a_string(g: Graph, name: Any) -> None:
    with pytest.raises(TypeError, match="scope name is a string"), g.name_scope(name):
        pass


# -- devices


@pytest.mark.parametrize(
    ("requests", "device"),
    [
        (["/job:a", "/gpu:1"], "/job:a/device:GPU:1"),
        (["/gpu:0", "/gpu:1"], "/device:GPU:1"),
        (["/job:a/gpu:0", "/cpu:0"], "/job:a/device:CPU:0"),
        (["/job:a/gpu:0", ""], "/job:a/device:GPU:0"),
        (["/gpu:0", None], ""),
        (["/gpu:0", None, "/task:1"], "/task:1"),
        ([DeviceSpec(job="a"), DeviceSpec(task=2)], "/job:a/task:2"),
        ([lambda op: "/gpu:0"], "/gpu:0"),
        ([lambda op: DeviceSpec(job="a")], "/job:a"),
        (["/job:a", lambda op: "/gpu:0"], "/job:a/device:GPU:0"),
        (["/job:a", lambda op: ""], "/job:a"),
        (["/job:a", lambda op: None], "/job:a"),
        (["/gpu:0", lambda op: op.device + "/task:3"], "/task:3/device:GPU:0"),
        # a device function sees the devices of inner scopes, and its result replaces them
        ([lambda op: "/gpu:0", "/cpu:0"], "/gpu:0"),
        ([lambda op: "/gpu:0", "/job:a"], "/gpu:0"),
        ([lambda op: None, "/job:a"], "/job:a"),
        ([lambda op: op.device + "/task:3", "/gpu:1"], "/device:GPU:1/task:3"),
        ([merge_device("/job:a/gpu:0"), "/cpu:1"], "/job:a/device:CPU:1"),
        ([lambda op: "/gpu:0", None], ""),
        ([lambda op: f"/task:{len(op.name)}"], "/task:2"),
    ],
)
def test_nested_devices_merge(g: Graph, requests: list[Any], device: str) -> None:
    with ExitStack() as stack:
        for request in requests:
            stack.enter_context(g.device(request))
        assert made("op").device == device
    assert made().device == ""


def test_a_device_function_is_asked_for_each_op(g: Graph) -> None:
    seen = []

    def choose(op: Operation) -> str:
        seen.append((op.name, op.type, [each.shape.rank for each in op.outputs]))
        return "/gpu:0"

    with g.device(choose):
        x = placeholder(dtypes.float32, (2,), name="x")
        raw_ops.Add(x, x, name="y")
    assert seen == [("x", "Placeholder", [1]), ("y", "Add", [1])]


@pytest.mark.parametrize("device", ["/foo", "/gpu:x", "/gpu:0/cpu:0", 5])
def test_what_is_no_device_is_refused_at_once(g: Graph, device: Any) -> None:
    with pytest.raises(ValueError, match=r"Unknown|invalid literal|multiple"), g.device(device):
        pass
    with (
        g.device(lambda op: device),
        pytest.raises(ValueError, match=r"Unknown|invalid literal|multiple"),
    ):
        made()
    assert g.version == 0


# -- control dependencies


def controls(op: Operation) -> list[str]:
    return [before.name for before in op.control_inputs]


def test_ops_wait_for_what_their_blocks_name_once(g: Graph) -> None:
    a, b, c = made("a"), made("b"), made("c")
    with g.control_dependencies([a, a.outputs[0], "b", "b:0"]):
        assert controls(made()) == ["a", "b"]
        with g.control_dependencies([c, a]):
            assert controls(made()) == ["a", "b", "c"]
            with g.control_dependencies(None):
                assert controls(made()) == []
                with g.control_dependencies([c]):
                    assert controls(made()) == ["c"]
            assert controls(made()) == ["a", "b", "c"]
    assert controls(made()) == []
    with g.control_dependencies([]):
        assert controls(made()) == []
    for alone in (b, b.outputs[0], "b"):
        with g.control_dependencies(alone):
            assert controls(made()) == ["b"]


def test_what_follows_from_data_is_not_said_again(g: Graph) -> None:
    a, b = made("a"), made("b")
    with g.control_dependencies([a, b]):
        inner = constant(1)
        assert controls(raw_ops.Identity(a.outputs[0]).op) == ["b"]  # a is its input
        assert controls(raw_ops.Identity(inner).op) == []  # made inside, so later than both
        with g.control_dependencies([inner.op]):
            assert controls(raw_ops.Identity(inner).op) == []
            assert controls(made()) == ["a", "b", inner.op.name]


class Sparse:
    """Made of tensors, as IndexedSlices is: stands for the op that makes it."""

    def __init__(self, tensor: Any) -> None:
        self.op = tensor.op


def test_things_that_are_made_by_an_op_can_be_waited_for(g: Graph) -> None:
    with g.control_dependencies([Sparse(constant(1, name="a"))]):
        assert controls(made()) == ["a"]


def test_only_elements_of_this_graph_can_be_waited_for(g: Graph) -> None:
    with pytest.raises(TypeError, match="a int into a Tensor or Operation"):
        g.control_dependencies([5]).__enter__()
    with pytest.raises(TypeError):
        g.control_dependencies(5).__enter__()
    with pytest.raises(KeyError, match="nope"):
        g.control_dependencies(["nope"]).__enter__()
    with Graph().as_default():
        foreign = constant(1)
    with pytest.raises(ValueError, match="not an element of this graph"):
        g.control_dependencies([foreign]).__enter__()
    assert controls(made()) == []


# -- colocation


def groups(op: Operation) -> list[bytes]:
    return op.colocation_groups()


def test_colocated_ops_share_group_and_device(g: Graph) -> None:
    with g.device("/gpu:0"):
        a = made("a")
    b = made("b")
    assert groups(a) == [b"loc:@a"]
    with g.device("/cpu:0"), g.colocate_with(a), g.device("/gpu:5"):
        c = made("c")
    assert (c.device, groups(c)) == ("/device:GPU:0", [b"loc:@a"])
    with g.device("/cpu:0"), g.colocate_with(b.outputs[0]):
        assert (made("d").device, groups(made("d"))) == ("", [b"loc:@b"])
    with g.colocate_with(c):
        assert groups(made("e")) == [b"loc:@a"]
        with g.colocate_with(b):
            assert groups(made("f")) == [b"loc:@a", b"loc:@b"]
        with g.colocate_with(b, ignore_existing=True):
            assert (made("h").device, groups(made("h"))) == ("", [b"loc:@b"])
        with g.colocate_with(None, ignore_existing=True):
            i = made("i")
            assert (i.device, groups(i)) == ("", [b"loc:@i"])
    with pytest.raises(ValueError, match="ignore_existing"), g.colocate_with(None):
        pass


def test_groups_are_a_copy_and_leave_out_other_classes(g: Graph) -> None:
    a = g.create_op("Const", [], attrs={**made().attrs, "_class": [b"other", b"loc:@x"]})
    groups(a).append(b"loc:@y")
    assert groups(a) == [b"loc:@x"]


# -- containers


def test_a_container_is_named_by_stateful_ops_that_take_one(g: Graph) -> None:
    def variable(container: str = "") -> Any:
        attrs = {"shape": (2,), "dtype": dtypes.float32, "container": container}
        return g.create_op("VariableV2", [], attrs=attrs).attrs["container"]

    with g.container("c") as name:
        assert name == "c"
        assert variable() == "c"
        assert variable("own") == "own"
        assert "container" not in made().attrs
        with g.container(""):
            assert variable() == ""
    assert variable() == ""


# -- exceptions


SCOPES: dict[str, Any] = {
    "name": lambda g, op: g.name_scope("n"),
    "root": lambda g, op: g.name_scope(None),
    "device": lambda g, op: g.device("/gpu:1"),
    "function": lambda g, op: g.device(lambda each: "/task:1"),
    "no device": lambda g, op: g.device(None),
    "control": lambda g, op: g.control_dependencies([op]),
    "no control": lambda g, op: g.control_dependencies(None),
    "colocate": lambda g, op: g.colocate_with(op),
    "colocate anew": lambda g, op: g.colocate_with(op, ignore_existing=True),
    "container": lambda g, op: g.container("c"),
    "graph": lambda g, op: g.as_default(),
    "bad name": lambda g, op: g.name_scope("a b"),
    "bad device": lambda g, op: g.device("/foo"),
    "bad control": lambda g, op: g.control_dependencies([3]),
    "bad colocate": lambda g, op: g.colocate_with("nope"),
}


def everything(g: Graph) -> list[Any]:
    state = g._scope
    return [getattr(state, field) for field in type(state).__slots__]


@contextmanager
def left_as_it_was(g: Graph) -> Any:
    before = everything(g)
    try:
        yield
    finally:
        assert everything(g) == before


@given(st.lists(st.sampled_from(sorted(SCOPES)), max_size=6))
def test_scopes_end_as_they_began_whatever_is_raised_in_them(path: list[str]) -> None:
    g = Graph()
    with g.as_default():
        op = made()

        def enter(path: list[str]) -> None:
            if not path:
                raise KeyboardInterrupt
            with left_as_it_was(g), SCOPES[path[0]](g, op):
                enter(path[1:])

        with left_as_it_was(g), pytest.raises((KeyboardInterrupt, ValueError, TypeError, KeyError)):
            enter(path)
        plain = made("plain")
        assert (plain.name, plain.device, plain.control_inputs) == ("plain", "", [])


def test_any_number_of_slashes_is_a_name(g: Graph) -> None:
    with g.name_scope("q"):
        for name in ("/", "//"):
            with g.name_scope(name) as scope:
                assert scope == name
    with g.name_scope("a//b/c") as scope:
        assert scope == "a//b/c/"
        assert constant(0).name == "a//b/c/Const:0"


def test_names_may_be_bytes(g: Graph) -> None:
    assert constant(44.0, name=b"e").name == "e:0"  # type: ignore[arg-type]
    with g.name_scope(b"scope"):
        assert raw_ops.Neg(constant(1.0), name=b"n").name == "scope/n:0"


def test_a_device_block_is_not_left_before_one_inside_it(g: Graph) -> None:
    outer, inner = g.device("/cpu:0"), g.device("/cpu:1")
    outer.__enter__()
    inner.__enter__()
    with pytest.raises(RuntimeError, match=r"Exiting device scope without proper scope nesting"):
        outer.__exit__(None, None, None)
    inner.__exit__(None, None, None)


def test_what_becomes_a_tensor_is_something_to_be_beside(g: Graph) -> None:
    with g.colocate_with(3.0):
        op = made("beside")
    assert op.colocation_groups() == [b"loc:@Const"]
    assert g.get_operation_by_name("Const").type == "Const"


def test_attrs_of_a_scope(g: Graph) -> None:
    with g._attr_scope({"_hint": 1, "_other": "text"}):
        with g._attr_scope({"_hint": None, "_more": [2, 3]}):
            inner = made()
        outer = made()
    assert inner.get_attr("_more") == [2, 3] and "_hint" not in inner.attrs
    assert outer.get_attr("_hint") == 1 and outer.get_attr("_other") == b"text"
    assert "_hint" not in made().attrs
    for wrong in (None, {1: 2}):
        with pytest.raises(TypeError, match="attr_map must be a dictionary"):
            with g._attr_scope(wrong):  # type: ignore[arg-type]
                pass


def test_an_attr_that_is_set_later(g: Graph) -> None:
    one, other = made(), made()
    one._set_attr("_hint", messages_pb2.AttrValue(i=3))
    other._set_attr("_text", messages_pb2.AttrValue(s=b"name"))
    assert one.get_attr("_hint") == 3 and "_hint" not in other.attrs
    assert other.attrs["_text"] == "name"
    with g._attr_scope({"_hint": messages_pb2.AttrValue(i=4)}):
        assert made().get_attr("_hint") == 4
    assert made().node_def.attr["_hint"].WhichOneof("value") is None
