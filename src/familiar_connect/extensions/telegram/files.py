"""What a message has besides words: pictures, films, sound and stickers, each by an address of ours.

`telegram:FILE` stands for a file of Telegram's by its id. Telegram's own addresses hold the bot's token and end within
the hour, so none is ever kept; the file is fetched when a model is to see it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from familiar_connect.api import DeliveryError
from familiar_connect.api.messages import Attachment, Sticker
from familiar_connect.extensions.telegram.client import BotClient

if TYPE_CHECKING:  # the library is loaded when a bot is opened
    from telegram import Animation, Audio, Document, Message, PhotoSize, Video, VideoNote, Voice

    FileOfMessage = Animation | Audio | Document | PhotoSize | Video | VideoNote | Voice

SCHEME = "telegram"
MAX_PICTURE = 5 * 1024 * 1024
MAX_FILE = 20 * 1024 * 1024
"""The most that Telegram gives a bot."""
_ADDRESS = re.compile(rf"{SCHEME}:([\w-]{{1,250}})")


def address_of(file_id: str) -> str:
    return f"{SCHEME}:{file_id}"


def attachments_of(message: Message) -> tuple[Attachment, ...]:
    """Pictures in the largest size a model is shown, and whatever else was sent as a file."""
    found = []
    if message.photo:
        fitting = [each for each in message.photo if (each.file_size or 0) <= MAX_PICTURE]
        best = max(fitting or message.photo[:1], key=lambda each: each.width * each.height)
        found.append(_attachment(best, mime="image/jpeg", name=f"photo-{message.message_id}.jpg"))
    for kind, mime in (("animation", "video/mp4"), ("video", "video/mp4"), ("video_note", "video/mp4")):
        film = getattr(message, kind)
        if film is not None:
            found.append(_attachment(film, mime=mime, name=f"{kind}-{message.message_id}.mp4"))
    if message.voice is not None:
        name = f"voice-{message.message_id}.ogg"
        found.append(_attachment(message.voice, mime="audio/ogg", name=name, is_voice=True))
    if message.audio is not None:
        found.append(_attachment(message.audio, mime="audio/mpeg", name=f"audio-{message.message_id}.mp3"))
    if message.document is not None and message.animation is None:  # an animation is shown as a document again
        found.append(_attachment(message.document, mime="application/octet-stream", name="file"))
    return tuple(found)


def _attachment(file: FileOfMessage, *, mime: str, name: str, is_voice: bool = False) -> Attachment:
    duration = file.to_dict().get("duration")
    return Attachment(
        url=address_of(file.file_id),
        filename=getattr(file, "file_name", None) or name,
        mime=getattr(file, "mime_type", None) or mime,
        attachment_id=f"{SCHEME}-{file.file_unique_id}",
        size_bytes=file.file_size,
        is_voice=is_voice,
        duration_s=float(duration) if duration is not None else None,
    )


def stickers_of(message: Message) -> tuple[Sticker, ...]:
    """A sticker by its emoji and its set; one that moves is shown by its small picture."""
    one = message.sticker
    if one is None:
        return ()
    picture = one.thumbnail if one.is_animated or one.is_video else one
    name = " ".join(each for each in (one.emoji, one.set_name) if each) or "sticker"
    return (
        Sticker(
            name=name,
            sticker_id=one.file_unique_id,
            url=address_of(picture.file_id) if picture is not None else None,
        ),
    )


async def fetch_file(client: BotClient, address: str, most: int) -> bytes:
    """The file that *address* stands for, at most *most* bytes; `DeliveryError` where it is not to be had."""
    found = _ADDRESS.fullmatch(address)
    if found is None:
        raise DeliveryError("it is no file of Telegram's")
    file = await client.call(lambda bot: bot.get_file(found[1]))
    if (file.file_size or 0) > min(most, MAX_FILE):
        raise DeliveryError("it is too large")
    try:
        return bytes(await client.call(lambda bot: file.download_as_bytearray()))
    except DeliveryError as error:  # the library takes a file that is gone for a token that is wrong
        raise DeliveryError("Telegram does not give it") from error
