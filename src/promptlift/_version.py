"""The version of promptlift, in its own module, so that nothing has to import the package's root for it."""

__version__ = "0.1.0"
