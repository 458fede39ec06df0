"""The page over all runs of a folder: a server, its runs, and the jobs that it starts."""

from anabranch.serve.app import Settings, make_app
from anabranch.serve.server import serve

__all__ = ["Settings", "make_app", "serve"]
