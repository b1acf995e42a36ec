"""The words of a Siconos `.dat` file, taken one after the other as C's `fscanf` would."""

import re

import numpy as np

from perp.problems.errors import ProblemError

# Stands for the line that CSparse puts before a sparse matrix: its wording varies and says nothing.
BANNER = b"CSparse"
_BANNER_LINE = re.compile(rb"^.*Sparse Version.*$", re.MULTILINE)
_WHOLE = re.compile(rb"[+-]?\d{1,18}")  # what fits an int64


def split(text: bytes) -> list[bytes]:
    """The words of a file."""
    if b"Sparse Version" in text:
        text = _BANNER_LINE.sub(BANNER, text)
    return text.split()


class Words:
    """A cursor over the words of a file.

    Every request is compared with what is left before memory is taken for it.
    """

    def __init__(self, words: list[bytes]) -> None:
        self._words = words
        self.taken = 0

    @property
    def left(self) -> int:
        """How many words have not been taken."""
        return len(self._words) - self.taken

    def remaining(self) -> list[bytes]:
        """The words that have not been taken."""
        return self._words[self.taken :]

    def require(self, count: int, name: str) -> None:
        """Refuses a claim that the rest of the file cannot keep."""
        if count > self.left:
            raise ProblemError(f"the file ends in {name}: {count} words are needed, {self.left} are left")

    def words(self, count: int, name: str) -> list[bytes]:
        """Take `count` words."""
        self.require(count, name)
        self.taken += count
        return self._words[self.taken - count : self.taken]

    def whole_number(self, name: str) -> int:
        """Take one whole number that is not negative."""
        return int(self.whole_numbers(1, name)[0])

    def whole_numbers(self, count: int, name: str) -> np.ndarray:
        """Take `count` whole numbers, none of them negative."""
        return whole_numbers(self.words(count, name), name)

    def numbers(self, count: int, name: str) -> np.ndarray:
        """Take `count` real numbers."""
        return numbers(self.words(count, name), name)

    def expect(self, word: bytes, name: str) -> None:
        """Take one word, which has to be this one."""
        found = self.words(1, name)[0]
        if found != word:
            raise ProblemError(f"{name}: {show(found)} where {show(word)} is needed")


def whole_numbers(words: list[bytes], name: str, *, least: int = 0) -> np.ndarray:
    """Words as whole numbers, none less than `least`."""
    for word in words:
        if not _WHOLE.fullmatch(word) or int(word) < least:
            raise ProblemError(f"{name}: {show(word)} is not a whole number from {least}")
    return np.fromiter(map(int, words), dtype=np.int64, count=len(words))


def numbers(words: list[bytes], name: str) -> np.ndarray:
    """Words as real numbers."""
    try:
        if b"_" not in b"".join(words):
            return np.fromiter(map(float, words), dtype=np.float64, count=len(words))
    except ValueError:
        pass
    wrong = next(word for word in words if not is_number(word))
    raise ProblemError(f"{name}: {show(wrong)} is not a number")


def is_number(word: bytes) -> bool:
    """Whether C would read this word as a number."""
    try:
        float(word)
    except ValueError:
        return False
    return b"_" not in word  # which Python takes for a separator of digits


def show(word: bytes) -> str:
    """A word for a message, shortened."""
    return repr(word[:30].decode("ascii", "replace"))
