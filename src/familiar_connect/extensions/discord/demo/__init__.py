"""A small Discord of our own on this machine: the HTTP API, the gateway and voice, as far as the program uses them.

It is as hard as Discord in who may read, send, reply and look back (50001, 50013, 160002), in which events and
members a session is told of, in resumes, invalid sessions and reconnects, and in PluralKit's deletions and twins.

- Interactions: the first answer within three seconds, once, and of a type that fits; follow-ups for fifteen minutes;
  the first behind a "thinking…" fills that in and stays as hidden as it was; forms, suggestions, lists and buttons
  have Discord's bounds; a command is used only where it is offered. Ids of buttons and lists never run out, as on
  Discord.
- Messages: 2,000 characters, never empty, embeds and files of Discord's sizes, nonces of 25 characters that are
  forgotten after five minutes, 100 looked up at a time, no edits in an archived thread, no reply to what is gone or
  to Discord's own news; direct messages refused by who takes none (50007) and by who shares no server (50278).
- Webhooks: their secret, 15 of a channel, and the names that Discord forbids; the right to manage them is of the
  bot's own role. Rate limits and the three seconds for a first answer are Discord's in the demonstration; in tests they
  are roomy, unless a test sets them.

What Discord does and this does not: people lose their roles when they leave a server; time-outs, audit log and
AutoMod; THREAD_LIST_SYNC after a channel becomes visible; file size by boost level; the limit of 120 gateway commands
a minute (1,000 a connection) and of logins a day; edits of old messages that are refused (30046); buckets that
several routes share; what interactions say to everybody is no message of the channel here; of voice, what `voice`
says.
"""
