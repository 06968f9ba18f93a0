"""Tokens never reach a file, the screen or a message, whichever way they came and whatever goes wrong."""

from __future__ import annotations

import json
import shutil

import pytest
from security_helpers import files_with

import pippin
from pippin import redact
from pippin.redact import remember_secrets_of, without_secrets

GIVEN = "markerTokenFromTheCommandLine"
IN_FILE = "markerTokenFromTheConfigFile"
ENVIRONMENT = {
    "HF_TOKEN": "markerTokenHf",
    "HUGGING_FACE_HUB_TOKEN": "markerTokenHubOld",
    "WANDB_API_KEY": "markerTokenWandb",
    "AWS_SECRET": "markerTokenElse",
}


@pytest.fixture(autouse=True)
def _environment(monkeypatch, tmp_path):
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(redact, "_known", set())


@pytest.fixture
def with_tokens(run_cli, tmp_path):
    """Run a command with a token on the command line and one in a file; nothing that comes out may hold a marker."""

    def call(*arguments: object) -> tuple[int, str]:
        config = tmp_path / "settings.yaml"
        config.write_text(f"token: {IN_FILE}\n")
        from_file = run_cli(*arguments, "--config", config)
        config.unlink()
        given = run_cli(*arguments, "--token", GIVEN, "--overwrite_output_dir")
        for code, out, err in (from_file, given):
            assert "markerToken" not in out + err
            assert code == given[0]
        assert files_with("markerToken", tmp_path) == []
        return given[0], given[2]

    return call


def test_a_run(with_tokens, word_file, tiny_model):
    code, err = with_tokens("train", word_file, "--test_file", word_file, "--model_name_or_path", tiny_model,
                            "--max_steps", 2, "--save_steps", 1, "--output_dir", "run")  # fmt: skip
    assert code == 0, err


def test_the_search_finds_what_it_looks_for(tmp_path):
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "x").write_text(f"a {GIVEN} b")
    assert len(files_with("markerToken", tmp_path)) == 1


@pytest.fixture
def unusual_model(tiny_model, tmp_path):
    """A model that is left to transformers."""
    folder = tmp_path / "unusual"
    shutil.copytree(tiny_model, folder)
    config = folder / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"hidden_act": "relu"}))
    return folder


@pytest.mark.parametrize("where", ["config", "weights", "weights of a plain BERT", "training"])
def test_errors_that_quote_what_was_sent(with_tokens, word_file, tiny_model, unusual_model, monkeypatch, where):
    """As the Hub's client and its proxies may say it."""

    def fail(*arguments, **keywords):
        token = keywords.get("token") or IN_FILE
        raise RuntimeError(
            f"401 for https://someone:markerTokenPassword@proxy.test/x?token=markerTokenQuery "
            f"(headers {{'authorization': 'Bearer {token}', 'x': '{ENVIRONMENT['HF_TOKEN']}'}})"
        )

    target = {
        "config": "transformers.AutoConfig.from_pretrained",
        "weights": "transformers.AutoModelForSequenceClassification.from_pretrained",
        "weights of a plain BERT": "safetensors.torch.load_file",
        "training": "pippin.engine.steps.eager.EagerStep.gradients",
    }[where]
    monkeypatch.setattr(target, fail)
    model = unusual_model if where in ("config", "weights") else tiny_model
    code, err = with_tokens("train", word_file, "--model_name_or_path", model,
                            "--max_steps", 1)  # fmt: skip
    assert code == 2
    assert "***" in err


def test_errors_from_python_hold_no_token(word_file, unusual_model, monkeypatch):
    def fail(*arguments, **keywords):
        raise OSError(f"sent {keywords['token']}")

    monkeypatch.setattr("transformers.AutoConfig.from_pretrained", fail)
    with pytest.raises(pippin.PippinError, match=r"sent \*\*\*"):
        pippin.train(word_file, model_name_or_path=unusual_model, token=GIVEN, quiet=True)


def test_data_from_the_hub(with_tokens, monkeypatch):
    def fail(*arguments, **keywords):
        raise RuntimeError(f"Authorization: Bearer {keywords['token']}")

    monkeypatch.setattr("huggingface_hub.snapshot_download", fail)
    code, err = with_tokens("train", "--task_name", "mrpc")
    assert code == 2
    assert "could not be downloaded from the Hub" in err


@pytest.mark.parametrize("flag", ["--token", "--use_auth_token", "--use-auth-token", "--hub_token"])
@pytest.mark.parametrize("form", ["{} {}", "{}={}"])
def test_mistakes_beside_a_token(run_cli, flag, form):
    token = "marker-Token.with/signs"  # some would be taken for a file
    _, out, err = run_cli("train", *form.format(flag, token).split(), "--no_such_flag", "nothing.csv")
    assert token not in out + err
    assert err


def test_predict_and_doctor(run_cli, monkeypatch):
    monkeypatch.setattr("pippin.machine.probe.is_offline", lambda variables: False)
    monkeypatch.setenv("HF_ENDPOINT", "http://someone:markerTokenPassword@hub.test")

    class Session:
        def head(self, address, timeout):
            raise OSError(f"no answer from {address}")

    monkeypatch.setattr("huggingface_hub.utils.get_session", Session)
    for arguments in (("doctor",), ("doctor", "--json"), ("predict", "someone/private", "--text", "x")):
        _, out, err = run_cli(*arguments)
        assert "markerToken" not in out + err


def test_doctor_keeps_the_trouble_of_the_hub(monkeypatch):
    from pippin.machine.probe import ask_hub

    class Session:
        def head(self, address, timeout):
            raise OSError("proxy http://me:markerTokenPassword@proxy.test:80 refused")

    monkeypatch.setattr("huggingface_hub.utils.get_session", Session)
    assert ask_hub("http://hub.test") == "OSError: proxy http://***@proxy.test:80 refused"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("hf_" + "aB3" * 12, "***"),
        ("file hf_data.csv stays", "file hf_data.csv stays"),
        ("Authorization: Bearer abcdefgh12345", "Authorization: Bearer ***"),
        ("bearer abcdefgh12345", "bearer ***"),
        ("{'Authorization': 'Basic dXNlcjpwYXNz'}", "{'Authorization': 'Basic ***'}"),
        ('"authorization": "abcdefgh12345"', '"authorization": "***"'),
        ("https://u:p@ss@h.test/a@b", "https://***@h.test/a@b"),
        ("https://h.test/a?X-Amz-Signature=abc&b=1", "https://h.test/a?X-Amz-Signature=***&b=1"),
        ("mail me@home.test about basic training", "mail me@home.test about basic training"),
        (json.dumps({"WANDB": ENVIRONMENT["WANDB_API_KEY"]}), '{"WANDB": "***"}'),
    ],
)
def test_what_is_hidden_and_what_is_not(text, shown):
    assert without_secrets(text) == shown


def test_short_words_are_no_secrets():
    remember_secrets_of(["--token", "a", "--use_auth_token"])
    assert without_secrets("a cat") == "a cat"
