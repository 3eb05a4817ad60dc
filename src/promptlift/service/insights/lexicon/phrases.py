"""The phrases that the lexicon judge looks for, written from common sense.

Every phrase is lower case without punctuation other than the apostrophe and is found as whole words. The
lists were not fitted to any data: measured results are in the README.
"""

from __future__ import annotations

from typing import Final


def _phrases(lines: str) -> tuple[str, ...]:
    return tuple(
        f" {phrase.strip()} " for line in lines.splitlines() for phrase in line.split(",") if phrase.strip()
    )


# Negations that turn a following phrase into its opposite.
NEGATIONS: Final = tuple(
    phrase.rstrip()
    for phrase in _phrases("""
    not, cannot, can't, can not, isn't, is not, wasn't, won't, never, unable to, not able to, aren't able to, not allowed to
""")
)

# The user's side.
THANKS: Final = _phrases("""
    thanks, thank you, thx, ty, cheers, much appreciated, appreciate it, appreciate that, appreciate your help,
    grateful, you've been helpful, you have been helpful, you've been very helpful, you've been a great help
""")
SOLVED: Final = _phrases("""
    that works, that worked, this works, this worked, it works, it worked, works now, works for me, working now,
    that solved, that solves, solved it, problem solved, issue resolved, that's resolved, that fixed, that fixes,
    fixed it, it's fixed, is fixed now, got it working, that did it, that did the trick, all set, all sorted, sorted now,
    exactly what i needed, exactly what i wanted, exactly what i was looking for, just what i needed,
    just what i wanted, what i was looking for, that answers my question, that answers it, answered my question,
    that helps, that helped, very helpful, so helpful, super helpful, that's perfect, that is perfect, it's perfect,
    perfect, that's great, that is great, that sounds great, sounds perfect, sounds great, wonderful, excellent
""")
FAREWELLS: Final = _phrases("""
    that's all, that is all, that's it, that will be all, that'll be all, that's everything, that is everything,
    nothing else, nothing more, no more questions, i'm good, i am good, i'm all set, goodbye, good bye, bye,
    see you, take care, have a good day, have a nice day, have a great day, have a good one, good night
""")
NOT_SOLVED: Final = _phrases("""
    not what i asked, not what i wanted, not what i meant, not what i need, not what i said, isn't what i asked,
    isn't what i wanted, wasn't what i asked, didn't ask for that, did not ask for that, didn't answer my question,
    did not answer my question, doesn't answer my question, does not answer my question, haven't answered,
    still not working, still isn't working, still doesn't work, still does not work, still broken,
    still not fixed, still not resolved, still can't, still cannot, doesn't work, does not work, didn't work,
    did not work, not working, doesn't help, does not help, didn't help, did not help, not helpful, isn't helpful,
    unhelpful, no help, same error, same problem, same issue, that's wrong, that is wrong, this is wrong, it's wrong,
    that's not right, that is not right, that's incorrect, that is incorrect, that's not correct,
    that is not correct, you're wrong, you are wrong, you misunderstood, you don't understand,
    you do not understand, you're not listening, you are not listening, makes no sense, doesn't make sense
""")
GIVES_UP: Final = _phrases("""
    forget it, forget about it, never mind, nevermind, i give up, giving up, waste of time, wasting my time,
    go somewhere else, going somewhere else, go elsewhere, going elsewhere, take my business elsewhere,
    i'll find someone else, i will find someone else, i'll do it myself, i will do it myself, useless,
    this is ridiculous, that's ridiculous, this is pointless, this is hopeless, you can't help me,
    you cannot help me, i'm done with this, i am done with this
""")
WANTS_A_PERSON: Final = _phrases("""
    real person, real human, human agent, human being, human representative, human operator, live agent,
    live person, live representative, actual person, actual human, a human, speak to someone, speak with someone,
    talk to someone, talk with someone, speak to a person, talk to a person, speak to an agent, talk to an agent,
    speak with an agent, speak to a representative, talk to a representative, speak with a representative,
    speak to a manager, speak with a manager, talk to a manager, speak to your manager, your supervisor,
    a supervisor, transfer me, connect me to, connect me with, escalate this
""")
REPEATS: Final = _phrases("""
    i already told you, i already said, i already asked, i already explained, i already gave, i've already told,
    i've already said, i've already asked, i've already explained, i have already told, i have already said,
    as i said, like i said, as i told you, as i mentioned, like i mentioned, i just told you, i just said,
    i told you, asked you already, asked twice, told you twice, once again i, i repeat, repeat myself,
    repeating myself, i'll ask again, i will ask again, asking again, for the third time, for the second time,
    how many times
""")
# Anger at the assistant, its answers or its company. Sad or broken things and terrible films do not count.
UPSET: Final = _phrases("""
    frustrating, frustrated, so annoying, really annoying, very annoying, annoyed, i'm angry, i am angry, so angry, furious, upset,
    ridiculous, unacceptable, not acceptable, disappointed, disappointing, outrageous, fed up, sick of this, tired of this, had enough,
    waste of my time, wasting my time, not happy, unhappy, bullshit, why the hell, what the hell, that's stupid, this is stupid, this is a joke,
    this is the worst, this is the most, this is horrible, this is terrible, this is awful, worst service, terrible service,
    horrible service, awful service, bad service, worst experience, terrible experience, horrible experience
""")

# The assistant's side.
CANNOT: Final = _phrases("""
    i can't, i cannot, i can not, i'm unable, i am unable, i'm not able, i am not able, we can't, we cannot, we're unable,
    we are unable, we're not able, we are not able, isn't possible, is not possible, not possible to,
    i don't have access, i do not have access, i don't have the ability, i do not have the ability,
    don't have that information, do not have that information, don't have information, do not have information,
    i'm not allowed, i am not allowed, cannot be processed, can't be processed, i couldn't find, i could not find,
    as an ai, outside my capabilities, beyond my capabilities, i don't know, i do not know
""")
FAILED: Final = _phrases("""
    something went wrong, an error occurred, ran into an error, encountered an error, got an error, there was an error,
    there was a problem, there was an issue, failed to, has failed, was unsuccessful, not successful,
    didn't go through, did not go through, was declined, has been declined, was rejected, timed out,
    technical difficulties, system is down, currently unavailable
""")
HANDED_OVER: Final = _phrases("""
    transfer you, transferring you, transferred you, you are being transferred, you're being transferred,
    been transferred to, connect you to, connect you with, connecting you, connected you, hand you over,
    handing you over, escalate this, escalating this, escalated this, escalated your, a human agent will,
    a specialist will, someone will contact you, someone will get back
""")
DONE: Final = _phrases("""
    successfully, has been booked, have been booked, is booked, are booked, i've booked, i have booked,
    has been reserved, is reserved, i've reserved, i have reserved, has been confirmed, is confirmed,
    is now confirmed, has been completed, is complete, is now complete, have completed, i've completed,
    has been processed, have been processed, i've processed, i have processed, has been updated, have been updated,
    i've updated, i have updated, has been changed, have been changed, i've changed, i have changed,
    has been cancelled, has been canceled, have been cancelled, have been canceled, i've cancelled, i've canceled,
    i have cancelled, i have canceled, has been refunded, have refunded, i've refunded, has been sent,
    have been sent, i've sent, i have sent, has been added, i've added, i have added, has been created, i've created,
    i have created, has been fixed, i've fixed, has been reset, i've reset, has been set up, is set up, is all set,
    you're all set, you are all set, has been scheduled, is scheduled, i've scheduled, i have scheduled,
    has been submitted, i've submitted, has been resolved, is resolved, has been applied, i've applied, here you go
""")
ANYTHING_ELSE: Final = _phrases("""
    anything else, any other questions, something else i can, any further questions, glad i could help, happy to help,
    glad to help, you're welcome, you are welcome, my pleasure, have a great day, have a nice day, have a good day,
    enjoy your, have a wonderful day
""")
