# SPDX-License-Identifier: Apache-2.0
"""Ranks may be fibers that share a thread, and one process may run many worlds: so no state of a
thread or of the program outside src/machine and src/base/sync, and only they read clocks, sleep,
start threads, lock, or draw entropy."""

import re

from cpp_text import blank, outside_functions
from project_files import cpp_files, read
from ratchet import differences, exceptions

rules = {
    "thread_local": r"\bthread_local\b",
    "lock": r"std::(?:recursive_|shared_|timed_)*mutex\b|std::condition_variable|pthread_mutex",
    "thread": r"std::j?thread\b(?!::)|pthread_create|std::async\b",
    "sleep": r"sleep_(?:for|until)|\b(?:u|nano)?sleep\(",
    "clock": r"_clock::now|\bclock_gettime|\bgettimeofday|__rdtsc",
    "entropy": r"random_device|\bgetrandom\(|\bs?rand\(",
}
_exempt = ("src/machine/", "src/base/sync")
_immutable = re.compile(
    r"\b(?:constexpr|using|typedef|template|friend|static_assert|extern|enum|struct|class|union"
    r"|concept|requires|operator|return|goto)\b|^(?:inline )?(?:static )?(?:inline )?const\b|^\[\["
)
_local_static = re.compile(
    r"^\s+static\s+(?!constexpr\b|const\b|inline\b)[\w:<>, *&]+\w\s*(?:=|\{|;)"
)


def mutable_globals(text: str) -> int:
    """Variables at namespace scope, and statics in functions and classes, that may change."""
    count = sum(
        not _immutable.search(statement) and "(" not in statement.split("=")[0]
        for _, statement in outside_functions(text)
    )
    return count + sum(bool(_local_static.search(line)) for line in blank(text).split("\n"))


def faults_in(name: str, text: str) -> dict[str, int]:
    if name.startswith(_exempt):
        return {}
    code = blank(text)
    found = {f"{name}: {rule}": len(re.findall(form, code)) for rule, form in rules.items()}
    found[f"{name}: mutable global"] = mutable_globals(text)
    return {fault: count for fault, count in found.items() if count}


def test_nothing_forbidden_outside_the_machine():
    found = {}
    for name in cpp_files("src", "include"):
        found |= faults_in(name, read(name))
    assert differences(found, exceptions("forbidden")) == []


# --- the checks can fail --------------------------------------------------------------------------


def _faults(line: str) -> dict[str, int]:
    text = f"namespace selion {{\n{line}\n}}  // namespace selion\n"
    return faults_in("src/onesided/a.cpp", text)


def test_each_rule_finds_its_sample():
    samples = {
        "thread_local": "void f() { thread_local int depth = 0; }",
        "lock": "class heap { std::mutex lock_; };",
        "thread": "class pool { std::thread worker_; };",
        "sleep": "void f() { usleep(5); }",
        "clock": "void f() { auto t = std::chrono::steady_clock::now(); }",
        "entropy": "void f() { std::random_device source; }",
        "mutable global": "int count = 0;",
    }
    assert set(samples) == {*rules, "mutable global"}
    for rule, sample in samples.items():
        assert f"src/onesided/a.cpp: {rule}" in _faults(sample), sample


def test_mutable_globals_are_told_from_the_rest():
    for changed in ("std::vector<int> all;", "static int count = 0;", "inline bool on{false};",
                    "void f() {\n    static int calls = 0;\n}"):
        assert _faults(changed), changed
    for harmless in ("constexpr int a = 1;", "inline constexpr int b{2};", "int f(int a);",
                     "struct later;", "using name = int;", "const char* const names[] = {0};",
                     "void f() {\n    static constexpr int a = 1;\n    int b = 2;\n}",
                     "class c {\n    static int make();\n    int value_ = 0;\n};",
                     "SELION_API void end(int code,\n                     int why);",
                     "template <class T>\nconcept fine = big<T> &&\n    (sizeof(T) == 4);"):
        assert not _faults(harmless), harmless


def test_the_machine_is_exempt():
    assert not faults_in("src/machine/threads/a.cpp", "thread_local int a;")
    assert not faults_in("src/onesided/a.cpp", "// std::mutex is not used here\n")
