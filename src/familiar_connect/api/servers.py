"""For networks of servers with channels: whole messages, subscriptions, and who can read a channel by its rules."""

from __future__ import annotations

from familiar_connect.audience import RuledChannel
from familiar_connect.conversation.intake import IntakeResult
from familiar_connect.extensions.hosts.reader_records import ReaderRecords
from familiar_connect.extensions.hosts.server_host import ServerHost
from familiar_connect.history.channel_readers import Parents, ReaderSet
from familiar_connect.subscriptions import SubscriptionKind

__all__ = ["IntakeResult", "Parents", "ReaderRecords", "ReaderSet", "RuledChannel", "ServerHost", "SubscriptionKind"]
