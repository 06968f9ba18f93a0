"""`pippin preflight` for several processes and several computers: a part of the work each, and what the link costs."""

from __future__ import annotations

import json

import pytest


@pytest.fixture
def answer(run_cli, word_file, tiny_model):
    def call(*arguments: object) -> dict:
        code, out, err = run_cli("preflight", word_file, "--model", tiny_model, "--chip", "m4", "--json", *arguments)
        assert code == 0, err
        return json.loads(out)

    return call


def test_two_macs_share_the_work_and_pay_for_the_link(answer):
    alone, both = answer(), answer("--hosts", 2, "--reduce", "fast")
    assert alone["links"] == []
    assert [each["link"] for each in both["links"]] == [
        "Thunderbolt 5", "Thunderbolt 4", "10 Gbit Ethernet", "1 Gbit Ethernet", "Wi-Fi",
    ]  # fmt: skip
    assert both["duration"]["step"] < alone["duration"]["step"]
    trained = both["fits"]["parts"]["gradients"]
    assert both["links"][0]["sent_bytes"] == trained, "a ring of two: each sends its half twice"
    (wifi,) = answer("--hosts", "mac-a,mac-b", "--reduce", "fast", "--link", "wifi")["links"]
    assert wifi == both["links"][-1]
    assert wifi["high"] > wifi["low"] > both["links"][0]["low"]


def test_three_macs_send_more_where_sums_are_exact(answer):
    """Four shards cannot be dealt out to three as branches of one tree."""
    exact, fast = (answer("--hosts", 3, "--link", "10gbe", "--reduce", how)["links"][0] for how in ("exact", "fast"))
    assert exact["sent_bytes"] == pytest.approx(1.5 * fast["sent_bytes"], rel=0.01)


def test_sums_of_shards_are_held_beside_the_gradient(answer):
    parts = [answer("--processes", 2, "--reduce", how)["fits"]["parts"] for how in ("fast", "exact")]
    assert parts[1]["gradients"] == 2 * parts[0]["gradients"]


def test_a_spread_model_needs_less(run_cli, word_file, tiny_model, tmp_path):
    code, out, _ = run_cli("doctor", "--json")
    machine = json.loads(out)["machine"]
    machine["devices"] = [each for each in machine["devices"] if each["kind"] == "cpu"]
    (tmp_path / "machine.json").write_text(json.dumps({"machine": machine}))

    def parts(*flags: object) -> dict[str, int]:
        words = ("--model", tiny_model, "--machine", tmp_path / "machine.json", "--json", *flags)
        code, out, err = run_cli("preflight", word_file, *words)
        assert code == 0, err
        return json.loads(out)["fits"]["parts"]

    whole, spread = parts("--processes", 4), parts("--processes", 4, "--shard")
    assert spread["optimiser state"] < whole["optimiser state"] / 3
    assert spread["gradients"] < whole["gradients"]


def test_what_makes_no_sense_is_said(run_cli, word_file):
    for flags, words in (
        (("--link", "wifi"), "--link wifi is for several computers. Add --hosts 2"),
        (("--hosts", 2, "--measure"), "--measure runs one process: leave out --processes and --hosts."),
    ):
        code, _, err = run_cli("preflight", word_file, *flags)
        assert (code, words in err) == (2, True), err
    code, _, err = run_cli("train", word_file, "--hosts", 2)
    assert (code, "--hosts 2: these are no names of computers" in err) == (2, True)
