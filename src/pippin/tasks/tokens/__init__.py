"""A tag for each word of a text: names of people and places, parts of speech."""
