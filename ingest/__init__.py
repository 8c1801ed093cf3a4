"""From a PyTorch model to rows. The only package of charz that imports torch."""
