"""Infers the input of a module from its first layer that has weights."""

from __future__ import annotations

from torch import nn

SIDE = 224
FRAMES, CLIP_SIDE = 16, 112
"""Frames and side of the clips that torchvision's video networks take."""


def first_input(module: nn.Module, height: int = SIDE, width: int = SIDE) -> str | None:
    """Return the one input of a module as `--input` would give it, or None where its first layer does not determine it.

    >>> first_input(nn.Sequential(nn.Embedding(100, 8), nn.Linear(8, 2)))
    'B,S:int64'
    >>> first_input(nn.Sequential(nn.Conv2d(1, 8, 3)), 28, 28)
    'B,1,28,28'
    """
    for layer in module.modules():
        text = _input_of(layer, height, width)
        if text is not None:
            return text
    return None


def _input_of(layer: nn.Module, height: int, width: int) -> str | None:
    if isinstance(layer, (nn.Conv2d, nn.ConvTranspose2d)):
        return f"B,{layer.in_channels},{height},{width}"
    if isinstance(layer, nn.BatchNorm2d):
        return f"B,{layer.num_features},{height},{width}"
    if isinstance(layer, nn.Conv1d):
        return f"B,{layer.in_channels},S"
    if isinstance(layer, nn.Conv3d):
        return f"B,{layer.in_channels},{FRAMES},{CLIP_SIDE},{CLIP_SIDE}"
    if isinstance(layer, (nn.Embedding, nn.EmbeddingBag)):
        return "B,S:int64"
    if isinstance(layer, nn.RNNBase):
        return f"B,S,{layer.input_size}" if layer.batch_first else f"S,B,{layer.input_size}"
    if isinstance(layer, nn.MultiheadAttention):
        return f"B,S,{layer.embed_dim}" if layer.batch_first else f"S,B,{layer.embed_dim}"
    if isinstance(layer, nn.LayerNorm):
        return "B,S," + ",".join(str(n) for n in layer.normalized_shape)
    if isinstance(layer, nn.Linear):
        return f"B,{layer.in_features}"
    return None
