"""Another engine behind a session: what it reads as files (`rows`), how it is reached (`endpoint`), how it is asked (`remote`)."""
