"""What a DDI Codebook declares is taken over; what it counted in the data is not."""

from __future__ import annotations

from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.tasks.importers._ddi import roles_from_codebook
from penstock.tasks.importers.imported_column import ImportedColumn, RolesRefused
from penstock.tasks.importers.roles_file import read_roles


def codebook(variables: str, *, opening: str = "<codeBook>", files: str = "") -> bytes:
    return f"{opening}{files}<dataDscr>{variables}</dataDscr></codeBook>".encode()


def told_of(variable: str, files: str = "") -> ImportedColumn:
    [told] = roles_from_codebook(codebook(variable, files=files)).columns.values()
    return told


def category(code: str, label: str = "", **attributes: str) -> str:
    given = "".join(f" {key}={quoteattr(value)}" for key, value in attributes.items())
    labl = f"<labl>{escape(label)}</labl>" if label else ""
    return f"<catgry{given}><catValu>{escape(code)}</catValu>{labl}<catStat type='freq'>3</catStat></catgry>"


SEX = category("1", "Male") + category("2", "Female") + category("9", "Unknown", missing="Y")


@pytest.mark.parametrize(
    "opening",
    [
        "<codeBook>",
        "<?xml version='1.0' encoding='ISO-8859-1'?><codeBook version='2.1'>",
        "<codeBook xmlns='http://www.icpsr.umich.edu/DDI' version='1.2.2'>",
        "<codeBook xmlns='ddi:codebook:2_5' version='2.5'>",
        "<codeBook xmlns='ddi:codebook:2_6' version='2.6'>",
    ],
)
def test_code_books_of_all_versions_are_read(opening: str) -> None:
    told = roles_from_codebook(codebook("<var name='sex' ID='V1'><labl>Sex</labl></var>", opening=opening))
    assert told.columns == {"sex": ImportedColumn(label="Sex")}
    assert not told.whole_file


def test_a_prefix_of_the_names_does_not_matter() -> None:
    text = b"<d:codeBook xmlns:d='ddi:codebook:2_5'><d:var name='a' wgt='wgt'/></d:codeBook>"
    assert roles_from_codebook(text).columns["a"].role == "weight"


def test_categories_are_declared_and_codes_of_missing_values_are_not_among_them() -> None:
    told = told_of(f"<var name='sex' intrvl='discrete'>{SEX}</var>")
    assert (told.kind, told.codes, told.labels) == ("nominal", ("1", "2"), ("Male", "Female"))
    assert told.remarks == ("codes of missing values are not listed: make them null",)
    assert told.role is None


@pytest.mark.parametrize(
    ("attributes", "content", "kind"),
    [
        ("intrvl='contin'", "", "number"),
        ("intrvl='contin'", SEX, "number"),
        ("nature='ratio'", "", "number"),
        ("nature='ordinal' intrvl='discrete'", SEX, "ordinal"),
        ("nature='nominal'", SEX, "nominal"),
        ("", SEX, "nominal"),
        ("", "", None),
        ("intrvl='discrete'", "", None),
        ("intrvl='discrete'", category("9", missing="Y"), None),
    ],
)
def test_the_kind_is_told_by_interval_nature_and_categories(attributes: str, content: str, kind: str | None) -> None:
    told = told_of(f"<var name='a' {attributes}>{content}</var>")
    assert told.kind == kind
    assert bool(told.codes) == (kind in ("nominal", "ordinal"))


def test_labels_count_only_if_every_code_has_its_own() -> None:
    assert told_of(f"<var name='a'>{category('1', 'x')}{category('2', 'x')}</var>").labels == ()
    assert told_of(f"<var name='a'>{category('1', 'x')}{category('2')}</var>").labels == ()


@pytest.mark.parametrize(
    ("variable", "files", "role"),
    [
        ("<var name='a' wgt='wgt'/>", "", "weight"),
        ("<var name='a' wgt='not-wgt'/>", "", None),
        ("<var name='a' ID='V1' wgt-var='V1'/>", "", "weight"),
        ("<var name='a' ID='V1'/>", "<fileDscr><recGrp keyvar='V0 V1'/></fileDscr>", "identifier"),
        ("<var name='a'/>", "<fileDscr><recGrp keyvar=''/></fileDscr>", None),
        ("<var name='a'><security>need to know</security></var>", "", "confidential"),
    ],
)
def test_the_few_roles_that_a_code_book_knows_are_told(variable: str, files: str, role: str | None) -> None:
    assert told_of(variable, files).role == role


@pytest.mark.parametrize(
    ("content", "domain"),
    [
        ("<valrng><range min='0' max='120'/></valrng>", (0, 120)),
        ("<valrng><range minExclusive='0.5' max='1e3' UNITS='REAL'/></valrng>", (0.5, 1000)),
        ("<valrng><range min='1' max='5'/><range min='7' max='9'/><item VALUE='12'/></valrng>", (1, 12)),
        ("<valrng><range min='1' max='5'/></valrng><valrng><range min='-3' max='2'/></valrng>", (-3, 5)),
        ("<valrng><range min='1'/></valrng>", None),
        ("<valrng><range min='1' max='inf'/></valrng>", None),
        ("<valrng><range min='low' max='high'/></valrng>", None),
        ("<valrng><range min='5' max='1'/></valrng>", None),
        ("<valrng><item VALUE='5'/></valrng>", None),
        ("<valrng/>", None),
        ("<invalrng><range min='98' max='99'/></invalrng>", None),
        ("<sumStat type='min'>3</sumStat><sumStat type='max'>97</sumStat>", None),
        ("<valrng><range min='0' max='120'/></valrng><sumStat type='max'> 97 </sumStat>", (0, 120)),
        ("<valrng><range min='0' max='120'/></valrng><sumStat type='mean'>120</sumStat>", (0, 120)),
    ],
)
def test_declared_ranges_are_taken_over_and_statistics_are_not(
    content: str, domain: tuple[float, float] | None
) -> None:
    assert told_of(f"<var name='a'>{content}</var>").domain == domain


@pytest.mark.parametrize("statistic", ["<sumStat type='max'> 97.0 </sumStat>", "<sumStat type='min'>3</sumStat>"])
def test_a_range_that_ends_where_the_data_end_is_not_taken_over(statistic: str) -> None:
    told = told_of(f"<var name='a'><valrng><range min='3' max='97'/></valrng>{statistic}</var>")
    assert told.domain is None
    assert told.remarks == ("the range of the code book was computed from the data",)
    assert "97" not in str(told)


def test_a_range_of_codes_is_no_domain() -> None:
    told = told_of(f"<var name='a'>{SEX}<valrng><range min='1' max='2'/></valrng><sumStat type='max'>2</sumStat></var>")
    assert told.domain is None
    assert told.remarks == ("codes of missing values are not listed: make them null",)


LAUGHS = "<!DOCTYPE codeBook [<!ENTITY a 'ha'><!ENTITY b '&a;&a;'>]>"


@pytest.mark.parametrize(
    ("document", "rule"),
    [
        (b"", "line 1: must be well-formed"),
        (b"<codeBook>\n<var></codeBook>", "line 2: must be well-formed"),
        (b"<codeBook>&a;</codeBook>", "line 1: must be well-formed"),
        (b"<?xml version='1.0' encoding='klingon'?><codeBook/>", "must have an encoding"),
        (b"<?xml version='1.0' encoding='utf-7'?><codeBook/>", "must have an encoding"),
        (b"<?xml version='1.0' encoding='utf-16'?><codeBook/>", "line 1: must be well-formed"),
        (b"<html/>", "must be a codeBook of DDI 2"),
        (b"<codeBook xmlns='ddi:instance:3_3'/>", "must be a codeBook of DDI 2"),
        (b"<DDIInstance xmlns='ddi:instance:3_3'><codeBook/></DDIInstance>", "must be a codeBook of DDI 2"),
        (b"<codeBook/>", "must describe variables"),
        (b"<codeBook><var name='a'/><var/></codeBook>", "variable 2: must have a name"),
        (
            b"<codeBook><var name='a'/><var name='a' wgt='wgt'/></codeBook>",
            "variable 2: must be described as",
        ),
        (LAUGHS.encode() + b"<codeBook><var name='&b;'/></codeBook>", "line 1: must have no document type"),
        (b"\n<!DOCTYPE codeBook SYSTEM 'codebook.dtd'><codeBook/>", "line 2: must have no document type"),
        (b"<!DOCTYPE a [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><codeBook>&x;</codeBook>", "no document type"),
    ],
)
def test_what_is_no_plain_code_book_is_refused(document: bytes, rule: str) -> None:
    with pytest.raises(RolesRefused, match=rule):
        roles_from_codebook(document)


def test_the_same_variable_in_two_files_counts_once() -> None:
    twice = roles_from_codebook(codebook("<var name='a' files='F1'/><var name='a' files='F2'/>"))
    assert list(twice.columns) == ["a"]


TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Cn", "Z"]), min_size=1, max_size=8)


@given(st.dictionaries(TEXTS, st.dictionaries(TEXTS, TEXTS, max_size=4), min_size=1, max_size=4))
def test_names_codes_and_labels_survive_whatever_they_are(variables: dict[str, dict[str, str]]) -> None:
    written = "".join(
        f"<var name={quoteattr(name)}>{''.join(category(*pair) for pair in categories.items())}</var>"
        for name, categories in variables.items()
    )
    read = roles_from_codebook(codebook(written)).columns
    assert {name: told.codes for name, told in read.items()} == {
        name: tuple(categories) for name, categories in variables.items()
    }


def test_a_code_book_is_known_by_its_suffix(tmp_path: Path) -> None:
    path = tmp_path / "survey.xml"
    path.write_bytes(b"\xef\xbb\xbf" + codebook("<var name='a'/>"))
    assert list(read_roles(path).columns) == ["a"]
