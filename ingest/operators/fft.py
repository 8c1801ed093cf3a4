"""Fast Fourier transforms: 5 N log2 N operations for N complex points (the field's convention),
half of that where one side is real."""

from __future__ import annotations

from math import log2

from ..graph import Step
from ..trace.symbolic import Size, scaled
from .elementwise import _overloads
from .registry import Call, Value, rule, vector, words

COMPLEX = words("fft_fft fft_ifft fft_fft2 fft_ifft2 fft_fftn fft_ifftn _fft_c2c")
REAL = words(
    "fft_rfft fft_irfft fft_rfft2 fft_irfft2 fft_rfftn fft_irfftn fft_hfft fft_ihfft _fft_r2c _fft_c2r stft istft"
)


def _transform(call: Call, factor: float) -> list[Step]:
    source: Value = call.tensors()[0]
    larger = source if _length(source, call) >= _length(call.output, call) else call.output
    return [vector("main", scaled(larger.numel, factor * log2(max(2, _length(larger, call)))), call.output.numel)]


def _length(value: Value, call: Call) -> int:
    """Return the points of one transform. Raise NotPolynomialError for a symbolic axis, whose logarithm is not a polynomial."""
    if call.has("n_fft"):
        return int(call["n_fft"])
    dims: list[int] = [call["dim"]] if isinstance(call["dim"], int) else list(call["dim"] or range(len(value.dims)))
    points = 1
    for d in dims:
        size: Size = value.dims[d]
        if not isinstance(size, int):
            from ..trace.symbolic import NotPolynomialError

            raise NotPolynomialError("the length of a Fourier transform")
        points *= size
    return points


@rule(*(o for n in COMPLEX for o in _overloads(n)), operator_class="fft")
def complex_fft(call: Call) -> list[Step]:
    return _transform(call, 5.0)


@rule(*(o for n in REAL for o in _overloads(n)), operator_class="fft")
def real_fft(call: Call) -> list[Step]:
    return _transform(call, 2.5)


@rule("aten.fft_fftshift.default", "aten.fft_ifftshift.default", operator_class="copy")
def shift(call: Call) -> list[Step]:
    from .registry import move

    return [move(call.output.elements)]


@rule("aten.fft_fftfreq.default", "aten.fft_rfftfreq.default", operator_class="create")
def frequencies(call: Call) -> list[Step]:
    from .registry import move

    return [move(call.output.elements)]
