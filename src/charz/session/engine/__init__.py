"""Evaluation of the models on another engine: files for it (`rows`), connection (`endpoint`), and questions (`remote`)."""
