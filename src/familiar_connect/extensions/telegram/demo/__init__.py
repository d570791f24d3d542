"""A small Telegram of our own on this machine: its Bot API, as far as the program uses it, and people who talk there.

What the Bot API does, and this does too:
- `getUpdates` gives at most 100 updates, the oldest first, and holds the question open while there are none. Asking
  with an offset confirms all before it; what nobody confirmed is given again, and after 24 hours it is gone. An update
  of a kind that was not asked for when it happened never comes. Two programs that ask at once: the first is told 409,
  as is whoever asks while a webhook is set.
- Every answer is JSON with `ok`; one that is not has `error_code`, `description` and at times `parameters`. A token
  that is none gets 401 or 404, a method that is none 404.
- A text has 1 to 4,096 units of UTF-16, without the white space around it; entities are counted in those units, too.
- Too many calls get 429 and `retry_after`: more than about one message a second in a chat, 20 a minute in a group,
  30 a second in all.
- A bot cannot write first to a person, who has to start it, and gets 403 when it was blocked or sent out of a group.
- A group becomes a supergroup when, for example, it gets topics: it has another id then, both chats say so once, and
  whoever writes to the old one is told 400 with the new id. Ids of messages begin again.
- Ids of messages count in each supergroup by itself, and across all direct chats and plain groups of a bot together.
- Nobody tells a bot that a message was deleted. Edits are told as whole messages.
- In a group a bot in privacy mode gets commands, mentions of its name, replies to what it said and what happens to the
  group; as an administrator, or without privacy mode, all that people say. It never gets what other bots say.
- `message_reaction` and `chat_member` are told to administrators alone, and only where they were asked for by name.
- A bot cannot list a group's members; it can ask about one person, and is sure of an answer only as an administrator.
- Whoever writes as a group or a channel is shown as a bot that stands for all such, with `sender_chat` beside it.
- An album is as many messages as it has pictures, of which one has the words; `media_group_id` joins them.
- A file is asked for by its id, and comes from another path, whose address holds the token and ends within an hour.
- The first message of a topic is what every message in it seems to answer. The general topic has no id to write to.

What the Bot API does and this does not: webhooks, inline mode, payments, games, polls, business accounts, channels,
stories, uploads, and any `parse_mode`, which is refused here.
What its papers do not say, and this guesses: the burst before 429; that a mention lets a bot in privacy mode hear a
message, which is what @BotFather says; the words of most descriptions.
"""
