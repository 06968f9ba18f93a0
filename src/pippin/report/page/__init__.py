"""The report of a run as a web page of its own: no server, no request, works from a file."""
