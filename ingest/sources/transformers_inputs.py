"""Example inputs of a transformers model, from its forward's parameters and its configuration."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

import torch

from ..trace.export import BATCH, SEQUENCE, Request
from .architectures import Architecture

SAMPLES = 16000
"""Default number of audio samples: a second at the rate that speech models take."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Sizes of the inputs."""

    batch: int
    asked_length: int | None
    """Sequence length that the user asks for."""
    usual_length: int
    """Sequence length if the user asks for none."""
    sides: tuple[int, int]
    """Height and width of images."""

    @property
    def length(self) -> int:
        """Sequence length of tokens."""
        return self.asked_length or self.usual_length


def image_sides(config: Any, architecture: Architecture) -> tuple[int, int]:
    """Return height and width of images from the configuration, else the architecture's default."""
    vision = getattr(config, "vision_config", config)
    size = getattr(vision, "image_size", None) or getattr(vision, "input_size", None)
    height, width = size if isinstance(size, (list, tuple)) and len(size) == 2 else (size, size)
    if isinstance(height, int) and isinstance(width, int) and architecture.image == 224 and min(height, width) > 1:
        return height, width
    return architecture.image, architecture.image


def add_inputs(request: Request, config: Any, wanted: Wanted) -> None:
    """Add the example inputs that the module's forward method needs to an ingestion request."""
    parameters = inspect.signature(request.module.forward).parameters
    main = request.module.main_input_name
    if main == "past_values":
        _add_series(request, config, wanted, parameters)
        return
    if "pixel_values" in parameters:
        _add_images(request, config, wanted)
    if main == "input_features":
        _add(request, main, (wanted.batch, config.num_mel_bins, 2 * config.max_source_positions))
    elif main == "input_values":
        _add_sound(request, config, wanted)
    elif "input_ids" in parameters:
        _add_tokens(request, "input_ids", wanted, _most_tokens(config))
    if "bbox" in parameters:
        length = request.default_sequence
        _add(request, "bbox", (wanted.batch, length, 4), torch.int64, has_sequence=True)
    if getattr(config, "is_encoder_decoder", False) and "decoder_input_ids" in parameters:
        _add_tokens(request, "decoder_input_ids", wanted, _most_tokens(config))


def _add(
    request: Request, name: str, shape: tuple[int, ...], dtype: torch.dtype = torch.float32, has_sequence: bool = False
) -> None:
    request.keywords[name] = torch.empty(shape, dtype=dtype, device="meta")
    request.axes[name] = {0: BATCH, 1: SEQUENCE} if has_sequence else {0: BATCH}


def _add_tokens(request: Request, name: str, wanted: Wanted, most: int) -> None:
    length = wanted.asked_length or min(wanted.usual_length, most)
    _add(request, name, (wanted.batch, length), torch.int64, has_sequence=True)
    request.default_sequence = length


def _most_tokens(config: Any) -> int:
    """Return the number of learned positions from the configuration, or 2**31 without one."""
    text = getattr(config, "text_config", config)
    most = getattr(text, "max_position_embeddings", None)
    return most if isinstance(most, int) and most > 0 else 2**31


def _add_images(request: Request, config: Any, wanted: Wanted) -> None:
    """Add an image, or a clip where the configuration counts frames."""
    vision = getattr(config, "vision_config", config)
    channels = getattr(vision, "num_channels", 3)
    frames = getattr(config, "num_frames", None)
    clip = (frames,) if isinstance(frames, int) else ()
    _add(request, "pixel_values", (wanted.batch, *clip, channels, *wanted.sides))
    request.resolution = wanted.sides[0] if wanted.sides[0] == wanted.sides[1] else None


def _add_sound(request: Request, config: Any, wanted: Wanted) -> None:
    """Add samples, whose number is the sequence unless tokens follow them, or frames of a fixed spectrogram."""
    if hasattr(config, "num_mel_bins"):
        _add(request, "input_values", (wanted.batch, config.max_length, config.num_mel_bins))
    elif getattr(config, "is_encoder_decoder", False):
        _add(request, "input_values", (wanted.batch, SAMPLES))
    else:
        length = wanted.asked_length or max(wanted.usual_length, SAMPLES)
        _add(request, "input_values", (wanted.batch, length), has_sequence=True)
        request.default_sequence = length


def _add_series(request: Request, config: Any, wanted: Wanted, parameters: Any) -> None:
    """Add a past as long as the configuration's context and lags, and a future where a decoder takes one."""
    past = config.context_length + max(getattr(config, "lags_sequence", None) or [0])
    channels = getattr(config, "num_input_channels", getattr(config, "input_size", 1))
    values = (channels,) if channels > 1 else ()
    features = getattr(config, "num_time_features", 0)
    _add(request, "past_values", (wanted.batch, past, *values))
    needed = [n for n, p in parameters.items() if p.default is inspect.Parameter.empty]
    if "past_observed_mask" in needed:
        _add(request, "past_observed_mask", (wanted.batch, past, *values))
    if "past_time_features" in parameters:
        _add(request, "past_time_features", (wanted.batch, past, features))
    if "future_time_features" in parameters:
        _add(request, "future_values", (wanted.batch, config.prediction_length, *values))
        _add(request, "future_time_features", (wanted.batch, config.prediction_length, features))
