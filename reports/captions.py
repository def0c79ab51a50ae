"""The words of the transcripts, in both languages: every text that is not the queue's own stands here."""

# ruff: noqa: RUF001 - Russian letters look like others, and are meant

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

LANGUAGES = ("en", "ru")


class Both(NamedTuple):
    """A text in both languages."""

    en: str
    ru: str

    def in_(self, language: str) -> str:
        return self.ru if language == "ru" else self.en


@dataclass(frozen=True)
class Caption:
    """A scenario's: what it is about, what each broken side lacks, and what is done up to each observation."""

    title: Both
    about: Both
    broken: Mapping[str, Both]
    observations: Sequence[Both]


CAPTIONS = {
    "worker-death": Caption(
        Both("a worker dies in the middle of its job", "воркер гибнет посреди задачи"),
        Both(
            "kill -9 of the owner at 0.5 L; the job itself would go on for as long as it is let",
            "владелец получает kill -9 на 0.5 L; сама задача шла бы сколько угодно",
        ),
        {
            "ClaimHoldsLock": Both(
                "a claim leaves its transaction open, and the row lock holds the job (told up to observation 1)",
                "захват оставляет транзакцию открытой, и задачу держит блокировка строки (показано до наблюдения 1)",
            ),
            "ClaimLooksAtLease": Both(
                "a claim asks whether the lease is over, and not for the state (told up to observation 3)",
                "захват смотрит на срок аренды, а не на состояние (показано до наблюдения 3)",
            ),
        },
        [
            Both(
                "the owner is killed, its lease is alive: another worker looks",
                "владелец убит, аренда жива: смотрит другой воркер",
            ),
            Both("the lease has run out, nobody has reclaimed", "аренда истекла, возврата не было"),
            Both(
                "the lease has run out, no lock is on the row: yet another worker looks",
                "аренда истекла, строку никто не блокирует: смотрит ещё один воркер",
            ),
            Both("the reclaim", "возврат"),
            Both("a worker that comes after the reclaim", "воркер, пришедший после возврата"),
        ],
    ),
    "heartbeat": Caption(
        Both("a job that outlasts its lease", "задача, которая длится дольше аренды"),
        Both(
            "the job takes 3 L, a rival reclaims at 2 L; the sides differ in the renewal alone",
            "задача длится 3 L, чужой возврат приходит на 2 L; варианты различаются только продлением",
        ),
        {"NoRenewal": Both("no lease is ever renewed", "аренда не продлевается")},
        [Both("a rival's reclaim at 2 L", "чужой возврат на 2 L"), Both("the job ends", "работа закончена")],
    ),
    "sigterm-drain": Caption(
        Both("SIGTERM in the middle of a long job", "SIGTERM посреди долгой задачи"),
        Both(
            "the job takes 2 L, SIGTERM comes at 1/3 L, a rival's reclaim at 5/3 L;"
            " the sides differ in the renewal alone",
            "задача длится 2 L, SIGTERM приходит на 1/3 L, чужой возврат на 5/3 L;"
            " варианты различаются только продлением",
        ),
        {
            "NoRenewalOnceTold": Both(
                "once told to stop, the worker renews no lease", "получив сигнал, воркер перестаёт продлевать аренду"
            )
        },
        [
            Both("the worker drains: has its lease run out?", "воркер дорабатывает: истекла ли его аренда?"),
            Both("a rival's reclaim at the same moment", "чужой возврат в тот же момент"),
            Both("the worker is gone", "воркер вышел"),
        ],
    ),
    "claim-race": Caption(
        Both("eight claimers and one job", "восемь воркеров и одна задача"),
        Both(
            "the bench holds the row until all eight have looked; then a hundred jobs for ten; * is whoever had luck",
            "стенд держит строку, пока не посмотрят все восемь; затем сто задач на десятерых;"
            " * обозначает того, кому повезло",
        ),
        {
            "SelectThenUpdate": Both(
                "a claim is two statements, SELECT and then UPDATE", "захват идёт двумя запросами: SELECT, затем UPDATE"
            )
        },
        [
            Both("all eight have looked, the row is let go", "в очередь посмотрели все восемь, строка отпущена"),
            Both("a hundred jobs for ten", "сто задач на десятерых"),
        ],
    ),
}

EXPLANATIONS = {
    "lock": Both("a row lock holds the job", "задачу держит блокировка строки"),
    "lease": Both("a live lease holds the job", "задачу держит живая аренда"),
    "state": Both("the state `running` holds the job", "задачу держит состояние running"),
}

SOUND = Both("{side}: the queue as it is", "{side}: очередь как есть")
BROKEN = Both("{side} (broken): {what}", "{side} (сломано): {what}")
LEASE = Both("L, the lease, is {lease:g} s", "L, срок аренды, равен {lease:g} с")
ABOUT = Both(
    "made by `leaseproof artifacts`; times and versions are in about.json",
    "создано командой `leaseproof artifacts`; время и версии записаны в about.json",
)

LINES = {
    "began": Both("[{worker}] took id={id}, attempt {attempt}", "[{worker}] взял задачу id={id}, попытка {attempt}"),
    "began several": Both("[{worker}] several took id={id}", "[{worker}] задачу id={id} взяли несколько воркеров"),
    "accepted": Both(
        "[{worker}] finished id={id}, attempt {attempt}: accepted",
        "[{worker}] завершил id={id}, попытка {attempt}: принято",
    ),
    "accepted of several": Both(
        "[{worker}] one finished id={id}: accepted", "[{worker}] один завершил id={id}: принято"
    ),
    "refused": Both(
        "[{worker}] finished id={id}, attempt {attempt}: refused, its lease was lost",
        "[{worker}] завершил id={id}, попытка {attempt}: отказ, аренда потеряна",
    ),
    "refused several": Both(
        "[{worker}] the others finished id={id}: refused, their lease was lost",
        "[{worker}] остальные завершили id={id}: отказ, аренда потеряна",
    ),
    "raised": Both("[{worker}] failed in id={id}, attempt {attempt}", "[{worker}] ошибка в id={id}, попытка {attempt}"),
    "died": Both(
        "[{worker}] died in id={id}, attempt {attempt}", "[{worker}] погиб, не завершив id={id}, попытка {attempt}"
    ),
    "exited": Both("[{worker}] exited with {status}", "[{worker}] вышел с кодом {status}"),
    "looked": Both("[{worker}] looked, jobs got: {got}", "[{worker}] посмотрел в очередь, получено задач: {got}"),
    "kill -9": Both("kill -9: {of}, wait status {status}", "kill -9: {of}, код завершения {status}"),
    "SIGTERM": Both("SIGTERM: {of}, caught by its handler", "SIGTERM: {of}, сигнал принят обработчиком"),
    "outlast": Both("the job goes on past its lease", "задача идёт дольше срока аренды"),
    "crowd": Both("{of}: {joined} more at once", "{of}: одновременно добавлено воркеров: {joined}"),
    "reclaimed": Both(
        "reclaim: jobs given back: {count}, ids: [{ids}]", "возврат: в очередь вернулось задач: {count}, id: [{ids}]"
    ),
    "let-go": Both(
        "the row of id={id} is let go: claimers {claimers}, waiting for it {waiting}",
        "строка id={id} отпущена: воркеров {claimers}, из них ждали её {waiting}",
    ),
    "carried once": Both(
        "load: jobs {jobs}, finished {finished}, each taken once",
        "нагрузка: задач {jobs}, завершено {finished}, каждая взята один раз",
    ),
    "carried again": Both(
        "load: jobs {jobs}, finished {finished}, some taken more than once",
        "нагрузка: задач {jobs}, завершено {finished}, некоторые взяты больше одного раза",
    ),
    "ruled out": Both("ruled out: {what}", "исключено: {what}"),
    "left": Both("what is left: {what}", "остаётся одно: {what}"),
    "at once": Both("executions of the job at the same moment: {count}", "исполнений задачи одновременно: {count}"),
    "holds": Both("outcome: it holds", "итог: нарушений нет"),
    "breaks": Both("outcome: it breaks ({shown})", "итог: нарушение ({shown})"),
    "other": Both("{step}: {worker}", "{step}: {worker}"),
}
"""A line each, by the step that it tells."""

SEVERAL = Both("several", "несколько")
