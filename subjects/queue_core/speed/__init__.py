"""Measures of the core that are taken inside it: against its own statements, and by its own Queue.

What is measured from outside, as of any queue, is in bench/speed.
"""
