"""CPU seconds of commands as whole processes, and of methods in an open session.

    python -m benchmarks.session FILE

FILE holds ResNet-18 and ViT-B/16 at least. Each figure is the least of five runs; results go to docs/benchmark-session.md.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import charz
from charz.cli import pages

PAGE = Path(__file__).parents[1] / "docs" / "benchmark-session.md"

COMMANDS = {
    "charz --help": (["--help"], 0.15),
    "charz report vit_b_16 --on rtx4090 --batch 8 --precision fp16": (
        ["report", "vit_b_16", "--on", "rtx4090", "--batch", "8", "--precision", "fp16"],
        0.5,
    ),
    "the same for a batch that no scenario has": (
        ["report", "vit_b_16", "--on", "rtx4090", "--batch", "5", "--precision", "fp16"],
        None,
    ),
    "charz explain vit_b_16 linear_5 --on rtx4090": (["explain", "vit_b_16", "linear_5", "--on", "rtx4090"], 0.6),
    "charz compare, two models on four parts": (
        ["compare", "vit_b_16,resnet18", "--on", "rtx4090,t4,h100_sxm5_80,tpu_v4"],
        0.8,
    ),
    "charz recommend resnet18, all parts": (["recommend", "resnet18"], 1.5),
    "charz sql, one row of model_report": (
        ["sql", "SELECT * FROM model_report WHERE model = 'resnet18' AND hardware = 't4' AND batch = 1 LIMIT 1"],
        None,
    ),
}
"""Arguments, and the CPU seconds that they may take."""

RUNS = 5


def command_s(arguments: list[str], file: Path) -> float:
    """Least CPU seconds of a command, its own processes included."""
    line = [sys.executable, "-c", "from charz.cli import main; main()", *arguments]
    environment = os.environ | {"CHARZ_DB": str(file)}
    return min(
        _spent(lambda: subprocess.run(line, env=environment, capture_output=True, check=True)) for _ in range(RUNS)
    )


def _spent(call: Callable[[], object]) -> float:
    def used() -> float:
        found = resource.getrusage(resource.RUSAGE_CHILDREN)
        return found.ru_utime + found.ru_stime

    before = used()
    call()
    return used() - before


def method_s(file: Path) -> dict[str, float]:
    """CPU seconds of reports in an open session: of a target not asked before, and of one that was."""
    found = {"db.report, a target not asked before": float("inf"), "db.report, the same target again": float("inf")}
    with charz.open(file) as db:
        db.report("resnet18", on="t4")  # imports
        for part in ("rtx4090", "l4", "a100_sxm4_80", "h100_pcie_80", "rtx3090"):
            for name in found:
                start = time.process_time()
                db.report("vit_b_16", on=part, batch=8, precision="fp16")
                found[name] = min(found[name], time.process_time() - start)
    return found


def page(file: Path) -> str:
    """The page of all figures."""
    rows = [(name, command_s(arguments, file), most) for name, (arguments, most) in COMMANDS.items()]
    rows += [(name, spent, 0.2) for name, spent in method_s(file).items()]
    lines = [f"| {name} | {spent:.2f} | {'' if most is None else most} |" for name, spent, most in rows]
    head = (
        f"# What a command costs\n\n{pages.line()}\n\nWritten from `python -m benchmarks.session FILE` on a two-core machine; CPU seconds, the least of"
        f" {RUNS} runs.\n\n| command or method | CPU s | aim |\n|---|---|---|\n"
    )
    return head + "\n".join(lines) + "\n"


def main() -> None:
    """Write the page and print it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("file", type=Path)
    text = page(parser.parse_args().file)
    PAGE.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
