"""arg_scope: default arguments for calls inside a block, how scopes nest, and its errors."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given, strategies as st

import gpugraph as tf

framework = tf.contrib.framework
arg_scope, add_arg_scope = framework.arg_scope, framework.add_arg_scope


@add_arg_scope
def one(x, a=1, b=2, **others):
    """Return the arguments."""
    local = (x, a, b, others)
    return local


@add_arg_scope
def two(x, a=10, *, c=30):
    return x, a, c


def plain(x, a=1):
    return x, a


def test_arguments_are_given_where_the_call_says_nothing():
    with arg_scope([one], a=5):
        assert one(0) == (0, 5, 2, {})
        assert one(0, a=7) == (0, 7, 2, {})
    assert one(0) == (0, 1, 2, {})


def test_an_argument_by_position_and_from_a_scope_is_refused():
    with arg_scope([one], a=5), pytest.raises(TypeError, match="multiple values for argument 'a'"):
        one(0, 8)


def test_functions_may_be_in_a_tuple_and_share_arguments():
    with arg_scope((one, two), a=5):
        assert one(0)[1] == two(0)[1] == 5
        with arg_scope([two], c=6):
            assert two(0) == (0, 5, 6)
            assert one(0) == (0, 5, 2, {})


def test_inner_scopes_go_before_outer_ones():
    with arg_scope([one], a=3, b=4):
        with arg_scope([one], a=5):
            assert one(0) == (0, 5, 4, {})
        assert one(0) == (0, 3, 4, {})


def test_a_scope_is_entered_again():
    with arg_scope([one], a=3), arg_scope([two], c=4) as kept:
        pass
    with arg_scope([one], b=9):
        with arg_scope(kept) as again:
            assert one(0) == (0, 3, 2, {})
            assert two(0) == (0, 10, 4)
            assert again == kept
        assert one(0) == (0, 1, 9, {})


def test_an_empty_scope_clears_and_an_empty_list_does_not():
    with arg_scope([one], a=3):
        with arg_scope({}):
            assert one(0)[1] == 1
        with arg_scope([]):
            assert one(0)[1] == 3


def test_what_was_given_is_not_changed_by_scopes_inside():
    with arg_scope([one], a=3) as outer:
        before = {key: dict(value) for key, value in outer.items()}
        with arg_scope([one], a=4, b=5):
            pass
        with arg_scope(outer), arg_scope([one], b=6):
            pass
        assert outer == before


def test_a_function_keeps_its_name_and_is_known_by_what_was_decorated():
    assert one.__name__ == "one" and one.__doc__ == "Return the arguments."
    again = add_arg_scope(one)
    assert again._key_op is one._key_op is framework.arg_scope_func_key(one)
    with arg_scope([one], a=3):
        assert again(0) == (0, 3, 2, {})
        decorated_inside = add_arg_scope(one)
        assert decorated_inside(0) == (0, 3, 2, {})


def test_a_decorated_method_takes_part():
    class Layer:
        @add_arg_scope
        def call(self, x, a=1):
            return x, a

    with arg_scope([Layer.call], a=4):
        assert Layer().call(0) == (0, 4)


def test_what_is_decorated_and_what_holds_can_be_asked():
    assert framework.has_arg_scope(one) and not framework.has_arg_scope(plain)
    assert not framework.has_arg_scope([])
    assert framework.arg_scoped_arguments(one) == ("a", "b")
    assert framework.arg_scoped_arguments(two) == ("a", "c")
    assert framework.current_arg_scope() == {}
    with arg_scope([one], a=3) as scope:
        assert framework.current_arg_scope() == scope == {one._key_op: {"a": 3}}
    with pytest.raises(ValueError, match="plain is not decorated"):
        framework.arg_scoped_arguments(plain)


def test_functions_that_are_forgotten_leave_nothing_to_later_ones():
    for names in (("a",), ("b", "c"), ("d",), ("e", "f", "g")):
        values = dict.fromkeys(names, 0)
        made = {}
        exec(f"def f({', '.join(f'{name}=1' for name in names)}): return {names[0]}", made)
        function = add_arg_scope(made["f"])
        assert framework.arg_scoped_arguments(function) == names
        with arg_scope([function], **values):
            assert function() == 0
        del function, made


@pytest.mark.parametrize(
    ("given", "arguments", "error", "message"),
    [
        (one, {"a": 1}, TypeError, "must either be a list/tuple or reused scope"),
        (3, {}, TypeError, "must either be a list/tuple or reused scope"),
        ({}, {"a": 1}, ValueError, "kwargs must be empty, but they are: a"),
        ([one, plain], {"a": 1}, ValueError, "test_arg_scope.plain is not decorated with @add_arg"),
        ([[]], {"a": 1}, ValueError, r"\[\] is not decorated with @add_arg_scope"),
    ],
)
def test_bad_scopes_are_refused_and_leave_those_around(given, arguments, error, message):
    with arg_scope([one], b=7):
        with pytest.raises(error, match=message), arg_scope(given, **arguments):
            pass
        assert one(0) == (0, 1, 7, {})
    assert framework.current_arg_scope() == {}


def test_an_argument_that_a_function_does_not_know_fails_at_the_call():
    with arg_scope([one, two], strange=1):
        assert one(0) == (0, 1, 2, {"strange": 1})
        with pytest.raises(TypeError, match="unexpected keyword argument 'strange'"):
            two(0)
    assert two(0) == (0, 10, 30)


settings = st.dictionaries(st.sampled_from("ab"), st.integers(), max_size=2)


@given(st.lists(settings, max_size=5), settings)
def test_the_last_word_is_the_innermost(scopes, call):
    def enter(rest):
        if rest:
            with arg_scope([one], **rest[0]):
                return enter(rest[1:])
        return one(0, **call)

    expected = {"a": 1, "b": 2}
    for each in [*scopes, call]:
        expected.update(each)
    assert enter(scopes) == (0, expected["a"], expected["b"], {})
    assert framework.current_arg_scope() == {}


@given(st.lists(st.lists(st.integers(), min_size=1, max_size=4), min_size=2, max_size=4))
def test_threads_have_scopes_of_their_own(programs):
    together = threading.Barrier(len(programs), timeout=30)
    seen = {}

    def work(index):
        got = []
        for value in programs[index]:
            with arg_scope([one], a=value):
                got.append(one(0)[1])
        together.wait()
        with arg_scope([one], a=index):
            together.wait()
            got.append(one(0)[1])
            together.wait()
        got.append(one(0)[1])
        seen[index] = got

    threads = [threading.Thread(target=work, args=(each,)) for each in range(len(programs))]
    with arg_scope([one], a=-1):
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    assert seen == {index: [*program, index, 1] for index, program in enumerate(programs)}
