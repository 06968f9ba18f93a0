"""The command line: one small module per command, and a dispatcher that imports only the chosen one."""
