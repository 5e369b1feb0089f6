"""Model files of strangers: SBML, Antimony and TOML that try to run, read, write or fill something."""

import gzip
import os
from pathlib import Path

import pytest

pytest.importorskip("libsbml")
pytest.importorskip("antimony")

CORE = "http://www.sbml.org/sbml/level3/version1/core"
SBML = f'<sbml xmlns="{CORE}" level="3" version="1">'
MATHML = "http://www.w3.org/1998/Math/MathML"


def sbml(rate="<cn>1</cn>", *, top="", head="", parameters="", rules="", inner="", functions="", close=""):
    """Return an SBML file with one state and room for mischief."""
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>{top}{SBML}<model id="m">{head}{functions}'
        f'<listOfParameters><parameter id="x" value="1" constant="false"/>{parameters}</listOfParameters>'
        f"{inner}"
        f'<listOfRules><rateRule variable="x"><math xmlns="{MATHML}">{rate}</math></rateRule>{rules}'
        f"</listOfRules>{close}</model></sbml>"
    )


def applied(operator, *arguments):
    return f"<apply>{operator}{''.join(arguments)}</apply>"


def doubling(levels):
    """Return functions of which each calls the one before it twice."""
    call = "<ci>f{}</ci><ci>a</ci>"
    text = ""
    for level in range(levels + 1):
        before = f"<apply>{call.format(level - 1)}</apply>"
        body = applied("<plus/>", before, before) if level else "<ci>a</ci>"
        text += (
            f'<functionDefinition id="f{level}"><math xmlns="{MATHML}"><lambda><bvar><ci>a</ci></bvar>{body}'
            "</lambda></math></functionDefinition>"
        )
    return f"<listOfFunctionDefinitions>{text}</listOfFunctionDefinitions>"


def nested(opening, inner, closing, depth):
    return opening * depth + inner + closing * depth


LAUGHS = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 12))
XOR = applied("<lt/>", "<ci>x</ci>", "<cn>1</cn>")
for _ in range(40):
    XOR = applied("<xor/>", XOR, XOR) if len(XOR) < 4000 else applied("<xor/>", XOR, "<true/>")
CHAIN = "".join(f'<parameter id="p{i}" constant="true"/>' for i in range(4000))
LINKS = "".join(
    f'<initialAssignment symbol="p{i}"><math xmlns="{MATHML}"><ci>p{i + 1}</ci></math></initialAssignment>'
    for i in range(3999)
)

# name: (the file, what the line must say)
SBML_FILES = {
    "an external entity": (
        sbml(top='<!DOCTYPE sbml [<!ENTITY s SYSTEM "../secret.txt">]>', head="<notes>&s;</notes>"),
        "document type declaration",
    ),
    "an external entity in a number": (
        sbml("<cn>&s;</cn>", top='<!DOCTYPE sbml [<!ENTITY s SYSTEM "file:///etc/hostname">]>'),
        "document type declaration",
    ),
    "an external document type": (sbml(top='<!DOCTYPE sbml SYSTEM "../secret.txt">'), "document type"),
    "a parameter entity": (
        sbml(top='<!DOCTYPE sbml [<!ENTITY % p SYSTEM "../secret.txt"> %p;]>'),
        "document type declaration",
    ),
    "a billion laughs": (
        sbml("<cn>&l11;</cn>", top=f'<!DOCTYPE sbml [<!ENTITY l0 "ha">{LAUGHS}]>'),
        "document type declaration",
    ),
    "elements nested deeply": (
        sbml(head=f"<annotation>{nested('<a>', '', '</a>', 100_000)}</annotation>"),
        "nested at most 250 deep",
    ),
    "a formula nested deeply": (
        sbml(nested("<apply><minus/>", "<ci>x</ci>", "</apply>", 2000)),
        "nested at most 250 deep",
    ),
    "a formula nested less deeply": (
        sbml(nested("<apply><sin/>", "<ci>x</ci>", "</apply>", 200)),
        "formula of 'x'",
    ),
    "functions that double": (
        sbml("<apply><ci>f40</ci><ci>x</ci></apply>", functions=doubling(40)),
        "at most 20000 nodes",
    ),
    "a function that calls itself": (
        sbml(
            "<apply><ci>f0</ci><ci>x</ci></apply>",
            functions=doubling(0).replace("</bvar><ci>a</ci>", "</bvar><apply><ci>f0</ci><ci>a</ci></apply>"),
        ),
        "calls itself",
    ),
    "exclusive conditions that double": (
        sbml(f"<piecewise><piece><cn>1</cn>{XOR}</piece><otherwise><cn>0</cn></otherwise></piecewise>"),
        "not supported",
    ),
    "a tower of powers": (
        sbml(
            applied(
                "<power/>",
                "<cn>9</cn>",
                applied("<power/>", "<cn>9</cn>", applied("<power/>", "<cn>9</cn>", "<cn>9</cn>")),
            )
        ),
        "formula of 'x'",
    ),
    "a number out of range": (sbml('<cn type="e-notation">1<sep/>999</cn>'), "not valid SBML"),
    "a value out of range": (sbml().replace('value="1"', 'value="INF"'), "no finite value"),
    "an integer out of range": (sbml(f'<cn type="integer">{"9" * 5000}</cn>'), "bad.xml"),
    "code as a function": (
        sbml(applied("<ci>__import__</ci>", "<ci>os</ci>")),
        "there is no function '__import__'",
    ),
    "code as a name": (sbml("<ci>__import__('os').mkdir('pwned')</ci>"), "bad.xml"),
    "an unknown symbol": (
        sbml('<csymbol encoding="text" definitionURL="http://evil.example/run">rm</csymbol>'),
        "bad.xml",
    ),
    "a path as an id": (sbml().replace('"x"', '"../../x"'), "bad.xml"),
    "markup as an id": (sbml().replace('"x"', '"&lt;script&gt;alert(1)&lt;/script&gt;"'), "bad.xml"),
    "models in other files": (
        sbml().replace(
            f'<sbml xmlns="{CORE}"',
            f'<sbml xmlns="{CORE}" xmlns:comp="http://www.sbml.org/sbml/level3/version1/comp/version1" '
            'comp:required="true"',
        ),
        "package 'comp'",
    ),
    "a long chain of values": (
        sbml(
            "<ci>p0</ci>",
            parameters=CHAIN,
            inner=f"<listOfInitialAssignments>{LINKS}</listOfInitialAssignments>",
        ),
        "too long a chain",
    ),
    "two elements of one id": (
        sbml(parameters='<parameter id="x" value="2" constant="true"/>'),
        "the id 'x'",
    ),
    "another document": (
        "<html><body>x</body></html>",
        "expected an SBML document, found the element <html>",
    ),
    "no document": ("", "not valid XML"),
    "half a document": (sbml()[:200], "not valid XML"),
    "no model": (f"{SBML}</sbml>", "bad.xml"),
}
SBML_BYTES = {
    "latin-1": (sbml(head="<notes>é</notes>").encode("latin-1"), "expected UTF-8"),
    "UTF-16": (sbml().encode("utf-16"), "expected UTF-8"),
    "NUL bytes": (sbml().encode() + b"\0" * 100, "not valid XML"),
    "a compressed file": (gzip.compress(sbml().encode()), "expected UTF-8"),
    "a large file": (sbml().encode() + b" " * 21_000_000, "at most 20000000 bytes"),
    "many elements": (
        sbml(head=f"<annotation>{'<a/>' * 500_000}</annotation>").encode(),
        "at most 400000 elements",
    ),
}


@pytest.mark.parametrize("name", SBML_FILES)
def test_hostile_sbml(name, world):
    text, saying = SBML_FILES[name]
    Path("bad.xml").write_text(text, encoding="utf-8")
    world.refused("simulate", "bad.xml", saying=saying)


@pytest.mark.parametrize("name", SBML_BYTES)
def test_hostile_bytes_in_sbml(name, world):
    content, saying = SBML_BYTES[name]
    Path("bad.xml").write_bytes(content)
    world.refused("simulate", "bad.xml", saying=saying)


def test_what_sbml_merely_mentions_is_not_read(world):
    """Inclusions and style sheets mean nothing to a reader that ignores them."""
    include = '<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="../secret.txt" parse="text"/>'
    about = '<about xmlns="urn:fepysr-dyn:about" duration="1e999" samples="99999999"/>'
    Path("odd.xml").write_text(
        sbml(top='<?xml-stylesheet href="../secret.txt"?>', head=f"<annotation>{include}{about}</annotation>")
    )
    answer = world.call("models", "odd.xml")
    assert answer.code == 0
    assert "dx/dt = 1" in answer.out


BOMB = "model m0()\n x' = 1; x = 0;\nend\n" + "".join(
    f"model m{i}()\n a: m{i - 1}(); b: m{i - 1}();\nend\n" for i in range(1, 30)
)
# name: (the file, what the line must say)
ANTIMONY_FILES = {
    "an import": (
        'import "../secret.txt"\nmodel m()\n x\' = 1; x = 0;\nend\n',
        "'import' would read another file",
    ),
    "an import behind a comment": ('/* harmless\n*/ import "../secret.txt"\n', "about line 2"),
    "an import after quotes": (
        'model m()\n x\' = 1; x = 0; x is "a"; end\n import "../secret.txt"',
        "'import'",
    ),
    "a quote that never ends": ('model m()\n x is "abc\n x\' = 1;\nimport "../secret.txt"\nend\n', "bad.ant"),
    "a comment that never ends": ("/* model m()\n x' = 1;\nend\n", "bad.ant"),
    "a formula nested deeply": (
        f"model m()\n x' = {'(' * 50_000}x{')' * 50_000};\nend\n",
        "nested at most 250 deep",
    ),
    "code as a formula": (
        "model m()\n x' = __import__('os').mkdir('pwned'); x = 1;\nend\n",
        "not valid Antimony",
    ),
    "a model of itself": ("model m()\n a: m();\nend\n", "bad.ant"),
    "models that double": (BOMB, "bad.ant"),
    "no Antimony": ("<html>hello</html>\n", "not valid Antimony"),
    "nothing": ("", "bad.ant"),
}


@pytest.mark.parametrize("name", ANTIMONY_FILES)
def test_hostile_antimony(name, world):
    text, saying = ANTIMONY_FILES[name]
    Path("bad.ant").write_text(text, encoding="utf-8")
    world.refused("simulate", "bad.ant", saying=saying)


@pytest.mark.parametrize("ending", ["xml", "ant", "toml"])
@pytest.mark.parametrize("kind", ["endless device", "pipe", "NUL bytes"])
def test_what_is_no_plain_file(kind, ending, world):
    path = Path(f"bad.{ending}")
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "NUL bytes":
        path.write_bytes(b"\0" * 1000)
    else:
        path.symlink_to("/dev/zero")
    world.refused("simulate", path, saying=path.name)


def toml(**changes):
    parts = {"state": "x", "rate": "-k*x", "k": "1", "more": "", **changes}
    return '[states."{state}"]\ninitial = 1\nrate = "{rate}"\n[parameters]\nk = {k}\n{more}'.format(**parts)


# name: (the file, what the line must say)
TOML_FILES = {
    "a path as a state": (toml(state="../../x", rate="1"), "cannot be used as a name"),
    "markup as a state": (toml(state="<script>", rate="1"), "cannot be used as a name"),
    "code as a state": (toml(state="__import__('os').mkdir('pwned')", rate="1"), "cannot be used as a name"),
    "more samples than memory": (
        toml(more="[protocol]\nsamples = 1_000_000_000_000\n"),
        "at most 2000000 samples",
    ),
    "an integer without end": (toml(k="9" * 5000), "bad.toml"),
    "lists nested deeply": (toml(more=f"z = {'[' * 10_000}"), "nested too deeply"),
    "tables nested deeply": (toml(more=f"{'.'.join('a' * 20_000)} = 1"), "at most 200 parts"),
    "many tables": (toml(more="".join(f"[a{i}]\n" for i in range(30_000))), "at most 20000 tables"),
    "many tables in one another": (
        toml(more="".join(f"{'b.' * 150}a{i} = 1\n" for i in range(1000))),
        "at most 20000 tables",
    ),
    "a large file": (toml(more="# " + "x" * 6_000_000), "at most 5000000 bytes"),
    "an experiment called like a path": (
        toml(more='[[protocol.experiments]]\nname = "a"\ninitial = { "../../x" = 1 }\n'),
        "unknown state '../../x'",
    ),
}


@pytest.mark.parametrize("name", TOML_FILES)
def test_hostile_toml(name, world):
    text, saying = TOML_FILES[name]
    Path("bad.toml").write_text(text, encoding="utf-8")
    world.refused("simulate", "bad.toml", saying=saying)


def test_modules_in_the_working_directory_are_not_imported(world):
    """A folder of strangers may hold libsbml.py; reading a model there must not run it."""
    for module in ("libsbml", "antimony", "h5py", "json", "fepysr_dyn"):
        Path(f"{module}.py").write_text("open('pwned', 'w').close()\n")
    Path("good.ant").write_text("model m()\n x' = -x; x = 1;\nend\n")
    assert world.call("models", "good.ant").code == 0
