"""An account on Twitch when Twitch is not there."""

from __future__ import annotations

import gc
import warnings

import pytest

pytest.importorskip("twitchAPI", reason="the Twitch library is an extra")

from familiar_connect.errors import DeliveryError
from familiar_connect.extensions.twitch.account import Addresses, Credentials, open_account

NOWHERE = "http://127.0.0.1:9/"


async def test_a_twitch_that_cannot_be_reached_is_said_in_words() -> None:
    """And nothing is left open by it."""
    anyone = Credentials(client_id="id", token="token", name="TWITCH_TOKEN")

    async def renewed(token: str, refresh_token: str) -> None:
        raise AssertionError("there is nothing to renew")

    with warnings.catch_warnings(record=True) as complaints:
        warnings.simplefilter("always")
        with pytest.raises(DeliveryError, match="Twitch cannot be reached"):
            await open_account(anyone, Addresses(api=NOWHERE, auth=NOWHERE), renewed)
        gc.collect()

    assert [str(each.message) for each in complaints if issubclass(each.category, ResourceWarning)] == []
