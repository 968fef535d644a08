# SPDX-License-Identifier: Apache-2.0
# A model directory that needs no download: two small Llama layers (vLLM makes up the weights) and a tokenizer.
import json
import sys
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers

directory = Path(sys.argv[1])
directory.mkdir(parents=True, exist_ok=True)
specials = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
vocabulary = {token: i for i, token in enumerate(specials + alphabet)}
tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
tokenizer.decoder = decoders.ByteLevel()
tokenizer.add_special_tokens(specials)
tokenizer.save(str(directory / "tokenizer.json"))


def write(name: str, value: dict) -> None:
    (directory / name).write_text(json.dumps(value))


ids = {"bos_token_id": 0, "eos_token_id": 2, "pad_token_id": 0}
write("generation_config.json", ids)
write(
    "tokenizer_config.json",
    {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": "<|im_end|>",
        "pad_token": "<|endoftext|>",
        "model_max_length": 65536,
        "clean_up_tokenization_spaces": False,
        "chat_template": "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n"
        "{% endfor %}<|im_start|>assistant\n",
    },
)
write(
    "config.json",
    {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": 128,
        "intermediate_size": 256,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
        "head_dim": 64,
        "vocab_size": 8192,
        "max_position_embeddings": 65536,
        "rms_norm_eps": 1e-5,
        "rope_theta": 500000.0,
        "hidden_act": "silu",
        "tie_word_embeddings": True,
        "dtype": "bfloat16",
        **ids,
    },
)
