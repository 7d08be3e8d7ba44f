"""SQLAlchemy's suite for dialects. What it asks of a database is in `requirements.py`."""

from sqlalchemy.testing.suite import *  # noqa: F401,F403
