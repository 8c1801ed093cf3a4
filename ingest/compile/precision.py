"""Element types of a graph under a precision policy, propagated from inputs to outputs.

Only tensors that are real floating point in the exported graph take part; integers, booleans and
complex numbers keep their type, and an operator with complex results computes in the type of their parts.
A row of `precision_policy` states the rule of an operator:

- `drop`: operands are converted to `compute_precision`, the result is written in it (or in
  `activation_precision`);
- `keep`: operands narrower than fp32 are converted to fp32, the result is fp32;
- `widen`: operands are read unconverted and widened within the kernel to fp32, the type of the result;
- `promote`: operands are converted to the widest among them, the result is of that type;
- `absent`: the framework version that the policy represents does not run the operator; its result is its last
  operand;
- `follow`: operands are read unconverted and the operator's own type promotion applies: the widest
  operand of an elementwise operator or a concatenation, else the first. With a `compute_precision`
  (tf32) only the arithmetic is of that type.

A policy that drops everything (`*`) also takes inputs and constants in that type, as
`model.half()` does; one whose `*` follows leaves them, as autocast does. An in-place operator writes
the type of its destination; autocast leaves those alone too.

A result that the model itself makes narrower than its weights, e.g. in an autocast region of its own, stays narrow
where the policy asks for a wider one.

A weight whose `weight_precision` is set is stored so and read without a conversion, because a kernel
that takes quantized weights expands them on the fly. Vectors among them (biases, scales) keep the
weight type of `*`, because they are never quantized.

An attention's math path counts as one call: its operands are first converted by the row of `attention`, then
rows with the prefix `attention|` apply within, and its results have the type of its operands.

Rows may apply to some modules only (`MODULE`): a policy of its own for each pattern of their paths.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from ..graph import GraphOperator
from .dataflow import WEIGHT_ROLES, Flow, moves, viewed
from .rules import PolicyRule, Rules

MODULE = "module:"
"""Prefix of the key of a precision-policy row that applies to the modules whose names match a pattern, as in `module:layer4.*|conv`."""

ATTENTION = "attention"
"""Class of a call whose math path has rows of its own."""

FULL = "fp32"
"""Type in which `keep` computes."""


@dataclass(slots=True)
class Cast:
    """A conversion before an operator."""

    tensor_id: int
    operator_id: int
    from_precision: str
    to_precision: str


@dataclass(slots=True)
class Types:
    """Element types under one policy."""

    tensor: list[str]
    """Type of each tensor in memory."""
    operator: list[str]
    """Type of each operator's arithmetic."""
    casts: list[Cast] = field(default_factory=list)
    """Conversions inserted: one a weight and run, one a read of an activation."""
    reads: list[tuple[int, int, str]] = field(default_factory=list)
    """Operator, tensor and type of each converted copy that is read."""


def propagate(flow: Flow, policy: dict[str, PolicyRule], rules: Rules) -> Types:
    """Return the types of all tensors and operators, and the conversions between them, under a policy."""
    return _Propagation(flow, policy, rules).run()


def lies_in(path: str, pattern: str) -> bool:
    """Return True if a pattern matches a module or one around it."""
    return fnmatchcase(path, pattern) or fnmatchcase(path, f"{pattern}.*")


class _Propagation:
    def __init__(self, flow: Flow, policy: dict[str, PolicyRule], rules: Rules) -> None:
        self.flow = flow
        self.tensors = flow.graph.tensors
        self.policy = policy
        self.bits = rules.bits
        self.parts = rules.parts
        self.everything = policy["*"]
        self.patterns: dict[str, dict[str, PolicyRule]] = {}
        for key, rule in policy.items():
            if key.startswith(MODULE):
                pattern, _, own = key.removeprefix(MODULE).partition("|")
                self.patterns.setdefault(pattern, {})[own] = rule
        owns = (key.rpartition("|")[2] for key in policy)
        self.by_module = {own.split(":", 1)[0] for own in owns if ":" in own}
        self.is_real = [rules.kind.get(t.precision) == "float" for t in self.tensors]
        self.types = Types([t.precision for t in self.tensors], [""] * len(flow.graph.operators))
        self.weights_cast: set[tuple[int, str]] = set()
        self.returned: dict[int, str] = {}
        """Type in which a result leaves its attention, where the math path computes in another, by tensor."""
        self.crossed: set[tuple[int, int]] = set()
        """Pairs of a tensor and an attention at whose border it was converted."""
        self.held: dict[int, str] = {}
        """Types in which the current operator reads its operands."""
        weights = {t.precision for t in self.tensors if t.role in WEIGHT_ROLES and self.is_real[t.tensor_id]}
        self.weight_bits = max((self.bits[precision] for precision in weights), default=self.bits[FULL])

    def run(self) -> Types:
        operators = self.flow.graph.operators
        self._store_weights()
        self._take_inputs()
        for operator in operators:
            if operator.is_view:
                self._pass_through(operator)
            else:
                self._execute(operator)
        return self.types

    def _rule(self, operator: GraphOperator) -> PolicyRule:
        """Return the row of the operator's module class (`norm:timm.LayerNorm`, `norm:LayerNorm`), else of its ATen
        operator, else of its class, else of `*`, from the policy of its module if it has one of its own."""
        name, operator_class = self.flow.names[operator.operator_id]
        module = self.flow.graph.modules[operator.module_id]
        policy = self._policy_of(module.path)
        if operator.attention is not None:
            for within in (name, operator_class, "*"):
                if (found := policy.get(f"{ATTENTION}|{within}")) is not None:
                    return found
        if operator_class in self.by_module:
            for name_of_class in (f"{module.package}.{module.class_name}", module.class_name):
                if (found := policy.get(f"{operator_class}:{name_of_class}")) is not None:
                    return found
        return policy.get(name) or policy.get(operator_class) or policy["*"]

    def _policy_of(self, path: str) -> dict[str, PolicyRule]:
        """Return the rows for a module: those of the first pattern that matches it or a module around it, else the policy's."""
        for pattern, policy in self.patterns.items():
            if lies_in(path, pattern):
                return policy
        return self.policy

    def _store_weights(self) -> None:
        """Store each weight in the widest type for which one of its readers asks."""
        wanted: dict[int, set[str]] = {}
        for operator_id, weight in self.flow.weight_reads:
            if self.is_real[weight]:
                stored = self._rule(self.flow.graph.operators[operator_id]).weight_precision
                wanted.setdefault(weight, set()).add(stored or self.tensors[weight].precision)
        general = self.everything.weight_precision
        for tensor in self.tensors:
            if tensor.role in WEIGHT_ROLES and self.is_real[tensor.tensor_id]:
                types = wanted.get(tensor.tensor_id)
                if types and "," in tensor.shape:
                    self.types.tensor[tensor.tensor_id] = self._widest(types)
                elif general:
                    self.types.tensor[tensor.tensor_id] = general

    def _take_inputs(self) -> None:
        if self.everything.rule == "drop":
            given = _result(self.everything)
            for tensor in self.tensors:
                is_given = tensor.producer_operator_id is None and tensor.role not in WEIGHT_ROLES
                if is_given and self.is_real[tensor.tensor_id] and not tensor.is_pinned:
                    self.types.tensor[tensor.tensor_id] = given

    def _pass_through(self, operator: GraphOperator) -> None:
        """Give a view the type of its base; its dispatch computes nothing."""
        shown = viewed(operator, self.flow.graph)
        types = self.types.tensor
        for tensor in operator.writes:
            if self.tensors[tensor].role == "kv_cache" and self.is_real[tensor] and self.everything.rule == "drop":
                types[tensor] = _result(self.everything)  # although rotating them may compute in another type
            elif shown is not None and self.is_real[tensor] and self.is_real[shown]:
                types[tensor] = types[shown]
                if shown in self.returned:
                    self.returned[tensor] = self.returned[shown]
        self.types.operator[operator.operator_id] = types[(operator.writes or operator.reads)[0]]

    def _execute(self, operator: GraphOperator) -> None:
        rule = self._rule(operator)
        operands = [t for t in dict.fromkeys(operator.reads) if self.is_real[t] and moves(operator, t)]
        results = [t for t in operator.writes if self.is_real[t]]
        types = self.types.tensor
        own = [t for t in results if self.tensors[t].storage_tensor_id == t]
        is_inplace = operator.is_inplace
        if is_inplace and 0 < len(own) < len(results):  # it also writes a state, in the state's type
            states = {t: self.tensors[t].storage_tensor_id for t in results if t not in own}
            for tensor, state in states.items():
                types[tensor] = types[state]
            operands = [t for t in operands if self.tensors[t].storage_tensor_id not in states.values()]
            results, is_inplace = own, False
        if rule.rule == "absent" and (operands or not results):
            for tensor in results:
                types[tensor] = types[operands[-1]]
            return
        shown = types[(operator.writes or operator.reads)[0]]
        if (not operands and not results) or shown in self.parts:
            self.types.operator[operator.operator_id] = self.parts.get(shown, shown)
            return
        self.held = self._received(operator, operands)
        if is_inplace and operands:
            written = computed = types[operator.reads[0]] if self.is_real[operator.reads[0]] else types[operands[0]]
        elif self._is_own(operator, rule):
            written = self._exported(operator)
            computed = types[operands[0]] if operator.operator_class == "cast" and operands else written
        elif rule.rule == "drop":
            computed = rule.compute_precision or FULL
            written = _result(rule)
            if not self._is_conversion(operator, operands):
                self._convert(operator, operands, computed, rule)
        elif rule.rule == "keep":
            computed = written = self._widest({FULL, *(self.held[t] for t in operands)})
            self._convert(operator, operands, computed, rule)
        elif rule.rule == "widen":
            computed = written = self._widest({FULL, *(self.held[t] for t in operands)})
        elif rule.rule == "promote":
            computed = written = self._promoted(operands, operator)
            self._convert(operator, operands, computed, rule)
        else:
            written = self._followed(operator, operands)
            computed = rule.compute_precision or written
        self.types.reads += [(operator.operator_id, t, to) for t, to in self.held.items() if to != types[t]]
        for tensor in results:
            types[tensor] = written
            if operator.attention is not None and (entered := self._entered(operator)) not in (None, written):
                self.returned[tensor] = entered
        self.types.operator[operator.operator_id] = computed

    def _entered(self, operator: GraphOperator) -> str | None:
        """Return the type to which operands of the operator's attention are converted, if the math path has rows of its own."""
        policy = self._policy_of(self.flow.graph.modules[operator.module_id].path)
        call = policy.get(ATTENTION) or policy["*"]
        return call.compute_precision if f"{ATTENTION}|*" in policy and call.rule == "drop" else None

    def _received(self, operator: GraphOperator, operands: list[int]) -> dict[int, str]:
        """Return the types of the operands as received: each is converted once where it enters or leaves a math path."""
        held = {t: self.types.tensor[t] for t in operands}
        for tensor in operands:
            source = self._attention_of(tensor)
            if source == operator.attention:
                continue
            if source is not None and tensor in self.returned:
                self._cross(operator, tensor, held, self.returned[tensor], source)
            if operator.attention is not None and (entered := self._entered(operator)) is not None:
                self._cross(operator, tensor, held, entered, operator.attention)
        return held

    def _attention_of(self, tensor: int) -> int | None:
        """Return the number of the attention whose math path makes a tensor."""
        producer = self.tensors[self.flow.origin[tensor]].producer_operator_id
        return None if producer is None else self.flow.graph.operators[producer].attention

    def _cross(self, operator: GraphOperator, tensor: int, held: dict[int, str], to: str, attention: int) -> None:
        """Convert a tensor at the border of an attention."""
        place = (self.flow.origin[tensor], attention)
        if held[tensor] != to and place not in self.crossed:
            self.crossed.add(place)
            self.types.casts.append(Cast(tensor, operator.operator_id, held[tensor], to))
        held[tensor] = to

    def _followed(self, operator: GraphOperator, operands: list[int]) -> str:
        """Return the type of the result by the operator's own promotion."""
        if not operands or self._is_conversion(operator, operands):
            return self._given(operator)
        if operator.operator_class in self.flow.classes.widening:
            return self._promoted(operands, operator)
        return self.held[operands[0]]

    def _is_conversion(self, operator: GraphOperator, operands: list[int]) -> bool:
        """Return True if the operator converts its first real operand."""
        of = {self.tensors[t].precision for t in operands[:1]}
        return operator.operator_class == "cast" and any({self.tensors[t].precision} != of for t in operator.writes)

    def _is_own(self, operator: GraphOperator, rule: PolicyRule) -> bool:
        """Return True if the model asks for a result narrower than its weights, and the policy for a wider one."""
        bits = self.bits[self._exported(operator)]
        return bits < self.weight_bits and rule.rule == "drop" and bits < self.bits[_result(rule)]

    def _given(self, operator: GraphOperator) -> str:
        """Return the type of a real result without real operands: as exported, unless the policy drops everything."""
        return _result(self.everything) if self.everything.rule == "drop" else self._exported(operator)

    def _exported(self, operator: GraphOperator) -> str:
        return next((self.tensors[t].precision for t in operator.writes if self.is_real[t]), FULL)

    def _promoted(self, operands: list[int], operator: GraphOperator) -> str:
        """Return the widest operand type; a scalar tensor counts only among scalars, as in ATen."""
        if not operands:
            return self._given(operator)
        dimensioned = {self.held[t] for t in operands if self.tensors[t].shape != "[]"}
        return self._widest(dimensioned or {self.held[t] for t in operands})

    def _widest(self, types: set[str]) -> str:
        """Return the type with most bits, and fp32 for two types of equal width below 32 bits (fp16 and bf16)."""
        most = max(self.bits[t] for t in types)
        widest = sorted(t for t in types if self.bits[t] == most)
        return widest[0] if len(widest) == 1 or most >= self.bits[FULL] else FULL

    def _convert(self, operator: GraphOperator, operands: list[int], to: str, rule: PolicyRule) -> None:
        """Record a conversion of each operand that is of another type."""
        for tensor in operands:
            held = self.held[tensor]
            if held == to or (rule.weight_precision is not None and self.flow.role[tensor] == "weight"):
                continue
            self.held[tensor] = to
            if self.tensors[tensor].role in WEIGHT_ROLES:
                if (tensor, to) in self.weights_cast:
                    continue
                self.weights_cast.add((tensor, to))
            self.types.casts.append(Cast(tensor, operator.operator_id, held, to))


def _result(rule: PolicyRule) -> str:
    return rule.activation_precision or rule.compute_precision or FULL
