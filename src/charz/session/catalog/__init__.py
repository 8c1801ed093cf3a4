"""What a database knows: parts, scenarios, models, measured runs, and fits to these."""
