"""What the commands of docs/source_plan.md print about a CNN and a transformer on a CPU, a GPU, a TPU and a KPU.

    python -m benchmarks.source_plan [FILE]

Without FILE both models are ingested into one of its own. The page is docs/source_plan_answers.md.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import tempfile
from pathlib import Path

from charz.cli.dispatch import run

PAGE = Path(__file__).parents[1] / "docs" / "source_plan_answers.md"
MODELS = ("resnet18", "vit_b_16")
PARTS = ("i7_13700k", "h100_sxm5_80", "tpu_v4", "kpu_t256")
JUDGED = """Read on 2026-11-23, and what looked wrong looked into:

- Every stage of ResNet-18 has one kernel: compilers fuse the addition of a block into its downsampling convolution, which then
  waits for the other branch. Unfused (`--backend eager`) the branches stand side by side.
- `w4a16` halves nothing of a CNN: the policy quantizes linear layers alone (`precision_policy`). Its weights weigh as in fp16.
- `amp-bf16-cpu` is autocast's list for processors; other families answer it like `amp-bf16`, and the comparison lists both.
- A KPU gains little by fusion at batch 1 (1.09): main memory brings the weights either way, and L3 holds what passes between
  kernels. What fusion saves is traffic of L3 and L2, so energy (1.19 in energy-delay product), and 56 launches.
- fp32 is what answers assume where no precision is named; a TPU has no fp32 arithmetic of its own and falls to its vector units."""
"""What a person thought of the page."""
LINES = 18
"""Lines of an answer that the page shows."""

OF_ONE_TARGET = (
    ("report",),
    ("report", "--section", "mapping", "--top", "5"),
    ("report", "--section", "partition"),
    ("report", "--section", "energy"),
    ("report", "--section", "operators", "--top", "4"),
    ("report", "--section", "fusion"),
    ("report", "--section", "fusions", "--top", "3"),
    ("report", "--section", "precisions"),
    ("concurrency",),
    ("memory",),
    ("opportunities",),
    ("sweep", "--batch", "1,8,64"),
)
"""Commands about one model on one part; both follow the command's name."""

OF_ALL = (
    ("compare", ",".join(MODELS), "--on", ",".join(PARTS)),
    *(("recommend", model, "--top", "8") for model in MODELS),
    ("cost", MODELS[0], "--on", "h100_sxm5_80,t4"),
    ("parallel", MODELS[1], "--on", "h100_sxm5_80"),
    ("coverage",),
    ("check",),
    (
        "explore", "--base", "kpu_t256", "--vary", "tiles=64:1024", "--vary", "dram=128GB/s:1TB/s", "--models", MODELS[0],
        "--limit", "power=30W",
    ),
)  # fmt: skip
"""Commands about several."""


def printed(*arguments: str) -> str:
    """What a command line prints, and its exit code where it is not 0."""
    said, remarked = io.BytesIO(), io.BytesIO()
    out, err = (
        io.TextIOWrapper(said, "utf-8", write_through=True),
        io.TextIOWrapper(remarked, "utf-8", write_through=True),
    )
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(list(arguments))
    text = (said.getvalue() or remarked.getvalue()).decode()
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    if len(lines) > LINES:
        lines = [*lines[:LINES], f"... {len(lines) - LINES} more lines"]
    return "\n".join([*lines, *([f"exit code {code}"] if code else [])])


def main() -> None:
    """Ask everything and write the page."""
    os.environ["COLUMNS"] = "120"
    with tempfile.TemporaryDirectory() as folder:
        file = sys.argv[1] if len(sys.argv) > 1 else str(Path(folder) / "charz.duckdb")
        if len(sys.argv) == 1:
            run(["ingest", *MODELS, "--db", file])
        blocks = [
            "# What the plan's commands answer",
            "",
            f"Written by `python -m benchmarks.source_plan`; at most {LINES} lines each.",
            "",
            JUDGED,
        ]
        for model in MODELS:
            for part in PARTS:
                blocks += ["", f"## {model} on {part}"]
                for command, *options in OF_ONE_TARGET:
                    line = [command, model, "--on", part, *options]
                    blocks += ["", f"`charz {' '.join(line)}`", "", "```", printed(*line, "--db", file), "```"]
        blocks += ["", "## Side by side"]
        for line in OF_ALL:
            blocks += ["", f"`charz {' '.join(line)}`", "", "```", printed(*line, "--db", file), "```"]
    PAGE.write_text("\n".join(blocks) + "\n")


if __name__ == "__main__":
    main()
