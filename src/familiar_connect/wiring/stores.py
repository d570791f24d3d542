"""Stores: every store of one familiar, opened and closed together."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import cast

from familiar_connect.channel_config import ChannelConfigStore
from familiar_connect.config.character import CharacterConfig
from familiar_connect.config.consent import OwnerConsent
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.conversation.admission import QuietChannels
from familiar_connect.conversation.ignored import IgnoreList
from familiar_connect.conversation.person_links import PersonLinks
from familiar_connect.conversation.rules.control_grants import ControlGrants
from familiar_connect.history.chats import ChatRegistry
from familiar_connect.history.reminders import ReminderBook
from familiar_connect.history.store import HistoryStore
from familiar_connect.memory.conditioning import Conditioning
from familiar_connect.memory.index.indexing_store import IndexingMemoryStore
from familiar_connect.memory.part_audiences import PartAudiences
from familiar_connect.memory.short_term import ShortTermNotes
from familiar_connect.memory.store import MemoryStore
from familiar_connect.privacy import PrivacyRegistry
from familiar_connect.subscriptions import SubscriptionRegistry
from familiar_connect.support.clock import Clock
from familiar_connect.support.no_follow import make_folder


@dataclass(frozen=True)
class Stores:
    """The stores of one familiar."""

    memory: MemoryStore
    history: HistoryStore
    subscriptions: SubscriptionRegistry
    privacy: PrivacyRegistry
    channels: ChannelConfigStore
    short_term: ShortTermNotes
    conditioning: Conditioning
    audiences: PartAudiences
    ignored: IgnoreList
    chats: ChatRegistry
    reminders: ReminderBook
    control_grants: ControlGrants
    quiet: QuietChannels
    links: PersonLinks


def build_stores(root: Path, config: CharacterConfig, clock: Clock, *, consent: OwnerConsent | None = None) -> Stores:
    """Open everything; the history last, so that nothing stays open when another file is broken."""
    folder = FamiliarFolder(root)
    for made in (folder.channels, folder.modes):
        make_folder(made)
    memory = cast("MemoryStore", IndexingMemoryStore(MemoryStore(folder.memory, audit_dir=folder.audit, clock=clock)))
    subscriptions = SubscriptionRegistry(folder.subscriptions_file)
    privacy = PrivacyRegistry(folder.privacy_file)
    ignored = IgnoreList(folder.ignore_list_file)
    control_grants = ControlGrants(folder.control_grants_file)
    quiet = QuietChannels(folder.quiet_channels_file, clock)
    may_widen = consent.allows_in_channel if consent is not None else None
    channels = ChannelConfigStore(root=folder.channels, character=config, may_widen=may_widen)
    history = HistoryStore(folder.history_db, clock=clock)
    short_term = ShortTermNotes(history, clock=clock, privacy=privacy)
    conditioning = Conditioning(history, familiar_id=root.name, clock=clock, privacy=privacy)
    audiences = PartAudiences(memory, history, familiar_id=root.name, privacy=privacy)
    chats = ChatRegistry(folder, clock=clock)
    reminders = ReminderBook(history, root.name, clock=clock)
    return Stores(
        memory,
        history,
        subscriptions,
        privacy,
        channels,
        short_term,
        conditioning,
        audiences,
        ignored,
        chats,
        reminders,
        control_grants,
        quiet,
        PersonLinks(folder.links_file, clock),
    )
