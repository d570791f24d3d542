"""A small Twitch of our own on this machine: tokens, Helix and EventSub, as far as the program uses them.

It is as hard as Twitch in which token may ask for what (scopes, whose channel, 401, 403, 409), in the life of a session
(welcome, keepalives, a move to another address, revocations, 4001 to 4004), in delivering at least once, in who may
write (bans, time-outs, chat modes, AutoMod, 20 lines in 30 seconds or 100), in lines of 500 characters, and in what it
makes of a line: a reply begins with the name of whom it answers, and what we say comes back to us before the answer.

What Twitch does and this does not: chat over IRC; shared chat of several channels; predictions, polls, hype trains,
shoutouts and all other topics; the costs of subscriptions; VIPs and badges beyond moderator, subscriber and
broadcaster; AutoMod that lets a held line through later; the slower limit for accounts without a verified phone;
whispers that are sent.
What Twitch's papers do not say, and this guesses: the names of drop reasons, which are here those that its IRC has for
the same; that a banned sender meets 403 and one who is timed out a dropped line; that a line to a message that is gone
is shown without being a reply.
"""
