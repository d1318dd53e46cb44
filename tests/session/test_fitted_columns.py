"""Columns that fit a width, and nothing lost without one."""

from __future__ import annotations

from hypothesis import given, strategies as st

import gpugraph as tf
from gpugraph.session.explanations.fitted_columns import (
    MIN_WIDTH,
    fitted_columns,
    shortened,
    wrapped,
)

TEXTS = st.text("abcdef/_:", max_size=90)


@given(st.lists(st.tuples(TEXTS, TEXTS, TEXTS), min_size=1, max_size=6), st.integers(40, 160))
def test_lines_fit_and_lose_nothing_where_they_are_free(rows, width: int) -> None:
    assert all(len(line) <= width for line in fitted_columns(rows, width).split("\n"))
    wide = fitted_columns(rows).split("\n")
    assert [line.split() for line in wide] == [" ".join(row).split() for row in rows]
    longest = max(map(len, wide))
    assert fitted_columns(rows, max(longest, 3 * MIN_WIDTH) + 60) == "\n".join(wide)


def test_texts_are_shortened_in_the_middle() -> None:
    assert shortened("gradients/lower/MatMul_1", 12) == "gradi..Mul_1"
    assert shortened("short", 12) == "short"
    assert wrapped("one two " * 8, 40).split() == ["one", "two"] * 8
    assert max(map(len, wrapped("one two " * 8, 40, "  ").split("\n"))) <= 40


def test_an_explanation_fits() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        with tf.name_scope("a_long_name_of_a_scope/and_another_one"):
            y = tf.exp(tf.fill([3], 2.0), name="the_result_of_it_all")
        explanation = session.explain(y)
    assert max(map(len, explanation.table(60).split("\n"))) <= 60
    assert "a_long_name_of_a_scope/and_another_one/the_result_of_it_all" in str(explanation)
    assert explanation.text() == str(explanation)
    assert ".." in explanation.table(60)


def test_options_of_runs_without_effect_are_said() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(1.0)
        assert "RunOptions" not in str(session.explain(x))
        options = tf.RunOptions(timeout_in_ms=1000)
        options.experimental.use_run_handler_pool = True
        session.run(x, options=options)
        said = str(session.explain(x))
    assert "1 fields of RunOptions that runs set have no effect here" in said
    assert "experimental" in said


def test_a_pruned_graph_is_always_what_is_placed() -> None:
    config = tf.ConfigProto(graph_options=tf.GraphOptions(place_pruned_graph=True))
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        with tf.device("/gpu:7"):
            tf.constant(2.0)
        x = tf.constant(1.0)
        assert session.run(x) == 1.0
        assert "graph_options.place_pruned_graph" in str(session.explain(x))
