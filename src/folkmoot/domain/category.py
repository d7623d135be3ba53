"""What work is about: one of ten categories, found by the words that are used, or said by a person. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal, get_args

from folkmoot.domain.value import Value

CategoryId = Literal[
    "engineering_build", "infra_ops", "qa_validation", "planning_decision", "research_analysis",
    "docs_knowledge", "growth_marketing", "customer_community", "legal_compliance", "biz_strategy",
]  # fmt: skip
"""They stay as they are; finer grain is in `sub_tags`."""
LABELS: Mapping[CategoryId, str] = {
    "engineering_build": "development/implementation",
    "infra_ops": "infrastructure/operations",
    "qa_validation": "QA/verification",
    "planning_decision": "planning/decision",
    "research_analysis": "research/analysis",
    "docs_knowledge": "documents/knowledge",
    "growth_marketing": "growth/marketing",
    "customer_community": "customer/community",
    "legal_compliance": "legal/compliance",
    "biz_strategy": "business/strategy",
}
CATEGORIES: tuple[CategoryId, ...] = get_args(CategoryId)
SUB_TAGS = 3
GUESS = 0.2
"""The confidence where no word tells."""

_WORDS: Mapping[CategoryId, str] = {
    "engineering_build": "api backend bug build code coding compile feature fix frontend function implement"
    " implementation module parser patch refactor refactoring",
    "infra_ops": "alert backup ci cluster container deploy deployment docker incident infrastructure kubernetes latency"
    " migration monitoring outage pipeline rollback server terraform",
    "qa_validation": "acceptance coverage flaky qa regression reproduce test testing validate"
    " validation verification verify",
    "planning_decision": "backlog decide decision deadline estimate milestone plan planning prioritise prioritize"
    " priority roadmap schedule sprint vote",
    "research_analysis": "analyse analysis analyze benchmark compare comparison experiment explore hypothesis"
    " investigate research study survey",
    "docs_knowledge": "article changelog doc documentation docs document faq glossary guide handbook knowledge manual"
    " readme tutorial wiki",
    "growth_marketing": "ad ads advertising brand campaign funnel growth landing launch marketing newsletter press seo",
    "customer_community": "charged community complaint customer feedback forum invoice order refund reply subscription"
    " support ticket user",
    "legal_compliance": "audit compliance consent contract gdpr law legal liability licence license policy privacy"
    " regulation terms",
    "biz_strategy": "acquisition budget business competitor forecast investor market margin partnership pricing profit"
    " revenue strategy",
}
_KEYWORDS: Mapping[str, CategoryId] = {word: id for id, words in _WORDS.items() for word in words.split()}
_WORD = re.compile(r"[a-z]+")


class Category(Value, omit_defaults=False):
    category: CategoryId
    category_source: Literal["manual", "rule", "fallback"]
    confidence: float
    sub_tags: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        return LABELS[self.category]


def classified(text: str, role: str, said: CategoryId | Literal[""] = "") -> Category:
    """By what a person said, otherwise by the words of the text, otherwise by the role of its events."""
    if said:
        return Category(said, "manual", 1.0)
    hits: dict[CategoryId, list[str]] = {id: [] for id in CATEGORIES}
    words = dict.fromkeys(map(_keyword, _WORD.findall(text.lower())))
    for word in words:
        if id := _KEYWORDS.get(word):
            hits[id].append(word)
    best = max(CATEGORIES, key=lambda id: len(hits[id]))
    if not hits[best]:
        return Category(_BY_ROLE.get(role, "engineering_build"), "fallback", GUESS)
    total = sum(map(len, hits.values()))
    return Category(best, "rule", round(len(hits[best]) / (total + 1), 2), tuple(hits[best][:SUB_TAGS]))


def _keyword(word: str) -> str:
    """Its singular, where only that is known."""
    return word.removesuffix("s") if word not in _KEYWORDS else word


_BY_ROLE: Mapping[str, CategoryId] = {
    "orchestration.task": "planning_decision",
    "system.observability": "infra_ops",
}
