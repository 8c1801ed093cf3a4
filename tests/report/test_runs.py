"""Reports of whole runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Record = dict[str, Any]
Gives = Callable[..., None]
Evaluate = Callable[..., list[Record]]


def test_model_report(gives: Gives) -> None:
    """4 samples in 2 s and 12 J: 2 per second, 3 J each, 24 J s; 100 bytes fill a memory of 100, 101 do not fit."""
    gives(
        "model_report",
        [
            {"scenario_id": 1, "throughput_per_s": 2.0, "energy_per_sample_j": 3.0, "edp_js": 24.0, "fits_device": True,
             "assumed_count": 3},
            {"scenario_id": 2, "throughput_per_s": 0.2, "energy_per_sample_j": None, "edp_js": None, "fits_device": False,
             "assumed_count": 3},
        ],
        by=["scenario_id"],
        run_cost=[
            {"batch": 4, "scenario_id": 1, "latency_s": 2.0, "energy_j": 12.0},
            {"batch": 1, "scenario_id": 2, "latency_s": 5.0},
        ],
        part=[{"dram_byte": 100.0}],
        run_memory=[
            {"batch": 4, "scenario_id": 1, "peak_memory_byte": 100.0},
            {"batch": 1, "scenario_id": 2, "peak_memory_byte": 101.0},
        ],
        assumed_input=[{"assumed_count": 3}],
    )  # fmt: skip


def test_a_run_whose_inputs_nobody_counted(evaluate: Evaluate) -> None:
    cost, memory = {"latency_s": 2.0}, {"peak_memory_byte": 1.0}
    (row,) = evaluate("model_report", run_cost=[cost], part=[{"dram_byte": 1.0}], run_memory=[memory])
    assert row["assumed_count"] is None


BANDS = [
    {"batch_class": "1", "quantity": "latency", "low_factor": 0.5, "high_factor": 2.0, "is_part_measured": True},
    {"batch_class": "1", "quantity": "energy", "low_factor": 0.25, "high_factor": 4.0, "is_part_measured": True},
    {"batch_class": "2-8", "quantity": "latency", "low_factor": 0.1, "high_factor": 9.0, "is_part_measured": True},
    {"batch_class": "2-8", "quantity": "energy", "low_factor": 0.2, "high_factor": 8.0, "is_part_measured": True},
]  # fmt: skip
RUNS = [
    {"scenario_id": 1, "batch": 1, "batch_class": "1"},
    {"scenario_id": 2, "batch": 64, "batch_class": "> 8"},
]


def test_model_latency(gives: Gives) -> None:
    """10 s, 5 to 20 by the band of its batch, 2.5 times the naive 4 s; other batches have no band."""
    gives(
        "model_latency",
        [
            {"scenario_id": 1, "p10_s": 5.0, "p90_s": 20.0, "is_part_measured": True, "correction_factor": 2.5},
            {"scenario_id": 2, "p10_s": None, "p90_s": None, "is_part_measured": False, "correction_factor": 3.0},
        ],
        by=["scenario_id"],
        run_cost=[
            {"scenario_id": 1, "batch": 1, "latency_s": 10.0, "naive_s": 4.0},
            {"scenario_id": 2, "batch": 64, "latency_s": 6.0, "naive_s": 2.0},
        ],
        run=RUNS,
        part=[{}],
        part_band=BANDS,
    )


def test_model_energy(gives: Gives) -> None:
    """8 J, 2 to 32 by the band, in 4 s; 2 J wasted."""
    gives(
        "model_energy",
        [
            {"scenario_id": 1, "p10_j": 2.0, "p90_j": 32.0, "efficiency_fraction": 0.75, "average_power_w": 2.0},
            {"scenario_id": 2, "p10_j": None, "p90_j": None, "efficiency_fraction": 0.9, "average_power_w": 5.0},
        ],
        by=["scenario_id"],
        run_cost=[
            {"scenario_id": 1, "batch": 1, "latency_s": 4.0, "energy_j": 8.0, "wasted_energy_j": 2.0},
            {"scenario_id": 2, "batch": 64, "latency_s": 2.0, "energy_j": 10.0, "wasted_energy_j": 1.0},
        ],
        run=RUNS,
        part=[{}],
        part_band=BANDS,
    )


def test_model_work(gives: Gives) -> None:
    """Two kernels of one shape and one of another."""
    shapes = [
        {"shape_id": 0, "kernel_count": 2, "macs": 5.0, "flops": 10.0, "weight_byte": 3.0, "traffic_byte": 4.0},
        {"shape_id": 2, "kernel_count": 1, "macs": 7.0, "flops": 14.0, "weight_byte": 1.0, "traffic_byte": 2.0},
    ]
    expected = {
        "kernel_count": 3,
        "macs": 17.0,
        "flops": 34.0,
        "weight_byte": 7.0,
        "traffic_byte": 10.0,
        "arithmetic_intensity": 3.4,
    }
    gives("model_work", [expected], run=[{}], shape=shapes)


def test_model_list(gives: Gives) -> None:
    """2 * 3 * 5^2 + 7 MACs at batch 3 and 5 tokens, FLOPs excluded. A view does not count as an operator, even with a rule."""
    gives(
        "model_list",
        [
            {"model": "net", "operator_count": 3, "macs": 157.0, "unsized_count": 2},
            {"model": "empty", "operator_count": 0, "macs": None, "unsized_count": 0},
        ],
        by=["model"],
        model=[
            {"default_batch": 3, "default_sequence": 5},
            {"model": "empty", "default_batch": 1, "default_sequence": 1},
        ],
        operator=[
            {"operator_id": 0, "rule": "view", "is_view": True},
            {"operator_id": 1, "rule": "conv"},
            {"operator_id": 2, "rule": None},
            {"operator_id": 3, "rule": None},
        ],
        term=[
            {"quantity": "macs", "coefficient": 2.0, "batch_power": 1, "sequence_power": 1, "context_power": 1},
            {"quantity": "macs", "coefficient": 7.0, "batch_power": 0, "sequence_power": 0, "context_power": 0},
            {"quantity": "flops", "coefficient": 9.0, "batch_power": 1, "sequence_power": 0, "context_power": 0},
        ],
    )


def test_model_layer(gives: Gives) -> None:
    """A linear layer of 5 x 7 weights on 3 samples of 5, then a head that reads the same weights and its own 2 in 16 bits: the shared
    weights count in the first layer, 3 * 5 * 7 MACs; the backward pass belongs to no layer. The network contains both layers."""
    whole = {"path": "", "input_shape": "[B, 5]", "output_shape": "[B, 1]", "parameter_count": 37, "macs": 105.0, "output_byte": 6.0}
    linear = {"path": "fc", "input_shape": "[B, 5]", "output_shape": "[B, 7]", "parameter_count": 35, "macs": 105.0, "output_byte": 84.0}
    head = {"path": "head", "input_shape": "[B, 7]", "output_shape": "[B, 1]", "parameter_count": 2, "macs": 0.0, "output_byte": 6.0}
    sizes = [(0, 5, 1), (1, 35, 0), (2, 7, 1), (3, 2, 0), (4, 4, 1), (5, 1, 1), (6, 1, 1), (7, 9, 1)]
    gives(
        "model_layer",
        [whole, linear, head],
        by=["path"],
        model=[{"default_batch": 3, "default_sequence": 1}],
        module=[{"module_id": 0, "path": ""}, {"module_id": 1, "path": "fc"}, {"module_id": 2, "path": "head"}],
        operator=[
            {"operator_id": 0, "module_id": 1, "is_backward": False},
            {"operator_id": 1, "module_id": 2, "is_backward": False},
            {"operator_id": 2, "module_id": 2, "is_backward": False},
            {"operator_id": 3, "module_id": 1, "is_backward": True},
        ],
        edge=[
            {"consumer_operator_id": 0, "position": 0, "tensor_id": 1},
            {"consumer_operator_id": 0, "position": 1, "tensor_id": 0},
            {"consumer_operator_id": 1, "position": 0, "tensor_id": 2},
            {"consumer_operator_id": 1, "position": 1, "tensor_id": 4},
            {"consumer_operator_id": 1, "position": 2, "tensor_id": 1},
            {"consumer_operator_id": 2, "position": 0, "tensor_id": 4},
            {"consumer_operator_id": 2, "position": 1, "tensor_id": 3},
            {"consumer_operator_id": 3, "position": 0, "tensor_id": 5},
        ],
        tensor=[
            {"tensor_id": 0, "role": "input", "shape": "[B, 5]", "precision": "fp32"},
            {"tensor_id": 1, "role": "weight", "shape": "[7, 5]", "precision": "fp32"},
            {"tensor_id": 2, "role": "activation", "shape": "[B, 7]", "precision": "fp32", "producer_operator_id": 0},
            {"tensor_id": 3, "role": "weight", "shape": "[2]", "precision": "fp32"},
            {"tensor_id": 4, "role": "activation", "shape": "[B, 4]", "precision": "fp32", "producer_operator_id": 1},
            {"tensor_id": 5, "role": "activation", "shape": "[B, 1]", "precision": "fp16", "producer_operator_id": 2, "is_output": True},
            {"tensor_id": 6, "role": "activation", "shape": "[B, 2]", "precision": "fp16", "producer_operator_id": 2, "is_output": True},
            {"tensor_id": 7, "role": "activation", "shape": "[B, 9]", "precision": "fp16", "producer_operator_id": 3},
        ],
        tensor_term=[
            {"tensor_id": i, "coefficient": float(c), "batch_power": b, "sequence_power": 0, "context_power": 0} for i, c, b in sizes
        ],
        term=[
            {"operator_id": 0, "quantity": "macs", "coefficient": 35.0, "batch_power": 1, "sequence_power": 0, "context_power": 0},
            {"operator_id": 3, "quantity": "macs", "coefficient": 99.0, "batch_power": 1, "sequence_power": 0, "context_power": 0},
        ],
        precision=[{"precision": "fp32", "bits": 32.0}, {"precision": "fp16", "bits": 16.0}],
    )


def test_ingest_coverage(gives: Gives) -> None:
    """Two views, one without a rule; three operators, one bounded, one without a rule."""
    gives(
        "ingest_coverage",
        [{"operator_count": 3, "view_count": 2, "sized_count": 2, "unsized_count": 2, "bounded_count": 1}],
        model=[{"source": "test", "specialized_reason": None}],
        operator=[
            {"operator_id": 0, "is_view": True, "rule": "view"},
            {"operator_id": 1, "is_view": True, "rule": None},
            {"operator_id": 2, "rule": "conv"},
            {"operator_id": 3, "rule": "nms", "is_size_bound": True},
            {"operator_id": 4, "rule": None},
        ],
    )


def test_model_memory(gives: Gives) -> None:
    """100 bytes need two segments of 64; a cache of 35 fits the activations, 30 + 2 + 3, but not all."""
    gives(
        "model_memory",
        [
            {"hardware": "chip", "reserved_byte": 128.0, "peak_operator": "conv", "peak_module": "stem",
             "device_byte": 200.0, "device_fraction": 0.5, "fits_device": True, "fits_activation_in_cache": True,
             "fits_cache": False},
            {"hardware": "small", "reserved_byte": 128.0, "peak_operator": "conv", "device_fraction": 100 / 99,
             "fits_device": False, "fits_activation_in_cache": False, "fits_cache": False},
            {"hardware": "large", "device_fraction": 1.0, "fits_device": True, "fits_activation_in_cache": True,
             "fits_cache": True},
        ],
        by=["hardware"],
        run=[{}],
        part_support=[{"hardware": name} for name in ("chip", "small", "large")],
        part=[
            {"hardware": "chip", "dram_byte": 200.0, "cache_byte": 35.0},
            {"hardware": "small", "dram_byte": 99.0, "cache_byte": 34.0},
            {"hardware": "large", "dram_byte": 100.0, "cache_byte": 100.0},
        ],
        run_memory=[
            {"gradient_byte": 10.0, "activation_byte": 20.0, "rounding_byte": 2.0, "workspace_byte": 3.0, "peak_memory_byte": 100.0, "peak_kernel_id": 7}
        ],
        library_constant=[
            {"library_constant": "allocator_segment_byte", "value": 64.0},
            {"library_constant": "allocator_block_byte", "value": 5.0},
        ],
        kernel=[{"kernel_id": 7, "anchor_operator_id": 3}, {"kernel_id": 8, "anchor_operator_id": 4}],
        operator=[
            {"operator_id": 3, "operator": "conv", "module_id": 1},
            {"operator_id": 4, "operator": "relu", "module_id": 2},
        ],
        module=[{"module_id": 1, "path": "stem"}, {"module_id": 2, "path": "head"}],
    )  # fmt: skip


def test_memory_of_a_run_without_kernels(evaluate: Evaluate) -> None:
    """The run has no peak kernel, and stays in the report."""
    (row,) = evaluate(
        "model_memory",
        run=[{}],
        part_support=[{}],
        part=[{"dram_byte": 1.0}],
        run_memory=[{"peak_memory_byte": 1.0}],
        library_constant=[{"library_constant": "allocator_segment_byte", "value": 64.0}],
    )
    assert (row["peak_operator"], row["peak_module"], row["reserved_byte"]) == (None, None, 64.0)


COST = {"batch": 4, "latency_s": 2.0, "energy_j": 12.0}


def test_target_cost(gives: Gives) -> None:
    """Four samples in 2 s and 12 J at 7.2 dollars per hour, 0.002 per second; a part without a price."""
    gives(
        "target_cost",
        [
            {"hardware": "chip", "edp_js": 24.0, "throughput_per_s": 2.0, "sample_s": 0.5, "sample_j": 3.0, "fits_device": True,
             "device_byte": 100.0, "sample_usd": 0.001},
            {"hardware": "bare", "edp_js": None, "throughput_per_s": 0.5, "sample_s": 2.0, "sample_j": None, "fits_device": False,
             "sample_usd": None},
        ],
        by=["hardware"],
        run_cost=[COST, COST | {"hardware": "bare", "latency_s": 8.0, "energy_j": None}],
        run_memory=[{"batch": 4, "peak_memory_byte": 100.0}],
        part=[{"dram_byte": 100.0}, {"hardware": "bare", "dram_byte": 99.0}],
        part_price=[{"price_usd_per_hour": 7.2}],
    )  # fmt: skip


SAMPLE = {"sample_usd": 0.001, "sample_j": 3.6, "latency_s": 2.0}
ASSUMED = {"assumed_count": 2, "price_count": 3}


def test_inference_cost(gives: Gives) -> None:
    """3.6 J per sample are 5.4 J from a supply that loses a third: 1.5e-6 kWh, at 400 g and 0.2 dollars each."""
    gives(
        "inference_cost",
        [
            {"electricity": "grid", "inference_usd": 0.001, "million_inference_usd": 1000.0, "inference_j": 3.6,
             "million_inference_j": 5.4e6, "inference_co2_gram": 6e-4, "million_inference_co2_gram": 600.0,
             "million_inference_energy_usd": 0.3, "assumed_count": 5},
            {"electricity": "wind", "million_inference_j": 3.6e6, "inference_co2_gram": 1e-5,
             "million_inference_co2_gram": 10.0, "million_inference_energy_usd": None, "assumed_count": 5},
        ],
        by=["electricity"],
        target_cost=[SAMPLE],
        electricity=[
            {"electricity": "grid", "overhead_factor": 1.5, "co2_gram_per_kwh": 400.0, "price_usd_per_kwh": 0.2},
            {"electricity": "wind", "overhead_factor": 1.0, "co2_gram_per_kwh": 10.0, "price_usd_per_kwh": None},
            {"electricity": "unknown", "overhead_factor": 2.0, "co2_gram_per_kwh": None, "price_usd_per_kwh": 1.0},
        ],
        assumed_input=[ASSUMED],
    )  # fmt: skip


def test_cost_without_a_supply(gives: Gives) -> None:
    """The part's own energy is known all the same."""
    expected = {
        "electricity": None,
        "million_inference_j": 3.6e6,
        "inference_co2_gram": None,
        "million_inference_energy_usd": None,
    }
    gives("inference_cost", [expected], target_cost=[SAMPLE], assumed_input=[ASSUMED])


def test_prediction_error(gives: Gives) -> None:
    """Predicted e times and 1 / e times the measurement; 2 of 8 s wait. Servers, several parts and decoding are excluded."""
    measured = {"latency_s": 3.0, "device_count": 1, "mode": "run", "sequence": None}
    gives(
        "prediction_error",
        [
            {"measurement_id": 1, "measured_s": 3.0, "predicted_s": 8.0, "log_ratio": LN_8_3, "p10_s": 2.0,
             "p90_s": 16.0, "is_inside": True, "overhead_fraction": 0.25},
            {"measurement_id": 2, "measured_s": 1.0, "log_ratio": LN_8, "is_inside": False},
        ],
        by=["measurement_id"],
        free={"measurement": ["model", "precision"]},
        measurement=[
            measured | {"measurement_id": 1},
            measured | {"measurement_id": 2, "latency_s": 1.0, "mode": "single_stream", "sequence": 5},
            measured | {"measurement_id": 3, "mode": "server"},
            measured | {"measurement_id": 4, "device_count": 2},
            measured | {"measurement_id": 5, "latency_s": 0.0},
            measured | {"measurement_id": 6},
        ],
        measured_model=[*({"measurement_id": i, "match": "matched"} for i in range(1, 6)), {"measurement_id": 6, "match": "refused"}],
        model=[{"default_sequence": 5}],
        model_latency=[
            {"scenario_id": i, "sequence": 5, "latency_s": 8.0, "overhead_s": 2.0, "p10_s": 2.0, "p90_s": 16.0} | other
            for i, other in (
                (1, {"phase": "forward"}), (3, {"phase": "decode"}), (4, {"phase": "forward", "memory_format": "nhwc"}),
            )
        ],
    )  # fmt: skip


def test_measured_rows_without_a_prediction(gives: Gives) -> None:
    """Each row has its first reason; rows 1 and 12, with the model's own sequence and with another, are compared."""
    measured = {
        "latency_s": 3.0, "device_count": 1, "mode": "run", "sequence": None, "batch": 1, "hardware": "h", "backend": "eager",
        "precision": "label", "memory_format": "nchw", "source_id": "mine",
    }  # fmt: skip
    changed: dict[int, Record] = {
        2: {"batch": None}, 3: {"latency_s": None, "batch": None}, 4: {"latency_s": None}, 5: {"device_count": 2},
        6: {"mode": "decode"}, 7: {"hardware": None}, 9: {"batch": 2}, 13: {"sequence": 6},
        14: {"memory_format": "nhwc"}, 12: {"sequence": 5},
    }  # fmt: skip
    matches = {10: "none", 11: "refused"}
    reasons = {
        2: "no batch", 3: "no batch", 4: "no time of a run", 5: "several parts at once", 6: "mode decode",
        7: "part not in the catalog", 8: "part does not run eager in fp4", 9: "no such scenario", 10: "model not ingested",
        11: "ingested model of other parameters", 13: "no such scenario", 14: "no such scenario",
    }  # fmt: skip
    gives(
        "unscored_measurement",
        [{"measurement_id": number, "source_id": "mine", "reason": reason} for number, reason in reasons.items()],
        by=["measurement_id"],
        across=["model", "hardware", "backend", "precision", "batch", "sequence", "scenario_id"],
        measurement=[measured | {"measurement_id": i} | changed.get(i, {}) for i in range(1, 15)],
        measured_model=[
            {"measurement_id": i, "match": matches.get(i, "matched"), "model": None if i == 10 else "net",
             "precision": "fp4" if i == 8 else "fp16"} for i in range(1, 15)
        ],
        model=[{"model": "net", "default_sequence": 5}],
        run=[
            {"model": "net", "scenario_id": i, "sequence": 5, "phase": phase, "batch": batch, "backend": "eager", "precision": "fp16", "memory_format": "nchw"}
            for i, phase, batch in ((1, "forward", 1), (2, "decode", 2), (3, "prefill", 1))
        ],
        part_support=[{"hardware": "h", "backend": "eager", "precision": "fp16"}],
    )


LN_8_3 = 0.9808292530117262
LN_8 = 2.0794415416798357
"""Natural logarithms of 8 / 3 and 8."""


def test_a_prediction_without_a_band(evaluate: Evaluate) -> None:
    (row,) = evaluate(
        "prediction_error",
        measurement=[{"measurement_id": 1, "latency_s": 3.0, "device_count": 1, "mode": "run", "sequence": 0}],
        measured_model=[{"measurement_id": 1, "match": "matched"}],
        model=[{"default_sequence": 5}],
        model_latency=[{"phase": "forward", "latency_s": 8.0, "overhead_s": 2.0, "p10_s": None, "p90_s": None}],
    )
    assert (row["p10_s"], row["is_inside"], row["predicted_s"]) == (None, None, 8.0)


def test_a_measured_network_of_other_parameters_is_refused(gives: Gives) -> None:
    """Row 1 measures the ingested network, 2 one with other parameters, 3 an unknown one."""
    gives(
        "refused_measurement",
        [{"measurement_id": 2, "model": "net", "measured_parameter_count": 90, "parameter_count": 100}],
        by=["measurement_id"],
        across=["model"],
        model=[{"model": "net", "parameter_count": 100}],
        measured_model=[
            {"measurement_id": 1, "model": "net", "match": "matched"},
            {"measurement_id": 2, "model": "net", "match": "refused"},
            {"measurement_id": 3, "model": None, "match": "none"},
        ],
        measurement=[{"measurement_id": i, "parameter_count": count} for i, count in ((1, 100), (2, 90), (3, 90))],
    )


def test_prompt_launch(gives: Gives) -> None:
    """Two shapes of 3 and 5 kernels, of 1 and 2 launches each, at 10 us a launch on a host of twice the reference's time: 260 us. A step and a
    version without a time have no row."""
    gives(
        "prompt_launch",
        [{"launch_s": 260e-6}],
        run=[{"phase": "prefill", "backend": "vllm", "engine_version": "v1", "host_factor": 2.0}],
        engine_version=[
            {"backend": "vllm", "engine_version": "v1", "prompt_kernel_s": 10e-6},
            {"backend": "vllm", "engine_version": "v2", "prompt_kernel_s": 1.0},
        ],
        shape=[{"shape_id": 1, "kernel_count": 3, "launch_share": 1.0}, {"shape_id": 2, "kernel_count": 5, "launch_share": 2.0}],
    )
