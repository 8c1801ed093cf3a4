"""Commands that start the servers of answers, from flags as the catalog lists them."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import pytest

import charz
from charz.hardware_catalog import loader
from charz.schema.errors import CharzError
from charz.session.ask import launch, trainer
from charz.session.ask.mix import Mix
from charz.session.capabilities import Capabilities

TABLE = Path(loader.__file__).parent / "tables" / "launch_flag.csv"
KNOWN = Path(__file__).parents[1] / "facts" / "server_flags.csv"
"""Names of the flags in the source of packages, without their two dashes."""
MIX = Mix.of_prompt(2000, 500)
ROW: dict[str, Any] = {
    "model": "m", "hardware": "p", "backend": "vllm", "engine_version": "v1", "precision": "fp8", "kv_precision": "fp8_e4m3", "device_count": 2,
    "batch": 32, "context": 2250, "weight_byte": 8e9, "kv_cache_byte": 4e9, "peak_memory_byte": 17e9,
}  # fmt: skip


def flags(engine: str) -> list[dict[str, Any]]:
    with TABLE.open() as file:
        return [{name: text or None for name, text in row.items()} for row in csv.DictReader(file) if row["engine"] == engine]


def made(
    engine: str, free: float = 0.1, stored: str | None = None, degrees: dict[str, int] | None = None, **changed: Any
) -> tuple[str, list[str]]:
    row = ROW | changed
    numbers = launch.settings(row, degrees or {"tensor": row["device_count"]}, [MIX], "hf:owner/Name-1", (free, 8192), 80e9)
    return launch.command(flags(engine), row, numbers, stored)


def test_a_command_of_vllm() -> None:
    """A request has 2,000 + 500 tokens, below ten times 256; the server leaves a tenth of the memory free."""
    words, notes = made("vllm")
    assert words == (
        "vllm serve owner/Name-1 --quantization fp8 --tensor-parallel-size 2 --max-model-len 2560 --max-num-seqs 32 --max-num-batched-tokens 8192 "
        "--gpu-memory-utilization 0.9 --kv-cache-dtype fp8_e4m3"
    )
    told = "the longest request is rounded up to 2,560 tokens, a multiple of 256"
    assert f"{told}; a server refuses more than the max_position_embeddings of its checkpoint, which charz does not know" in notes
    assert "converts a 16-bit checkpoint" in notes[0] and "prefix cache" in notes[-1]


def test_the_format_of_a_checkpoint_needs_no_flag() -> None:
    assert "serve owner/Name-1 --dtype auto " in made("vllm", stored="fp8")[0]
    assert "--quantization fp8_per_block " in made("vllm", stored="fp8", precision="fp8_block")[0]
    assert "--dtype bfloat16 " in made("vllm", stored="bf16", precision="bf16")[0]


def test_a_checkpoint_of_8_bits_is_no_run_of_16() -> None:
    told = "the checkpoint is stored in fp8, and a server loads it so: a run in bf16 needs a converted checkpoint"
    assert told in made("vllm", stored="fp8", precision="bf16")[1]
    assert told not in made("vllm", stored="bf16", precision="bf16")[1]


def test_degrees_of_a_split() -> None:
    """Four replicas share 32 samples, 8 each. SGLang counts all devices of a stage as tensor parallel: four replicas of 2 devices are 8."""
    degrees = {"tensor": 2, "pipeline": 3, "data": 4, "expert": 4}
    words, notes = made("vllm", degrees=degrees)
    assert "--tensor-parallel-size 2 --pipeline-parallel-size 3 --data-parallel-size 4 --enable-expert-parallel" in words
    assert "--max-num-seqs 8 " in words
    assert any("charz divides each expert by the tensor degree" in note for note in notes)
    assert not any("expert" in note for note in made("vllm", degrees={"data": 8, "expert": 8})[1])
    words, _ = made("sglang", degrees=degrees)
    assert "--tp-size 8 --pp-size 3 --attn-dp-size 4 --ep-size 4" in words and "--max-running-requests 32 " in words
    words, notes = made("vllm", degrees={"tensor": 2, "context": 2})
    assert "context" not in words and any("no flag adds devices that share a prompt" in note for note in notes)


@pytest.mark.parametrize(
    ("engine", "words", "note"),
    [
        ("vllm", "--nnodes 2 --node-rank 0 --master-addr ADDRESS", "with a --node-rank of its own, from 1 on, and with --headless"),
        ("sglang", "--nnodes 2 --node-rank 0 --dist-init-addr ADDRESS:50000", "first of 2 nodes: each further node"),
        ("trtllm", "", "2 nodes: trtllm-serve runs under MPI"),
    ],
)
def test_a_command_tells_how_further_nodes_start(engine: str, words: str, note: str) -> None:
    """Two stages of eight devices are two nodes of eight; ten devices take two as well, and eight take one, which needs no flag."""
    numbers = [launch.settings(ROW, degrees, [MIX], "x", (0.1, None), None, 8) for degrees in ({"tensor": 8, "pipeline": 2}, {"pipeline": 10}, {"tensor": 8})]
    assert [each["nodes"] for each in numbers] == [2, 2, 1]
    two, _, one = (launch.command(flags(engine), ROW, each, None) for each in numbers)
    assert words in two[0] and any(note in line and "2 nodes" in line for line in two[1])
    assert "nnodes" not in one[0] and not any("node" in line for line in one[1])
    assert launch.settings(ROW, {"tensor": 64}, [MIX], "x", (0.1, None), None)["nodes"] == 1


def test_the_versions_whose_flags_were_compared() -> None:
    """The format fp8_block came with 0.20.2; the other flags are in 0.18.1 too. A release without a patch is the whole minor release."""
    assert launch.earliest(flags("vllm"), ROW) == "0.18.1" and launch.earliest(flags("vllm"), ROW | {"precision": "fp8_block"}) == "0.20.2"
    assert launch.earliest(flags("sglang"), ROW) is None
    among = [launch._is_among(release, "0.18.1", "0.33.0") for release in ("v0.18", "v0.20.2", "v0.33.0", "v0.17", "v0.34", "v0.20-rocm", None)]
    assert among == [True, True, True, False, False, False, False]
    line = launch.said(flags("vllm"), ROW | {"engine_version": "v0.18"}, "hf:a/b")[0]
    assert line == "the flags are those of vllm 0.18.1 and 0.33.0; the times are those of vllm v0.18 (--version names another)"


def test_a_part_that_newer_releases_leave_out() -> None:
    """A V100 has compute capability 7.0, and vllm 0.21 needs 7.5."""
    able = Capabilities({"v100": "7.0", "t4": "7.5"}, {"vllm": [(1_000, "7.0"), (21_000, "7.5"), (40_000, "8.0")]})
    facts = launch.Facts(flags("vllm"), (0.1, 512), {"m": ("hf:a/b", None)}, {"v100": 32e9, "t4": 16e9, "cpu": 1e12}, {"*": 8}, able)
    ends = [facts.ending(ROW | {"hardware": part}) for part in ("v100", "t4", "cpu")]
    assert ends[0] == ["v100: install vllm below 0.21, which needs compute capability 7.5"]
    assert ends[1] == ["t4: install vllm below 0.40, which needs compute capability 8.0"] and ends[2] == []
    assert ends[0][0] in facts.command(ROW | {"hardware": "v100"}, {"tensor": 2}, [MIX])[1]


def test_the_share_of_weights_and_cache() -> None:
    """A server leaves 2 % of 80 GB free, 1.6 GB. Activations take 17 - 8 - 4 - 1.6 = 3.4 GB, which is 4.25 %. The other 93.75 % are rounded down."""
    assert "--mem-fraction-static 0.93" in made("sglang", free=0.02)[0]
    assert "--mem-fraction-static" not in made("sglang", peak_memory_byte=None)[0]


def test_a_command_of_llama_cpp() -> None:
    """The cache of llama.cpp is for all requests: 32 x 2,500 tokens."""
    words, notes = made("llama.cpp", precision="q4_k_m", kv_precision="none", device_count=1)
    assert words == "llama-server --model owner/Name-1 --n-gpu-layers all --ctx-size 80000 --parallel 32 --ubatch-size 8192"
    assert notes == [
        "the format q4_k_m comes with the GGUF file", "no flag sets a share of the memory: the cache is as large as --ctx-size, for all requests together",
    ]  # fmt: skip
    assert "no flag is known for kv precision fp8_e4m3" in made("llama.cpp")[1]


def test_every_flag_has_its_numbers() -> None:
    numbers = launch.settings(ROW, {}, [MIX], "x", (0.1, None), None)
    for engine in launch.ENGINES:
        for flag in flags(engine):
            assert (flag["package"] is None) == (engine == "trtllm") == (flag["package_version"] is None)
            (flag["words"] or "").format(**numbers)
            assert flag["words"] or flag["note"]


def test_packages_know_every_flag() -> None:
    """The names of all flags come from the source of each package that the table cites; argparse adds `no-` to those that are true or false."""
    with KNOWN.open() as file:
        known = {(row["package"], row["package_version"]): set(row["flags"].split()) for row in csv.DictReader(file)}
    checked = 0
    for engine in launch.ENGINES:
        for flag in flags(engine):
            if flag["package"]:
                names = set(re.findall(r"--([\w-]+)", " ".join(filter(None, (flag["words"], flag["note"])))))
                for version in {flag["package_version"], flag["since_version"] or flag["package_version"]}:
                    assert {name.removeprefix("no-") for name in names} <= known[flag["package"], version], flag
                checked += len(names)
    assert checked > 40
    of_trl = flags("trl")
    every = set.union(*(known[flag["package"], flag["package_version"]] for flag in of_trl))
    names = set(re.findall(r"--([\w-]+)", " ".join(filter(None, (text for flag in of_trl for text in (flag["words"], flag["note"]))))))
    assert len(names) > 25 and names <= every


def test_names_on_the_hub() -> None:
    assert launch.hub_name("hf:meta-llama/Llama-3.1-8B") == "meta-llama/Llama-3.1-8B"
    assert launch.hub_name("folder/model") is launch.hub_name("timm:a/b") is launch.hub_name("hf:unknown-8b") is None
    assert launch.hub_name("hf:llama-3.1-8b", "hf:llama-3.1-8b") == "meta-llama/Llama-3.1-8B-Instruct"
    assert launch.hub_name("hf:llama-3.1-8b", "hf:llama-3.1-8b,num_hidden_layers=2") is None
    line = "meta-llama/Llama-3.1-8B-Instruct is the usual checkpoint of m on the hub; another of the same sizes takes the same times"
    assert line in launch.said(flags("vllm"), ROW, "hf:llama-3.1-8b") and line not in launch.said(flags("vllm"), ROW, "hf:meta-llama/Llama-3.1-8B-Instruct")
    row = ROW | {"replicas": 3}
    assert launch.said(flags("vllm"), row, "net.py") == [
        "the flags are those of vllm 0.18.1 and 0.33.0; the times are those of vllm v1 (--version names another), a version whose flags may differ: its "
        "--help lists them",
        "p: start 3 of these servers, which share the requests, each with devices and a --port of its own",
        "MODEL: put the path of m or its name on the hub there; `charz ingest hf:OWNER/NAME` keeps that name",
    ]  # fmt: skip
    assert launch.said(flags("trtllm"), ROW, "hf:a/b") == [
        "the flags were not checked, since the package of trtllm contains no parser; the times are those of vllm v1 (--version names another)"
    ]


def test_servers_that_share_requests_are_named_by_their_split() -> None:
    told = launch.said(flags("vllm"), ROW | {"replicas": 4, "split": "tp2"}, "hf:a/b")
    assert "p, tp2: start 4 of these servers, which share the requests, each with devices and a --port of its own" in told


def test_equal_versions_need_no_warning() -> None:
    assert "may differ" not in launch.said(flags("vllm"), ROW | {"engine_version": "v0.33.0"}, "hf:a/b")[0]


def test_usual_names_have_the_architecture_of_their_model() -> None:
    """The name on the hub finds the row of the short name."""
    from charz.ingest.sources import architectures, hub

    assert len(hub.NAMES) > 90
    assert [short for short, name in hub.NAMES.items() if architectures.row(name) != architectures.row(short) or architectures.row(name) is None] == []


def test_a_server_lists_formats_that_it_runs() -> None:
    """llama.cpp reads files of its own formats; vLLM loads the format of any checkpoint."""
    ours, of_vllm = (launch.Facts(flags(engine), (0.1, 512), {"m": ("hf:a/b", "fp8_scaled")}, {}) for engine in ("llama.cpp", "vllm"))
    told = ours.lacking(ROW | {"precision": "fp8_block"})
    assert told == "left out: p, fp8_block, which llama.cpp does not run: it runs bf16, fp16, mxfp4, q8_0, q4_k_m, q5_k_m, q6_k"
    assert ours.lacking(ROW | {"precision": "q4_k_m"}) is of_vllm.lacking(ROW | {"precision": "fp8_block"}) is None
    assert of_vllm.lacking(ROW | {"precision": "fp8_scaled"}) is None and of_vllm.lacking(ROW | {"precision": "q4_k_m"}) is not None


@pytest.mark.filterwarnings("ignore")
def test_a_page_contains_the_command_of_the_best_row(file: Path, tmp_path: Path) -> None:
    """The cheapest of two batches, of the choices and of two rates, once; the printed table has no command."""
    out = tmp_path / "page.html"
    asked: dict[str, Any] = {"on": "t4,a10", "precision": "fp16", "html": out, "force": True}
    with charz.open(file) as db:
        for ask, options in (
            (db.llm, {"batch": "1,8", "prompt": 64}),
            (db.llm, {"tpot": "1s", "prompt": 64, "devices": 1}),
            (db.serve, {"rate": "1,2", "input": 64}),
        ):
            rows = ask("decoder", output=32, **options, **asked)
            page = out.read_text()
            assert "vllm serve MODEL --dtype float16" in page and "This command starts the best server" in page
            assert "launch" not in rows.columns
        cheapest = rows.sort("million_output_tokens_usd")["hardware"][0]
    assert f"This command starts the best server, on {cheapest}." in page


@pytest.mark.filterwarnings("ignore")
def test_llm_lists_commands(file: Path) -> None:
    with charz.open(file) as db:
        rows = db.llm("decoder", on="t4", batch=[1, 2**19], prompt=64, output=32, precision="fp16", launch="vllm").to_dicts()
        assert [row["launch"].split()[:5] for row in rows] == [["vllm", "serve", "MODEL", "--dtype", "float16"]]
        assert "--max-model-len 256 --max-num-seqs 1 " in rows[0]["launch"]
        with pytest.raises(CharzError, match="two servers"):
            db.llm("decoder", on="t4", launch="vllm", backend="sglang")
        (chosen,) = db.llm("decoder", on="t4", tpot="1s", precision="fp16", launch="sglang").to_dicts()
        assert f"--max-running-requests {chosen['batch']} " in chosen["launch"] and "--mem-fraction-static 0." in chosen["launch"]


@pytest.mark.filterwarnings("ignore")
def test_a_command_has_the_degrees_of_its_split(file: Path) -> None:
    """Two stages on an H100 each: the split of one device is listed too."""
    with charz.open(file) as db:
        found = db.llm("decoder", on="h100_sxm5_80", batch=1, prompt=64, output=32, pipeline="1,2", precision="fp16", launch="vllm").to_dicts()
    stages = {row["split"]: "--pipeline-parallel-size 2" in row["launch"] for row in found}
    assert stages == {"one": False, "pp2": True}


TRAINED: dict[str, Any] = {
    "model": "hf:llama-3.1-8b,train", "hardware": "p", "split": "m8", "backend": "eager", "framework": "f", "precision": "bf16", "batch": 2, "sequence": 2048,
    "global_batch": 16, "tensor": 1, "pipeline": 1, "context": 1, "expert": 1, "data": 1, "micro_batches": 8, "zero_stage": 0, "recompute": "full",
    "optimizer": "adam", "adapter_rank": 16, "frozen": "nf4", "is_fitting": True,
}  # fmt: skip
OF_TRL = trainer.Trainer(flags("trl"), ["adam_8bit", "sgd"], {TRAINED["model"]: "hf:llama-3.1-8b"})
FULL = {"adapter_rank": None, "frozen": None}


def test_a_command_of_trl_for_qlora() -> None:
    words, notes = OF_TRL.command(TRAINED)
    assert words == (
        "trl sft --model_name_or_path meta-llama/Llama-3.1-8B-Instruct --dataset_name DATASET --dtype bfloat16 --bf16 True --load_in_4bit "
        "--bnb_4bit_quant_type nf4 --use_bnb_nested_quant --use_peft --lora_r 16 --lora_target_modules all-linear --optim adamw_torch_fused "
        "--max_length 2048 --per_device_train_batch_size 2 --gradient_accumulation_steps 8 --gradient_checkpointing True --torch_compile False "
        "--accelerate_config single_gpu --num_processes 1 --mixed_precision bf16"
    )
    assert "the flags are those of accelerate 1.15.0 and trl 1.16.0; the times are those of f (eager): trl's own were not measured" in notes
    assert notes[-1].startswith("meta-llama/Llama-3.1-8B-Instruct is the usual checkpoint of hf:llama-3.1-8b on the hub")
    assert not any("16-bit copy" in note for note in notes)


@pytest.mark.parametrize(
    ("changed", "contained"),
    [
        ({"frozen": "nf4_b64"}, "--load_in_4bit --bnb_4bit_quant_type nf4 --use_peft"),
        ({"frozen": None}, "DATASET --dtype bfloat16 --bf16 True --use_peft"),
        ({"frozen": "fp16", "precision": "fp16"}, "DATASET --dtype float16 --fp16 True --use_peft"),
        (FULL, "DATASET --dtype float32 --bf16 True --optim adamw_torch_fused"),
        (FULL | {"optimizer": "adam_8bit"}, "DATASET --dtype bfloat16 --bf16 True --optim adamw_bnb_8bit"),
        (FULL | {"precision": "amp-fp16"}, "--num_processes 1 --mixed_precision fp16"),
        (FULL | {"precision": "fp32"}, "--dtype float32 --bf16 False --optim"),
        ({"backend": "inductor", "recompute": "none"}, "--gradient_checkpointing False --torch_compile True"),
        (FULL | {"data": 4, "zero_stage": 1}, "--accelerate_config zero2 --zero_stage 1 --num_processes 4"),
        ({"data": 4, "zero_stage": 0}, "--accelerate_config multi_gpu --num_processes 4"),
        ({"steps": 30518}, "--max_steps 30518 --accelerate_config"),
    ],
)
def test_flags_of_trl(changed: dict[str, Any], contained: str) -> None:
    assert OF_TRL.lacking(TRAINED | changed) is None
    assert contained in OF_TRL.command(TRAINED | changed)[0]


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"tensor": 2, "pipeline": 4}, "since trl has no flag that was checked for tensor parallel degree 2, pipeline parallel degree 4"),
        ({"recompute": "selective"}, "since trl has no flag that was checked for recompute selective"),
        ({"precision": "fp16"}, "since trl has no flag that was checked for weights fp16 nf4"),
        ({"data": 8, "zero_stage": 3}, "since trl has no flag that was checked for weights bf16 nf4 zero3"),
        (FULL | {"optimizer": "adam_16bit"}, "since trl has no flag that was checked for optimizer adam_16bit"),
        ({"is_fitting": False}, "which does not fit"),
        ({"sequence": 1}, "since trl sft trains models that read tokens"),
    ],
)
def test_trainings_that_trl_has_no_flags_for(changed: dict[str, Any], told: str) -> None:
    assert OF_TRL.lacking(TRAINED | changed) == told


def test_notes_of_trl() -> None:
    """Without ZeRO, charz counts a 16-bit copy of the weights that trl does not keep; DeepSpeed keeps it. Sixteen processes take two nodes."""
    assert any("16-bit copy" in note for note in OF_TRL.command(TRAINED | FULL)[1])
    _, notes = OF_TRL.command(TRAINED | FULL | {"data": 16, "zero_stage": 3, "split": "dp16 zero3"})
    assert not any("16-bit copy" in note for note in notes) and any("--machine_rank" in note and "dp16" in note for note in notes)
    assert not any("--machine_rank" in note for note in OF_TRL.command(TRAINED | FULL | {"data": 8})[1])


def test_a_page_takes_the_first_training_with_flags() -> None:
    """The split tp2 has no command; equal reasons make one line. A step has 16 x 2,048 tokens: 1e6 of them take 30.5 steps."""
    rows = [TRAINED | {"tensor": 2, "split": "tp2"}, TRAINED | {"tensor": 2, "split": "tp2 zero1"}, TRAINED, TRAINED | {"batch": 4}]
    listed, first = (trainer.launched(OF_TRL, rows, is_listed) for is_listed in (True, False))
    assert listed.left_out == ["left out: p tp2, p tp2 zero1, since trl has no flag that was checked for tensor parallel degree 2"]
    assert [words is not None for words in listed.commands] == [False, False, True, True]
    assert first.commands == [None, None, listed.commands[2], None] and first.left_out == []
    assert trainer.known({"global_batch": 16, "sequence": 2048, "known_data": 3}, 1e6) == {
        "global_batch": 16, "sequence": 2048, "known_data": 3, "data": 3, "steps": 31,
    }  # fmt: skip
