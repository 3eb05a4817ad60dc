"""Conversations made from templates: topics that are known, in four languages, for tests of what is found in them."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd

from promptlift.analysis.atlas import Atlas

# Templates, then what fills them; {0} and {1} are drawn anew each time.
TEMPLATES = {
    "English": {
        "refund": ["I want my {0} back for the {1}", "Please send the {0} for my {1} to the card", "Where is the {0} of the {1} I returned"],
        "password": ["I forgot the {0} of my {1}", "My {1} does not take the {0} any more", "How do I reset the {0} for this {1}"],
        "delivery": ["When will the {0} bring my {1}", "The {0} with the {1} is late again", "Please track the {0} that has my {1}"],
        "subscription": ["Cancel the {0} and its {1}", "I would like to end my {0} before the {1}", "Stop the {1} of my {0} at once"],
    },
    "German": {
        "refund": ["Ich möchte die {0} für das {1} zurück", "Bitte senden Sie die {0} für mein {1}", "Wo bleibt die {0} für das zurückgeschickte {1}"],
        "password": ["Ich habe das {0} für mein {1} vergessen", "Mein {1} nimmt das {0} nicht mehr an", "Wie setze ich das {0} für dieses {1} neu"],
        "delivery": ["Wann bringt der {0} mein {1}", "Der {0} mit dem {1} kommt wieder zu spät", "Bitte verfolgen Sie den {0} mit meinem {1}"],
        "subscription": ["Kündigen Sie das {0} und die {1}", "Ich möchte mein {0} vor der {1} beenden", "Beenden Sie die {1} für mein {0} sofort"],
    },
    "Spanish": {
        "refund": ["Quiero el {0} por el {1}", "Por favor envíe el {0} de mi {1}", "Dónde está el {0} del {1} que devolví"],
        "password": ["Olvidé la {0} de mi {1}", "Mi {1} ya no acepta la {0}", "Cómo cambio la {0} para este {1}"],
        "delivery": ["Cuándo trae el {0} mi {1}", "El {0} con el {1} llega tarde otra vez", "Por favor busque el {0} que lleva mi {1}"],
        "subscription": ["Cancele la {0} y su {1}", "Quisiera terminar mi {0} antes de la {1}", "Pare la {1} de mi {0} ahora"],
    },
    "Japanese": {
        "refund": ["{1}の{0}をお願いします", "返した{1}の{0}はどこですか", "{1}を買いましたが{0}してください"],
        "password": ["{1}の{0}を忘れました", "{1}で{0}が使えません", "この{1}の{0}を変えたいです"],
        "delivery": ["{0}はいつ{1}を届けますか", "{1}の{0}がまた遅れています", "{1}がある{0}を調べてください"],
        "subscription": ["{0}と{1}を止めてください", "{1}の前に{0}をやめたいです", "すぐに{0}の{1}を終わらせてください"],
    },
}  # fmt: skip
FILLERS = {
    "English": {
        "refund": (["refund", "money", "payment"], ["jacket", "shoes", "lamp", "trousers"]),
        "password": (["password", "passcode", "pin"], ["account", "login", "profile", "user"]),
        "delivery": (["courier", "van", "carrier"], ["parcel", "package", "box", "shipment"]),
        "subscription": (["subscription", "plan", "membership"], ["renewal", "invoice", "billing", "trial"]),
    },
    "German": {
        "refund": (["Erstattung", "Zahlung", "Summe"], ["Hemd", "Kleid", "Lampenset", "Sakko"]),
        "password": (["Passwort", "Kennwort", "Losungswort"], ["Konto", "Profil", "Postfach", "Benutzerkonto"]),
        "delivery": (["Kurier", "Bote", "Lieferdienst"], ["Paket", "Päckchen", "Bündel", "Frachtgut"]),
        "subscription": (["Abo", "Abonnement", "Probeabo"], ["Verlängerung", "Rechnung", "Abbuchung", "Gebühr"]),
    },
    "Spanish": {
        "refund": (["reembolso", "dinero", "pago"], ["vestido", "zapato", "abrigo", "pantalón"]),
        "password": (["contraseña", "clave", "palabra"], ["cuenta", "usuario", "perfil", "correo"]),
        "delivery": (["mensajero", "camión", "repartidor"], ["paquete", "envío", "sobre", "bulto"]),
        "subscription": (["suscripción", "tarifa", "membresía"], ["renovación", "factura", "cuota", "prueba"]),
    },
    "Japanese": {
        "refund": (["返金", "払い戻し", "返金手続"], ["上着", "靴", "照明器具", "ズボン"]),
        "password": (["パスワード", "暗証番号", "合言葉"], ["アカウント", "会員画面", "利用者名", "ログイン"]),
        "delivery": (["宅配便", "配達員", "運送会社"], ["荷物", "小包", "段ボール", "商品"]),
        "subscription": (["定期購読", "会員契約", "月額プラン"], ["更新", "請求書", "自動引落", "試用期間"]),
    },
}  # fmt: skip

APOLOGIES = [
    "Sorry, the {} is unreachable today",
    "The {} could not be found, sorry",
    "I am sorry, no {} is connected",
]
THANKS = ["Done, your {} is on its way", "All set, the {} was changed", "I have arranged the {} for you"]
THINGS = ["warehouse", "ledger", "gateway"]


def conversation(*turns: tuple[str, str]) -> str:
    """Write turns as the content of a conversation."""
    return json.dumps(
        {"messages": [{"role": role, "content": text} for role, text in turns]}, ensure_ascii=False
    )


def asked(language: str, topic: str, rng: np.random.Generator) -> list[str]:
    """Draw three turns of a user about a topic."""
    first, second = FILLERS[language][topic]
    templates = rng.choice(TEMPLATES[language][topic], 3)
    return [str(one).format(rng.choice(first), rng.choice(second)) for one in templates]


def table_of(contents: list[str], **columns: object) -> pd.DataFrame:
    """Return conversations as a table."""
    return pd.DataFrame(
        {"conversation_id": [f"c{at}" for at in range(len(contents))], "content": contents, **columns}
    )


def topical(language: str, n: int, *, seed: int = 0, shuffled: bool = False) -> pd.DataFrame:
    """Return conversations of four topics with their ``truth``; shuffled, as many of each word and no topics."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(list(TEMPLATES[language]), n)
    texts = [" . ".join(asked(language, topic, rng)) for topic in truth]
    if shuffled:
        words = rng.permutation(" ".join(texts).split(" "))
        texts = [" ".join(some) for some in np.array_split(words, n)]
    return table_of([conversation(("user", text), ("assistant", "…")) for text in texts], truth=truth)


def logged(n: int, *, seed: int = 0, failures: bool = True) -> pd.DataFrame:
    """Return conversations of three topics that end with an apology or not; with ``failures``, the apologies fail."""
    rng = np.random.default_rng(seed)
    contents, done = [], []
    for at in range(n):
        sorry = rng.random() < 0.3
        turns = [("user", text) for text in asked("English", ["refund", "password", "delivery"][at % 3], rng)]
        answer = str(rng.choice(APOLOGIES if sorry else THANKS)).format(rng.choice(THINGS))
        ask = [("assistant", "Let me look at that."), turns[1], ("assistant", answer), ("user", "bye then")]
        contents.append(conversation(turns[0], *ask))
        done.append(rng.random() < ((0.1 if sorry else 0.9) if failures else 0.7))
    return table_of(
        contents, task_completed=pd.array(done, dtype="boolean"), basis="outcome", apology=[0] * n
    )


def weeks(before: list[float], after: list[float], n: int, rng: np.random.Generator) -> Atlas:
    """Draw two weeks of so many conversations from these shares of topics; the second begins on 8 January 2026."""
    drawn = np.concatenate([rng.choice(len(shares), n, p=shares) for shares in (before, after)])
    table = table_of(
        [""] * (2 * n),
        created_at=pd.Timestamp("2026-01-01T12:00Z") + pd.to_timedelta(np.repeat([0, 7], n), unit="D"),
    )
    topics = pd.DataFrame(
        {"cluster": np.arange(1, len(before) + 1), "name": [f"topic {at}" for at in range(len(before))]}
    )
    assigned = table[["conversation_id"]].assign(cluster=pd.array(drawn + 1, dtype="Int64"))
    return Atlas(topics, assigned, table)


WEEKS = (("2026-01-01", "2026-01-08"), ("2026-01-08", "2026-01-15"))


def agreement(one: object, other: object) -> tuple[float, float]:
    """Return the V-measure and the adjusted Rand index of two partitions."""
    codes, others = pd.factorize(pd.Series(one))[0] + 1, pd.factorize(pd.Series(other))[0] + 1
    both = pd.crosstab(codes, others).to_numpy(np.float64)
    n, rows, columns = both.sum(), both.sum(axis=1), both.sum(axis=0)

    def entropy(counts: np.ndarray) -> float:
        part = counts[counts > 0] / n
        return float(-(part * np.log(part)).sum())

    def pairs(counts: np.ndarray) -> float:
        return float((counts * (counts - 1) / 2).sum())

    apart = entropy(rows) + entropy(columns)
    v = 2 * (apart - entropy(both)) / apart if apart else 1.0
    chance, most = pairs(rows) * pairs(columns) / pairs(n), (pairs(rows) + pairs(columns)) / 2
    return v, (pairs(both) - chance) / (most - chance) if most != chance else 1.0
