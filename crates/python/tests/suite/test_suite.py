"""SQLAlchemy's suite for dialects. Its demands on a database are in `requirements.py`."""

from sqlalchemy.testing.suite import *  # noqa: F401,F403
