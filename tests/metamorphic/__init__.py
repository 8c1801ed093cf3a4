"""Relations between answers that hold whatever the numbers are."""
