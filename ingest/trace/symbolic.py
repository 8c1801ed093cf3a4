"""Sizes as polynomials in batch B, sequence S and context C.

Almost every size of a network is an integer or an integer times one power of B and S, so
integers stay integers until the very end and sympy sees only new expressions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..graph import Polynomial, Powers

Size = int | Polynomial
"""A dimension or a count: an integer, or a polynomial."""

ONE: Powers = (0, 0, 0)
CONTEXT: Powers = (0, 0, 1)
NAMES = ("B", "S", "C")


class NotPolynomialError(Exception):
    """A size that is not a polynomial in the known symbols, e.g. `S//20 - 1`."""

    place = ""
    """File and line of the size in the model's code, if known."""


def polynomial(size: Size) -> Polynomial:
    """Return the size as a polynomial."""
    return size if isinstance(size, dict) else {ONE: float(size)}


def product(*sizes: Size) -> Size:
    """Multiply sizes; the result is an integer when all of them are."""
    factor = 1
    result: Polynomial | None = None
    for size in sizes:
        if not isinstance(size, dict):
            factor *= size
        elif result is None:
            result = size
        else:
            result = _multiply(result, size)
    if result is None:
        return factor
    return result if factor == 1 else {powers: c * factor for powers, c in result.items() if factor}


def _multiply(left: Polynomial, right: Polynomial) -> Polynomial:
    result: Polynomial = {}
    for (b, s, x), c in left.items():
        for (b2, s2, x2), c2 in right.items():
            powers = (b + b2, s + s2, x + x2)
            result[powers] = result.get(powers, 0.0) + c * c2
    return {powers: c for powers, c in result.items() if c}


def total(*sizes: Size) -> Size:
    """Add sizes; the result is an integer when all of them are."""
    if not any(isinstance(size, dict) for size in sizes):
        return sum(sizes)  # type: ignore[arg-type]
    result: Polynomial = {}
    for size in sizes:
        for powers, c in polynomial(size).items():
            result[powers] = result.get(powers, 0.0) + c
    return {powers: c for powers, c in result.items() if c}


def scaled(size: Size, factor: float) -> Polynomial:
    """Multiply a size by a number, possibly a fraction."""
    return {powers: c * factor for powers, c in polynomial(size).items() if factor}


def ratio(size: Size, divisor: Size) -> Size:
    """Divide `size / divisor` where that is exact term by term.

    Raise NotPolynomialError when the divisor has several terms or a power would become negative.
    """
    if isinstance(size, int) and isinstance(divisor, int) and divisor and size % divisor == 0:
        return size // divisor
    divisor = polynomial(divisor)
    if len(divisor) != 1:
        if divisor and divisor == polynomial(size):
            return 1
        raise NotPolynomialError(f"({text(size)}) / ({text(divisor)})")
    (((b, s, x), c),) = divisor.items()
    result: Polynomial = {}
    for (b2, s2, x2), c2 in polynomial(size).items():
        if b2 < b or s2 < s or x2 < x:
            raise NotPolynomialError(f"({text(size)}) / ({text(divisor)})")
        result[b2 - b, s2 - s, x2 - x] = c2 / c
    if set(result) == {ONE} and result[ONE].is_integer():
        return int(result[ONE])
    return result


def text(size: Size) -> str:
    """Format the size as a reader would write it: `12*B*S + 1`."""
    if not isinstance(size, dict):
        return str(size)
    terms = []
    for powers, c in sorted(size.items(), reverse=True):
        factors = [f"{name}^{power}" if power > 1 else name for name, power in zip(NAMES, powers, strict=True) if power]
        if c != 1 or not factors:
            factors.insert(0, f"{c:.15g}")
        terms.append("*".join(factors))
    return " + ".join(terms).replace("+ -", "- ") or "0"


class Symbols:
    """A converter of torch's symbolic integers into sizes.

    `axes` maps a sympy symbol to its powers, e.g. batch to (1, 0, 0); `bounds` maps a symbol whose
    value depends on data to its upper bound, a number or an expression in other symbols.
    """

    def __init__(self, axes: Mapping[Any, Powers], bounds: Mapping[Any, Any] | None = None) -> None:
        self.axes = dict(axes)
        self.bounds = dict(bounds or {})
        self._known: dict[Any, Size] = {}
        self._bounded: set[Any] = set()

    def size(self, value: Any) -> Size:
        """Return the size of an int or SymInt. Raise NotPolynomialError."""
        if type(value) is int:
            return value
        node = getattr(value, "node", None)
        if node is None:
            return int(value)
        expression = node.expr
        known = self._known.get(expression)
        if known is None:
            known = self._known[expression] = self._convert(expression)
        return known

    def is_bounded(self, value: Any) -> bool:
        """Return True when this size contains a symbol that a bound replaced."""
        if not self.bounds or type(value) is int:
            return False
        node = getattr(value, "node", None)
        return node is not None and any(symbol in self.bounds for symbol in node.expr.free_symbols)

    def _convert(self, expression: Any) -> Size:
        import sympy

        if expression.is_Integer:
            return int(expression)
        if expression.is_Symbol and expression in self.axes:
            return {self.axes[expression]: 1.0}
        if self.bounds:
            expression = expression.subs({k: v for k, v in self.bounds.items() if k in expression.free_symbols})
            if expression.is_Integer:
                return int(expression)
        expression = _divided(self._chosen(self._unified(expression)))
        symbols = list(expression.free_symbols)
        if expression.is_Integer:
            return int(expression)
        if not all(symbol in self.axes for symbol in symbols):
            raise NotPolynomialError(self._written(expression))
        try:
            terms = sympy.Poly(expression, *symbols).terms()
        except sympy.PolynomialError:
            raise NotPolynomialError(self._written(expression)) from None
        result: Polynomial = {}
        for exponents, coefficient in terms:
            powers = [0, 0, 0]
            for symbol, exponent in zip(symbols, exponents, strict=True):
                for axis, unit in enumerate(self.axes[symbol]):
                    powers[axis] += unit * exponent
            key: Powers = (powers[0], powers[1], powers[2])
            result[key] = result.get(key, 0.0) + float(coefficient)
        return result

    def _written(self, expression: Any) -> str:
        """Format the expression as a reader would write it: with B, S and C, and `n` for symbols that depend on data."""
        import sympy

        names = {
            s: "".join(n for n, p in zip(NAMES, self.axes.get(s, ONE), strict=True) if p) or "n"
            for s in expression.free_symbols
        }
        return str(expression.subs({s: sympy.Symbol(name) for s, name in names.items()}))

    def _chosen(self, expression: Any) -> Any:
        """Replace the minimum of a number and the context by the number, because the context is always
        longer than the selection."""
        from torch.utils._sympy.functions import Min

        def smaller(*sizes: Any) -> Any:
            contexts = [size for size in sizes if self.axes.get(size) == CONTEXT]
            numbers = [size for size in sizes if size.is_Integer]
            return numbers[0] if len(sizes) == 2 and contexts and numbers else Min(*sizes)

        return expression.replace(Min, smaller) if expression.has(Min) else expression

    def _unified(self, expression: Any) -> Any:
        """Replace the symbols of each axis by one, because the batches of two inputs are equal."""
        first: dict[Powers, Any] = {}
        equal = {}
        for symbol, powers in self.axes.items():
            if first.setdefault(powers, symbol) is not symbol and symbol in expression.free_symbols:
                equal[symbol] = first[powers]
        return expression.subs(equal) if equal else expression


def _divided(expression: Any) -> Any:
    """Divide where a floor division is exact: `(S**2)//S` is `S`."""
    import sympy
    from torch.utils._sympy.functions import FloorDiv

    def quotient(dividend: Any, divisor: Any) -> Any:
        exact = sympy.cancel(dividend / divisor)
        symbols = sorted(exact.free_symbols, key=str)
        is_whole = exact.is_polynomial(*symbols) and all(c.is_Integer for c in sympy.Poly(exact, *symbols).coeffs())
        return exact if symbols and is_whole else FloorDiv(dividend, divisor)

    return expression.replace(FloorDiv, quotient) if expression.has(FloorDiv) else expression


def size_product(sizes: Iterable[Size]) -> Size:
    """Multiply a sequence of sizes."""
    return product(*sizes)
