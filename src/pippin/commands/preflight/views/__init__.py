"""What a preflight foresees, in words, as a chart and as a page."""
