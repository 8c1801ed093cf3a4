"""Commands about the content of a database: parts, scenarios, models, measurements and fits."""
