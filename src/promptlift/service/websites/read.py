"""Read a company's website and say what it says about the company."""

from __future__ import annotations

import secrets
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from promptlift.service.llm.failures import Cancelled, LlmError
from promptlift.service.llm.hostile_text import storable_line
from promptlift.service.websites.company_request import ask_about_company
from promptlift.service.websites.main_text import main_text
from promptlift.service.websites.own_words import own_words
from promptlift.service.websites.page_text import read_page
from promptlift.service.websites.visit import UnreadableWebsite, full_url, visit

if TYPE_CHECKING:
    from collections.abc import Callable

    from promptlift.service.llm.calls import Calls
    from promptlift.service.net.client import GuardedClient
    from promptlift.service.websites.company import Company
    from promptlift.service.websites.page_text import PageText

__all__ = ["WORDS", "CompanyReading", "Websites"]

WORDS: Final = "words"
"""``analyser`` where the words of the page itself were taken."""
# Together with the visit less than clients wait for an answer.
MODEL_SECONDS: Final = 25.0


@dataclass(frozen=True, slots=True)
class CompanyReading:
    """What was read, and how.

    Attributes
    ----------
    analyser
        ``llm:`` and the name of the model, or ``words``.
    tokens
        Tokens that the model used up, also where its answer could not be used.
    problem
        Why the model did not read the page; ``None`` where it did, or there is none.
    """

    company: Company
    url: str
    analyser: str
    tokens: int = 0
    problem: str | None = None


class Websites:
    """Read companies' websites.

    Parameters
    ----------
    net
        Sends the requests.
    new_calls
        Return a new job's view of the language model; ``None`` without one.
    model_seconds
        How long the model may take; then the words of the page itself are taken.
    """

    def __init__(
        self,
        net: GuardedClient,
        new_calls: Callable[[], Calls | None],
        *,
        model_seconds: float = MODEL_SECONDS,
    ) -> None:
        self._net = net
        self._new_calls = new_calls
        self._model_seconds = model_seconds

    def read(self, url: str, *, no_model: str | None = None) -> CompanyReading:
        """Read a website; the model says what it says, or the words of the page itself do.

        Parameters
        ----------
        no_model
            Why the model may not be asked; ``None`` where it may.

        Raises
        ------
        UnreadableWebsite
            Says why.
        """
        page = visit(self._net, full_url(url))
        text = read_page(page.html)
        if not (text.paragraphs or text.descriptions):
            raise UnreadableWebsite("has no text that can be read without running its scripts")
        if (main := main_text(page.html, text.paragraphs)) is not None:
            text.paragraphs = main
        calls = self._new_calls()
        if calls is None or no_model is not None:
            return CompanyReading(
                own_words(text), page.url, WORDS, problem=None if calls is None else no_model
            )
        return self._ask(calls, text, page.url)

    def _ask(self, calls: Calls, text: PageText, url: str) -> CompanyReading:
        watch = threading.Timer(self._model_seconds, calls.cancel)
        watch.daemon = True
        watch.start()
        try:
            company, model = ask_about_company(calls, text, seed=secrets.randbits(128))
        except Cancelled:
            problem = f"the language model did not answer within {self._model_seconds:g} seconds"
        except LlmError as error:
            problem = storable_line(str(error), 500)
        else:
            return CompanyReading(company, url, f"llm:{model}", calls.tokens)
        finally:
            watch.cancel()
        return CompanyReading(own_words(text), url, WORDS, calls.tokens, problem)
