"""The command that explains an answer: its mechanisms with formulas, inputs and catalog numbers, down to the shapes of tensors."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

from charz.schema.errors import CharzError

from ..answer import Rows, answer
from ..core import Core
from ..parameters import Backend, Batch, Cache, Cap, Model, Part, Precision, Sequence_, Text
from ..question import SERVED_PRECISIONS, header, single
from . import tiles
from .derivation import COLUMNS, Derivation


class Explain(Core):
    """Derivation of a run, a kernel or an operator."""

    @answer(common=("on", "batch", "sequence", "precision", "backend", "cap", "tile", "formulas"))
    def explain(
        self,
        model: Model,
        piece: Annotated[
            str | None,
            Text(
                "Kernel by number or by its name in the run's table, or operator by name; default explains the whole run."
            ),
        ] = None,
        *,
        on: Part,
        batch: Batch = None,
        sequence: Sequence_ = None,
        precision: Precision = None,
        backend: Backend = None,
        cache: Cache = "warm",
        cap: Cap = None,
        phase: Annotated[
            Literal["prefill", "decode"] | None, Text("Prompt or step of a language model; default a run without a cache.")
        ] = None,
        context: Annotated[int | None, Text("Tokens attended to in a prompt or a step.", least=1)] = None,
        devices: Annotated[int, Text("Devices that share each kernel by tensor parallel.", least=1)] = 1,
        version: Annotated[str | None, Text("Version of the backend.")] = None,
        kv_precision: Annotated[str | None, Text("Format of keys and values between tokens, e.g. fp8_e4m3.")] = None,
        tile: Annotated[
            str | None, Text("Rows x columns x depth of a tile to compare with the chosen ones, e.g. 64x64x64.")
        ] = None,
        formulas: Annotated[
            bool, Text("Include each mechanism with its formula, inputs and catalog numbers, down to tensor shapes.")
        ] = False,
    ) -> Rows:
        """Explain what sets the pace of a model, kernel or operator on one part, why, and what would change it; --formulas shows the
        derivation of its time and energy."""
        question = single(model, on, batch, sequence, precision, backend, cache, cap)
        if context is not None and phase is None:
            raise CharzError("a context without a phase", "--context", next="add --phase prefill or --phase decode")
        conditions = {
            "phase": phase, "context": context, "engine_version": version, "kv_precision": kv_precision,
            "device_count": devices if devices > 1 else None,
        }  # fmt: skip
        if given := {name: value for name, value in conditions.items() if value is not None}:
            length = None if phase == "decode" else sequence or context
            question = replace(question, runs=[{"batch": batch or 1, "sequence": length, **given}])
        if phase is not None:
            question = replace(question, preferred=SERVED_PRECISIONS, serves=True, is_as_stored=True)
        # A user's tile becomes a candidate on a separate connection.
        asked = self if tile is None else self.child(self._scope)
        scoped, keys = asked.target(question, "model_report")
        told = Derivation(scoped, keys)
        candidate = None if tile is None else tiles.offer(scoped, tile)
        kernel = None if piece is None else told.found(piece)
        if tile is not None and candidate is not None:
            told.tiles(candidate, tile, kernel)
        elif kernel is None:
            told.run(formulas)
        else:
            told.kernel(kernel, formulas)
        for line in told.hints:
            self.messages.remark(line)
        return Rows(COLUMNS, told.lines, header=header([keys]))
