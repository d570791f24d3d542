"""Voice channels of our own Discord: their server, the people who speak in them, and what the familiar says there.

Packets, their encryption and the keys of the call (DAVE) are as Discord has them, and the keys change when somebody
comes. What Discord does and this does not: packets that get lost or overtake each other; regions, and a call that is
moved to another; resuming a connection of voice; taking the keys from who leaves (epochs by removal), and new keys
that count only once everybody is ready (transitions other than 0); a second familiar in a call; video, streams and
stages; limits of people; muting and deafening by others; levels of loudness that mean something.
"""
