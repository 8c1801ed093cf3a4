"""transformers' architectures from a configuration, never from weights: `hf:NAME` of the shipped
table (`architectures.py`), or the path of a `config.json`."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from charz.schema.errors import CharzError, unknown_name

from ..trace import torchvision_schemas
from ..trace.export import BATCH, CONTEXT_INPUT, SEQUENCE, Request
from ..trace.symbolic import CONTEXT
from . import architectures
from .architectures import ARCHITECTURES, Architecture
from .arguments import optional, set_signature, tensors
from .inputs import parse_input
from .spec import Spec, shown_sides
from .transformers_inputs import Wanted, add_inputs, image_sides

EXAMPLE_BATCH = 2
KEPT_BETWEEN_RUNS = ("past_key_values", "cache_params", "state", "encoder_outputs", "mems")
"""Arguments that an earlier run leaves, which users never give."""

EXTRA_CONTEXT = 64
"""Excess of the example's context over its sequence, so that the two sizes differ."""


def names() -> list[str]:
    """List the architectures of the shipped table."""
    return list(ARCHITECTURES)


def _library() -> Any:
    torchvision_schemas.prepare()
    try:
        import transformers
    except ImportError:
        raise CharzError("transformers is not installed", next="pip install 'charz-dnn[zoo]'") from None
    transformers.utils.logging.set_verbosity_error()
    return transformers


def build(spec: Spec) -> Request:
    """Build an architecture on the meta device with example inputs for its task."""
    library = _library()
    config, model_class, architecture, name = _described(library, spec)
    _apply_settings(config, spec)
    module = _construct(library, model_class, config, dict(spec.settings).get(IMPLEMENTATION))
    batch = spec.batch or EXAMPLE_BATCH
    request = Request(
        name=name + "".join(f",{k}={v}" for k, v in spec.settings), source=spec.source, module=module,
        family=config.model_type, default_batch=batch, default_sequence=1,
    )  # fmt: skip
    request.stored_policy = stored_policy(getattr(config, "quantization_config", None)) or half_policy(config)
    native = image_sides(config, architecture)
    add_inputs(request, config, Wanted(batch, spec.sequence, architecture.sequence, spec.sides or native))
    _leave_pictures_out(request, spec)
    request.chosen = _chosen(request, spec)
    _take_given(request, spec)
    request.left_out = [
        name
        for name in optional(inspect.signature(request.module.forward).parameters, request.keywords)
        if name not in KEPT_BETWEEN_RUNS and "labels" not in name
    ]
    if spec.sides not in (None, native):
        request.name += f"@{shown_sides(*spec.sides)}"
    if spec.batch:
        request.axes = {n: {d: p for d, p in dims.items() if p != BATCH} for n, dims in request.axes.items()}
    _adapt(request, config, spec)
    return request


_POLICIES = {
    "fp8": "fp8",
    "fbgemm_fp8": "fp8",
    "mxfp4": "mxfp4",
    "bitsandbytes": "w8a16",
}
"""Precision policies by a checkpoint's quantization method."""


_PUBLISHED_IN_BF16 = frozenset({
    "cohere", "deepseek_v2", "deepseek_v3", "gemma", "gemma2", "gemma3_text", "gpt_oss", "granite", "minimax_m2", "mistral", "mixtral", "olmo2",
    "phi3", "qwen2", "qwen2_moe", "qwen3", "qwen3_moe", "starcoder2",
})  # fmt: skip
"""Model types whose published config.json names bfloat16. The defaults of a configuration class do not name it."""

_LLAMA_3_VOCABULARY = 128_000
"""Smallest vocabulary of Llama 3, which is published in bfloat16; Llama 2 is in float16."""


def half_policy(config: Any) -> str | None:
    """Return the 16-bit policy of a checkpoint: that of its configuration, or that of the model's published configuration."""
    said = str(getattr(config, "dtype", None) or "").removeprefix("torch.")
    if said:
        return {"bfloat16": "bf16", "float16": "fp16"}.get(said)
    kind = getattr(config, "model_type", "")
    is_llama_3 = kind == "llama" and config.vocab_size >= _LLAMA_3_VOCABULARY
    return "bf16" if is_llama_3 or kind in _PUBLISHED_IN_BF16 else None


def stored_policy(said: Any) -> str | None:
    """Return the precision policy of a checkpoint's `quantization_config`; None without one or for an unknown method."""
    said = said.to_dict() if hasattr(said, "to_dict") else said
    if not isinstance(said, dict):
        return None
    method = str(said.get("quant_method", "")).lower()
    if method == "fp8" and said.get("weight_block_size"):
        return "fp8_block"
    if method in ("gptq", "awq"):
        return {4: "w4a16", 8: "w8a16"}.get(said.get("bits", 4))
    if method == "compressed-tensors":
        groups = said.get("config_groups") or {}
        group: dict[str, Any] = next(iter(groups.values()), {})
        weights, inputs = group.get("weights") or {}, group.get("input_activations")
        if weights.get("type") == "float":
            return "nvfp4" if weights.get("num_bits") == 4 else "fp8"
        return {4: "w4a16", 8: "int8" if inputs else "w8a16"}.get(weights.get("num_bits", 0))
    if method == "modelopt":
        return "nvfp4" if "FP4" in str(said.get("quant_algo", "")).upper() else "fp8"
    if method == "bitsandbytes" and said.get("load_in_4bit"):
        return "nf4" if said.get("bnb_4bit_use_double_quant") else "nf4_single"
    return _POLICIES.get(method)


def _chosen(request: Request, spec: Spec) -> list[str]:
    """List the input sizes that charz chose because the user gave none."""
    has_length = any(SEQUENCE in dims.values() for dims in request.axes.values())
    sequence = [f"a length of {request.default_sequence}"] if has_length and spec.sequence is None else []
    images = [v.shape[-2:] for n, v in request.keywords.items() if n == "pixel_values" and spec.sides is None]
    return sequence + [f"images of {shown_sides(*sides)}" for sides in images]


def _leave_pictures_out(request: Request, spec: Spec) -> None:
    """Drop the example images of a vision-language model where the user names the inputs."""
    if spec.inputs and _reads_pictures_too(request):
        request.keywords.pop("pixel_values", None)
        request.axes.pop("pixel_values", None)
        request.resolution = None


def _reads_pictures_too(request: Request) -> bool:
    """Return True for a language model that takes images as well as text."""
    from transformers.models.auto import modeling_auto

    listed = modeling_auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES.values()
    names = {name for entry in listed for name in ((entry,) if isinstance(entry, str) else entry)}
    return type(request.module).__name__ in names and request.module.main_input_name == "input_ids"


def _take_given(request: Request, spec: Spec) -> None:
    """Add the user's inputs, in place of chosen ones of the same name. Raise CharzError for a name that the
    model's forward does not have."""
    known = inspect.signature(request.module.forward).parameters
    for given in (parse_input(text, spec.batch, spec.sequence) for text in spec.inputs):
        name = given.name or request.module.main_input_name
        if name not in known:
            raise unknown_name("input", name, known, "name inputs as --input NAME=DIMS:TYPE")
        request.keywords[name], request.axes[name] = given.tensor, given.axes
        lengths = [given.tensor.shape[d] for d, powers in given.axes.items() if powers == SEQUENCE]
        request.default_sequence = lengths[0] if lengths else request.default_sequence
        if name == "pixel_values":
            *_, height, width = given.tensor.shape
            request.resolution = height if height == width else None


def _described(library: Any, spec: Spec) -> tuple[Any, str, Architecture, str]:
    """Return the configuration, class name, defaults and shown name of the requested model."""
    if spec.name.endswith(".json"):
        return _from_file(library, Path(spec.name))
    short = spec.name.rsplit("/", 1)[-1].lower()
    known = architectures.row(short)
    if known is None:
        raise unknown_name("transformers architecture", spec.name, ARCHITECTURES, "or give the path of a config.json")
    architecture = ARCHITECTURES[known]
    config = getattr(library, architecture.config)(**architecture.changes)
    return config, architecture.model, architecture, f"hf:{short}"


def _values(library: Any, path: Path) -> dict[str, Any]:
    """Read a configuration file as transformers does. Raise CharzError unless it contains a JSON object."""
    try:
        values = library.PreTrainedConfig._dict_from_json_file(path)
    except FileNotFoundError:
        raise CharzError(
            "no such configuration file", str(path), next="hf:NAME takes a shipped one; `charz ingest --list hf`"
        ) from None
    except json.JSONDecodeError as error:
        raise CharzError("not a JSON file", f"{path}, line {error.lineno}", error.msg) from None
    except (ValueError, RecursionError) as error:  # bytes that are not UTF-8, endless numbers, deep nesting
        raise CharzError("not a JSON file", str(path), str(error)) from None
    if not isinstance(values, dict):
        raise CharzError("not a configuration", str(path), "expected a JSON object with a model_type")
    return values


def _from_file(library: Any, path: Path) -> tuple[Any, str, Architecture, str]:
    values = _values(library, path)
    kind = values.get("model_type")
    if not isinstance(kind, str) or kind not in library.CONFIG_MAPPING:
        raise unknown_name(
            "model_type", f"{kind} in {path}", library.CONFIG_MAPPING.keys(), "transformers writes it into config.json"
        )
    try:
        config = library.CONFIG_MAPPING[kind].from_dict(values)
        chosen = (values.get("architectures") or [None])[0]
        if chosen is None:
            chosen = library.AutoModel._model_mapping[type(config)].__name__
    except Exception as error:
        raise CharzError("transformers rejects the configuration", str(path), str(error)) from error
    if not isinstance(chosen, str) or not hasattr(library, chosen):
        raise CharzError(
            "unknown model class",
            f"{chosen} in {path}",
            next="the first of `architectures` must be a class of transformers",
        )
    # A file named `config.json` takes its folder's name, as transformers saves it; any other file its own.
    name = path.parent.name if path.stem == "config" and path.parent.name else path.stem
    return config, chosen, Architecture(type(config).__name__, chosen), f"hf:{name}"


def _apply_settings(config: Any, spec: Spec) -> None:
    """Apply `--set num_hidden_layers=2` and the like to the configuration. The library derives lists of one item a layer anew."""
    layers = getattr(config, LAYERS, None)
    for key, text in spec.settings:
        if key == IMPLEMENTATION:
            continue  # passed when the module is made
        if not hasattr(config, key):
            known = [k for k in config.to_dict() if isinstance(getattr(config, k, None), (int, float, str))]
            raise unknown_name("setting", key, known)
        try:
            value = json.loads(text)
        except json.JSONDecodeError:
            value = text
        setattr(config, key, value)
    if getattr(config, LAYERS, None) != layers:
        given = dict(spec.settings)
        values = config.to_dict()
        lists = [key for key, value in values.items() if isinstance(value, list) and len(value) == layers and key not in given]
        derived = type(config).from_dict({key: value for key, value in values.items() if key not in lists})
        for key in lists:
            setattr(config, key, getattr(derived, key))


LAYERS = "num_hidden_layers"
"""Number of layers, by the library's name."""

IMPLEMENTATION = "attn_implementation"
"""Setting that selects how attention runs, by transformers' own name."""

STEP_BY_STEP = "eager"
"""Attention as separate products and softmax, as every transformers model ran it before 4.36."""


WITH_SINKS = ("gpt_oss", "mimo_v2_flash")
"""Models whose attention has sinks: kernels of inference engines support them, PyTorch's own operator does not."""


def _construct(library: Any, model_class: str, config: Any, asked: str | None = None) -> torch.nn.Module:
    """Build the module, with fused attention where the library supports it unless `asked` is `eager`."""
    from . import language

    if asked not in (None, STEP_BY_STEP, "sdpa"):
        raise CharzError("not a way to run attention", f"{IMPLEMENTATION}={asked}", f"there are {STEP_BY_STEP}, sdpa")
    language.register()
    kind = getattr(library, model_class)
    # The library runs unfused attention step by step.
    is_fused = (kind._supports_sdpa or config.model_type in WITH_SINKS) and asked != STEP_BY_STEP
    for implementation in (*((language.ATTENTION, "sdpa") if is_fused else ()), STEP_BY_STEP):
        try:
            with torch.device("meta"):
                module = kind._from_config(config, attn_implementation=implementation)
            return module.eval().to("meta")  # type: ignore[no-any-return]  # some parameters ignore the device
        except (ValueError, KeyError) as error:  # the model's attention bypasses the common interface
            if implementation == STEP_BY_STEP or not ("attention" in str(error) or implementation in str(error)):
                raise
    raise AssertionError("the last attempt returns or raises")


def _adapt(request: Request, config: Any, spec: Spec) -> None:
    """Make forward return plain tensors and, where the request needs them, take a cache as long as the context and the
    recurrent states that a prompt left."""
    from . import recurrences
    from .language import (
        ATTENTION,
        EXPERTS,
        SymbolicCache,
        as_it_runs,
        join_attention,
        join_experts,
        keep_latents,
        paired_cache,
        windows,
    )
    from .step import (
        CACHES,
        LISTED,
        StateCache,
        States,
        StepCache,
        after_prompt,
        cache_name,
        give_states,
        keeps_states,
        make_step,
    )

    original: Callable[..., Any] = request.module.forward
    parameters = inspect.signature(original).parameters
    join_experts(request.module)
    if dict(spec.settings).get(IMPLEMENTATION) != STEP_BY_STEP:
        join_attention(request.module)
    if _is_causal(request, config) and config._attn_implementation == ATTENTION:
        keep_latents(request.module)
    for part in (config, config.get_text_config(decoder=True)):
        if hasattr(part, "_experts_implementation"):
            part._experts_implementation = EXPERTS
    is_paired = _decodes_encoded(request, config)
    cache = cache_name(parameters) if is_paired or _is_causal(request, config) else None
    is_step = spec.sequence == 1 and not is_paired and bool(cache or LISTED in parameters)
    goes_on = is_step or (cache is not None and not is_paired and not spec.train and keeps_states(config))
    states = after_prompt(request, original) if goes_on else States()
    goes_on = is_step or bool(states.tensors)
    if is_step:
        make_step(request)
    held = give_states(request, states)
    slid = windows(config) if not states.attributes else []
    if is_step and any(slid):
        longest = max(window.length for window in slid if window)
        request.reason = f"{request.reason}; a sliding window is full: a context of {longest} or more"
    names = list(request.keywords)
    fixed = {"use_cache": goes_on or is_paired} if "use_cache" in parameters else {}
    cache = cache if goes_on or cache == CACHES[0] else None
    chosen = getattr(config.get_text_config(decoder=True), "index_topk", None) if cache else None
    if cache:
        names.append(CONTEXT_INPUT)
        length = max(request.default_sequence, chosen or 0) + EXTRA_CONTEXT
        request.keywords[CONTEXT_INPUT] = torch.empty(length, device="meta")
        request.axes[CONTEXT_INPUT] = {0: CONTEXT}

    def forward(**inputs: Any) -> Any:
        context = inputs.pop(CONTEXT_INPUT, None)
        layers, listed = states.given([inputs.pop(name) for name in held])
        if listed:
            inputs[LISTED] = listed
        kept = recurrences.States()
        past: Any = paired_cache(context, slid) if is_paired and cache else SymbolicCache(context, slid)
        if goes_on:
            past = (StepCache if is_step else StateCache)(context, layers, slid, kept)
        if cache:
            inputs[cache] = past
        if chosen and inputs.get("attention_mask") is None:  # an indexer adds the mask to its scores
            inputs["attention_mask"] = torch.ones((1, 1, 1, 1), dtype=torch.bool, device="meta")
        with as_it_runs(request.module, config.model_type), recurrences.as_kernels(request.module, kept):
            output = tensors(original(**inputs, **fixed))
        request.forgets = getattr(past, "was_asked", False)
        return [*output, *states.attributed()]

    set_signature(forward, names)
    request.module.forward = forward


def _is_causal(request: Request, config: Any) -> bool:
    """Return True for a causal language model, and for a vision-language one that is given only text."""
    is_causal = type(request.module).__name__.endswith(("ForCausalLM", "LMHeadModel")) or (
        _reads_pictures_too(request) and all("pixel" not in name for name in request.keywords)
    )
    return is_causal and not getattr(config, "is_encoder_decoder", False)


def _decodes_encoded(request: Request, config: Any) -> bool:
    """Return True for a decoder that generates after an encoder whose inputs have a length of their own."""
    lengths = {name for name, axes in request.axes.items() if SEQUENCE in axes.values()}
    is_decoder = type(request.module).__name__.endswith(("ForConditionalGeneration", "LMHeadModel", "ForSpeechToText"))
    return is_decoder and bool(getattr(config, "is_encoder_decoder", False)) and lengths == {"decoder_input_ids"}
