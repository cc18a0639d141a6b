# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from ansible_collections.instinct.bringup.plugins.module_utils.fetch import Answer, FetchError
from ansible_collections.instinct.bringup.plugins.module_utils.mirror_wheels import wheel_files

INDEX = "http://mirror.example/whl/rocm5.4.2"
TORCH = {"name": "torch", "version": "2.0.1+rocm5.4.2", "sha256": ["a" * 64]}
PAGES = {
    f"{INDEX}/torch/": (
        f'<a href="../torch-2.0.1%2Brocm5.4.2-cp310-cp310-linux_x86_64.whl#sha256={"a" * 64}">a</a>'
        f'<a href="../torch-2.0.1%2Brocm5.4.2-cp311-cp311-linux_x86_64.whl#sha256={"b" * 64}">b</a>'
        f'<a href="../torch-2.0.0-cp310-cp310-linux_x86_64.whl#sha256={"a" * 64}">other version</a>'
        '<a href="../torch.tar.gz">no wheel</a>'
    ),
    f"{INDEX}/typing-extensions/": '<a href="/files/typing_extensions-4.12.2-py3-none-any.whl">no digest</a>',
}


def fetch(url: str, _limit: int) -> Answer:
    """Answer with a page, or that there is none."""
    if url not in PAGES:
        raise FetchError(url, "HTTP 404 Not Found", 404)
    return Answer(url, 200, PAGES[url].encode())


def test_the_file_that_the_lock_trusts_is_listed_and_no_other() -> None:
    file = "http://mirror.example/whl/rocm5.4.2/torch-2.0.1%2Brocm5.4.2-cp310-cp310-linux_x86_64.whl"
    assert wheel_files(INDEX, [TORCH], fetch) == (
        [{"package": "torch", "version": "2.0.1+rocm5.4.2", "url": file, "sha256": "a" * 64}],
        [f"{INDEX}/torch/"],
        [],
    )


def test_an_index_without_digests_gives_every_file_of_the_version() -> None:
    wheel = {"name": "typing_extensions", "version": "4.12.2", "sha256": ["c" * 64]}
    files, _pages, problems = wheel_files(f"{INDEX}/", [wheel], fetch)
    assert [(file["url"], file["sha256"]) for file in files] == [
        ("http://mirror.example/files/typing_extensions-4.12.2-py3-none-any.whl", None)
    ]
    assert problems == []


def test_what_the_index_does_not_have_is_named() -> None:
    other = {**TORCH, "sha256": ["d" * 64]}
    absent = {"name": "numpy", "version": "1.26.4", "sha256": ["e" * 64]}
    files, _pages, problems = wheel_files(INDEX, [other, absent], fetch)
    assert files == []
    assert [problem.partition(" has no ")[2] or problem.partition(". ")[2] for problem in problems] == [
        "torch 2.0.1+rocm5.4.2 with a digest of the lock",
        "Wanted a page with numpy 1.26.4",
    ]
