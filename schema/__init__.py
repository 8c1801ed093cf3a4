"""All tables of a charz database: one pydantic model per row type. Imports nothing of charz."""
