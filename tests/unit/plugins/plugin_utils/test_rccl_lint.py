# SPDX-License-Identifier: Apache-2.0
"""The lint gives each file the verdict that RCCL's own parser gave it."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.instinct.bringup.plugins.module_utils.rccl_model import TopologyError
from ansible_collections.instinct.bringup.plugins.module_utils.rccl_topology import build_topology, render_xml
from ansible_collections.instinct.bringup.plugins.plugin_utils.rccl_host import lint_host
from ansible_collections.instinct.bringup.plugins.plugin_utils.rccl_lint import Finding, lint_topology, verdict

Maker = Callable[..., dict[str, Any]]

GOOD = """<system version="2">
  <cpu numaid="0" affinity="ff" arch="x86_64" vendor="AuthenticAMD" familyid="175" modelid="1">
    <pci busid="0000:23:00.0" class="0x038000" link_speed="16.0 GT/s PCIe" link_width="16">
      <gpu dev="0" sm="90" gcn="910" arch="38911" gdr="1">
        <xgmi target="0000:43:00.0" count="1" tclass="0x038000"/>
      </gpu>
    </pci>
    <pci busid="0000:43:00.0" class="0x038000" link_speed="16.0 GT/s PCIe" link_width="16">
      <gpu dev="1" sm="90" gcn="910" arch="38911" gdr="1">
        <xgmi target="0000:23:00.0" count="1" tclass="0x038000"/>
      </gpu>
    </pci>
  </cpu>
</system>
"""


def lint(text: str, version: str = "2.13.4") -> list[Finding]:
    return lint_topology(text, version)


@pytest.mark.parametrize("version", ["2.13.4", "2.17.1", "2.21.5"])
def test_right_file_has_no_finding(version: str) -> None:
    assert lint(GOOD, version) == []


@pytest.mark.parametrize(
    ("before", "after", "severity", "line"),
    [
        pytest.param("<system", '<?xml version="1.0"?>\n<system', "rejected", 1, id="prolog"),
        pytest.param("<system", "\ufeff<system", "rejected", 1, id="byte-order-mark"),
        pytest.param("\n  <cpu", "\n\t<cpu", "rejected", 2, id="tab"),
        pytest.param('sm="90" gcn', 'sm="90"\n gcn', "rejected", 5, id="line-end-between-attributes"),
        pytest.param('sm="90"', 'sm = "90"', "rejected", 4, id="spaces-around-equals"),
        pytest.param('sm="90"', 'sm ="90"', "silently_wrong", 4, id="space-before-equals"),
        pytest.param('sm="90"', "sm=90", "rejected", 4, id="no-quote"),
        pytest.param("      </gpu>\n    </pci>\n  </cpu>", "    </pci>\n  </cpu>", "rejected", 11, id="not-closed"),
        pytest.param("</system>\n", "</system>\ntext", "rejected", 15, id="text-after"),
        pytest.param("</system>\n", "", "rejected", 1, id="cut-off"),
        pytest.param("</system>\n", "</system>\n</system>", "rejected", 15, id="closed-twice"),
        pytest.param('version="2"', 'version="1"', "rejected", 1, id="version"),
        pytest.param('version="2"', 'name="x"', "rejected", 1, id="no-version"),
        pytest.param('numaid="0" ', "", "rejected", 2, id="no-numaid"),
        pytest.param('target="0000:23:00.0" count="1"', 'target="0000:23:00.0"', "rejected", 10, id="no-count"),
        pytest.param('target="0000:23:00.0"', 'target="0000:63:00.0"', "rejected", 10, id="target-elsewhere"),
        pytest.param(
            '        <xgmi target="0000:23:00.0" count="1" tclass="0x038000"/>\n', "", "rejected", 5, id="one-way"
        ),
        pytest.param('link_speed="16.0 GT/s PCIe"', 'link_speed="Gen4"', "silently_wrong", 3, id="speed"),
        pytest.param('link_speed="16.0 GT/s PCIe"', 'link_speed="16.0 GT/s"', "silently_wrong", 3, id="speed-cut"),
        pytest.param('tclass="0x038000"', 'tclass="0x999999"', "silently_wrong", 5, id="tclass"),
        pytest.param('link_width="16"', 'link_width="x16"', "silently_wrong", 3, id="width-with-letter"),
        pytest.param('count="1"', 'count="one"', "silently_wrong", 5, id="count-in-words"),
        pytest.param('link_width="16"', 'link_width="16" lanes="16"', "note", 3, id="unread-attribute"),
        pytest.param('"0000:23:00.0" class', '"23:00.0" class', "note", 3, id="short-busid"),
        pytest.param('"0000:43:00.0" class', '"0000:4B:00.0" class', "note", 8, id="upper-case-busid"),
        pytest.param('sm="90"', 'rank="0,0" sm="90"', "silently_wrong", 4, id="two-ranks"),
        pytest.param("<xgmi", "<nvlink", "silently_wrong", 5, id="nvlink"),
        pytest.param("  <cpu", "  <gpu/>\n  <cpu", "silently_wrong", 2, id="gpu-in-system"),
        pytest.param('<pci busid="0000:43:00.0"', '<pci busid="0000:23:00.0"', "silently_wrong", 8, id="busid-twice"),
        pytest.param('affinity="ff"', f'affinity="{"f" * 300}"', "silently_wrong", 2, id="long-value"),
        pytest.param("  </cpu>", '    <pci busid="1"/>\n' * 31 + "  </cpu>", "silently_wrong", 2, id="children"),
        pytest.param('sm="90" ', "", "incomplete", 4, id="no-sm"),
        pytest.param(' vendor="AuthenticAMD"', "", "incomplete", 2, id="no-vendor"),
        pytest.param(' tclass="0x038000"', "", "incomplete", 5, id="no-tclass"),
        pytest.param('sm="90"', 'sm="90"' + ' x="1"' * 13 + ' y="1"', "ignored", 4, id="seventeen-attributes"),
        pytest.param("  <cpu", "  <mem/>\n  <cpu", "note", 2, id="unknown-element"),
        pytest.param('sm="90"', 'rank="0" sm="90"', "note", 4, id="rank"),
        pytest.param('gcn="910"', 'gcn="gfx90a"', "note", 4, id="gcn-as-text"),
    ],
)
def test_one_fault_is_found_with_its_line(before: str, after: str, severity: str, line: int) -> None:
    assert before in GOOD
    found = [(finding.severity, finding.line) for finding in lint(GOOD.replace(before, after, 1))]
    assert (severity, line) in found


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("\n", "\r\n", id="crlf"),
        pytest.param("<cpu numaid", "<cpu  numaid", id="two-spaces"),
        pytest.param("  <cpu", "  <!-- a > comment - with -- dashes -->\n  <cpu", id="comment"),
        pytest.param(' affinity="ff"', "", id="no-affinity"),
        pytest.param('version="2"', 'version="0x2"', id="version-in-hexadecimal"),
    ],
)
def test_what_rccl_takes_is_no_finding(before: str, after: str) -> None:
    assert lint(GOOD.replace(before, after)) == []


@pytest.mark.parametrize("text", ["", "\n \r\n", "<other/>"], ids=["empty", "blank", "other"])
def test_file_without_a_system_is_ignored(text: str) -> None:
    assert verdict(lint(text)) == "ignored"


@pytest.mark.parametrize(
    ("version", "severity"), [("2.13.4", "silently_wrong"), ("2.17.1", "silently_wrong"), ("2.18.3", "note")]
)
def test_two_ranks_of_one_gpu_are_overwritten_by_newer_versions(version: str, severity: str) -> None:
    found = [f.severity for f in lint(GOOD.replace('sm="90"', 'rank="0,0" sm="90"', 1), version) if "rank" in f.message]
    assert found == [severity]


def test_newer_version_gets_the_newest_rules_and_a_note() -> None:
    findings = lint(GOOD, "2.27.7")
    assert [finding.severity for finding in findings] == ["note"]
    assert "newer than the rules" in findings[0].message


def test_older_version_gets_a_note() -> None:
    findings = lint(GOOD, "2.11.4")
    assert [(finding.severity, "older than the rules" in finding.message) for finding in findings] == [("note", True)]


def test_what_is_no_version_is_said() -> None:
    with pytest.raises(ValueError, match=r"rccl_version '5\.x' is not a version"):
        lint(GOOD, "5.x")


def test_many_comments_are_no_trouble() -> None:
    assert lint("<!-- x -->\n" * 3000 + GOOD) == []


def test_nesting_beyond_any_machine_is_refused() -> None:
    assert verdict(lint('<system version="2"><cpu numaid="0">' + '<pci busid="1">' * 3000)) == "rejected"


def test_single_quote_is_named() -> None:
    assert "single quote" in lint("<system version='2'/>")[0].message


def test_more_elements_than_newer_parsers_hold_are_noted() -> None:
    many = "".join(f'<pci busid="{n:x}" class="0x060400" link_speed="" link_width="16"/>' for n in range(300))
    text = f'<system version="2"><cpu numaid="0">{many}</cpu></system>'
    assert [f for f in lint(text, "2.21.5") if f.severity == "note" and "room for 256" in f.message]
    assert not [f for f in lint(text, "2.17.1") if "room for 256" in f.message]


def test_more_elements_than_the_parser_holds_are_rejected() -> None:
    many = "".join(f'<pci busid="{n:x}"><pci busid="f{n:x}"/></pci>' for n in range(600))
    assert verdict(lint(f'<system version="2"><cpu numaid="0">{many}</cpu></system>')) == "rejected"


@given(st.text(alphabet="<>/=\"' \n\tabsystem-!", max_size=60))
def test_any_text_gets_a_verdict(text: str) -> None:
    assert verdict(lint(text)) in {"ok", "rejected", "ignored", "silently_wrong", "incomplete"}


@given(data=st.data())
def test_no_rendered_file_is_worse_than_right(machine: Maker, nic: Maker, slot: Maker, data: st.DataObject) -> None:
    """Render whatever is odd about machines, and lint it: a right file comes out, or a refusal with a path."""
    buses = data.draw(st.lists(st.sampled_from(range(0x13, 0x100, 8)), min_size=1, max_size=16, unique=True))
    size = data.draw(st.sampled_from([1, 2, 4, 8]))
    version = data.draw(st.sampled_from(["2.13.4", "2.17.1", "2.18.3", "2.21.5"]))
    snapshot = machine(
        buses=buses,
        hives=[buses[start : start + size] for start in range(0, len(buses), size)],
        numa_of=data.draw(st.dictionaries(st.sampled_from(buses), st.integers(-1, 1))),
        slots={buses[0]: slot(data.draw(st.sampled_from([2.5, 8.0, 64.0])), 1, most=64.0, widest=16)},
        nics=data.draw(st.sampled_from([[], [nic()], [nic(hca=None)], [nic(speed=None)]])),
        count=data.draw(st.integers(1, 4)),
    )
    # Missing parents, one-way links, a second domain, partitions.
    for gpu in data.draw(st.lists(st.sampled_from(snapshot["pci"]["gpus"]), max_size=2)):
        gpu["path"] = gpu["path"][: data.draw(st.integers(0, 3))]
    for node in data.draw(st.lists(st.sampled_from(snapshot["kfd"]["nodes"]), max_size=2)):
        node["io_links"] = node["io_links"][:1]
    if data.draw(st.booleans()):
        moved = f"0000:{buses[0]:02x}:00.0"
        snapshot = json.loads(json.dumps(snapshot).replace(moved, moved.replace("0000:", "0001:", 1)))
    if data.draw(st.integers(0, 9)) == 0:
        last = snapshot["kfd"]["nodes"][-1]
        snapshot["kfd"]["nodes"].append({**last, "id": last["id"] + 1, "bdf": last["bdf"][:-1] + "1"})
    try:
        topology = build_topology(snapshot, version, data.draw(st.sampled_from(["now", "capability"])))
    except TopologyError as error:
        refusal = str(error)
    else:
        refusal = ""
    if refusal:
        assert "/sys/class/kfd/kfd/topology/nodes/" in refusal
        return
    text = render_xml(topology)
    assert lint(text, version) == []
    snapshot["pci"]["addresses"] = re.findall(r'busid="([^"]*)"', text)
    assert lint_host(text, version, snapshot) == []


def test_made_cases_of_every_kind_get_their_verdict(repository: Path) -> None:
    folder = repository / "tests" / "fixtures" / "rccl" / "cases"
    assert judged(folder) == expected_of(folder)


def expected_of(folder: Path) -> dict[str, str]:
    with (folder / "expected.tsv").open(encoding="utf-8") as stream:
        return {row["file"]: row["verdict"] for row in csv.DictReader(stream, delimiter="\t")}


def judged(folder: Path) -> dict[str, str]:
    # newline="" keeps CRLF as it is.
    texts = {path.name: path.open(encoding="utf-8", newline="").read() for path in folder.glob("*.xml")}
    return {name: verdict(lint(text)) for name, text in texts.items()}


def test_every_case_of_rccls_own_parser_gets_its_verdict(captures: Path) -> None:
    folder = captures.parent / "facts" / "topology-cases"
    assert judged(folder) == expected_of(folder)


def test_real_topologies_are_taken(captures: Path) -> None:
    # One dump gives a switch and a network card the same bus id; RCCL's search by it finds only the first.
    twice = {"topo_8p1h_1.xml": [("silently_wrong", 114)]}
    for path in sorted((captures / "rccl-topo").glob("*.xml")):
        findings = lint(path.read_text(encoding="utf-8"), "2.21.5")
        above = [(finding.severity, finding.line) for finding in findings if finding.severity != "note"]
        assert above == twice.get(path.name, []), path.name
