"""Language models served at a stated concurrency by engines of 2025 and 2026."""

from __future__ import annotations

from typing import Any

import polars as pl

from benchmarks.study import Given

MODELS = {
    "llama-3.3-70b-instruct": "hf:llama-3.1-70b", "gpt-oss-120b": "hf:gpt-oss-120b", "deepseek-r1-0528": "hf:deepseek-v3",
    "minimax-m2.5": "hf:minimax-m2.5",
}  # fmt: skip
"""Model in the database by the one measured, which has its sizes."""
ENGINES = {"vllm": "vllm", "trt": "tensorrt_llm", "sglang": "sglang"}
RELEASES = {
    "vllm": (("2026-06", "v0.22"), ("2026-02", "v0.18"), ("2026-01", "v0.13"), ("", "v0.11")),
    "trt": (("2026-05", "v1.3"), ("2025-11", "v1.1"), ("", "v1.0")),
    "sglang": (("2026-05", "v0.5.12"), ("2026-02", "v0.5.9"), ("2025-12", "v0.5.6"), ("", "v0.5.4")),
}
"""Release of a row that states none, by engine and the month from which it is taken."""
OF_GPT_OSS = "v1.2"
"""Release of TensorRT-LLM under which gpt-oss was measured."""
KV = {"fp8": "fp8_e4m3"}
MEAN_LENGTH = 0.9
"""Mean of prompts and answers, relative to the stated lengths: they are uniform from 0.8 to 1."""
CONFIGURATION = ["model", "hw", "framework", "precision", "kv_precision", "tp", "dp_attention", "isl", "osl", "release"]
QUANTITIES = {
    "TPOT": ("tpot_s", pl.coalesce("tpot_median_s", "tpot_mean_s")),
    "TTFT, median": ("ttft_s", pl.col("ttft_median_s")),
    "TTFT, mean": ("ttft_mean_s", pl.col("ttft_mean_s")),
    "time of a token of a device": ("device_token_s", 1.0 / pl.col("output_tokens_per_s_per_gpu")),
    "power of a device": ("device_w", pl.col("power_w")),
}
"""Column of the answer and measured figure by quantity."""


def plain(given: Given) -> pl.DataFrame:
    """Read the newest rows of whole servers without speculation and doubts, and give each its release."""
    return given.table("under_load").filter(
        "latest", pl.col("suspect").fill_null("") == "", ~pl.col("disagg"), pl.col("spec_decoding").fill_null("none") == "none",
        pl.col("model").is_in(list(MODELS)),
    ).with_columns(release=pl.struct("framework", "model", "date", "version").map_elements(_release, return_dtype=pl.String))  # fmt: skip


def _release(row: dict[str, Any]) -> str:
    """Return the version as stated, else that of the row's date, as for a nightly build."""
    if row["version"] is not None and not row["version"].startswith("nightly"):
        return str(row["version"])
    if row["framework"] == "trt" and row["model"] == "gpt-oss-120b":
        return OF_GPT_OSS
    return next(release for month, release in RELEASES[row["framework"]] if row["date"] >= month)


def under_load(given: Given) -> pl.DataFrame:
    """Predict each configuration at all its concurrencies. Each release has at most three numbers fitted on its rows."""
    rows = plain(given)
    given.ingested(MODELS[name] for name in rows["model"].unique().sort())
    answers = []
    with given.session() as db:
        for key, group in rows.group_by(CONFIGURATION, maintain_order=True):
            case = dict(zip(CONFIGURATION, key, strict=True))
            answer = db.serve(
                MODELS[case["model"]], on=case["hw"], input=round(MEAN_LENGTH * case["isl"]), output=round(MEAN_LENGTH * case["osl"]),
                concurrency=group["concurrency"].unique().to_list(), slots=group["concurrency"].max(),
                tensor=1 if case["dp_attention"] else case["tp"], expert=case["tp"] if case["dp_attention"] else 1,
                precision=policy(case), backend=ENGINES[case["framework"]], version=case["release"],
                kv_precision=KV.get(case["kv_precision"]),
            )  # fmt: skip
            if len(answer):
                token_s = pl.col("device_count") / pl.col("tokens_per_s")
                found = answer.select(
                    "concurrency", "tpot_s", "ttft_s", mean_s="ttft_mean_s", device_token_s=token_s, device_w=pl.col("token_j") / token_s
                )
                answers.append(group.join(found, on="concurrency", how="inner"))
    both = pl.concat(answers)
    return pl.concat(
        both.select(
            hardware="hw", backend="framework", family="model", predicted="mean_s" if column == "ttft_mean_s" else column,
            measured=measured, quantity=pl.lit(quantity), standing=pl.lit("fitted"),
        ).drop_nulls(["predicted", "measured"])
        for quantity, (column, measured) in QUANTITIES.items()
    )  # fmt: skip


def policy(case: dict[str, Any]) -> str:
    """Return the precision policy of a configuration."""
    if case["precision"] == "fp8":
        return "fp8"
    return "mxfp4" if case["model"] == "gpt-oss-120b" else "nvfp4"
