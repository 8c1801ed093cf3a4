"""Static batches of language models as charz, aiconfigurator 0.12 and GenZ 0.0.16 predict them.

    python -m venv AIC && AIC/bin/pip install aiconfigurator==0.12.0
    python -m venv GENZ && GENZ/bin/pip install genz-llm==0.0.16
    python -m benchmarks.score_beside DATABASE AIC/bin/python GENZ/bin/python [--markdown docs/validation-beside.md]

Each program runs in an environment of its own and is asked for the rows of `benchmarks/score_serving.py` (grade A, not contradicted by
their source) that it has a model, a part and a precision for. aiconfigurator is asked in its static mode, with the
tables of the engine's newest version that it ships (vLLM 0.24 and TensorRT-LLM 1.3 on an H100, 0.14 and 1.0 on an A100; the measured
engines are of 2023 and 2024) and configurations that give the sizes of the models; it has no A100 of 40 GB and no MI300X. lmdeploy's
rows are asked as TensorRT-LLM. GenZ is asked for a prompt of the batch and a step at the mean context, at the efficiency of 1 that is its
default, with one level of tensor parallel devices. charz has host times of these engines' versions that are fitted on these rows (at most
three numbers a version); `left out` is charz with the model of a row left out of that fit.

CPU time is that of a process, of all its threads, for a sweep of 200 points of Llama-3.1-8B on an H100 under vLLM: batches 1 to 128 in
steps of two times, 25 contexts of 128 to 3,200 tokens, the time of a prompt and of a step at each. `first` has imports and loading in it,
`again` is the same sweep in that process with other contexts. aiconfigurator's is given twice: by `cli_estimate`, which builds the model
for every point, and by a session of its SDK that is kept. What takes long is asked for fewer points (`points`).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import polars as pl

import charz
from benchmarks import page, score_serving
from charz.hardware_catalog.calibration import errors
from charz.ingest.sources import build
from charz.ingest.sources.architectures import ARCHITECTURES
from charz.ingest.sources.spec import parse

AIC_PARTS = {"h100_sxm5_80": "h100_sxm", "a100_sxm4_80": "a100_sxm"}
AIC_ENGINES = {"vllm": "vllm", "tensorrt_llm": "trtllm"}
AIC_GEMM = {"fp16": None, "fp8": "fp8", "w8a16": "int8_wo", "w4a16": "int4_wo"}
AIC_CACHE = {None: None, "fp8_e4m3": "fp8", "int8": "int8"}

GENZ_PARTS = {
    "h100_sxm5_80": "H100_GPU", "a100_sxm4_80": "A100_80GB_GPU", "a100_sxm4_40": "A100_40GB_GPU", "mi300x_192": "MI300X",
}  # fmt: skip
GENZ_MODELS = {
    "hf:llama-3.1-8b": "meta-llama/Llama-3.1-8B", "hf:llama-3.1-70b": "meta-llama/Llama-3.1-70B",
    "hf:llama-2-7b": "meta-llama/Llama-2-7B", "hf:llama-2-13b": "meta-llama/Llama-2-13B",
    "hf:llama-2-70b": "meta-llama/Llama-2-70B", "hf:mixtral-8x7b": "mistralai/Mixtral-8x7B",
    "hf:qwen2.5-7b": "Qwen/Qwen2.5-7B", "hf:mistral-7b": "mistralai/Mistral-7B",
}  # fmt: skip
GENZ_BITS = {"fp16": "bf16", "fp8": "fp8"}

MODEL, PART, BACKEND, PRECISION = "hf:llama-3.1-8b", "h100_sxm5_80", "vllm", "fp16"
BATCHES = [2**power for power in range(8)]
CONTEXTS = range(128, 3201, 128)
FEWER = 20
"""One point in so many is asked of what takes long."""
SHIFT = 8
"""How many tokens the contexts of the second sweep lie above those of the first."""

AIC = """
import time
begun = time.process_time()
import json, logging, sys
logging.disable(logging.CRITICAL)
from aiconfigurator.cli.api import cli_estimate
from aiconfigurator.sdk import inference_session
from aiconfigurator.sdk.config import RuntimeConfig
asked = json.load(open(sys.argv[1]))
last = []
built = inference_session.InferenceSession.__init__
def keep(self, *args, **keywords):
    built(self, *args, **keywords)
    last[:] = [self]
inference_session.InferenceSession.__init__ = keep
kept = {}
def ask(case, mode, batch, isl, osl):
    key = json.dumps(case)
    if key not in kept:
        cli_estimate(**case, mode="static", batch_size=1, isl=128, osl=2)
        kept[key] = last[0]
    run = RuntimeConfig(batch_size=batch, isl=isl, osl=osl)
    return kept[key].run_static(runtime_config=run, mode=mode).get_result_dict()
for case in asked["cases"]:
    try:
        found = ask(case["call"], **case["run"])
        said = {"latency_s": found["context_latency" if case["run"]["mode"] == "static_ctx" else "request_latency"] / 1e3}
    except Exception as error:
        said = {"error": f"{type(error).__name__}: {error}"}
    print("found", json.dumps({"row_id": case["row_id"], **said}), flush=True)
if asked["sweep"]:
    for sweep in asked["sweep"]["points"]:
        for batch, context in sweep:
            if asked["sweep"]["kept"]:
                ask(asked["sweep"]["call"], "static", batch, context, 2)
            else:
                cli_estimate(**asked["sweep"]["call"], mode="static", batch_size=batch, isl=context, osl=2)
        print("spent", time.process_time() - begun, flush=True)
        begun = time.process_time()
"""
"""Runs in aiconfigurator's environment."""

GENZ = """
import time
begun = time.process_time()
import json, sys, warnings
warnings.simplefilter("ignore")
from GenZ import decode_moddeling, prefill_moddeling
asked = json.load(open(sys.argv[1]))
def prompt(call, batch, context):
    return prefill_moddeling(batch_size=batch, input_tokens=context, **call)["Latency"] / 1e3
def step(call, batch, context):
    return decode_moddeling(batch_size=batch, input_tokens=context, output_tokens=0, Bb=1, **call)["Latency"] / 1e3
for case in asked["cases"]:
    try:
        said = {"latency_s": sum(
            count * (step if phase == "decode" else prompt)(case["call"], batch, context) for batch, phase, context, count in case["runs"])}
    except Exception as error:
        said = {"error": f"{type(error).__name__}: {error}"}
    print("found", json.dumps({"row_id": case["row_id"], **said}), flush=True)
if asked["sweep"]:
    for sweep in asked["sweep"]["points"]:
        for batch, context in sweep:
            prompt(asked["sweep"]["call"], batch, context)
            step(asked["sweep"]["call"], batch, context)
        print("spent", time.process_time() - begun, flush=True)
        begun = time.process_time()
"""
"""Runs in GenZ's environment."""

CHARZ = """
import time
begun = time.process_time()
import json, sys
import polars as pl
import charz
asked = json.load(open(sys.argv[1]))["sweep"]
with charz.open(sys.argv[2]) as db:
    for sweep in asked["points"]:
        batches, contexts = ([*dict.fromkeys(axis)] for axis in zip(*sweep))
        if asked["kept"]:
            mixes = [{"requests": b, "tokens": n, "context": c} for b, c in sweep for n in (c, 1)]
            found = db.step(asked["model"], pl.DataFrame(mixes), on=asked["hardware"], precision=asked["precision"], backend=asked["backend"])
            assert len(found) == 2 * len(sweep), len(found)
        else:
            found = db.llm(
                asked["model"], on=asked["hardware"], precision=asked["precision"], backend=asked["backend"],
                batch=",".join(map(str, batches)), context=",".join(map(str, contexts)))
            assert len(found) == len(sweep), len(found)
        print("spent", time.process_time() - begun, flush=True)
        begun = time.process_time()
"""
"""Runs in the environment of charz."""


def main() -> None:
    """Print or write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("database", type=Path, help="file with the models")
    parser.add_argument("aiconfigurator", type=Path, help="interpreter of an environment with aiconfigurator")
    parser.add_argument("genz", type=Path, help="interpreter of an environment with genz-llm")
    parser.add_argument(
        "--measurements", type=Path, default=Path("../shared/measurements"), help="folder of serving.parquet"
    )
    parser.add_argument("--rows", type=Path, help="every scored row, as parquet: read where it exists, else written")
    parser.add_argument("--every", type=int, default=1, help="ask about one row in so many")
    parser.add_argument("--markdown", type=Path, help="write the page there")
    options = parser.parse_args()
    page.print_wide(4)
    rows = own(options.database, options.measurements, options.rows).gather_every(options.every)
    with tempfile.TemporaryDirectory() as folder:
        room = Path(folder)
        aic = ask(options.aiconfigurator.absolute(), AIC, room, aic_cases(rows, room))
        genz = ask(options.genz.absolute(), GENZ, room, genz_cases(rows))
        spent = sweeps(options.database, options.aiconfigurator.absolute(), options.genz.absolute(), room)
    print(spent)
    tables = [
        ("Rows that all three answer", beside(rows, {"aiconfigurator": aic, "GenZ": genz})),
        ("Rows that aiconfigurator answers", beside(rows, {"aiconfigurator": aic})),
        ("Rows that GenZ answers", beside(rows, {"GenZ": genz})),
        ("CPU time of a sweep of 200 points", spent),
        ("Rows that a program does not answer, by what it says", refused({"aiconfigurator": aic, "GenZ": genz})),
    ]
    if options.markdown:
        text = [" ".join(paragraph.split()) for paragraph in (__doc__ or "").split("\n\n")[2:]]
        if options.every > 1:
            text.append(f"One row in {options.every} was asked about, as they lie in the file: {len(rows)}.")
        page.write(options.markdown, "Beside aiconfigurator and GenZ", text, tables)
        return
    for heading, table in tables:
        print(heading, table, sep="\n")


def own(database: Path, measurements: Path, kept: Path | None) -> pl.DataFrame:
    """The rows that charz answers, with its times."""
    with charz.open(database) as db:
        known = score_serving.factors(db)
        if kept and kept.exists():
            rows = pl.read_parquet(kept)
        else:
            rows = score_serving.scored(db, score_serving.measured(measurements, db))
            if kept:
                rows.write_parquet(kept)
    rows = score_serving.judged(rows, known).filter(
        "fits", ~pl.col("is_contradicted"), pl.col("backend") != "llama_cpp"
    )
    left = score_serving.left_out(rows, "model", known).select("row_id", left_out_s="latency_s")
    return rows.join(left, on="row_id")


def aic_cases(rows: pl.DataFrame, room: Path) -> list[dict[str, Any]]:
    """What aiconfigurator is called with for each row that it has a part for; configurations are written into the folder."""
    for model in rows["model"].unique():
        folder = room / model.removeprefix("hf:")
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps(configuration(model)))
    return [
        {
            "row_id": row["row_id"],
            "call": {
                "model_path": str(room / row["model"].removeprefix("hf:")), "system_name": AIC_PARTS[row["hardware"]],
                "backend_name": AIC_ENGINES[row["backend"]], "tp_size": row["devices"],
                "gemm_quant_mode": AIC_GEMM[row["precision"]], "kvcache_quant_mode": AIC_CACHE[row["kv"]],
                **({"moe_tp_size": row["devices"], "moe_ep_size": 1} if "mixtral" in row["model"] else {}),
            },
            "run": {
                "mode": "static_ctx" if len(runs(row)) == 1 else "static", "batch": row["batch"],
                "isl": max(1, int(row["input_tokens"] or 0)), "osl": max(1, int(row["output_tokens"] or 0)),
            },
        }
        for row in rows.iter_rows(named=True)
        if row["hardware"] in AIC_PARTS and row["precision"] in AIC_GEMM
    ]  # fmt: skip


def configuration(model: str) -> dict[str, Any]:
    """The model's configuration as transformers writes it."""
    architecture = ARCHITECTURES[model.removeprefix("hf:")]
    config: dict[str, Any] = build(parse(model)).module.config.to_dict()
    return config | {"architectures": [architecture.model], "torch_dtype": "bfloat16"}


def genz_cases(rows: pl.DataFrame) -> list[dict[str, Any]]:
    """What GenZ is called with for each row that it has a model, a part and a precision for."""
    return [
        {
            "row_id": row["row_id"],
            "runs": [(batch, phase, context, count) for (batch, phase, _, context), count in runs(row)],
            "call": {
                "model": GENZ_MODELS[row["model"]], "system_name": GENZ_PARTS[row["hardware"]],
                "bits": GENZ_BITS[row["precision"]], "tensor_parallel": row["devices"],
                "parallelism_heirarchy": f"TP{{{row['devices']}}}_EP{{1}}_PP{{1}}",
            },
        }
        for row in rows.iter_rows(named=True)
        if row["model"] in GENZ_MODELS and row["hardware"] in GENZ_PARTS and row["precision"] in GENZ_BITS
    ]  # fmt: skip


def runs(row: dict[str, Any]) -> list[tuple[tuple[Any, ...], float]]:
    """Runs of a row, as the score of charz has them."""
    return list(score_serving.plan(row))


def ask(python: Path, program: str, room: Path, cases: list[dict[str, Any]]) -> pl.DataFrame:
    """What the program in that environment says of each case: a time or an error."""
    lines = answers(python, program, room, {"cases": cases, "sweep": None}, "found")
    schema = {"row_id": pl.String, "latency_s": pl.Float64, "error": pl.String}
    found = pl.DataFrame([json.loads(line) for line in lines], schema=schema)
    if len(found) != len(cases):
        raise SystemExit(f"{python} answered {len(found)} of {len(cases)} cases")
    return found


def answers(python: Path, program: str, room: Path, asked: dict[str, Any], mark: str, *more: str) -> list[str]:
    """Rest of the lines that begin with the mark, of what the program prints when it is asked this."""
    (room / "asked.json").write_text(json.dumps(asked))
    command = [str(python), "-c", program, str(room / "asked.json"), *more]
    said = subprocess.run(command, cwd=room, capture_output=True, text=True, check=False)
    if said.returncode:
        raise SystemExit(f"{python}: {said.stderr[-2000:]}")
    return [line.removeprefix(mark).strip() for line in said.stdout.splitlines() if line.startswith(mark)]


def sweeps(database: Path, aic: Path, genz: Path, room: Path) -> pl.DataFrame:
    """CPU time a point of both sweeps of each program."""
    points = [[(batch, context + shift) for batch in BATCHES for context in CONTEXTS] for shift in (0, SHIFT)]
    few = [sweep[::FEWER] for sweep in points]
    whole = {"points": points, "kept": False}
    aic_call = {
        "model_path": str(room / MODEL.removeprefix("hf:")), "system_name": AIC_PARTS[PART],
        "backend_name": AIC_ENGINES[BACKEND], "tp_size": 1,
    }  # fmt: skip
    genz_call = {
        "model": GENZ_MODELS[MODEL], "system_name": GENZ_PARTS[PART], "bits": GENZ_BITS[PRECISION], "tensor_parallel": 1,
        "parallelism_heirarchy": "TP{1}_EP{1}_PP{1}",
    }  # fmt: skip
    own_call = {"model": MODEL, "hardware": PART, "precision": PRECISION, "backend": BACKEND}
    here = Path(sys.executable)
    asked: list[tuple[str, Path, str, dict[str, Any], tuple[str, ...]]] = [
        ("charz, llm", here, CHARZ, whole | own_call, (str(database.absolute()),)),
        ("charz, step", here, CHARZ, whole | own_call | {"kept": True}, (str(database.absolute()),)),
        ("aiconfigurator, cli_estimate", aic, AIC, {"points": few, "kept": False, "call": aic_call}, ()),
        ("aiconfigurator, a kept session", aic, AIC, whole | {"call": aic_call, "kept": True}, ()),
        ("GenZ", genz, GENZ, {"points": few, "call": genz_call}, ()),
    ]
    rows = []
    for name, python, program, sweep, more in asked:
        first, again = map(float, answers(python, program, room, {"cases": [], "sweep": sweep}, "spent", *more))
        count = len(sweep["points"][0])
        rows.append((name, count, first / count * 1e3, again / count * 1e3))
    return pl.DataFrame(rows, schema=["program", "points", "first, ms a point", "again, ms a point"], orient="row")


def beside(rows: pl.DataFrame, others: dict[str, pl.DataFrame]) -> pl.DataFrame:
    """Errors by engine and devices, of the rows that all of these answer."""
    kept = rows
    for name, found in others.items():
        times = found.filter(pl.col("latency_s").is_not_null()).select("row_id", pl.col("latency_s").alias(name))
        kept = kept.join(times, on="row_id")
    programs = {"charz": "latency_s", "charz, left out": "left_out_s"} | {name: name for name in others}
    tables = []
    for group in (kept.with_columns(backend=pl.lit("all"), is_node=pl.lit(None, pl.Boolean)), kept):
        tables += [
            errors.table(group.with_columns(latency_s=pl.col(column)), ["backend", "is_node"]).with_columns(
                program=pl.lit(name)
            )
            for name, column in programs.items()
        ]
    made = pl.concat(tables)
    return made.select("backend", "is_node", "program", pl.exclude("backend", "is_node", "program")).sort(
        "backend", "is_node", maintain_order=True
    )


def refused(found: dict[str, pl.DataFrame]) -> pl.DataFrame:
    """How often each program gave each error, digits and paths left out."""
    return pl.concat(
        answer.filter(pl.col("error").is_not_null())
        .with_columns(error=pl.col("error").str.replace_all(r"/\S+|[\d.]+", "…").str.slice(0, 120))
        .group_by("error").agg(rows=pl.len()).sort("rows", "error", descending=[True, False])
        .select(pl.lit(name).alias("program"), "error", "rows")
        for name, answer in found.items()
    )  # fmt: skip


if __name__ == "__main__":
    main()
