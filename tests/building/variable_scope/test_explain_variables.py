"""explain_variables: the tree of a graph's variables, and the lines that share them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, strategies as st

import gpugraph as tf


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


def tower():
    with tf.variable_scope("tower", reuse=tf.AUTO_REUSE):
        return tf.get_variable("w", [4, 2]), tf.get_variable("b", [2], trainable=False)


def lines_of(site):
    return [function for _, _, function in site.lines]


def test_it_tells_what_each_variable_is():
    with tf.device("/gpu:1"):
        tower()
    told = tf.explain_variables()
    w, b = told.variable("tower/w"), told.variable("tower/b")
    assert (w.shape, w.dtype, w.num_bytes, w.parts) == ([4, 2], "float32", 32, 1)
    assert w.device == "/device:GPU:1"
    assert w.shared and w.trainable and not b.trainable
    assert w.collections == ("variables", "trainable_variables")
    assert b.collections == ("variables",)
    with pytest.raises(KeyError, match="nope"):
        told.variable("nope")


def test_it_tells_who_made_a_variable_and_who_shares_it():
    def first():
        tower()

    def others():
        for _ in range(3):
            tower()

    first()
    others()
    for name in ("tower/w", "tower/b"):
        made, shared = tf.explain_variables().variable(name).sites
        assert (made.created, made.times, lines_of(made)[:2]) == (True, 1, ["tower", "first"])
        assert (shared.created, shared.times, lines_of(shared)[:2]) == (
            False,
            3,
            ["tower", "others"],
        )
        assert str(made).startswith("made    test_explain_variables.py:")
        assert str(shared).endswith(", 3 times")


def test_what_is_refused_has_no_site():
    tf.get_variable("v", [1])
    for arguments in ({"shape": [2]}, {"shape": [1], "dtype": tf.int32}):
        with pytest.raises(ValueError), tf.variable_scope("", reuse=True):
            tf.get_variable("v", **arguments)
    with pytest.raises(ValueError):
        tf.get_variable("v", [1])
    assert [site.created for site in tf.explain_variables().variable("v").sites] == [True]


def test_scopes_are_a_tree():
    tf.get_variable("top", [])
    with tf.variable_scope("a"):
        tf.get_variable("v", [2])
        with tf.variable_scope("b"):
            tf.get_variable("v", [3], tf.float64)
    told = tf.explain_variables()
    assert [each.name for each in told.root.variables] == ["top"]
    assert [each.name for each in told.scope("a").variables] == ["a/v"]
    assert told.scope("a/b").name == "a/b"
    assert told.scope("a/b").summary() == "1 variable, 24B"
    assert told.scope("a").summary() == "2 variables, 32B"
    assert told.scope("") is told.root and told.root.num_bytes == 36
    with pytest.raises(KeyError, match="nope"):
        told.scope("a/nope")


def test_a_variable_in_parts_is_one():
    with tf.variable_scope("s", partitioner=tf.fixed_size_partitioner(3)):
        tf.get_variable("e", [8, 2])
    with tf.variable_scope("s", reuse=True):
        tf.get_variable("e")
    (told,) = tf.explain_variables().variables
    assert (told.name, told.shape, told.parts, told.num_bytes) == ("s/e", [8, 2], 3, 64)
    assert told.trainable and [site.created for site in told.sites] == [True, False]


def test_variables_that_are_not_shared_are_there_too():
    with tf.name_scope("n"):
        tf.Variable(["word"], collections=[tf.GraphKeys.LOCAL_VARIABLES], name="s")
    tf.Variable(tf.placeholder(tf.float32), validate_shape=False, name="open")
    told = tf.explain_variables()
    words, open_one = told.variable("n/s"), told.variable("open")
    assert not words.shared and words.num_bytes is None and open_one.num_bytes is None
    assert lines_of(words.sites[0])[0] == "test_variables_that_are_not_shared_are_there_too"


def test_the_text(graph):
    tf.get_variable("step", [], tf.int64, trainable=False)
    tower()
    with tf.Graph().as_default():
        lines = str(tf.explain_variables(graph)).splitlines()
        assert str(tf.explain_variables()) == "0 variables, 0B"
    shown = [line for line in lines if "test_explain_variables.py" not in line]
    assert shown == [
        "3 variables, 48B",
        "step  () int64  8B  not trainable",
        "tower/  2 variables, 40B",
        "  w  (4, 2) float32  32B  trainable",
        "  b  (2,) float32  8B  not trainable",
    ]
    sites = [line for line in lines if "test_explain_variables.py" in line]
    assert len(sites) == 3 and sites[1].startswith("      made    test_explain_variables.py:")


def test_where_a_module_ends_the_way_to_a_line_ends():
    code = compile("import gpugraph as tf\nv = tf.get_variable('v', [1])\n", "program.py", "exec")
    exec(code, {})
    (site,) = tf.explain_variables().variable("v").sites
    assert site.lines == [("program.py", 2, "<module>")]
    assert str(site) == "made    program.py:2 (in <module>)"


names = st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=3).map("/".join)


@given(st.lists(names, max_size=12))
def test_every_asking_is_counted_once(asked):
    with tf.Graph().as_default(), tf.variable_scope("", reuse=tf.AUTO_REUSE):
        for name in asked:
            tf.get_variable(f"{name}/v", [1])
        told = tf.explain_variables()
    counted = {each.name: sum(site.times for site in each.sites) for each in told.variables}
    assert counted == {f"{name}/v": asked.count(name) for name in asked}
    assert all(sum(site.created for site in each.sites) == 1 for each in told.variables)
    assert {each.name for each in told.root.all_variables()} == set(counted)
