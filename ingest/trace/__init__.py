"""From a built model to a `Graph`: export, lowering, layouts, the sizes as polynomials, the backward pass."""
