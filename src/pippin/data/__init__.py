"""Where rows come from, tasks, labels, encoding and batches."""
