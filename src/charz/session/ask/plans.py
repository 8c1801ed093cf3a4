"""Requests of a question about a server, and the splits of its devices."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from charz.schema.errors import CharzError

from . import splits, trace
from .queue import Lengths
from .server_rows import WIDEST

SLOTS = 256
"""Largest number of requests that a replica runs at once unless the user names another."""


@dataclass(frozen=True, slots=True)
class Speculation:
    """Tokens that a step verifies and accepts for a request, and the model that drafts them."""

    accepted: float = 1.0
    drafted: int = 0
    draft: str | None = None


def speculation(accepted: float | None, drafted: int, draft: str | None, acceptance: float | None) -> Speculation:
    """Check the options of speculation. With drafted tokens of a common acceptance a, a step accepts 1 + a + a^2 + … tokens on average, one for
    each drafted token and one more (Leviathan et al. 2023, "Fast Inference from Transformers via Speculative Decoding", equation 1).

    >>> speculation(None, 2, "hf:small", 0.5).accepted
    1.75
    """
    if None not in (accepted, acceptance):
        raise CharzError("two statements of what a step accepts", f"--accepted {accepted:g} --acceptance {acceptance:g}", next="leave one out")
    if not drafted and (draft is not None or acceptance is not None or (accepted or 1.0) > 1.0):
        raise CharzError("speculation without draft tokens", "a step that verifies none accepts one token", next="add --drafted 4")
    if draft is not None and (accepted, acceptance) == (None, None):
        raise CharzError("a draft without its acceptance", f"--draft {draft}", next="add --acceptance 0.7")
    if accepted is None:
        accepted = 1.0 if acceptance is None else sum(acceptance**i for i in range(drafted + 1))
    if accepted > drafted + 1:
        raise CharzError("more tokens accepted than verified", f"--accepted {accepted:g}", f"a step verifies {drafted} draft tokens and adds one")
    return Speculation(accepted, drafted, draft)


@dataclass(frozen=True, slots=True)
class Plan:
    """Requests and load that a command asks for."""

    model: str
    input: int
    """Mean tokens of a prompt."""
    output: int
    """Mean tokens of an answer."""
    context: int
    """Mean tokens of a running request."""
    lengths: Lengths
    slots: int
    prefix: float
    guess: Speculation
    tensor: int
    """Devices that share each kernel."""
    expert: int
    """Replicas that share the experts of a model."""
    ttft_s: float | None
    tpot_s: float | None
    stages: int = 1
    """Stages of consecutive layers in a pipeline."""
    chunk: int | None = None
    """Most tokens of prompts that a step takes; None for the server's own number."""
    servers: int = 1
    """Number of equal servers that share the requests."""

    @property
    def given(self) -> int:
        """Return the tokens of a prompt that are computed."""
        return max(1, round(self.input * (1.0 - self.prefix)))

    @property
    def split(self) -> str:
        """Return the name of the split over devices."""
        return splits.name({
            "tensor": self.tensor, "pipeline": self.stages, "interleave": 1, "context": 1, "data": self.expert, "expert": self.expert,
            "micro_batches": 1,
        })  # fmt: skip

    @property
    def device_count(self) -> int:
        """Return the number of devices of a server."""
        return self.tensor * self.stages * self.expert

    @property
    def name(self) -> str:
        """Name the servers by their number and split, such as `4 x tp2`."""
        return self.split if self.servers == 1 else f"{self.servers} x {self.split}"


def plan_of(
    model: str, given: trace.Trace, slots: int, prefix: float, guess: Speculation, degrees: tuple[int, int],
    objectives: tuple[float | None, float | None],
) -> Plan:  # fmt: skip
    """Summarize requests, whose mean lengths give the sizes of the evaluated runs. `degrees` are those of tensor and expert parallel."""
    mean = given.mean_prompt
    lengths = Lengths([prompt / mean for prompt in given.prompts], given.outputs)
    sizes_ = (max(1, round(mean)), max(1, round(given.mean_output)), max(1, int(given.mean_context)))
    return Plan(model, *sizes_, lengths, slots, prefix, guess, *degrees, *objectives)


@dataclass(frozen=True, slots=True)
class Named:
    """Devices that a question names, and degrees of their splits; an empty list leaves a degree open."""

    counts: Sequence[int]
    """Numbers of all devices."""
    tensors: Sequence[int] = ()
    stages: Sequence[int] = ()
    experts: Sequence[int] = ()


def over(plan: Plan, named: Named, has_experts: bool) -> list[Plan]:
    """Return a plan for each split of each number of devices.

    Without numbers there is one server of the named degrees. Tensor parallel takes the devices that stages and experts leave. Named degrees of tensor
    parallel leave the other devices to further servers, and without any named degree all splits are listed, with as many servers as the devices allow.
    """
    if not named.counts:
        degrees = itertools.product(named.tensors or [1], named.stages or [1], named.experts or [1])
        return [replace(plan, tensor=tensor, stages=stages, expert=expert) for tensor, stages, expert in degrees]
    found = [
        replace(plan, tensor=tensor, stages=stages, expert=expert, servers=count // (tensor * stages * expert))
        for count in named.counts
        for tensor, stages, expert in _degrees(count, named, has_experts)
        if count % (tensor * stages * expert) == 0
    ]
    if not found:
        raise CharzError(
            "no split", f"--devices {','.join(map(str, named.counts))}", "it is the number of all devices, which the degrees must divide",
            "name a multiple of --tensor x --pipeline x --expert",
        )  # fmt: skip
    return found


def _degrees(count: int, named: Named, has_experts: bool) -> Iterator[tuple[int, int, int]]:
    """Yield the degrees of tensor, pipeline and expert parallel to try on a number of devices. Stages are tried beyond one node."""
    if not named.tensors and (named.stages or named.experts):
        for stages, expert in itertools.product(named.stages or [1], named.experts or [1]):
            yield max(1, count // (stages * expert)), stages, expert
        return
    powers = [2**i for i in range(count.bit_length())]
    tensors = named.tensors or [degree for degree in powers if degree <= WIDEST]
    stages_ = named.stages or [degree for degree in powers if degree == 1 or degree * WIDEST <= count]
    yield from itertools.product(tensors, stages_, named.experts or (powers if has_experts else [1]))
