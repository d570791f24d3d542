"""The bounded form of `python -m benchmarks.reply_guard`: the talks that come with it."""

from __future__ import annotations

from benchmarks.reply_guard import HERE, measure, read_talks


def test_what_people_write_passes_the_guard_and_what_is_spoilt_does_not() -> None:
    """Of more than a thousand lines none is thrown away; nine in ten of each kind of bad text are found."""
    [rows] = measure(list(read_talks(HERE))).values()
    values = {row.name: row.value for row in rows}
    spoilt = [value.split(" of ") for name, value in values.items() if name.startswith("bad ones")]

    assert int(values["good texts"].replace(",", "")) > 1_000
    assert values["good ones rejected or changed"] == "0 (0.00%)"
    assert all(int(found) >= 0.9 * int(tried) > 0 for found, tried in spoilt), values
