"""Real architectures and tokenizers with small random weights, created by the tests that need them.

Every maker returns the folder. The text that tokenizers are trained on is the sample corpus.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from support.sample import read_sample_passages

torch = pytest.importorskip("torch", reason="needs the models extra")
transformers = pytest.importorskip("transformers", reason="needs the models extra")
tokenizers = pytest.importorskip("tokenizers", reason="needs the models extra")

VOCABULARY = 600


@cache
def corpus() -> list[str]:
    return [f"{each['title']}\n{each['text']}" for each in read_sample_passages()]


def _unigram(special: list[str]) -> Any:
    """Train a sentencepiece-like tokenizer, as XLM-R, T5 and DeBERTa-v3 have one."""
    tokenizer = tokenizers.Tokenizer(tokenizers.models.Unigram())
    tokenizer.normalizer = tokenizers.normalizers.NFKC()
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    tokenizer.decoder = tokenizers.decoders.Metaspace()
    trainer = tokenizers.trainers.UnigramTrainer(
        vocab_size=VOCABULARY, special_tokens=special, unk_token="<unk>", show_progress=False
    )
    tokenizer.train_from_iterator([*corpus(), "1 0 1 0 premise: hypothesis: predict:"], trainer)
    return tokenizer


def _save(folder: Path, model: Any, tokenizer: Any) -> Path:
    model.eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _spread(model: Any) -> Any:
    """Scale the weights up, as fresh ones give nearly the same score for any text."""
    torch.manual_seed(7)
    wide = (32 / model.config.hidden_size) ** 0.5
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.dim() > 1:
                weight.normal_(0.0, 0.25 if "embed" in name else 0.12 * wide)
    return model


def xlm_roberta(folder: Path, *, layers: int = 2, width: int = 32, labels: int = 1) -> Path:
    """Make a reranker with the architecture of bge-reranker-base."""
    fast = _unigram(["<s>", "<pad>", "</s>", "<unk>", "<mask>"])
    fast.post_processor = tokenizers.processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=fast,
        bos_token="<s>",
        cls_token="<s>",
        eos_token="</s>",
        sep_token="</s>",
        pad_token="<pad>",
        unk_token="<unk>",
        mask_token="<mask>",
        model_max_length=512,
        model_input_names=["input_ids", "attention_mask"],
    )
    config = transformers.XLMRobertaConfig(
        vocab_size=len(tokenizer),
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=4,
        intermediate_size=4 * width,
        max_position_embeddings=514,
        num_labels=labels,
    )
    return _save(folder, _spread(transformers.XLMRobertaForSequenceClassification(config)), tokenizer)


def bert(folder: Path, *, labels: Mapping[int, str] | None = None, layers: int = 2, width: int = 32) -> Path:
    """Make a BERT classifier of pairs: a cross-encoder, or with `labels` an entailment model."""
    fast = tokenizers.Tokenizer(tokenizers.models.WordPiece(unk_token="[UNK]"))
    fast.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=True)
    fast.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trainer = tokenizers.trainers.WordPieceTrainer(vocab_size=VOCABULARY, special_tokens=special, show_progress=False)
    fast.train_from_iterator(corpus(), trainer)
    fast.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=fast,
        cls_token="[CLS]",
        sep_token="[SEP]",
        pad_token="[PAD]",
        unk_token="[UNK]",
        mask_token="[MASK]",
        model_max_length=512,
    )
    names = {"id2label": dict(labels), "label2id": {name: at for at, name in labels.items()}} if labels else {}
    config = transformers.BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=4,
        intermediate_size=4 * width,
        **(names or {"num_labels": 1}),
    )
    return _save(folder, _spread(transformers.BertForSequenceClassification(config)), tokenizer)


def deberta(folder: Path, labels: Mapping[int, str]) -> Path:
    """Make an entailment model with the architecture of DeBERTa-v3-MNLI: no limit of positions."""
    fast = _unigram(["[PAD]", "[CLS]", "[SEP]", "<unk>", "[MASK]"])
    fast.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=fast,
        bos_token="[CLS]",
        cls_token="[CLS]",
        eos_token="[SEP]",
        sep_token="[SEP]",
        pad_token="[PAD]",
        unk_token="<unk>",
        mask_token="[MASK]",
        model_max_length=512,
    )
    config = transformers.DebertaV2Config(
        vocab_size=len(tokenizer),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=512,
        relative_attention=True,
        position_biased_input=False,
        pos_att_type=["p2c", "c2p"],
        position_buckets=32,
        share_att_key=True,
        norm_rel_ebd="layer_norm",
        type_vocab_size=0,
        id2label=dict(labels),
        label2id={name: at for at, name in labels.items()},
    )
    return _save(folder, _spread(transformers.DebertaV2ForSequenceClassification(config)), tokenizer)


def t5(folder: Path) -> Path:
    """Make a model with the architecture of t5_xxl_true_nli_mixture and MiniCheck-Flan-T5 (T5 1.1)."""
    fast = _unigram(["<pad>", "</s>", "<unk>"])
    fast.post_processor = tokenizers.processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)]
    )
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=fast, eos_token="</s>", pad_token="<pad>", unk_token="<unk>", model_max_length=512
    )
    config = transformers.T5Config(
        vocab_size=len(tokenizer),
        d_model=32,
        d_kv=8,
        d_ff=64,
        num_layers=2,
        num_heads=4,
        feed_forward_proj="gated-gelu",
        tie_word_embeddings=False,
        decoder_start_token_id=0,
    )
    return _save(folder, _spread(transformers.T5ForConditionalGeneration(config)), tokenizer)


def gemma(folder: Path) -> Path:
    """Make a decoder with the architecture of bge-reranker-v2-gemma."""
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=_unigram(["<pad>", "<eos>", "<bos>", "<unk>"]),
        bos_token="<bos>",
        eos_token="<eos>",
        pad_token="<pad>",
        unk_token="<unk>",
        model_max_length=512,
    )
    config = transformers.GemmaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=8,
        intermediate_size=64,
        max_position_embeddings=1024,
    )
    return _save(folder, _spread(transformers.GemmaForCausalLM(config)), tokenizer)


def bge_m3(folder: Path) -> Path:
    """Make an encoder with the two heads of BGE-M3, for sparse and for multi-vector scores."""
    xlm_roberta(folder)
    encoder = transformers.AutoModel.from_pretrained(folder)
    encoder.save_pretrained(folder)
    for name, width in (("colbert_linear.pt", encoder.config.hidden_size), ("sparse_linear.pt", 1)):
        layer = torch.nn.Linear(encoder.config.hidden_size, width)
        with torch.no_grad():
            layer.weight.normal_(0.0, 0.5)
        torch.save(layer.state_dict(), folder / name)
    return folder
