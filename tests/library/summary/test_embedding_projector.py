"""The configuration of TensorBoard's projector of embeddings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from google.protobuf import text_format

import gpugraph as tf

projector = tf.contrib.tensorboard.plugins.projector


def test_a_configuration_lies_beside_the_events(tmp_path: Path) -> None:
    config = projector.ProjectorConfig(model_checkpoint_path="model")
    embedding = config.embeddings.add()
    embedding.tensor_name, embedding.metadata_path = "words", "words.tsv"
    embedding.sprite.image_path = "sprite.png"
    embedding.sprite.single_image_dim.extend([28, 28])
    with tf.summary.FileWriter(str(tmp_path)) as writer:
        projector.visualize_embeddings(writer, config)
    text = (tmp_path / "projector_config.pbtxt").read_text()
    assert text.splitlines()[:3] == [
        'model_checkpoint_path: "model"',
        "embeddings {",
        '  tensor_name: "words"',
    ]
    assert text_format.Parse(text, projector.ProjectorConfig()) == config
    assert embedding == projector.EmbeddingInfo(
        tensor_name="words",
        metadata_path="words.tsv",
        sprite=projector.SpriteMetadata(image_path="sprite.png", single_image_dim=[28, 28]),
    )


class _WithoutFolder:
    def get_logdir(self) -> Any:
        return None


def test_what_can_t_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Summary writer must have a logdir"):
        projector.visualize_embeddings(_WithoutFolder(), projector.ProjectorConfig())
    with tf.summary.FileWriter(str(tmp_path)) as writer:
        with pytest.raises(TypeError, match="config must be a ProjectorConfig"):
            projector.visualize_embeddings(writer, {"embeddings": []})
