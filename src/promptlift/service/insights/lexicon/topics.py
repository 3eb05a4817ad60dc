"""Find the topics of a conversation: a fixed list, matched by the user's words.

The list is fixed so that topics of many conversations can be counted. A conversation outside the list gets up
to two words that its user wrote in at least two turns, or else no topic.
"""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from promptlift.service.insights.turns import JudgedTurn


TOPICS_MAX: Final = 3
OWN_WORDS_MAX: Final = 2
OWN_WORD_TURNS: Final = 2
OWN_WORD_LETTERS: Final = range(4, 21)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Each topic, and the words that indicate it.
_KEYWORDS: Final = """
    refund: refund refunds refunded reimburse reimbursed reimbursement chargeback
    return or exchange: return returning returned exchange exchanging replacement replace
    cancellation: cancel cancels cancelled canceled cancelling canceling cancellation unsubscribe
    billing and payment: bill billing billed invoice invoices charge charged charges payment payments pay paid card overcharged
    price and offers: price prices pricing cost costs cheap cheaper cheapest discount coupon voucher promo
    order: order orders ordered ordering purchase purchased buy bought cart checkout
    delivery: delivery deliver delivered shipping shipment shipped ship package parcel tracking courier
    booking: book booking booked reserve reserved reservation reservations appointment schedule
    travel: flight flights airline airport hotel hotels trip travel train bus baggage luggage seat passenger
    food and restaurants: restaurant restaurants food meal dinner lunch breakfast recipe cook cooking menu
    films and series: movie movies film films actor actress director trailer netflix cinema episode
    music and events: music song songs album band concert concerts festival ticket tickets event events
    sports: football soccer basketball baseball tennis hockey nfl nba league match stadium
    weather: weather forecast temperature rain raining snow humidity
    account and access: account login log-in signin password username profile locked verification authenticate
    technical problem: error errors bug crash crashes crashed broken freeze frozen glitch troubleshoot install
    programming: code python javascript java function sql api script compile debug regex database
    writing: essay email letter rewrite paragraph translate translation summarize summary proofread
    banking and money: bank transfer balance loan mortgage savings deposit withdraw interest
    insurance: insurance policy coverage claim claims premium
    health: doctor dentist therapist hospital medicine medication symptom symptoms pain health prescription
    home and property: apartment house rent rental landlord lease bedroom property
    vehicles and rides: car cars taxi cab ride vehicle uber driver rental
    phone and internet: phone mobile sim roaming broadband wifi internet router data network
    subscription and plan: subscription subscribe plan plans upgrade downgrade renew renewal membership
    opening hours and contact: hours opening address phone contact location directions
"""
KEYWORDS: Final[dict[str, frozenset[str]]] = {
    topic.strip(): _words(words)
    for topic, _, words in (line.partition(":") for line in _KEYWORDS.strip().splitlines())
}
_TOPICS_OF: Final[dict[str, tuple[str, ...]]] = {
    word: tuple(topic for topic, words in KEYWORDS.items() if word in words)
    for words in KEYWORDS.values()
    for word in words
}

# Words that indicate no topic.
_COMMON: Final = _words(
    """about above actually after again already also although always another anybody anyone anything around because
    been before being below better between both can't could couldn't does doesn't doing don't done down during each
    either else even ever every everything fine first from further getting give gives goes going gonna good great
    hasn't have haven't having hello help here hers how's however i'll i've i'd into isn't it's just kind know last let's
    like liked likes little long looking look made make many maybe mean more most much must need needs never next nice
    none nothing okay once only other others over perfect please prefer pretty probably quite rather really right
    said same says seem seems should shouldn't since some somebody someone something sometimes soon sorry sounds still
    such sure take talk tell than thank thanks that that's their them then there there's these they they're thing
    things think this those though through time today together told tomorrow took trying under until upon used using
    very wait want wanted wants wasn't watch well went were what what's when where which while will with won't work
    would wouldn't wow yeah year years your you're yours yourself different someone somewhere interesting love
    heard seen great best find show thought believe guess agree awesome cool haha definitely people lot lots"""
)


def find_topics(turns: Sequence[JudgedTurn], *, excluded: Collection[str] = ()) -> tuple[str, ...]:
    """Return up to ``TOPICS_MAX`` topics, the most mentioned first.

    Parameters
    ----------
    turns
        The conversation; only the user's turns are read, and a word counts once per turn.
    excluded
        Single words that may neither be nor indicate a topic.
    """
    said = [turn for turn in turns if turn.speaker == "user"]
    topics: Counter[str] = Counter()
    for turn in said:
        hints = (_TOPICS_OF.keys() & turn.vocabulary).difference(excluded)
        topics.update({topic for word in hints for topic in _TOPICS_OF[word]})
    if topics:
        # Equal counts are in the order of the list: the answer must be deterministic.
        places = {topic: place for place, topic in enumerate(KEYWORDS)}
        ranked = sorted(topics, key=lambda topic: (-topics[topic], places[topic]))
        return tuple(ranked[:TOPICS_MAX])
    heard: Counter[str] = Counter()
    for turn in said:
        heard.update(list(dict.fromkeys(word for word in turn.words.split() if word not in excluded)))
    own = (
        word
        for word, count in heard.most_common()
        if count >= OWN_WORD_TURNS
        and len(word) in OWN_WORD_LETTERS
        and word.isalpha()
        and word not in _COMMON
    )
    return tuple(islice(own, OWN_WORDS_MAX))
