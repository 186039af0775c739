"""The running crate. Where cargo is missing its tests skip with that reason; with CI set they fail instead."""

import os

import pytest

from tests.interop.crate import Crate, CrateUnavailable


@pytest.fixture(scope="session")
def crate():
    try:
        server = Crate()
    except CrateUnavailable as error:
        if os.environ.get("CI", "").lower() not in ("", "0", "false"):
            pytest.fail(f"the crate must run in CI: {error}")
        pytest.skip(str(error))
    with server:
        yield server
