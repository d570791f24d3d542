// Drives SillyTavern's own page: `await prepareOracle()` once, then `await runCase(given)` for each case.
// Everything the page would ask a network for is answered here; whatever is a decision stays SillyTavern's.
async () => {
    const [st, world, openai, power, extensions] = await Promise.all([
        import('/script.js'),
        import('/scripts/world-info.js'),
        import('/scripts/openai.js'),
        import('/scripts/power-user.js'),
        import('/scripts/extensions.js'),
    ]);
    for (let waited = 0; !st.settingsReady && waited < 600; waited++) {
        await new Promise((done) => setTimeout(done, 100));
    }
    const seen = { messages: null, activated: [], faults: [], reply: '' };

    const utf16Quarters = (value) => Math.ceil(value.length / 4);
    const countMessage = (message) => 3 + Object.values(message)
        .filter((value) => typeof value === 'string')
        .reduce((sum, value) => sum + utf16Quarters(value), 0);

    const realFetch = window.fetch.bind(window);
    const answer = (body) => new Response(JSON.stringify(body), {
        status: 200, headers: { 'Content-Type': 'application/json' },
    });
    window.fetch = async (input, init) => {
        const address = String(input?.url ?? input);
        if (address.includes('/chat-completions/generate')) {
            seen.messages = JSON.parse(init.body).messages;
            return answer({ choices: [{ message: { role: 'assistant', content: seen.reply } }] });
        }
        return init?.method === 'POST' ? answer({ result: 'ok' }) : realFetch(input, init);
    };
    window.jQuery.ajax = (options) => {
        const body = options?.data ? JSON.parse(options.data) : [];
        const count = { token_count: Array.isArray(body) ? body.reduce((sum, each) => sum + countMessage(each), 0) : 0 };
        options?.success?.(count);
        return Promise.resolve(count);
    };
    for (const level of ['log', 'debug', 'info', 'warn', 'trace', 'table', 'group', 'groupCollapsed', 'groupEnd']) {
        console[level] = () => {};
    }
    console.error = (...told) => seen.faults.push(told.map((each) => String(each?.stack ?? each)).join(' ').slice(0, 300));
    for (const kind of ['error', 'warning', 'info', 'success']) {
        window.toastr[kind] = (text) => { if (kind === 'error') seen.faults.push(String(text)); };
    }
    Math.random = () => 0.5;
    window.jQuery.fx.off = true; // an animation would wait for a clock that stands
    window.$('#main_api').val('openai');
    st.changeMainAPI();
    st.setOnlineStatus('Valid');
    st.eventSource.on(st.event_types.WORLD_INFO_ACTIVATED, (entries) => {
        seen.activated = entries.map((entry) => `${entry.world}.${entry.uid}`);
    });

    const untouched = structuredClone({ openai: openai.oai_settings, power: {
        pin_examples: power.power_user.pin_examples,
        prefer_character_prompt: power.power_user.prefer_character_prompt,
        prefer_character_jailbreak: power.power_user.prefer_character_jailbreak,
    } });
    const put = (list, values) => list.splice(0, list.length, ...values);

    function characterOf(card) {
        const extensions = { depth_prompt: card.depth_prompt, world: card.world ?? '', talkativeness: '0.5', fav: false };
        const mirrored = ['name', 'description', 'personality', 'scenario', 'first_mes', 'mes_example'];
        const plain = Object.fromEntries(mirrored.map((field) => [field, card[field] ?? '']));
        return {
            ...plain, avatar: `${card.name}.png`, chat: 'oracle-chat', tags: card.tags ?? [],
            data: { ...card, extensions },
        };
    }

    function preparePreset(preset) {
        const settings = openai.oai_settings;
        for (const key of Object.keys(settings)) delete settings[key];
        Object.assign(settings, structuredClone(untouched.openai), structuredClone(preset), {
            chat_completion_source: 'openai', openai_model: 'gpt-4-turbo', stream_openai: false,
            function_calling: false, bias_preset_selected: '', show_thoughts: false, request_images: false,
        });
        const manager = openai.promptManager;
        manager.serviceSettings = settings;
        manager.activeCharacter = { id: 100001 };
        manager.configuration.promptOrder.strategy = 'global';
        manager.render = () => {};
        manager.sanitizeServiceSettings();
    }

    function prepareWorld(given) {
        world.worldInfoCache.clear?.();
        for (const book of given.books) {
            const entries = Object.fromEntries(book.entries.map((entry) => [entry.uid, entry]));
            world.worldInfoCache.set(book.name, { entries });
        }
        world.setWorldInfoSettings({ ...given.world_info, world_info_overflow_alert: false }, { world_names: [] });
        put(world.selected_world_info, given.books.filter((book) => book.kind === 'global').map((book) => book.name));
        const named = (kind) => given.books.filter((book) => book.kind === kind).map((book) => book.name);
        const [first, ...rest] = named('character');
        world.world_info.charLore = rest.length ? [{ name: given.card.name, extraBooks: rest }] : [];
        power.power_user.persona_description_lorebook = named('persona')[0] ?? '';
        return { first: first ?? '', chat: named('chat')[0] };
    }

    async function prepareCase(given) {
        const bound = prepareWorld(given);
        put(st.characters, [characterOf({ ...given.card, world: bound.first })]);
        st.setCharacterId('0');
        st.setCharacterName(given.card.name);
        st.setUserName(given.user, { toastPersonaNameChange: false });
        const persona = given.persona;
        Object.assign(power.power_user, untouched.power, given.power_user, {
            persona_description: persona.text, persona_description_position: persona.position,
            persona_description_depth: persona.depth, persona_description_role: persona.role,
            personas: {}, token_padding: 64, console_log_prompts: false, message_token_count_enabled: false,
        });
        extensions.extension_settings.note.allowWIScan = Boolean(given.scan_note);
        extensions.extension_settings.note.default = '';
        extensions.extension_settings.note.chara = [];
        extensions.extension_settings.variables = { global: {} };
        extensions.extension_settings.regex = [];
        preparePreset(given.preset);
        for (const key of Object.keys(st.extension_prompts)) delete st.extension_prompts[key];
        if (persona.position === 4 && persona.text) { // as showing the chat left it
            st.setExtensionPrompt('PERSONA_DESCRIPTION', persona.text, 1, persona.depth, true, persona.role);
        }
        const noNote = { note_prompt: '', note_interval: 1, note_position: 1, note_depth: 4, note_role: 0 }; // as loading does
        const metadata = { ...noNote, ...structuredClone(given.metadata) };
        window.document.getElementById('extension_floating_prompt').value = metadata.note_prompt;
        if (bound.chat) metadata[world.METADATA_KEY] = bound.chat;
        st.updateChatMetadata(metadata, true);
        put(st.chat, structuredClone(given.chat));
        window.document.getElementById('chat').replaceChildren();
    }

    async function runStep(step) {
        Object.assign(seen, { messages: null, activated: [], faults: [], reply: step.reply });
        window.document.getElementById('send_textarea').value = step.typed ?? '';
        const more = step.kind === 'quiet' ? { quiet_prompt: step.quiet_prompt } : {};
        const last = st.chat[st.chat.length - 1];
        if (step.kind === 'swipe' && last?.swipes) last.swipe_id = last.swipes.length; // as its arrow does first
        let refused = '';
        try {
            const late = new Promise((_, fail) => setTimeout(() => fail(new Error('took longer than 20 seconds')), 20000));
            await Promise.race([st.Generate(step.kind, more), late]);
        } catch (error) {
            refused = String(error?.stack ?? error).slice(0, 400);
        }
        st.activateSendButtons?.();
        return {
            messages: structuredClone(seen.messages), activated: [...seen.activated], faults: [...seen.faults], refused,
            chat: st.chat.map(({ name, mes, is_user, is_system, swipes, swipe_id, extra }) => ({
                name, mes, is_user: Boolean(is_user), is_system: Boolean(is_system), swipes, swipe_id,
                extra: { type: extra?.type },
            })),
            variables: structuredClone(st.chat_metadata.variables ?? {}),
            shared: structuredClone(extensions.extension_settings.variables?.global ?? {}),
        };
    }

    window.runCase = async (given) => {
        await prepareCase(given);
        const steps = [];
        for (const step of given.steps) steps.push(await runStep(step));
        return steps;
    };
    window.expandTexts = async (given) => {
        await prepareCase(given);
        return given.texts.map((text) => st.substituteParams(text));
    };
    return st.displayVersion;
}
