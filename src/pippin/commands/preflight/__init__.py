"""Will it run, will it fit, how long will it take? Answers before a job starts, for this computer or another."""
