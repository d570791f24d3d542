"""What token counts are measured on: two texts for each language, one to set the weights by and one to judge them."""

from __future__ import annotations

SAMPLES: dict[str, tuple[str, str]] = {
    "English": (
        "The kettle had been singing for a while before anybody noticed that the rain had stopped. Mira put two cups on "
        "the sill, looked down the street, and said that she would rather walk to the harbour than wait for the last "
        "bus. \"You always say that,\" Tom answered, \"and then we sit here until it is dark.\" She laughed, took her "
        "coat, and left the door open behind her.",
        "Yesterday I told you about my sister's bakery, didn't I? She opens at five, so I usually bring her coffee on my "
        "way to the night shift. This week she is trying out a rye bread with caraway and a little honey. I think it's "
        "wonderful, although the neighbours prefer the plain one. Could you remind me on Friday to order flour?",
    ),
    "German": (
        "Als der Regen endlich nachließ, öffnete Mira das Küchenfenster und stellte zwei Tassen auf die Fensterbank. Sie "
        "wollte lieber zu Fuß zum Hafen gehen, als noch eine halbe Stunde auf den letzten Bus zu warten. „Das sagst du "
        "jedes Mal“, antwortete Tom, „und am Ende sitzen wir hier, bis es dunkel wird.“ Sie lachte und nahm ihren Mantel.",
        "Gestern habe ich dir von der Bäckerei meiner Schwester erzählt, oder? Sie macht um fünf Uhr auf, deshalb bringe "
        "ich ihr meistens auf dem Weg zur Nachtschicht einen Kaffee vorbei. Diese Woche probiert sie ein Roggenbrot mit "
        "Kümmel und etwas Honig aus. Kannst du mich am Freitag daran erinnern, Mehl zu bestellen?",
    ),
    "French": (
        "Quand la pluie s'est enfin arrêtée, Mira a ouvert la fenêtre de la cuisine et a posé deux tasses sur le rebord. "
        "Elle préférait marcher jusqu'au port plutôt que d'attendre encore le dernier bus. « Tu dis toujours ça, a "
        "répondu Tom, et puis nous restons assis ici jusqu'à la nuit. » Elle a ri, a pris son manteau et est sortie.",
        "Hier, je t'ai parlé de la boulangerie de ma sœur, n'est-ce pas ? Elle ouvre à cinq heures, alors je lui apporte "
        "souvent un café en allant travailler. Cette semaine, elle essaie un pain de seigle au cumin avec un peu de miel. "
        "Pourrais-tu me rappeler vendredi de commander de la farine ?",
    ),
    "Spanish": (
        "Cuando por fin dejó de llover, Mira abrió la ventana de la cocina y puso dos tazas en el alféizar. Prefería ir "
        "andando hasta el puerto antes que esperar media hora más al último autobús. «Siempre dices lo mismo», contestó "
        "Tom, «y al final nos quedamos aquí sentados hasta que anochece». Ella se rió, cogió el abrigo y salió.",
        "Ayer te hablé de la panadería de mi hermana, ¿verdad? Abre a las cinco, así que normalmente le llevo un café de "
        "camino al turno de noche. Esta semana está probando un pan de centeno con comino y un poco de miel. ¿Podrías "
        "recordarme el viernes que pida harina?",
    ),
    "Polish": (
        "Kiedy deszcz wreszcie ustał, Mira otworzyła okno w kuchni i postawiła na parapecie dwie filiżanki. Wolała pójść "
        "pieszo do portu, niż czekać jeszcze pół godziny na ostatni autobus. „Zawsze tak mówisz”, odpowiedział Tomek, „a "
        "potem siedzimy tu, aż się ściemni”. Zaśmiała się, wzięła płaszcz i zostawiła otwarte drzwi.",
        "Wczoraj opowiadałem ci o piekarni mojej siostry, prawda? Otwiera o piątej, więc zwykle przynoszę jej kawę w "
        "drodze na nocną zmianę. W tym tygodniu próbuje upiec chleb żytni z kminkiem i odrobiną miodu. Możesz mi w "
        "piątek przypomnieć, żebym zamówił mąkę?",
    ),
    "Russian": (
        "Когда дождь наконец прекратился, Мира открыла кухонное окно и поставила на подоконник две чашки. Ей больше "
        "хотелось пройтись пешком до гавани, чем ещё полчаса ждать последний автобус. «Ты всегда так говоришь, — "
        "ответил Том, — а потом мы сидим здесь до темноты». Она засмеялась, взяла пальто и вышла.",
        "Вчера я рассказывал тебе о пекарне моей сестры, правда? Она открывается в пять утра, поэтому по дороге на "
        "ночную смену я обычно приношу ей кофе. На этой неделе она пробует печь ржаной хлеб с тмином и мёдом. Можешь "
        "напомнить мне в пятницу, чтобы я заказал муку?",
    ),
    "Arabic": (
        "عندما توقف المطر أخيرًا، فتحت ميرا نافذة المطبخ ووضعت فنجانين على الحافة. كانت تفضل أن تمشي إلى الميناء على أن "
        "تنتظر الحافلة الأخيرة نصف ساعة أخرى. أجابها توم: أنت تقولين هذا دائمًا، ثم نجلس هنا حتى يحل الظلام. ضحكت وأخذت "
        "معطفها وخرجت وتركت الباب مفتوحًا.",
        "حدثتك أمس عن مخبز أختي، أليس كذلك؟ تفتح في الساعة الخامسة، لذلك أحمل إليها القهوة عادة وأنا في طريقي إلى العمل "
        "الليلي. تجرب هذا الأسبوع خبز الجاودار مع الكراوية وقليل من العسل. هل يمكنك أن تذكرني يوم الجمعة بطلب الدقيق؟",
    ),
    "Hindi": (
        "जब बारिश आख़िरकार रुक गई, तो मीरा ने रसोई की खिड़की खोली और दो प्याले वहाँ रख दिए। वह आख़िरी बस का आधा घंटा और इंतज़ार करने के "
        "बजाय बंदरगाह तक पैदल जाना चाहती थी। टॉम ने कहा, तुम हमेशा यही कहती हो और फिर हम अँधेरा होने तक यहीं बैठे रहते हैं।",
        "कल मैंने तुम्हें अपनी बहन की बेकरी के बारे में बताया था, है ना? वह सुबह पाँच बजे खोलती है, इसलिए मैं काम पर जाते समय उसके लिए "
        "कॉफ़ी ले जाता हूँ। इस हफ़्ते वह थोड़े शहद के साथ नई रोटी बना रही है। क्या तुम मुझे शुक्रवार को आटा मँगवाने की याद दिला सकते हो?",
    ),
    "Thai": (
        "เมื่อฝนหยุดตกในที่สุด มีราก็เปิดหน้าต่างห้องครัวและวางถ้วยสองใบไว้บนขอบหน้าต่าง เธออยากเดินไปที่ท่าเรือมากกว่าจะรอรถเมล์เที่ยวสุดท้ายอีกครึ่งชั่วโมง ทอมตอบว่า "
        "เธอพูดแบบนี้ทุกครั้ง แล้วเราก็นั่งอยู่ตรงนี้จนมืด เธอหัวเราะแล้วหยิบเสื้อคลุมเดินออกไป",
        "เมื่อวานฉันเล่าเรื่องร้านขนมปังของพี่สาวให้เธอฟังแล้วใช่ไหม ร้านเปิดตั้งแต่ตีห้า ฉันเลยมักจะซื้อกาแฟไปฝากระหว่างทางไปทำงานกะดึก สัปดาห์นี้พี่สาวกำลังลองทำขนมปังใส่น้ำผึ้ง "
        "ช่วยเตือนฉันวันศุกร์ให้สั่งแป้งด้วยนะ",
    ),
    "Japanese": (
        "雨がようやく止むと、ミラは台所の窓を開けて、カップを二つ窓辺に置いた。最後のバスをあと三十分待つより、港まで歩いて行きたいと思っていた。"
        "「いつもそう言うけど、結局暗くなるまでここに座っているじゃないか」とトムが答えた。彼女は笑ってコートを取り、ドアを開けたまま出て行った。",
        "昨日、姉のパン屋の話をしましたよね。朝五時に開くので、夜勤に行く途中でよくコーヒーを届けています。今週はキャラウェイと少しの蜂蜜を入れた"
        "ライ麦パンを試しているそうです。金曜日に小麦粉を注文するのを思い出させてくれますか。",
    ),
    "Chinese": (
        "雨终于停了，米拉打开厨房的窗户，把两个杯子放在窗台上。她宁愿走路去港口，也不想再等半个小时的末班车。汤姆回答说：“你每次都这么说，结果我们还是"
        "在这里坐到天黑。”她笑了笑，拿起外套，没有关门就走了出去。",
        "昨天我跟你说过我姐姐的面包店，对吧？她早上五点开门，所以我去上夜班的路上常常给她带一杯咖啡。这个星期她在试做一种加了香菜籽和一点蜂蜜的黑麦面包。"
        "星期五你能提醒我订面粉吗？",
    ),
    "Korean": (
        "비가 드디어 그치자 미라는 부엌 창문을 열고 찻잔 두 개를 창가에 올려놓았다. 그녀는 마지막 버스를 삼십 분 더 기다리느니 차라리 항구까지 걸어가고 싶었다. "
        "톰이 대답했다. 너는 항상 그렇게 말하지만 결국 우리는 어두워질 때까지 여기 앉아 있잖아. 그녀는 웃으며 외투를 집어 들고 나갔다.",
        "어제 우리 언니 빵집 이야기를 했지요? 아침 다섯 시에 문을 열어서 야간 근무를 하러 가는 길에 보통 커피를 가져다줘요. 이번 주에는 꿀을 조금 넣은 호밀빵을 "
        "시험해 보고 있어요. 금요일에 밀가루를 주문하라고 알려 줄 수 있어요?",
    ),
    "code": (
        "def load(path: Path, *, limit: int = 4096) -> dict[str, object]:\n    with path.open(\"rb\") as file:\n"
        "        raw = file.read(limit + 1)\n    if len(raw) > limit:\n        raise ValueError(f\"{path}: too large\")\n"
        "    return {key: value for key, value in json.loads(raw).items() if not key.startswith(\"_\")}\n",
        "const rows = await db.query(`SELECT id, name FROM people WHERE age >= $1`, [18]);\nfor (const { id, name } of rows) {\n"
        "  if (!seen.has(id)) {\n    seen.set(id, { name, count: (seen.get(id)?.count ?? 0) + 1 });\n  }\n}\n"
        "export default function main(args) { return args.map((x) => x * 2).filter(Boolean); }\n",
    ),
    "chat": (
        "omg yes!! 😂😂 that was sooo good 🔥 see u at 7? bring 🍕 and the blue blanket 💙 *hugs* <3 lol",
        "haha nooo 😭 I can't tonight, got work at 6:30 😅 but maybe tmrw? 🎉 we could play till 2am again 👀✨ *waves*",
    ),
}
"""By language; `code` and `chat` are what people paste and how they write with emoji."""
