"""Relations between answers that are true for any numbers."""
