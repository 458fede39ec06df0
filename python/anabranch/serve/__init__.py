"""The page over all runs of a folder, live: a server, its runs, and the jobs that it runs."""

from anabranch.serve.app import Settings, make_app
from anabranch.serve.server import serve

__all__ = ["Settings", "make_app", "serve"]
