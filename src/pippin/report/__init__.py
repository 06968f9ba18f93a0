"""What came out: the Report, the terminal's look, the model card."""
