"""A tokenizer that does not know the script of the texts is found out, and none that does is suspected."""

from __future__ import annotations

import pytest
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers
from transformers import ByT5Tokenizer, PreTrainedTokenizerFast

from pippin.data.scripts import unfamiliar
from pippin.models.loading import load_tokenizer
from pippin.recipe.reading import recipe_from

ENGLISH = [
    "The service in this restaurant was excellent and the food delicious.",
    "I did not like the film, it was boring and far too long.",
    "Delivery took two weeks, I will not buy again from these people.",
]
CHINESE = ["这家餐厅的服务非常好，菜也很好吃。", "我不喜欢这部电影，太无聊了，浪费时间。", "手机电池很耐用，值得购买。"]
KOREAN = ["이 식당은 서비스가 정말 좋고 음식도 맛있어요.", "영화가 너무 지루해서 시간 낭비였습니다."]
ARABIC = ["كانت الخدمة في هذا المطعم ممتازة والطعام لذيذ جدا", "لم يعجبني هذا الفيلم لأنه ممل ومضيعة للوقت"]
RUSSIAN = ["Обслуживание в этом ресторане было отличным.", "Фильм мне не понравился, он скучный и слишком длинный."]
FOREIGN = {
    "Chinese": CHINESE,
    "Japanese": ["このレストランのサービスはとても良くて、料理もおいしかった。", "映画は退屈で、時間の無駄でした。"],
    "Korean": KOREAN,
    "Arabic": ARABIC,
    "Cyrillic": RUSSIAN,
    "Devanagari": ["इस रेस्तरां की सेवा बहुत अच्छी थी और खाना भी स्वादिष्ट था।", "मुझे यह फिल्म पसंद नहीं आई।"],
    "Thai": ["บริการของร้านอาหารนี้ดีมากและอาหารก็อร่อย", "ฉันไม่ชอบหนังเรื่องนี้เพราะมันน่าเบื่อ"],
    "Hebrew": ["השירות במסעדה הזאת היה מצוין והאוכל טעים מאוד", "לא אהבתי את הסרט כי הוא משעמם"],
    "Greek": ["Η εξυπηρέτηση σε αυτό το εστιατόριο ήταν εξαιρετική.", "Δεν μου άρεσε η ταινία γιατί ήταν βαρετή."],
    "Bengali": ["এই রেস্তোরাঁর সেবা খুব ভালো ছিল এবং খাবারও সুস্বাদু", "আমি এই সিনেমা পছন্দ করিনি"],
    "Ethiopic": ["በዚህ ምግብ ቤት ያለው አገልግሎት በጣም ጥሩ ነበር ምግቡም ጣፋጭ ነበር"],
}
FINE = {
    "English": ENGLISH,
    "German": ["Die Geschwindigkeitsbegrenzung war überschritten, die Bedienung köstlich langsam.", "Viel zu lang."],
    "French": ["Le service était excellent, la nourriture délicieuse.", "Je n'ai pas aimé ce film ennuyeux."],
    "Turkish": ["Bu restoranın hizmeti mükemmeldi ve yemekler çok lezzetliydi.", "Filmi beğenmedim, çok sıkıcıydı."],
    "Vietnamese": ["Dịch vụ ở nhà hàng này rất tốt và món ăn rất ngon.", "Tôi không thích bộ phim này vì quá dài."],
    "Polish": ["Obsługa była doskonała, a jedzenie przepyszne.", "Film mi się nie podobał, był zdecydowanie za długi."],
    "code": ["def getElementById(x): return xs[i] if foo_bar2 else None", "SELECT usr_nm FROM tbl_x WHERE cnt>3;"],
    "DNA": ["ACGTTGCAACGGTCATTGCAGGCATCGATCGGGATATCGATCGGCTA"],
    "numbers": ["12 345 6789", "3.14 2.71 1.41"],
    "emoji": ["😀😀😂👍", "great😀 food", "❤️❤️❤️ 🎉🎉"],
    "nothing": [],
    "one row in forty": [*ENGLISH * 13, RUSSIAN[0]],
    "a foreign name": [f"{ENGLISH[0]} 北京饭店 is its name and we go there again", ENGLISH[1]],
}


@pytest.fixture(scope="module")
def english():
    """The built-in model's: WordPiece, with the letters of many scripts."""
    return load_tokenizer(recipe_from({}).recipe)


@pytest.mark.parametrize("script", FOREIGN)
def test_a_script_that_an_english_tokenizer_does_not_know(english, script):
    assert script in (unfamiliar(FOREIGN[script], english) or "")
    assert script in (unfamiliar(FOREIGN[script] * 500, english) or ""), "of many rows some are looked at"


@pytest.mark.parametrize("kind", FINE)
def test_nothing_is_said_of_what_it_knows(english, kind):
    assert unfamiliar(FINE[kind] * 3, english) is None


def trained(model: models.Model, trainer: trainers.Trainer, texts: list[str], **parts) -> PreTrainedTokenizerFast:
    tokenizer = Tokenizer(model)
    for name, part in parts.items():
        setattr(tokenizer, name, part)
    tokenizer.train_from_iterator(texts * 20, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>" if "<unk>" in str(trainer) else None)


def byte_level(texts: list[str]) -> PreTrainedTokenizerFast:
    whole = trainers.BpeTrainer(vocab_size=2000, initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    return trained(models.BPE(), whole, texts, pre_tokenizer=pre_tokenizers.ByteLevel(add_prefix_space=False))


@pytest.mark.parametrize("texts", [KOREAN, ARABIC, CHINESE], ids=["Korean", "Arabic", "Chinese"])
def test_bytes_that_a_tokenizer_has_learnt_to_put_together(texts):
    assert unfamiliar(texts, byte_level(texts + ENGLISH)) is None
    assert "tokens per character" in (unfamiliar(texts, byte_level(ENGLISH)) or ""), "bytes that it has not"


def test_a_multilingual_tokenizer():
    """SentencePiece's Unigram, with a space that is a token of its own before a character without a piece."""
    everything = [*ENGLISH, *CHINESE, *RUSSIAN, *ARABIC, *KOREAN]
    trainer = trainers.UnigramTrainer(vocab_size=600, special_tokens=["<unk>"], unk_token="<unk>")
    tokenizer = trained(
        models.Unigram(), trainer, everything, pre_tokenizer=pre_tokenizers.Metaspace(), normalizer=normalizers.NFKC()
    )
    for texts in (ENGLISH, CHINESE, RUSSIAN, ARABIC, KOREAN):
        assert unfamiliar(texts, tokenizer) is None
    assert unfamiliar(["很 好 吃"] * 20, tokenizer) is None


def test_a_token_for_each_character_of_chinese_is_normal():
    letters = sorted({letter for text in [*CHINESE, *ENGLISH] for letter in text})
    vocabulary = {token: place for place, token in enumerate(["[UNK]", *letters, *(f"##{each}" for each in letters)])}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    assert unfamiliar(CHINESE, PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="[UNK]")) is None


@pytest.mark.parametrize("texts", [ENGLISH, RUSSIAN, KOREAN], ids=["English", "Russian", "Korean"])
def test_a_tokenizer_of_bytes_by_design(texts):
    assert unfamiliar(texts, ByT5Tokenizer()) is None


def test_it_is_said_before_training_and_when_predicting(train, run_cli, tmp_path):
    rows = [f"{text} {place},{place % 2}" for place in range(6) for text in RUSSIAN]
    (tmp_path / "rows.csv").write_text("text,label\n" + "\n".join(rows).replace(", он", " он"))
    out, _ = train("rows.csv", steps=1)
    said = "of the text in Cyrillic script is unknown to the model's tokenizer. Expect poor results."
    assert out.index(said) < out.index("step 1/1")
    assert "--model FacebookAI/xlm-roberta-base" in out
    _, _, err = run_cli("predict", "run", "--text", RUSSIAN[1], "--text", RUSSIAN[0])
    assert "warning: 100% of the text in Cyrillic script is unknown" in err
    assert err.count("warning") == 1
    assert "Cyrillic" not in run_cli("predict", "run", "--text", "the cat is near my dog and over the horse")[2]


def test_every_script_is_named_and_a_tenth_of_the_rows_is_enough(english):
    said = unfamiliar([*ENGLISH * 6, *RUSSIAN, *FOREIGN["Thai"]], english)
    assert said is not None
    assert "Cyrillic" in said
    assert "Thai" in said


def test_one_short_text_with_unknown_tokens_is_enough(english):
    assert "Chinese" in (unfamiliar(["这部电影太好看了"], english) or "")
