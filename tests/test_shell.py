"""A placeholder in a text for the shell stands for exactly its value, or the text is refused."""

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from innerloop.errors import StudyError
from innerloop.studies.command import Command

FOUND = {os.path.realpath(shutil.which(shell) or ""): shell for shell in ("bash", "dash", "sh")}
SHELLS = [shell for path, shell in FOUND.items() if Path(path).is_file()]
HOSTILE = [
    "a b  c", "*", "? [a-z]*", "'", '"', "it's \"so\"", "$(touch x)", "`touch x`", "; touch x;",
    "\n touch x\n", "a\n\nb", "-n", "--", "\\", "\\'", "${HOME}", "$((1+1))", "#", "a #b", "~",
    "EOF\ntouch x\n", "}", "{a,b}", "a[$(touch x)]", "=x", "\t", " ", "é\u0081\u2003*", "%s\\n",
]  # fmt: skip
SHOW = "show() {{ for a; do printf '<%s>' \"$a\"; done; }}; "


def printed(text, value, shell="sh"):
    """What a text prints in an empty folder with two files, of which it leaves no others."""
    command = Command((text,), ("v", "c"))
    with tempfile.TemporaryDirectory() as folder:
        for name in ("one", "two words"):
            Path(folder, name).touch()
        environment = {**os.environ, "INNERLOOP_PARAM_0": "V", "INNERLOOP_PARAM_1": value}
        ran = subprocess.run(
            [shell, "-c", command.shell_text()],
            cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=False,
        )  # fmt: skip
        assert sorted(os.listdir(folder)) == ["one", "two words"]
        return ran.stdout.decode()


# Texts, and the arguments of show that they must have; @ stands for the value.
PLACES = [
    ("show {c}", "<@>"),
    ('show "{c}"', "<@>"),
    ("show '{c}'", "<@>"),
    ("show a{c}b 'c{c}d' \"e{c}f\"", "<a@b><c@d><e@f>"),
    ("show {c}{c} {c}", "<@@><@>"),
    # The value within quotes within a substitution within quotes.
    ("show \"$(printf '%s,' \"{c}\")\"", "<@,>"),
    ("show \"$(printf '%s,' {c})\"", "<@,>"),
    ("show \"$(printf '%s,' '{c}')\"", "<@,>"),
    ('show "a$(printf %s, "b$(printf %s, "{c}")" {c})d" {c}', "<ab@,,@,d><@>"),
    ('show "$(printf %s, {c} | (cat; printf .))" {c}', "<@,.><@>"),
    # An apostrophe in a comment, and hashes that begin none.
    ("# it's\nshow {c}", "<@>"),
    ("show {c} # it's {c}\nshow {c}", "<@><@>"),
    ("show a#'{c}' '#' {c}", "<a#@><#><@>"),
    ("show $(printf %s x)#'{c}'", "<x#@>"),
    ("show \\ #'{c}'", "< #@>"),
    ("show $# {c} ${{#}}'{c}'", "<0><@><0@>"),
    ("true;# \"\nshow {c}", "<@>"),
    # Backslashes mean nothing in single quotes, and something elsewhere.
    ("show '\\'{c} \"\\\"{c}\" \\'{c} \"\\\\{c}\" \\\\'{c}'", '<\\@><"@><\'@><\\@><\\@>'),
    ("show \\\n  {c} \\{{ '{{{c}}}'", "<@><{><{@}>"),
    # Expansions that are there already.
    ('x=y; show "${{x}}{c}" $x{c} "$x" "s/$/$x/"', "<y@><y@><y><s/$/y/>"),
    ('show "${{UNSET:-a b}}{c}" $((1 + (2))){c} "$((3 << 1))"', "<a b@><3@><6>"),
    ('show `echo "a"`{c} "`echo \'a\'`{c}"', "<a@><a@>"),
    ("show 'it'\"'s\" \"{c}'\" '{c}\"'", "<it's><@'><@\">"),
    ('show "5$" "{c}" "$ {c}" "cost: $5{c}"', "<5$><@><$ @><cost: @>"),
    # Constructs of the language.
    ("case {c} in x) ;; *) show \"{c}\";; esac; show {c}", "<@><@>"),
    ("f() {{ show \"$1\" {c}; }}; f '{c}'", "<@><@>"),
    ("(show {c}); {{ show '{c}'; }}", "<@><@>"),
    ("for x in {c} y; do show \"$x\" {c}; done", "<@><@><y><@>"),
    ("x={c}; show \"$x\"; y=\"{c}\" && show \"$y\"", "<@><@>"),
    ("show {c} >&1 2>&1 | cat && show {c}", "<@><@>"),
    ("show {c}; cat <<'E' >&2\nit's \" ` $( \nE\n", "<@>"),
]  # fmt: skip


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(("text", "expected"), PLACES)
def test_every_place_gets_exactly_the_value(text, expected, shell):
    for value in HOSTILE[len(text) % 3 :: 3]:
        assert printed(SHOW + text, value, shell) == expected.replace("@", value), value


def test_a_command_run_as_it_is():
    nested = "printf '[%s]' \"$(printf '%s,' \"{c}\")\""
    assert Command((nested,), ("c",)).run({"c": "a  *"}).last_line == "[a  *,]"
    apostrophe = "# it's a comment\nprintf '[%s]' {c}"
    assert Command((apostrophe,), ("c",)).run({"c": "a  *"}).last_line == "[a  *]"


REFUSED = [
    "show `printf %s {c}`", "show \"`printf %s {c}`\"", "cat <<E\n{c}\nE", "cat <<'E'\n{c}\nE",
    "cat <<E\nit's\nE\nshow {c}", "show $(( {c} + 1 ))", "show \"$(( {c} ))\"", "(( {c} > 1 ))",
    "show $[ {c} ]", "show ${{UNSET:-{c}}}", "show \"${{UNSET:-{c}}}\"", "show \"${{x:-'}}\" {c}",
    "show \\{c}", "show \"\\{c}\"", "show ${c}", "show \"${c}\"", "show \"a$\\\n{c}\"",
    "show $'{c}'", "show $'a\\'b' {c}", "show $\"{c}\"", "show 'a {c}", "show \"a {c}",
    "show $({c}",
    "show a\\\n#'{c}'", "show $(case a in a) echo b;; esac) '{c}'", "show $(# it's\n) {c}",
    "cat <(echo {c})", "a=({c})", "show $((\"1\")) {c}", "cat <<< {c}", "show `# it's` '{c}'",
]  # fmt: skip


@pytest.mark.parametrize("text", REFUSED)
def test_what_cannot_be_read_safely_is_refused(text):
    with pytest.raises(StudyError, match=r"\{c\} cannot be put|never closed"):
        Command((text,), ("c",))


def test_what_is_refused_is_explained():
    with pytest.raises(StudyError) as error:
        Command(("cat <<E > f\n{lr}\nE\npython train.py f",), ("lr",))
    assert str(error.value) == (
        "{lr} cannot be put into the command safely: quotes mean something else in a "
        "here-document. Set a variable first, as in 'v={lr}; ... \"$v\" ...', or run a script "
        "with {lr} as an argument"
    )
    with pytest.raises(StudyError, match="NUL"):
        Command(("echo \0",), ())


def test_commands_without_placeholders_are_left_to_the_shell():
    text = "cat <<'E'\nit's {{}} `\nE\necho $((1 + 1))"
    assert Command((text,), ("c",)).run({"c": ""}).last_line == "2"


def joined(parts):
    return "".join(source for source, _ in parts), "".join(meant for _, meant in parts)


def in_double_quotes(part):
    return f'"{part[0]}"', part[1]


def substituted(words):
    sources, meanings = zip(*words, strict=True)
    return f"$(printf %s, {' '.join(sources)})", "".join(f"{each}," for each in meanings)


# Pieces of words, as they are written and as the shell is to understand them; @ is the value.
SLOT = ("{c}", "@")
LITERAL = st.sampled_from([
    ("a", "a"), ("''", ""), ("\\#", "#"), ("\\ ", " "), ("x#", "x#"), ("'# \" $(`'", '# " $(`'),
    ("'{c}'", "@"), ("'\\'", "\\"), ("'a{c}\"'", 'a@"'), ("$((2 + (1)))", "3"), ("${{x}}", "y"),
    ("`echo 'b'`", "b"), ('"$x"', "y"), ("\\\"", '"'), ("\\'", "'"), ("$(echo 'it'\\''s')", "it's"),
])  # fmt: skip
QUOTED = st.sampled_from([
    ("a b", "a b"), ("it's", "it's"), ("'", "'"), ("#", "#"), ("\\\"", '"'), ("\\\\", "\\"),
    ("(", "("), ("\\$", "$"), ("$x.", "y."), ("\\`", "`"), ("<<E", "<<E"), ("$ ", "$ "),
    ("\n", "\n"),
])  # fmt: skip


def larger(word):
    inner = QUOTED | st.just(SLOT) | st.lists(word, min_size=1, max_size=2).map(substituted)
    quoted = st.lists(inner, min_size=1, max_size=3).map(joined).map(in_double_quotes)
    return st.lists(LITERAL | st.just(SLOT) | quoted, min_size=1, max_size=3).map(joined)


WORDS = st.recursive(LITERAL | st.just(SLOT), larger, max_leaves=8)


@pytest.mark.parametrize("shell", SHELLS)
@settings(max_examples=60)
@given(words=st.lists(WORDS, min_size=1, max_size=4), value=st.sampled_from(HOSTILE))
def test_words_of_all_kinds(shell, words, value):
    source = " ".join(source for source, _ in words)
    expected = "".join(f"<{meant}>" for _, meant in words) + "<@>"
    text = f'{SHOW} # it\'s {{c}}\nx=y; show {source} # """ {{c}}\nshow {{c}}'
    assert printed(text, value, shell) == expected.replace("@", value)


PIECES = st.sampled_from([
    "{c}", "{c}", "{v}", "'", '"', "\\", "$", "`", "#", "(", ")", "$(", "$(true ", "))", "$((",
    "${{", "}}", "{{", " ", "\n", "\\\n", ";", "|", "&&", "a", "case", " in ", "esac", "<<E", "E",
    "x=", "1", "\t", "~", "!", "é", "''", '""', " # it's\n", "$x", "${{x}}", '"$(', ')"',
])  # fmt: skip
VALUES = st.sampled_from(HOSTILE) | st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8
).map("* {}".format)


@pytest.mark.parametrize("shell", SHELLS)
@settings(max_examples=80)
@given(st.lists(PIECES, min_size=2, max_size=14), VALUES)
def test_what_is_printed_differs_by_the_value_only(shell, pieces, value):
    """Whatever surrounds it: with another value the shell prints the same but for the value.

    No piece makes a shell split or match what has the value in it, as an unquoted $(...) would.
    """
    text = f"x=y; printf '[%s]' {''.join(pieces)}"
    text = re.sub(r"\$+", "$", text)  # $$ is another number each time
    try:
        plain = printed(text, "7Q7", shell)
    except StudyError:
        reject()  # hypothesis complains should nearly all texts be refused
    assert "INNERLOOP_PARAM" not in plain
    assert printed(text, value, shell) == plain.replace("7Q7", value)
