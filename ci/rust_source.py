"""Reads Rust files for the scripts of this folder: what is code, what is comment, what is test.

A file is read once, by one pass that blanks comments and the contents of strings and keeps every line where it was,
so that the scripts can search code by expressions and name the line of what they find.
"""

import bisect
import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

_TOKEN = re.compile(
    r"""
    (?P<line>//[^\n]*)
  | (?P<block>/\*)
  | (?P<raw>\b(?:b|c)?r(?P<hashes>\#*)".*?"(?P=hashes))
  | (?P<string>"(?:\\.|[^"\\])*")
  | (?P<char>'(?:\\(?:u\{[^}]*\}|x[0-9a-fA-F]{2}|.)|[^\\'\n])')
    """,
    re.VERBOSE | re.DOTALL,
)
_NOT_NEWLINE = re.compile(r"[^\n]")
_ATTRIBUTE = re.compile(r"#!?\[")
_CFG = re.compile(r"#\[cfg\(")
_ALTERNATIVE = re.compile(r"\b(?:not|any)\([^()]*\)")
_CONJUNCTION = re.compile(r"\ball\(([^()]*)\)")
_WORD = re.compile(r"\w+")
_COMMENT_MARK = re.compile(r"/\*|\*/")
_BRACKET = re.compile(r"[()\[\]{}]")
_ITEM_MARK = re.compile(r"[()\[\]{};,]")
_SPACE = re.compile(r"\s*")
_NO_BODY = re.compile(r"(?:pub(?:\([^)]*\))?\s+)?(?:use|const|static|type|let)\b")
_PAIRS = {"(": ")", "[": "]", "{": "}"}


def _block_comment_end(text, start):
    depth, at = 1, start + 2
    for mark in _COMMENT_MARK.finditer(text, at):
        depth += 1 if mark.group() == "/*" else -1
        if depth == 0:
            return mark.end()
    return len(text)


def closing(code, opening):
    """Returns the place of the bracket that closes the one at `opening`, or the end of the code."""
    depth = 0
    for mark in _BRACKET.finditer(code, opening):
        depth += 1 if mark.group() in _PAIRS else -1
        if depth == 0:
            return mark.start()
    return len(code)


def _needs_test(condition):
    """Whether a `cfg` can be true in tests only: `test` stands in it, and not below a `not` or an `any`."""
    before = None
    while condition != before:
        before = condition
        condition = _CONJUNCTION.sub(r"\1", _ALTERNATIVE.sub("", condition))
    return re.search(r"\btest\b", condition) is not None


class Source:
    """One file. `code` has the length of `text`; comments are blank in it, and strings are filled with NUL."""

    def __init__(self, path, text=None):
        self.path = path
        if text is None:
            with open(os.path.join(ROOT, path), encoding="utf-8") as file:
                text = file.read()
        self.text = text
        self.comments = []
        self.code = self._blank(text)
        self.starts = [0] + [i.end() for i in re.finditer("\n", text)]
        self.declared_tests = set()
        self.tests = self._find_tests()
        self.all_test = False
        self.known_paths = None
        self._production = None

    def _blank(self, text):
        parts, at = [], 0
        while True:
            token = _TOKEN.search(text, at)
            if token is None:
                parts.append(text[at:])
                return "".join(parts)
            parts.append(text[at : token.start()])
            kind, end = token.lastgroup, token.end()
            if kind == "block":
                end = _block_comment_end(text, token.start())
            body = text[token.start() : end]
            if kind in ("line", "block"):
                self.comments.append((token.start(), end))
                parts.append(_NOT_NEWLINE.sub(" ", body))
            else:
                parts.append(_NOT_NEWLINE.sub("\0", body))
            at = end

    def _find_tests(self):
        """The stretches of items that only tests and models have."""
        stretches = []
        for attribute in _CFG.finditer(self.code):
            start = attribute.start()
            if stretches and start < stretches[-1][1]:
                continue
            if not _needs_test(self.code[attribute.end() : closing(self.code, attribute.end() - 1)]):
                continue
            end = self._item_end(start)
            item = re.search(r"\bmod\s+(\w+)\s*;\s*$", self.code[start:end])
            if item:
                self.declared_tests.add(item.group(1))
            stretches.append((start, end))
        return stretches

    def _item_end(self, at):
        """Where the item ends whose first attribute stands at `at`: at its brace, semicolon or comma."""
        code = self.code
        while True:
            attribute = _ATTRIBUTE.match(code, at)
            if not attribute:
                break
            at = _SPACE.match(code, closing(code, attribute.end() - 1) + 1).end()
        # A brace ends an item or a statement, but not a `use` group and not what an `=` begins.
        plain = not _NO_BODY.match(code, at)
        depth = 0
        for mark in _ITEM_MARK.finditer(code, at):
            sign = mark.group()
            if sign in _PAIRS:
                depth += 1
            elif sign in ")]}":
                depth -= 1
                if depth < 0:
                    return mark.start()
                if depth == 0 and sign == "}" and plain:
                    return mark.end()
            elif depth == 0 and (sign == ";" or plain and not self._in_generics(at, mark.start())):
                return mark.end()
        return len(code)

    def _in_generics(self, start, comma):
        head = self.code[start:comma].replace("->", "").replace("=>", "")
        return head.count("<") > head.count(">") or re.search(r"\b(?:fn|impl|where)\b", head) is not None

    def line(self, place):
        """The number of the line of a place in the text, from one."""
        return bisect.bisect_right(self.starts, place)

    def in_test(self, place):
        """Whether only tests and models have this place."""
        if self.all_test:
            return True
        return any(start <= place < end for start, end in self.tests)

    def production(self):
        """The code with what only tests have blanked as well."""
        if self._production is None:
            stretches = [(0, len(self.code))] if self.all_test else self.tests
            parts, at = [], 0
            for start, end in stretches:
                parts += [self.code[at:start], _NOT_NEWLINE.sub(" ", self.code[start:end])]
                at = end
            self._production = "".join(parts) + self.code[at:]
        return self._production

    def line_counts(self):
        """Lines of (code, comments, tests): a line with code and comment is code, an empty one nothing."""
        code_lines = self.code.split("\n")
        production = self.production().split("\n")
        text = self.text.split("\n")
        code = sum(1 for line in production if line.strip())
        tests = sum(1 for line in code_lines if line.strip()) - code
        comments = sum(
            1
            for number, (line, blanked) in enumerate(zip(text, code_lines))
            if line.strip() and not blanked.strip() and not self.in_test(self.starts[number])
        )
        return code, comments, tests


def is_test_path(path):
    """Whether the name alone says so: files and folders called `tests` or `model`, but for the model of `sys`."""
    return re.search(r"(^|/)(tests|(?<!/sys/)(?<!tress-sys/src/)model)(\.rs|/)", path) is not None


def rust_files(folder):
    """Paths of Rust files below a folder of the repository, in order."""
    found = []
    for place, folders, files in os.walk(os.path.join(ROOT, folder)):
        folders[:] = sorted(name for name in folders if name != "target")
        found += [os.path.relpath(os.path.join(place, name), ROOT) for name in files if name.endswith(".rs")]
    return sorted(found)


def mark_tests(sources):
    """Marks files that only tests have: by their name, or because their parent declares them for tests."""
    by_path = {source.path: source for source in sources}
    for source in sources:
        if is_test_path(source.path):
            source.all_test = True
        folder, name = os.path.split(source.path)
        if name not in ("mod.rs", "lib.rs", "main.rs"):
            folder = source.path[: -len(".rs")]
        for child in source.declared_tests:
            for path in (f"{folder}/{child}.rs", f"{folder}/{child}/mod.rs"):
                if path in by_path:
                    by_path[path].all_test = True
    return sources


def read(folder):
    """Reads all Rust files below a folder."""
    return mark_tests([Source(path) for path in rust_files(folder)])


# A path of a `use` line or of an expression, as its words. `$crate` of a macro is `crate`.
_PATH = re.compile(r"(?<![\w:])(?:::)?\$?([A-Za-z_]\w*(?:\s*::\s*[A-Za-z_]\w*)+)")
_USE = re.compile(r"\b(?P<reexport>pub\s+)?(?P<inner>pub\s*\([^)]*\)\s+)?use\s+(?P<tree>[^;]+);")


def _branches(tree, start):
    """Splits the inside of a `{…}` of a `use` at its own commas, with the place of each part."""
    depth, begin = 0, 0
    for place, sign in enumerate(tree):
        if sign == "{":
            depth += 1
        elif sign == "}":
            depth -= 1
        elif sign == "," and depth == 0:
            yield tree[begin:place], start + begin
            begin = place + 1
    if tree[begin:].strip():
        yield tree[begin:], start + begin


def _leaves(tree, start, prefix):
    """Yields (words, name here, place) for each path that a `use` tree names."""
    opening = tree.find("{")
    if opening < 0:
        path, _, alias = tree.partition(" as ")
        words = prefix + _WORD.findall(path)
        if path.strip().endswith("*"):
            yield words + ["*"], None, start + len(tree) - len(tree.lstrip())
        elif words:
            if words[-1] == "self":
                words = words[:-1]
            yield words, alias.strip() or words[-1], start + len(tree) - len(tree.lstrip())
        return
    head = prefix + _WORD.findall(tree[:opening])
    inside = tree[opening + 1 : tree.rfind("}")]
    for part, place in _branches(inside, start + opening + 1):
        yield from _leaves(part, place, head)


def paths(source):
    """Returns what `_paths` yields for the code of a file without its tests."""
    if source.known_paths is None:
        source.known_paths = list(_paths(source.production()))
    return source.known_paths


def _paths(code):
    """Yields (words, place, how, import) for each path that code names; how is "use", "reexport" or "path".

    A path whose first word a `use` line of the file has brought in is given in full, with the words of that line.
    """
    names, uses = {}, []
    lines = list(_USE.finditer(code))
    for line in lines:
        how = "reexport" if line.group("reexport") else "use"
        for words, name, place in _leaves(line.group("tree"), line.start("tree"), []):
            uses.append((words, place, how))
            if name and len(words) > 1 and words[-1] != "*":
                names[name] = words
    for words, place, how in uses:
        known = names.get(words[0], words)
        if known[0] != words[0]:
            yield known + words[1:], place, how, known
        else:
            yield words, place, how, None
    ends = [line.end() for line in lines]
    for path in _PATH.finditer(code):
        after = bisect.bisect_right(ends, path.start())
        if after < len(lines) and lines[after].start() <= path.start():
            continue
        words = _WORD.findall(path.group(1))
        known = names.get(words[0])
        yield (known + words[1:] if known else words), path.start(1), "path", known
