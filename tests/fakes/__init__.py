"""Tiny fake subjects, one misbehaviour each, to see whether the bench calls each by its right name."""
