"""Occasions: previews of links, polls, threads from messages and scheduled events, as our own Discord tells of them.

Not as on Discord: a preview has no colour, size or video; a poll ends when it is told to and not by the clock, its
votes cannot be looked up, and nobody is kept from voting twice; an event begins and ends when it is told to, has no
picture and no list of who is interested, and cannot recur.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from familiar_connect.extensions.discord.demo.server import DiscordServer
from familiar_connect.extensions.discord.demo.world import PUBLIC_THREAD, FakePerson, Guild, Payload, Room

THREAD_STARTER, POLL_RESULT = 21, 46
HAS_THREAD = 1 << 5
PLANNED, ACTIVE, ENDED, CANCELED = 1, 2, 3, 4
"""How a scheduled event stands."""


class Occasions:
    """What happens on a server besides talk, on one of ours."""

    def __init__(self, server: DiscordServer) -> None:
        self._server = server
        self._world = server.world

    async def show_previews(self, room: Room, message: Payload, *previews: Payload, in_part: bool = False) -> None:
        """Discord has looked at the links of a message, moments after it: an edit of nobody's.

        *in_part*: told as an event with nothing but the previews, as Discord did for years and may.
        """
        message["embeds"] = [{"type": "article"} | each for each in previews]
        told = self._world.event(room, message)
        if in_part:
            told = {key: told[key] for key in ("id", "channel_id", "guild_id", "embeds") if key in told}
        await self._server.gateway.dispatch("MESSAGE_UPDATE", told)

    # Polls

    async def ask_poll(self, room: Room, person: FakePerson, question: str, *answers: str) -> Payload:
        """*person* asks a question with answers to choose from; no result is told with it, as on Discord."""
        offered = [{"answer_id": number, "poll_media": {"text": text}} for number, text in enumerate(answers, start=1)]
        poll: Payload = {
            "question": {"text": question},
            "answers": offered,
            "expiry": "2030-01-01T00:00:00+00:00",
            "allow_multiselect": False,
            "layout_type": 1,
        }
        return await self._server.post(room, person, "", poll=poll)

    async def vote(
        self, room: Room, message: Payload, person: FakePerson, answer_id: int, *, is_taken_back: bool = False
    ) -> None:
        """*person* votes in a poll, or takes that back."""
        votes = message.setdefault("votes", {}).setdefault(answer_id, [])
        votes.remove(person.id) if is_taken_back else votes.append(person.id)
        about: Payload = {"user_id": str(person.id), "channel_id": str(room.id), "message_id": message["id"]}
        about |= {"answer_id": answer_id} | ({"guild_id": str(room.guild_id)} if room.guild_id is not None else {})
        event = "MESSAGE_POLL_VOTE_REMOVE" if is_taken_back else "MESSAGE_POLL_VOTE_ADD"
        await self._server.gateway.dispatch(event, about)

    async def end_poll(self, room: Room, message: Payload) -> Payload:
        """A poll is over: its message is told anew with the counts, then a message of its own tells the result."""
        given = message.get("votes", {})
        votes = {each["answer_id"]: len(given.get(each["answer_id"], ())) for each in message["poll"]["answers"]}
        counts = [{"id": key, "count": count, "me_voted": False} for key, count in votes.items() if count]
        message["poll"] |= {"results": {"is_finalized": True, "answer_counts": counts}}
        await self._server.gateway.dispatch("MESSAGE_UPDATE", self._world.event(room, message))
        best = max(votes, key=lambda key: votes[key])
        is_tie = sum(1 for count in votes.values() if count == votes[best]) > 1
        told = {"poll_question_text": message["poll"]["question"]["text"], "total_votes": str(sum(votes.values()))}
        told["victor_answer_votes"] = str(votes[best])
        if votes[best] and not is_tie:
            winner = message["poll"]["answers"][best - 1]["poll_media"]["text"]
            told |= {"victor_answer_id": str(best), "victor_answer_text": winner}
        fields = [{"name": name, "value": value, "inline": False} for name, value in told.items()]
        return await self._server.post(
            room,
            self._world.people[int(message["author"]["id"])],
            "",
            type=POLL_RESULT,
            embeds=[{"type": "poll_result", "fields": fields}],
            message_reference={"message_id": message["id"], "channel_id": str(room.id)},
        )

    # Threads

    async def start_thread(self, room: Room, message: Payload, name: str) -> Room:
        """Somebody starts a thread from a message: it has the message's number, and begins with a link to it."""
        guild = self._world.guilds[room.guild_id or 0]
        thread = self._world.room(guild, name, id=int(message["id"]), kind=PUBLIC_THREAD, parent_id=room.id)
        await self._server.gateway.dispatch("THREAD_CREATE", thread.payload() | {"newly_created": True})
        message |= {"flags": message["flags"] | HAS_THREAD, "thread": thread.payload()}
        await self._server.gateway.dispatch("MESSAGE_UPDATE", self._world.event(room, message))
        reference = {"message_id": message["id"], "channel_id": str(room.id), "guild_id": str(guild.id)}
        author = self._world.people[int(message["author"]["id"])]
        told = {key: value for key, value in message.items() if key != "thread"}
        await self._server.post(
            thread, author, "", type=THREAD_STARTER, message_reference=reference, referenced_message=told
        )
        return thread

    # Events

    async def plan_event(self, guild: Guild, name: str, begins_at: datetime, **more: Any) -> Payload:
        """Somebody plans something: *room*, a voice channel, or *place*, a text, says where."""
        room: Room | None = more.get("room")
        event: Payload = {
            "id": str(self._world.new_id()),
            "guild_id": str(guild.id),
            "channel_id": str(room.id) if room is not None else None,
            "creator_id": str(self._world.owner.id),
            "name": name,
            "description": more.get("description"),
            "scheduled_start_time": begins_at.isoformat(),
            "scheduled_end_time": None,
            "privacy_level": 2,
            "status": PLANNED,
            "entity_type": 2 if room is not None else 3,
            "entity_id": None,
            "entity_metadata": None if room is not None else {"location": more.get("place", "the park")},
            "image": None,
        }
        guild.events[int(event["id"])] = event
        await self._server.gateway.dispatch("GUILD_SCHEDULED_EVENT_CREATE", event)
        return event

    async def set_event(self, event: Payload, status: int) -> None:
        """An event begins, ends or is called off."""
        event["status"] = status
        if status in (ENDED, CANCELED):
            self._world.guilds[int(event["guild_id"])].events.pop(int(event["id"]), None)
        await self._server.gateway.dispatch("GUILD_SCHEDULED_EVENT_UPDATE", event)
