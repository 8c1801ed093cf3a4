"""Parameters that methods of a session share: what they mean, in words that the command line shows too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

MOST = 10**9
"""Largest batch, sequence, context, image side and number of rows asked for: beyond it counts leave 64 bits."""


@dataclass(frozen=True, slots=True)
class Text:
    """What a parameter means, and how the command line takes it."""

    help: str
    flag: str = ""
    """Name of the option where it is not the parameter's own."""
    short: str = ""
    """One letter, e.g. `-j`."""
    least: float | None = None
    most: float | None = None
    taken: Any = None
    """Type that the command line takes, where Python takes what no text can say."""
    is_python_only: bool = False
    """Whether the command line has no such option."""


Names = str | Sequence[str]
"""One name, several, or several in one text with commas between."""

Sizes = int | str | Sequence[int]
"""One size, several, or a text: `1,8,64`, `1:256` (doubling) or `64:1024:64` (steps)."""

Amount = float | str
"""A number in SI units, or a text with its unit: `5ms`, `50mJ`, `8GiB`."""

File = str | Path
"""A file or folder."""

Model = Annotated[str, Text("Ingested model; `charz models` lists them.")]
Models = Annotated[Names, Text("Ingested models; `charz models` lists them.")]
AnyModels = Annotated[Names | None, Text("Models; all when none is named.")]
Part = Annotated[str, Text("Part, e.g. rtx4090; `charz hardware list` shows all.")]
Parts = Annotated[Names | None, Text("Parts, again for each or with commas; else every part.")]
Batch = Annotated[int | None, Text("Samples in one run.", least=1)]
Sequence_ = Annotated[int | None, Text("Tokens a sample.", least=1)]
Precision = Annotated[str | None, Text("Precision policy, e.g. fp16; else what the backend computes in by default.")]
Backend = Annotated[str | None, Text("Backend, e.g. inductor.")]
Cache = Annotated[
    str, Text("What the last-level cache holds when a kernel begins: warm, cold, hot or weights_resident.")
]
IncludeTransfer = Annotated[bool, Text("The inputs lie in the host's memory and come over the link before every run.")]
Cap = Annotated[str | None, Text("Cap on the part: a power mode, e.g. 15w, or a limit in watts, e.g. 150w.")]
Caps = Annotated[Names | None, Text("Caps on the part: power modes or limits in watts, with commas.")]
Drawn = Annotated[Amount | None, Text("Most power drawn on average over a run, e.g. 15W.")]
Batches = Annotated[Sizes | None, Text("Batches: 8, 1,8,64 or 1:256 (doubling).")]
Sequences = Annotated[Sizes | None, Text("Sequence lengths, as batches.")]
Precisions = Annotated[
    Names | None, Text("Precision policies, with commas; else what each backend computes in by default.")
]
Backends = Annotated[Names | None, Text("Backends, with commas.")]
Versions = Annotated[Names | None, Text("Versions of the backend, with commas; else the one that is assumed of it.")]
KvPrecisions = Annotated[Names | None, Text("Formats of keys and values between tokens, with commas, e.g. fp8_e4m3.")]
Devices = Annotated[
    Sizes | None, Text("Devices that share each kernel by tensor parallel: 8, 1,2,4 or 1:8 (doubling).")
]
HostShare = Annotated[
    float | None, Text("Share in the host's memory, which comes over the link in every step.", least=0.0, most=1.0)
]
Context = Annotated[int | None, Text("Tokens attended to, of a language model.", least=1)]
Phase = Annotated[
    str | None, Text("forward, prefill (a prompt) or decode (a token); decode where a context is given, else forward.")
]
Top = Annotated[int, Text("Rows to list.", least=1, most=MOST)]
Force = Annotated[bool, Text("Let --out write over a file that charz did not write.")]
