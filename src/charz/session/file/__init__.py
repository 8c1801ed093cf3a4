"""Commands that fill, check, repair and export the database file."""
