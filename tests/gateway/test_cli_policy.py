"""`sanbu policy explain` and `sanbu policy test`: what they say is what the gate does."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from engine.permissions import authorize
from engine.policy import Principal
from gateway.cli.faults import Failure
from gateway.cli.policy import run_explain, run_test
from gateway.settings import Settings
from scene_kb import shipped
from scene_kb.catalog import load_catalog
from scene_kb.diagnostics import CatalogFault

BOOKSHOP = Path(__file__).parent / "bookshop"
MASKS = "mask: {buyer_phone: partial, refund: {kind: bucket, width: 5}}"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """A bookshop in which clerks see phones and refunds through masks."""
    folder = shutil.copytree(BOOKSHOP, tmp_path / "bookshop")
    policies = (folder / "policies.yaml").read_text()
    clerk = 'clerk:\n    datasets: {orders: {fields: {allow: ["*"], deny: [buyer_phone]}}}'
    assert clerk in policies
    masked = clerk.replace("deny: [buyer_phone]", f"deny: [copies], {MASKS}")
    (folder / "policies.yaml").write_text(policies.replace(clerk, masked))
    return Settings(catalog=str(folder))


def explained(settings: Settings, capsys: pytest.CaptureFixture[str], *roles: str, **attributes: str) -> dict[str, Any]:
    given = [f"{name}={value}" for name, value in attributes.items()]
    run_explain(settings, "anna", "orders", roles=list(roles), attributes=given, as_json=True)
    said: dict[str, Any] = json.loads(capsys.readouterr().out)
    return said


@pytest.mark.parametrize("roles", [("clerk",), ("channel_b",), ("clerk", "channel_b"), ("admin",), ("admin", "clerk")])
def test_what_is_explained_is_what_is_granted(
    settings: Settings, capsys: pytest.CaptureFixture[str], roles: tuple[str, ...]
) -> None:
    said = explained(settings, capsys, *roles, channels="B")
    catalog = load_catalog(Path(settings.catalog))
    who = Principal(id="anna", roles=roles, attributes={"channels": ("B",)})
    grant = authorize(catalog.policies, catalog.datasets["orders"], who)
    assert {it["name"] for it in said["fields"] if it["sees"] != "hidden"} == grant.fields
    assert {it["name"]: it["mask"]["kind"] for it in said["fields"] if "mask" in it} == {
        name: mask.kind for name, mask in grant.masks.items()
    }
    assert said["grant"] == grant.fingerprint
    assert bool(said["rows"]) is bool(grant.rows)


def test_every_verdict_names_the_rule_that_decided(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    run_explain(settings, "anna", "orders", roles=["clerk"], attributes=[], as_json=False)
    said = capsys.readouterr().out
    for words in (
        "anna as clerk",
        "clear, allowed by role clerk (*): order_id",
        "masked, masked by role clerk (buyer_phone), shown as its last 4 characters: buyer_phone",
        "masked, computed from 'refund', which is masked: refund_rate",
        "hidden, denied by role clerk (copies): copies",
        "every row may be read",
        "hidden, denied by role clerk (tag:personal): BUYER_CONTACTS",
        "rows 10000",
    ):
        assert words in said
    run_explain(settings, "bo", "orders", roles=["channel_b"], attributes=["channels=B", "channels=C"], as_json=False)
    assert "rows may be read where channel is B or C (role channel_b: channel in principal.channels)" in (
        capsys.readouterr().out
    )


def test_a_scene_that_a_mask_makes_useless_is_explained_as_hidden(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    policies = Path(settings.catalog) / "policies.yaml"
    policies.write_text(policies.read_text().replace(MASKS, "mask: {channel: partial}"))
    scenes = {it["sceneId"]: it for it in explained(settings, capsys, "clerk")["scenes"]}
    assert scenes["SALES_BY_CHANNEL"]["inWords"] == "its grain or a required filter is hidden"
    assert scenes["BESTSELLERS"]["sees"] == "clear"


def test_who_holds_no_role_for_it_sees_nothing(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    policies = Path(settings.catalog) / "policies.yaml"
    policies.write_text(policies.read_text().replace("roles:\n", "roles:\n  intern: {}\n", 1))
    said = explained(settings, capsys, "intern")
    assert (said["access"], said["rowsInWords"]) == (False, "no row may be read")


def test_unknown_names_are_told_with_the_nearest(settings: Settings) -> None:
    with pytest.raises(Failure, match="did you mean 'orders'"):
        run_explain(settings, "anna", "order", roles=[], attributes=[], as_json=False)
    with pytest.raises(Failure, match="did you mean 'clerk'"):
        run_explain(settings, "anna", "orders", roles=["clark"], attributes=[], as_json=False)
    with pytest.raises(Failure, match="NAME=VALUE"):
        run_explain(settings, "anna", "orders", roles=[], attributes=["channels"], as_json=False)


# Expectations ---------------------------------------------------------------------------------------------------------

MET = """\
- who: {roles: [clerk]}
  dataset: orders
  sees: [amount, order_id]
  masks: {buyer_phone: partial}
  hides: [copies]
  seesScenes: [BESTSELLERS]
  hidesScenes: [BUYER_CONTACTS]
  rows: every
- who: {roles: [channel_b], attributes: {channels: [B, C]}}
  dataset: orders
  rows: ["channel in ('C', 'B')"]
- {who: {roles: [channel_b]}, dataset: orders, rows: none}
"""


def held_against(settings: Settings, text: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """What is otherwise than expected."""
    (Path(settings.catalog) / "policy_tests.yaml").write_text(text)
    try:
        run_test(settings, as_json=False)
    except SystemExit:
        return capsys.readouterr().err.splitlines()
    assert "all met" in capsys.readouterr().out
    return []


def test_expectations_that_hold_are_counted(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    assert held_against(settings, MET, capsys) == []
    run_test(settings, as_json=True)
    assert json.loads(capsys.readouterr().out) == {"ok": True, "expectations": 3, "failures": []}


@pytest.mark.parametrize(
    ("change", "to", "tells"),
    [
        ("sees: [amount,", "sees: [copies,", "3: 'copies' is expected to be clear; denied by role clerk (copies)"),
        ("buyer_phone: partial", "amount: hash", "4: 'amount' is expected under hash; allowed by role clerk (*)"),
        ("buyer_phone: partial", "buyer_phone: hash", "4: 'buyer_phone' is expected under hash; masked by role clerk"),
        ("hides: [copies]", "hides: [refund*]", "5: 'refund' is expected to be hidden; masked by role clerk (refund)"),
        (
            "seesScenes: [BEST",
            "seesScenes: [BUYER_CONTACTS, BEST",
            "6: 'BUYER_CONTACTS' is expected to be clear; denied",
        ),
        ("hidesScenes: [BUY", "hidesScenes: [REFUNDS, BUY", "7: 'REFUNDS' is expected to be hidden; allowed by role"),
        ("rows: every", "rows: none", "8: no row is expected; every row may be read"),
        ("('C', 'B')", "('B')", "11: other rows are expected; rows may be read where channel is B or C"),
        ("{roles: [channel_b]}", "{roles: [clerk]}", "12: no row is expected; every row may be read"),
        ("sees: [amount,", "sees: [amont,", "3: 'amont' is nothing of api 'orders'; did you mean 'amount'?"),
        ("who: {roles: [clerk]}", "who: {roles: [clark]}", "1: there is no role 'clark'; did you mean 'clerk'?"),
        ("dataset: orders\n  sees", "dataset: order\n  sees", "2: there is no api 'order'; did you mean 'orders'?"),
    ],
)
def test_an_expectation_that_does_not_hold_is_told_with_line_and_what_decided(
    settings: Settings, capsys: pytest.CaptureFixture[str], change: str, to: str, tells: str
) -> None:
    assert MET.count(change) == 1
    assert any(
        line.startswith(f"policy_tests.yaml:{tells}")
        for line in held_against(settings, MET.replace(change, to), capsys)
    )


@pytest.mark.parametrize(
    "text",
    [
        "who: {roles: [clerk]}",
        "- {who: {roles: []}, dataset: orders}",
        '- {who: {roles: [a]}, dataset: o, rows: ["x in principal.y"]}',
    ],
)
def test_a_file_that_is_none_is_a_fault_of_the_catalog(settings: Settings, text: str) -> None:
    (Path(settings.catalog) / "policy_tests.yaml").write_text(text)
    with pytest.raises(CatalogFault, match=r"policy_tests\.yaml:1: "):
        run_test(settings, as_json=False)


@pytest.mark.parametrize("name", shipped.SHIPPED)
def test_the_expectations_of_the_catalogs_that_come_with_the_package_hold(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if (shipped.folder_of(name) / "policy_tests.yaml").exists():
        run_test(Settings(catalog=name), as_json=False)
        assert "all met" in capsys.readouterr().out
    else:
        assert name != "ads"
