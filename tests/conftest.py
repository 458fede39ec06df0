"""What tests share."""

from pathlib import Path

import pytest

SHARED = Path(__file__).parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of public data sets, which lies beside the checkout and not in it."""
    if not SHARED.is_dir():
        pytest.skip(f"the public data sets are not there: {SHARED}")
    return SHARED
