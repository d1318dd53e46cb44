"""Place: a device for every op, and the reason."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.base.errors import InternalError, InvalidArgumentError
from gpugraph.graph.op_library import OP_DEFS
from gpugraph.kernel import Call
from gpugraph.ops.framework import kernel_registry as kernels
from gpugraph.ops.framework.kernel_registry import HostOnly
from gpugraph.ops.framework.op_declaration import DECLARATIONS, NO_GRADIENT, raw_ops, register_op
from gpugraph.ops.framework.shape_functions import same_shape

from ..stages import PREFIX, compiled, make_plan, make_target, node, run, where


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def placed(fetches, feeds=None, gpus=2, cpus=1, soft=False, target=None):
    target = target or make_target(cpus, gpus, soft)
    return compiled(fetches, feeds, upto="placer", target=target)


def reason(unit, name):
    return unit.reasons[node(unit, name).id]


def refused(fetches, **how):
    with pytest.raises(InvalidArgumentError) as caught:
        placed(fetches, **how)
    return str(caught.value)


def variable(name, device="", shape=(2,)):
    with tf.device(device):
        return raw_ops.VariableV2(dtype=tf.float32, shape=list(shape), name=name)


def some_value(device="", name="given"):
    """Return a tensor that nothing folds and that is there without a feed."""
    with tf.device(device):
        return raw_ops.Identity(variable(f"{name}_v", device), name=name)


def imported(tensor, device=""):
    """Return the tensor, its op as an imported graph may have it: with this request and no
    colocation.
    """
    op = tensor.op
    op._attrs = {key: value for key, value in op._attrs.items() if key != "_class"}
    op._set_device(device)
    return tensor


@pytest.fixture
def _host_ops():
    """Two ops that only a CPU computes: an identity, and one that writes a variable."""
    common = {
        "attrs": {"T": [tf.float32]},
        "infer": same_shape(0),
        "gpu": HostOnly("it asks the operating system"),
        "grad": NO_GRADIENT,
        "doc": "For a test.",
    }
    register_op("Asking", inputs="x: T", outputs="y: T", cpu=Call(np.copyto), **common)
    register_op(
        "Telling",
        inputs="ref: Ref(T)",
        outputs="out: Ref(T)",
        view={0: 0},
        writes=[0],
        cpu=Call(lambda ref, out: np.add(ref, 1, ref)),
        stateful=True,
        **common,
    )
    yield
    for name in ("Asking", "Telling"):
        del DECLARATIONS[name], OP_DEFS[name]
        for kind in ("CPU", "GPU"):
            del kernels._KERNELS[name, kind]


# Preference


def test_a_gpu_is_preferred_and_of_two_the_first():
    y = tf.negative(some_value(), name="y")
    unit = placed([y])
    assert where(unit, "y") == "GPU:0"
    assert reason(unit, "y") == "GPU has the highest priority"


def test_without_a_gpu_all_is_on_the_first_cpu():
    unit = placed([tf.negative(some_value(), name="y")], gpus=0, cpus=2)
    assert where(unit, "y") == "CPU:0"
    assert reason(unit, "y") == "the session has only CPU devices"


def test_each_request_goes_where_it_says():
    requests = {"/cpu:0": "CPU:0", "/cpu:1": "CPU:1", "/gpu:0": "GPU:0", "/gpu:1": "GPU:1",
                "/device:CPU:*": "CPU:0", "/job:localhost": "GPU:0"}  # fmt: skip
    fetches = []
    for index, request in enumerate(requests):
        with tf.device(request):
            fetches.append(tf.negative(some_value(request, f"g{index}"), name=f"y{index}"))
    unit = placed(fetches, cpus=2)
    assert [where(unit, f"y{index}") for index in range(len(requests))] == list(requests.values())
    assert reason(unit, "y1") == f"requested '{node(unit, 'y1').requested_device}'"


# Groups


def test_ops_that_refer_to_a_variable_are_where_it_is():
    v = variable("v", "/gpu:1")
    written = imported(raw_ops.Assign(v, some_value("/cpu:0"), name="written"))
    grown = imported(raw_ops.AssignAdd(written, some_value("/cpu:0", "other"), name="more"))
    unit = placed([grown])
    assert [where(unit, name) for name in ("v", "written", "more")] == ["GPU:1"] * 3
    assert reason(unit, "written").endswith("refers to v")
    assert reason(unit, "v").endswith("leads its group")


def test_ops_that_only_read_a_variable_go_where_they_like():
    v = variable("v", "/cpu:0")
    with tf.device("/gpu:1"):
        read = raw_ops.Identity(v, name="read")
    unit = placed([read])
    assert (where(unit, "v"), where(unit, "read")) == ("CPU:0", "GPU:1")


def test_colocated_ops_share_a_device():
    a = some_value("/gpu:1", "a")
    with tf.colocate_with(a):
        b = tf.negative(some_value("/cpu:0"), name="b")
    unit = placed([b, a])
    assert where(unit, "b") == "GPU:1"
    assert reason(unit, "b").endswith("colocated with a")


def test_colocation_reaches_through_a_chain_and_joins_groups():
    a, b, c = (some_value("", name) for name in "abc")
    for op, groups in ((b, ["loc:@a"]), (c, ["loc:@b"]), (a, [b"loc:@z"])):
        op.op._attrs = {**op.op._attrs, "_class": groups}
    z = some_value("/cpu:0", "z")
    unit = placed([a, b, c, z])
    assert [where(unit, name) for name in "abcz"] == ["CPU:0"] * 4


def test_a_leader_may_be_made_later_than_those_who_name_it():
    early = some_value("", "early")
    early.op._attrs = {**early.op._attrs, "_class": ["loc:@late"]}
    late = some_value("/gpu:1", "late")
    assert where(placed([early, late]), "early") == "GPU:1"


def test_those_who_name_a_leader_that_the_run_leaves_out_stay_together():
    a = some_value("/gpu:1", "a")
    with tf.colocate_with(a):
        b, c = tf.negative(some_value(), name="b"), tf.negative(some_value("", "h"), name="c")
    unit = placed([b, c])
    assert unit.graph.find("a") is None
    assert (where(unit, "b"), where(unit, "c")) == ("GPU:1", "GPU:1")


def test_two_names_for_one_variable_share_a_device():
    with tf.device("/gpu:1"):
        one = raw_ops.VariableV2(dtype=tf.float32, shape=[2], shared_name="both", name="one")
    two = raw_ops.VariableV2(dtype=tf.float32, shape=[2], shared_name="both", name="two")
    unit = placed([one, two])
    assert (where(unit, "one"), where(unit, "two")) == ("GPU:1", "GPU:1")
    assert reason(unit, "two").endswith("is the same variable as one")


def test_requests_in_a_group_are_merged():
    v = variable("v", "/job:localhost")
    written = raw_ops.Assign(v, some_value("/cpu:0"), name="written")
    unit = placed([imported(written, "/device:GPU:1")])
    assert where(unit, "v") == "GPU:1"


def test_requests_that_contradict_each_other_in_a_group_are_refused():
    v = variable("v", "/gpu:1")
    written = imported(raw_ops.Assign(v, some_value(), name="written"), "/device:CPU:0")
    message = refused([written])
    assert "Cannot assign a device for operation written" in message
    assert "because the node written was colocated with a group of nodes" in message
    assert "required incompatible device '/device:GPU:1': 'v'" in message
    assert "test_placer.py" in message
    assert where(placed([written], soft=True), "v") == "GPU:0"  # neither number is held to


@pytest.mark.usefixtures("_host_ops")
def test_kernels_that_no_device_type_has_all_of_are_refused():
    a = raw_ops.Asking(some_value(), name="a")
    with tf.colocate_with(a), tf.device("/gpu:0"):
        b = tf.negative(some_value("", "other"), name="b")
    message = refused([a, b])
    assert "Could not satisfy explicit device specification" in message
    assert "Asking ('a'): it asks the operating system" in message


@pytest.mark.usefixtures("_host_ops")
def test_one_member_without_a_gpu_kernel_keeps_its_group_off_the_gpu():
    v = variable("v")
    unit = placed([raw_ops.Telling(v, name="told")])
    assert (where(unit, "v"), where(unit, "told")) == ("CPU:0", "CPU:0")
    assert "no GPU kernel: Telling ('told'): it asks the operating system" in reason(unit, "v")


# Variables keep their home


def test_a_variable_stays_where_its_first_run_put_it():
    target = make_target(gpus=2)
    v = tf.Variable([1.0, 2.0], name="v")
    run([v.initializer], target=target)
    unit = placed([v.value()], target=target)
    assert (where(unit, "v"), where(unit, "v/read")) == ("GPU:0", "GPU:0")
    assert reason(unit, "v").startswith("its variable lives there")


@pytest.mark.usefixtures("_host_ops")
def test_the_first_run_looks_ahead_to_ops_of_other_runs_that_write_the_variable():
    target = make_target(gpus=2)
    v = tf.Variable([1.0, 2.0], name="v")
    explanation = raw_ops.Telling(v._ref(), name="told")
    unit = placed([v.initializer], target=target)
    assert where(unit, "v") == "CPU:0"
    run([v.initializer], target=target)
    assert run([explanation], target=target)[0].tolist() == [2.0, 3.0]


def test_what_other_runs_ask_for_in_vain_does_not_stop_this_one():
    v = variable("v", "/gpu:1")
    imported(raw_ops.Assign(v, some_value(), name="never"), "/device:CPU:0")
    assert where(placed([raw_ops.Assign(v, some_value("", "x"), name="done")]), "v") == "GPU:1"


@pytest.mark.usefixtures("_host_ops")
def test_an_op_made_too_late_that_cannot_run_where_its_variable_lives_is_refused():
    target = make_target(gpus=1)
    v = tf.Variable([1.0, 2.0], name="v")
    run([v.initializer], target=target)
    message = refused([raw_ops.Telling(v._ref(), name="told")], target=target)
    assert "operation told: a variable that it must share a device with lives on /job" in message
    assert "it asks the operating system" in message
    moved = imported(tf.assign(v, [3.0, 4.0], name="moved"), "/device:CPU:0")
    message = refused([moved], target=target)
    assert "it was requested on '/device:CPU:0'" in message


def test_variables_that_live_apart_cannot_be_made_to_share():
    target = make_target(gpus=2)
    a = variable("a", "/gpu:0")
    run([raw_ops.Assign(a, np.float32([1, 2]))], target=target)
    b = variable("b", "/gpu:1")
    run([raw_ops.Assign(b, np.float32([1, 2]))], target=target)
    with tf.colocate_with(a.op, ignore_existing=True):
        late = tf.negative(some_value(), name="late")
    late.op._attrs = {**late.op._attrs, "_class": ["loc:@a", "loc:@b"]}
    with pytest.raises(InternalError, match=r"live on several: a on .*GPU:0, b on .*GPU:1"):
        placed([late, a, b], target=target)


# Heuristics


def test_metadata_stays_with_its_tensor():
    x = tf.placeholder(tf.float32, [None], name="x")
    with tf.device("/gpu:1"):
        y = tf.exp(x, name="y")
    unit = placed([tf.shape(y, name="sizes")], {x: (None,)})
    assert where(unit, "sizes") == "GPU:1"
    assert reason(unit, "sizes") == "metadata of a tensor there"


def test_a_request_counts_more_than_a_heuristic():
    x = tf.placeholder(tf.float32, [None], name="x")
    with tf.device("/gpu:1"):
        y = tf.exp(x, name="y")
    with tf.device("/cpu:0"):
        sizes = tf.shape(y, name="sizes")
    assert where(placed([sizes], {x: (None,)}), "sizes") == "CPU:0"


def test_a_constant_follows_its_consumers_where_they_agree():
    big = np.zeros(20000, np.float32)
    one, two = tf.constant(big, name="one"), tf.constant(big, name="two")
    with tf.device("/gpu:1"):
        x, y = tf.add(one, two, name="x"), tf.negative(one, name="y")
    with tf.device("/cpu:0"):
        z = tf.negative(two, name="z")
    some = tf.placeholder(tf.float32, [20000], name="some")
    unit = placed([x, y, z, tf.add(x, some)], {some: (20000,)})  # too large to fold
    assert (where(unit, "one"), where(unit, "two")) == ("GPU:1", "GPU:0")
    assert reason(unit, "one") == "follows its consumers"
    assert reason(unit, "two") == "GPU has the highest priority"


def test_a_fed_tensor_goes_to_its_consumers_or_stays_on_the_host():
    x, y = tf.placeholder(tf.float32, [2], name="x"), tf.placeholder(tf.float32, [2], name="y")
    with tf.device("/gpu:1"):
        a = tf.negative(x, name="a")
    with tf.device("/gpu:0"):
        b = tf.add(x, y, name="b")
    unit = placed([a, b], {x: (2,), y: (2,)})
    assert (where(unit, "_arg_x"), where(unit, "_arg_y")) == ("CPU:0", "GPU:0")
    assert reason(unit, "_arg_x") == "fed from the host"
    assert reason(unit, "_arg_y") == "follows its consumers"


def test_a_fetched_tensor_is_read_where_it_is():
    with tf.device("/gpu:1"):
        y = tf.negative(some_value(), name="y")
    unit = placed([y])
    assert where(unit, "_retval_y") == "GPU:1"
    assert reason(unit, "_retval_y") == "read where it is"


def test_a_fed_tensor_that_is_only_fetched_is_on_the_host():
    x = tf.placeholder(tf.float32, [2], name="x")
    unit = placed([x], {x: (2,)})
    assert (where(unit, "_arg_x"), where(unit, "_retval_x")) == ("CPU:0", "CPU:0")


def test_strings_live_on_the_cpu():
    x = tf.placeholder(tf.string, [2], name="x")
    unit = placed([tf.identity(x, name="y")], {x: (2,)})
    assert (where(unit, "_arg_x"), where(unit, "y")) == ("CPU:0", "CPU:0")
    assert reason(unit, "y") == "no GPU kernel: 'y' handles strings"


# Impossible placements


def test_an_unknown_device_is_refused_with_those_there_are():
    with tf.device("/gpu:5"):
        y = tf.negative(some_value("/cpu:0"), name="y")
    message = refused([y])
    assert "node y was explicitly assigned to /device:GPU:5 but available devices are [" in message
    for name in ("CPU:0", "GPU:0", "GPU:1"):
        assert f"{PREFIX}/device:{name}" in message
    assert "test_placer.py" in message


def test_a_gpu_that_is_not_there_is_refused_with_the_reason():
    with tf.device("/gpu:0"):
        y = tf.negative(some_value("/cpu:0"), name="y")
    assert "There is no GPU: none was asked for." in refused([y], gpus=0)


@pytest.mark.usefixtures("_host_ops")
def test_an_op_without_a_gpu_kernel_stays_on_the_host_and_is_refused_on_a_gpu():
    y = raw_ops.Asking(some_value(), name="y")
    unit = placed([y])
    assert where(unit, "y") == "CPU:0"
    assert reason(unit, "y") == "no GPU kernel: Asking ('y'): it asks the operating system"
    with tf.device("/gpu:0"):
        z = raw_ops.Asking(some_value("", "other"), name="z")
    message = refused([z])
    assert "because no supported kernel for GPU devices is available: Asking ('z')" in message


@pytest.mark.usefixtures("_host_ops")
def test_soft_placement_runs_what_it_can_elsewhere_and_says_so():
    with tf.device("/gpu:0"):
        y = raw_ops.Asking(some_value("/cpu:0"), name="y")
    with tf.device("/gpu:7"):
        z = tf.negative(some_value("/cpu:0", "other"), name="z")
    unit = placed([y, z], soft=True)
    assert (where(unit, "y"), where(unit, "z")) == ("CPU:0", "GPU:0")
    assert reason(unit, "y").startswith("soft placement: '/device:GPU:0' was requested, but has no")
    assert reason(unit, "z").endswith("there is no such device")


def test_soft_placement_does_not_move_to_another_job():
    with tf.device("/job:worker"):
        y = tf.negative(some_value("/cpu:0"), name="y")
    assert "explicitly assigned to /job:worker" in refused([y], soft=True)


@pytest.mark.usefixtures("_host_ops")
def test_an_op_that_no_device_can_run_is_refused_with_its_kernels():
    y = raw_ops.Asking(some_value(), name="y")
    kept = kernels._KERNELS["Asking", "CPU"][:]
    kernels._KERNELS["Asking", "CPU"].clear()
    try:
        message = refused([y])
    finally:
        kernels._KERNELS["Asking", "CPU"].extend(kept)
    assert "no kernel for op type Asking (T=float32) runs on any device of the session" in message
    assert "(GPU, CPU). Kernels are registered for: no device type" in message


# Reports


def test_every_op_has_a_reason_and_the_report_counts_them():
    x = tf.placeholder(tf.float32, [2], name="x")
    with tf.device("/gpu:1"):
        y = tf.negative(x, name="y")
    unit = placed([y], {x: (2,)})
    assert set(unit.reasons) == {node.id for node in unit.graph.op_nodes()}
    report = unit.reports[-1]
    assert report.summary == f"3 ops on {PREFIX}/device:GPU:1"
    assert unit.reasons[unit.graph.find("y").id] == "requested '/device:GPU:1'"
    assert f"1 on {PREFIX}/device:GPU:1: requested '/device:GPU:1'" in report.lines


def test_a_plan_tells_where_each_op_is_and_why():
    x = tf.placeholder(tf.float32, [2], name="x")
    plan = make_plan([tf.negative(x, name="y")], {x: (2,)}, make_target(gpus=1))
    explanation = {op.name: op for op in plan.placements}
    assert explanation["y"].device.endswith("GPU:0")
    assert explanation["y"].reason == "GPU has the highest priority"
    assert explanation["y"].mode.startswith("in place of")
    plan.release()
