"""Read a company's website and say what it says about the company."""

from __future__ import annotations

import secrets
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from promptlift.service.llm.failures import Cancelled, LlmError
from promptlift.service.llm.hostile_text import storable_line
from promptlift.service.websites.company import Company, ask_about_company, harmless_sentences
from promptlift.service.websites.page import read_page
from promptlift.service.websites.visit import UnreadableWebsite, full_url, visit

if TYPE_CHECKING:
    from collections.abc import Callable

    from promptlift.service.llm.calls import Calls
    from promptlift.service.net.client import GuardedClient
    from promptlift.service.websites.page import PageText


WORDS: Final = "words"
"""``analyser`` where no model read the page: its own words are the objectives, and the rest is empty."""
_NO_MODEL: Final = "No language model is configured"
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
        Why no model read the page; ``None`` where one did.
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
        How long the model may take.
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
        """Read a website and let the model say what it says about the company.

        Without a model the page's own words are kept.

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
        calls = self._new_calls()
        if calls is None:
            return _own_words(text, page.url, _NO_MODEL)
        if no_model is not None:
            return _own_words(text, page.url, no_model)
        return self._ask(calls, text, page.url)

    def _ask(self, calls: Calls, text: PageText, url: str) -> CompanyReading:
        watch = threading.Timer(self._model_seconds, calls.cancel)
        watch.daemon = True
        watch.start()
        try:
            company, model = ask_about_company(calls, text, seed=secrets.randbits(128))
        except Cancelled:
            problem = f"The language model did not answer within {self._model_seconds:g} seconds"
        except LlmError as error:
            problem = storable_line(str(error), 500)
        else:
            return CompanyReading(company, url, f"llm:{model}", calls.tokens)
        finally:
            watch.cancel()
        return _own_words(text, url, problem, calls.tokens)


def _own_words(text: PageText, url: str, problem: str, tokens: int = 0) -> CompanyReading:
    said = harmless_sentences(" ".join(text.descriptions[:1] or text.paragraphs))
    problem = f"{problem.rstrip('.')}. Industry and KPIs need a language model."
    return CompanyReading(Company(objectives=said), url, WORDS, tokens, problem)
