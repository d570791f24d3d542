"""A small Discord of our own on this machine: the HTTP API and the gateway, as far as the program uses them.

It is as hard as Discord in who may read, send and look back (403 with 50001 and 50013), in which events and members a
session is told of, in resumes, invalid sessions and reconnects, in rate limits, and in PluralKit's deletions and twins.

What Discord does and this does not: people lose their roles when they leave a server; a person can close their direct
messages (50007); a bot has MANAGE_WEBHOOKS only where a role gives it; slow mode, time-outs, audit log and AutoMod;
THREAD_LIST_SYNC after a channel becomes visible; message and file size by boost level; sound in voice channels.
"""
