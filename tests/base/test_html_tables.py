"""HTML of notebooks: graphs and explanations, with texts escaped, and bounded."""

from __future__ import annotations

import gpugraph as tf
from gpugraph.base.html_tables import folded, html_table
from gpugraph.graph.client.graph_html import MAX_ROWS, graph_html


def test_texts_are_escaped_and_rows_counted() -> None:
    table = html_table(["<b>"], [["<i>"], ["&"], ["x"]], 2)
    assert "&lt;b&gt;" in table and "&lt;i&gt;" in table and "&amp;" in table
    assert table.endswith("<p>and 1 more</p>") and "x</td>" not in table
    assert folded("<t>", "<p>body</p>", True) == (
        "<details open><summary>&lt;t&gt;</summary><p>body</p></details>"
    )


def test_a_graph_shows_its_scopes() -> None:
    with tf.Graph().as_default() as graph:
        with tf.name_scope("a"), tf.name_scope("b"):
            tf.constant([1.0, 2.0], name="c")
        html = graph._repr_html_()
    assert "<summary>Graph of 1 operations: 1 Const</summary>" in html
    assert "<summary>a/ (1)</summary><details><summary>b/ (1)</summary>" in html
    assert "a/b/c</td>" in html and "float32 (2,)" in html and "<script" not in html


def test_a_large_graph_is_bounded() -> None:
    rows = [(f"s{n % 90}/x<{n}", "Add", "", "", "") for n in range(20_000)]
    html = graph_html(rows)
    assert len(html) < 150_000 and "x<" not in html
    assert f"<p>{20_000 - MAX_ROWS} operations are not listed</p>" in html


def test_an_explanation_shows_passes_and_operations() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [2], name="x")
        html = session.explain(tf.add(x, 1.0, name="y"), {x: [1, 2]})._repr_html_()
    assert "<summary>Plan of y:0</summary>" in html and "<summary>placer: " in html
    assert "operations:" in html and "y</td>" in html and "<script" not in html
