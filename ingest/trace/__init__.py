"""From a built model to a `Graph`: export, lowering, layouts, sizes as polynomials, backward pass."""
