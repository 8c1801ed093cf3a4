"""Commands that choose parts, changes and designs."""
