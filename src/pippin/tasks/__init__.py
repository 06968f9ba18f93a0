"""What a model is trained for; one package for each kind of task."""
