"""For networks that offer commands in a way of their own, with forms and suggestions: what there is, and its use."""

from __future__ import annotations

from familiar_connect.extensions.hosts.command_host import CommandHost
from familiar_connect.slash.command import OptionKind, SlashFile, SlashForm, SlashPicker, SlashPlace
from familiar_connect.support.translate import translations_of

__all__ = ["CommandHost", "OptionKind", "SlashFile", "SlashForm", "SlashPicker", "SlashPlace", "translations_of"]
