"""The file itself: filled, checked, repaired, exported."""
