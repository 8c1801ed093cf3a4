"""Programs that `torch.export.save` wrote (`model.pt2`). A symbolic first dimension is the batch,
any other symbolic dimension the sequence."""

from __future__ import annotations

import pickle
from pathlib import Path

import torch

from charz.schema.errors import CharzError

from ..trace import torchvision_schemas
from ..trace.export import BATCH, SEQUENCE, Axes, Request
from ..trace.loops import with_steps
from ..trace.views import show_views
from . import untrusted
from .spec import Spec


def build(spec: Spec) -> Request:
    """Load the saved program without tracing it again."""
    torchvision_schemas.prepare()
    path = Path(spec.name)
    program = with_steps(_load(path, spec))
    show_views(program)
    axes, batch, sequence = _axes(program)
    return Request(
        name=path.stem, source=str(path), module=_parameters(program), axes=axes, family=path.stem,
        default_batch=batch, default_sequence=sequence, program=program,
        reason=None if axes else "exported with fixed sizes",
    )  # fmt: skip


def _parameters(program: torch.export.ExportedProgram) -> torch.nn.Module:
    """Return a module with the program's parameters, each once."""
    held = torch.nn.Module()
    for i, parameter in enumerate(program.parameters()):
        held.register_parameter(f"parameter_{i}", torch.nn.Parameter(parameter, requires_grad=parameter.requires_grad))
    return held


def _load(path: Path, spec: Spec) -> torch.export.ExportedProgram:
    """Load a program from a file without running its code unless the user trusts it."""
    if not path.exists():
        raise CharzError("no such file", spec.name, next="torch.export.save(program, 'model.pt2') writes one")
    if not path.is_file():
        raise CharzError("not a file", spec.name, next="name one that torch.export.save wrote")
    try:
        with path.open("rb") as file:  # one handle, so the checked file is the loaded one
            if spec.trust:
                return torch.export.load(file)
            untrusted.check(file, spec.name)
            with untrusted.weights_only():
                return torch.export.load(file)
    except CharzError:
        raise
    except pickle.UnpicklingError as error:
        raise untrusted.refused(spec.name, "pickled objects") from error
    except Exception as error:  # a broken archive raises anything from KeyError to RuntimeError
        raise CharzError(
            "not a program saved by torch.export.save",
            spec.name,
            str(error).splitlines()[0] if str(error) else type(error).__name__,
        ) from error


def _axes(program: torch.export.ExportedProgram) -> tuple[Axes, int, int]:
    """Return the symbolic dimensions of the user's inputs, and the example's batch and sequence."""
    names = set(program.graph_signature.user_inputs)
    axes: Axes = {}
    batch, sequence = 1, 1
    for node in program.graph_module.graph.nodes:
        value = node.meta.get("val") if node.op == "placeholder" and node.name in names else None
        if not isinstance(value, torch.Tensor):
            continue
        symbolic = [d for d, size in enumerate(value.shape) if not isinstance(size, int)]
        axes[node.name] = {d: BATCH if d == 0 else SEQUENCE for d in symbolic}
        if value.dim() and 0 not in symbolic:
            batch = int(value.shape[0])
        for d in symbolic:
            if d:
                sequence = int(value.shape[d].node.hint or 128)
    return {n: dims for n, dims in axes.items() if dims}, batch, sequence
