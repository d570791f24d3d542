"""From platform messages to a turn: window, annotation, merging, directives."""
