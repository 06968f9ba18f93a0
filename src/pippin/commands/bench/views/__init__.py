"""What a benchmark found, as tables, charts, a Markdown page and one sentence."""
