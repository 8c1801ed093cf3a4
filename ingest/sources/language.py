"""Replacements that make transformers' models trace exactly: attention, key-value cache and experts.

- Attention goes through one function that calls `scaled_dot_product_attention` without building
  masks: a kernel takes "causal" as a flag, and a mask tensor would count bytes that nobody moves. A model
  that the library itself runs step by step (sinks, capped scores: no `_supports_sdpa`) keeps the library's code
  and masks.
- The cache implements the library's cache interface with an operator `charz.kv_cache` whose result
  is as long as the context C, a size of its own. Prefill is C = S and decoding S = 1, so one trace
  answers both; every size after the cache follows from the model's own code.
- Experts run in the library's grouped form: each token meets its `top_k` experts, so the grouped product has
  `top_k * tokens` rows, and `charz.grouped_mm` gets `top_k`. The same form replaces packed experts that the
  library runs all over every token (Llama-4) or one after the other (DBRX). Experts that are separate
  modules run as one of them, with linear layers `charz.expert_linear` over all experts' weights.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any
from unittest import mock

import torch
from torch.overrides import TorchFunctionMode

from ..trace import bounded

ATTENTION = EXPERTS = "charz"
"""Name under which the attention and expert functions below are registered with transformers."""

_LIBRARY = torch.library.Library(bounded.NAMESPACE, "FRAGMENT")
_LIBRARY.define("kv_cache(Tensor states, Tensor context) -> Tensor")
_LIBRARY.define("kv_window(Tensor states, int length) -> Tensor")
_LIBRARY.define("kv_sliding(Tensor states, Tensor context, int length) -> Tensor")
_LIBRARY.define("kv_crossed(Tensor states) -> Tensor")
_LIBRARY.define("kv_chunk(Tensor states, Tensor context, int length) -> Tensor")
_LIBRARY.define("grouped_mm(Tensor input, Tensor weight, Tensor offsets, int chosen) -> Tensor")
_LIBRARY.define(
    "latent_attention(Tensor query, Tensor rotated, Tensor latent, Tensor key, Tensor? chosen, int width, int value) -> Tensor"
)
_LIBRARY.define("expert_linear(Tensor input, Tensor[] weights, Tensor[] biases, int chosen) -> Tensor")


def _kv_cache(states: torch.Tensor, context: torch.Tensor) -> torch.Tensor:
    return states.new_empty((*states.shape[:-2], context.shape[0], states.shape[-1]))


def _kv_window(states: torch.Tensor, length: int) -> torch.Tensor:
    return states.new_empty((*states.shape[:-2], length, states.shape[-1]))


def _kv_sliding(states: torch.Tensor, context: torch.Tensor, length: int) -> torch.Tensor:
    return _kv_cache(states, context)


def _kv_crossed(states: torch.Tensor) -> torch.Tensor:
    return states.new_empty(states.shape)


def _grouped_mm(input: torch.Tensor, weight: torch.Tensor, offsets: torch.Tensor, chosen: int) -> torch.Tensor:
    return input.new_empty((input.shape[0], weight.shape[-1]))


def _latent_attention(query: torch.Tensor, *_unused: Any) -> torch.Tensor:
    return query.new_empty(query.shape)


def _expert_linear(
    input: torch.Tensor, weights: list[torch.Tensor], biases: list[torch.Tensor], chosen: int
) -> torch.Tensor:
    return input.new_empty((*input.shape[:-1], weights[0].shape[0]))


for _name, _function in (
    ("kv_cache", _kv_cache), ("kv_window", _kv_window), ("kv_sliding", _kv_sliding), ("kv_chunk", _kv_sliding),
    ("kv_crossed", _kv_crossed), ("grouped_mm", _grouped_mm), ("expert_linear", _expert_linear),
    ("latent_attention", _latent_attention),
):  # fmt: skip
    _LIBRARY.impl(_name, _function, "CompositeExplicitAutograd")
    torch.library.register_fake(f"{bounded.NAMESPACE}::{_name}", _function, lib=_LIBRARY)


def attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    is_causal: bool | None = None,
    position_bias: torch.Tensor | None = None,
    softcap: float | None = None,
    indices: torch.Tensor | None = None,
    **_unused: Any,
) -> tuple[torch.Tensor, None]:
    """Compute attention as transformers calls it: one operator, or its steps where scores are capped. An attention sink
    (`s_aux`, a number a head) adds one term to each row's sum inside fused kernels (FlashAttention, vLLM's)."""
    if getattr(module, "keeps_latents", False):
        return _of_latents(module, query, key, value, indices), None
    if indices is not None:
        attention_mask = None  # the indices already select the keys
    causal = getattr(module, "is_causal", True) if is_causal is None else is_causal
    mask = position_bias if attention_mask is None else attention_mask
    if softcap is not None:
        result = _capped(query, key, value, softcap, scaling, mask)
    else:
        result = torch.nn.functional.scaled_dot_product_attention(
            query, key, value, attn_mask=mask, scale=scaling, is_causal=bool(causal) and mask is None,
            enable_gqa=query.shape[1] != key.shape[1],
        )  # fmt: skip
    return result.transpose(1, 2).contiguous(), None


def _of_latents(
    module: torch.nn.Module, query: torch.Tensor, latent: torch.Tensor, key: torch.Tensor, chosen: torch.Tensor | None
) -> torch.Tensor:
    """Compute latent attention as servers run it (DeepSeek-V2, arXiv:2405.04434): queries and results are multiplied with the
    weight that expands latents, so that the cache is read unexpanded. Queries are batch x heads x length x width; `chosen`
    are the positions that an indexer selects for each query (DeepSeek-V3.2)."""
    heads, width, value = module.num_heads, module.qk_nope_head_dim, module.v_head_dim
    batch, _, length, _ = query.shape
    weight = module.kv_b_proj.weight.view(heads, width + value, module.kv_lora_rank)  # type: ignore[operator, union-attr]
    plain, rotated = torch.split(query, [width, query.shape[-1] - width], dim=-1)  # type: ignore[list-item]
    rows = torch.bmm(plain.permute(1, 0, 2, 3).reshape(heads, batch * length, width), weight[:, :width])
    rows = rows.view(heads, batch, length, -1).permute(1, 0, 2, 3)
    mixed = torch.ops.charz.latent_attention(rows, rotated, latent, key, chosen, width, value)
    mixed = mixed.permute(1, 0, 2, 3).reshape(heads, batch * length, -1)
    result = torch.bmm(mixed, weight[:, width:].transpose(1, 2))
    return result.view(heads, batch, length, value).permute(1, 2, 0, 3).contiguous()  # type: ignore[arg-type]


def keep_latents(module: torch.nn.Module) -> None:
    """Make layers that expand latents into keys and values pass the latents on unexpanded."""
    for part in module.modules():
        if hasattr(part, "expand_kv") and hasattr(part, "kv_b_proj"):
            part.expand_kv = _as_kept
            part.keeps_latents = True


def _as_kept(latent: torch.Tensor, key: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return latent, key


OWN_ATTENTION = ("GPTJAttention", "CodeGenAttention")
"""Classes with attention code of their own (product, softmax, product), replaced by the common operator."""

BIASED_ATTENTION = ("MptAttention",)
"""Classes that also add a distance bias to their scores, which kernels compute from one slope a head (Press et al. 2022)."""


def join_attention(module: torch.nn.Module) -> None:
    """Make layers with attention code of their own call the common operator."""
    for part in module.modules():
        if type(part).__name__ in OWN_ATTENTION:
            part._attn = _attn
        elif type(part).__name__ in BIASED_ATTENTION:
            part.forward = partial(_packed_attention, part)


def _attn(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, attention_mask: torch.Tensor | None = None
) -> tuple[torch.Tensor, None]:
    """Compute causal attention over batch x heads x length x width."""
    return torch.nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True), None


def _packed_attention(
    module: torch.nn.Module, hidden_states: torch.Tensor, *, past_key_values: Any = None, **_unused: Any
) -> tuple[torch.Tensor, None]:
    """Compute causal attention of a layer whose queries, keys and values are one product."""
    packed = module.Wqkv(hidden_states)  # type: ignore[operator]
    if module.clip_qkv:
        packed = packed.clamp(-module.clip_qkv, module.clip_qkv)  # type: ignore[operator]
    query, key, value = (
        part.reshape(*part.shape[:2], module.n_heads, -1).transpose(1, 2) for part in packed.chunk(3, dim=2)
    )
    if past_key_values is not None:
        key, value = past_key_values.update(key, value, module.layer_idx)
    result, _ = _attn(query, key, value)
    return module.out_proj(result.transpose(1, 2).reshape(hidden_states.shape)), None  # type: ignore[operator]


def _capped(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    cap: float,
    scale: float | None,
    mask: torch.Tensor | None,
) -> torch.Tensor:
    repeats = query.shape[1] // key.shape[1]
    if repeats > 1:
        key, value = (t.repeat_interleave(repeats, dim=1) for t in (key, value))
    scores = torch.matmul(query, key.transpose(2, 3)) * (scale or query.shape[-1] ** -0.5)
    scores = torch.tanh(scores / cap) * cap
    if mask is not None:
        scores = scores + mask
    return torch.matmul(torch.softmax(scores, dim=-1), value)


@dataclass(frozen=True, slots=True)
class Window:
    """A limit on the positions that a layer attends to."""

    length: int
    is_chunk: bool
    """True if these are the positions of the query's own chunk, False if they are those before it."""


def windows(config: Any) -> list[Window | None]:
    """Return the window of each layer of a language model, None where a layer attends to all positions."""
    config = config.get_text_config(decoder=True)
    kinds = getattr(config, "layer_types", None)
    if kinds is None:
        length = getattr(config, "sliding_window", None)
        if not isinstance(length, int) or getattr(config, "use_sliding_window", True) is False:
            return []
        return [Window(length, False)] * config.num_hidden_layers
    lengths = {kind: getattr(config, name, None) for kind, name in WINDOWED.items()}
    found = [lengths.get(kind) for kind in kinds]
    is_chunk = [kind == "chunked_attention" for kind in kinds]
    return [Window(n, chunk) if isinstance(n, int) else None for n, chunk in zip(found, is_chunk, strict=True)]


WINDOWED = {
    "sliding_attention": "sliding_window",
    "hybrid_sliding": "sliding_window",
    "reference_sliding_attention": "sliding_window",
    "chunked_attention": "attention_chunk_size",
}
"""Settings with the window length, by the layer type of transformers (`cache_utils.py`)."""


class SymbolicCache:
    """Substitute for transformers' cache that returns whatever is stored as long as the context."""

    is_compileable = False
    is_initialized = True
    layers: tuple[Any, ...] = ()

    def __init__(self, context: torch.Tensor, windows: list[Window | None] | None = None) -> None:
        self.context = context
        self._windows = windows or []
        self.was_asked = False
        """True once a layer asked for a state."""

    def update(
        self, keys: torch.Tensor, values: torch.Tensor, layer_idx: int = 0, *_unused: Any, **_more: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return keys and values of the whole context, or of the layer's window."""
        window = self._windows[layer_idx] if self._windows else None
        return self._kept(keys, window), self._kept(values, window)

    def update_indexer(self, keys: torch.Tensor, *_unused: Any, **_more: Any) -> torch.Tensor:
        """Return the keys of an indexer for the whole context: batch x length x width."""
        return self._kept(keys, None)

    def _kept(self, states: torch.Tensor, window: Window | None) -> torch.Tensor:
        if window is None:
            return torch.ops.charz.kv_cache(states, self.context)  # type: ignore[no-any-return]
        kept = torch.ops.charz.kv_chunk if window.is_chunk else torch.ops.charz.kv_sliding
        return kept(states, self.context, window.length)  # type: ignore[no-any-return]

    def get_seq_length(self, layer_idx: int = 0) -> int:
        """Return 0 stored tokens: positions do not change any size."""
        return 0

    def get_mask_sizes(self, query_length: Any, layer_idx: int = 0) -> tuple[Any, int]:
        """Return the length and offset of the keys that a mask must cover."""
        return self.context.shape[0], 0

    def get_query_offset(self, layer_idx: int = 0) -> int:
        """Return the position of the first query."""
        return 0

    def get_max_cache_shape(self, layer_idx: int = 0) -> int:
        """Return -1: the length has no limit."""
        return -1

    def get_conv_state(self, layer_idx: int = 0, *_unused: Any, **_more: Any) -> None:
        """Return None: a prompt has no previous state."""
        self.was_asked = True

    get_recurrent_state = get_linear_cache = get_conv_state

    def update_conv_state(self, states: torch.Tensor, *_unused: Any, **_more: Any) -> torch.Tensor:
        """Return the given states: a prompt's convolution or recurrence sees nothing earlier."""
        self.was_asked = True
        return states

    update_recurrent_state = update_conv_state

    def set_linear_cache(self, layer_idx: int, states: torch.Tensor) -> None:
        """Discard the states: no size depends on them."""

    def has_previous_state(self, *_unused: Any, **_more: Any) -> bool:
        """Return False: a prompt has no previous state."""
        return False

    is_recording_past = has_previous_state

    @property
    def is_sliding(self) -> list[bool]:
        """The value for a cache whose layers all keep the whole context."""
        return [False]

    is_linear = is_dummy = is_sliding

    def __len__(self) -> int:
        return 0

    def __bool__(self) -> bool:
        return True


class CrossedCache(SymbolicCache):
    """Substitute for the cross-attention cache of a decoder: it has the encoder's length, not the context's."""

    def _kept(self, states: torch.Tensor, window: Window | None) -> torch.Tensor:
        return torch.ops.charz.kv_crossed(states)  # type: ignore[no-any-return]


def paired_cache(context: torch.Tensor, windows: list[Window | None]) -> Any:
    """Return a substitute for the cache of an encoder-decoder: one for the decoder's tokens, one for the encoder's result."""
    from transformers import EncoderDecoderCache

    class Paired(EncoderDecoderCache):
        def __init__(self) -> None:
            self.self_attention_cache = SymbolicCache(context, windows)
            self.cross_attention_cache = CrossedCache(context)
            self.is_updated: dict[int, bool] = {}

        def get_mask_sizes(self, query_length: Any, layer_idx: int = 0) -> tuple[Any, int]:
            return self.self_attention_cache.get_mask_sizes(query_length, layer_idx)

    return Paired()


WITHOUT_GLOBAL_ATTENTION = ("longformer", "led")
"""Models that read from the mask if any token attends globally, which is false without a mask."""

AS_NOT_TRACED = ("switch_transformers", "informer", "autoformer")
"""Models that build other masks when they detect tracing."""


@contextlib.contextmanager
def as_it_runs(module: torch.nn.Module, model_type: str) -> Iterator[None]:
    """Make a forward take the branches of an eager run without a mask."""
    from transformers import masking_utils

    with contextlib.ExitStack() as stack:
        if model_type in WITHOUT_GLOBAL_ATTENTION:
            stack.enter_context(_NoneAttendsToAll())
        if model_type in AS_NOT_TRACED:
            for code in (sys.modules[type(module).__module__], masking_utils):
                for asks in ("is_torchdynamo_compiling", "is_torchdynamo_exporting"):
                    if hasattr(code, asks):
                        stack.enter_context(mock.patch.object(code, asks, lambda: False))
        yield


class _NoneAttendsToAll(TorchFunctionMode):
    """Mode in which a forward that reads a boolean tensor gets False."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.Tensor.item and args[0].dtype == torch.bool:
            return False
        return func(*args, **(kwargs or {}))


def register() -> None:
    """Register both functions with transformers, which builds no mask without a mask function."""
    from transformers import AttentionInterface
    from transformers.integrations import moe

    AttentionInterface.register(ATTENTION, attention)
    moe.ExpertsInterface.register(EXPERTS, experts)


def experts(module: torch.nn.Module, states: torch.Tensor, index: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """Run the library's grouped form over tokens x hidden `states`, each with the experts in its row of `index`."""
    from transformers.integrations import moe

    def product(input: torch.Tensor, weight: torch.Tensor, offs: torch.Tensor) -> torch.Tensor:
        return torch.ops.charz.grouped_mm(input, weight, offs, index.shape[-1])  # type: ignore[no-any-return]

    with mock.patch.object(moe, "_grouped_mm", product):
        return moe.grouped_mm_experts_forward(module, states, index, weights)  # type: ignore[no-any-return]


def join_experts(module: torch.nn.Module) -> None:
    """Make experts run only over the rows that chose them: a dictionary of expert modules runs as its first one, and packed
    experts without a grouped form in the library run in that form."""
    for part in module.modules():
        if isinstance(part, torch.nn.ModuleDict) and type(part).__name__.endswith("Experts"):
            first = next(iter(part.values()))
            part.forward = partial(_joined, [expert for expert in part.values() if type(expert) is type(first)])
        elif type(part).__name__ in PACKED:
            part.forward = partial(PACKED[type(part).__name__], part)


def _in_groups(
    states: torch.Tensor, index: torch.Tensor, count: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Sort the choices `index` (tokens x top_k, of `count` experts) by expert: return their order, the token of each, and
    the end of each expert's rows."""
    chosen, order = torch.sort(index.reshape(-1))
    ends = torch.cumsum(torch.histc(chosen.float(), bins=count, min=0, max=count - 1), dim=0, dtype=torch.int32)
    return order, order // index.shape[1], ends


def _llama4(part: Any, states: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Run Llama-4's mixture: the sigmoid of a score scales the expert's input, and one expert is shared."""
    states = states.reshape(-1, part.hidden_dim)
    logits = torch.nn.functional.linear(states, part.router.weight)
    scores, index = torch.topk(logits, part.top_k, dim=1)
    order, tokens, ends = _in_groups(states, index, part.num_experts)
    rows = states[tokens] * torch.sigmoid(scores.float()).to(scores.dtype).reshape(-1)[order, None]
    packed = part.experts
    gate, up = torch.ops.charz.grouped_mm(rows, packed.gate_up_proj, ends, part.top_k).chunk(2, dim=-1)
    rows = torch.ops.charz.grouped_mm(up * packed.act_fn(gate), packed.down_proj, ends, part.top_k)
    return part.shared_expert(states).index_add_(0, tokens, rows), logits


def _dbrx(part: Any, states: torch.Tensor, index: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """Run DBRX's experts, whose three matrices are packed over all experts."""
    rows = states.reshape(-1, part.hidden_size)
    order, tokens, ends = _in_groups(rows, index, part.num_experts)
    first, second, last = (
        matrix.view(part.num_experts, part.ffn_hidden_size, part.hidden_size)
        for matrix in (part.mlp.w1, part.mlp.v1, part.mlp.w2)
    )
    chosen = rows[tokens]
    gate, up = (
        torch.ops.charz.grouped_mm(chosen, matrix.transpose(1, 2), ends, index.shape[-1]) for matrix in (first, second)
    )
    made = torch.ops.charz.grouped_mm(part.mlp.activation_fn(gate) * up, last, ends, index.shape[-1])
    made = made * weights.reshape(-1)[order, None]
    return torch.zeros_like(rows).index_add_(0, tokens, made).view(states.shape)


PACKED: dict[str, Callable[..., Any]] = {"Llama4TextMoe": _llama4, "DbrxExperts": _dbrx}
"""Forwards over chosen rows, by the class whose forward they replace."""


def _joined(
    experts: list[torch.nn.Module], states: torch.Tensor, chosen: torch.Tensor, weights: torch.Tensor
) -> torch.Tensor:
    """Run each of tokens x hidden `states` through as many experts as the second dimension of `chosen`."""
    count = chosen.shape[1]
    order = weights.reshape(-1)[: states.shape[0] * count].argsort()
    with contextlib.ExitStack() as stack:
        for path, layer in experts[0].named_modules():
            if isinstance(layer, torch.nn.Linear):
                alike = [expert.get_submodule(path) for expert in experts]
                stack.enter_context(mock.patch.object(layer, "forward", partial(_over_all, alike, count)))
        rows = experts[0](states[order // count]) * weights.reshape(-1)[order, None]
    return torch.zeros_like(states).index_add_(0, order // count, rows)


def _over_all(layers: list[torch.nn.Linear], chosen: int, states: torch.Tensor) -> torch.Tensor:
    biases = [layer.bias for layer in layers if layer.bias is not None]
    return torch.ops.charz.expert_linear(  # type: ignore[no-any-return]
        states, [layer.weight for layer in layers], biases, chosen
    )
