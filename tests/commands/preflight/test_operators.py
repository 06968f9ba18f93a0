"""What a model calls, judged by each release's table. The expected answers are facts about these releases."""

from __future__ import annotations

import pytest
from transformers import BertConfig, DistilBertConfig, GPT2Config, LlamaConfig, ModernBertConfig, T5Config

from pippin.commands.preflight.operators import Call, judge
from pippin.commands.preflight.run import judged_operators
from pippin.machine.faults import MacFacts
from pippin.machine.operators import Coverage, releases, table

MODELS = {
    "bert": BertConfig(),
    "gpt2": GPT2Config(pad_token_id=0),
    "llama": LlamaConfig(pad_token_id=0),
    "t5": T5Config(pad_token_id=0, decoder_start_token_id=0, eos_token_id=1),
    "distilbert": DistilBertConfig(),
    "modernbert": ModernBertConfig(),
}


@pytest.mark.parametrize("config", MODELS.values(), ids=MODELS)
def test_newest_releases_run_all_of_it(config):
    for torch in ("2.6.0", "2.13.0", releases()[-1]):
        found = judged_operators(config, "fp32", MacFacts(torch, "15.0", "Apple M1"))
        assert found.findings == ()
        assert found.native > 25


@pytest.mark.parametrize("name", ["bert", "gpt2", "llama", "t5"])
def test_old_releases_lack_what_they_lacked(name):
    config = MODELS[name]
    old = {
        finding.name: finding
        for finding in judged_operators(config, "fp32", MacFacts("2.0.0", "15.0", "Apple M1")).findings
    }
    assert set(old) == {"aten::lerp_.Scalar", "aten::linalg_vector_norm"}
    assert old["aten::lerp_.Scalar"].coverage == "fallback"
    assert old["aten::linalg_vector_norm"].coverage == "always_cpu"
    assert old["aten::lerp_.Scalar"].native_since == "2.1.0"
    assert judged_operators(config, "fp32", MacFacts("2.4.0", "15.0", "Apple M1")).findings == ()


def test_inner_operators_are_judged_only_where_the_outer_one_is_made_of_them():
    known = table("2.5.0")
    assert known.coverage("linear") is Coverage.NATIVE
    assert known.coverage("matmul") is Coverage.COMPOSITE
    missing = Call("aten::isneginf.out")
    inside_native = judge([Call("aten::linear", (missing,))], known)
    assert inside_native.findings == ()
    inside_composite = judge([Call("aten::matmul", (missing, missing))], known)
    assert [(finding.name, finding.calls) for finding in inside_composite.findings] == [("aten::isneginf.out", 2)]
    unknown_there = judge([Call("aten::brand_new", (missing,)), Call("autograd::Node", (missing,))], known)
    assert unknown_there.findings[0].calls == 2
