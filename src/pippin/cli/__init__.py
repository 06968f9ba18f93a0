"""The command line: a table of commands, one parser and one help for all, a small module for each to do the work."""
