"""Every table of a charz database: one pydantic model a row type. Imports nothing of charz."""
