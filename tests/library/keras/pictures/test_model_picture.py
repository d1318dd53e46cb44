"""Pictures of models: the texts of boxes, edges, nested models, files."""

from __future__ import annotations

import re
import shutil
import xml.etree.ElementTree as ElementTree
from importlib.util import find_spec

import pytest

import gpugraph as tf

Input, Model, layers = tf.keras.Input, tf.keras.Model, tf.keras.layers
plot_model = tf.keras.utils.plot_model


@pytest.fixture(autouse=True)
def graph():
    tf.keras.backend.clear_session()
    with tf.Graph().as_default():
        yield


@pytest.fixture
def nested():
    inner_input = Input((4,), name="inner_input")
    inner = Model(inner_input, layers.Activation("relu", name="deep")(inner_input), name="inner")
    first, second = Input((4,), name="first"), Input((4,), name="second")
    total = layers.Add(name="total")([inner(first), second, first])
    return Model([first, second], total, name="outer")


def picture(model, path, **options):
    plot_model(model, str(path), **options)
    root = ElementTree.parse(path).getroot()
    tags = [element.tag.rpartition("}")[2] for element in root.iter()]
    texts = [
        text for element in root.iter() if element.tag.endswith("}text") and (text := element.text)
    ]
    return texts, tags.count("path") - 1  # one is the arrow's


def test_a_box_for_each_layer_and_an_edge_for_each_input(nested, tmp_path):
    texts, edges = picture(nested, tmp_path / "a.svg")
    assert texts == [
        "first: InputLayer", "inner: Model", "second: InputLayer", "total: Add",
    ]  # fmt: skip
    assert edges == 4


def test_shapes_names_and_nested_models(nested, tmp_path):
    path = tmp_path / "a.svg"
    texts, _ = picture(nested, path, show_shapes=True)
    assert "input: [(None, 4), (None, 4), (None, 4)]" in texts
    texts, _ = picture(nested, path, show_layer_names=False)
    assert texts == ["InputLayer", "Model", "InputLayer", "Add"]
    texts, edges = picture(nested, path, expand_nested=True, rankdir="LR")
    assert texts[1:4] == ["inner: Model", "inner_input: InputLayer", "deep: Activation"]
    assert edges == 5


def test_the_size_follows_dpi_and_direction(nested, tmp_path):
    sizes = {}
    for options in ({}, {"dpi": 192}, {"rankdir": "LR"}):
        plot_model(nested, tmp_path / "a.svg", **options)
        width, height = re.findall(r'(?:width|height)="(\d+)"', (tmp_path / "a.svg").read_text())[
            :2
        ]
        sizes[str(options)] = int(width), int(height)
    assert sizes["{'dpi': 192}"] == pytest.approx([2 * size for size in sizes["{}"]], abs=2)
    assert sizes["{'rankdir': 'LR'}"][0] > sizes["{}"][0]


def test_models_that_are_no_graph_of_layers(tmp_path):
    assert picture(Own(name="own"), tmp_path / "a.svg", show_shapes=True)[0] == [
        "own: Own", "input: ?", "output: ?",
    ]  # fmt: skip
    row = tf.keras.Sequential(
        [layers.Activation("relu", name="a"), layers.RepeatVector(2, name="b")]
    )
    assert picture(row, tmp_path / "a.svg") == (["a: Activation", "b: RepeatVector"], 1)


def test_names_are_text(tmp_path):
    assert picture(Model(name="a<b>&c"), tmp_path / "a.svg")[0] == ["a<b>&c: Model"]


class Own(Model):
    def call(self, inputs):
        return inputs


@pytest.mark.parametrize(
    ("model", "text"),
    [
        (lambda: Model(x := Input((4,)), layers.Dense(2, name="d")(x)), "output: (None, 2)"),
        (lambda: tf.keras.Sequential([layers.Dense(2, name="d")]), "d: Dense"),
        (lambda: tf.keras.Sequential([layers.Dense(2, name="d", input_shape=(4,))]), "d: Dense"),
        (lambda: tf.keras.Sequential(name="empty"), "empty: Sequential"),
        (lambda: Own(name="own"), "own: Own"),
    ],
)
def test_notebooks_show_models(model, text):
    html = model()._repr_html_()
    ElementTree.fromstring(html)
    assert html.startswith("<svg") and text in html


def test_pictures_do_not_style_the_rest_of_a_page(nested):
    html = nested._repr_html_()
    assert 'class="keras-model"' in html
    (style,) = re.findall(r"<style>(.*?)</style>", html, re.DOTALL)
    selectors = re.findall(r"^([^{@}\n]+)\{", style, re.MULTILINE)
    assert len(selectors) > 8
    assert all(selector.startswith(".keras-model ") for selector in selectors)


def test_plot_model_returns_the_picture_for_notebooks(nested, tmp_path):
    shown = plot_model(nested, tmp_path / "a.svg", show_shapes=True)
    assert shown._repr_html_() == (tmp_path / "a.svg").read_text()
    assert "a.svg" in repr(shown) and "<svg" not in repr(shown)


def test_arrows_at_one_box_are_side_by_side(nested, tmp_path):
    plot_model(nested, tmp_path / "a.svg")
    ends = re.findall(r"([\d.]+),([\d.]+)\" marker-end", (tmp_path / "a.svg").read_text())
    assert len(set(ends)) == len(ends) == 4  # one at `inner`, three at `total`
    at_total = sorted(float(x) for x, y in ends if y == max((y for _, y in ends), key=float))
    assert at_total[1] - at_total[0] == at_total[2] - at_total[1] == 18.0


def test_what_is_refused(nested, tmp_path, monkeypatch):
    with pytest.raises(ValueError, match='rankdir is "TB" or "LR"'):
        plot_model(nested, tmp_path / "a.svg", rankdir="BT")
    with pytest.raises(ValueError, match=r"ends in .svg or .png"):
        plot_model(nested, tmp_path / "a.pdf")
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"a PNG needs the package cairosvg.*a\.svg"):
        plot_model(nested, tmp_path / "a.png")


def test_a_program_draws_a_png(nested, tmp_path, monkeypatch):
    program = tmp_path / "rsvg-convert"
    program.write_text('#!/bin/sh\ncp "$3" "$2"\n')
    program.chmod(0o755)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    plot_model(nested, tmp_path / "a.png")
    assert (tmp_path / "a.png").read_text().startswith("<svg")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.png", "rsvg-convert"]


def test_a_png_by_what_is_there(nested, tmp_path):
    programs = ["rsvg-convert", "inkscape"]
    if find_spec("cairosvg") is None and not any(shutil.which(program) for program in programs):
        pytest.skip("neither cairosvg nor rsvg-convert nor inkscape is installed")
    for name in ("a.png", "plain"):
        plot_model(nested, tmp_path / name, show_shapes=True)
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG\r\n")
