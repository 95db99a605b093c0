"""The version, where every part can see it.

In: nothing. Out: a text. Not its job: versions of libraries.
"""

__version__ = "0.1.0"
