"""Models as people write them, for `benchmarks.stranger_models`: modules nobody tidied up for tracing."""
